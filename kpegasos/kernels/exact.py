"""Products of the kernel matrix in float64, from the features as they are given.

A certificate is about the kernel of the formula; values that are handed out for training are
rounded to ``row_dtype``, often float32, and mostly computed in it. Here the few sums that a
certificate is made of are computed once more, as well as float64 can, with a bound on what is left
of rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils.extmath import row_norms

from kpegasos.kernels.base import (
    CallableKernel,
    InnerProductKernel,
    Kernel,
    inner_products,
    uses_products,
)
from kpegasos.kernels.composable import bounds_rounding, parts_of
from kpegasos.kernels.symmetric import SymmetricSums, roundings
from kpegasos.utils import tuning
from kpegasos.utils.patience import Pace, heed

_EPS = float(np.finfo(np.float64).eps)
#: Bytes of a block's features on either side, and most rows of one.
_BLOCK_BYTES, _BLOCK_ROWS = 4 * tuning.MEBIBYTE, 512
#: Where inner products round kernel values more than this, differences are taken instead.
_MOST_ROUNDING = 1e-11


class ExactProducts(Protocol):
    """What a certificate asks for: products of the kernel matrix in float64."""

    def products(
        self,
        coef: np.ndarray,
        wanted: np.ndarray,
        largest: float,
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """``K @ coef`` for some examples; see `ExactValues.products`."""
        ...

    def subset(self, members: np.ndarray) -> ExactProducts:
        """The kernel matrix of some of these examples."""
        ...


class ExactValues:
    """The kernel matrix of some examples, in float64 whatever the dtype of X.

    Values of functions of a user's own are taken as they are returned.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR matrix of shape (n_rows, n_features), float32 or float64
    members : ndarray of int, default=None
        Rows of X that are the examples, in this order; None for all.
    threads : int, default=None
        The most; None for as many as OpenMP would use.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        members: np.ndarray | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self._X = X
        self._members = np.arange(X.shape[0]) if members is None else members
        self._threads = threads
        self._is_sparse = bool(sparse.issparse(X))
        self._pace = Pace()
        self._own_dtype = not isinstance(kernel, InnerProductKernel) and not bounds_rounding(kernel)

    def subset(self, members: np.ndarray) -> ExactValues:
        """The kernel matrix of some of these examples."""
        return ExactValues(self.kernel, self._X, self._members[members], threads=self._threads)

    @cached_property
    def _shift(self) -> np.ndarray | None:
        if self._is_sparse or not getattr(self.kernel, "translation_invariant", False):
            return None
        return np.asarray(self._X.mean(axis=0, dtype=np.float64))

    def _features(self, which: np.ndarray, centred: bool = True) -> Any:
        """Rows ready for products, or as they are for differences, which a centre would round."""
        rows = self._X[self._members[which]]
        if self._own_dtype:
            return rows
        if self._shift is None or not centred:
            return rows.astype(np.float64)
        # float64, as the shift is.
        return rows - self._shift

    def _starts(self, size: int) -> list[tuple[int, int]]:
        """Ranges of a block each."""
        bytes_each = 8 * max(1, self._X.shape[1])
        height = min(_BLOCK_ROWS, max(16, _BLOCK_BYTES // bytes_each))
        return list(pairwise([*range(0, size, height), size]))

    def products(
        self,
        coef: np.ndarray,
        wanted: np.ndarray,
        largest: float,
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """``K @ coef`` for some examples.

        Parameters
        ----------
        coef : ndarray of shape (n_samples,), float64
        wanted : ndarray of shape (n_samples,), bool
        largest : float
            No kernel value is larger.

        Returns
        -------
        sums : ndarray of shape (n_samples,), float64
            Of the wanted examples and of those with a coefficient; 0 elsewhere.
        rounding : ndarray of shape (n_samples,), float64
            Bounds of their error; infinite elsewhere.
        evaluations : int
            Kernel values computed.
        """
        support = np.flatnonzero(coef)
        others = np.flatnonzero(wanted & (coef == 0.0))
        rows = np.concatenate((support, others))
        direct, norms, bounds = self._accuracy(rows, largest)
        weights = coef[rows]
        sums, evaluations, added = self._sums(rows, weights, support.size, (direct, norms))
        size = float(np.abs(weights).sum())
        rounding = np.full(coef.size, np.inf)
        total = np.zeros(coef.size)
        total[rows] = sums
        rounding[rows] = (
            bounds * size + float(np.abs(weights) @ bounds) + added * _EPS * size * largest
        )
        return total, rounding, evaluations

    def _sums(
        self,
        rows: np.ndarray,
        weights: np.ndarray,
        n_support: int,
        how: tuple[bool, np.ndarray],
    ) -> tuple[np.ndarray, int, float]:
        """``K @ weights`` for some examples, the support first.

        And the kernel values computed, and how often a sum is rounded at the most.
        """
        kernel, (direct, norms) = self.kernel, how
        if isinstance(kernel, InnerProductKernel) and not (direct or self._is_sparse):
            symmetric = SymmetricSums(
                kernel,
                lambda part: self._features(rows[part]),
                norms,
                weights[:n_support],
                self._threads,
            )
            symmetric.add_all()
            added = roundings(n_support, self._X.shape[1])
            return symmetric.sums, symmetric.evaluations, added
        sums, evaluations = np.zeros(rows.size), 0
        top, features = -1, None
        for left, right in self._blocks(n_support, rows.size):
            heed((left.stop - left.start) * (right.stop - right.start))
            if left.start != top:
                top, features = left.start, self._features(rows[left], not direct)
            opposite = features if left == right else self._features(rows[right], not direct)
            values = self._block((features, norms[left]), (opposite, norms[right]), direct)
            evaluations += values.size
            sums[left] += values @ weights[right]
            if left != right and left.start < n_support:
                sums[right] += weights[left] @ values
        return sums, evaluations, min(n_support, _BLOCK_ROWS) + n_support / 16 + 4

    def _blocks(self, n_support: int, n_rows: int) -> Iterator[tuple[slice, slice]]:
        """Blocks of rows against support: the support's own half, then the others."""
        own = self._starts(n_support)
        for number, (first, last) in enumerate(own):
            for begin, end in own[number:]:
                yield slice(first, last), slice(begin, end)
        for first, last in self._starts(n_rows - n_support):
            for begin, end in own:
                yield slice(n_support + first, n_support + last), slice(begin, end)

    def _accuracy(self, rows: np.ndarray, largest: float) -> tuple[bool, np.ndarray, np.ndarray]:
        """Whether differences are to be taken, squared norms, and bounds of each row's values."""
        nothing = np.zeros(rows.size)
        if self._own_dtype:
            return False, nothing, nothing
        n_features = self._X.shape[1]
        norms = nothing
        if uses_products(self.kernel):
            norms = np.concatenate(
                [
                    nothing[:0],
                    *(
                        row_norms(self._features(rows[first:last]), squared=True)
                        for first, last in self._starts(rows.size)
                    ),
                ]
            )
        # Both norms and products are sums in float64.
        bounds = self.kernel.value_rounding(  # type: ignore[attr-defined]
            _EPS, norms, 2 * n_features
        )
        if self._shift is not None and bounds.max(initial=0.0) > _MOST_ROUNDING:
            # A kernel that falls with the distance, ever more slowly, changes by no more than its
            # value at zero times the relative change of the squared distance. Each map rounds, too.
            relative = (n_features + 8.0 * len(list(parts_of(self.kernel)))) * _EPS
            return True, nothing, np.full(rows.size, 0.5 * relative * largest)
        return False, norms, bounds

    def _block(
        self, left: tuple[Any, np.ndarray], right: tuple[Any, np.ndarray], direct: bool
    ) -> np.ndarray:
        (A, norms_a), (B, norms_b) = left, right
        kernel = self.kernel
        if isinstance(kernel, InnerProductKernel):
            # Norms are zero where differences are taken.
            values = -0.5 * cdist(A, B, "sqeuclidean") if direct else inner_products(A, B)
            kernel.apply(values, norms_a, norms_b)
            return values
        own = kernel.function if isinstance(kernel, CallableKernel) else kernel.block
        return self._pace.call(lambda A, B: np.asarray(own(A, B), dtype=np.float64), A, B)
