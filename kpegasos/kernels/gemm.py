"""Inner products of a few rows with many: the many are packed once, for all blocks to come.

A block of kernel rows is a thin matrix product: some 16 rows against all examples. BLAS packs its
right operand anew in each call, which for so few rows takes as long as the arithmetic. Here the
examples are packed once into panels, and one compiled tile, held in vector registers, does the
rest. As every inner product is summed in the same order wherever it stands in a block, kernel
values do not depend on the partition into blocks or threads, to the last bit, and are symmetric.

The tile is an accelerator. With the environment variable ``KPEGASOS_GEMM=numpy`` ten lines of numpy
take its place; then the last bits are those of the BLAS that numpy calls. `PackedKernel` makes
kernel values of the products.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from kpegasos.kernels.base import InnerProductKernel
from kpegasos.utils import tuning
from kpegasos.utils.boundary import require_range, require_shape, require_shapes
from kpegasos.utils.compiled import compiled, target_vectors
from kpegasos.utils.patience import heed
from kpegasos.utils.threads import parallel_for, threads_for

_TARGET = target_vectors()
_BYTES = _TARGET.bytes
#: Rows of a tile and vectors side by side, by bytes of a vector and registers. The sums, the
#: vectors of a feature and one row's number in all lanes have to fit in the registers together.
_SHAPES = {
    # AVX-512. 8 x 3 is 4% faster for blocks of 128 rows, and 10% slower for 16: what is prefetched
    # then fills the first cache.
    (64, 32): (8, 2),
    # AVX2, measured against 4 x 2 (15% slower) and 6 x 2 (10% slower): three vectors share a load.
    (32, 16): (4, 3),
    # SSE, measured against 4 x 2 and 6 x 2 (both 10% slower).
    (16, 16): (4, 3),
    # NEON: twice the registers. Not measured.
    (16, 32): (8, 3),
}
_ROWS, _VECTORS = _SHAPES[_TARGET]
#: The same for words of four whole numbers, whose products one instruction of AVX-512 adds.
_VECTORS_OF_WORDS = 2
_DEPTH = tuning.PANEL_DEPTH
#: Bytes of a cache line, where panels begin: a vector across two lines is two loads.
_LINE = 64


def _implementation(wanted: str, without_jit: bool) -> str:
    """Choose the implementation, "compiled" or "numpy", by the environment."""
    if wanted not in ("compiled", "numpy"):
        raise ValueError(f"KPEGASOS_GEMM must be 'compiled' or 'numpy', got {wanted!r} instead")
    return "numpy" if without_jit else wanted


IMPLEMENTATION = _implementation(
    os.environ.get("KPEGASOS_GEMM", "compiled"),
    bool(config.DISABLE_JIT),  # type: ignore[attr-defined]
)


# --- the compiled tile ----------------------------------------------------------------------------
#
# In words, with one vector for all lanes of a row's part:
#
#     sums[r][v] = 0                                 for all rows r and vectors v of the tile
#     for feature in range(depth):
#         examples[v] = right[feature][v]            one load each
#         factor = left[feature][r] in every lane
#         sums[r][v] += factor * examples[v]         fused where the processor can
#     out[r][v] += sums[r][v]                        a sum of few long sums rounds less than one
#
# While it works on one depth of a panel, it prefetches the next, which follows in memory: 16 rows
# of 784 features took 15.7 ns a value without this, and 12.1 ns with it.
#
# Where numbers are whole, a word holds four of them, whose products are added at once.
#
# Numba's own loops do not keep the sums in registers; hence the intermediate language of LLVM.


class _Types(NamedTuple):
    """Types of a tile's values: ``n_vectors`` of ``lanes`` numbers of ``size`` bytes, an index."""

    vector: Any
    index: Any
    lanes: int
    size: int
    n_vectors: int

    def number(self, value: int) -> Any:
        return ir.Constant(self.index, value)


def _load(builder: Any, kind: _Types, pointer: Any, offset: Any) -> Any:
    """Return the vector that begins ``offset`` numbers behind a pointer."""
    return builder.load(_vector_pointer(builder, kind, pointer, offset), align=kind.size)


def _vector_pointer(builder: Any, kind: _Types, pointer: Any, offset: Any) -> Any:
    return builder.bitcast(builder.gep(pointer, [offset]), kind.vector.as_pointer())


def _in_every_lane(builder: Any, kind: _Types, scalar: Any) -> Any:
    word = ir.IntType(32)
    unset = ir.Constant(kind.vector, ir.Undefined)
    first = builder.insert_element(unset, scalar, ir.Constant(word, 0))
    zeros = ir.Constant(ir.VectorType(word, kind.lanes), [0] * kind.lanes)
    return builder.shuffle_vector(first, unset, zeros)


