"""The built-in kernels, and how a name becomes one.

Each is a small frozen dataclass. Those that depend only on inner products define how these become
kernel values, and leave the products to `kpegasos.kernels.base`; those of histograms and cosines
are computed by scikit-learn's functions, block by block. Together they are all that
`sklearn.metrics.pairwise.pairwise_kernels` has by name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from kpegasos.kernels import maps
from kpegasos.kernels.base import (
    CallableKernel,
    Composable,
    InnerProductKernel,
    Kernel,
    finite_if_definite,
    takes_objects,
)
from kpegasos.kernels.pairwise import PairwiseKernel
from kpegasos.utils import tuning
from kpegasos.utils.validation import (
    as_choice,
    as_integer,
    as_number,
    canonical_rows,
    is_number,
    shown,
)


def city_block(A: Any, B: Any) -> np.ndarray:
    """``‖a − b‖₁``, of shape (n_a, n_b): float64 sums of differences in the dtype of the rows.

    Parameters
    ----------
    A, B : ndarray or sparse matrix of shape (n_a, n_features) and (n_b, n_features)

    Raises
    ------
    ValueError
        If they differ in the number of features.
    """
    from sklearn.metrics.pairwise import manhattan_distances

    if not (sparse.issparse(A) or sparse.issparse(B)):
        return np.asarray(manhattan_distances(A, B))
    if A.shape[1] != B.shape[1]:
        raise ValueError(
            f"A and B must have equally many features, got {A.shape[1]} and {B.shape[1]} instead"
        )
    if 0 in (A.shape[0], B.shape[0]):
        return np.zeros((A.shape[0], B.shape[0]))
    return np.asarray(manhattan_distances(_as_csr(A), _as_csr(B)))


def _as_csr(rows: Any) -> sparse.csr_matrix:
    """Return rows as scikit-learn's loops take them: canonical, with indices of 32 bits."""
    rows = sparse.csr_matrix(canonical_rows(rows))
    indices, ends = (part.astype(np.int32, copy=False) for part in (rows.indices, rows.indptr))
    return sparse.csr_matrix((rows.data, indices, ends), shape=rows.shape)


#: Largest degree of a polynomial whose powers are products; beyond it they are numpy's.
_MULTIPLIED = 64


