"""Rows of features: the primal vector is kept, so no kernel value is ever needed.

The image of an iterate is the vector itself, a step costs O(non-zeros of the row), and margins are
computed when they are asked for. With few columns, a factor ``K = Z Zᵀ`` serves to solve systems.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from kpegasos.core.certificate import additions, limits_of, loss_errors, steepest
from kpegasos.core.state import Examples, Iterate, LoopState
from kpegasos.core.views import CsrView, DenseView, dense_margins, sparse_margins
from kpegasos.kernels.matrix import squared_norms_of
from kpegasos.rows.base import (
    Decisions,
    Evaluated,
    Factor,
    Steps,
    VectorSource,
    new_rows,
    run_loop,
)
from kpegasos.utils import tuning
from kpegasos.utils.boundary import as_indices, require_numbers
from kpegasos.utils.patience import heed
from kpegasos.utils.threads import (
    cached_property,
    even_ranges,
    in_ranges,
    n_threads,
    parallel_for,
)
from kpegasos.utils.validation import (
    as_flag,
    canonical_rows,
    check_magnitude,
    check_scaling,
    finite_decisions,
    largest_magnitude,
)

# --- factors --------------------------------------------------------------------------------------


class HeldFactor(Factor):
    """Z as an array without zero columns, with at most as many features as rows.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_columns), float64
    n_constants : {0, 1}
        Last columns that belong to the constant feature, which stays last.
    """

    def __init__(self, Z: np.ndarray, n_constants: int) -> None:
        self._Z = Z = Z[:, Z.any(axis=0)]
        n_features = Z.shape[1] - n_constants
        if n_features > Z.shape[0]:
            # Z = Rᵀ Qᵀ: products of its rows are those of the rows of Rᵀ.
            R = np.asarray(np.linalg.qr(Z[:, :n_features].T, mode="r"))
            self._Z = np.column_stack((R.T, Z[:, n_features:]))
        self.size = self._Z.shape[1]

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """``Zᵀ diag(weights) Z``."""
        if weights.all():
            return _gram(self._Z, weights)
        used = np.flatnonzero(weights)
        return _gram(self._Z[used], weights[used])

    def margins(self, vector: np.ndarray) -> np.ndarray:
        """``Z @ vector``."""
        return np.asarray(self._Z @ vector)

    def sums(self, coef: np.ndarray) -> np.ndarray:
        """``Zᵀ @ coef``."""
        return np.asarray(coef @ self._Z)


def _gram(rows: Any, weights: np.ndarray) -> np.ndarray:
    """``rowsᵀ diag(weights) rows``, by half the multiplications of a product of two matrices."""
    return _squared(rows * np.sqrt(weights)[:, None])


def _squared(rows: np.ndarray) -> np.ndarray:
    """``rowsᵀ rows``, by parts on threads, as BLAS has one; the parts depend on sizes alone."""
    height, width = rows.shape
    n_parts = max(1, min(8, int(height * width**2 / (2.0 * tuning.WORK_OF_A_THREAD))))
    products: list[Any] = [None] * n_parts
    parts = even_ranges(height, n_parts)
    threads = min(n_parts, n_threads())

    def some(thread: int) -> None:
        for number in range(thread, n_parts, threads):
            part = rows[slice(*parts[number])]
            products[number] = part.T @ part

    parallel_for(some, [(thread,) for thread in range(threads)])
    return np.asarray(sum(products[1:], start=products[0]))


def _scale(rows: Any, roots: np.ndarray, out: np.ndarray) -> None:
    """Put ``diag(roots) rows`` into an array."""
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    np.multiply(dense, roots[:, None], out=out)


class StreamedFactor(Factor):
    """Z a part at a time.

    Parameters
    ----------
    rows : FeatureRows
    """

    def __init__(self, rows: FeatureRows) -> None:
        self._rows, self.size = rows, rows.image_size

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """``Zᵀ diag(weights) Z``."""
        total = np.zeros((self.size, self.size))
        # Rows in float64, and once more where they come from a sparse matrix.
        height = max(1, tuning.GATHER_BYTES // (3 * 8 * self.size))
        scaled = np.empty((min(height, weights.size), self.size))
        for part in self._rows.parts(3):
            heed()
            roots, rows = np.sqrt(weights[part]), self._rows.gather(part)
            if np.count_nonzero(roots) < 0.5 * roots.size:
                used = np.flatnonzero(roots)
                roots, rows = roots[used], rows[used]
            for top in range(0, roots.size, height):
                heed()
                some = slice(top, top + height)
                filled = scaled[: roots[some].size]
                _scale(rows[some], roots[some], filled[:, :-1])
                filled[:, -1] = self._rows.intercept_scaling * roots[some]
                total += _squared(filled)
        return total

    def margins(self, vector: np.ndarray) -> np.ndarray:
        """``Z @ vector``."""
        return self._rows.margins(vector[:, None])[:, 0]

    def sums(self, coef: np.ndarray) -> np.ndarray:
        """``Zᵀ @ coef``."""
        return self._rows.sums(coef)


# --- rows -----------------------------------------------------------------------------------------


_EPS = float(np.finfo(np.float64).eps)


def longest_row(X: Any, largest: float) -> float:
    """Bound the length of all rows of X by the `largest_magnitude` of X."""
    n_values = int(np.diff(X.indptr).max(initial=0)) if sparse.issparse(X) else X.shape[1]
    return math.sqrt(n_values) * largest


class FeatureRows(VectorSource, unchanging=True):
    """Rows of a dense or CSR matrix.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features), float32 or float64
        Only read; copied only if it has to be made canonical.
    members : ndarray of shape (n_samples,), int64, default=None
        Rows of X that are the examples of this problem; all if None.
    intercept_scaling : float, default=0.0
        Size B of the constant feature.
    longest : float, default=None
        `longest_row` of X, where it is known.
    canonical : bool, default=False
        Whether X is known to come from `canonical_rows`, so that its indices need no check.
    """

    def __init__(
        self,
        X: Any,
        *,
        members: np.ndarray | None = None,
        intercept_scaling: float = 0.0,
        longest: float | None = None,
        canonical: bool = False,
    ) -> None:
        if not as_flag("canonical", canonical):
            X = canonical_rows(X)
        self._whole, height = members is None, int(X.shape[0])
        self.members = np.arange(height)
        if members is not None:
            self.members = as_indices("members", members, height)
        super().__init__(self.members.size, positive_definite=True)
        self.X = X
        self.image_size = X.shape[1] + 1
        self.intercept_scaling = check_scaling(intercept_scaling)
        self.kernel_offset = self.intercept_scaling**2
        self._view = self._make_view(np.zeros(0))
        self._longest_row = longest

    def _make_view(self, squared_norms: np.ndarray) -> DenseView | CsrView:
        X, members, scaling = self.X, self.members, self.intercept_scaling
        if sparse.issparse(X):
            parts = X.data, X.indices, X.indptr, int(X.shape[1])
            return CsrView(*parts, members, squared_norms, scaling)
        return DenseView(np.asarray(X), members, squared_norms, scaling)

    @cached_property
    def _normed_view(self) -> DenseView | CsrView:
        """View with ``‖x‖²``, which projection and dual ascent need."""
        return self._make_view(self.squared_norms())

    def prepare(self) -> None:
        """Compute ``‖x‖²``."""
        _ = self._normed_view

    def advance(self, steps: Steps, draws: np.ndarray, stop: int) -> None:
        """Run the loop over ``draws[:stop]``."""
        has_no_norms = steps.algorithm.from_zero and not steps.parameters.projection
        run_loop(steps, self._view if has_no_norms else self._normed_view, draws, stop)

    def evaluate(
        self,
        iterates: Sequence[Iterate],
        state: LoopState,
        examples: Examples,
        *,
        shift: float | None = None,
    ) -> list[Evaluated]:
        """Return coefficients, margins, norm and vector of some iterates of a state."""
        vectors = [iterate.image(state) for iterate in iterates]
        if shift is not None:
            for vector in vectors:
                vector[-1] = 0.0
        margins = np.ascontiguousarray(self.margins(np.stack(vectors, axis=1)).T)
        limits, counts = limits_of(examples.loss), float(state.alpha @ np.abs(examples.signed))
        longest, in_sum, found = self.largest**0.5, 0.5 * (self.image_size + 2) * _EPS, []
        for iterate, vector, margin in zip(iterates, vectors, margins, strict=True):
            number = additions(state, examples, iterate, counts)
            squared_norm = float(vector @ vector)
            length, error = squared_norm**0.5, number * _EPS * longest
            of_margin, slope = (in_sum + _EPS) * length * longest, limits[2]
            if slope == math.inf:
                slope = steepest(examples, limits, margin, of_margin)
            # The vector of the coefficients may have another norm.
            of_norm = error * (2.0 * length + error) + in_sum * squared_norm
            sums = squared_norm, of_margin * slope, of_norm, of_margin + error * longest, number
            found.append(Evaluated(iterate.coefficients(state), margin, *sums, vector))
        return found

    def settle(self, evaluated: Evaluated, examples: Examples, *, losses: bool = True) -> Evaluated:
        """Compute once more the vector of the coefficients, and bound its rounding closely."""
        signed = evaluated.coef * examples.signed
        features, sizes = np.zeros((2, self.image_size - 1))
        vector = np.abs(evaluated.image)
        constant = abs(evaluated.intercept or 0.0) + self.intercept_scaling * vector[-1]
        margin_sizes = np.full(self.n_samples, constant)
        for part in self.parts(copies=6):  # of which some in float64
            heed()
            rows = self.gather(part).T
            features += rows @ signed[part]
            rows = abs(rows)
            sizes += rows @ np.abs(signed[part])
            margin_sizes[part] += rows.T @ vector[:-1]
        constant = 0.0 if evaluated.is_free else self.intercept_scaling
        last = constant * float(signed.sum())
        length = float(features @ features + last * last) ** 0.5
        n_terms, last_size = np.count_nonzero(signed), constant * float(np.abs(signed).sum())
        size = float(sizes @ sizes + last_size * last_size) ** 0.5
        error = (n_terms + 2.0) * _EPS * size
        error += 0.5 * (self.image_size + 2) * _EPS * length
        longest = length + error  # products, as a power that overflows is an error
        larger = max(0.0, longest * longest - evaluated.squared_norm)
        in_sum = 0.5 * (self.image_size + 4) * _EPS
        margin_errors = in_sum * margin_sizes
        of_losses = loss_errors(examples, evaluated.margins, margin_errors)
        of_losses *= np.abs(examples.signed)
        return evaluated._replace(
            loss_rounding=min(evaluated.loss_rounding, of_losses.sum() / self.n_samples),
            norm_rounding=min(evaluated.norm_rounding, larger + in_sum * evaluated.squared_norm),
        )

    @cached_property
    def largest(self) -> float:
        """Upper bound on ``‖(x, B)‖²``."""
        length = self._longest_row
        if length is None:
            length = longest_row(self.X, largest_magnitude(self.X))
        return length * length + self.kernel_offset

    def decisions(
        self, coef: np.ndarray, w: np.ndarray | None, intercept: float
    ) -> Decisions | None:
        """Return decisions by the weights of the features."""
        return None if w is None else FeatureDecisions(w, intercept)

    def parts(self, copies: int = 1) -> Iterator[slice]:
        """Return ranges of examples whose rows are gathered together, and copied so many times."""
        if sparse.issparse(self.X):
            # With squares in float64 and a copy or two of either.
            row_bytes = 32 * self.X.nnz // max(1, self.X.shape[0])
        else:
            row_bytes = self.X.shape[1] * self.X.dtype.itemsize
        height = max(1, tuning.GATHER_BYTES // max(1, copies * row_bytes))
        for top in range(0, self.n_samples, height):
            yield slice(top, min(self.n_samples, top + height))

    def gather(self, part: slice) -> Any:
        """Return features of some examples, an array or a CSR matrix."""
        return self.X[part] if self._whole else self.X[self.members[part]]

    def margins(self, vectors: np.ndarray) -> np.ndarray:
        """``<w, (x, B)>`` of every example, float64 of shape (n_samples, n_vectors).

        Parameters
        ----------
        vectors : ndarray of shape (n_features + 1, n_vectors)
        """
        result, view = np.empty((self.n_samples, vectors.shape[1])), self._view
        if sparse.issparse(self.X):
            # Neither copied nor converted, as scipy's product would.
            vectors, fill = np.ascontiguousarray(vectors, dtype=np.float64), sparse_margins
        elif vectors.shape[1] <= 2 or (self.X.dtype != np.float64 and vectors.shape[1] <= 4):
            # A product by BLAS would convert or gather the rows first.
            vectors, fill = np.ascontiguousarray(vectors.T, dtype=np.float64), dense_margins
        else:
            for part in self.parts(copies=3):  # float32 and float64
                result[part] = self.gather(part) @ vectors[:-1]
            result += self.intercept_scaling * vectors[-1]
            return result

        def part_of(begin: int, end: int) -> None:
            fill(view, vectors, begin, end, result)

        in_ranges(part_of, self.n_samples, self.X.size * result.shape[1])
        return result

    def sums(self, columns: np.ndarray) -> np.ndarray:
        """``Σ columns[j] (x_j, B)``, of shape (n_features + 1,).

        Parameters
        ----------
        columns : ndarray of shape (n_samples,)
        """
        result = np.zeros(self.image_size)
        for part in self.parts(copies=3):
            result[:-1] += self.gather(part).T @ columns[part]
        result[-1] = self.intercept_scaling * columns.sum()
        return result

    def factor(self) -> Factor | None:
        """Return rows with their constant feature, held if they are few; None for many columns."""
        height, width = self.n_samples, self.image_size
        if min(height, width) > tuning.MOST_COLUMNS:
            return None
        if 8 * height * width > tuning.GATHER_BYTES:
            return StreamedFactor(self) if width <= tuning.MOST_COLUMNS else None
        Z, features = np.empty((height, width)), self.gather(slice(0, height))
        Z[:, :-1] = features if isinstance(features, np.ndarray) else features.toarray()
        Z[:, -1] = self.intercept_scaling
        factor = HeldFactor(Z, int(self.intercept_scaling > 0.0))
        return factor if factor.size else None

    def factor_passes(self) -> float:
        """Return how many passes of single steps cost as much as one system of `factor`."""
        size, height = min(self.n_samples, self.image_size), self.X.shape[0]
        entries = self.X.nnz / max(1, height) if sparse.issparse(self.X) else self.X.shape[1]
        # The share of a system in reducing a factor that has more columns than rows.
        making = 0.015 * self.n_samples * self.image_size if self.image_size > size + 1 else 0.0
        return (0.06 * size**2 + 5.0 * size + 40.0 + making) / (100.0 + 1.1 * entries)

    def squared_norms(self) -> np.ndarray:
        """``‖(x, B)‖²`` of each example."""
        parts = [np.empty(0), *(squared_norms_of(self.gather(part)) for part in self.parts())]
        return np.asarray(np.concatenate(parts) + self.intercept_scaling**2)


class FeatureDecisions:
    """``f(x) = <w, x> + intercept``.

    Parameters
    ----------
    w : ndarray of shape (n_features,)
    intercept : float
    """

    def __init__(self, w: np.ndarray, intercept: float) -> None:
        self._w = w
        self._intercept = intercept

    def __call__(self, X: Any) -> np.ndarray:
        """Return decisions on new examples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)

        Returns
        -------
        ndarray of shape (n_new,), float64

        Raises
        ------
        ValueError
            If X does not have the features of the training examples, or is not finite.
        """
        require_numbers("w", self._w, self._w.shape[:1])
        rows = FeatureRows(new_rows(X, self._w.size), canonical=True)
        margins = rows.margins(np.append(self._w, 0.0)[:, None])
        return finite_decisions(margins[:, 0] + self._intercept)


def linear_rows(X: Any, *, intercept_scaling: float = 0.0) -> FeatureRows:
    """Return rows for the linear solver.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        float32 and float64 rows are used as they are; anything else becomes float64.
    intercept_scaling : float, default=0.0
        Size B of the constant feature; 0 for none.

    Returns
    -------
    FeatureRows

    Raises
    ------
    ValueError
        If X is not a matrix, or its values are not finite or too large.
    """
    X = canonical_rows(X)
    check_magnitude(X)
    return FeatureRows(X, intercept_scaling=intercept_scaling, canonical=True)