def _ask_for(builder: Any, kind: _Types, pointer: Any, first: Any) -> None:
    """Prefetch a feature's vectors, which begin ``first`` numbers behind a pointer."""
    byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    function = builder.module.declare_intrinsic(
        "llvm.prefetch.p0", fnty=ir.FunctionType(ir.VoidType(), [byte, word, word, word])
    )
    for offset in range(0, kind.n_vectors * _BYTES, _LINE):
        entry = builder.gep(pointer, [builder.add(first, kind.number(offset // kind.size))])
        # To read; to be kept in all caches; data.
        builder.call(function, [builder.bitcast(entry, byte), word(0), word(3), word(1)])


def _add_feature(
    builder: Any,
    kind: _Types,
    left: Any,
    right: Any,
    feature: Any,
    depth: Any,
    sums: list[Any],
) -> list[Any]:
    """Return the sums with one feature's products added: row by row, vector by vector."""
    width = kind.number(kind.n_vectors * kind.lanes)
    row = builder.mul(feature, width)
    _ask_for(builder, kind, right, builder.add(row, builder.mul(depth, width)))
    examples = [
        _load(builder, kind, right, builder.add(row, kind.number(v * kind.lanes)))
        for v in range(kind.n_vectors)
    ]
    column = builder.mul(feature, kind.number(_ROWS))
    added = []
    for r in range(_ROWS):
        entry = builder.gep(left, [builder.add(column, kind.number(r))])
        factor = _in_every_lane(builder, kind, builder.load(entry))
        for v, example in enumerate(examples):
            total = sums[r * kind.n_vectors + v]
            added.append(_add_product(builder, kind, total, factor, example))
    return added


def _add_product(builder: Any, kind: _Types, total: Any, factor: Any, example: Any) -> Any:
    if isinstance(kind.vector.element, ir.IntType):
        function = builder.module.declare_intrinsic(
            "llvm.x86.avx512.vpdpbusd.512", fnty=ir.FunctionType(kind.vector, [kind.vector] * 3)
        )
        return builder.call(function, [total, factor, example])
    term = builder.fmul(factor, example, flags=("contract",))
    return builder.fadd(total, term, flags=("contract",))


def _add_all_features(
    builder: Any, kind: _Types, left: Any, right: Any, depth: Any, starts: list[Any]
) -> list[Any]:
    """Add the products of one feature or more, sums in registers; return the sums."""
    before = builder.basic_block
    loop, after = builder.append_basic_block("features"), builder.append_basic_block("store")
    builder.branch(loop)
    builder.position_at_end(loop)
    feature = builder.phi(kind.index)
    sums = [builder.phi(kind.vector) for _ in starts]
    added = _add_feature(builder, kind, left, right, feature, depth, sums)
    following = builder.add(feature, kind.number(1))
    feature.add_incoming(kind.number(0), before)
    feature.add_incoming(following, loop)
    for total, start, larger in zip(sums, starts, added, strict=True):
        total.add_incoming(start, before)
        total.add_incoming(larger, loop)
    builder.cbranch(builder.icmp_signed("<", following, depth), loop, after)
    builder.position_at_end(after)
    return added


def _compiled_tile(typing: Any, left: Any, right: Any, depth: Any, begins: Any, out: Any) -> Any:
    """``out += leftᵀ @ right`` of shapes (depth, _ROWS), (depth, width), (_ROWS, width).

    ``out =`` where a sum begins. Rows of ``out`` need not be contiguous.
    """
    signature = types.void(left, right, depth, begins, out)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = context.get_data_type(signature.args[0].dtype)
        size = context.get_abi_sizeof(value)
        lanes = _BYTES // size
        is_whole = isinstance(value, ir.IntType)
        n_vectors = _VECTORS_OF_WORDS if is_whole else _VECTORS
        kind = _Types(ir.VectorType(value, lanes), args[2].type, lanes, size, n_vectors)
        left, right, out = (
            context.make_array(signature.args[k])(context, builder, args[k]) for k in (0, 1, 4)
        )
        zero = ir.Constant(kind.vector, [0 if is_whole else 0.0] * lanes)
        starts = [zero] * (_ROWS * n_vectors)
        sums = _add_all_features(builder, kind, left.data, right.data, args[2], starts)
        stride = builder.sdiv(builder.extract_value(out.strides, 0), kind.number(size))
        for number, added in enumerate(sums):
            r, v = divmod(number, n_vectors)
            row = builder.mul(stride, kind.number(r))
            offset = builder.add(row, kind.number(v * lanes))
            before = builder.select(args[3], zero, _load(builder, kind, out.data, offset))
            total = (builder.add if is_whole else builder.fadd)(before, added)
            builder.store(total, _vector_pointer(builder, kind, out.data, offset), align=size)
        return context.get_dummy_value()

    return signature, codegen


_tile: Any = intrinsic(_compiled_tile)


@compiled(fastmath=False)
def _multiply_compiled(
    left: np.ndarray, panels: np.ndarray, n_rows: int, first: int, last: int, out: np.ndarray
) -> None:
    """``out[:, :] = rows @ examples[first:last].T`` of packed rows and examples."""
    strips, n_features, height = left.shape
    width = panels.shape[2]
    # Rows or examples of padding have no place in out.
    total = np.empty((strips, height, width), left.dtype)
    for panel in range(first // width, -(-last // width)):
        start = max(first, panel * width)
        stop = min(last, (panel + 1) * width)
        whole = n_rows // height if stop - start == width else 0
        for begin in range(0, n_features, _DEPTH):
            end = min(n_features, begin + _DEPTH)
            part = panels[panel, begin:end]
            for strip in range(strips):
                here = total[strip]
                if strip < whole:
                    here = out[strip * height : (strip + 1) * height, start - first : stop - first]
                _tile(left[strip, begin:end], part, end - begin, begin == 0, here)
        for i in range(whole * height, n_rows):
            source = total[i // height, i % height]
            for j in range(start, stop):
                out[i, j - first] = source[j - panel * width]


# --- the same by numpy ----------------------------------------------------------------------------


def _multiply_numpy(
    left: np.ndarray, panels: np.ndarray, n_rows: int, first: int, last: int, out: np.ndarray
) -> None:
    """``out[:, :] = rows @ examples[first:last].T`` of packed rows and examples."""
    strips, n_features, height = left.shape
    rows = left.transpose(0, 2, 1).reshape(strips * height, n_features)[:n_rows]
    width = panels.shape[2]
    begin = first // width
    chosen = panels[begin : -(-last // width)]
    examples = chosen.transpose(0, 2, 1).reshape(chosen.shape[0] * width, n_features)
    out[...] = rows @ examples[first - begin * width : last - begin * width].T


def multiply(
    left: np.ndarray, panels: np.ndarray, n_rows: int, first: int, last: int, out: np.ndarray
) -> None:
    """Write the inner products of packed rows with a range of packed examples.

    Parameters
    ----------
    left : ndarray of shape (n_strips, n_features, strip_width)
        The rows, padded with zeros.
    panels : ndarray of shape (n_panels, n_features, panel_width)
        The examples, padded with zeros.
    n_rows : int
        Rows that are not padding.
    first, last : int
        The range.
    out : ndarray of shape (n_rows, last - first)

    Raises
    ------
    ValueError
        If shapes do not fit together: the tile reads by address.
    """
    strips, n_features, height = left.shape
    require_range("n_rows", 0, n_rows, strips * height)
    require_range("first and last", first, last, panels.shape[0] * panels.shape[2])
    require_shapes(
        ("left", left, (strips, panels.shape[1], _ROWS)),
        ("panels", panels, (panels.shape[0], n_features, panel_width(left.dtype))),
        ("out", out, (n_rows, last - first)),
    )
    if panels.dtype != left.dtype or not (left.flags.c_contiguous and panels.flags.c_contiguous):
        raise ValueError(
            f"left and panels must be contiguous and of one dtype, got {left.dtype} and "
            f"{panels.dtype} instead"
        )
    if n_features == 0:  # the tile's first feature begins a sum
        out[...] = 0.0
    elif IMPLEMENTATION == "numpy":
        _multiply_numpy(left, panels, n_rows, first, last, out)
    elif out.dtype == left.dtype and out.strides[1] == out.itemsize:
        _multiply_compiled(left, panels, n_rows, first, last, out)
    else:  # the tile stores whole vectors
        products = np.empty(out.shape, left.dtype)
        _multiply_compiled(left, panels, n_rows, first, last, products)
        out[...] = products


def roundings(n_features: int) -> int:
    """Count how often the sum of an inner product is rounded."""
    depth = n_features if IMPLEMENTATION == "numpy" else _DEPTH
    return min(n_features, depth) + -(-n_features // max(1, depth))


# --- packing --------------------------------------------------------------------------------------


@compiled(fastmath=False)
def _fill(strips: np.ndarray, first: int, rows: np.ndarray) -> None:
    """Write rows, transposed, into strips of shape (n_strips, n_features, width)."""
    width = strips.shape[2]
    n_rows, n_features = rows.shape
    r = 0
    while r < n_rows:
        strip, lane = (first + r) // width, (first + r) % width
        together = min(width - lane, n_rows - r)
        # A few features at a time: what is written then stays in the first cache.
        for begin in range(0, n_features, 16):
            end = min(n_features, begin + 16)
            for k in range(together):
                for feature in range(begin, end):
                    strips[strip, feature, lane + k] = rows[r + k, feature]
        r += together


def _require_rows(rows: np.ndarray, n_features: int, dtype: np.dtype) -> None:
    if rows.ndim != 2 or rows.shape[1] != n_features or rows.dtype != dtype:
        raise ValueError(
            f"rows must be {dtype} with {n_features} features, got {rows.dtype} of shape "
            f"{rows.shape} instead"
        )


#: ``products(first, last, out)`` writes inner products of some rows with a range of packed ones.
Products = Callable[[int, int, np.ndarray], None]


def panel_width(dtype: np.dtype) -> int:
    """Return examples of a panel: as many as lie side by side in a tile's vectors."""
    n_vectors = _VECTORS_OF_WORDS if np.dtype(dtype).kind == "i" else _VECTORS
    return n_vectors * _BYTES // np.dtype(dtype).itemsize


class PackedMatrix:
    """Room for rows that are packed for inner products with blocks of other rows.

    Parameters
    ----------
    n_rows, n_features : int
    dtype : dtype
        float32 or float64; int32 for words of `kpegasos.kernels.integers`.

    Attributes
    ----------
    width : int
        Rows of a panel.
    distances : bool
        Whether `products` are those of distances, to which norms add nothing.
    """

    distances = False

    def __init__(self, n_rows: int, n_features: int, dtype: np.dtype) -> None:
        self.n_rows, self.n_features, self.width = n_rows, n_features, panel_width(dtype)
        shape = (-(-n_rows // self.width), n_features, self.width)
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        memory = np.zeros(n_bytes + _LINE, np.uint8)
        first = -memory.__array_interface__["data"][0] % _LINE
        self._panels = memory[first : first + n_bytes].view(dtype).reshape(shape)

    def put(self, first: int, rows: np.ndarray) -> None:
        """Pack rows from ``first`` on; several threads may, into different panels.

        Raises
        ------
        ValueError
            If there is no room.
        """
        _require_rows(rows, self._panels.shape[1], self._panels.dtype)
        require_range("first and last", first, first + rows.shape[0], self.n_rows)
        _fill(self._panels, first, rows)

    def products(self, rows: np.ndarray) -> Products:
        """Pack other rows of shape (n_rows, n_features) for products with these."""
        _require_rows(rows, self._panels.shape[1], self._panels.dtype)
        strips = np.zeros((-(-rows.shape[0] // _ROWS), rows.shape[1], _ROWS), dtype=rows.dtype)
        _fill(strips, 0, rows)
        return partial(multiply, strips, self._panels, rows.shape[0])


# --- kernel values against packed examples --------------------------------------------------------


def aligned_ranges(first: int, last: int, width: int, n_panels: int) -> Iterator[tuple[int, int]]:
    """Cut ``[first, last)`` at multiples of a panel's width.

    Parameters
    ----------
    first, last : int
    width : int
        Examples of a panel.
    n_panels : int
        Panels that a range touches at the most.

    Yields
    ------
    begin, end : int
        Ranges that are not empty, in order.
    """
    for panel in range(first // width, -(-last // width), n_panels):
        begin, end = max(first, panel * width), min(last, (panel + n_panels) * width)
        if begin < end:
            yield begin, end


class PackedKernel:
    """A kernel against examples that are packed once, on several threads.

    Parameters
    ----------
    kernel : InnerProductKernel
    matrix : PackedMatrix
        Room for the examples, not packed yet; float32 or float64 is that of the arithmetic.
    own : callable
        ``own(rows)`` returns features and squared norms of a slice of the examples.
    """

    def __init__(
        self,
        kernel: InnerProductKernel,
        matrix: PackedMatrix,
        own: Callable[[slice], tuple[np.ndarray, np.ndarray]],
    ) -> None:
        self.kernel, self._matrix = kernel, matrix
        self.n_samples, self.width = matrix.n_rows, matrix.width
        parts: dict[int, np.ndarray] = {0: np.empty(0)}

        def pack(begin: int, end: int) -> None:
            for top in range(begin, end, tuning.FEATURE_ROWS):
                heed()
                rows, parts[top] = own(slice(top, min(end, top + tuning.FEATURE_ROWS)))
                require_shape("squared_norms", parts[top], rows.shape[:1])
                matrix.put(top, rows)

        threads = threads_for(tuning.MEMORY_WORK * self.n_samples * matrix.n_features)
        n_panels = -(-self.n_samples // self.width)
        if self.n_samples:
            parallel_for(
                pack, aligned_ranges(0, self.n_samples, self.width, -(-n_panels // threads))
            )
        self._norms = self._added(np.concatenate([parts[top] for top in sorted(parts)]))

    def _added(self, squared_norms: np.ndarray) -> np.ndarray:
        """Return what norms add to products: nothing to those of distances."""
        return np.zeros_like(squared_norms) if self._matrix.distances else squared_norms

    def write(
        self,
        rows: np.ndarray,
        squared_norms: np.ndarray,
        out: np.ndarray,
        first: int = 0,
        last: int | None = None,
        places: Any = ...,
    ) -> None:
        """Write the kernel values of some rows against a range of the examples.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
        squared_norms : ndarray of shape (n_rows,)
        out : ndarray of shape (n_rows, last - first), float32 or float64
        first, last : int
            The range, by default all examples.
        places : ndarray of int, default=...
            Rows of ``out`` to write to, of which there may be more than ``n_rows`` then.

        Raises
        ------
        ValueError
            If shapes do not fit together.
        """
        last = self.n_samples if last is None else last
        height = rows.shape[0] if places is ... else out.shape[0]
        require_shape("out", out, (height, last - first))

        def put(begin: int, tile: np.ndarray) -> None:
            out[:, begin - first : begin - first + tile.shape[1]][places] = tile

        self.each_tile(rows, squared_norms, put, first, last)

    def each_tile(
        self,
        rows: np.ndarray,
        squared_norms: np.ndarray,
        use: Callable[[int, np.ndarray], None],
        first: int,
        last: int,
    ) -> None:
        """Pass kernel values of some rows against a range of the examples to ``use``, by tiles.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
        squared_norms : ndarray of shape (n_rows,)
        use : callable
            ``use(begin, tile)`` is called for each part of the range, on several threads; the tile,
            of shape (n_rows, n_columns), is in a processor's cache.
        first, last : int
            The range.

        Raises
        ------
        ValueError
            If shapes do not fit together.
        """
        require_range("first and last", first, last, self.n_samples)
        require_shape("squared_norms", squared_norms, rows.shape[:1])
        if last == first or rows.shape[0] == 0:
            return
        products = self._matrix.products(rows)
        n_rows, width = squared_norms.size, self._matrix.width
        # Tiles that stay in a processor's cache. An odd number of panels: rows a power of two apart
        # compete for the same few lines of it.
        n_hot = max(1, tuning.HOT_BYTES // (width * n_rows * self._norms.itemsize))
        n_hot -= n_hot % 2 == 0

        def some(begin: int, end: int) -> None:
            scratch = np.empty(n_rows * min(n_hot * width, end - begin), self._norms.dtype)
            for left, right in aligned_ranges(begin, end, width, n_hot):
                heed(n_rows * (right - left))
                # Contiguous, as the compiler makes vector code for that alone.
                tile = scratch[: n_rows * (right - left)].reshape(n_rows, right - left)
                self.write_tile(products, squared_norms, left, right, tile)
                use(left, tile)

        n_panels = -(-last // width) - first // width
        threads = threads_for(n_rows * (last - first) * self._matrix.n_features)
        parallel_for(some, aligned_ranges(first, last, width, -(-n_panels // threads)))

    def products(self, rows: np.ndarray) -> Products:
        """Return products of the examples with some rows, for `write_tile`."""
        return self._matrix.products(rows)

    def write_tile(
        self,
        products: Products,
        squared_norms: np.ndarray,
        first: int,
        last: int,
        tile: np.ndarray,
    ) -> None:
        """Write kernel values against a range of the examples, on the calling thread.

        Parameters
        ----------
        products : Products
            From `products`.
        squared_norms : ndarray of shape (n_rows,)
        first, last : int
            The range.
        tile : ndarray of shape (n_rows, last - first)
            Contiguous, of the dtype of the arithmetic.
        """
        products(first, last, tile)
        self.kernel.apply(tile, self._added(squared_norms), self._norms[first:last])
