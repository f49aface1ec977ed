"""Dual ascent over the examples that matter, for a cell that takes many working sets."""

from __future__ import annotations

import numpy as np

from kpegasos.core.set_counts import LEFT, SETS_DONE
from kpegasos.core.shrinking import gap_of_each, gather
from kpegasos.core.state import Examples, LoopParameters, LoopState
from kpegasos.core.views import KernelView
from kpegasos.core.working_sets import ascend, new_working_sets
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning

#: Share of the gap allowed in all that is left to the active examples, and of what they had.
_SHARE, _REDUCTION = 0.3, 0.05
#: Sets between two looks, and looks after which the others are looked at in any case.
_SETS, _MOST_LOOKS = 16, 60


def solve_among(
    view: KernelView,
    members: np.ndarray,
    state: LoopState,
    examples: Examples,
    lam: float,
    enough: float,
    stopper: Stopper,
) -> None:
    """Maximise the dual over some examples, the others held fixed, until they are near-optimal.

    Parameters
    ----------
    view : KernelView
        Holds the rows of the members.
    members : ndarray of int64
    state : LoopState
        Dual variables and counters are brought up to date, the image is not.
    examples : Examples
    lam : float
    enough : float
        Relative gap that is wanted of all examples.
    stopper : Stopper
    """
    n_samples, size = examples.label.size, members.size
    values = np.empty((size, size), view.values.dtype)
    gather(view, members, values)
    own_view = KernelView(
        values,
        np.arange(size),
        np.zeros(size, dtype=np.int64),
        view.squared_norms[members],
        view.kernel_offset,
    )
    own = state._replace(
        alpha=state.alpha[members], stamps=state.stamps[members], image=state.image[members]
    )
    own_examples = Examples(examples.label[members], examples.signed[members])
    parameters = LoopParameters(lam, n_samples, 1, False, False)
    of_a_set = min(tuning.ACTIVE_WORKING_SET, size)
    sets = new_working_sets(of_a_set, size, 1, np.full(size, True), adds=True)
    to_margin = 1.0 / (lam * n_samples)
    objective = _objective(state, examples, to_margin)
    first = float(gap_of_each(own, own_examples, to_margin).sum())
    goal = max(_SHARE * enough * objective, _REDUCTION * first)
    for _ in range(_MOST_LOOKS):
        sets.counts[LEFT], sets.counts[SETS_DONE] = _SETS, 0
        ascend(own, own_view, sets, own_examples, parameters)
        gap = float(gap_of_each(own, own_examples, to_margin).sum())
        if gap <= goal or stopper.reason() is not None:
            break
    state.alpha[members] = own.alpha


def _objective(state: LoopState, examples: Examples, to_margin: float) -> float:
    """The primal objective as the margins say, times the number of examples."""
    margins = state.image * to_margin
    loss = float(np.abs(examples.signed) @ np.maximum(0.0, 1.0 - examples.label * margins))
    return loss + 0.5 * float((state.alpha * examples.signed) @ margins)
