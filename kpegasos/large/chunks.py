"""Training on more data than fits in memory: Pegasos that visits chunk after chunk.

The iterates are those of one Pegasos run, as of `kpegasos.solvers.online`; only the order of its
draws is special. An epoch visits all chunks, in an order drawn anew; within a chunk the examples
are drawn without replacement, in an order drawn anew too. So every example is drawn once an epoch,
but not every order of examples can occur: rows that lie side by side stay in the same chunk. Data
sorted by class must be shuffled where they lie.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from kpegasos.core.draws import MOST_DRAWS, IndexStream
from kpegasos.estimators import LinearPegasosSVC, LinearPegasosSVR
from kpegasos.fitting.inputs import Settings, checked_weight, settings_of, validated_rows
from kpegasos.fitting.pairs import check_weight_range, class_weights
from kpegasos.fitting.streams import (
    OnlineClassifier,
    OnlineModel,
    OnlineRegressor,
    are_numbers,
    unique_classes,
)
from kpegasos.utils.threads import turn
from kpegasos.utils.validation import (
    as_integer,
    as_number,
    canonical_rows,
    check_labels,
    numbers_of,
    plain_labels,
    shown,
)

#: ``(X, y)`` or ``(X, y, sample_weight)``.
Chunk = tuple[Any, ...]
LinearEstimator = TypeVar("LinearEstimator", LinearPegasosSVC, LinearPegasosSVR)
Chunks = Sequence[Chunk] | Iterable[Chunk] | Callable[[], Iterable[Chunk]]


class ArrayChunks(Sequence[Chunk]):
    """Rows of arrays as a sequence of chunks, which may be mapped into memory from files.

    Of a `numpy.memmap`, or a CSR matrix whose arrays are such, a chunk is a copy.

    Parameters
    ----------
    X : ndarray, memmap or CSR matrix of shape (n_samples, n_features)
        Or whatever has a shape and gives an array when its rows are sliced, such as a dataset in an
        HDF5 file. Lists are made arrays; other sparse matrices, CSR.
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), default=None
    chunk_size : int, default=65_536
        Rows of a chunk; the last has what is left.

    Raises
    ------
    ValueError
        If the lengths differ, or ``chunk_size`` is not a positive integer.
    """

    def __init__(
        self, X: Any, y: Any, sample_weight: Any = None, *, chunk_size: int = 65_536
    ) -> None:
        self.chunk_size = as_integer("chunk_size", chunk_size, least=1)
        if sparse.issparse(X) and X.format != "csr":
            X = canonical_rows(X)
        self.X: Any = _with_rows("X", X)
        if sparse.issparse(X):
            _check_row_starts(X)
        self.y: Any = _with_rows("y", y)
        self.sample_weight: Any = sample_weight
        if sample_weight is not None:
            self.sample_weight = _with_rows("sample_weight", sample_weight)
        for name, array in {"y": self.y, "sample_weight": self.sample_weight}.items():
            if array is not None and array.shape[0] != self.X.shape[0]:
                raise ValueError(
                    f"{name} must have as many rows as X, {self.X.shape[0]}, "
                    f"got {array.shape[0]} instead"
                )

    def __len__(self) -> int:
        return -(-int(self.X.shape[0]) // self.chunk_size)

    def __getitem__(self, index: Any) -> Any:
        """Chunk ``index``: ``(X, y)``, or ``(X, y, sample_weight)`` where there are weights.

        A slice gives the list of its chunks, all of which are in memory then.
        """
        if isinstance(index, slice):
            return [self[chunk] for chunk in range(*index.indices(len(self)))]
        begin = range(0, self.X.shape[0], self.chunk_size)[index]
        rows = slice(begin, begin + self.chunk_size)
        X = self.X[rows]
        if isinstance(X, np.memmap):
            X = np.array(X)  # in the order of the file, and not in that of the draws
        return (X, *self._rest(rows))

    def targets(self) -> Iterator[Chunk]:
        """Yield the chunks without their X, which is not read: ``(None, y)`` and weights if any."""
        for begin in range(0, self.X.shape[0], self.chunk_size):
            yield (None, *self._rest(slice(begin, begin + self.chunk_size)))

    def _rest(self, rows: slice) -> tuple[Any, ...]:
        rest = [self.y] if self.sample_weight is None else [self.y, self.sample_weight]
        return tuple(np.array(part[rows]) for part in rest)


def _check_row_starts(X: Any) -> None:
    """Check where rows of a CSR matrix begin: SciPy cuts a chunk without a look at its indices."""
    starts = np.asarray(X.indptr)
    if (
        starts.shape != (X.shape[0] + 1,)
        or starts.dtype.kind not in "iu"
        or starts[0] != 0
        or (starts[1:] < starts[:-1]).any()
        or starts[-1] > min(X.indices.size, X.data.size)
    ):
        raise ValueError(
            "X must be a sparse matrix whose data, indices and shape agree, got others instead"
        )


def _with_rows(name: str, array: Any) -> Any:
    """Return what has a shape as it is, lists as arrays."""
    if not isinstance(getattr(array, "shape", None), tuple):
        try:
            array = np.asarray(array)
        except ValueError:  # ragged lists
            raise ValueError(f"{name} must have rows of equal length, got others") from None
    if len(array.shape) == 0:
        raise ValueError(f"{name} must be an array with rows, got {type(array).__name__} instead")
    return array


def fit_chunks(
    estimator: LinearEstimator,
    chunks: Chunks,
    *,
    epochs: float | None = None,
    classes: Any = None,
) -> LinearEstimator:
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
    estimator : LinearPegasosSVC or LinearPegasosSVR
        Fitted in place, from the beginning; ``partial_fit`` goes on from there.
    chunks : sequence, iterable or callable
        Of ``(X, y)`` or ``(X, y, sample_weight)``: a sequence such as `ArrayChunks`, an iterable
        that can be read again, or a function without arguments that returns an iterator. An
        iterator serves one epoch. Chunks without examples, or with weights that are all zero, are
        passed over. Parts of a file are such chunks, as scikit-learn's ``load_svmlight_file`` reads
        them by ``offset`` and ``length``.
    epochs : int, default=None
        Visits of each chunk; those of the estimator if None.
    classes : array-like of shape (n_classes,), default=None
        All classes; if these or ``lam`` are not given, the chunks are read once beforehand, to find
        classes and weights (of `ArrayChunks`, the labels only). If both are given they are not, and
        weights are taken as they are, not scaled to mean one. Without ``lam`` they must be the
        classes that are found: a class without examples is refused. None for a regressor, whose
        chunks are read once beforehand if ``lam`` is not given, to find weights and the weighted
        mean of the targets, which is taken off them if there is an intercept; else that is the mean
        of the first chunk.

    Returns
    -------
    estimator : LinearPegasosSVC or LinearPegasosSVR

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came. An error in the middle, and Ctrl-C,
        leave the model of the chunks seen so far.
    TypeError
        If ``estimator`` or ``chunks`` are something else.

    References
    ----------
    Shalev-Shwartz, Singer, Srebro: Pegasos (ICML 2007), Fig. 1, whose rate is for independent
    draws; permutations of blocks are the custom where data are on disk.

    Examples
    --------
    >>> import numpy as np
    >>> from kpegasos import LinearPegasosSVC
    >>> from kpegasos.large import ArrayChunks, fit_chunks
    >>> from kpegasos.datasets import make_text_like
    >>> X, y = make_text_like(3000, 500, 0.05, random_state=0)
    >>> model = LinearPegasosSVC(lam=1e-3, epochs=3, random_state=0)
    >>> fit_chunks(model, ArrayChunks(X, y, chunk_size=1000)).score(X, y) > 0.9
    True
    """
    settings = settings_of_stream(estimator)
    n_epochs = _whole_epochs(settings.epochs if epochs is None else epochs)
    once = isinstance(chunks, Iterator)
    if once and n_epochs > 1:
        raise ValueError(f"epochs must be 1 for an iterator, which ends, got {n_epochs} instead")
    online, expected = begin_without(estimator, classes), None
    if isinstance(online, str):
        if once:
            raise ValueError(
                f"chunks must be such that they can be read again where {online} not given, "
                f"got an iterator instead"
            )
        totals, expected = _survey(chunks, numbers=isinstance(estimator, LinearPegasosSVR))
        online = totals.begin(estimator, classes)
    for epoch in range(n_epochs):
        n_examples = 0
        for X, y, sample_weight in map(_parts_of, _visits(chunks, online.seed, epoch)):
            n_rows = column_or_1d(y).size
            n_examples += n_rows
            if n_rows and (sample_weight is None or np.any(sample_weight)):
                with turn(estimator, "estimator"):
                    online.fit_chunk(estimator, X, y, sample_weight)
            elif n_rows:
                validated_rows(copy.copy(estimator), X, y, reset=not online.streams)
        if expected is not None and n_examples != expected:
            raise ValueError(
                f"chunks must be the same each time they are read, got {expected} examples first "
                f"and {n_examples} in epoch {epoch + 1}"
            )
        if n_examples == 0:
            raise ValueError(f"chunks must hold examples, got none in epoch {epoch + 1}")
    if not online.streams:
        raise ValueError("sample_weight must have a positive entry, got zeros only instead")
    return estimator


