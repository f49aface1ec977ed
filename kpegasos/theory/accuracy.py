"""Steps that suffice for an accuracy ε: the bounds, read the other way round.

Each function returns the least T from which on a bound of `kpegasos.theory` is ε or less. Up to
logarithms that is ``1/(lam ε)``, where analyses before Pegasos had ``1/(lam ε²)``
(`earlier_analysis_steps`). What the steps cost is left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from kpegasos.theory.averages import average_iterate_bound, weighted_average_bound
from kpegasos.theory.concentration import high_probability_bound
from kpegasos.theory.iterates import (
    best_of_runs_bound,
    convergence_bound,
    n_runs,
    random_iterate_bound,
)
from kpegasos.utils.arguments import Values, broadcasting, positive, probability
from kpegasos.utils.validation import LARGEST


def _least_steps(
    bound: Callable[[Values], Values], accuracy: ArrayLike, first: ArrayLike
) -> Values:
    """Return the least T from ``first`` on at which a bound that falls with T is small enough.

    Halves the ratio of two ends and then their difference: T may be anything up to 1e100.
    """
    accuracy = positive("accuracy", accuracy)
    shape = np.broadcast_shapes(np.shape(bound(np.asarray(first))), accuracy.shape)
    low = np.broadcast_to(np.asarray(first, dtype=np.float64), shape)
    high = np.where(bound(low) <= accuracy, low, LARGEST)
    while True:
        between = np.where(high > 4 * low, np.sqrt(low) * np.sqrt(high), low + (high - low) / 2)
        middle = np.floor(between)
        inside = (low < middle) & (middle < high)
        if not inside.any():
            break
        enough = bound(middle) <= accuracy
        low = np.where(inside & ~enough, middle, low)
        high = np.where(inside & enough, middle, high)
    return np.where(bound(high) <= accuracy, high, np.inf)[()]


@broadcasting
def convergence_steps(accuracy: ArrayLike, lam: ArrayLike, radius: ArrayLike) -> Values:
    """Return the least T ≥ 3 at which `convergence_bound` is ε or less, with projection.

    ICML 2007, sections 1 and 3: Õ(1/(lam ε)) steps of full gradients, for the average. For
    mini-batches it is the mean over all draws and all iterates that is within ε.

    Parameters
    ----------
    accuracy, lam, radius : array-like
        ε > 0, λ > 0 and R > 0.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast
        Whole numbers; infinite where no T up to 1e100 suffices.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> convergence_steps(accuracy=[0.1, 0.01], lam=0.01, radius=1.0)
    array([ 11292., 143693.])
    """
    return _least_steps(lambda n_steps: convergence_bound(n_steps, lam, radius), accuracy, 3)


@broadcasting
def random_iterate_steps(
    accuracy: ArrayLike, lam: ArrayLike, radius: ArrayLike, delta: ArrayLike
) -> Values:
    """Return the least T ≥ 3 at which `random_iterate_bound` is ε or less, with projection.

    ICML 2007, section 1: Õ(1/(delta lam ε)) steps. Logarithms of T aside, that is less than the
    earlier ``ln(1/delta) / (lam ε²)`` only for ``ε < delta ln(1/delta)``: with delta = 0.001 for ε
    below 0.007. The best of several runs and the average do not pay for delta in this way
    (`best_of_runs_steps`, `high_probability_steps`).

    Parameters
    ----------
    accuracy, lam, radius, delta : array-like
        ε > 0, λ > 0, R > 0 and 0 < δ < 1.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast
        Whole numbers; infinite where no T up to 1e100 suffices.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    return _least_steps(
        lambda n_steps: random_iterate_bound(n_steps, lam, radius, delta), accuracy, 3
    )


