"""The feature rows of each pair of classes, and the weights of the model.

A run keeps, evaluates and copies a few numbers for each column. The examples of two of many classes
have entries in some of the columns only, so a run leaves out the others. A matrix of the weights of
all pairs would then be nearly all zeros, so it may be sparse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from kpegasos.fitting.inputs import Settings
from kpegasos.fitting.pairs import Pair, Pairs, constant_of, far_centre
from kpegasos.rows.features import FeatureRows, longest_row
from kpegasos.solvers.result import Results
from kpegasos.utils import tuning
from kpegasos.utils.validation import check_magnitude, over_columns, used_columns, warn_caller

#: A run leaves out unused columns if X has at least this many times the used ones.
_FEW = 2
#: Bytes up to which weights are always an array, and bytes beyond which a warning is due.
_DENSE_BYTES, _MANY_BYTES = 64 * tuning.MEBIBYTE, 256 * tuning.MEBIBYTE


class PairFeatures:
    """Makes the rows of any pair from the features.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    pairs : Pairs
    settings : Settings

    Attributes
    ----------
    centre : ndarray of shape (n_features,) or None
        What is subtracted from the rows, as in `kpegasos.fitting.pairs.KernelRows`.
    is_costly : bool
        False, as feature rows need no kernel values.
    """

    is_costly = False

    def __init__(self, X: Any, pairs: Pairs, settings: Settings) -> None:
        self.centre = far_centre(X) if settings.free_intercept else None
        X = X if self.centre is None else X - self.centre
        self._X = X
        self._longest = longest_row(X, check_magnitude(X))
        self._scaling = settings.intercept_scaling
        if settings.free_intercept:
            squared_norms = FeatureRows(X, canonical=True).squared_norms()
            self._scaling = constant_of(settings, pairs, squared_norms)
        #: Used columns of the pairs that leave out the others.
        self._columns: dict[int, np.ndarray] = {}
        n_classes = int(pairs.second.max()) + 1
        n_kept = _most_weights(X, pairs) if sparse.issparse(X) and n_classes > 2 else None
        warn_of_many_weights(n_classes, X.shape[1], n_kept)

    @property
    def is_double(self) -> bool:
        """Whether features are float64."""
        return bool(self._X.dtype == np.float64)

    def __call__(self, pair: Pair, n_at_once: int, brief: bool) -> FeatureRows:
        """Return rows of a pair; parameters are those of `kpegasos.fitting.pairs.KernelRows`."""
        X, members = self._X, None if pair.members.size == self._X.shape[0] else pair.members
        if sparse.issparse(X):
            rows = X if members is None else X[members]
            columns = used_columns(rows)
            if _FEW * columns.size <= X.shape[1]:
                X, members = over_columns(rows, columns), None
                self._columns[pair.number] = columns
        return FeatureRows(
            X,
            members=members,
            intercept_scaling=self._scaling,
            longest=self._longest,
            canonical=True,
        )

    def weights(self, results: Results) -> Any:
        """Return weights of all pairs: an array, or sparse if that takes less than half of one.

        Parameters
        ----------
        results : Results
            Of all pairs.

        Returns
        -------
        ndarray, csc_matrix or csr_matrix of shape (n_pairs, n_features)
            CSR with at most one weight a feature; else CSC, whose transpose SciPy multiplies
            without conversion.
        """
        w, n_features = results.column("w"), self._X.shape[1]
        if not self._columns:
            return np.array(w)
        numbers, shape = range(len(w)), (len(w), n_features)
        columns = [self._columns.get(k, range(n_features)) for k in numbers]
        ends = np.cumsum([0, *map(len, columns)])
        rows = sparse.csr_matrix((np.concatenate(w), np.concatenate(columns), ends), shape)
        rows.eliminate_zeros()
        n_bytes = 8 * len(w) * n_features
        if n_bytes <= _DENSE_BYTES or 2 * _bytes_of(rows) > n_bytes:
            return rows.toarray()
        return rows.tocsc() if rows.nnz > n_features else rows


def _most_weights(X: sparse.csr_matrix, pairs: Pairs) -> int:
    """Bound the number of non-zero weights of all pairs."""
    with_first = [pairs[number] for number in np.flatnonzero(pairs.first == 0).tolist()]
    first = with_first[0].members[with_first[0].problem.y > 0.0]
    classes = [first, *(pair.members[pair.problem.y < 0.0] for pair in with_first)]
    return len(with_first) * sum(used_columns(X[members]).size for members in classes)


def warn_of_many_weights(n_classes: int, n_features: int, n_kept: int | None = None) -> None:
    """Warn if the weights of all pairs of classes take much memory.

    Parameters
    ----------
    n_classes, n_features : int
    n_kept : int, default=None
        Bound on the non-zero weights; all weights if None.

    Warns
    -----
    UserWarning
    """
    n_pairs = n_classes * (n_classes - 1) // 2
    n_bytes = 8 * n_pairs * n_features
    if n_kept is not None:
        n_bytes = min(n_bytes, 12 * n_kept)
    if n_pairs > n_classes and n_bytes > _MANY_BYTES:
        warn_caller(
            f"coef_ holds weights of {n_pairs} pairs of {n_classes} classes, up to "
            f"{n_bytes / tuning.MEBIBYTE:,.0f} MiB: OneVsRestClassifier of sklearn.multiclass "
            f"around the estimator has those of {n_classes}."
        )


def _bytes_of(matrix: Any) -> int:
    """Return bytes that a compressed sparse matrix takes."""
    return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)
