"""What kernels of one kind have in common over the same examples, computed once for all of them.

All RBF kernels of some examples come from the same inner products, and so do all polynomials; all
Laplacian kernels come from the same distances. `SharedProducts` holds these, and makes one kernel
matrix after another from them. Values of kernels of inner products are to the last bit what
`KernelMatrix` would compute in float64. Whether there is room for that is for others to say.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, ClassVar

import numpy as np

from kpegasos.kernels.base import InnerProductKernel, Kernel
from kpegasos.kernels.distances import city_block
from kpegasos.kernels.functions import Laplacian
from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.kernels.points import rounding_on_the_way_out
from kpegasos.utils import tuning
from kpegasos.utils.patience import heed
from kpegasos.utils.threads import even_ranges, parallel_for, threads_for


class _InnerProducts(InnerProductKernel):
    """``<a, b>`` as it is computed for other kernels, whatever its size and rounding."""

    positive_definite: ClassVar[bool] = False
    symmetric: ClassVar[bool] = True

    def from_inner_products(
        self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray
    ) -> None:
        """``<a, b>`` is the value."""

    def rounding(self, eps: float, largest_squared_norm: float) -> float:
        """None: that of the kernels is their own."""
        return 0.0

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """None: that of the kernels is their own."""
        return np.zeros(squared_norms.size)

    def diag(self, A: Any) -> np.ndarray:
        """Nothing that anybody asks for."""
        return np.zeros(A.shape[0])


class _CentredProducts(_InnerProducts):
    """The same of rows less their mean."""

    translation_invariant: ClassVar[bool] = True


class _Distances:
    """``‖a − b‖₁``, in float64."""

    positive_definite: ClassVar[bool] = False

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Distances of shape (n_a, n_b)."""
        return city_block(A, B)

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """None: that of the kernels is their own."""
        return np.zeros(squared_norms.size)

    def value_bound(self, squared_norms: np.ndarray) -> float:
        """Nothing that anybody asks for."""
        return 0.0

    def diag(self, A: Any) -> np.ndarray:
        """Zeros."""
        return np.zeros(A.shape[0])


def _base(kernel: Kernel) -> Kernel | None:
    """What the values of a kernel are made from, if others of its kind are made from the same."""
    if isinstance(kernel, InnerProductKernel):
        return _CentredProducts() if kernel.translation_invariant else _InnerProducts()
    return _Distances() if type(kernel) is Laplacian else None


class SharedProducts:
    """Kernel matrices over the same examples, from products or distances that are held.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features), float32 or float64
    members : ndarray of int
        Rows of X that are the examples, in this order.
    whole : callable
        ``whole(values)`` computes the matrix of some `KernelValues`.
    """

    def __init__(
        self, X: Any, members: np.ndarray, whole: Callable[[KernelMatrix], np.ndarray]
    ) -> None:
        self._X, self._members, self._whole = X, members, whole
        self._held: tuple[type, np.ndarray] | None = None
        self._lock = Lock()

    @staticmethod
    def can_make(kernel: Kernel) -> bool:
        """Whether a kernel's values are made from what others of its kind share."""
        return _base(kernel) is not None

    def gram(self, matrix: KernelMatrix) -> np.ndarray:
        """The whole matrix of a kernel over the examples, of shape (n_members, n_members).

        Parameters
        ----------
        matrix : KernelMatrix
            Of the same examples, with arithmetic in float64.
        """
        values = self._of(matrix)
        gram = np.empty((values.n_samples, values.n_samples), matrix.dtype)

        def rows(first: int, last: int) -> None:
            for top in range(first, last, values.height):
                heed()
                part = slice(top, min(last, top + values.height))
                gram[part] = values.rows(np.arange(part.start, part.stop))

        threads = threads_for(tuning.MEMORY_WORK * gram.size)
        parallel_for(rows, even_ranges(len(gram), threads))
        return gram

    def exact(self, matrix: KernelMatrix) -> HeldValues:
        """The same values in float64, where none is asked for until it is needed."""
        return self._of(matrix)

    def _of(self, matrix: KernelMatrix) -> HeldValues:
        base = _base(matrix.kernel)
        assert base is not None
        points = matrix.points
        bounds = np.maximum(
            points.rounding - rounding_on_the_way_out(matrix.dtype, matrix.diagonal), 0.0
        )
        return HeldValues(matrix.kernel, self._products(base), points.squared_norms, bounds)

    def _products(self, base: Kernel) -> np.ndarray:
        """Products of a kind, computed when first asked for; another kind takes their place."""
        with self._lock:
            if self._held is None or self._held[0] is not type(base):
                self._held = None  # its memory is wanted
                matrix = KernelMatrix(base, self._X, self._members, row_dtype="float64")
                self._held = type(base), self._whole(matrix)
            return self._held[1]


class HeldValues:
    """Kernel values in float64, made from products or distances that are held.

    Takes the place of `kpegasos.kernels.exact.ExactValues`.

    Parameters
    ----------
    kernel : Kernel
    products : ndarray of shape (n_all, n_all), float64
    squared_norms : ndarray of shape (n_all,)
    bounds : ndarray of shape (n_all,)
        The value of examples i and j is off by ``bounds[i] + bounds[j]`` at the most.
    members : ndarray of int, default=None
        The examples, in this order; None for all.
    """

    def __init__(
        self,
        kernel: Kernel,
        products: np.ndarray,
        squared_norms: np.ndarray,
        bounds: np.ndarray,
        members: np.ndarray | None = None,
    ) -> None:
        self.kernel, self._products = kernel, products
        self._norms, self._bounds = squared_norms, bounds
        self._members = members
        self.n_samples = len(products) if members is None else members.size
        self.height = max(1, tuning.MAP_BYTES // (8 * max(1, self.n_samples)))

    def subset(self, members: np.ndarray) -> HeldValues:
        """The values of some of these examples."""
        own = members if self._members is None else self._members[members]
        return HeldValues(self.kernel, self._products, self._norms, self._bounds, own)

    def rows(self, which: np.ndarray) -> np.ndarray:
        """Kernel rows of some examples, float64 of shape (n_which, n_samples)."""
        if self._members is None:
            values = self._products[which]
        else:
            values = self._products[self._members[which][:, None], self._members]
        if isinstance(self.kernel, InnerProductKernel):
            norms = self._norms if self._members is None else self._norms[self._members]
            self.kernel.apply(values, norms[which], norms)
            return values
        with np.errstate(over="ignore"):
            values *= -self.kernel.gamma  # type: ignore[attr-defined]
        return np.asarray(np.exp(values, out=values))

    def products(
        self,
        coef: np.ndarray,
        wanted: np.ndarray,
        largest: float,
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """``K @ coef`` for all examples; see `kpegasos.kernels.exact.ExactValues.products`."""
        support, total = np.flatnonzero(coef), np.zeros(self.n_samples)
        for top in range(0, support.size, self.height):
            heed()
            part = support[top : top + self.height]
            total += coef[part] @ self.rows(part)
        bounds = self._bounds if self._members is None else self._bounds[self._members]
        sizes = np.abs(coef)
        size = float(sizes.sum())
        added = (support.size + 2.0) * float(np.finfo(np.float64).eps) * size * largest
        return total, bounds * size + float(sizes @ bounds) + added, support.size * self.n_samples
