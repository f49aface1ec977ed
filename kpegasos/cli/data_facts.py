"""What a table of examples is like: sizes, classes, duplicates, missing values, ranges.

Rows are looked at by blocks, so that a memory-mapped file need not fit into memory. Saying it in
words, and how long a fit would take, is left to others.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis

from kpegasos.utils.scan import without_empty_columns
from kpegasos.utils.tuning import MEBIBYTE

#: Entries of a block of rows, 32 MiB of them.
_ENTRIES = 2**22
#: Widths of columns that differ by more than this leave the narrow ones without a say.
UNEVEN = 100.0


@dataclass(frozen=True)
class Targets:
    """What a column of targets is like.

    Attributes
    ----------
    classes : dict of str to int or None
        Examples of each class; None if the targets are numbers.
    lowest, highest : float
        Of numbers.
    """

    classes: dict[str, int] | None
    lowest: float = float("nan")
    highest: float = float("nan")


@dataclass(frozen=True)
class DataFacts:
    """What a table is like.

    Attributes
    ----------
    n_samples, n_features : int
    storage : {"dense", "sparse"}
    dtype : str
    mebibytes : float
        As held in memory, or mapped.
    density : float
        Part of the entries that are not zero.
    n_duplicates : int
        Rows that are the same as an earlier one.
    n_conflicts : int
        Rows that share their features with one of another label.
    n_missing, n_infinite : int
        Entries that are NaN, or infinite.
    n_constant : int
        Columns of one value.
    lowest, highest : float
        Of all finite entries; NaN if there are none.
    unevenness : float
        Width of the widest column divided by that of the narrowest, constant ones left out.
    targets : Targets or None
    """

    n_samples: int
    n_features: int
    storage: str
    dtype: str
    mebibytes: float
    density: float
    n_duplicates: int
    n_conflicts: int
    n_missing: int
    n_infinite: int
    n_constant: int
    lowest: float
    highest: float
    unevenness: float
    targets: Targets | None


def facts_of(X: Any, y: np.ndarray | None) -> DataFacts:
    """Look at a table.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or None
    """
    is_sparse = sparse.issparse(X)
    X = X.tocsr() if is_sparse else X
    (n_samples, n_features), held = X.shape, X
    X = _narrow(X)
    n_empty = n_features - X.shape[1]
    columns, rows = _Columns(X.shape[1]), _Rows()
    n_nonzero = 0
    step = max(1, _ENTRIES // max(1, X.shape[1]))
    for start in range(0, n_samples, step):
        block = X[start : start + step]
        labels = None if y is None else y[start : start + step].tolist()
        if is_sparse:
            block = block.copy()
            block.sum_duplicates()
            block.eliminate_zeros()
        n_nonzero += block.nnz if is_sparse else int(np.count_nonzero(block))
        columns.add(block)
        rows.add(block, labels)
    widths, zero = columns.widths(), [0.0] * min(1, n_empty)
    arrays = [held.data, held.indices, held.indptr] if is_sparse else [held]
    return DataFacts(
        n_samples=n_samples,
        n_features=n_features,
        storage="sparse" if is_sparse else "dense",
        dtype=str(X.dtype),
        mebibytes=sum(array.nbytes for array in arrays) / MEBIBYTE,
        density=n_nonzero / max(1, n_samples * n_features),
        n_duplicates=rows.n_duplicates,
        n_conflicts=rows.n_conflicts(),
        n_missing=columns.n_missing,
        n_infinite=columns.n_infinite,
        n_constant=n_empty + int((widths == 0).sum()),
        lowest=_extreme(np.append(columns.low, zero), np.min),
        highest=_extreme(np.append(columns.high, zero), np.max),
        unevenness=columns.unevenness(),
        targets=None if y is None else targets_of(y),
    )


def unevenness_of(X: Any) -> float:
    """How many times as wide as the narrowest column the widest is, in as many rows as are a block.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Constant columns do not count.
    """
    X = _narrow(X)
    columns = _Columns(X.shape[1])
    columns.add(X[: max(1, _ENTRIES // max(1, X.shape[1]))])
    return columns.unevenness()


def _narrow(X: Any) -> Any:
    """What takes no memory for columns of zeros, of which a small file may name any number."""
    return without_empty_columns(X)[0] if sparse.issparse(X) else X


def targets_of(y: np.ndarray) -> Targets:
    """Classes with their sizes, or the range of numbers that are no classes.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Integers, in whatever type, and text are classes.
    """
    if y.dtype.kind == "f" and not (np.isfinite(y).all() and (y == np.rint(y)).all()):
        finite = y[np.isfinite(y)]
        return Targets(None, _extreme(finite, np.min), _extreme(finite, np.max))
    names, counts = np.unique(y, return_counts=True)
    if names.dtype.kind == "f":
        texts = [f"{name:.0f}" for name in names]
    else:
        texts = [str(name) for name in names]
    return Targets(dict(zip(texts, counts.tolist(), strict=True)))


def _extreme(values: np.ndarray, of: Any) -> float:
    finite = values[np.isfinite(values)]
    return float(of(finite)) if finite.size else float("nan")


class _Columns:
    """Ranges of columns, and entries that are no numbers.

    Parameters
    ----------
    n_features : int
    """

    def __init__(self, n_features: int) -> None:
        self.low = np.full(n_features, np.nan)
        self.high = np.full(n_features, np.nan)
        self.n_missing = self.n_infinite = 0

    def add(self, block: Any) -> None:
        """Take rows into account."""
        values = block.data if sparse.issparse(block) else block
        missing, infinite = np.isnan(values), np.isinf(values)
        self.n_missing += int(missing.sum())
        self.n_infinite += int(infinite.sum())
        if infinite.any():  # a range is one of finite numbers
            block = block.copy()
            (block.data if sparse.issparse(block) else block)[infinite] = np.nan
        if sparse.issparse(block):
            low, high = min_max_axis(block, axis=0, ignore_nan=True)
        else:
            low, high = np.fmin.reduce(block, axis=0), np.fmax.reduce(block, axis=0)
        self.low, self.high = np.fmin(self.low, low), np.fmax(self.high, high)

    def widths(self) -> np.ndarray:
        """High less low of each column; NaN of those without a finite entry."""
        return np.asarray(self.high - self.low)

    def unevenness(self) -> float:
        """Width of the widest column divided by that of the narrowest, constant ones left out."""
        widths = self.widths()
        wide = widths[widths > 0]
        return float(wide.max() / wide.min()) if wide.size else 1.0


@dataclass
class _Rows:
    """Rows seen so far, each known by a digest, and what they are labelled."""

    labels: dict[bytes, Any] = field(default_factory=dict)
    sizes: dict[bytes, int] = field(default_factory=dict)
    conflicting: set[bytes] = field(default_factory=set)
    n_duplicates: int = 0

    def add(self, block: Any, labels: list[Any] | None) -> None:
        """Take rows into account."""
        for place, digest in enumerate(_digests(block)):
            label = None if labels is None else labels[place]
            first = self.labels.setdefault(digest, label)
            self.sizes[digest] = size = self.sizes.get(digest, 0) + 1
            self.n_duplicates += size > 1
            if first != label:
                self.conflicting.add(digest)

    def n_conflicts(self) -> int:
        """Rows whose features have more than one label."""
        return sum(self.sizes[digest] for digest in self.conflicting)


def _digests(block: Any) -> list[bytes]:
    """A digest of each row, the same for the same numbers."""
    if sparse.issparse(block):
        ends = block.indptr.tolist()
        return [
            _digest(block.indices[begin:end].tobytes() + block.data[begin:end].tobytes())
            for begin, end in pairwise(ends)
        ]
    return [_digest((row + 0.0).tobytes()) for row in block]  # no -0.0


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
