"""Steps that suffice for an accuracy ε: the bounds, read the other way round.

Up to logarithms they are ``1/(lam ε)``, where analyses before Pegasos had ``1/(lam ε²)``
(`earlier_analysis_steps`). What the steps cost is left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kpegasos.utils.arguments import Values, broadcasting, positive, probability
from kpegasos.utils.validation import LARGEST, shown


def least_steps(
    bound: Callable[[Values], Any], accuracy: ArrayLike, *, first: ArrayLike = 3
) -> Values:
    """Return the least T from ``first`` on at which a bound is ε or less.

    Of `convergence_bound` these are the Õ(1/(lam ε)) steps of ICML 2007, sections 1 and 3: of full
    gradients for the average, and of mini-batches for the mean over all draws and all iterates. Of
    `random_iterate_bound` they are Õ(1/(delta lam ε)), of `best_of_runs_bound` and
    `high_probability_bound` Õ(ln(1/delta)/(lam ε)), of `weighted_average_bound` without a logarithm
    ``2 G²/(lam ε) − 1``, rounded up.

    Parameters
    ----------
    bound : callable
        A bound of `kpegasos.theory` as a function of ``n_steps``, which falls from ``first`` on.
    accuracy : array-like
        ε > 0.
    first : array-like, default=3
        From 3 on ``ln T / T`` falls. `weighted_average_bound` falls from 1 on, `best_of_runs_bound`
        from ``3 * n_runs(delta)``.

    Returns
    -------
    float or ndarray of the shape to which accuracy and bound are broadcast
        Whole numbers; infinite where no T up to 1e100 suffices.

    Raises
    ------
    TypeError
        If the bound is no function.
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from kpegasos.theory import convergence_bound
    >>> least_steps(lambda T: convergence_bound(T, lam=0.01, radius=1.0), [0.1, 0.01])
    array([ 11292., 143693.])
    """
    if not callable(bound):
        raise TypeError(f"bound must be a function of n_steps, got {shown(bound)} instead")
    accuracy, first = positive("accuracy", accuracy), positive("first", first)

    def holds(n_steps: Values) -> Any:
        return bound(n_steps) <= accuracy

    # Halves the ratio of two ends and then their difference: T may be anything up to 1e100.
    enough = holds(first)
    low = np.broadcast_to(first, np.shape(enough))
    high = np.where(enough, low, LARGEST)
    while True:
        between = np.where(high > 4 * low, np.sqrt(low) * np.sqrt(high), low + (high - low) / 2)
        middle = np.floor(between)
        inside = (low < middle) & (middle < high)
        if not inside.any():
            break
        enough = holds(middle)
        low = np.where(inside & ~enough, middle, low)
        high = np.where(inside & enough, middle, high)
    return np.where(holds(high), high, np.inf)[()]


@broadcasting
def earlier_analysis_steps(accuracy: ArrayLike, lam: ArrayLike, delta: ArrayLike) -> Values:
    """Return the order of the steps of analyses before Pegasos: ``ln(1/delta) / (lam ε²)``.

    ICML 2007 names ``Ω(1/ε²)`` for them in its abstract, and summaries of the paper print it with
    lam and delta, in both cases without a constant. So this is an order, to hold next to
    ``1/(delta lam ε)``, and no number of steps: it is not rounded. Below the
    crossing ``ε = δ ln(1/δ)`` it is the larger of the two.

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
