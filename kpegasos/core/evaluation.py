"""What a checkpoint asks of held margins: iterates and all their sums, in one pass over the sums.

Dozens of numpy calls over a few hundred examples would take longer than the steps between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kpegasos.core.averaging import LinearCombination
from kpegasos.core.boundary import check_evaluation
from kpegasos.core.state import Examples, LoopState
from kpegasos.utils.boundary import checked
from kpegasos.utils.compiled import compiled


class Sums(NamedTuple):
    """What objective, dual value and rounding of an iterate ``w = Σ c_j ω_j y_j φ(x_j)`` are from.

    Attributes
    ----------
    loss : float
        ``Σ ω_i max(0, 1 − y_i f(x_i))``.
    squared_norm : float
        ``Σ c_i ω_i y_i f(x_i)``.
    size : float
        ``Σ c_i ω_i``.
    largest : float
        The largest ``c_i``.
    of_values : float
        ``Σ c_i ω_i ρ_i`` with the rounding ρ of each example's kernel values.
    rounding : float
        ``Σ ω_i ρ_i``.
    counts : float
        ``Σ α_i ω_i`` of the state.
    """

    loss: float
    squared_norm: float
    size: float
    largest: float
    of_values: float
    rounding: float
    counts: float


def combine_margins(
    combinations: Sequence[LinearCombination],
    state: LoopState,
    examples: Examples,
    rounding: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, list[Sums]]:
    """Coefficients, margins and sums of iterates of a state whose image are margins.

    Parameters
    ----------
    combinations : sequence of LinearCombination
    state : LoopState
    examples : Examples
    rounding : ndarray of shape (n_samples,), float64
        The kernel value of examples i and j is off by ``rounding[i] + rounding[j]`` at the most.

    Returns
    -------
    coefs, margins : ndarray of shape (n_iterates, n_samples), float64
    sums : list of Sums
    """
    number, n_samples = len(combinations), examples.label.size
    coefs, margins = np.empty((number, n_samples)), np.empty((number, n_samples))
    sums = np.empty((number, len(Sums._fields)))
    combine_into(
        np.array(combinations),
        state.alpha,
        state.stamps,
        state.image,
        state.stamped_image,
        examples.label,
        examples.signed,
        rounding,
        coefs,
        margins,
        sums,
    )
    return coefs, margins, [Sums(*values) for values in sums.tolist()]


# Not contracted: coefficients are those that numpy would find, to the last bit.
@checked(check_evaluation)
@compiled(fastmath={"reassoc"})
def combine_into(
    combinations: np.ndarray,
    alpha: np.ndarray,
    stamps: np.ndarray,
    image: np.ndarray,
    stamped_image: np.ndarray,
    label: np.ndarray,
    signed: np.ndarray,
    rounding: np.ndarray,
    coefs: np.ndarray,
    margins: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Write iterates and their `Sums`; ``combinations`` has a row (plain, stamped) for each."""
    for k in range(combinations.shape[0]):
        plain, stamped = combinations[k, 0], combinations[k, 1]
        coef, margin = coefs[k], margins[k]
        if stamped == 0.0:
            for i in range(alpha.size):
                coef[i] = plain * alpha[i]
                margin[i] = plain * image[i]
        else:
            for i in range(alpha.size):
                coef[i] = plain * alpha[i] - stamped * stamps[i]
                margin[i] = plain * image[i] - stamped * stamped_image[i]
        loss = squared_norm = size = of_values = all_rounding = counts = 0.0
        largest = coef[0]
        for i in range(alpha.size):
            weight, weighted = abs(signed[i]), coef[i] * abs(signed[i])
            loss += weight * max(0.0, 1.0 - label[i] * margin[i])
            squared_norm += coef[i] * signed[i] * margin[i]
            size += weighted
            largest = max(largest, coef[i])
            of_values += weighted * rounding[i]
            all_rounding += weight * rounding[i]
            counts += weight * alpha[i]
        sums[k, 0], sums[k, 1], sums[k, 2], sums[k, 3] = loss, squared_norm, size, largest
        sums[k, 4], sums[k, 5], sums[k, 6] = of_values, all_rounding, counts
