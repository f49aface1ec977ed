"""Training on more data than fits in memory: Pegasos that visits chunk after chunk.

The iterates are those of one Pegasos run, as of `kpegasos.solvers.online`; only the order of its
draws is special. An epoch visits all chunks, in an order drawn anew; within a chunk the examples
are drawn without replacement, in an order drawn anew too. So every example is drawn once an epoch,
but not every order of examples can occur: rows that lie side by side stay in the same chunk. Data
sorted by class must be shuffled where they lie.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_consistent_length

from kpegasos.core.draws import MOST_DRAWS, IndexStream
from kpegasos.estimators import LinearPegasosSVC
from kpegasos.estimators._one_vs_one import class_weights
from kpegasos.estimators._online import OnlineClassifier
from kpegasos.estimators._settings import settings_of
from kpegasos.estimators._sklearn_compat import validate_parameters
from kpegasos.utils.validation import as_integer, as_number, shown

#: ``(X, y)`` or ``(X, y, sample_weight)``.
Chunk = tuple[Any, ...]
Chunks = Sequence[Chunk] | Iterable[Chunk] | Callable[[], Iterable[Chunk]]


class ArrayChunks(Sequence[Chunk]):
    """Rows of arrays as a sequence of chunks, which may be mapped into memory from files.

    Of a `numpy.memmap`, or a CSR matrix whose arrays are such, a chunk is a copy, and the pages of
    the file that it came from are given back when it has been made.

    Parameters
    ----------
    X : ndarray, memmap or CSR matrix of shape (n_samples, n_features)
        Or whatever gives an array when its rows are sliced, such as a dataset in an HDF5 file.
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), default=None
    chunk_size : int, default=65_536
        Rows of a chunk; the last has what is left.

    Raises
    ------
    ValueError
        If the lengths differ, or ``chunk_size`` is less than 1.
    """

    def __init__(
        self, X: Any, y: Any, sample_weight: Any = None, *, chunk_size: int = 65_536
    ) -> None:
        check_consistent_length(X, y, sample_weight)
        chunk_size = as_integer("chunk_size", chunk_size, least=1)
        self.X = X
        self.y = y
        self.sample_weight = sample_weight
        self.chunk_size = chunk_size

    def __len__(self) -> int:
        return -(-int(self.X.shape[0]) // self.chunk_size)

    def __getitem__(self, number: Any) -> Any:
        """Chunk ``number``: ``(X, y)``, or ``(X, y, sample_weight)`` where there are weights.

        A slice gives the list of its chunks, all of which are in memory then.
        """
        if isinstance(number, slice):
            return [self[chunk] for chunk in range(*number.indices(len(self)))]
        begin = range(0, self.X.shape[0], self.chunk_size)[number]
        rows = slice(begin, begin + self.chunk_size)
        X = self.X[rows]
        arrays = (self.X.data, self.X.indices) if sparse.issparse(self.X) else (self.X,)
        if _maps(X) is not None:
            X = np.array(X)
        for array in arrays:
            _give_back(array)
        return (X, *self._rest(rows))

    def targets(self) -> Iterator[Chunk]:
        """The chunks without their X, which is not read: ``(None, y)`` and weights if any."""
        for begin in range(0, self.X.shape[0], self.chunk_size):
            yield (None, *self._rest(slice(begin, begin + self.chunk_size)))

    def _rest(self, rows: slice) -> tuple[Any, ...]:
        rest = [self.y] if self.sample_weight is None else [self.y, self.sample_weight]
        copies = tuple(np.array(part[rows]) for part in rest)
        for part in rest:
            _give_back(part)
        return copies


def _maps(array: Any) -> np.memmap | None:
    """The mapped file whose pages an array shows, if it does."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array


def _give_back(array: Any) -> None:
    """Let go of the pages of a mapped file, which are read again when they are asked for."""
    mapped = _maps(array)
    # Pages of a private mapping ("c") may have been written to, and would be lost.
    if mapped is not None and mapped.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
        mapped._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]


class Totals(NamedTuple):
    """What the problem of a fit depends on beside the rows: examples and weights of each class.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    counts : ndarray of shape (n_classes,)
        Examples of positive weight.
    weights : ndarray of shape (n_classes,)
        Sum of the weights, without ``class_weight``.
    """

    classes: np.ndarray
    counts: np.ndarray
    weights: np.ndarray


def totals_of(y: Any, sample_weight: Any = None) -> Totals:
    """Totals of one chunk."""
    y = np.asarray(y)
    weight = np.ones(y.shape) if sample_weight is None else np.asarray(sample_weight, np.float64)
    classes, labels = np.unique(y, return_inverse=True)
    return Totals(
        classes,
        np.bincount(labels, weight > 0, minlength=classes.size),
        np.bincount(labels, weight, minlength=classes.size),
    )


def add_totals(parts: Iterable[Totals]) -> Totals:
    """Totals of all chunks together."""
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    if not columns or columns[0].size == 0:
        raise ValueError("chunks must hold examples, got none")
    classes, labels = np.unique(columns[0], return_inverse=True)
    return Totals(classes, *(np.bincount(labels, column) for column in columns[1:]))


