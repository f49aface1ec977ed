"""Inner products of a few rows with many: the many are packed once, for all blocks to come.

A block of kernel rows is a thin matrix product: some 16 rows against all examples. BLAS packs its
right operand anew in each call, which for so few rows takes as long as the arithmetic. Here the
examples are packed once into panels, and one compiled tile, held in vector registers, does the
rest. As every inner product is summed in the same order wherever it stands in a block, kernel
values do not depend on the partition into blocks or threads, to the last bit, and are symmetric.

What becomes of the products is left to `kpegasos.kernels.functions`, which are wanted to `kpegasos.rows.choose`.
"""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import config, types
from numba.extending import intrinsic

from kpegasos.utils import tuning
from kpegasos.utils.compiled import compiled


def _vector_bytes() -> int:
    features = binding.get_host_cpu_features()
    return 64 if features.get("avx512f") else 32 if features.get("avx2") else 16


_BYTES = _vector_bytes()
#: Vectors side by side in a tile, and rows of one: as many sums as fit in the registers, of which
#: AVX-512 and ARM have 32, older processors 16.
_VECTORS = 2
_ROWS = 8 if _BYTES == 64 or platform.machine().lower() in ("arm64", "aarch64") else 4
_DEPTH = tuning.PANEL_DEPTH


def _compiled_tile(typing: Any, left: Any, right: Any, depth: Any, out: Any) -> Any:
    """``out += leftᵀ @ right`` of shapes (depth, _ROWS), (depth, width), (_ROWS, width)."""
    signature = types.void(left, right, depth, out)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = context.get_data_type(signature.args[0].dtype)
        lanes = _BYTES // context.get_abi_sizeof(value)
        size = context.get_abi_sizeof(value)
        vector, word, index = ir.VectorType(value, lanes), ir.IntType(32), args[2].type
        pointers = [
            context.make_array(signature.args[k])(context, builder, args[k]).data for k in (0, 1, 3)
        ]

        def at(pointer: Any, offset: Any) -> Any:
            return builder.bitcast(builder.gep(pointer, [offset]), vector.as_pointer())

        def spread(scalar: Any) -> Any:
            unset = ir.Constant(vector, ir.Undefined)
            first = builder.insert_element(unset, scalar, ir.Constant(word, 0))
            zeros = ir.Constant(ir.VectorType(word, lanes), [0] * lanes)
            return builder.shuffle_vector(first, unset, zeros)

        targets = [
            at(pointers[2], ir.Constant(index, number * lanes))
            for number in range(_ROWS * _VECTORS)
        ]
        starts = [builder.load(target, align=size) for target in targets]
        before = builder.basic_block
        loop, after = builder.append_basic_block("features"), builder.append_basic_block("store")
        builder.branch(loop)
        builder.position_at_end(loop)
        feature = builder.phi(index)
        feature.add_incoming(ir.Constant(index, 0), before)
        sums = [builder.phi(vector) for _ in starts]
        row = builder.mul(feature, ir.Constant(index, _VECTORS * lanes))
        examples = [
            builder.load(
                at(pointers[1], builder.add(row, ir.Constant(index, v * lanes))), align=size
            )
            for v in range(_VECTORS)
        ]
        column = builder.mul(feature, ir.Constant(index, _ROWS))
        grown = []
        for r in range(_ROWS):
            entry = builder.gep(pointers[0], [builder.add(column, ir.Constant(index, r))])
            factor = spread(builder.load(entry))
            for v in range(_VECTORS):
                term = builder.fmul(factor, examples[v], flags=("contract",))
                grown.append(builder.fadd(sums[r * _VECTORS + v], term, flags=("contract",)))
        for total, start, larger in zip(sums, starts, grown, strict=True):
            total.add_incoming(start, before)
            total.add_incoming(larger, loop)
        following = builder.add(feature, ir.Constant(index, 1))
        feature.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", following, args[2]), loop, after)
        builder.position_at_end(after)
        for total, target in zip(grown, targets, strict=True):
            builder.store(total, target, align=size)
        return context.get_dummy_value()

    return signature, codegen


def _tile_in_python(left: np.ndarray, right: np.ndarray, depth: int, out: np.ndarray) -> None:
    out += left.T @ right


_without_jit = config.DISABLE_JIT  # type: ignore[attr-defined]
_tile: Any = _tile_in_python if _without_jit else intrinsic(_compiled_tile)


@compiled(fastmath=False)
def _multiply(
    left: np.ndarray, panels: np.ndarray, n_rows: int, first: int, last: int, out: np.ndarray
) -> None:
    """``out[:, :] = rows @ examples[first:last].T`` of packed rows and examples."""
    strips, n_features, height = left.shape
    width = panels.shape[2]
    total = np.empty((strips, height, width), left.dtype)
    for panel in range(first // width, -(-last // width)):
        total[:] = 0
        for begin in range(0, n_features, _DEPTH):
            end = min(n_features, begin + _DEPTH)
            for strip in range(strips):
                _tile(left[strip, begin:end], panels[panel, begin:end], end - begin, total[strip])
        start = max(first, panel * width)
        stop = min(last, (panel + 1) * width)
        for i in range(n_rows):
            source = total[i // height, i % height]
            for j in range(start, stop):
                out[i, j - first] = source[j - panel * width]


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


class PackedMatrix:
    """Rows packed for inner products with blocks of other rows; more can be added.

    Parameters
    ----------
    n_features : int
    dtype : dtype
        float32 or float64.
    capacity : int, default=0
        How many rows to make room for at once.
    """

    def __init__(self, n_features: int, dtype: np.dtype, capacity: int = 0) -> None:
        self.width = _VECTORS * _BYTES // np.dtype(dtype).itemsize
        self.n_rows = 0
        self._panels = self._zeros(capacity, n_features, dtype)

    def _zeros(self, n_rows: int, n_features: int, dtype: np.dtype) -> np.ndarray:
        return np.zeros((-(-n_rows // self.width), n_features, self.width), dtype=dtype)

    def append(self, rows: np.ndarray) -> None:
        """Add rows of shape (n_rows, n_features) behind the others."""
        panels, total = self._panels, self.n_rows + rows.shape[0]
        if total > panels.shape[0] * self.width:
            self._panels = self._zeros(max(total, 2 * self.n_rows), panels.shape[1], panels.dtype)
            self._panels[: panels.shape[0]] = panels
        _fill(self._panels, self.n_rows, rows)
        self.n_rows = total

    def products(self, rows: np.ndarray) -> PackedProducts:
        """Products with other rows of shape (n_rows, n_features)."""
        strips = np.zeros((-(-rows.shape[0] // _ROWS), rows.shape[1], _ROWS), dtype=rows.dtype)
        _fill(strips, 0, rows)
        return PackedProducts(strips, rows.shape[0], self._panels)


class PackedProducts:
    """Inner products of a block of rows with packed ones, to be written where wanted."""

    def __init__(self, left: np.ndarray, n_rows: int, panels: np.ndarray) -> None:
        self.n_rows = n_rows
        self._left = left
        self._panels = panels

    def write(self, first: int, last: int, out: np.ndarray) -> None:
        """Write the products with the packed rows ``first`` to ``last`` to ``out``."""
        _multiply(self._left, self._panels, self.n_rows, first, last, out)
