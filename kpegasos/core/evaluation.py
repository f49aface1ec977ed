"""What a checkpoint asks of held margins: iterates and all their sums, in one pass over the sums.

Dozens of numpy calls over a few hundred examples would take longer than the steps between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kpegasos.core.averaging import LinearCombination
from kpegasos.core.boundary import check_evaluation
from kpegasos.core.state import Examples, LoopState
from kpegasos.losses.base import value
from kpegasos.utils.compiled import compiled, shared

_EPS = float(np.finfo(np.float64).eps)


class Sums(NamedTuple):
    """What objective, dual value and rounding of an iterate ``w = Σ c_j ω_j s_j φ(x_j)`` are from.

    Attributes
    ----------
    loss : float
        ``Σ ω_i ℓ(f(x_i), y_i)``.
    squared_norm : float
        ``Σ c_i ω_i s_i f(x_i)``.
    size : float
        ``Σ |c_i| ω_i``.
    largest : float
        The largest ``c_i``, or 0 if none is positive.
    of_values : float
        ``Σ |c_i| ω_i ρ_i`` with the rounding ρ of each example's kernel values.
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


@shared
def roundings(sums: Sums, additions: Any, n_samples: int, largest: float) -> tuple[Any, Any]:
    """Largest errors of the mean margin and of ``‖w‖²`` of an iterate whose margins are held.

    Parameters
    ----------
    sums : Sums
        Of one iterate, or arrays for several.
    additions : float or ndarray
        What `Iterate.additions` says of its image.
    n_samples : int
    largest : float
        No kernel value is larger.
    """
    unit, size = _EPS * largest, sums.size
    # The sum over the examples rounds the squared norm, whose terms come to this at the most.
    of_sums, of_norm = additions * unit, 0.5 * n_samples * unit * size * size
    loss_rounding = of_sums + sums.of_values + size * sums.rounding / n_samples
    return loss_rounding, size * (of_sums + 2.0 * sums.of_values) + of_norm


# Not contracted: coefficients are those that numpy would find, to the last bit.
@compiled(fastmath={"reassoc"})
def combine_into(
    plain: float,
    stamped: float,
    alpha: np.ndarray,
    stamps: np.ndarray,
    image: np.ndarray,
    stamped_image: np.ndarray,
    label: np.ndarray,
    signed: np.ndarray,
    loss_of: Any,
    rounding: np.ndarray,
    coefs: np.ndarray,
    margins: np.ndarray,
) -> tuple[float, float, float, float, float, float, float]:
    """Write coefficients and margins of an iterate; returns its `Sums`."""
    loss = squared_norm = size = largest = of_values = all_rounding = counts = 0.0
    for i in range(alpha.size):
        coef, margin = plain * alpha[i], plain * image[i]
        if stamped != 0.0:
            coef -= stamped * stamps[i]
            margin -= stamped * stamped_image[i]
        coefs[i], margins[i] = coef, margin
        weight = abs(signed[i])
        weighted = weight * abs(coef)
        loss += weight * value(loss_of, margin, label[i])
        squared_norm += coef * signed[i] * margin
        size += weighted
        largest = max(largest, coef)
        of_values += weighted * rounding[i]
        all_rounding += weight * rounding[i]
        counts += weight * alpha[i]
    return loss, squared_norm, size, largest, of_values, all_rounding, counts


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
    label, signed, loss = examples
    n_samples = label.size
    check_evaluation(combinations, state, examples, rounding)
    coefs, margins = np.empty((2, len(combinations), n_samples))
    sums = [
        Sums(
            *combine_into(
                combination.plain,
                combination.stamped,
                state.alpha,
                state.stamps,
                state.image,
                state.stamped_image,
                label,
                signed,
                loss,
                rounding,
                coef,
                margin,
            )
        )
        for combination, coef, margin in zip(combinations, coefs, margins, strict=True)
    ]
    return coefs, margins, sums
