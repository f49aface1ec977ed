"""What every bound is made of: the radius R of the data, and what follows from it.

Left to others: whether the data fit a problem (`kpegasos.core.problem`), and the bounds themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kpegasos.kernels.functions import Kernel, make_kernel
from kpegasos.utils.arguments import Values, broadcasting, positive
from kpegasos.utils.validation import canonical_rows, check_magnitude, check_scaling


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

    Returns
    -------
    float or ndarray of the shape to which the arguments are broadcast

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    lam, radius = positive("lam", lam), positive("radius", radius)
    return np.sqrt(lam) + radius if projection else 2 * radius


@broadcasting
def optimum_norm_bound(lam: ArrayLike, radius: ArrayLike) -> Values:
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
    lam, radius = positive("lam", lam), positive("radius", radius)
    return np.minimum(1 / np.sqrt(lam), radius / lam)


@broadcasting
def objective_bound(lam: ArrayLike, radius: ArrayLike, *, projection: bool = False) -> Values:
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
    lam, radius = positive("lam", lam), positive("radius", radius)
    if projection:
        return radius / np.sqrt(lam) + 1.5
    return 1.5 * radius**2 / lam + 1
