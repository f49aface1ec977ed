"""Kernels that are made of others: sums, products and positive multiples.

They are written as such, ``RBF(1.0) + 0.5 * Linear()``. If all parts are kernels of inner products,
so is what they make: one matrix product serves all of them, whose maps are applied to copies of a
tile of it while that is hot. Otherwise each part computes its own block. Operators are left to
`kpegasos.kernels.composable`, and packed points, centres and dtypes to those who ask.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import repeat
from numbers import Real
from operator import iadd, imul
from typing import Any, ClassVar

import numpy as np

from kpegasos.kernels.base import (
    CallableKernel,
    InnerProductKernel,
    Kernel,
    check_values,
    value_dtype,
)
from kpegasos.kernels.composable import Composition
from kpegasos.utils.validation import as_number, shown

#: What one rounding adds to either side of a bound, in spacings of the value: a quarter and a bit
#: for what is rounded after it.
_ROUNDING = 0.3


def added(left: Any, right: Any) -> Any:
    """``left + right``, or NotImplemented if one of them is neither kernel nor function."""
    return Sum((left, right)) if _is_part(left) and _is_part(right) else NotImplemented


def multiplied(left: Any, right: Any) -> Any:
    """``left * right`` of two kernels, or of a kernel and a number; or NotImplemented."""
    for factor, kernel in ((left, right), (right, left)):
        if isinstance(factor, Real):
            return Scaled(factor, kernel)  # type: ignore[arg-type]
    return Product((left, right)) if _is_part(left) and _is_part(right) else NotImplemented


def _is_part(value: Any) -> bool:
    return (isinstance(value, Kernel) or callable(value)) and not isinstance(value, type)


def _as_part(name: str, value: Any) -> Kernel:
    """A kernel object as it is, and a function as a kernel.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if not _is_part(value):
        raise ValueError(
            f"{name} must be a kernel object or a function, got {shown(value)} instead"
        )
    return value if isinstance(value, Kernel) else CallableKernel(value)


def _as_parts(kind: type, values: Any) -> tuple[Kernel, ...]:
    """At least two kernels, with the parts of those that are of the kind itself in their place."""
    if not isinstance(values, tuple | list) or len(values) < 2:
        raise ValueError(f"parts must be at least two kernels, got {shown(values)} instead")
    parts: list[Kernel] = []
    for value in values:
        part = _as_part("each of parts", value)
        parts += part.parts if isinstance(part, kind) else (part,)  # type: ignore[attr-defined]
    return tuple(parts)


def _new(cls: type, plain: type, mapped: type, parts: Any) -> Any:
    """An instance for these parts: of ``mapped`` if all are kernels of inner products.

    As `pathlib.Path` makes a path of the system it is on.
    """
    of_products = isinstance(parts, tuple | list) and bool(parts)
    of_products = of_products and all(isinstance(part, InnerProductKernel) for part in parts)
    return object.__new__(mapped if cls is plain and of_products else cls)


