"""What the papers prove about Pegasos, as functions to hold next to a measurement.

All bounds are for the problem of `kpegasos.core.problem` with equal weights, ``f(w) = lam/2 ‖w‖² +
mean hinge``, where ``‖x‖ ≤ R`` in feature space (`data_radius`), for steps ``1/(lam t)`` from
``w_1 = 0``. "In expectation" and "with probability" ask for mini-batches A_t of independent draws,
``sampling="uniform"``; these proofs do not cover permutations. No bound depends on the size k of a
mini-batch or on the number of examples. All arguments are broadcast against each other; an argument
out of range raises a ValueError. In the formulas T is ``n_steps``, λ ``lam``, R ``radius``, δ
``delta``.

==========================  ===================================================  ================
what is bounded             function                                             holds
==========================  ===================================================  ================
regret                      `regret_bound`, `convergence_bound`                  always
average, ``A_t = S``        `convergence_bound`, `average_iterate_bound`         always
average                     `average_iterate_bound`                              in expectation
average, mean of iterates   `generalization_bound`, `mean_excess_bound`          with probability
t-weighted average          `weighted_average_bound`                             in expectation
random iterate              `convergence_bound`                                  in expectation
random iterate              `random_iterate_bound`, `median_excess_bound`        with probability
best of several runs        `best_of_runs_bound`                                 with probability
==========================  ===================================================  ================

T steps make ``w_1, …, w_{T+1}``. The theorems speak of ``w_1, …, w_T``; the averages of
`kpegasos.core.averaging` leave out ``w_1 = 0`` instead of ``w_{T+1}``, and obey the same bounds.

References
----------
- ICML 2007: S. Shalev-Shwartz, Y. Singer, N. Srebro, Pegasos: Primal Estimated sub-GrAdient SOlver
  for SVM.
- MPB 2011: the same with A. Cotter, Mathematical Programming B 127.
- Zhou: W. Zhou, Analysis of Pegasos Algorithm (a report), after S. Kakade, A. Tewari, On the
  Generalization Ability of Online Strongly Convex Programming Algorithms, NIPS 2008.
- S. Lacoste-Julien, M. Schmidt, F. Bach, A simpler approach to obtaining an O(1/t) convergence rate
  for the projected stochastic subgradient method, arXiv:1212.2002, 2012.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kpegasos.kernels.functions import Kernel, make_kernel
from kpegasos.utils.arguments import (
    Values,
    broadcasting,
    positive,
    probability,
    require,
    steps,
)
from kpegasos.utils.validation import LARGEST, canonical_rows, check_magnitude, check_scaling

__all__ = [
    "average_iterate_bound",
    "best_of_runs_bound",
    "convergence_bound",
    "data_radius",
    "generalization_bound",
    "mean_excess_bound",
    "median_excess_bound",
    "n_runs",
    "random_iterate_bound",
    "regret_bound",
    "subgradient_norm_bound",
    "weighted_average_bound",
]


def data_radius(
    X: Any, kernel: str | Kernel = "linear", *, intercept_scaling: float = 0.0, **parameters: Any
) -> float:
    """Compute R, the largest norm of an example in feature space: ``sqrt(max k(x, x))``.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Examples.
    kernel : str, callable or Kernel, default="linear"
        Kernel as `kpegasos.make_kernel` takes it; ``"linear"`` gives the largest norm of a row.
    intercept_scaling : float, default=0.0
        Size of the constant feature; 0 for none.
    **parameters : float
        Parameters of the kernel: ``gamma``, ``degree``, ``coef0``.

    Returns
    -------
    float
        The radius R.

    Raises
    ------
    ValueError
        If the kernel is not positive semi-definite: it has no feature space then. If X is no
        matrix of numbers, or the radius is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> data_radius(np.array([[3.0, 4.0], [1.0, 0.0]]))
    5.0
    >>> data_radius(np.array([[3.0, 4.0], [1.0, 0.0]]), "rbf", gamma=2.0)
    1.0
    """
    made = make_kernel(kernel, **parameters)
    if not made.positive_definite:
        raise ValueError(f"kernel must be positive semi-definite, got {made!r} instead")
    X, scaling = canonical_rows(X), check_scaling(intercept_scaling)
    if not X.shape[0]:
        raise ValueError("X must have at least one row, got none")
    check_magnitude(X)
    with np.errstate(over="ignore", invalid="ignore"):
        largest = float(np.max(made.diag(X)))
    if not np.isfinite(largest):
        raise ValueError(f"kernel must have finite values on X, got {largest} for {made!r} instead")
    return float(np.sqrt(largest + scaling**2))


@broadcasting
def subgradient_norm_bound(
    lam: ArrayLike, radius: ArrayLike, *, projection: bool = False
) -> Values:
    """Bound G on the norm of all subgradients ``∇_t = lam w_t − (1/k) Σ y x`` of a run.

    ``√lam + R`` with the projection, which keeps ``‖w_t‖ ≤ 1/√lam`` (ICML 2007, Theorem 1); ``2 R``
    without, as then ``‖w_t‖ ≤ R/lam`` (MPB 2011, Theorem 1; Zhou, Lemma 3.5, where the sign of w is
    misprinted). The papers write c for G².

    Parameters
    ----------
    lam, radius : array-like
        λ > 0 and R > 0.
    projection : bool, default=False
        Whether iterates are projected onto the ball of radius ``1/√lam``.
    """
    lam, radius = positive("lam", lam), positive("radius", radius)
    return np.sqrt(lam) + radius if projection else 2 * radius


@broadcasting
def regret_bound(n_steps: ArrayLike, lam: ArrayLike, gradient_norm: ArrayLike) -> Values:
    """Bound the mean regret of subgradient steps: ``G² (1 + ln T) / (2 lam T)``.

    ICML 2007, Lemma 1: for any lam-strongly convex ``f_t``, steps ``1/(lam t)`` and ``‖∇_t‖ ≤ G``,
    ``mean f_t(w_t) − mean f_t(u)`` is at most this for all u (of the ball B, if each step ends with
    the projection onto B). Zhou, Theorem 3.4, is the same, not divided by T.

    Parameters
    ----------
    n_steps, lam, gradient_norm : array-like
        T ≥ 1, λ > 0 and G > 0; the G of Pegasos is `subgradient_norm_bound`.
    """
    n_steps, lam = steps(n_steps, 1), positive("lam", lam)
    gradient_norm = positive("gradient_norm", gradient_norm, 10 * LARGEST)
    return gradient_norm**2 * (1 + np.log(n_steps)) / (2 * lam * n_steps)


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
    """
    return convergence_bound(n_steps, lam, radius) / probability(delta)


