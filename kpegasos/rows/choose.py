"""Where kernel rows come from: all kept, kept while they fit, or not kept.

- `GramRows`: the whole Gram matrix;
- `CachedRows`: rows when first needed, the least recently used given up beyond a byte budget;
- `UncachedRows`: nothing kept; a block of draws is scored against the support and corrected inside.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from kpegasos.kernels.functions import make_kernel
from kpegasos.kernels.matrix import MEBIBYTE, KernelMatrix, canonical_rows, check_magnitude
from kpegasos.rows.base import FEWEST_ROWS, TILE_ROWS, GramRows, KernelSource
from kpegasos.rows.cached import BufferPool, CachedRows, cache_capacity, cache_mb_needed
from kpegasos.rows.uncached import UncachedRows, streamed_bytes

#: Up to this many examples `cache="auto"` computes the whole matrix at once.
_SMALL = 2000
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
    blocks: KernelMatrix,
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
        "cached": cache_mb_needed(n_samples, blocks.dtype, blocks.has_temporaries),
        "streamed": max(batch_size, min(FEWEST_ROWS, n_samples)) ** 2
        * streamed_bytes(blocks)
        / MEBIBYTE,
    }
    cache_mb /= shares
    gram_mb = n_samples * n_samples * blocks.dtype.itemsize / MEBIBYTE
    if cache == "auto":
        kept, _ = cache_capacity(n_samples, blocks.dtype, cache_mb, blocks.has_temporaries)
        if n_samples <= _SMALL and gram_mb <= cache_mb:
            cache = "precomputed"
        elif kept >= min(n_samples, 2 * TILE_ROWS):
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


def check_gram(gram: Any) -> np.ndarray:
    """Check that a kernel matrix is square and symmetric (to rounding).

    Raises
    ------
    ValueError
        If it is not.
    """
    gram = np.asarray(gram)
    if gram.dtype not in (np.float32, np.float64):
        gram = gram.astype(np.float64)
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise ValueError(
            f"kernel='precomputed' expects X to be a square kernel matrix, got shape {gram.shape}"
        )
    scale = max(float(gram.max(initial=0.0)), -float(gram.min(initial=0.0)))
    if not math.isfinite(scale):
        raise ValueError(
            "kernel='precomputed' expects X to be a finite kernel matrix, got NaN or infinity"
        )
    tolerance = 100 * float(np.finfo(gram.dtype).eps) * scale
    for top, left in product(range(0, gram.shape[0], 256), repeat=2):
        tile = gram[top : top + 256, left : left + 256]
        mirrored = gram[left : left + 256, top : top + 256].T
        difference = np.abs(tile - mirrored).max() if left >= top else 0.0
        if difference > tolerance:
            raise ValueError(
                f"kernel='precomputed' expects X to be a symmetric kernel matrix, "
                f"got entries that differ by {difference:.3g} from their mirror images"
            )
    return gram