class _Numbers:
    """Parameters of a kernel as Python's finite numbers: NumPy's would round or wrap round."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            number = as_number(field.name, value)
            whole = is_number(value, Integral)
            object.__setattr__(self, field.name, as_integer(field.name, value) if whole else number)


@dataclass(frozen=True)
class Linear(InnerProductKernel):
    """``<a, b>``."""

    positive_definite: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True

    @finite_if_definite
    def from_inner_products(
        self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray
    ) -> None:
        """``<a, b>`` is the kernel value."""

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """Bound what rounding does to values: ``k(a, b)`` is off by ``bound[a] + bound[b]``."""
        return (0.25 * n_roundings + 1.0) * eps * squared_norms.astype(np.float64)

    def diag(self, A: Any) -> np.ndarray:
        """``‖a‖²`` of each row, float64 of shape (n_a,)."""
        return row_norms(A, squared=True).astype(np.float64)


@dataclass(frozen=True)
class Polynomial(_Numbers, InnerProductKernel):
    """``(gamma <a, b> + coef0)^degree``."""

    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    symmetric: ClassVar[bool] = True

    @property
    def positive_definite(self) -> bool:
        """Whether all coefficients of the expanded polynomial are non-negative."""
        natural = float(self.degree).is_integer() and self.degree >= 0
        return natural and self.gamma >= 0 and self.coef0 >= 0

    @finite_if_definite
    def from_inner_products(
        self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray
    ) -> None:
        """``(gamma <a, b> + coef0)^degree``, in place."""
        whole = float(self.degree).is_integer()
        if maps.COMPILED and whole and 1 <= self.degree <= _MULTIPLIED:
            number = products.dtype.type
            maps.power(products, number(self.gamma), number(self.coef0), int(self.degree))
            return
        products *= self.gamma
        products += self.coef0
        np.power(products, self.degree, out=products)

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """Bound what rounding does to values: ``k(a, b)`` is off by ``bound[a] + bound[b]``."""
        if not self.positive_definite:
            return super().value_rounding(eps, squared_norms, n_roundings)
        # Relative to ``(gamma ‖a‖ ‖b‖ + coef0)^degree``, which is no more than the mean of the
        # values of a and of b with themselves.
        terms = 0.25 * (self.degree + 1) * (n_roundings + 4.0)
        with np.errstate(over="ignore"):
            own = (self.gamma * squared_norms.astype(np.float64) + self.coef0) ** self.degree
        return np.asarray(terms * eps * own)

    def diag(self, A: Any) -> np.ndarray:
        """``(gamma ‖a‖² + coef0)^degree`` of each row, float64 of shape (n_a,)."""
        values = row_norms(A, squared=True).astype(np.float64)[:, None]
        self.from_inner_products(values, values, values[:, 0])
        return values[:, 0]


@dataclass(frozen=True)
class RBF(_Numbers, InnerProductKernel):
    """``exp(-gamma ‖a − b‖²)``."""

    gamma: float = 1.0
    translation_invariant: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True

    @property
    def positive_definite(self) -> bool:
        """Whether ``gamma`` is not negative."""
        return self.gamma >= 0

    @finite_if_definite
    def from_inner_products(
        self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray
    ) -> None:
        """``exp(-gamma ‖a − b‖²)``, in place."""
        if maps.COMPILED and self.gamma >= 0:
            number, largest = products.dtype.type, float(np.finfo(products.dtype).max)
            maps.gaussian(products, norms_a[:, 0], norms_b, number(min(self.gamma, largest)))
            return
        # A quarter of the squared distance: the whole may overflow where no norm does. The norms
        # first: k(a, b) and k(b, a) are the same to the last bit.
        products *= -0.5
        products += 0.25 * norms_a + 0.25 * norms_b
        np.maximum(products, 0.0, out=products)
        products *= -self.gamma
        products *= 4.0
        np.exp(products, out=products)

    def diag(self, A: Any) -> np.ndarray:
        """Return ones, float64 of shape (n_a,)."""
        return np.ones(A.shape[0])


@dataclass(frozen=True)
class Sigmoid(_Numbers, InnerProductKernel):
    """``tanh(gamma <a, b> + coef0)``: not positive semi-definite, so no gap is certified."""

    gamma: float = 1.0
    coef0: float = 0.0
    positive_definite: ClassVar[bool] = False
    symmetric: ClassVar[bool] = True

    def from_inner_products(
        self, products: np.ndarray, norms_a: np.ndarray, norms_b: np.ndarray
    ) -> None:
        """``tanh(gamma <a, b> + coef0)``, in place."""
        products *= self.gamma
        products += self.coef0
        np.tanh(products, out=products)

    def diag(self, A: Any) -> np.ndarray:
        """``tanh(gamma ‖a‖² + coef0)`` of each row, float64 of shape (n_a,)."""
        return np.tanh(self.gamma * row_norms(A, squared=True).astype(np.float64) + self.coef0)


class _OfSums(Composable):
    """A kernel whose values are no larger than 1, of distances that are sums in float64."""

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """Bound what rounding does to values: ``k(a, b)`` is off by ``bound[a] + bound[b]``.

        Terms are made of differences in the dtype of the rows. Those of χ² are quotients of what
        scikit-learn adds and subtracts in it, where the sum is then rounded, twice multiplied and
        mapped: the exponent has less than three of these roundings, of which a value has at most
        its e-th part.
        """
        in_sums = n_roundings * float(np.finfo(np.float64).eps)
        return np.full(squared_norms.size, 0.25 * (8.0 * eps + in_sums))

    def value_bound(self, squared_norms: np.ndarray) -> float:
        """Return a size that no value exceeds: 1."""
        return 1.0 if self.positive_definite else math.inf  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Laplacian(_Numbers, _OfSums):
    """``exp(-gamma ‖a − b‖₁)``."""

    gamma: float = 1.0

    @property
    def positive_definite(self) -> bool:
        """Whether ``gamma`` is not negative."""
        return self.gamma >= 0

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Return kernel values of shape (n_a, n_b), in the dtype of the rows."""
        values = city_block(A, B)
        with np.errstate(over="ignore"):
            values *= -self.gamma
            return np.exp(values, out=values).astype(A.dtype, copy=False)

    def diag(self, A: Any) -> np.ndarray:
        """Return ones, float64 of shape (n_a,)."""
        return np.ones(A.shape[0])


def _as_histograms(kernel: Any, rows: Any) -> np.ndarray:
    """Return rows as scikit-learn takes them: dense, writable, and of no negative value.

    Raises
    ------
    ValueError
        If they are sparse or have a negative value.
    """
    if sparse.issparse(rows):
        raise ValueError(f"X must be dense for the kernel {kernel!r}, got a sparse matrix instead")
    least = rows.min(initial=0.0)
    if least < 0.0:
        raise ValueError(
            f"X must have no negative values for the kernel {kernel!r}, got {least:.3g}"
        )
    return rows if rows.flags.writeable else rows.copy()


