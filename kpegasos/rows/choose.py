"""Where kernel rows come from: all kept, kept while they fit, or not kept.

- `GramRows`: the whole Gram matrix;
- `CachedRows`: rows when first needed, the least recently used given up beyond a byte budget;
- `UncachedRows`: nothing kept; a block of draws is scored against the support and corrected inside.
"""

from __future__ import annotations

from typing import Any

from kpegasos.kernels.functions import make_kernel
from kpegasos.kernels.matrix import (
    KernelMatrix,
    KernelValues,
)
from kpegasos.rows.base import GramRows, KernelSource
from kpegasos.rows.cached import BufferPool, CachedRows, cache_capacity, cache_mb_needed
from kpegasos.rows.uncached import UncachedRows, streamed_bytes
from kpegasos.utils import tuning
from kpegasos.utils.validation import canonical_rows, check_gram, check_magnitude

CACHES = ("auto", "precomputed", "cached", "streamed")


def make_rows(
    X: Any,
    kernel: Any = "rbf",
    *,
    cache: str = "auto",
    cache_mb: float = 1024.0,
    intercept_scaling: float = 0.0,
    **parameters: Any,
) -> KernelSource:
    """Pick and build a source of kernel rows.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features), float32 or float64
        Examples; the Gram matrix itself with ``kernel="precomputed"``.
    kernel : str, callable or Kernel, default="rbf"
    cache : {"auto", "precomputed", "cached", "streamed"}, default="auto"
        ``"auto"`` computes the whole matrix for a small problem, else keeps rows while they fit,
        else none.
    cache_mb : float, default=1024
        MiB that kernel values may take.
    intercept_scaling : float, default=0.0
        Size B of the constant feature; the kernel becomes ``K + B²``.
    **parameters : float
        ``gamma``, ``degree``, ``coef0`` of a named kernel.

    Returns
    -------
    GramRows, CachedRows or UncachedRows
    """
    if cache not in CACHES:
        raise ValueError(f"cache must be one of {CACHES}, got {cache!r} instead")
    if isinstance(kernel, str) and kernel == "precomputed":
        return GramRows(check_gram(X), intercept_scaling=intercept_scaling)
    X = canonical_rows(X)
    if isinstance(kernel, str):
        check_magnitude(X)
    return choose_source(
        KernelMatrix(make_kernel(kernel, **parameters), X),
        cache=cache,
        cache_mb=cache_mb,
        intercept_scaling=intercept_scaling,
    )


def choose_source(
    blocks: KernelValues,
    *,
    cache: str,
    cache_mb: float,
    intercept_scaling: float,
    shares: int = 1,
    batch_size: int = 1,
    buffers: BufferPool | None = None,
) -> KernelSource:
    """Build the source that ``cache`` names, or that suits the size.

    ``shares`` sources have the budget ``cache_mb`` together.

    Raises
    ------
    ValueError
        If the budget is too small.
    """
    n_samples = blocks.n_samples
    needed_mb = {
        "cached": cache_mb_needed(n_samples, blocks.dtype, not blocks.can_pack),
        "streamed": max(batch_size, min(tuning.FEWEST_ROWS, n_samples)) ** 2
        * streamed_bytes(blocks)
        / tuning.MEBIBYTE,
    }
    cache_mb /= shares
    gram_mb = n_samples * n_samples * blocks.dtype.itemsize / tuning.MEBIBYTE
    if cache == "auto":
        kept, _ = cache_capacity(n_samples, blocks.dtype, cache_mb, not blocks.can_pack)
        if n_samples <= tuning.GRAM_SAMPLES and gram_mb <= cache_mb:
            cache = "precomputed"
        elif kept >= min(n_samples, 2 * tuning.TILE_ROWS):
            cache = "cached"
        else:
            cache = "streamed"
    needed_mb["precomputed"] = gram_mb
    if cache_mb < needed_mb[cache]:
        raise ValueError(
            f"cache_mb must be at least {1.005 * needed_mb[cache] * shares:.3g} for "
            f"cache='{cache}' with {n_samples} examples, got {cache_mb * shares:g} instead"
            + ("; use cache='streamed' to keep no rows" if cache != "streamed" else "")
        )
    if cache == "precomputed":
        return GramRows.from_blocks(blocks, intercept_scaling=intercept_scaling)
    if cache == "cached":
        return CachedRows(
            blocks, cache_mb=cache_mb, intercept_scaling=intercept_scaling, buffers=buffers
        )
    return UncachedRows(blocks, cache_mb=cache_mb, intercept_scaling=intercept_scaling)
