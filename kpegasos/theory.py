"""Bounds that the papers prove about Pegasos, as functions to compare with a measurement.

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
optimum, objective          `optimum_norm_bound`, `objective_bound`              always
subgradients                `subgradient_norm_bound`                             always
regret                      `regret_bound`; `convergence_bound` (projection)     always
average, ``A_t = S``        `average_iterate_bound`; `convergence_bound`         always
                            (projection)
average                     `average_iterate_bound`                              in expectation
suffix average              `suffix_average_bound`                               in expectation
t-weighted average          `weighted_average_bound`                             in expectation
random iterate              `convergence_bound` (projection)                     in expectation
average, mean of iterates   `measured_regret_bound`, `generalization_bound`,     with probability
                            `mean_excess_bound`, `high_probability_bound`
random iterate              `random_iterate_bound` (projection),                 with probability
                            `median_excess_bound`, `random_stop_bound`
best of several runs        `best_of_runs_bound` (projection)                    with probability
==========================  ===================================================  ================

T steps make ``w_1, …, w_{T+1}``. The theorems speak of ``w_1, …, w_T``; the averages of
`kpegasos.core.state` leave out ``w_1 = 0`` instead of ``w_{T+1}``, and obey the same bounds.

Lives here: formulas, each with its source, its conditions, and the slips of the source.
May import: `kpegasos.kernels`, `kpegasos.utils`. Knows no solver and no rows.

References
----------
- ICML 2007: S. Shalev-Shwartz, Y. Singer, N. Srebro, Pegasos: Primal Estimated sub-GrAdient SOlver
  for SVM.
- MPB 2011: the same with A. Cotter, Mathematical Programming B 127.
- Zhou: W. Zhou, Analysis of Pegasos Algorithm (a report), after S. Kakade, A. Tewari, On the
  Generalization Ability of Online Strongly Convex Programming Algorithms, NIPS 2008.
- S. Lacoste-Julien, M. Schmidt, F. Bach, A simpler approach to obtaining an O(1/t) convergence rate
  for the projected stochastic subgradient method, arXiv:1212.2002, 2012.
- A. Rakhlin, O. Shamir, K. Sridharan, Making Gradient Descent Optimal for Strongly Convex
  Stochastic Optimization, ICML 2012, arXiv:1109.5647.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from kpegasos.kernels.base import Kernel
from kpegasos.kernels.functions import make_kernel
from kpegasos.utils.validation import (
    LARGEST,
    SMALLEST,
    as_array,
    as_flag,
    canonical_rows,
    check_magnitude,
    check_scaling,
)

__all__ = [
    "average_iterate_bound",
    "best_of_runs_bound",
    "convergence_bound",
    "data_radius",
    "freedman_bound",
    "generalization_bound",
    "high_probability_bound",
    "mean_excess_bound",
    "measured_regret_bound",
    "median_excess_bound",
    "n_runs",
    "objective_bound",
    "optimum_norm_bound",
    "random_iterate_bound",
    "random_stop_bound",
    "regret_bound",
    "subgradient_norm_bound",
    "suffix_average_bound",
    "variance_bound",
    "weighted_average_bound",
]


Values = NDArray[np.float64] | np.float64
#: Array-like numbers, of which bounds get arrays.
Numbers = Any
_Bound = TypeVar("_Bound", bound=Callable[..., Any])

#: Least and largest values of arguments.
_RANGES = {
    "n_steps": (3.0, LARGEST),
    "lam": (SMALLEST, LARGEST),
    "radius": (SMALLEST, LARGEST),
    "gradient_norm": (SMALLEST, 10 * LARGEST),
    "largest": (SMALLEST, LARGEST),
    "excess": (0.0, LARGEST),
    "deviation": (0.0, LARGEST),
    "regret": (-LARGEST, LARGEST),
}
#: What delta is below, by its name.
_LIMITS = {"1": 1.0, "1/2": 0.5, "1/e": np.exp(-1)}


def _require(name: str, values: Values, holds: Any, expected: str) -> Values:
    """Return values that hold, and raise a ValueError that shows one that does not."""
    if not np.all(holds):
        wrong = np.asarray(values)[~np.asarray(holds)].flat[0]
        raise ValueError(f"{name} must be {expected}, got {wrong:.10g} instead")
    return values


def _bound(*, least_steps: float = 3.0, delta: str = "1") -> Callable[[_Bound], _Bound]:
    """Check the arguments of a bound, of which it gets arrays of float64.

    Parameters
    ----------
    least_steps : float, default=3
    delta : {"1", "1/2", "1/e"}, default="1"
        What probabilities are below.
    """

    def checked(name: str, argument: Any) -> Values:
        values = as_array(name, argument, expected="be a number or an array of them", kinds="iufO")
        if name == "delta":
            holds = (values > 0) & (values < _LIMITS[delta])
            return _require(name, values, holds, f"above 0 and below {delta}")
        low, high = _RANGES[name]
        low = least_steps if name == "n_steps" else low
        holds = (values >= low) & (values <= high)
        return _require(name, values, holds, f"a number from {low:g} to {high:g}")

    def decorate(bound: _Bound) -> _Bound:
        signature = inspect.signature(bound)

        @wraps(bound)
        def checking(*args: Any, **options: Any) -> Any:
            arguments = signature.bind(*args, **options).arguments
            flags = {"projection": arguments.pop("projection", False)}
            as_flag("projection", flags["projection"])
            flags = flags if "projection" in signature.parameters else {}
            numbers = {name: checked(name, each) for name, each in arguments.items()}
            shapes = [np.shape(each) for each in numbers.values()]
            try:
                np.broadcast_shapes(*shapes)
            except ValueError:
                raise ValueError(
                    f"{', '.join(numbers)} must have shapes that fit together, "
                    f"got {', '.join(map(str, shapes))} instead"
                ) from None
            with np.errstate(over="ignore"):  # where a bound is beyond all numbers
                return bound(**numbers, **flags)

        return cast(_Bound, checking)

    return decorate


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
    kernel = make_kernel(kernel, **parameters)
    if not kernel.positive_definite:
        raise ValueError(f"kernel must be positive semi-definite, got {kernel!r} instead")
    X, scaling = canonical_rows(X), check_scaling(intercept_scaling)
    if not X.shape[0]:
        raise ValueError("X must have at least one row, got none")
    check_magnitude(X)
    with np.errstate(over="ignore", invalid="ignore"):
        largest = float(np.max(kernel.diag(X)))
    if not np.isfinite(largest):
        raise ValueError(
            f"kernel must have finite values on X, got {largest} for {kernel!r} instead"
        )
    return float(np.sqrt(largest + scaling**2))


@_bound()
def subgradient_norm_bound(lam: Numbers, radius: Numbers, *, projection: bool = False) -> Values:
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

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    return np.sqrt(lam) + radius if projection else 2 * radius


@_bound()
def optimum_norm_bound(lam: Numbers, radius: Numbers) -> Values:
    """Bound the norm of the optimum: ``‖w*‖ ≤ min(1/√lam, R/lam)``.

    The first is ICML 2007, Theorem 1, and the reason for the projection: the ball of radius
    ``1/√lam`` contains the optimum. The second is that of the iterates without projection
    (MPB 2011, Theorem 1), and is less where ``lam > R²``. Both hold with weights of mean one too.

    Parameters
    ----------
    lam, radius : array-like
        λ > 0 and R > 0.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    At the optimum there is no duality gap, ``lam/2 ‖w*‖² + mean ω ξ = mean ω β − lam/2 ‖w*‖²`` with
    losses ``ξ ≥ 0``, weights ω of mean one and ``0 ≤ β ≤ 1``. Hence ``lam ‖w*‖² ≤ mean ω β ≤ 1``.
    And ``w* = (1/(lam m)) Σ ω β y φ(x)`` is no longer than ``R/lam``. For any loss that is not
    negative, ``lam/2 ‖w*‖² ≤ f(w*) ≤ f(0)`` gives ``√(2 f(0)/lam)``.

    Examples
    --------
    >>> float(optimum_norm_bound(lam=0.01, radius=1.0))
    10.0
    """
    return np.minimum(1 / np.sqrt(lam), radius / lam)


@_bound()
def objective_bound(lam: Numbers, radius: Numbers, *, projection: bool = False) -> Values:
    """Bound B on ``f(w; A)`` for all iterates, for the optimum and for any mini-batch A.

    ``3 R²/(2 lam) + 1`` without projection (Zhou, before Theorem 3.6), where ``‖w‖ ≤ R/lam``;
    ``R/√lam + 3/2`` with it, by the same sum for ``‖w‖ ≤ 1/√lam``: ``lam/2 ‖w‖² + 1 + R ‖w‖``.

    Parameters
    ----------
    lam, radius : array-like
        λ > 0 and R > 0.
    projection : bool, default=False
        Whether iterates are projected onto the ball of radius ``1/√lam``.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> float(objective_bound(lam=0.5, radius=1.0))
    4.0
    """
    if projection:
        return radius / np.sqrt(lam) + 1.5
    return 1.5 * radius**2 / lam + 1


@_bound()
def convergence_bound(n_steps: Numbers, lam: Numbers, radius: Numbers) -> Values:
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
    return c * np.log(n_steps) / (lam * n_steps)


@_bound()
def random_iterate_bound(n_steps: Numbers, lam: Numbers, radius: Numbers, delta: Numbers) -> Values:
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
    return convergence_bound(n_steps, lam, radius) / delta


@_bound()
def n_runs(delta: Numbers) -> NDArray[np.int64]:
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
    return np.ceil(-np.log(delta)).astype(np.int64)


@_bound()
def best_of_runs_bound(n_steps: Numbers, lam: Numbers, radius: Numbers, delta: Numbers) -> Values:
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
    share = n_steps / runs
    _require("n_steps / n_runs(delta)", share, share >= 3, "at least 3")
    return math.e * runs * convergence_bound(n_steps, lam, radius)


@_bound(least_steps=1)
def regret_bound(n_steps: Numbers, lam: Numbers, gradient_norm: Numbers) -> Values:
    """Bound the mean regret of subgradient steps: ``G² (1 + ln T) / (2 lam T)``.

    ICML 2007, Lemma 1: for any lam-strongly convex ``f_t``, steps ``1/(lam t)`` and ``‖∇_t‖ ≤ G``,
    ``mean f_t(w_t) − mean f_t(u)`` is at most this for all u (of the ball B, if each step ends with
    the projection onto B). Zhou, Theorem 3.4, is the same, not divided by T.

    Parameters
    ----------
    n_steps, lam, gradient_norm : array-like
        T ≥ 1, λ > 0 and G > 0; the G of Pegasos is `subgradient_norm_bound`.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    return gradient_norm**2 * (1 + np.log(n_steps)) / (2 * lam * n_steps)


