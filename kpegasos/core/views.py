"""Rows as the loops see them: an inner product, a claim on a row, its addition, a prefetch.

Draws jump about in the data, so that each row would be waited for; but they are known ahead, and a
prefetch asks the processor for memory that is needed a few steps later.

Three kinds of rows exist, each a NamedTuple of plain arrays. Their type tells them apart when a
loop is compiled:

- `KernelView`: rows of kernel values; an image is the margin of every example,
- `DenseView` and `CsrView`: rows of features; an image is the primal vector.

A fourth kind needs a NamedTuple and its four functions, registered below. The compiled loops pick
the implementation once, at compile time; called as plain Python (``NUMBA_DISABLE_JIT=1``),
singledispatch makes the same choice.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic, overload

from kpegasos.utils import tuning
from kpegasos.utils.boundary import (
    checked,
    require_indices,
    require_range,
    require_shape,
    require_shapes,
)
from kpegasos.utils.compiled import OVERLOADS, compiled
from kpegasos.utils.threads import in_ranges


def _prefetch_in_python(array: Any, index: int) -> None:
    """Do nothing."""


def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Fetch the cache line of ``array[index]`` for reading."""
    signature = types.void(array, index)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [args[1]]), byte)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch.p0", fnty=ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        )
        # To read; to be kept in all caches; data.
        builder.call(function, [address, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return signature, codegen


_without_jit = config.DISABLE_JIT  # type: ignore[attr-defined]
prefetch: Any = _prefetch_in_python if _without_jit else intrinsic(_prefetch)


_AHEAD, _MOST_ENTRIES = tuning.PREFETCH_DRAWS, tuning.PREFETCH_ENTRIES


class KernelView(NamedTuple):
    """Kernel rows that are held: ``values[slots[i]]`` is that of example i, if ``slots[i] >= 0``.

    ``kernel_offset`` is added to every kernel value (the constant feature). ``ticks[slot]`` is the
    step at which the row was last used, or ``-1 - step`` of its arrival while it is unused.

    Values are in ``wide``, float64, or in ``narrow``, float32; the other is empty. So views are of
    one type, and no loop is compiled twice.
    """

    wide: np.ndarray
    narrow: np.ndarray
    slots: np.ndarray
    ticks: np.ndarray
    squared_norms: np.ndarray
    kernel_offset: float

    @classmethod
    def of(cls, values: np.ndarray, *others: Any) -> KernelView:
        """Make a view of values of either precision, and the other fields."""
        return cls(*as_two(values), *others)

    @property
    def values(self) -> np.ndarray:
        """Rows, by their slots."""
        return self.narrow if self.narrow.size else self.wide


#: Stand in for values of the other precision.
_NOT_WIDE, _NOT_NARROW = np.empty((0, 0)), np.empty((0, 0), np.float32)


def as_two(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return float64 and float32 values, of which one is empty."""
    if values.dtype == np.float32:
        return _NOT_WIDE, values
    return values, _NOT_NARROW


@overload(as_two, jit_options=OVERLOADS)
def _as_two(values):  # type: ignore[no-untyped-def]
    if values.dtype == types.float32:
        return lambda values: (np.empty((0, 0)), values)
    return lambda values: (values, np.empty((0, 0), np.float32))


class DenseView(NamedTuple):
    """Rows ``X[members[i]]`` with a constant feature of size ``intercept_scaling`` at their end."""

    X: np.ndarray
    members: np.ndarray
    squared_norms: np.ndarray
    intercept_scaling: float


class CsrView(NamedTuple):
    """Feature rows in compressed sparse form."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    n_features: int
    members: np.ndarray
    squared_norms: np.ndarray
    intercept_scaling: float


View = KernelView | DenseView | CsrView


@singledispatch
def check_view(view: Any, image: np.ndarray, shape: tuple[int, ...]) -> None:
    """Check a view against an image and the shape of the labels; a user's own is trusted.

    Indices of rows and features do not change from call to call; they are checked where such a view
    is made, by `kpegasos.rows.features.FeatureRows`.
    """


@check_view.register(KernelView)
def _(view, image, shape):  # type: ignore[no-untyped-def]
    capacity = len(view.values)
    require_shapes(
        ("values", view.values, (capacity, *shape)),
        ("slots", view.slots, shape),
        ("image", image, shape),
        ("ticks", view.ticks, (capacity,)),
    )
    require_indices("slots", view.slots, capacity, least=-1)


@check_view.register(DenseView)
@check_view.register(CsrView)
def _(view, image, shape):  # type: ignore[no-untyped-def]
    width = view.X.shape[1] if isinstance(view, DenseView) else view.n_features
    require_shapes(("members", view.members, shape), ("image", image, (width + 1,)))


def require_rows(view: KernelView, members: np.ndarray) -> None:
    """Check that members are examples whose rows are held.

    Raises
    ------
    ValueError
        If one is not.
    """
    require_indices("members", members, view.slots.size)
    if members.size and view.slots[members].min() < 0:
        raise ValueError("members must have rows that are held, got one without a row instead")


@singledispatch
def inner(view: Any, image: np.ndarray, i: int) -> Any:
    """``<q, φ(x_i)>`` from the image of q."""
    raise TypeError(f"unknown rows: {type(view).__name__}")


@inner.register(KernelView)
def _(view, image, i):  # type: ignore[no-untyped-def]
    return image[i]


@inner.register(DenseView)
def _(view, image, i):  # type: ignore[no-untyped-def]
    x = view.X[view.members[i]]
    total = 0.0
    for j in range(x.size):
        total += x[j] * image[j]
    return total + view.intercept_scaling * image[x.size]


@inner.register(CsrView)
def _(view, image, i):  # type: ignore[no-untyped-def]
    row = view.members[i]
    total = 0.0
    for p in range(view.indptr[row], view.indptr[row + 1]):
        total += view.data[p] * image[view.indices[p]]
    return total + view.intercept_scaling * image[image.size - 1]


@singledispatch
def touch(view: Any, i: int, t: int) -> Any:
    """Claim row i at step t: -1 if it is missing, else whether it was used before (a cache hit)."""
    raise TypeError(f"unknown rows: {type(view).__name__}")


@touch.register(KernelView)
def _(view, i, t):  # type: ignore[no-untyped-def]
    slot = view.slots[i]
    if slot < 0:
        return -1
    hit = view.ticks[slot] >= 0
    view.ticks[slot] = t
    return int(hit)


@touch.register(DenseView)
@touch.register(CsrView)
def _(view, i, t):  # type: ignore[no-untyped-def]
    return 0


@singledispatch
def add_row(
    view: Any, image: np.ndarray, stamped_image: np.ndarray, i: int, increment: float, stamp: float
) -> Any:
    """Add ``increment · φ(x_i)`` to an image, and ``stamp`` times the same to its stamped twin."""
    raise TypeError(f"unknown rows: {type(view).__name__}")


# Written out: a call would count references to its arrays at each step.
@add_row.register(KernelView)
def _(view, image, stamped_image, i, increment, stamp):  # type: ignore[no-untyped-def]
    slot, offset = view.slots[i], view.kernel_offset
    if view.wide.size:
        row = view.wide[slot]
        if stamped_image.size:
            for j in range(row.size):
                value = row[j] + offset
                image[j] += increment * value
                stamped_image[j] += stamp * value
        else:
            for j in range(row.size):
                image[j] += increment * (row[j] + offset)
    else:
        narrow = view.narrow[slot]
        if stamped_image.size:
            for j in range(narrow.size):
                value = narrow[j] + offset
                image[j] += increment * value
                stamped_image[j] += stamp * value
        else:
            for j in range(narrow.size):
                image[j] += increment * (narrow[j] + offset)


@add_row.register(DenseView)
def _(view, image, stamped_image, i, increment, stamp):  # type: ignore[no-untyped-def]
    x = view.X[view.members[i]]
    for j in range(x.size):
        image[j] += increment * x[j]
    image[x.size] += increment * view.intercept_scaling
    if stamped_image.size:
        for j in range(x.size):
            stamped_image[j] += stamp * x[j]
        stamped_image[x.size] += stamp * view.intercept_scaling


@add_row.register(CsrView)
def _(view, image, stamped_image, i, increment, stamp):  # type: ignore[no-untyped-def]
    row = view.members[i]
    for p in range(view.indptr[row], view.indptr[row + 1]):
        image[view.indices[p]] += increment * view.data[p]
    image[image.size - 1] += increment * view.intercept_scaling
    if stamped_image.size:
        for p in range(view.indptr[row], view.indptr[row + 1]):
            stamped_image[view.indices[p]] += stamp * view.data[p]
        stamped_image[image.size - 1] += stamp * view.intercept_scaling


@singledispatch
def prefetch_draw(view: Any, draws: np.ndarray, position: int) -> Any:
    """Have what the draws a few positions later will need fetched into the processor's caches."""
    raise TypeError(f"unknown rows: {type(view).__name__}")


@prefetch_draw.register(KernelView)
def _(view, draws, position):  # type: ignore[no-untyped-def]
    pass


@prefetch_draw.register(DenseView)
def _(view, draws, position):  # type: ignore[no-untyped-def]
    if position + _AHEAD < draws.size:
        row = view.members[draws[position + _AHEAD]]
        # The processor goes on by itself where a row is long.
        for j in range(0, min(view.X.shape[1], _MOST_ENTRIES), 8):
            prefetch(view.X, row * view.X.shape[1] + j)


@prefetch_draw.register(CsrView)
def _(view, draws, position):  # type: ignore[no-untyped-def]
    if position + 2 * _AHEAD < draws.size:
        prefetch(view.indptr, view.members[draws[position + 2 * _AHEAD]])
        row = view.members[draws[position + _AHEAD]]
        end = view.indptr[row + 1]
        for p in range(view.indptr[row], min(end, view.indptr[row] + _MOST_ENTRIES), 8):
            prefetch(view.data, p)
            prefetch(view.indices, p)


@overload(inner, jit_options=OVERLOADS)
def _inner_overload(view, image, i):  # type: ignore[no-untyped-def]
    return inner.dispatch(view.instance_class)


@overload(touch, jit_options=OVERLOADS)
def _touch_overload(view, i, t):  # type: ignore[no-untyped-def]
    return touch.dispatch(view.instance_class)


@overload(add_row, jit_options=OVERLOADS)
def _add_row_overload(view, image, stamped_image, i, increment, stamp):  # type: ignore[no-untyped-def]
    return add_row.dispatch(view.instance_class)


@overload(prefetch_draw, jit_options=OVERLOADS)
def _prefetch_draw_overload(view, draws, position):  # type: ignore[no-untyped-def]
    return prefetch_draw.dispatch(view.instance_class)


def _check_dense(
    view: DenseView, vectors: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    require_range("first and last", first, last, view.members.size)
    require_shapes(
        ("vectors", vectors, (len(vectors), view.X.shape[1] + 1)),
        ("out", out, (view.members.size, len(vectors))),
    )


def _check_sparse(
    view: CsrView, vectors: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    require_range("first and last", first, last, view.members.size)
    require_shapes(
        ("vectors", vectors, (view.n_features + 1, vectors.shape[-1])),
        ("out", out, (view.members.size, vectors.shape[1])),
    )


@checked(_check_dense)
@compiled()
def dense_margins(
    view: DenseView, vectors: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """``<v, (x_i, B)>`` of the examples ``first`` to ``last`` for each row of ``vectors``.

    Parameters
    ----------
    view : DenseView
    vectors : ndarray of shape (n_vectors, n_features + 1), float64
    first, last : int
    out : ndarray of shape (n_samples, n_vectors), float64
    """
    width = vectors.shape[1] - 1
    for i in range(first, last):
        x = view.X[view.members[i]]
        for k in range(vectors.shape[0]):
            vector = vectors[k]
            total = view.intercept_scaling * vector[width]
            for j in range(width):
                total += x[j] * vector[j]
            out[i, k] = total


@checked(_check_sparse)
@compiled()
def sparse_margins(
    view: CsrView, vectors: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """``<v, (x_i, B)>`` of the examples ``first`` to ``last`` for each column of ``vectors``.

    Parameters
    ----------
    view : CsrView
    vectors : ndarray of shape (n_features + 1, n_vectors), float64
    first, last : int
    out : ndarray of shape (n_samples, n_vectors), float64
    """
    last_feature = vectors.shape[0] - 1
    n_vectors = vectors.shape[1]
    for i in range(first, last):
        row = view.members[i]
        # Two sums at a time stay in registers.
        for k in range(0, n_vectors - 1, 2):
            one = view.intercept_scaling * vectors[last_feature, k]
            other = view.intercept_scaling * vectors[last_feature, k + 1]
            for p in range(view.indptr[row], view.indptr[row + 1]):
                value, feature = view.data[p], view.indices[p]
                one += value * vectors[feature, k]
                other += value * vectors[feature, k + 1]
            out[i, k], out[i, k + 1] = one, other
        if n_vectors % 2 == 1:
            k = n_vectors - 1
            one = view.intercept_scaling * vectors[last_feature, k]
            for p in range(view.indptr[row], view.indptr[row + 1]):
                one += view.data[p] * vectors[view.indices[p], k]
            out[i, k] = one


_MARGINS_TILE = tuning.MARGINS_TILE


def _check_additions(
    values: np.ndarray,
    work: np.ndarray,
    rows: np.ndarray,
    increments: np.ndarray,
    stamps: np.ndarray,
    offset: float,
    first: int,
    last: int,
    image: np.ndarray,
    stamped_image: np.ndarray,
) -> None:
    require_indices("rows", rows, values.shape[0], least=-work.shape[0])
    require_shapes(
        ("work", work, (work.shape[0], *values.shape[1:])),
        ("increments", increments, rows.shape),
        ("stamps", stamps, rows.shape),
        ("image", image, values.shape[1:]),
    )
    if stamped_image.size:
        require_shape("stamped_image", stamped_image, image.shape)
    require_range("first and last", first, last, image.size)


@compiled(inner=True)
def _row(values: np.ndarray, work: np.ndarray, row: int) -> np.ndarray:
    return values[row] if row >= 0 else work[-1 - row]


@compiled(fastmath={"contract"})
def add_range(
    values: np.ndarray,
    work: np.ndarray,
    rows: np.ndarray,
    increments: np.ndarray,
    stamps: np.ndarray,
    offset: float,
    first: int,
    last: int,
    image: np.ndarray,
    stamped_image: np.ndarray,
) -> None:
    """`add_rows_together` for a range of examples; each sum is in the order of the rows.

    For callers that are compiled: nothing is checked.
    """
    stamped = stamped_image.size > 0
    fours = rows.size - rows.size % 4
    for begin in range(first, last, _MARGINS_TILE):
        end = min(last, begin + _MARGINS_TILE)
        sums = image[begin:end]
        stamped_sums = stamped_image[begin:end] if stamped else sums
        for a in range(0, fours, 4):
            p, q = _row(values, work, rows[a]), _row(values, work, rows[a + 1])
            r, s = _row(values, work, rows[a + 2]), _row(values, work, rows[a + 3])
            p, q, r, s = p[begin:end], q[begin:end], r[begin:end], s[begin:end]
            i0, i1, i2, i3 = increments[a], increments[a + 1], increments[a + 2], increments[a + 3]
            if stamped:
                s0, s1, s2, s3 = stamps[a], stamps[a + 1], stamps[a + 2], stamps[a + 3]
                for j in range(sums.size):
                    u, v, w, x = p[j] + offset, q[j] + offset, r[j] + offset, s[j] + offset
                    sums[j] = (((sums[j] + i0 * u) + i1 * v) + i2 * w) + i3 * x
                    total = ((stamped_sums[j] + s0 * u) + s1 * v) + s2 * w
                    stamped_sums[j] = total + s3 * x
            else:
                for j in range(sums.size):
                    u, v, w, x = p[j] + offset, q[j] + offset, r[j] + offset, s[j] + offset
                    sums[j] = (((sums[j] + i0 * u) + i1 * v) + i2 * w) + i3 * x
        for a in range(fours, rows.size):
            p = _row(values, work, rows[a])[begin:end]
            for j in range(sums.size):
                sums[j] += increments[a] * (p[j] + offset)
            if stamped:
                for j in range(sums.size):
                    stamped_sums[j] += stamps[a] * (p[j] + offset)


_checked_range = checked(_check_additions)(add_range)


def add_rows_together(
    values: np.ndarray,
    work: np.ndarray,
    rows: np.ndarray,
    increments: np.ndarray,
    stamps: np.ndarray,
    offset: float,
    image: np.ndarray,
    stamped_image: np.ndarray,
) -> None:
    """Add some kernel rows, times increments, to an image, and times stamps to its stamped twin.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_samples), float32 or float64
        Kernel rows that are kept.
    work : ndarray of shape (n_others, n_samples), of the same dtype
        Other kernel rows.
    rows : ndarray of shape (n_added,), int64
        Which to add, in this order: rows of ``values``, or ``-1 - k`` for row k of ``work``.
    increments, stamps : ndarray of shape (n_added,), float64
        Their multiples.
    offset : float
        Added to each kernel value.
    image : ndarray of shape (n_samples,), float64
        Modified in place.
    stamped_image : ndarray of shape (n_samples,) or (0,), float64
        Modified in place where there is one.

    Raises
    ------
    ValueError
        If shapes or indices do not fit together.
    """
    if not rows.size:
        return

    def piece(first: int, last: int) -> None:
        _checked_range(
            values, work, rows, increments, stamps, offset, first, last, image, stamped_image
        )

    in_ranges(piece, image.size, tuning.MEMORY_WORK * rows.size * image.size)
