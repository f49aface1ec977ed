"""An iterate as its rows see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kpegasos.core.duals import steepness
from kpegasos.core.evaluation import Sums, combine_margins, roundings
from kpegasos.core.state import Examples, Iterate, LoopState
from kpegasos.losses.hinge import Hinge


class Evaluated(NamedTuple):
    """An iterate as its rows see it.

    Attributes
    ----------
    coef : ndarray of shape (n_samples,)
        ``c`` of ``w = Σ c_j ω_j s_j φ(x_j)``; non-negative with the hinge.
    margins : ndarray of shape (n_samples,)
        ``f(x_i)``.
    squared_norm : float
        ``‖w‖²``.
    vector : ndarray of shape (n_features + 1,) or None
        Primal vector, the coordinate of the constant feature last; from features only.
    loss_rounding, norm_rounding : float
        Largest error that rounding may make of the mean loss and of ``‖w‖²``.
    additions : float
        What `Iterate.additions` says of its image.
    sums : Sums or None
        Sums over the examples, where they were at hand.
    """

    coef: np.ndarray
    margins: np.ndarray
    squared_norm: float
    vector: np.ndarray | None = None
    loss_rounding: float = 0.0
    norm_rounding: float = 0.0
    additions: float = 0.0
    sums: Sums | None = None

    @property
    def size(self) -> float | None:
        """``Σ |c_i| ω_i``, where it is at hand."""
        return None if self.sums is None else self.sums.size


def evaluated_at_once(
    iterates: Sequence[Iterate],
    state: LoopState,
    examples: Examples,
    rounding: np.ndarray,
    largest: float,
) -> list[Evaluated]:
    """Iterates of a state whose image are margins, in one compiled pass.

    Parameters
    ----------
    iterates : sequence of Iterate
        Without a prefix.
    state : LoopState
    examples : Examples
    rounding : ndarray of shape (n_samples,), float64
        The kernel value of examples i and j is off by ``rounding[i] + rounding[j]`` at the most.
    largest : float
        No kernel value is larger.
    """
    coefs, margins, sums = combine_margins(
        [iterate.combination for iterate in iterates], state, examples, rounding
    )
    found = []
    for iterate, coef, margin, of in zip(iterates, coefs, margins, sums, strict=True):
        additions = iterate.additions(state, examples, of.counts)
        of_loss, of_norm = roundings(of, additions, examples.label.size, largest)
        if type(examples.loss) is not Hinge:
            error = of_loss + of.size * float(rounding.max(initial=0.0))
            of_loss *= steepness(examples.loss, margin, examples.label, error)
        found.append(
            Evaluated(coef, margin, of.squared_norm, None, of_loss, of_norm, additions, of)
        )
    return found