@_bound()
def average_iterate_bound(
    n_steps: Numbers, lam: Numbers, radius: Numbers, *, projection: bool = False
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

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Where ``w_2, …, w_{T+1}`` are averaged, the proof has ``1 + 1/2 + … + 1/(T+1)`` in the place of
    ``1 + ln T``: less, from T = 3 on.
    """
    gradient_norm = subgradient_norm_bound(lam, radius, projection=projection)
    return regret_bound(n_steps, lam, gradient_norm)


@_bound(least_steps=1)
def weighted_average_bound(
    n_steps: Numbers, lam: Numbers, radius: Numbers, *, projection: bool = False
) -> Values:
    """Bound the t-weighted average, ``average="weighted"``: ``2 G² / (lam (T + 1))``.

    ``f(w̄) − f(w*)`` is at most this in expectation, for weights t of ``w_t`` or of ``w_{t+1}``.
    Lacoste-Julien et al. prove it for steps ``2/(lam (t+1))``. For those of Pegasos it is derived
    here, in the Notes.

    Parameters
    ----------
    n_steps, lam, radius : array-like
        T ≥ 1, λ > 0 and R > 0.
    projection : bool, default=False
        Whether iterates are projected onto the ball of radius ``1/√lam``.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Let ``d_t = E‖w_t − w*‖²`` and ``e_t = E f(w_t) − f(w*)``. A step of ``1/(lam t)`` gives
    ``e_t ≤ lam/2 ((t−1) d_t − t d_{t+1}) + G²/(2 lam t)``, and with ``e_t ≥ lam/2 d_t`` also
    ``d_{t+1} ≤ (1 − 2/t) d_t + (G/(lam t))²``. Hence ``d_2 ≤ (G/lam)²`` and, from t = 3 on,
    ``d_t ≤ (G/lam)²/t``. So ``Σ (t−1) e_t ≤ lam/2 Σ (t−1) d_t + G²/(2 lam) Σ (t−1)/t ≤ T G²/lam``,
    the sums being up to T + 1; divide by ``T (T+1)/2``. Likewise ``Σ t e_t`` up to T.
    """
    c = subgradient_norm_bound(lam, radius, projection=projection) ** 2
    return 2 * c / (lam * (n_steps + 1))


@_bound(least_steps=2)
def suffix_average_bound(
    n_steps: Numbers, lam: Numbers, radius: Numbers, *, projection: bool = False
) -> Values:
    """Bound the suffix average, ``average="suffix"``: ``G² (1 + ln(T/t₀)) / (2 lam (T − t₀))``.

    ``f(w̄) − f(w*)`` is at most this in expectation for the mean of the iterates after step
    ``t₀``, the largest power of two up to T/2. Derived here, in the Notes: less
    than a quarter of the theorem in print (Rakhlin, Shamir and Sridharan 2012, Theorem 5).

    Parameters
    ----------
    n_steps, lam, radius : array-like
        T ≥ 2, whole numbers; λ > 0 and R > 0. A fraction of T is left off.
    projection : bool, default=False
        Whether iterates are projected onto the ball of radius ``1/√lam``.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast
        It rises by 6% where t₀ doubles, and falls with T elsewhere.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    With ``d_t`` and ``e_t`` of `weighted_average_bound`, ``e_t ≤ lam/2 ((t−1) d_t − t d_{t+1}) +
    G²/(2 lam t)`` telescopes over ``t₀ < t ≤ T``. What is left of it is ``lam/2 t₀ d_{t₀+1}``, at
    most ``G²/(2 lam)`` as ``d_{t+1} ≤ (G/lam)²/t`` for all t ≥ 1. So ``Σ e_t ≤ G²/(2 lam) (1 +
    Σ 1/t)``, and ``Σ 1/t ≤ ln(T/t₀)``. The sums from ``t₀ + 2`` to ``T + 1``, of the iterates that
    ``average="suffix"`` takes, are less. Rakhlin et al. use convexity where this uses strong
    convexity, and ``d_t ≤ 4 (G/lam)²/t``.

    Examples
    --------
    >>> round(float(suffix_average_bound(n_steps=1000, lam=0.01, radius=1.0)), 3)
    0.635
    """
    n_steps = np.floor(n_steps)
    start = np.ldexp(1.0, np.frexp(n_steps)[1] - 2)
    c = subgradient_norm_bound(lam, radius, projection=projection) ** 2
    return c * (1 + np.log(n_steps / start)) / (2 * lam * (n_steps - start))


@_bound()
def variance_bound(excess: Numbers, lam: Numbers, gradient_norm: Numbers) -> Values:
    """Bound the variance of one step's chance: ``2 G² (L(w_t) − L(w*)) / lam``.

    Zhou, Lemma 3.1, for ``ξ_t = L(w_t) − L(w*) − (f(w_t; A_t) − f(w*; A_t))``, given the draws
    before step t. Near the optimum chance adds little: that makes the rate 1/T.

    Parameters
    ----------
    excess : array-like
        ``L(w_t) − L(w*) ≥ 0``.
    lam, gradient_norm : array-like
        λ > 0 and G > 0; the G of Pegasos is `subgradient_norm_bound`.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    ``f(·; A)`` differs by ``G ‖w_t − w*‖`` at most between the two. As w* minimises L, ``L(w_t) −
    L(w*) ≥ lam/2 ‖w_t − w*‖²``. The report prints the sum ``L(w*) + L(w_t)`` in the place of this
    difference, from minimisers of each ``f(·; z)``; the lemma does not follow from that.

    Examples
    --------
    >>> float(variance_bound(excess=0.5, lam=0.1, gradient_norm=2.0))
    40.0
    """
    return 2 * gradient_norm**2 * (excess / lam)


@_bound(delta="1/e")
def freedman_bound(deviation: Numbers, largest: Numbers, delta: Numbers) -> Values:
    """Bound a sum of martingale differences: ``max(2 σ, 3 b √ln(1/delta)) √ln(1/delta)``.

    Zhou, Lemma 3.2, which Kakade and Tewari 2008 derive from Freedman's inequality: if ``|X_t| ≤
    b`` and ``E(X_t | X_1 … X_{t−1}) = 0``, then ``Σ X_t`` exceeds this with probability at most ``4
    ln(T) delta``, for T ≥ 3. σ² is the sum of the conditional variances, and may itself be random.

    Parameters
    ----------
    deviation : array-like
        σ ≥ 0.
    largest : array-like
        b > 0.
    delta : array-like
        0 < δ < 1/e.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    The report prints the maximum without the factor ``√ln(1/delta)`` behind it, and uses it with
    the factor. The constants: let ``q = ln(1/delta)``, ``c² = 8/3``, ``r = 2/c``, ``α_0 = c b √q``
    and ``α_{j+1} = r α_j``. Where ``σ ≤ α_j``, Freedman's ``exp(−ε²/(2 α_j² + 2 b ε/3))`` at
    ``ε = c α_j √q`` is at most delta. For the least such j, ``ε ≤ c √q max(r σ, α_0)``, which is
    ``max(2 σ, 8/3 b √q) √q``. As σ is at most ``b √T``, there are ``4 ln T`` such j at the most.

    Examples
    --------
    >>> round(float(freedman_bound(deviation=10.0, largest=1.0, delta=0.01)), 2)
    42.92
    """
    root = np.sqrt(-np.log(delta))
    return np.maximum(2 * deviation, 3 * largest * root) * root


@_bound(delta="1/e")
def measured_regret_bound(
    regret: Numbers,
    n_steps: Numbers,
    lam: Numbers,
    radius: Numbers,
    delta: Numbers,
    *,
    projection: bool = False,
) -> Values:
    """Bound the mean excess of all iterates by the regret that was measured.

    Zhou, Theorem 3.3: with probability at least ``1 − 4 ln(T) delta``, ``mean L(w_t) − L(w*)`` is
    at most ``r + 2 √(2 G² r ln(1/delta) / (lam T)) + max(8 G²/lam, 6 B) ln(1/delta) / T``.

    r is the mean regret, ``mean f(w_t; A_t) − mean f(w*; A_t)``, the report's ``R_T/T``; G is
    `subgradient_norm_bound` and B `objective_bound`. The last term does not depend on r, so that
    measuring helps only as far as that term leaves room.

    Parameters
    ----------
    regret : array-like
        The mean regret r. A negative one, which chance can make, counts as 0.
    n_steps, lam, radius, delta : array-like
        T ≥ 3, λ > 0, R > 0 and 0 < δ < 1/e; the bound says nothing where ``4 ln(T) delta ≥ 1``.
    projection : bool, default=False
        Whether iterates are projected onto the ball of radius ``1/√lam``. The report does not
        project; its proof asks for G and B only.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.

    See Also
    --------
    generalization_bound : The same with the regret bounded by `regret_bound`.

    Notes
    -----
    Let ``D = Σ L(w_t) − L(w*)`` and ``q = ln(1/delta)``. Its difference from the regret is a sum of
    martingale differences of size ``2 B`` at most, whose variances add up to ``2 G² D/lam`` at most
    (`variance_bound`). By `freedman_bound`, ``D − T r ≤ max(2 √(2 G² D/lam), 6 B √q) √q``. Solve
    for D. The conditions T ≥ 3 and delta < 1/e are printed with Lemma 3.2 only.

    Examples
    --------
    >>> arguments = dict(n_steps=10_000, lam=0.01, radius=1.0, delta=0.001)
    >>> for regret in (0.1, 0.01, 0.0):
    ...     print(round(float(measured_regret_bound(regret, **arguments)), 2))
    2.78
    2.37
    2.21
    """
    doubt, regret = -np.log(delta), np.maximum(regret, 0)
    largest = objective_bound(lam, radius, projection=projection)
    # (G/√λ)², which neither overflows nor vanishes before the whole does.
    square = (subgradient_norm_bound(lam, radius, projection=projection) / np.sqrt(lam)) ** 2
    chance = 2 * np.sqrt(2 * square * regret * doubt / n_steps)
    return regret + chance + np.maximum(8 * square, 6 * largest) * doubt / n_steps


@_bound(delta="1/e")
def generalization_bound(n_steps: Numbers, lam: Numbers, radius: Numbers, delta: Numbers) -> Values:
    """Bound the mean excess of all iterates, ``D_T/T``, without projection.

    Zhou, Theorem 3.6: with probability at least ``1 − 4 ln(T) delta``, ``mean L(w_t) − L(w*)`` is
    at most ``(2 R² (1 + ln T) + 8 R² √((1 + ln T) ln(1/delta)) + max(32 R², 9 R² + 6 lam)
    ln(1/delta)) / (lam T)``. It is `measured_regret_bound` at `regret_bound`, for ``G = 2 R``.

    Parameters
    ----------
    n_steps, lam, radius, delta : array-like
        T ≥ 3, λ > 0, R > 0 and 0 < δ < 1/e; the bound says nothing where ``4 ln(T) delta ≥ 1``.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    The last term outweighs the others: at T = 10,000 and ``4 ln(T) delta = 0.05`` they are in the
    ratio of 20, 66 and 211. It stems from `freedman_bound` alone, so a smaller regret does not make
    it less. The slips of the report on the way are told in `variance_bound`, `freedman_bound` and
    `measured_regret_bound`.
    """
    square, growth, doubt = radius**2, 1 + np.log(n_steps), -np.log(delta)
    tail = np.maximum(32 * square, 9 * square + 6 * lam) * doubt
    return (2 * square * growth + 8 * square * np.sqrt(growth * doubt) + tail) / (lam * n_steps)


@_bound()
def mean_excess_bound(n_steps: Numbers, lam: Numbers, radius: Numbers, delta: Numbers) -> Values:
    """Bound the mean excess of all iterates, and the excess of their average, without projection.

    Zhou, Corollaries 3.6.1 and 3.6.2: with probability at least ``1 − delta``, ``mean L(w_t) −
    L(w*)`` and with it ``L(w̄) − L(w*)`` are O(ln(T/delta) / (lam T)), printed for R = 1 and lam
    small enough. This is Theorem 3.6 with ``delta / (4 ln T)``, for all R and lam.

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
    return generalization_bound(n_steps, lam, radius, delta / (4 * np.log(n_steps)))


def _over_half(delta: Values) -> Values:
    """Return how far above a mean, bounded with probability 1 − delta, half of all draws stay."""
    return 2 * (1 - delta) / (1 - 2 * delta)


@_bound(delta="1/2")
def median_excess_bound(n_steps: Numbers, lam: Numbers, radius: Numbers, delta: Numbers) -> Values:
    """Bound a random iterate with probability 1/2, without projection.

    Zhou, Corollary 3.6.3: for r uniform on 1, …, T, ``L(w_r) − L(w*)`` is O(ln(T/delta) / (lam T))
    with probability at least 1/2. By Markov's inequality it exceeds κ times the mean over r with
    probability at most 1/κ, but that mean is below `mean_excess_bound` with probability
    ``1 − delta`` only: κ = 2 does not suffice, ``κ = 2 (1 − delta) / (1 − 2 delta)`` does.

    Parameters
    ----------
    n_steps, lam, radius, delta : array-like
        T ≥ 3, λ > 0, R > 0 and 0 < δ < 1/2.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    return _over_half(delta) * mean_excess_bound(n_steps, lam, radius, delta)


@_bound()
def high_probability_bound(
    n_steps: Numbers,
    lam: Numbers,
    radius: Numbers,
    delta: Numbers,
    *,
    projection: bool = False,
) -> Values:
    """Bound the mean excess of all iterates in one term: ``15 G² ln(T/delta) / (lam T)``.

    With probability at least ``1 − delta``, ``mean L(w_t) − L(w*)`` and with it ``L(w̄) − L(w*)``
    are at most this. MPB 2011 has a theorem of this form, after Kakade and Tewari 2008. The
    constant 15 and the condition on lam are not taken from there: they are derived in the Notes.

    Parameters
    ----------
    n_steps, lam, radius, delta : array-like
        T ≥ 3, 0 < λ ≤ R², R > 0 and 0 < δ < 1.
    projection : bool, default=False
        Whether iterates are projected onto the ball of radius ``1/√lam``.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Put `regret_bound` and ``delta / (4 ln T)`` into `measured_regret_bound`. Where ``lam ≤ R²``,
    its maximum is ``8 G²/lam``. So it is ``G²/(lam T)`` times ``u/2 + 2 √(u v) + 8 v``, with ``u =
    1 + ln T`` and ``v = ln(4 ln(T)/delta)``. These are at most 1.911 and 1.348 times
    ``ln(T/delta)``, both at T = 3 and delta = 1, which makes 14.95.

    Examples
    --------
    >>> round(float(high_probability_bound(100_000, 0.01, 1.0, 0.05)), 3)
    0.871
    """
    square = radius**2
    _require("lam / radius**2", lam / square, lam <= square, "1 at most")
    c = subgradient_norm_bound(lam, radius, projection=projection) ** 2
    return 15 * c * (np.log(n_steps) - np.log(delta)) / (lam * n_steps)


@_bound(delta="1/2")
def random_stop_bound(
    n_steps: Numbers,
    lam: Numbers,
    radius: Numbers,
    delta: Numbers,
    *,
    projection: bool = False,
) -> Values:
    """Bound a random iterate with probability 1/2 in one term, with or without projection.

    For r uniform on 1, …, T, ``L(w_r) − L(w*)`` is at most ``2 (1 − delta)/(1 − 2 delta)`` times
    `high_probability_bound` with probability at least 1/2. The proof is that of
    `median_excess_bound`: the factor 2 that Markov's inequality suggests leaves delta out.

    Parameters
    ----------
    n_steps, lam, radius, delta : array-like
        T ≥ 3, 0 < λ ≤ R², R > 0 and 0 < δ < 1/2.
    projection : bool, default=False
        Whether iterates are projected onto the ball of radius ``1/√lam``.

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    bound = high_probability_bound(n_steps, lam, radius, delta, projection=projection)
    return _over_half(delta) * bound