@dataclass(frozen=True)
class Chi2(_OfSums):
    """``exp(-gamma Σ (a − b)² / (a + b))`` of dense features that are not negative, as counts are.

    Parameters
    ----------
    gamma : float, default=1.0
        Positive and finite.

    Raises
    ------
    ValueError
        If ``gamma`` is anything else.
    """

    gamma: float = 1.0
    positive_definite: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", as_number("gamma", self.gamma, positive=True))

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Return kernel values of shape (n_a, n_b), in the dtype of the rows.

        Raises
        ------
        ValueError
            If rows are sparse or have a negative value.
        """
        from sklearn.metrics.pairwise import chi2_kernel

        A, B = _as_histograms(self, A), _as_histograms(self, B)
        with np.errstate(over="ignore"):
            return np.asarray(chi2_kernel(A, B, gamma=self.gamma))

    def diag(self, A: Any) -> np.ndarray:
        """Return ones, float64 of shape (n_a,).

        Raises
        ------
        ValueError
            If rows are sparse or have a negative value.
        """
        return np.ones(_as_histograms(self, A).shape[0])


@dataclass(frozen=True)
class AdditiveChi2(Composable):
    """``-Σ (a − b)² / (a + b)`` of dense features that are not negative, as counts are.

    It is positive definite on coefficients that sum to zero only, so no gap is certified.
    """

    positive_definite: ClassVar[bool] = False

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Return kernel values of shape (n_a, n_b), in the dtype of the rows.

        Raises
        ------
        ValueError
            If rows are sparse or have a negative value.
        """
        from sklearn.metrics.pairwise import additive_chi2_kernel

        A, B = _as_histograms(self, A), _as_histograms(self, B)
        return np.asarray(additive_chi2_kernel(A, B))

    def diag(self, A: Any) -> np.ndarray:
        """Zeros, float64 of shape (n_a,).

        Raises
        ------
        ValueError
            If rows are sparse or have a negative value.
        """
        return np.zeros(_as_histograms(self, A).shape[0])