def settings_of_stream(estimator: Any) -> Settings:
    """Check that an estimator can be trained online, and its parameters, and return these.

    Raises
    ------
    TypeError, ValueError
        If it cannot, or they are not.
    """
    if not isinstance(estimator, LinearPegasosSVC | LinearPegasosSVR):
        raise TypeError(
            f"estimator must be a LinearPegasosSVC or a LinearPegasosSVR, "
            f"got {type(estimator).__name__} instead"
        )
    return settings_of(estimator)


def _parts_of(chunk: Any) -> tuple[Any, Any, Any]:
    """X, y and weights (or None) of a chunk."""
    if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3):
        length = f" of {len(chunk)}" if isinstance(chunk, tuple | list) else ""
        raise ValueError(
            f"chunks must hold pairs (X, y) or triples (X, y, sample_weight), "
            f"got {type(chunk).__name__}{length} instead; a single chunk is [(X, y)]"
        )
    X, y, *weight = chunk
    return X, y, weight[0] if weight else None


def _whole_epochs(epochs: Any) -> int:
    n_epochs = as_number("epochs", epochs, least=1, most=MOST_DRAWS)
    if not n_epochs.is_integer():
        raise ValueError(f"epochs must be a whole number for chunks, got {shown(epochs)} instead")
    return int(n_epochs)


