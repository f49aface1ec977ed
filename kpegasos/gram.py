"""Where kernel rows come from: all kept, kept while they fit, or not kept.

Every source lets a loop run over an index stream and supplies the kernel rows it needs, in blocks
of one matrix product each. Because the stream is known ahead, a block holds the missing row
together with the rows that upcoming violators will need; that changes the cost, never the
algorithm. The model is the same for every source, cache size and block size, up to the rounding of
the products.

- `Precomputed`: the whole Gram matrix;
- `CachedRows`: rows when first needed, the least recently used given up beyond a byte budget;
- `Streamed`: nothing kept; a block of draws is scored against the support and corrected inside.
"""

from __future__ import annotations

import math
from threading import Lock
from typing import Any
from weakref import finalize

import numpy as np
from scipy import sparse

from kpegasos.averaging import Combination
from kpegasos.blocks import MEBIBYTE, KernelBlocks, streamed_product
from kpegasos.kernels import make_kernel
from kpegasos.loops import (
    BATCH_OFFSET,
    NEED_ROW,
    RESCALE,
    STEPS,
    Examples,
    KernelRows,
    LoopState,
    Rule,
)
from kpegasos.state import Method, fold_scale

#: Rows of one block at the most, and the fewest that a cache must have room for.
BLOCK_ROWS = 256
FEWEST_ROWS = 16
#: A block is filled up to about this many rows with doubtful ones.
SMALL_BLOCK = 16
#: Up to this many examples `cache="auto"` computes the whole matrix at once.
_SMALL = 2000


class KernelSource:
    """What the solver asks of every source of kernel rows.

    Attributes
    ----------
    n_samples : int
    base_size : int
        Length of the maintained margins; 0 where none are held.
    evaluations : int
        Kernel values computed while training.
    positive_definite : bool
    """

    base_size: int = 0

    def __init__(self, n_samples: int, offset: float, positive_definite: bool) -> None:
        self.n_samples = n_samples
        self.offset = float(offset)
        self.positive_definite = positive_definite
        self.evaluations = 0

    def advance(
        self,
        method: Method,
        state: LoopState,
        draws: np.ndarray,
        stop: int,
        examples: Examples,
        rule: Rule,
    ) -> None:
        """Run the loop over ``draws[:stop]``; what lies behind is for look-ahead only."""
        raise NotImplementedError

    def evaluate(
        self,
        combinations: list[Combination],
        state: LoopState,
        prefixes: list[tuple[np.ndarray, np.ndarray] | None],
        examples: Examples,
    ) -> list[tuple[np.ndarray, np.ndarray, float]]:
        """Coefficients, margins and squared norm of each iterate."""
        coefs = [
            c.apply(state.alpha, state.stamps, p and p[0])
            for c, p in zip(combinations, prefixes, strict=True)
        ]
        if self.base_size:
            margins = [
                c.apply(state.base, state.base_stamped, p and p[1])
                for c, p in zip(combinations, prefixes, strict=True)
            ]
        else:
            columns = np.stack([coef * examples.signed for coef in coefs], axis=1)
            margins = list(self.product(columns).T)
        return [
            (coef, margin, float((coef * examples.signed) @ margin))
            for coef, margin in zip(coefs, margins, strict=True)
        ]

    def product(self, columns: np.ndarray) -> np.ndarray:
        """``(K + offset) @ columns``, float64 of shape (n_samples, n_columns)."""
        raise NotImplementedError

    def squared_norms(self) -> np.ndarray:
        """``k(x, x) + offset`` of each example."""
        raise NotImplementedError


