"""What the loops ask of rows: an inner product, a claim on a row, its addition, a prefetch.

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
from numba.extending import overload

from kpegasos.core.prefetch import prefetch
from kpegasos.utils import tuning
from kpegasos.utils.compiled import FAST

_AHEAD, _MOST_ENTRIES = tuning.PREFETCH_DRAWS, tuning.PREFETCH_ENTRIES


class KernelView(NamedTuple):
    """Kernel rows that are held: ``values[slots[i]]`` is that of example i, if ``slots[i] >= 0``.

    ``kernel_offset`` is added to every kernel value (the constant feature). ``ticks[slot]`` is the
    step at which the row was last used, or ``-1 - step`` of its arrival while it is unused.
    """

    values: np.ndarray
    slots: np.ndarray
    ticks: np.ndarray
    squared_norms: np.ndarray
    kernel_offset: float


class DenseView(NamedTuple):
    """Rows ``X[members[i]]`` with a constant feature of size ``intercept_scaling`` at their end."""

    X: np.ndarray
    members: np.ndarray
    squared_norms: np.ndarray
    intercept_scaling: float


class CsrView(NamedTuple):
    """The same in compressed sparse rows."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    n_features: int
    members: np.ndarray
    squared_norms: np.ndarray
    intercept_scaling: float


View = KernelView | DenseView | CsrView


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


@add_row.register(KernelView)
def _(view, image, stamped_image, i, increment, stamp):  # type: ignore[no-untyped-def]
    row = view.values[view.slots[i]]
    if stamped_image.size:
        for j in range(row.size):
            value = row[j] + view.kernel_offset
            image[j] += increment * value
            stamped_image[j] += stamp * value
    else:
        for j in range(row.size):
            image[j] += increment * (row[j] + view.kernel_offset)


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


_JIT: Any = {"fastmath": FAST, "nogil": True}


@overload(inner, jit_options=_JIT)
def _inner_overload(view, image, i):  # type: ignore[no-untyped-def]
    return inner.dispatch(view.instance_class)


@overload(touch, jit_options=_JIT)
def _touch_overload(view, i, t):  # type: ignore[no-untyped-def]
    return touch.dispatch(view.instance_class)


@overload(add_row, jit_options=_JIT)
def _add_row_overload(view, image, stamped_image, i, increment, stamp):  # type: ignore[no-untyped-def]
    return add_row.dispatch(view.instance_class)


@overload(prefetch_draw, jit_options=_JIT)
def _prefetch_draw_overload(view, draws, position):  # type: ignore[no-untyped-def]
    return prefetch_draw.dispatch(view.instance_class)
