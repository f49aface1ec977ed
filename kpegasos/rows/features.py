"""Rows for the linear solver: the primal vector is kept, so no kernel value is ever needed.

A `FeatureRows` serves the same solver as the sources of `kpegasos.rows.choose`; what changes is that the
state's ``base`` is the vector itself, a step costs O(non-zeros of the row), and margins are
computed when asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse

from kpegasos.core.averaging import LinearCombination
from kpegasos.core.loops import (
    CsrView,
    DenseView,
    Examples,
    LoopParameters,
    LoopState,
    sparse_margins,
)
from kpegasos.core.state import Algorithm, run_loop
from kpegasos.utils import tuning
from kpegasos.utils.threads import threads_for
from kpegasos.utils.validation import canonical_rows, check_magnitude


class FeatureRows:
    """Rows of a dense or CSR matrix.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features), float32 or float64
        Only read; never copied.
    members : ndarray of shape (n_samples,), int64, default=None
        Rows that are the examples of this problem; all if None.
    intercept_scaling : float, default=0.0
        Size B of the constant feature.
    """

    evaluations = 0
    charged = 0

    def __init__(
        self, X: Any, *, members: np.ndarray | None = None, intercept_scaling: float = 0.0
    ) -> None:
        self.positive_definite = True
        self.X = X
        self._whole = members is None
        self.members = np.arange(X.shape[0]) if members is None else members
        self.n_samples = self.members.size
        self.image_size = X.shape[1] + 1
        self.offset = float(intercept_scaling)
        self._rows = self._make_rows(np.zeros(0))

    def _make_rows(self, squared_norms: np.ndarray) -> DenseView | CsrView:
        if sparse.issparse(self.X):
            return CsrView(
                self.X.data,
                self.X.indices,
                self.X.indptr,
                self.members,
                squared_norms,
                self.offset,
            )
        return DenseView(np.asarray(self.X), self.members, squared_norms, self.offset)

    def require_norms(self) -> None:
        """Have ``‖x‖²`` at hand, which projection and dual ascent need."""
        if self._rows.squared_norms.size == 0:
            self._rows = self._make_rows(self.squared_norms())

    def advance(
        self,
        algorithm: Algorithm,
        state: LoopState,
        draws: np.ndarray,
        stop: int,
        examples: Examples,
        parameters: LoopParameters,
    ) -> None:
        """PegasosRun the loop over ``draws[:stop]``."""
        run_loop(algorithm, state, self._rows, draws, stop, examples, parameters)

    def refresh_margins(self, state: LoopState, examples: Examples) -> None:
        """Bring ``base`` up to date: it never is behind."""

    def evaluate(
        self,
        combinations: list[LinearCombination],
        state: LoopState,
        prefixes: list[tuple[np.ndarray, np.ndarray] | None],
        examples: Examples,
    ) -> list[tuple[np.ndarray, np.ndarray, float]]:
        """Coefficients, margins and squared norm of each iterate."""
        vectors = [
            c.apply(state.base, state.stamped_image, p and p[1])
            for c, p in zip(combinations, prefixes, strict=True)
        ]
        margins = self.margins(np.stack(vectors, axis=1))
        return [
            (c.apply(state.alpha, state.stamps, p and p[0]), margins[:, j], float(w @ w))
            for j, (c, p, w) in enumerate(zip(combinations, prefixes, vectors, strict=True))
        ]

    def _blocks(self) -> Iterator[slice]:
        """Ranges of examples whose rows are gathered together."""
        if sparse.issparse(self.X):
            height = 1 << 15
        else:
            height = max(1, tuning.GATHER_BYTES // max(1, self.X.shape[1] * self.X.dtype.itemsize))
        for top in range(0, self.n_samples, height):
            yield slice(top, min(self.n_samples, top + height))

    def _part(self, rows: slice) -> Any:
        return self.X[rows] if self._whole else self.X[self.members[rows]]

    def margins(self, vectors: np.ndarray) -> np.ndarray:
        """``<w, (x, B)>`` of every example, float64 of shape (n_samples, n_vectors).

        Parameters
        ----------
        vectors : ndarray of shape (n_features + 1, n_vectors)
        """
        result = np.empty((self.n_samples, vectors.shape[1]))
        if isinstance(self._rows, CsrView):
            # Neither copied nor converted, as scipy's product would.
            vectors = np.ascontiguousarray(vectors, dtype=np.float64)
            threads = threads_for(self.X.nnz * vectors.shape[1])
            ends = [self.n_samples * k // threads for k in range(threads + 1)]
            Parallel(threads, backend="threading")(
                delayed(sparse_margins)(self._rows, vectors, begin, end, result)
                for begin, end in pairwise(ends)
            )
            return result
        for rows in self._blocks():
            result[rows] = self._part(rows) @ vectors[:-1]
        result += self.offset * vectors[-1]
        return result

    def squared_norms(self) -> np.ndarray:
        """``‖(x, B)‖²`` of each example."""
        result = np.empty(self.n_samples)
        for rows in self._blocks():
            part = self._part(rows)
            if sparse.issparse(part):
                squares = part.astype(np.float64).power(2)
                result[rows] = np.asarray(squares.sum(axis=1)).ravel()
            else:
                result[rows] = np.einsum("ij,ij->i", part, part, dtype=np.float64, casting="safe")
        return result + self.offset**2


def linear_rows(X: Any, *, intercept_scaling: float = 0.0) -> FeatureRows:
    """Rows for the linear solver.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        float32 and float64 rows are used as they are; anything else becomes float64.
    intercept_scaling : float, default=0.0
        Size B of the constant feature; 0 for none.
    """
    X = canonical_rows(X)
    check_magnitude(X)
    return FeatureRows(X, intercept_scaling=intercept_scaling)
