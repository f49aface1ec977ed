"""Kernel functions, evaluated a block at a time.

A kernel is any object with ``block(A, B) -> (n_a, n_b)``, ``diag(A) -> (n_a,)`` and a flag
``positive_definite``. The built-in ones are small frozen dataclasses. Those that depend on inner
products alone share one matrix product followed by an in-place map from ``<a, b>``, ``‖a‖²``,
``‖b‖²`` to the kernel value; a new one of that sort needs its map, its diagonal and the flag. Where
rows are kept and when they are computed is the business of `kpegasos.rows.choose`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from kpegasos.utils import tuning
from kpegasos.utils.compiled import compiled

_LOG2_E = np.float32(1.44269504)
#: ln 2 in two parts, the first of which has so few digits that its multiples are exact.
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
#: Below this exp is less than the smallest normal float32, and taken for zero.
_LOWEST = np.float32(-87.0)


@compiled(fastmath={"contract"})
def _gaussian(
    products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray, gamma: np.float32
) -> None:
    """``exp(-gamma max(0, norms_a + norms_b - 2 products))`` in place, all float32.

    One pass that the compiler vectorises, where numpy takes five and a call of the C library none;
    the exponential is that of Cephes (Moshier 1992), right to 2 units in the last place.
    """
    for i in range(products.shape[0]):
        row, norm = products[i], norms_a[i]
        for j in range(row.size):
            squared_distance = (norm + norms_b[j]) - np.float32(2.0) * row[j]
            x = -gamma * (squared_distance if squared_distance > 0 else np.float32(0.0))
            bounded = x if x > _LOWEST else _LOWEST
            n = np.floor(bounded * _LOG2_E + np.float32(0.5))
            r = bounded - n * _LN2_HIGH - n * _LN2_LOW
            y = np.float32(1.9875691500e-4)
            y = y * r + np.float32(1.3981999507e-3)
            y = y * r + np.float32(8.3334519073e-3)
            y = y * r + np.float32(4.1665795894e-2)
            y = y * r + np.float32(1.6666665459e-1)
            y = y * r + np.float32(5.0000001201e-1)
            y = y * r * r + r + np.float32(1.0)
            power = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
            row[j] = y * power if x >= _LOWEST else np.float32(0.0)


@runtime_checkable
class Kernel(Protocol):
    """What rows and estimators ask of a kernel."""

    @property
    def positive_definite(self) -> bool:
        """Whether the kernel is positive semi-definite, so that duality gaps are certificates."""
        ...

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Kernel values of shape (n_a, n_b)."""
        ...

    def diag(self, A: Any) -> np.ndarray:
        """``k(a, a)`` of each row, float64 of shape (n_a,)."""
        ...


