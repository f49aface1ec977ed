"""Bounds of the regret, and of averages in expectation.

The regret of any run is bounded, and an average inherits that bound, or a sharper one if it weighs
late iterates more. What holds with high probability is in `kpegasos.theory.concentration`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kpegasos.theory.constants import subgradient_norm_bound
from kpegasos.utils.arguments import Values, broadcasting, positive, probability, steps
from kpegasos.utils.validation import LARGEST


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

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    n_steps, lam = steps(n_steps, 1), positive("lam", lam)
    gradient_norm = positive("gradient_norm", gradient_norm, 10 * LARGEST)
    return gradient_norm**2 * (1 + np.log(n_steps)) / (2 * lam * n_steps)


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
    return regret_bound(steps(n_steps), lam, gradient_norm)


@broadcasting
def weighted_average_bound(
    n_steps: ArrayLike, lam: ArrayLike, radius: ArrayLike, *, projection: bool = False
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
    return 2 * c / (positive("lam", lam) * (steps(n_steps, 1) + 1))


@broadcasting
def suffix_average_bound(
    n_steps: ArrayLike, lam: ArrayLike, radius: ArrayLike, *, projection: bool = False
) -> Values:
    """Bound the suffix average, ``average="suffix"``: ``G² (1 + ln(T/t₀)) / (2 lam (T − t₀))``.

    ``f(w̄) − f(w*)`` is at most this in expectation for the mean of the iterates after step
    ``t₀``, the largest power of two up to T/2. Derived here, in the Notes; `alpha_suffix_bound` is
    the theorem in print, of which this is less than a quarter.

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
    n_steps = np.floor(steps(n_steps, 2))
    start = np.ldexp(1.0, np.frexp(n_steps)[1] - 2)
    c = subgradient_norm_bound(lam, radius, projection=projection) ** 2
    return c * (1 + np.log(n_steps / start)) / (2 * positive("lam", lam) * (n_steps - start))


@broadcasting
def alpha_suffix_bound(
    n_steps: ArrayLike,
    lam: ArrayLike,
    radius: ArrayLike,
    share: ArrayLike,
    *,
    projection: bool = False,
) -> Values:
    """Bound the mean of the last ``α T`` iterates: ``(2 + 2.5 ln(1/(1 − α))) G² / (α lam T)``.

    Rakhlin, Shamir and Sridharan 2012 (arXiv:1109.5647v7), Theorem 5: ``f(w̄) − f(w*)`` is at most
    this in expectation, where ``(1 − α) T`` is a whole number. `suffix_average_bound` is less.

    Parameters
    ----------
    n_steps, lam, radius : array-like
        T ≥ 1, λ > 0 and R > 0.
    share : array-like
        0 < α < 1, the share of the iterates that is averaged.
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
    >>> round(float(alpha_suffix_bound(n_steps=1000, lam=0.01, radius=1.0, share=0.5)), 3)
    2.986
    """
    share = probability(share, name="share")
    c = subgradient_norm_bound(lam, radius, projection=projection) ** 2
    factor = (2 - 2.5 * np.log1p(-share)) / share
    return factor * c / (positive("lam", lam) * steps(n_steps, 1))