def _survey(chunks: Chunks, *, numbers: bool) -> tuple[Totals, int]:
    """Return totals of all chunks, and how many examples they have, of any weight."""
    read = chunks.targets() if isinstance(chunks, ArrayChunks) else _opened(chunks)
    parts, n_examples = [], 0
    for _, y, sample_weight in map(_parts_of, read):
        parts.append(Totals.of(y, sample_weight, numbers=numbers))
        n_examples += len(y)
    return Totals.sum(parts), n_examples


def _opened(chunks: Any) -> Iterator[Chunk]:
    """Return the chunks in the order in which they come."""
    got = type(chunks).__name__
    try:
        if callable(chunks):
            chunks = chunks()
            got = f"a function that returns {type(chunks).__name__}"
        if sparse.issparse(chunks):  # some of which begin to iterate, and then fail
            raise TypeError
        return iter(chunks)
    except TypeError as error:
        raise TypeError(
            f"chunks must be a sequence, an iterable or a function without arguments that returns "
            f"one, got {got} instead"
        ) from error


def _visits(chunks: Chunks, seed: int, epoch: int) -> Iterator[Chunk]:
    """Return the chunks of one epoch, each read when its turn has come."""
    if isinstance(chunks, Sequence):
        # Keys of (epoch,) alone; those of the draws within a chunk are longer.
        for index in IndexStream(len(chunks), "permutation", seed).epoch(epoch):
            yield chunks[int(index)]
    else:
        yield from _opened(chunks)


# --- totals: what is known of all data before the first step ---


