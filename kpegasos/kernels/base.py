"""Kernels: the protocol, functions of inner products, a user's own, and sums and products of them.

A kernel is any object with ``block(A, B) -> (n_a, n_b)``, ``diag(A) -> (n_a,)`` and a flag
``positive_definite``. Kernels that depend on inner products alone share one matrix product; such a
kernel only defines how ``<a, b>``, ``‖a‖²`` and ``‖b‖²`` become its value. The built-in kernels
are in `kpegasos.kernels.functions`.

Sums, products and positive multiples are written as such, ``RBF(1.0) + 0.5 * Linear()``. If all
parts are kernels of inner products, so is the whole: one matrix product serves all of them, whose
maps are applied to copies of a tile while it is in cache. Otherwise each part computes its own
block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import repeat
from numbers import Real
from operator import iadd, imul
from typing import Any, ClassVar, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from kpegasos.utils import tuning
from kpegasos.utils.compiled import compiled
from kpegasos.utils.patience import Pace, heed
from kpegasos.utils.validation import as_number, canonical_rows, shown, without_empty_columns


@runtime_checkable
class Kernel(Protocol):
    """What rows and estimators ask of a kernel."""

    @property
    def positive_definite(self) -> bool:
        """Whether the kernel is positive semi-definite, so that gaps are certificates."""
        ...

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Return kernel values of shape (n_a, n_b)."""
        ...

    def diag(self, A: Any) -> np.ndarray:
        """``k(a, a)`` of each row, float64 of shape (n_a,)."""
        ...


class Composable:
    """A kernel with operators: ``k + l``, ``k * l`` and ``2.0 * k`` are kernels, too.

    The other operand of a sum or a product may be any kernel object or function ``f(A, B)``. The
    factor of a multiple has to be a positive finite number.
    """

    #: A number or an array of NumPy leaves the operation to the kernel.
    __array_ufunc__: Any = None

    def __add__(self: Any, other: Any) -> Any:
        return Sum((self, other)) if _is_part(other) else NotImplemented

    def __radd__(self: Any, other: Any) -> Any:
        return Sum((other, self)) if _is_part(other) else NotImplemented

    def __mul__(self: Any, other: Any) -> Any:
        if isinstance(other, Real):
            return Scaled(other, self)  # type: ignore[arg-type]
        return Product((self, other)) if _is_part(other) else NotImplemented

    def __rmul__(self: Any, other: Any) -> Any:
        if isinstance(other, Real):
            return Scaled(other, self)  # type: ignore[arg-type]
        return Product((other, self)) if _is_part(other) else NotImplemented


def takes_objects(kernel: Any) -> bool:
    """Check whether a kernel takes objects that need not be vectors.

    Its ``requires_vector_input`` is then false, as in scikit-learn's Gaussian processes.
    """
    return not (isinstance(kernel, str | type) or getattr(kernel, "requires_vector_input", True))


def _is_part(value: Any) -> bool:
    is_kernel = isinstance(value, Kernel) or callable(value)
    return is_kernel and not (isinstance(value, type) or takes_objects(value))


def parts_of(kernel: Any) -> Iterator[Any]:
    """Walk over a kernel and all kernels that it is made of, itself first."""
    yield kernel
    for part in kernel.parts if isinstance(kernel, Composition) else ():
        yield from parts_of(part)


def bounds_rounding(kernel: Any) -> TypeGuard[Any]:
    """Check whether a kernel bounds the rounding of its values.

    Then it has a method ``value_rounding``, as kernels of inner products have. The parts of a
    composition must also have a ``value_bound``.
    """
    parts = kernel.parts if isinstance(kernel, Composition) else ()
    return hasattr(kernel, "value_rounding") and all(
        bounds_rounding(part) and hasattr(part, "value_bound") for part in parts
    )


_Map = TypeVar("_Map", bound=Callable[..., None])


def inner_products(A: Any, B: Any, out: np.ndarray | None = None) -> np.ndarray:
    """``A @ B.T`` as a dense array, of dense or CSR rows; written to ``out`` if given."""
    if not (sparse.issparse(A) or sparse.issparse(B)):
        depth = tuning.PANEL_DEPTH if A.dtype == np.float32 else max(1, A.shape[1])
        products = np.asarray(np.matmul(A[:, :depth], B[:, :depth].T, out=out))
        # In float32 a sum of short sums: nothing is known of the order within BLAS.
        for first in range(depth, A.shape[1], depth):
            products += A[:, first : first + depth] @ B[:, first : first + depth].T
        return products
    if sparse.issparse(A) and sparse.issparse(B):
        A, B = without_empty_columns(A, B)
    products = np.asarray(safe_sparse_dot(A, B.T, dense_output=True))
    if out is None:
        return products
    out[...] = products
    return out


