"""Bounds of single iterates, with projection: a random one, and the best of several runs.

All come from the first paper: its Theorem 1, an expectation, and Markov's inequality. What holds
for averages is in `kpegasos.theory.averages`, sharper bounds of what is likely in
`kpegasos.theory.concentration`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kpegasos.theory.constants import subgradient_norm_bound
from kpegasos.utils.arguments import Values, broadcasting, positive, probability, require, steps


@broadcasting
def convergence_bound(n_steps: ArrayLike, lam: ArrayLike, radius: ArrayLike) -> Values:
    """Bound of the first paper, with projection: ``c ln T / (lam T)``, ``c = (√lam + R)²``.

    ICML 2007 has it three times; w* is the optimum:

    - Theorem 1: ``mean f(w_t; A_t) − mean f(w*; A_t)``, always;
    - Corollary 1: ``f(w̄) − f(w*)`` of the average ``w̄`` where ``A_t = S``, always;
    - Theorem 2: ``f(w_r) − f(w*)`` in expectation, for r uniform on 1, …, T.

    From T = 3 on, ``(1 + ln T)/2`` of Lemma 1 is at most ``ln T``.

    Parameters
    ----------
    n_steps, lam, radius : array-like
        T ≥ 3, λ > 0 and R > 0.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(float(convergence_bound(n_steps=100, lam=0.01, radius=1.0)), 3)
    5.572
    """
    c = subgradient_norm_bound(lam, radius, projection=True) ** 2
    n_steps = steps(n_steps)
    return c * np.log(n_steps) / (positive("lam", lam) * n_steps)


@broadcasting
def random_iterate_bound(
    n_steps: ArrayLike, lam: ArrayLike, radius: ArrayLike, delta: ArrayLike
) -> Values:
    """Bound a random iterate, with projection: ``c ln T / (delta lam T)``, ``c = (√lam + R)²``.

    ICML 2007, Theorem 3: ``f(w_r) − f(w*)`` is at most this with probability at least ``1 − delta``
    over the draws and over r, uniform on 1, …, T: Theorem 2 with Markov's inequality.

    Parameters
    ----------
    n_steps, lam, radius, delta : array-like
        T ≥ 3, λ > 0, R > 0 and 0 < δ < 1.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    return convergence_bound(n_steps, lam, radius) / probability(delta)


@broadcasting
def n_runs(delta: ArrayLike) -> NDArray[np.int64]:
    """Count the runs of which `best_of_runs_bound` takes the best: ``s = ⌈ln(1/delta)⌉``.

    Parameters
    ----------
    delta : array-like
        0 < δ < 1.

    Returns
    -------
    int64 or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> n_runs([0.5, 0.1, 0.01])
    array([1, 3, 5])
    """
    return np.ceil(-np.log(probability(delta))).astype(np.int64)


@broadcasting
def best_of_runs_bound(
    n_steps: ArrayLike, lam: ArrayLike, radius: ArrayLike, delta: ArrayLike
) -> Values:
    """Bound the best of s random iterates: ``c e s ln T / (lam T)``, ``c = (√lam + R)²``.

    A consequence that ICML 2007 draws from Theorem 3: take a random iterate from each of
    ``s = ⌈ln(1/delta)⌉`` independent runs of ``⌊T/s⌋`` steps, with projection. The one of least f
    has ``f(w) − f(w*)`` at most this with probability at least ``1 − delta``, as each of them fails
    with probability at most 1/e. No condition on T is printed; Theorem 3 needs ``T ≥ 3 s``. This is
    below `random_iterate_bound` where ``e s < 1/delta``, for all delta < 0.122.

    Parameters
    ----------
    n_steps, lam, radius, delta : array-like
        T ≥ 3 s, the steps of all runs together, λ > 0, R > 0 and 0 < δ < 1.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    runs = n_runs(delta)
    share = steps(n_steps) / runs
    require("n_steps / n_runs(delta)", share, share >= 3, "at least 3")
    return math.e * runs * convergence_bound(n_steps, lam, radius)
