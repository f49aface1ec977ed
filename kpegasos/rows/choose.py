"""The choice of a source of kernel rows: all at once, or when they are needed.

- `GramRows`: the whole Gram matrix;
- `CachedRows`: rows when first needed, as many as a byte budget holds, or only a few.
"""

from __future__ import annotations

from typing import Any

from kpegasos.kernels.functions import KERNELS, make_kernel, parameters_of, scale_gamma
from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.rows.base import KernelSource
from kpegasos.rows.budget import (
    ACCOUNT,
    as_budget,
    budget_mb,
    cached_mb_needed,
    check_budget,
    few_rows_mb,
    gram_mb_needed,
    most_mb_used,
)
from kpegasos.rows.cached import CachedRows
from kpegasos.rows.gram import GramRows
from kpegasos.utils import tuning
from kpegasos.utils.threads import at_work
from kpegasos.utils.validation import (
    as_choice,
    canonical_rows,
    check_gram,
    check_magnitude,
    check_scaling,
    shown,
)

CACHES = ("auto", "precomputed", "cached", "streamed")


@at_work()
def make_rows(
    X: Any,
    kernel: Any = "rbf",
    *,
    cache: str = "auto",
    cache_mb: float | str = "auto",
    intercept_scaling: float = 0.0,
    row_dtype: Any = None,
    **parameters: Any,
) -> KernelSource:
    """Pick and build a source of kernel rows.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Examples; the Gram matrix itself with ``kernel="precomputed"``. float32 and float64 rows are
        used as they are; integers, data frames and anything else become float64.
    kernel : str, callable or Kernel, default="rbf"
        A name, a function or an object, as `kpegasos.make_kernel` takes it; objects can be added
        and multiplied.
    cache : {"auto", "precomputed", "cached", "streamed"}, default="auto"
        ``"auto"`` computes the whole matrix for a small problem, else rows when they are needed,
        and keeps them while they fit; ``"streamed"`` keeps a few.
    cache_mb : float or "auto", default="auto"
        MiB that kernel values may take; less is taken where less is free. ``"auto"`` is half of the
        memory that is free, 4,096 at the most, and 1,024 where the system does not say.
    intercept_scaling : float, default=0.0
        Size B of the constant feature; the kernel becomes ``K + B²``.
    row_dtype : {"float32", "float64"}, default=None
        Precision of kernel values, and of their arithmetic where float32 does not round too much;
        None for that of X. A given Gram matrix stays as it is.
    **parameters : float or str
        ``gamma``, ``degree``, ``coef0`` of a named kernel, as far as it has them; by default 1, 3
        and 0. ``gamma`` may be ``"scale"``, ``1 / (n_features · X.var())``, or ``"auto"``,
        ``1 / n_features``, as in `PegasosSVC`.

    Returns
    -------
    GramRows or CachedRows

    Raises
    ------
    ValueError
        If X, the kernel, a parameter or the budget is not valid.
    TypeError
        For a parameter that the kernel does not have.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kpegasos import make_rows
    >>> frame = load_iris(as_frame=True).data
    >>> rows = make_rows(frame, "rbf", gamma="scale")
    >>> rows.n_samples, rows.row_capacity
    (150, 150)
    """
    cache = as_choice("cache", cache, CACHES)
    cache_mb = as_budget(cache_mb)
    intercept_scaling = check_scaling(intercept_scaling)
    if isinstance(kernel, str):
        _check_names(kernel, parameters)
        if kernel == "precomputed":
            return GramRows(check_gram(X), intercept_scaling=intercept_scaling)
    X = canonical_rows(X)
    if isinstance(kernel, str):
        check_magnitude(X)
        parameters = _resolved(parameters, X)
    return choose_source(
        KernelMatrix(make_kernel(kernel, **parameters), X, row_dtype=row_dtype),
        cache=cache,
        cache_mb=cache_mb,
        intercept_scaling=intercept_scaling,
    )


def _check_names(kernel: str, parameters: dict[str, Any]) -> None:
    """Check that a named kernel has the parameters that are given for it.

    Raises
    ------
    TypeError
        If it does not; `make_kernel` ignores those of other kernels.
    """
    if kernel == "precomputed":
        own: list[str] = []
    elif kernel in KERNELS:
        own = parameters_of(kernel)
    else:
        return
    for name in parameters:
        if name not in own:
            expected = f"be among {own}" if own else "be none"
            raise TypeError(
                f"parameters must {expected} for kernel={kernel!r}, got {name!r} instead"
            )


def _resolved(parameters: dict[str, Any], X: Any) -> dict[str, Any]:
    """Return parameters with a number for ``gamma``.

    Raises
    ------
    ValueError
        If it depends on data that are empty.
    """
    gamma = parameters.get("gamma")
    if not isinstance(gamma, str):
        return parameters
    if 0 in X.shape:
        raise ValueError(
            f"X must have rows and features for gamma={shown(gamma)}, got shape {X.shape} instead"
        )
    return {**parameters, "gamma": scale_gamma(gamma, X)}


def choose_source(
    values: KernelMatrix,
    *,
    cache: str,
    cache_mb: float | str,
    intercept_scaling: float,
    shares: int = 1,
    unasked: bool = False,
) -> KernelSource:
    """Build the source that ``cache`` names, or that suits the size.

    Parameters
    ----------
    values : KernelMatrix
    cache : {"auto", "precomputed", "cached", "streamed"}
    cache_mb : float or "auto"
        Budget that all shares have together, in MiB; less is taken where less is free.
    intercept_scaling : float
        Size B of the constant feature; the kernel becomes ``K + B²``.
    shares : int, default=1
        Sources that live at the same time.
    unasked : bool, default=False
        Whether the budget came from ``"auto"``.

    Raises
    ------
    ValueError
        If the budget is too small, or memory too short for what ``cache`` names.
    """
    cached_mb = cached_mb_needed(values)
    least_mb = {
        "precomputed": gram_mb_needed(values),
        "cached": cached_mb,
        "streamed": cached_mb,
    }
    if values.is_costly:  # none of its values is to be computed twice, or in vain
        cache = "cached"
    unasked = unasked or cache_mb == "auto"
    cache_mb = budget_mb(cache_mb, shares * most_mb_used(values))
    if unasked and cache != "auto":  # a named cache gets at least what it needs
        cache_mb = max(cache_mb, shares * least_mb[cache])
    share_mb = cache_mb / shares
    wanted_mb = min(share_mb, most_mb_used(values))
    grant = ACCOUNT.grant(wanted_mb, min(wanted_mb, cached_mb), shares)
    if grant.mb < wanted_mb:
        share_mb = grant.mb
    if cache == "auto":
        is_small = values.n_samples <= tuning.GRAM_SAMPLES
        holds_all = is_small and least_mb["precomputed"] <= share_mb
        cache = "precomputed" if holds_all else "cached"
    check_budget(cache, least_mb[cache], cache_mb, values, shares)
    if share_mb < least_mb[cache]:
        raise ValueError(
            f"cache must be 'auto', 'cached' or 'streamed' where memory is short, got {cache!r} "
            f"instead, which needs {least_mb[cache]:.3g} MiB for {values.n_samples} examples with "
            f"{share_mb:.3g} MiB free"
        )
    source: KernelSource
    if cache == "precomputed":
        source = GramRows.from_values(values, intercept_scaling=intercept_scaling)
    else:
        if cache == "streamed":
            share_mb = min(share_mb, few_rows_mb(values))
        source = CachedRows(values, cache_mb=share_mb, intercept_scaling=intercept_scaling)
    source.grant = grant
    return source