@broadcasting
def best_of_runs_steps(
    accuracy: ArrayLike, lam: ArrayLike, radius: ArrayLike, delta: ArrayLike
) -> Values:
    """Return the least T at which `best_of_runs_bound` is ε or less: the steps of all runs.

    ``Õ(ln(1/delta) / (lam ε))`` steps, which up to logarithms is less than the earlier
    ``ln(1/delta) / (lam ε²)`` for all ε < 1 and all delta.

    Parameters
    ----------
    accuracy, lam, radius, delta : array-like
        ε > 0, λ > 0, R > 0 and 0 < δ < 1.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast
        Whole numbers; infinite where no T up to 1e100 suffices.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    return _least_steps(
        lambda n_steps: best_of_runs_bound(n_steps, lam, radius, delta), accuracy, 3 * n_runs(delta)
    )


@broadcasting
def average_iterate_steps(
    accuracy: ArrayLike, lam: ArrayLike, radius: ArrayLike, *, projection: bool = False
) -> Values:
    """Return the least T ≥ 3 at which `average_iterate_bound` is ε or less.

    Parameters
    ----------
    accuracy, lam, radius : array-like
        ε > 0, λ > 0 and R > 0.
    projection : bool, default=False
        Whether iterates are projected onto the ball of radius ``1/√lam``.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast
        Whole numbers; infinite where no T up to 1e100 suffices.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    return _least_steps(
        lambda n_steps: average_iterate_bound(n_steps, lam, radius, projection=projection),
        accuracy,
        3,
    )


@broadcasting
def weighted_average_steps(
    accuracy: ArrayLike, lam: ArrayLike, radius: ArrayLike, *, projection: bool = False
) -> Values:
    """Return the least T ≥ 1 at which `weighted_average_bound` is ε or less.

    It has no logarithm: ``2 G²/(lam ε) − 1``, rounded up.

    Parameters
    ----------
    accuracy, lam, radius : array-like
        ε > 0, λ > 0 and R > 0.
    projection : bool, default=False
        Whether iterates are projected onto the ball of radius ``1/√lam``.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast
        Whole numbers; infinite where no T up to 1e100 suffices.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> float(weighted_average_steps(accuracy=0.5, lam=0.25, radius=1.0))
    63.0
    """
    return _least_steps(
        lambda n_steps: weighted_average_bound(n_steps, lam, radius, projection=projection),
        accuracy,
        1,
    )


@broadcasting
def high_probability_steps(
    accuracy: ArrayLike,
    lam: ArrayLike,
    radius: ArrayLike,
    delta: ArrayLike,
    *,
    projection: bool = False,
) -> Values:
    """Return the least T ≥ 3 at which `high_probability_bound` is ε or less.

    Parameters
    ----------
    accuracy, lam, radius, delta : array-like
        ε > 0, 0 < λ ≤ R², R > 0 and 0 < δ < 1.
    projection : bool, default=False
        Whether iterates are projected onto the ball of radius ``1/√lam``.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast
        Whole numbers; infinite where no T up to 1e100 suffices.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    return _least_steps(
        lambda n_steps: high_probability_bound(n_steps, lam, radius, delta, projection=projection),
        accuracy,
        3,
    )


@broadcasting
def earlier_analysis_steps(accuracy: ArrayLike, lam: ArrayLike, delta: ArrayLike) -> Values:
    """Return the order of the steps of analyses before Pegasos: ``ln(1/delta) / (lam ε²)``.

    ICML 2007 names ``Ω(1/ε²)`` for them in its abstract, and summaries of the paper print it with
    lam and delta, in both cases without a constant. So this is an order, to hold next to
    ``1/(delta lam ε)``, and no number of steps: it is not rounded. `random_iterate_steps` says
    where it is the lesser.

    Parameters
    ----------
    accuracy, lam, delta : array-like
        ε > 0, λ > 0 and 0 < δ < 1.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(float(earlier_analysis_steps(accuracy=0.1, lam=0.01, delta=0.05)))
    29957
    """
    accuracy = positive("accuracy", accuracy)
    return -np.log(probability(delta)) / positive("lam", lam) / accuracy**2