def finite_if_definite(function: _Map) -> _Map:
    """Mark a map whose values are finite, and so need no check, if the kernel is definite."""
    function.finite_if_definite = True  # type: ignore[attr-defined]
    return function


class InnerProductKernel(Composable):
    """A kernel that is a function of ``<a, b>``, ``‖a‖²`` and ``‖b‖²``.

    A subclass writes `from_inner_products` and ``diag``, and sets ``positive_definite``.

    Attributes
    ----------
    translation_invariant : bool, default=False
        Whether adding a constant to all rows changes nothing. Dense rows are then centred.
    symmetric : bool, default=False
        Whether `from_inner_products` makes the same bits of ``<a, b>`` and ``<b, a>``; half of a
        matrix is then computed. A subclass with a map of its own has to set it again.
    """

    translation_invariant: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        said_of = next(base for base in cls.__mro__ if "symmetric" in base.__dict__)
        for name in ("from_inner_products", "apply"):
            if getattr(cls, name) is not getattr(said_of, name):
                cls.symmetric = False

    def from_inner_products(
        self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray
    ) -> None:
        """Turn inner products into kernel values, in place.

        Parameters
        ----------
        products : ndarray of shape (n_a, n_b), float32 or float64
            ``<a, b>``; on return ``k(a, b)``.
        norms_a : ndarray of shape (n_a, 1)
            ``‖a‖²``, as a column.
        norms_b : ndarray of shape (n_b,)
            ``‖b‖²``.
        """
        raise NotImplementedError

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Return kernel values of all rows of A against all rows of B.

        Parameters
        ----------
        A, B : ndarray or CSR matrix of shape (n_a, n_features), (n_b, n_features)

        Returns
        -------
        ndarray of shape (n_a, n_b), in the dtype of the rows
        """
        A, B = (canonical_rows(rows) if sparse.issparse(rows) else rows for rows in (A, B))
        values = inner_products(A, B)
        self.apply(values, row_norms(A, squared=True), row_norms(B, squared=True))
        return values

    def apply(self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray) -> None:
        """Turn a block of inner products into kernel values in place, tile by tile.

        Parameters
        ----------
        products : ndarray of shape (n_a, n_b)
        norms_a, norms_b : ndarray of shape (n_a,), (n_b,)
            ``‖a‖²`` and ``‖b‖²``.

        Raises
        ------
        ValueError
            If a kernel value is NaN or infinite.
        """
        norms_a = norms_a.astype(products.dtype, copy=False)[:, None]
        norms_b = norms_b.astype(products.dtype, copy=False)
        height = max(1, tuning.MAP_BYTES // max(1, products.itemsize * products.shape[1]))
        for top in range(0, products.shape[0], height):
            tile = slice(top, top + height)
            # Overflow is found here, or for a definite kernel on its diagonal.
            with np.errstate(over="ignore", invalid="ignore"):
                self.from_inner_products(products[tile], norms_a[tile], norms_b)
            if not self._is_finite():
                check_finite(products[tile])

    def _is_finite(self) -> bool:
        finite = getattr(self.from_inner_products, "finite_if_definite", False)
        return finite and bool(self.positive_definite)  # type: ignore[attr-defined]

    def rounding(self, eps: float, largest_squared_norm: float) -> float:
        """Bound the error of a kernel value whose inner products are rounded.

        A kernel of distances forms ``‖a‖² + ‖b‖² − 2<a, b>``, which is wrong by some
        ``4 eps max ‖a‖²`` however small it is. The default is the change of the kernel over that
        squared distance from zero, where kernels that fall with the distance fall fastest. It is
        zero for kernels that are not translation invariant.

        Parameters
        ----------
        eps : float
            Spacing of the floating-point numbers at 1.
        largest_squared_norm : float
            ``max ‖a‖²`` of the rows, centred where they are.

        Returns
        -------
        float
            Where it exceeds 1e-4, kernel values are computed in float64.
        """
        if not self.translation_invariant:
            return 0.0
        products = np.array([[0.0, -2.0 * eps * largest_squared_norm]])
        with np.errstate(over="ignore", invalid="ignore"):
            self.from_inner_products(products, np.zeros((1, 1)), np.zeros(2))
        return float(abs(products[0, 0] - products[0, 1]))

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """Bound what rounding does to values: ``k(a, b)`` is off by ``bound[a] + bound[b]``.

        `rounding` chooses a dtype by the usual error; certificates are lowered by this bound. The
        default puts the error of an inner product into the kernel: at distance zero, where kernels
        that fall with the distance fall fastest, or, if the kernel is not translation invariant,
        wherever it changes most.

        Parameters
        ----------
        eps : float
            Spacing at 1 of the numbers that the arithmetic uses.
        squared_norms : ndarray of shape (n_rows,)
            ``‖a‖²``, of centred rows where they are.
        n_roundings : int
            How often the sum of an inner product is rounded, and that of a norm of the same type.

        Returns
        -------
        ndarray of shape (n_rows,), float64
        """
        norms = squared_norms.astype(np.float64)
        largest = float(norms.max(initial=0.0))
        if self.translation_invariant:
            # Two norms, twice a product, and rows that were rounded when they were centred.
            errors = np.concatenate(([0.0], (0.5 * n_roundings + 3.0) * eps * norms))
            products = -0.5 * errors[None]
            self.from_inner_products(products, np.zeros((1, 1)), np.zeros(errors.size))
            bound = np.abs(products[0, 1:] - products[0, 0]) + 2.0 * eps * abs(products[0, 0])
        else:
            error = 0.5 * (n_roundings + 2.0) * eps * largest
            at = np.linspace(-largest, largest, 65)
            products = np.stack((at, at - error, at + error))
            self.from_inner_products(products, np.full((3, 1), largest), np.full(65, largest))
            change = float(np.abs(products[1:] - products[0]).max())
            bound = np.full(norms.size, 0.5 * change + 2.0 * eps * float(np.abs(products).max()))
        if type(self).rounding is not InnerProductKernel.rounding:
            bound = np.maximum(bound, 0.5 * self.rounding(eps, largest))
        return bound

    def value_bound(self, squared_norms: np.ndarray) -> float:
        """Return a size that no value between rows of these squared norms exceeds.

        The default is the largest of 65 values over the range of inner products, or of distances.
        That bounds a definite kernel that grows with the norms or falls with the distance.

        Parameters
        ----------
        squared_norms : ndarray of shape (n_rows,)
            ``‖a‖²``, of centred rows where they are.
        """
        largest = float(squared_norms.max(initial=0.0))
        if self.translation_invariant:
            products, norm = np.linspace(-2.0 * largest, 0.0, 65)[None], 0.0
        else:
            products, norm = np.linspace(-largest, largest, 65)[None], largest
        with np.errstate(over="ignore", invalid="ignore"):
            self.from_inner_products(products, np.full((1, 1), norm), np.full(65, norm))
        return float(np.abs(products).max())


def uses_products(kernel: Any) -> bool:
    """Check whether a kernel, or one that it is made of, is a function of inner products."""
    return any(isinstance(part, InnerProductKernel) for part in parts_of(kernel))


@compiled()
def _all_finite(values: np.ndarray) -> bool:
    """Check whether all values are finite, by a sum of zeros: in a third of numpy's time."""
    total = values[0] - values[0]
    for i in range(values.size):
        total += values[i] - values[i]
    return total == 0


