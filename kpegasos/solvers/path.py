"""Solutions along values of C, each warm from its neighbours, each with its certificate.

One problem and one source of rows serve all values. Examples of weight zero are held out: they
never get a coefficient, and their margins come with everybody else's. So a fold of a
cross-validation is a path over weights, and starts from the path over all examples: `FoldPath`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from kpegasos.core.averaging import LinearCombination
from kpegasos.core.path import PAUSED, Path, follow, new_path, remove_members
from kpegasos.core.path_counts import BEFORE_PAUSE, VALUE
from kpegasos.core.problem import Problem, best_multiple
from kpegasos.core.set_counts import WANTED
from kpegasos.core.state import INHERITED, STEPS, Iterate, PegasosOptions, State, new_state
from kpegasos.core.views import KernelView
from kpegasos.core.working_sets import ADD_MOVES, DONE, NEED_ROWS, add_moves
from kpegasos.rows.base import RowSource
from kpegasos.solvers.certificate import Certificate, Certifier, Evaluation
from kpegasos.solvers.dual_ascent import INDEFINITE
from kpegasos.solvers.interior_point import InteriorPointAscent
from kpegasos.solvers.polish import SAFE, sets_for
from kpegasos.solvers.stopping import Interrupted, Stopper, interruptible
from kpegasos.utils import tuning
from kpegasos.utils.threads import even_ranges, parallel_for, threads_for
from kpegasos.utils.validation import as_array, as_integer, as_number, optional

#: Sets between two looks at the clock, where sets take next to no time.
_SETS_BEFORE_PAUSE = 64