class InnerProductKernel:
    """A kernel that is a function of ``<a, b>``, ``‖a‖²`` and ``‖b‖²``."""

    #: Whether adding a constant to all rows changes nothing.
    translation_invariant: ClassVar[bool] = False

    def _map(self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray) -> None:
        """Turn inner products into kernel values in place; ``norms_a`` is a column."""
        raise NotImplementedError

    def block(
        self,
        A: Any,
        B: Any,
        *,
        squared_norms: tuple[np.ndarray, np.ndarray] | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Kernel values of all rows of A against all rows of B.

        Parameters
        ----------
        A, B : ndarray or CSR matrix of shape (n_a, n_features), (n_b, n_features)
        squared_norms : pair of ndarray, default=None
            ``‖a‖²`` and ``‖b‖²`` where the caller has them.
        out : ndarray of shape (n_a, n_b), default=None
            Where to write (dense rows only need no other memory).

        Returns
        -------
        ndarray of shape (n_a, n_b), in the dtype of the rows
        """
        if sparse.issparse(A) or sparse.issparse(B):
            products = safe_sparse_dot(A, B.T, dense_output=True)
            if out is not None:
                out[...] = products
                products = out
        else:
            products = np.matmul(A, B.T, out=out)
        if squared_norms is None:
            squared_norms = (row_norms(A, squared=True), row_norms(B, squared=True))
        self.finish(products, *squared_norms)
        return products

    def finish(self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray) -> None:
        """Turn a block of inner products into kernel values in place.

        Parameters
        ----------
        products : ndarray of shape (n_a, n_b)
        norms_a, norms_b : ndarray of shape (n_a,), (n_b,)
            ``‖a‖²`` and ``‖b‖²``.
        """
        norms_a = norms_a.astype(products.dtype, copy=False)[:, None]
        norms_b = norms_b.astype(products.dtype, copy=False)
        height = max(1, tuning.MAP_BYTES // max(1, products.itemsize * products.shape[1]))
        for top in range(0, products.shape[0], height):
            tile = slice(top, top + height)
            self._map(products[tile], norms_a[tile], norms_b)


@dataclass(frozen=True)
class Linear(InnerProductKernel):
    """``<a, b>``."""

    positive_definite: ClassVar[bool] = True

    def _map(self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray) -> None:
        pass

    def diag(self, A: Any) -> np.ndarray:
        """``‖a‖²`` of each row, float64 of shape (n_a,)."""
        return row_norms(A, squared=True).astype(np.float64)


@dataclass(frozen=True)
class Polynomial(InnerProductKernel):
    """``(gamma <a, b> + coef0)^degree``."""

    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    @property
    def positive_definite(self) -> bool:
        """Whether all coefficients of the expanded polynomial are non-negative."""
        natural = float(self.degree).is_integer() and self.degree >= 0
        return natural and self.gamma >= 0 and self.coef0 >= 0

    def _map(self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray) -> None:
        products *= self.gamma
        products += self.coef0
        if float(self.degree).is_integer() and 0 <= self.degree <= 64:
            # Powers by multiplication: exact on integers, and far cheaper than pow.
            base = products.copy()
            products[...] = 1
            for bit in bin(int(self.degree))[2:]:
                products *= products
                if bit == "1":
                    products *= base
        else:
            np.power(products, self.degree, out=products)

    def diag(self, A: Any) -> np.ndarray:
        """``(gamma ‖a‖² + coef0)^degree`` of each row, float64 of shape (n_a,)."""
        values = row_norms(A, squared=True).astype(np.float64)[:, None]
        self._map(values, values, values)
        return values[:, 0]


@dataclass(frozen=True)
class RBF(InnerProductKernel):
    """``exp(-gamma ‖a − b‖²)``."""

    gamma: float = 1.0
    translation_invariant: ClassVar[bool] = True

    @property
    def positive_definite(self) -> bool:
        """Whether ``gamma`` is not negative."""
        return self.gamma >= 0

    def _map(self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray) -> None:
        if products.dtype == np.float32:
            _gaussian(products, norms_a[:, 0], norms_b, np.float32(self.gamma))
            return
        products *= -2.0
        # The norms first: k(a, b) and k(b, a) are the same to the last bit.
        products += norms_a + norms_b
        np.maximum(products, 0.0, out=products)
        products *= -self.gamma
        np.exp(products, out=products)

    def diag(self, A: Any) -> np.ndarray:
        """Ones, float64 of shape (n_a,)."""
        return np.ones(A.shape[0])


@dataclass(frozen=True)
class Sigmoid(InnerProductKernel):
    """``tanh(gamma <a, b> + coef0)``: not positive semi-definite, so no gap is certified."""

    gamma: float = 1.0
    coef0: float = 0.0
    positive_definite: ClassVar[bool] = False

    def _map(self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray) -> None:
        products *= self.gamma
        products += self.coef0
        np.tanh(products, out=products)

    def diag(self, A: Any) -> np.ndarray:
        """``tanh(gamma ‖a‖² + coef0)`` of each row, float64 of shape (n_a,)."""
        return np.tanh(self.gamma * row_norms(A, squared=True).astype(np.float64) + self.coef0)


@dataclass(frozen=True)
class Laplacian:
    """``exp(-gamma ‖a − b‖₁)``."""

    gamma: float = 1.0

    @property
    def positive_definite(self) -> bool:
        """Whether ``gamma`` is not negative."""
        return self.gamma >= 0

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Kernel values of shape (n_a, n_b), in the dtype of the rows."""
        return laplacian_kernel(A, B, gamma=self.gamma).astype(A.dtype, copy=False)

    def diag(self, A: Any) -> np.ndarray:
        """Ones, float64 of shape (n_a,)."""
        return np.ones(A.shape[0])


def check_values(values: Any, A: Any, B: Any) -> np.ndarray:
    """Return what a kernel computed, in the dtype of the rows.

    Raises
    ------
    ValueError
        If it has the wrong shape, is not real or not finite.
    """
    values = np.asarray(values)
    expected = (A.shape[0], B.shape[0])
    if values.shape != expected:
        raise ValueError(
            f"kernel must return an array of shape {expected} for inputs with "
            f"{expected[0]} and {expected[1]} rows, got shape {values.shape} instead"
        )
    if values.dtype.kind not in "fiub":
        raise ValueError(f"kernel must return real numbers, got dtype {values.dtype} instead")
    values = values.astype(A.dtype, copy=False)
    if not np.isfinite(values).all():
        raise ValueError("kernel must return finite values, got NaN or infinity instead")
    return values


@dataclass(frozen=True)
class CallableKernel:
    """A user's function ``f(A, B) -> (n_a, n_b)``, checked at every block."""

    function: Callable[[Any, Any], Any]
    positive_definite: ClassVar[bool] = True

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Values of the function.

        Raises
        ------
        ValueError
            If they have the wrong shape or are not finite.
        """
        return check_values(self.function(A, B), A, B)

    def diag(self, A: Any) -> np.ndarray:
        """``f(a, a)`` of each row, float64 of shape (n_a,)."""
        values = np.empty(A.shape[0])
        for top in range(0, values.size, 32):
            rows = A[top : top + 32]
            values[top : top + 32] = np.diagonal(self.block(rows, rows))
        return values


#: Names that estimators accept, and the parameters each kernel takes.
KERNELS: dict[str, type] = {
    "linear": Linear,
    "poly": Polynomial,
    "rbf": RBF,
    "sigmoid": Sigmoid,
    "laplacian": Laplacian,
}


def make_kernel(kernel: Any, **parameters: Any) -> Kernel:
    """Kernel object from a name, a callable or a kernel object.

    Parameters
    ----------
    kernel : str, callable or Kernel
        A name of `KERNELS`, a function ``f(A, B) -> (n_a, n_b)``, or a kernel object, returned as
        it is.
    **parameters : float
        ``gamma``, ``degree``, ``coef0``; those that the named kernel does not have are ignored.

    Raises
    ------
    ValueError
        For an unknown name.
    """
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise ValueError(
                f"kernel must be one of {sorted(KERNELS)}, 'precomputed', a callable or a kernel "
                f"object, got {kernel!r} instead"
            )
        accepted = KERNELS[kernel].__dataclass_fields__  # type: ignore[attr-defined]
        made: Kernel = KERNELS[kernel](**{k: v for k, v in parameters.items() if k in accepted})
        return made
    if isinstance(kernel, type):
        raise ValueError(
            f"kernel must be a name, a callable or a kernel object, got the class "
            f"{kernel.__name__} instead"
        )
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return CallableKernel(kernel)
    raise ValueError(
        f"kernel must be a name, a callable or a kernel object, got {kernel!r} instead"
    )


def _variance(X: np.ndarray) -> float:
    """``X.var()`` in float64, without a float64 copy of X."""
    height = max(1, tuning.MAP_BYTES // max(1, X.shape[1] * 8))
    tiles = [X[top : top + height] for top in range(0, X.shape[0], height)]
    mean = sum(float(tile.sum(dtype=np.float64)) for tile in tiles) / X.size
    return sum(float(np.square(tile - mean, dtype=np.float64).sum()) for tile in tiles) / X.size


def scale_gamma(gamma: str | float, X: Any) -> float:
    """Resolve ``"scale"`` to ``1 / (n_features · X.var())``, ``"auto"`` to ``1 / n_features``."""
    if isinstance(gamma, str):
        if gamma == "auto":
            return 1.0 / X.shape[1]
        if sparse.issparse(X):
            mean = float(X.mean())
            variance = float(X.multiply(X).mean()) - mean * mean
        else:
            variance = _variance(X)
        return 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0
    return float(gamma)