def check_finite(values: np.ndarray) -> None:
    """Check kernel values for NaN and infinity.

    Raises
    ------
    ValueError
        If there are any.
    """
    if values.size and values.flags.c_contiguous and values.dtype in (np.float32, np.float64):
        finite = bool(_all_finite(values.reshape(-1)))
    else:
        finite = bool(np.isfinite(values).all())
    if not finite:
        raise ValueError("kernel must return finite values, got NaN or infinity instead")


def value_dtype(A: Any) -> np.dtype:
    """Return the dtype of kernel values: that of the rows, or float64 if they are integers."""
    return np.dtype(A.dtype if A.dtype.kind == "f" else np.float64)


def check_values(values: Any, A: Any, B: Any) -> np.ndarray:
    """Return what a kernel computed, in the dtype of the rows, or float64 if they are integers.

    Raises
    ------
    ValueError
        If it has the wrong shape, is not real or not finite.
    """
    values = real_values(values, value_dtype(A))
    expected = (A.shape[0], B.shape[0])
    if values.shape != expected:
        raise ValueError(
            f"kernel must return an array of shape {expected} for inputs with "
            f"{expected[0]} and {expected[1]} rows, got shape {values.shape} instead"
        )
    return values


def real_values(values: Any, dtype: Any = np.float64, name: str = "kernel") -> np.ndarray:
    """Return what a function of a user's own computed, sparse or not, as an array.

    Raises
    ------
    ValueError
        If it is not real or not finite.
    """
    values = np.asarray(values.toarray() if sparse.issparse(values) else values)
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{name} must return real numbers, got dtype {values.dtype} instead")
    values = values.astype(dtype, copy=False)
    check_finite(values)
    return values