@broadcasting
def n_runs(delta: ArrayLike) -> NDArray[np.int64]:
    """Count the runs of which `best_of_runs_bound` takes the best: ``s = ⌈ln(1/delta)⌉``.

    Parameters
    ----------
    delta : array-like
        0 < δ < 1.

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
    """
    runs = n_runs(delta)
    share = steps(n_steps) / runs
    require("n_steps / n_runs(delta)", share, share >= 3, "at least 3")
    return math.e * runs * convergence_bound(n_steps, lam, radius)


@broadcasting
def average_iterate_bound(
    n_steps: ArrayLike, lam: ArrayLike, radius: ArrayLike, *, projection: bool = False
) -> Values:
    """Bound the average iterate: ``G² (1 + ln T) / (2 lam T)``.

    MPB 2011, Theorem 1, has this for ``mean f(w_t; A_t) − mean f(w*; A_t)``, always. It follows for
    ``f(w̄) − f(w*)`` of the average in expectation, and always where ``A_t = S`` (Corollary 1).
    Zhou, Theorem 3.7, has it for ``mean L(w_t) − L(w*)`` with the L of `generalization_bound`. It
    is printed there as O(ln T / (lam T)) for R = 1 and small lam, and holds with this constant for
    all R and lam.

    Parameters
    ----------
    n_steps, lam, radius : array-like
        T ≥ 3, λ > 0 and R > 0.
    projection : bool, default=False
        Whether iterates are projected onto the ball of radius ``1/√lam``.

    Notes
    -----
    Where ``w_2, …, w_{T+1}`` are averaged, the proof has ``1 + 1/2 + … + 1/(T+1)`` in the place of
    ``1 + ln T``: less, from T = 3 on.
    """
    gradient_norm = subgradient_norm_bound(lam, radius, projection=projection)
    return regret_bound(steps(n_steps), lam, gradient_norm)


@broadcasting
def weighted_average_bound(
    n_steps: ArrayLike, lam: ArrayLike, radius: ArrayLike, *, projection: bool = False
) -> Values:
    """Bound the t-weighted average, ``average="weighted"``: ``2 G² / (lam (T + 1))``.

    ``f(w̄) − f(w*)`` is at most this in expectation, for weights t of ``w_t`` or of ``w_{t+1}``.
    Lacoste-Julien et al. prove it for steps ``2/(lam (t+1))``; those of Pegasos need the proof in
    the Notes.

    Parameters
    ----------
    n_steps, lam, radius : array-like
        T ≥ 1, λ > 0 and R > 0.
    projection : bool, default=False
        Whether iterates are projected onto the ball of radius ``1/√lam``.

    Notes
    -----
    Let ``d_t = E‖w_t − w*‖²`` and ``e_t = E f(w_t) − f(w*)``. A step of ``1/(lam t)`` gives
    ``e_t ≤ lam/2 ((t−1) d_t − t d_{t+1}) + G²/(2 lam t)``, and with ``e_t ≥ lam/2 d_t`` also
    ``d_{t+1} ≤ (1 − 2/t) d_t + (G/(lam t))²``. Hence ``d_2 ≤ (G/lam)²`` and, from t = 3 on,
    ``d_t ≤ (G/lam)²/t``. So ``Σ (t−1) e_t ≤ lam/2 Σ (t−1) d_t + G²/(2 lam) Σ (t−1)/t ≤ T G²/lam``,
    the sums being up to T + 1; divide by ``T (T+1)/2``. Likewise ``Σ t e_t`` up to T.
    """
    c = subgradient_norm_bound(lam, radius, projection=projection) ** 2
    return 2 * c / (positive("lam", lam) * (steps(n_steps, 1) + 1))