class _Joined(Composition):
    """What sums, products and multiples have in common.

    A subclass says how the values of its parts become its own, and how their rounding does.
    """

    #: How tightly the operator binds, to know where its expression needs brackets.
    _tightness: ClassVar[int] = 1

    def _joined(self, values: list[np.ndarray]) -> np.ndarray:
        """Values of the composition from those of its parts, written over the first."""
        raise NotImplementedError

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """Bound what rounding does to values: ``k(a, b)`` is off by ``bound[a] + bound[b]``.

        Only where all parts can say that, and how large their values are; see
        `kpegasos.kernels.composable.bounds_rounding`.
        """
        raise NotImplementedError

    @property
    def positive_definite(self) -> bool:
        """Whether all parts are positive semi-definite, and so the whole."""
        return all(part.positive_definite for part in self.parts)

    def value_bound(self, squared_norms: np.ndarray) -> float:
        """Size that no value between rows of these squared norms exceeds."""
        sizes = [np.array(part.value_bound(squared_norms)) for part in self.parts]
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self._joined(sizes))

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Kernel values of shape (n_a, n_b), in the dtype of the rows."""
        values = [_float64_block(part, A, B) for part in self.parts]
        with np.errstate(over="ignore", invalid="ignore"):
            return self._joined(values).astype(value_dtype(A), copy=False)

    def diag(self, A: Any) -> np.ndarray:
        """``k(a, a)`` of each row, float64 of shape (n_a,)."""
        values = [np.array(part.diag(A), dtype=np.float64) for part in self.parts]
        with np.errstate(over="ignore", invalid="ignore"):
            return self._joined(values)

    def _shown(self, part: Any) -> str:
        """A part of the expression, in brackets if it needs them."""
        return repr(part) if getattr(part, "_tightness", 9) > self._tightness else f"({part!r})"


def _float64_block(part: Kernel, A: Any, B: Any) -> np.ndarray:
    """Values of a part, as an array that may be written to."""
    if isinstance(part, InnerProductKernel):
        # Rows are not centred here, so that float32 would leave few digits of a distance.
        A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    return np.array(check_values(part.block(A, B), A, B), dtype=np.float64)


def _size(part: Any, squared_norms: np.ndarray, bound: np.ndarray) -> float:
    """Size that no computed value exceeds."""
    return float(part.value_bound(squared_norms) + 2.0 * bound.max(initial=0.0))


@dataclass(frozen=True, repr=False)
class Sum(_Joined):
    """``k₁(a, b) + k₂(a, b) + …``, written ``k1 + k2``.

    A sum of kernels of inner products is an `InnerProductKernel` itself.

    Parameters
    ----------
    parts : tuple of Kernel
        At least two. Functions become kernels, and the parts of sums take their place.

    Raises
    ------
    ValueError
        If parts are fewer or no kernels.
    """

    parts: tuple[Kernel, ...]
    _tightness: ClassVar[int] = 0

    def __new__(cls, parts: Any = ()) -> Any:
        """Make one of inner products if all parts are."""
        return _new(cls, Sum, MappedSum, parts)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _as_parts(Sum, self.parts))

    def __repr__(self) -> str:
        return " + ".join(map(self._shown, self.parts))

    def _joined(self, values: list[np.ndarray]) -> np.ndarray:
        return reduce(iadd, values)

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """Bound what rounding does to values: ``k(a, b)`` is off by ``bound[a] + bound[b]``."""
        parts: Any = self.parts
        bounds = [part.value_rounding(eps, squared_norms, n_roundings) for part in parts]
        with np.errstate(over="ignore", invalid="ignore"):
            size = sum(map(_size, parts, repeat(squared_norms), bounds))
            return np.asarray(sum(bounds) + _ROUNDING * eps * (len(parts) - 1) * size)


@dataclass(frozen=True, repr=False)
class Product(_Joined):
    """``k₁(a, b) · k₂(a, b) · …``, written ``k1 * k2``.

    A product of kernels of inner products is an `InnerProductKernel` itself.

    Parameters
    ----------
    parts : tuple of Kernel
        At least two. Functions become kernels, and the parts of products take their place.

    Raises
    ------
    ValueError
        If parts are fewer or no kernels.
    """

    parts: tuple[Kernel, ...]

    def __new__(cls, parts: Any = ()) -> Any:
        """Make one of inner products if all parts are."""
        return _new(cls, Product, MappedProduct, parts)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _as_parts(Product, self.parts))

    def __repr__(self) -> str:
        return " * ".join(map(self._shown, self.parts))

    def _joined(self, values: list[np.ndarray]) -> np.ndarray:
        return reduce(imul, values)

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """Bound what rounding does to values: ``k(a, b)`` is off by ``bound[a] + bound[b]``."""
        parts: Any = self.parts
        total, largest, size = np.zeros(squared_norms.size), 1.0, 1.0
        for number, part in enumerate(parts):
            bound = part.value_rounding(eps, squared_norms, n_roundings)
            computed = _size(part, squared_norms, bound)
            with np.errstate(over="ignore", invalid="ignore"):
                # x̃ ỹ − x y = (x̃ − x) ỹ + x (ỹ − y), and the product is rounded.
                total = total * computed + largest * bound
                total += _ROUNDING * eps * size * computed * (number > 0)
            largest *= part.value_bound(squared_norms)
            size *= computed * (1.0 + eps)
        return total


@dataclass(frozen=True, repr=False)
class Scaled(_Joined):
    """``factor · k(a, b)``, written ``factor * k``.

    A multiple of a kernel of inner products is an `InnerProductKernel` itself.

    Parameters
    ----------
    factor : float
        Positive and finite.
    kernel : Kernel
        A function becomes a kernel.

    Raises
    ------
    ValueError
        If the factor is anything else, or the kernel none.
    """

    factor: float
    kernel: Kernel

    def __new__(cls, factor: Any = 1.0, kernel: Any = None) -> Any:
        """Make one of inner products if all parts are."""
        return _new(cls, Scaled, MappedScaled, (kernel,))

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", as_number("factor", self.factor, positive=True))
        object.__setattr__(self, "kernel", _as_part("kernel", self.kernel))

    def __repr__(self) -> str:
        return f"{self.factor!r} * {self._shown(self.kernel)}"

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernel alone."""
        return (self.kernel,)

    def _joined(self, values: list[np.ndarray]) -> np.ndarray:
        (scaled,) = values
        scaled *= self.factor
        return scaled

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """Bound what rounding does to values: ``k(a, b)`` is off by ``bound[a] + bound[b]``."""
        kernel: Any = self.kernel
        bound = kernel.value_rounding(eps, squared_norms, n_roundings)
        with np.errstate(over="ignore", invalid="ignore"):
            # The factor is rounded, and then the product.
            rounded = 2.0 * _ROUNDING * eps * _size(kernel, squared_norms, bound)
            return np.asarray(self.factor * (bound + rounded))


# --- compositions of kernels of inner products ----------------------------------------------------


class _Mapped(_Joined, InnerProductKernel):
    """A composition whose parts all map the same inner products, and so a map of them itself."""

    block = InnerProductKernel.block

    @property
    def translation_invariant(self) -> bool:  # type: ignore[override]
        """Whether adding a constant to all rows changes nothing, for all parts."""
        return all(part.translation_invariant for part in self.parts)

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether all parts make the same bits of ``<a, b>`` and ``<b, a>``."""
        return all(part.symmetric for part in self.parts)

    def from_inner_products(
        self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray
    ) -> None:
        """Map a copy of the products for each part, and join them, in place."""
        tiles = [products, *(products.copy() for _ in self.parts[1:])]
        for part, tile in zip(self.parts, tiles, strict=True):
            part.from_inner_products(tile, norms_a, norms_b)
        self._joined(tiles)

    def rounding(self, eps: float, largest_squared_norm: float) -> float:
        """What all parts together may be off by, each on the scale of its own values."""
        return sum(part.rounding(eps, largest_squared_norm) for part in self.parts)


class MappedSum(_Mapped, Sum):
    """A sum of kernels of inner products."""


class MappedProduct(_Mapped, Product):
    """A product of kernels of inner products."""


class MappedScaled(_Mapped, Scaled):
    """A multiple of a kernel of inner products."""
