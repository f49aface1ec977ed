"""What a source of rows is asked to run: a compiled loop, and how soon it will need which row."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kpegasos.core.state import Examples, LoopParameters, LoopState


class Algorithm(NamedTuple):
    """A compiled loop, and how soon it will update an example.

    Attributes
    ----------
    loop : callable
        Such as `kpegasos.core.loops.primal_steps`.
    priority : callable
        ``priority(state, members, examples, parameters)`` scores each member, in the units of the
        image: negative if the loop would update it now, the larger the less likely soon, infinite
        if never.
    from_zero : bool
        Whether step 0 is ``w = 0``.
    """

    loop: Callable[..., tuple[int, int]]
    priority: Callable[[LoopState, np.ndarray, Examples, LoopParameters], np.ndarray]
    from_zero: bool