#: Relative differences that rounding within a user's own function explains.
_DOUBT = {np.dtype(np.float32): 1e-3, np.dtype(np.float64): 1e-4}
#: Examples of a block whose values are compared.
COMPARED = 32


def is_foreign(kernel: Any) -> bool:
    """Check whether a kernel, or one that it is made of, is a function or class of a user's own."""
    return any(
        isinstance(part, CallableKernel)
        or takes_objects(part)
        or not type(part).__module__.startswith("kpegasos.")
        for part in parts_of(kernel)
    )


def check_symmetric(values: np.ndarray, diagonal: np.ndarray) -> None:
    """Check that values of a kernel between some examples are symmetric and fit its diagonal.

    Parameters
    ----------
    values : ndarray of shape (n, n)
        Of a user's own kernel.
    diagonal : ndarray of shape (n,)
        Values of the same examples, computed at another time.

    Raises
    ------
    ValueError
        If the kernel is not symmetric, or not the same each time: neither model nor certificate
        would belong to one kernel.
    """
    slack = _DOUBT[value_dtype(values)] * np.abs(values).max(initial=0.0)
    for other, expected in (
        (values.T, "symmetric"),
        (diagonal, "the same each time, in diag as in block"),
    ):
        own = values if other.ndim == 2 else np.diagonal(values)
        difference = np.abs(own - other)
        if not difference.max(initial=0.0) <= slack:
            place = np.unravel_index(int(difference.argmax()), difference.shape)
            raise ValueError(
                f"kernel must be {expected}, got {own[place]:.6g} and {other[place]:.6g} for the "
                f"same two examples"
            )


@dataclass(frozen=True)
class CallableKernel(Composable):
    """A user's function ``f(A, B) -> (n_a, n_b)``, checked at every block."""

    function: Callable[[Any, Any], Any]
    positive_definite: ClassVar[bool] = True

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Return values of the function.

        Raises
        ------
        ValueError
            If they have the wrong shape or are not finite, or the function takes two rows.
        """
        try:
            return check_values(self.function(A, B), A, B)
        except (TypeError, ValueError) as error:
            if not self._takes_two_rows(A, B):
                raise
            raise ValueError(
                f"kernel must be a function of two sets of rows, got {shown(self.function)} of two "
                f"rows; wrap it in PairwiseKernel"
            ) from error

    def _takes_two_rows(self, A: Any, B: Any) -> bool:
        """Check whether the function returns a number for two rows."""
        try:
            return bool(np.ndim(self.function(A[0], B[0])) == 0)
        except Exception:
            return False

    def diag(self, A: Any) -> np.ndarray:
        """``f(a, a)`` of each row, float64 of shape (n_a,)."""
        values, pace, top = np.empty(A.shape[0]), Pace(), 0
        while top < values.size:
            heed()
            size = pace.square(self.block, A, 32)
            rows = A[top : top + size]
            block = pace.timed(self.block, rows, rows)
            values[top : top + size] = np.diagonal(block)
            check_symmetric(block, np.diagonal(block))
            top += size
        return values


# --- sums, products and multiples -----------------------------------------------------------------


#: What one rounding adds to ``bound[a]`` and to ``bound[b]``, in spacings of the value: a quarter,
#: and a little for later roundings.
_ROUNDING = 0.3


def _as_part(name: str, value: Any) -> Kernel:
    """Return a kernel object as it is, and a function as a kernel.

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
    """Return at least two kernels; those of the kind itself are replaced by their parts."""
    if not isinstance(values, tuple | list) or len(values) < 2:
        raise ValueError(f"parts must be at least two kernels, got {shown(values)} instead")
    parts: list[Kernel] = []
    for value in values:
        part = _as_part("each of parts", value)
        parts += part.parts if isinstance(part, kind) else (part,)  # type: ignore[attr-defined]
    return tuple(parts)


