"""A dual problem over the examples that matter, the others held fixed.

Where C is large, many working sets go over the same examples: those at the margin. A problem over
these alone is small; its kernel values stay in a processor's caches, and margins of the others wait
until it is solved (Joachims 1998 calls it shrinking).
"""

from __future__ import annotations

import numpy as np

from kpegasos.core.boundary import check_gathering
from kpegasos.core.state import Examples, LoopState
from kpegasos.core.views import KernelView
from kpegasos.utils.boundary import checked
from kpegasos.utils.compiled import compiled


def gap_of_each(state: LoopState, examples: Examples, to_margin: float) -> np.ndarray:
    """What each example adds to the duality gap, all times the number of examples.

    ``ω (max(0, 1 − y f) − β (1 − y f))``, which is not negative, and zero where β is optimal.

    Parameters
    ----------
    state : LoopState
    examples : Examples
    to_margin : float
        What margins are multiples of the image by.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    slack = 1.0 - examples.label * state.image * to_margin
    return np.asarray(np.abs(examples.signed) * (np.maximum(slack, 0.0) - state.alpha * slack))


def active_examples(
    state: LoopState, examples: Examples, to_margin: float, most: int
) -> np.ndarray:
    """Examples that are likely to move: those off the bounds, those in the wrong, and near ones.

    Parameters
    ----------
    state : LoopState
    examples : Examples
    to_margin : float
    most : int
        How many, if there are as many of positive weight.

    Returns
    -------
    ndarray of int64
        In increasing order.
    """
    gaps = gap_of_each(state, examples, to_margin)
    free = (state.alpha > 0.0) & (state.alpha < 1.0)
    distance = np.abs(1.0 - examples.label * state.image * to_margin)
    # The worst first, then those nearest to the margin.
    key = np.where(free | (gaps > 0.0), -1.0 - gaps, distance)
    key[examples.signed == 0.0] = np.inf
    number = min(most, int(np.count_nonzero(examples.signed)))
    return np.sort(np.argpartition(key, number - 1)[:number])


@checked(check_gathering)
@compiled()
def gather(view: KernelView, members: np.ndarray, out: np.ndarray) -> None:
    """Write the kernel values between some examples, whose rows are held.

    Parameters
    ----------
    view : KernelView
    members : ndarray of int64
    out : ndarray of shape (n_members, n_members)
    """
    for a in range(members.size):
        row = view.values[view.slots[members[a]]]
        for b in range(members.size):
            out[a, b] = row[members[b]]