def pair_lams(estimator: LinearPegasosSVC, totals: Totals) -> np.ndarray:
    """The ``lam`` of each pair with which raw weights make the iterates of `fit`.

    `fit` scales the weights of a pair to mean one. With weights as they are the same iterates
    belong to ``lam`` times their mean, since step and margin test are linear in both.
    """
    if not totals.weights.all():
        raise ValueError(
            f"sample_weight must be positive somewhere in every class, got zeros only for "
            f"{totals.classes[totals.weights == 0].tolist()} instead"
        )
    weights = totals.weights * class_weights(estimator.class_weight, totals.classes, totals.classes)
    settings = settings_of(estimator)
    lams = []
    for i, j in combinations(range(totals.classes.size), 2):
        weight, count = weights[i] + weights[j], totals.counts[i] + totals.counts[j]
        lam = settings.lam if settings.lam is not None else 1.0 / (settings.C * weight)
        lams.append(lam * weight / count)
    return np.array(lams)


def fit_chunks(
    estimator: LinearPegasosSVC,
    chunks: Chunks,
    *,
    epochs: float | None = None,
    classes: Any = None,
) -> LinearPegasosSVC:
    """Train a linear estimator on chunks, one of which is in memory at a time.

    The iterates are those of Pegasos whose draws come chunk by chunk: in each epoch every chunk is
    visited once, and a visit draws as many examples as the chunk has (in whole mini-batches), by
    the estimator's ``sampling``: each once, or independently of each other. A sequence of chunks
    is visited in a new random order each epoch, anything else in the order in which it comes.

    The model is the estimator's average of the iterates. It has no certificate: a dual bound needs
    the count of every example, and an objective one more pass. Held-out examples tell how good it
    is. ``polish``, ``tol``, ``max_time``, ``checkpoints``, ``warm_start`` and callbacks have no
    effect.

    Parameters
    ----------
    estimator : LinearPegasosSVC
        Fitted in place, from the beginning; ``partial_fit`` goes on from there.
    chunks : sequence, iterable or callable
        Of ``(X, y)`` or ``(X, y, sample_weight)``: a sequence such as `ArrayChunks` or
        `kpegasos.datasets.SvmlightChunks`, an iterable that can be read again, or a function
        without arguments that returns an iterator. An iterator serves one epoch.
    epochs : int, default=None
        Visits of each chunk; those of the estimator if None.
    classes : array-like of shape (n_classes,), default=None
        All classes; if these or ``lam`` are not given, the chunks are read once beforehand, to find
        classes and weights (of `ArrayChunks`, the labels only). If both are given they are not, and
        weights are taken as they are, not scaled to mean one.

    Returns
    -------
    estimator : LinearPegasosSVC

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came. An error in the middle, and Ctrl-C,
        leave the model of the chunks seen so far.

    References
    ----------
    Shalev-Shwartz, Singer, Srebro: Pegasos (ICML 2007), Fig. 1, whose rate is for independent
    draws; permutations of blocks are the custom where data are on disk.

    Examples
    --------
    >>> import numpy as np
    >>> from kpegasos import ArrayChunks, LinearPegasosSVC, fit_chunks
    >>> from kpegasos.datasets import make_text_like
    >>> X, y = make_text_like(3000, 500, 0.05, random_state=0)
    >>> model = LinearPegasosSVC(lam=1e-3, epochs=3, random_state=0)
    >>> fit_chunks(model, ArrayChunks(X, y, chunk_size=1000)).score(X, y) > 0.9
    True
    """
    validate_parameters(estimator)
    n_epochs = _whole_epochs(estimator.epochs if epochs is None else epochs)
    once = isinstance(chunks, Iterator)
    if once and n_epochs > 1:
        raise ValueError(f"epochs must be 1 for an iterator, which ends, got {n_epochs} instead")
    lams = None
    if classes is None or estimator.lam is None:
        if once:
            raise ValueError(
                "chunks must be such that they can be read again where classes or lam are not "
                "given, got an iterator instead"
            )
        classes, lams = _classes_and_lams(estimator, chunks, classes)
    online = OnlineClassifier.new(estimator, classes, lams=lams)
    for epoch in range(n_epochs):
        for X, y, *weight in _visits(chunks, online.seed, epoch):
            if X.shape[0] > 0:
                online.fit_chunk(estimator, X, y, weight[0] if weight else None)
    if not online.streams:
        raise ValueError("chunks must hold examples, got none")
    return estimator


def _classes_and_lams(
    estimator: LinearPegasosSVC, chunks: Chunks, classes: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Classes of the chunks, and the ``lam`` of each pair, from one look at all labels."""
    totals = _survey(chunks)
    if classes is not None and not np.array_equal(np.unique(classes), totals.classes):
        raise ValueError(
            f"classes must be those of the chunks, {totals.classes.tolist()}, "
            f"got {np.unique(classes).tolist()} instead"
        )
    return totals.classes, pair_lams(estimator, totals)


def _whole_epochs(epochs: Any) -> int:
    number = math.nan
    with suppress(ValueError):
        number = as_number("epochs", epochs, least=1, most=MOST_DRAWS)
    if not number.is_integer():
        raise ValueError(
            f"epochs must be a positive whole number for chunks, got {shown(epochs)} instead"
        )
    return int(number)


def _survey(chunks: Chunks) -> Totals:
    if isinstance(chunks, ArrayChunks):
        return add_totals(totals_of(*targets) for _, *targets in chunks.targets())
    opened = chunks() if callable(chunks) else chunks
    return add_totals(totals_of(*targets) for _, *targets in opened)


def _visits(chunks: Chunks, seed: int, epoch: int) -> Iterator[Chunk]:
    """The chunks of one epoch, each read when its turn has come."""
    if isinstance(chunks, Sequence):
        # Keys of (epoch,) alone; those of the draws within a chunk are longer.
        for number in IndexStream(len(chunks), "permutation", seed).epoch(epoch):
            yield chunks[int(number)]
    else:
        yield from chunks() if callable(chunks) else chunks