def _new(cls: type, plain: type, mapped: type, parts: Any) -> Any:
    """Return an instance for these parts: of ``mapped`` if all are kernels of inner products.

    As `pathlib.Path` makes a path of the system it is on.
    """
    of_products = isinstance(parts, tuple | list) and bool(parts)
    of_products = of_products and all(isinstance(part, InnerProductKernel) for part in parts)
    return object.__new__(mapped if cls is plain and of_products else cls)


class Composition(Composable):
    """Joins the values of other kernels: the base of sums, products and multiples.

    A subclass defines how the values of its parts, and their rounding, become its own.
    """

    parts: Any
    #: Precedence of the operator, by which its expression gets brackets.
    _tightness: ClassVar[int] = 1

    def _joined(self, values: list[np.ndarray]) -> np.ndarray:
        """Return values of the composition from those of its parts, written over the first."""
        raise NotImplementedError

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """Bound what rounding does to values: ``k(a, b)`` is off by ``bound[a] + bound[b]``.

        Only where all parts bound their rounding and their values; see `bounds_rounding`.
        """
        raise NotImplementedError

    @property
    def positive_definite(self) -> bool:
        """Whether all parts are positive semi-definite, and so the whole."""
        return all(part.positive_definite for part in self.parts)

    def value_bound(self, squared_norms: np.ndarray) -> float:
        """Return a size that no value between rows of these squared norms exceeds."""
        sizes = [np.array(part.value_bound(squared_norms)) for part in self.parts]
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self._joined(sizes))

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Return kernel values of shape (n_a, n_b), in the dtype of the rows."""
        values = [_float64_block(part, A, B) for part in self.parts]
        with np.errstate(over="ignore", invalid="ignore"):
            return self._joined(values).astype(value_dtype(A), copy=False)

    def diag(self, A: Any) -> np.ndarray:
        """``k(a, a)`` of each row, float64 of shape (n_a,)."""
        values = [np.array(part.diag(A), dtype=np.float64) for part in self.parts]
        with np.errstate(over="ignore", invalid="ignore"):
            return self._joined(values)

    def _shown(self, part: Any) -> str:
        """Return a part of the expression, in brackets if it needs them."""
        return repr(part) if getattr(part, "_tightness", 9) > self._tightness else f"({part!r})"


def _float64_block(part: Kernel, A: Any, B: Any) -> np.ndarray:
    """Return values of a part, as an array that may be written to."""
    if isinstance(part, InnerProductKernel):
        # Rows are not centred here, so float32 would leave few digits of a distance.
        A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    return np.array(check_values(part.block(A, B), A, B), dtype=np.float64)


def _size(part: Any, squared_norms: np.ndarray, bound: np.ndarray) -> float:
    """Return a size that no computed value exceeds."""
    return float(part.value_bound(squared_norms) + 2.0 * bound.max(initial=0.0))


@dataclass(frozen=True, repr=False)
class Sum(Composition):
    """``k₁(a, b) + k₂(a, b) + …``, written ``k1 + k2``.

    A sum of kernels of inner products is an `InnerProductKernel` itself.

    Parameters
    ----------
    parts : tuple of Kernel
        At least two. Functions become kernels, and sums are replaced by their parts.

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
class Product(Composition):
    """``k₁(a, b) · k₂(a, b) · …``, written ``k1 * k2``.

    A product of kernels of inner products is an `InnerProductKernel` itself.

    Parameters
    ----------
    parts : tuple of Kernel
        At least two. Functions become kernels, and products are replaced by their parts.

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
class Scaled(Composition):
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
        If the factor is not positive and finite, or the kernel is not one.
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


class _Mapped(Composition, InnerProductKernel):
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
        """Bound the error of all parts together, each on the scale of its own values."""
        return sum(part.rounding(eps, largest_squared_norm) for part in self.parts)


class MappedSum(_Mapped, Sum):
    """A sum of kernels of inner products."""


class MappedProduct(_Mapped, Product):
    """A product of kernels of inner products."""


class MappedScaled(_Mapped, Scaled):
    """A multiple of a kernel of inner products."""