class Totals(NamedTuple):
    """Facts on which the problems depend beside the rows.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        A zero of numbers.
    counts : ndarray of shape (n_classes,)
        Examples of positive weight.
    weights : ndarray of shape (n_classes,)
        Sum of the weights, without ``class_weight``.
    weighted : ndarray of shape (n_classes,)
        Sum of the numbers times their weights; 0 of labels.
    """

    classes: np.ndarray
    counts: np.ndarray
    weights: np.ndarray
    weighted: np.ndarray

    @classmethod
    def of(cls, y: Any, sample_weight: Any = None, *, numbers: bool) -> Totals:
        """Return totals of one chunk, whose targets are numbers or labels.

        Raises
        ------
        ValueError
            If its targets are neither, or its weights none.
        """
        y = numbers_of(y) if numbers else plain_labels(column_or_1d(y))
        if not numbers and y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("y must have finite labels or strings, got NaN or infinity")
        if not numbers and y.size and y.dtype.kind not in "biuSU":
            check_labels(y)
        weight = checked_weight(sample_weight, y) if y.size else np.zeros(0)
        check_weight_range(weight)
        if numbers:
            sums = [[np.count_nonzero(weight)], [weight.sum()], [weight @ y]]
            return cls(*(np.array(column[: y.size], dtype=float) for column in ([0.0], *sums)))
        classes, labels = np.unique(y, return_inverse=True)
        counts = np.bincount(labels, weight > 0, minlength=classes.size)
        weights = np.bincount(labels, weight, minlength=classes.size)
        return cls(classes, counts, weights, np.zeros(classes.size))

    @classmethod
    def sum(cls, parts: Iterable[Totals]) -> Totals:
        """Add totals of all chunks; classes of weight zero are absent, as they are to `fit`.

        Raises
        ------
        ValueError
            If nothing has weight, or kinds of labels differ.
        """
        parts = [part for part in parts if part.classes.size]
        if not parts:
            raise ValueError("chunks must hold examples, got none")
        if len({are_numbers(part.classes) for part in parts}) > 1:
            raise ValueError("y must be numbers in all chunks, or strings, got both")
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        classes, labels = np.unique(columns[0], return_inverse=True)
        sums = [np.bincount(labels, column) for column in columns[1:]]
        present = sums[0] > 0
        if not present.any():
            raise ValueError("sample_weight must have a positive entry, got zeros only instead")
        return cls(classes[present], *(column[present] for column in sums))

    def begin(self, estimator: Any, classes: Any = None) -> OnlineModel:
        """Return the stream of an estimator on all data, for weights as they are.

        Parameters
        ----------
        estimator : LinearPegasosSVC or LinearPegasosSVR
        classes : array-like of shape (n_classes,), default=None
            What the user takes for the classes.

        Raises
        ------
        ValueError
            If these are not the classes.
        """
        if isinstance(estimator, LinearPegasosSVR):
            mean = float(self.weighted[0] / self.weights[0])
            return OnlineRegressor(estimator, self.lams(estimator), mean)
        if classes is not None and not np.array_equal(unique_classes(classes), self.classes):
            raise ValueError(
                f"classes must be those of the chunks, {self.classes.tolist()}, "
                f"got {unique_classes(classes).tolist()} instead"
            )
        return OnlineClassifier(estimator, self.classes, self.lams(estimator))

    def lams(self, estimator: Any) -> np.ndarray:
        """Return the ``lam`` of each problem with which raw weights make the iterates of `fit`.

        `fit` scales weights to mean one. With weights as they are the same iterates belong to
        ``lam`` times their mean, since a step is linear in both, and the decisions that it tests
        are the same.
        """
        settings, weights = settings_of(estimator), self.weights
        if not isinstance(estimator, LinearPegasosSVR):
            with np.errstate(over="ignore", under="ignore"):
                weights = weights * class_weights(
                    estimator.class_weight, self.classes, self.classes
                )
            check_weight_range(weights / self.counts)
        weights, counts = self._by_problem(weights), self._by_problem(self.counts)
        lam = 1.0 / (settings.C * weights) if settings.lam is None else settings.lam
        return np.asarray(lam * weights / counts)

    def sizes(self, parts: Sequence[Totals]) -> np.ndarray:
        """Count the examples of weight of each problem in each part."""
        counts = np.zeros((self.classes.size, len(parts)))
        for k, part in enumerate(parts):
            present = np.isin(part.classes, self.classes)  # others have no weight anywhere
            rows = np.searchsorted(self.classes, part.classes[present])
            counts[rows, k] = part.counts[present]
        return self._by_problem(counts)

    def _by_problem(self, of_classes: np.ndarray) -> np.ndarray:
        """Return sums over the classes of each pair; what there is of numbers."""
        pairs = list(combinations(of_classes, 2))
        return np.array([one + other for one, other in pairs]) if pairs else of_classes


def begin_without(estimator: Any, classes: Any) -> OnlineModel | str:
    """Return the stream of an estimator that needs no totals, or what is missing in words."""
    if isinstance(estimator, LinearPegasosSVR):
        if classes is not None:
            raise ValueError(f"classes must be None for a regressor, got {shown(classes)} instead")
        return "lam is" if estimator.lam is None else OnlineRegressor(estimator)
    if classes is None or estimator.lam is None:
        return "classes or lam are"
    return OnlineClassifier(estimator, classes)