@dataclass(frozen=True)
class Cosine(Composable):
    """``<a, b> / (‖a‖ ‖b‖)``, and zero for rows of zeros."""

    positive_definite: ClassVar[bool] = True

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Return kernel values of shape (n_a, n_b), in the dtype of the rows."""
        from sklearn.metrics.pairwise import cosine_similarity

        values = cosine_similarity(self._scaled(A), self._scaled(B))
        return np.asarray(values).astype(A.dtype, copy=False)

    @staticmethod
    def _scaled(rows: Any) -> Any:
        """Return rows in float64 whose largest entry is 1: no norm overflows or vanishes."""
        rows = rows.astype(np.float64)
        largest = abs(rows).max(axis=1)
        largest = largest.toarray().ravel() if sparse.issparse(largest) else largest
        largest[largest == 0.0] = 1.0
        if sparse.issparse(rows):
            rows.data /= np.repeat(largest, np.diff(rows.indptr))
        else:
            rows /= largest[:, None]
        return rows

    def value_rounding(self, eps: float, squared_norms: np.ndarray, n_roundings: int) -> np.ndarray:
        """Bound what rounding does to values: ``k(a, b)`` is off by ``bound[a] + bound[b]``.

        A product of rows of length 1, each of which was divided by its largest entry and its norm.
        """
        return np.full(squared_norms.size, (0.25 * n_roundings + 3.0) * eps)

    def value_bound(self, squared_norms: np.ndarray) -> float:
        """Return a size that no value exceeds: 1."""
        return 1.0

    def diag(self, A: Any) -> np.ndarray:
        """Return ones, and zeros for rows of zeros, float64 of shape (n_a,)."""
        return (row_norms(self._scaled(A), squared=True) > 0.0).astype(np.float64)


#: Names that estimators accept, all that scikit-learn's `pairwise_kernels` has; the fields of each
#: are the parameters that the kernel takes.
KERNELS: dict[str, type] = {
    "additive_chi2": AdditiveChi2,
    "chi2": Chi2,
    "cosine": Cosine,
    "laplacian": Laplacian,
    "linear": Linear,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "rbf": RBF,
    "sigmoid": Sigmoid,
}


def parameters_of(name: str) -> list[str]:
    """Return names of the parameters that a kernel of `KERNELS` has."""
    return [field.name for field in fields(KERNELS[name])]


#: Every parameter that some built-in kernel has.
PARAMETERS = sorted({parameter for name in KERNELS for parameter in parameters_of(name)})


def _checked_parameter(name: str, value: Any) -> float:
    """Return a parameter of a named kernel as Python's number.

    Raises
    ------
    ValueError
        If it is not a finite number, or ``gamma`` not positive or ``degree`` negative.
    """
    if name == "gamma" and isinstance(value, str) and value in ("scale", "auto"):
        raise ValueError(
            f"gamma must be a positive finite number, got {value!r} instead; "
            f"resolve it by scale_gamma(gamma, X)"
        )
    least = 0.0 if name == "degree" else None
    number = as_number(name, value, positive=name == "gamma", least=least)
    return int(number) if name == "degree" and number.is_integer() else number


def make_kernel(kernel: Any, **parameters: Any) -> Kernel:
    """Return a kernel object from a name, a callable or a kernel object.

    Parameters
    ----------
    kernel : str, callable or Kernel
        A name that scikit-learn's `pairwise_kernels` has (``"additive_chi2"``, ``"chi2"``,
        ``"cosine"``, ``"laplacian"``, ``"linear"``, ``"poly"`` or ``"polynomial"``, ``"rbf"``,
        ``"sigmoid"``), a function ``f(A, B) -> (n_a, n_b)``, or a kernel object, returned as it is.
    **parameters : float
        ``gamma``, ``degree`` and ``coef0`` of a named kernel. Those that only other built-in
        kernels have are ignored, so that all three may be passed with any name.

    Returns
    -------
    Kernel

    Raises
    ------
    TypeError
        For a parameter that no built-in kernel has, and for any beside a callable or an object.
    ValueError
        For an unknown name, and for a parameter that is out of range or not a number.

    Examples
    --------
    >>> from kpegasos import RBF, Linear, make_kernel
    >>> make_kernel("chi2", gamma=0.5)
    Chi2(gamma=0.5)
    >>> make_kernel(RBF(gamma=1.0) + 0.5 * Linear())
    RBF(gamma=1.0) + 0.5 * Linear()
    """
    if isinstance(kernel, str):
        return _named_kernel(kernel, parameters)
    if isinstance(kernel, type) or not (isinstance(kernel, Kernel) or callable(kernel)):
        raise ValueError(
            f"kernel must be a name, a callable or a kernel object, got {shown(kernel)} instead"
        )
    if parameters:
        raise TypeError(
            f"kernel must be a name to take parameters, got {shown(kernel)} with "
            f"{sorted(parameters)}"
        )
    if takes_objects(kernel):
        return _of_objects(kernel)
    return kernel if isinstance(kernel, Kernel) else CallableKernel(kernel)


def _of_objects(kernel: Any) -> PairwiseKernel:
    """Return a kernel of objects that asks another one, or a function of blocks."""
    if isinstance(kernel, PairwiseKernel):
        return kernel
    return PairwiseKernel(
        kernel.block if isinstance(kernel, Kernel) else kernel,
        blocks=True,
        diagonal=getattr(kernel, "diag", None),
        positive_definite=bool(getattr(kernel, "positive_definite", True)),
    )


def _named_kernel(name: str, parameters: dict[str, Any]) -> Kernel:
    if name not in KERNELS:
        raise ValueError(
            f"kernel must be one of {sorted(KERNELS)}, 'precomputed', a callable or a kernel "
            f"object, got {shown(name)} instead"
        )
    unknown = sorted(set(parameters) - set(PARAMETERS))
    if unknown:
        raise TypeError(f"kernel parameters must be among {PARAMETERS}, got {unknown[0]!r} instead")
    accepted = parameters_of(name)
    chosen = {key: value for key, value in parameters.items() if key in accepted}
    made: Kernel = KERNELS[name](**{k: _checked_parameter(k, v) for k, v in chosen.items()})
    return made


def _variance(X: Any) -> float:
    """``X.var()`` in float64, without a float64 copy of X and without cancellation."""
    entries, size = X, X.shape[0] * X.shape[1]
    height = max(1, tuning.MAP_BYTES // max(1, X.shape[1] * 8))
    if sparse.issparse(X):
        entries, height = X.data, tuning.GATHER_BYTES // 8
    tiles = [entries[top : top + height] for top in range(0, len(entries), height)]
    mean = sum(float(tile.sum(dtype=np.float64)) for tile in tiles) / size
    square = sum(float(np.square(tile - mean, dtype=np.float64).sum()) for tile in tiles)
    variance = (square + (size - entries.size) * mean * mean) / size
    # Rounding of the mean leaves as much if all numbers are the same.
    unit = float(np.finfo(X.dtype).eps) * (64 + len(tiles))
    is_rounding = variance <= (unit * mean) ** 2 and X.max() == X.min()
    return 0.0 if is_rounding else variance


def scale_gamma(gamma: str | float, X: Any) -> float:
    """Resolve ``"scale"`` to ``1 / (n_features · X.var())``, ``"auto"`` to ``1 / n_features``."""
    if isinstance(gamma, str):
        if as_choice("gamma", gamma, ("scale", "auto")) == "auto":
            return 1.0 / X.shape[1]
        variance = _variance(X)
        gamma = 1.0 / (X.shape[1] * variance) if variance > 0.0 else math.inf
        if math.isfinite(gamma):
            return gamma
        if X.max() > X.min():
            raise ValueError(
                f"X must be large enough that 1 / variance is finite for gamma='scale', "
                f"got values that differ by {X.max() - X.min():.3g}; scale the features"
            )
        return 1.0
    return as_number("gamma", gamma, positive=True)
