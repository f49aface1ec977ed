"""Operators of kernels, and what can be asked of kernels that are made of others.

``k + l``, ``k * l`` and ``2.0 * k`` are kernels again. What these compute is left to
`kpegasos.kernels.compose`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard


class Composable:
    """A kernel with operators: ``k + l``, ``k * l`` and ``2.0 * k`` are kernels, too.

    The other operand of a sum or a product may be any kernel object or function ``f(A, B)``. The
    factor of a multiple has to be a positive finite number.
    """

    #: A number or an array of NumPy leaves the operation to the kernel.
    __array_ufunc__: Any = None

    def __add__(self, other: Any) -> Any:
        from kpegasos.kernels import compose  # which is made of these kernels

        return compose.added(self, other)

    def __radd__(self, other: Any) -> Any:
        from kpegasos.kernels import compose

        return compose.added(other, self)

    def __mul__(self, other: Any) -> Any:
        from kpegasos.kernels import compose

        return compose.multiplied(self, other)

    def __rmul__(self, other: Any) -> Any:
        from kpegasos.kernels import compose

        return compose.multiplied(other, self)


class Composition(Composable):
    """A kernel that is made of others.

    Attributes
    ----------
    parts : tuple of Kernel
    """

    parts: Any


def parts_of(kernel: Any) -> Iterator[Any]:
    """Walk over a kernel and all kernels that it is made of, itself first."""
    yield kernel
    for part in kernel.parts if isinstance(kernel, Composition) else ():
        yield from parts_of(part)


def bounds_rounding(kernel: Any) -> TypeGuard[Any]:
    """Whether a kernel says what rounding does to its values.

    Then it has a method ``value_rounding``, as kernels of inner products have. A composition also
    has to know how large the values of its parts are, by their ``value_bound``.
    """
    parts = kernel.parts if isinstance(kernel, Composition) else ()
    return hasattr(kernel, "value_rounding") and all(
        bounds_rounding(part) and hasattr(part, "value_bound") for part in parts
    )