@broadcasting
def generalization_bound(
    n_steps: ArrayLike, lam: ArrayLike, radius: ArrayLike, delta: ArrayLike
) -> Values:
    """Bound the mean excess of all iterates, ``D_T/T``, without projection.

    Zhou, Theorem 3.6: with probability at least ``1 − 4 ln(T) delta``, ``mean L(w_t) − L(w*)`` is
    at most ``(2 R² (1 + ln T) + 8 R² √((1 + ln T) ln(1/delta)) + max(32 R², 9 R² + 6 lam)
    ln(1/delta)) / (lam T)``.

    L is the expectation of ``lam/2 ‖w‖² + hinge`` over the distribution of the draws. As long as
    every draw is a new example (k T ≤ m), that is the population, and this is a bound of
    generalisation. Where examples are drawn again, it is the training set, and ``L = f``.

    Parameters
    ----------
    n_steps, lam, radius, delta : array-like
        T ≥ 3, λ > 0, R > 0 and 0 < δ < 1/e; the bound says nothing where ``4 ln(T) delta ≥ 1``.

    Notes
    -----
    The constants follow from Lemma 3.1 and Freedman's inequality as printed, but for three slips.
    T ≥ 3 and ``delta < 1/e`` are stated in Lemma 3.2 only; its ``max{…}`` lacks the factor
    ``√ln(1/delta)`` that it is used with; the proof of Lemma 3.1 has a sum, ``L(w*) + L(w_t)``,
    where it needs the difference, which is at least ``lam/2 ‖w_t − w*‖²`` as w* minimises L.
    """
    n_steps, lam = steps(n_steps), positive("lam", lam)
    square = positive("radius", radius) ** 2
    doubt = -np.log(probability(delta, np.exp(-1), "1/e"))
    growth = 1 + np.log(n_steps)
    tail = np.maximum(32 * square, 9 * square + 6 * lam) * doubt
    return (2 * square * growth + 8 * square * np.sqrt(growth * doubt) + tail) / (lam * n_steps)


@broadcasting
def mean_excess_bound(
    n_steps: ArrayLike, lam: ArrayLike, radius: ArrayLike, delta: ArrayLike
) -> Values:
    """Bound the mean excess of all iterates, and the excess of their average, without projection.

    Zhou, Corollaries 3.6.1 and 3.6.2: with probability at least ``1 − delta``, ``mean L(w_t) −
    L(w*)`` and with it ``L(w̄) − L(w*)`` are O(ln(T/delta) / (lam T)), printed for R = 1 and lam
    small enough. This is Theorem 3.6 with ``delta / (4 ln T)``, for all R and lam.

    Parameters
    ----------
    n_steps, lam, radius, delta : array-like
        T ≥ 3, λ > 0, R > 0 and 0 < δ < 1.
    """
    share = probability(delta) / (4 * np.log(steps(n_steps)))
    return generalization_bound(n_steps, lam, radius, share)


@broadcasting
def median_excess_bound(
    n_steps: ArrayLike, lam: ArrayLike, radius: ArrayLike, delta: ArrayLike
) -> Values:
    """Bound a random iterate with probability 1/2, without projection.

    Zhou, Corollary 3.6.3: for r uniform on 1, …, T, ``L(w_r) − L(w*)`` is O(ln(T/delta) / (lam T))
    with probability at least 1/2. By Markov's inequality it exceeds κ times the mean over r with
    probability at most 1/κ, but that mean is below `mean_excess_bound` with probability
    ``1 − delta`` only: κ = 2 does not suffice, ``κ = 2 (1 − delta) / (1 − 2 delta)`` does.

    Parameters
    ----------
    n_steps, lam, radius, delta : array-like
        T ≥ 3, λ > 0, R > 0 and 0 < δ < 1/2.
    """
    delta = probability(delta, 0.5, "1/2")
    factor = 2 * (1 - delta) / (1 - 2 * delta)
    return factor * mean_excess_bound(n_steps, lam, radius, delta)