class Precomputed(KernelSource):
    """Rows of a whole Gram matrix.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        C-contiguous float32 or float64, only read.
    intercept_scaling : float, default=0.0
        Size B of the constant feature; the kernel becomes ``K + B²``.
    """

    def __init__(self, gram: np.ndarray, *, intercept_scaling: float = 0.0) -> None:
        super().__init__(gram.shape[0], intercept_scaling**2, True)
        self.base_size = self.n_samples
        self.gram = np.ascontiguousarray(gram)
        self._rows = KernelRows(
            self.gram,
            np.arange(self.n_samples),
            np.zeros(self.n_samples, dtype=np.int64),
            self.squared_norms(),
            self.offset,
        )

    @classmethod
    def from_blocks(cls, blocks: KernelBlocks, *, intercept_scaling: float = 0.0) -> Precomputed:
        """Compute the whole matrix, a block at a time."""
        n_samples = blocks.n_samples
        gram = np.empty((n_samples, n_samples), dtype=blocks.dtype)
        height = max(FEWEST_ROWS, (64 * MEBIBYTE) // max(1, gram.itemsize * n_samples))
        evaluations = 0
        for top in range(0, n_samples, height):
            members = np.arange(top, min(n_samples, top + height))
            evaluations += blocks.rows(members, gram[top : top + height])
        source = cls(gram, intercept_scaling=intercept_scaling)
        source.positive_definite = blocks.kernel.positive_definite
        source.evaluations = evaluations
        return source

    def advance(
        self,
        method: Method,
        state: LoopState,
        draws: np.ndarray,
        stop: int,
        examples: Examples,
        rule: Rule,
    ) -> None:
        """Run the loop over ``draws[:stop]``."""
        position, status = 0, RESCALE
        while status == RESCALE:
            status, position = method.loop(state, self._rows, draws, position, stop, examples, rule)
            if status == RESCALE:
                fold_scale(state)

    def product(self, columns: np.ndarray) -> np.ndarray:
        """``(K + offset) @ columns``."""
        return np.asarray(self.gram @ columns + self.offset * columns.sum(axis=0), dtype=np.float64)

    def squared_norms(self) -> np.ndarray:
        """``k(x, x) + offset`` of each example."""
        return self.gram.diagonal().astype(np.float64) + self.offset


class RowBuffers:
    """Memory for kernel rows, handed from one `CachedRows` to the next.

    Fresh pages of hundreds of MiB for each pair of classes would cost more than the loops do.
    """

    def __init__(self) -> None:
        self._free: list[np.ndarray] = []
        self._lock = Lock()

    def take(self, owner: object, n_rows: int, n_columns: int, dtype: np.dtype) -> np.ndarray:
        """Array of shape (n_rows, n_columns) that is given back when its owner is gone."""
        size = n_rows * n_columns
        with self._lock:
            fitting = [b for b in self._free if b.size >= size and b.dtype == dtype]
            if fitting:
                buffer = min(fitting, key=len)
            else:
                # One that is too small would only sit beside the new one.
                self._free.clear()
                buffer = np.empty(size, dtype=dtype)
            self._free = [b for b in self._free if b is not buffer]
        finalize(owner, self._give_back, buffer)
        return buffer[:size].reshape(n_rows, n_columns)

    def _give_back(self, buffer: np.ndarray) -> None:
        with self._lock:
            self._free.append(buffer)


class CachedRows(KernelSource):
    """Rows computed in blocks when first needed and kept within a budget of bytes.

    Parameters
    ----------
    blocks : KernelBlocks
    cache_mb : float, default=1024
        MiB for the rows kept and the block in work together.
    intercept_scaling : float, default=0.0
    block_rows : int, default=256
        Rows of one block at the most.
    buffers : RowBuffers, default=None
        Where the memory comes from.

    Raises
    ------
    ValueError
        If the budget has no room for one small block of rows.
    """

    def __init__(
        self,
        blocks: KernelBlocks,
        *,
        cache_mb: float = 1024.0,
        intercept_scaling: float = 0.0,
        block_rows: int = BLOCK_ROWS,
        buffers: RowBuffers | None = None,
    ) -> None:
        super().__init__(blocks.n_samples, intercept_scaling**2, blocks.kernel.positive_definite)
        self.base_size = self.n_samples
        kept, block = cache_capacity(self.n_samples, blocks.dtype, cache_mb, blocks.is_sparse)
        if kept < min(FEWEST_ROWS, self.n_samples):
            needed = cache_mb_needed(self.n_samples, blocks.dtype, blocks.is_sparse)
            raise ValueError(
                f"cache_mb must be at least {needed:.3g} to hold one block of rows of "
                f"{self.n_samples} kernel values, got {cache_mb:g} instead; use cache='streamed' "
                f"to keep none"
            )
        self.block_rows = max(1, min(block, block_rows))
        self._blocks = blocks
        self._rows = KernelRows(
            (buffers or RowBuffers()).take(self, kept, self.n_samples, blocks.dtype),
            np.full(self.n_samples, -1, dtype=np.int64),
            np.zeros(kept, dtype=np.int64),
            self.squared_norms(),
            self.offset,
        )
        self._owner = np.full(kept, -1, dtype=np.int64)
        self._filled = 0
        # What one more update of a similar example adds to a margin, at the most.
        self._unit = float(np.median(self._rows.squared_norms))

    def advance(
        self,
        method: Method,
        state: LoopState,
        draws: np.ndarray,
        stop: int,
        examples: Examples,
        rule: Rule,
    ) -> None:
        """Run the loop over ``draws[:stop]``."""
        position = 0
        if state.counters[STEPS] == 0:
            # Rows of an earlier run are welcome, but no younger than those of this one.
            np.minimum(self._rows.ticks, 0, out=self._rows.ticks)
        while True:
            status, position = method.loop(state, self._rows, draws, position, stop, examples, rule)
            if status == NEED_ROW:
                self._fetch(method, state, draws[position:], examples, rule)
            elif status == RESCALE:
                fold_scale(state)
            else:
                return

    def _fetch(
        self,
        method: Method,
        state: LoopState,
        upcoming: np.ndarray,
        examples: Examples,
        rule: Rule,
    ) -> None:
        """Compute the missing row, and those that the violators ahead will miss."""
        offset = int(state.counters[BATCH_OFFSET])
        needed = upcoming[offset]
        done = int(state.counters[STEPS]) * rule.batch_size
        # Early on the margins change quickly against t, and a far forecast is mostly wrong.
        window = upcoming[offset + 1 : offset + rule.batch_size + max(BLOCK_ROWS, done // 4)]
        window = window[self._rows.slots[window] < 0]
        score = method.forecast(state, window, examples, rule)
        score -= self._unit
        # A few rows cost as much as one, so the likeliest of the doubtful fill up a small block.
        if score.size > SMALL_BLOCK:
            wanted = window[score <= max(0.0, np.partition(score, SMALL_BLOCK)[SMALL_BLOCK])]
        else:
            wanted = window[np.isfinite(score)]
        unique, first = np.unique(np.concatenate(([needed], wanted)), return_index=True)
        block = np.sort(unique[np.argsort(first)][: self.block_rows])
        slots = self._room_for(block.size)
        values = self._rows.values
        if slots[-1] - slots[0] == slots.size - 1 and np.all(np.diff(slots) == 1):
            self.evaluations += self._blocks.rows(block, values[slots[0] : slots[-1] + 1])
        else:
            rows = np.empty((block.size, self.n_samples), dtype=values.dtype)
            self.evaluations += self._blocks.rows(block, rows)
            values[slots] = rows
        self._rows.slots[block] = slots
        self._owner[slots] = block
        self._rows.ticks[slots] = -1 - state.counters[STEPS]

    def _room_for(self, n_rows: int) -> np.ndarray:
        """Slots for new rows: empty ones, then those of the least recently used rows."""
        empty = min(n_rows, self._owner.size - self._filled)
        slots = np.arange(self._filled, self._filled + empty)
        self._filled += empty
        if empty < n_rows:
            age = self._rows.ticks.copy()
            age[age < 0] = -1 - age[age < 0]
            age[slots] = np.iinfo(np.int64).max
            oldest = np.argpartition(age, n_rows - empty - 1)[: n_rows - empty]
            evicted = np.sort(oldest)
            self._rows.slots[self._owner[evicted]] = -1
            slots = np.concatenate((slots, evicted))
        return slots

    def product(self, columns: np.ndarray) -> np.ndarray:
        """``(K + offset) @ columns``."""
        return streamed_product(self._blocks, columns, self.offset, self.block_rows)

    def squared_norms(self) -> np.ndarray:
        """``k(x, x) + offset`` of each example."""
        return self._blocks.diagonal + self.offset


class Streamed(KernelSource):
    """Nothing kept: memory grows with (block × support), not with n_samples.

    A block of upcoming draws is scored against the support so far by one product, and corrected in
    order by the kernel values inside the block while its violators are applied.

    Parameters
    ----------
    blocks : KernelBlocks
    cache_mb : float, default=1024
        MiB for the block in work.
    intercept_scaling : float, default=0.0
    block_rows : int, default=256
        Draws of one block.
    """

    def __init__(
        self,
        blocks: KernelBlocks,
        *,
        cache_mb: float = 1024.0,
        intercept_scaling: float = 0.0,
        block_rows: int = BLOCK_ROWS,
    ) -> None:
        super().__init__(blocks.n_samples, intercept_scaling**2, blocks.kernel.positive_definite)
        self._blocks = blocks
        cost = _streamed_bytes(blocks)
        side = math.isqrt(int(cache_mb * MEBIBYTE / cost))
        if side < min(FEWEST_ROWS, self.n_samples):
            raise ValueError(
                f"cache_mb must be at least {FEWEST_ROWS**2 * cost / MEBIBYTE:.3g} to hold one "
                f"block of kernel values, got {cache_mb:g} instead"
            )
        self.largest_batch = side
        self.block_rows = max(1, min(block_rows, side))
        self._width = max(self.block_rows, int(cache_mb * MEBIBYTE / cost) // self.block_rows)

    def advance(
        self,
        method: Method,
        state: LoopState,
        draws: np.ndarray,
        stop: int,
        examples: Examples,
        rule: Rule,
    ) -> None:
        """Run the loop over ``draws[:stop]``."""
        k = rule.batch_size
        if k > self.largest_batch:
            needed = k * k * _streamed_bytes(self._blocks) / MEBIBYTE
            raise ValueError(
                f"cache_mb must be at least {1.005 * needed:.3g} for batch_size={k} with "
                f"cache='streamed', got room for batches of {self.largest_batch} instead"
            )
        length = max(k, self.block_rows // k * k)
        position = 0
        while position < stop:
            end = min(stop, position + length)
            position += self._advance_block(method, state, draws[position:end], examples, rule)

    def _advance_block(
        self,
        method: Method,
        state: LoopState,
        draws: np.ndarray,
        examples: Examples,
        rule: Rule,
    ) -> int:
        members, local_draws = np.unique(draws, return_inverse=True)
        support = np.flatnonzero(state.alpha)
        coef = (state.alpha * examples.signed)[support]
        margins = np.full(members.size, self.offset * coef.sum())
        for left in range(0, support.size, self._width):
            part = slice(left, left + self._width)
            margins += self._blocks.block(members, support[part]) @ coef[part]
        values = np.ascontiguousarray(self._blocks.block(members, members))
        self.evaluations += members.size * (support.size + members.size)
        rows = KernelRows(
            values,
            np.arange(members.size),
            np.full(members.size, -1, dtype=np.int64),
            self.squared_norms()[members],
            self.offset,
        )
        local = state._replace(
            alpha=state.alpha[members],
            stamps=state.stamps[members],
            base=margins,
            base_stamped=np.empty(0),
        )
        local_examples = Examples(examples.label[members], examples.signed[members])
        status, done = method.loop(
            local, rows, local_draws.astype(np.int64), 0, draws.size, local_examples, rule
        )
        state.alpha[members] = local.alpha
        state.stamps[members] = local.stamps
        if status == RESCALE:
            fold_scale(state)
        return done

    def product(self, columns: np.ndarray) -> np.ndarray:
        """``(K + offset) @ columns``."""
        return streamed_product(self._blocks, columns, self.offset, self.block_rows, self._width)

    def squared_norms(self) -> np.ndarray:
        """``k(x, x) + offset`` of each example."""
        return self._blocks.diagonal + self.offset


def _streamed_bytes(blocks: KernelBlocks) -> int:
    """Bytes that a value of a block in work takes: itself, its copy in float64, sparse products."""
    return 32 if blocks.is_sparse else 16


def _row_bytes(n_samples: int, dtype: np.dtype, is_sparse: bool) -> tuple[int, int]:
    """Bytes of a kept row, and of a row in work (sparse products need their own format too)."""
    row = n_samples * np.dtype(dtype).itemsize
    return row, row + (n_samples * (np.dtype(dtype).itemsize + 8) if is_sparse else 0)


def cache_capacity(
    n_samples: int, dtype: np.dtype, cache_mb: float, is_sparse: bool = False
) -> tuple[int, int]:
    """Rows that a budget keeps, and rows of one block in work beside them."""
    kept_bytes, work_bytes = _row_bytes(n_samples, dtype, is_sparse)
    budget = int(cache_mb * MEBIBYTE)
    if budget >= n_samples * kept_bytes + min(n_samples, BLOCK_ROWS) * work_bytes:
        return n_samples, min(n_samples, BLOCK_ROWS)
    # At most a fifth for the block in work.
    block = max(1, min(BLOCK_ROWS, budget // (5 * work_bytes)))
    return (budget - block * work_bytes) // kept_bytes, block


def cache_mb_needed(n_samples: int, dtype: np.dtype, is_sparse: bool = False) -> float:
    """Smallest ``cache_mb`` that `CachedRows` accepts."""
    kept_bytes, work_bytes = _row_bytes(n_samples, dtype, is_sparse)
    return (min(FEWEST_ROWS, n_samples) * kept_bytes + 4 * work_bytes) / MEBIBYTE


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
    Precomputed, CachedRows or Streamed
    """
    if cache not in CACHES:
        raise ValueError(f"cache must be one of {CACHES}, got {cache!r} instead")
    if isinstance(kernel, str) and kernel == "precomputed":
        return Precomputed(check_gram(X), intercept_scaling=intercept_scaling)
    if sparse.issparse(X):
        X = sparse.csr_matrix(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.asarray(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return choose_source(
        KernelBlocks(make_kernel(kernel, **parameters), X),
        cache=cache,
        cache_mb=cache_mb,
        intercept_scaling=intercept_scaling,
    )


def choose_source(
    blocks: KernelBlocks,
    *,
    cache: str,
    cache_mb: float,
    intercept_scaling: float,
    shares: int = 1,
    buffers: RowBuffers | None = None,
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
        "cached": cache_mb_needed(n_samples, blocks.dtype, blocks.is_sparse),
        "streamed": min(FEWEST_ROWS, n_samples) ** 2 * _streamed_bytes(blocks) / MEBIBYTE,
    }
    cache_mb /= shares
    gram_mb = n_samples * n_samples * blocks.dtype.itemsize / MEBIBYTE
    if cache == "auto":
        kept, _ = cache_capacity(n_samples, blocks.dtype, cache_mb, blocks.is_sparse)
        if n_samples <= _SMALL and gram_mb <= cache_mb:
            cache = "precomputed"
        elif kept >= min(n_samples, 4 * BLOCK_ROWS):
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
        return Precomputed.from_blocks(blocks, intercept_scaling=intercept_scaling)
    if cache == "cached":
        return CachedRows(
            blocks, cache_mb=cache_mb, intercept_scaling=intercept_scaling, buffers=buffers
        )
    return Streamed(blocks, cache_mb=cache_mb, intercept_scaling=intercept_scaling)


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
    for top in range(0, gram.shape[0], 512):
        difference = np.abs(gram[top : top + 512] - gram[:, top : top + 512].T)
        if difference.max(initial=0.0) > tolerance:
            raise ValueError(
                f"kernel='precomputed' expects X to be a symmetric kernel matrix, "
                f"got entries that differ by {difference.max():.3g} from their mirror images"
            )
    return gram


__all__ = [
    "CachedRows",
    "KernelSource",
    "Precomputed",
    "Streamed",
    "check_gram",
    "make_rows",
]
