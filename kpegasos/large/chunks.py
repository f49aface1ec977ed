"""Training on more data than fits in memory: Pegasos that visits chunk after chunk.

The iterates are those of one Pegasos run, as of `kpegasos.solvers.online`; only the order of its
draws is special. An epoch visits all chunks, those of a sequence in a new random order. By default
the examples of a chunk are drawn without replacement, in a new random order too. So every example
is drawn once an epoch, but not every order of examples can occur: neighbouring rows stay in the
same chunk. Data sorted by class must be shuffled before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from kpegasos.core.draws import MOST_DRAWS, IndexStream
from kpegasos.estimators import LinearPegasosSVC, LinearPegasosSVR
from kpegasos.fitting.inputs import Settings, settings_of
from kpegasos.fitting.streams import OnlineClassifier, OnlineModel, OnlineRegressor
from kpegasos.utils.threads import turn
from kpegasos.utils.validation import as_integer, as_number, canonical_rows, shown

#: ``(X, y)`` or ``(X, y, sample_weight)``.
Chunk = tuple[Any, ...]
LinearEstimator = TypeVar("LinearEstimator", LinearPegasosSVC, LinearPegasosSVR)
Chunks = Sequence[Chunk] | Iterable[Chunk] | Callable[[], Iterable[Chunk]]


class ArrayChunks(Sequence[Chunk]):
    """Rows of arrays as a sequence of chunks; arrays may be mapped into memory from files.

    A chunk of a `numpy.memmap`, or of a CSR matrix of such arrays, is a copy.

    Parameters
    ----------
    X : ndarray, memmap or CSR matrix of shape (n_samples, n_features)
        Or whatever has a shape and returns an array when its rows are sliced, such as a dataset in
        an HDF5 file. Lists become arrays; other sparse matrices become CSR.
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
        """Return a chunk: ``(X, y)``, or ``(X, y, sample_weight)`` if there are weights."""
        begin = range(0, self.X.shape[0], self.chunk_size)[index]
        rows = slice(begin, begin + self.chunk_size)
        X = self.X[rows]
        if isinstance(X, np.memmap):
            X = np.array(X)  # read in the order of the file, and not in that of the draws
        rest = (self.y,) if self.sample_weight is None else (self.y, self.sample_weight)
        return (X, *(np.array(part[rows]) for part in rest))


def _check_row_starts(X: Any) -> None:
    """Check where rows of a CSR matrix begin: SciPy slices them without a check."""
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
    """Return what has a shape unchanged, anything else as an array."""
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
    the count of every example, and an objective one more pass. Held-out examples show its quality.
    ``n_steps``, ``polish``, ``tol``, ``max_time``, ``checkpoints``, ``n_jobs``, ``verbose``,
    ``warm_start`` and callbacks have no effect. As with ``partial_fit``, weights are not scaled to
    mean one, and with an intercept the weighted mean of the first chunk is subtracted from the
    targets of a regression.

    Parameters
    ----------
    estimator : LinearPegasosSVC or LinearPegasosSVR
        Fitted in place, from the beginning; ``partial_fit`` goes on from there. It needs ``lam``:
        ``C`` counts all weights, ``lam = 1 / (C · Σ weights)`` of each pair.
    chunks : sequence, iterable or callable
        Of ``(X, y)`` or ``(X, y, sample_weight)``: a sequence such as `ArrayChunks`, an iterable
        that can be read again, or a function without arguments that returns an iterator. An
        iterator serves one epoch. Chunks without examples, or with weights that are all zero, are
        passed over. Parts of a file are such chunks, as scikit-learn's ``load_svmlight_file`` reads
        them by ``offset`` and ``length``.
    epochs : int, default=None
        Visits of each chunk; those of the estimator if None.
    classes : array-like of shape (n_classes,), default=None
        All classes; a classifier needs them.

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
    >>> fit_chunks(model, ArrayChunks(X, y, chunk_size=1000), classes=[-1, 1]).score(X, y) > 0.9
    True
    """
    settings = settings_of_stream(estimator)
    n_epochs = _whole_epochs(settings.epochs if epochs is None else epochs)
    if isinstance(chunks, Iterator) and n_epochs > 1:
        raise ValueError(f"epochs must be 1 for an iterator, which ends, got {n_epochs} instead")
    online = _begun(estimator, classes)
    n_examples = 0
    for epoch in range(n_epochs):
        expected, n_examples = n_examples, 0
        for X, y, sample_weight in map(_parts_of, _visits(chunks, online.seed, epoch)):
            n_rows = column_or_1d(y).size
            n_examples += n_rows
            if n_rows and (sample_weight is None or np.any(sample_weight)):
                with turn(estimator, "estimator"):
                    online.fit_chunk(estimator, X, y, sample_weight)
        if epoch and n_examples != expected:
            raise ValueError(
                f"chunks must be the same each time they are read, got {expected} examples first "
                f"and {n_examples} in epoch {epoch + 1}"
            )
        if n_examples == 0:
            raise ValueError("chunks must hold examples, got none")
    if not online.streams:
        raise ValueError("sample_weight must have a positive entry, got zeros only instead")
    return estimator


def settings_of_stream(estimator: Any) -> Settings:
    """Check that an estimator can be trained on data in parts, and return its settings.

    Raises
    ------
    TypeError
        If it is no linear estimator.
    ValueError
        If a parameter is invalid, or ``lam`` is None.
    """
    if not isinstance(estimator, LinearPegasosSVC | LinearPegasosSVR):
        raise TypeError(
            f"estimator must be a LinearPegasosSVC or a LinearPegasosSVR, "
            f"got {type(estimator).__name__} instead"
        )
    settings = settings_of(estimator)
    if settings.lam is None:
        raise ValueError(
            "lam must be a number for data in parts, as C counts the weights of all examples, "
            "1 / (C * n_examples), got None instead"
        )
    return settings


def _begun(estimator: Any, classes: Any) -> OnlineModel:
    """Return the stream of an estimator, before any example."""
    if isinstance(estimator, LinearPegasosSVR):
        if classes is not None:
            raise ValueError(f"classes must be None for a regressor, got {shown(classes)} instead")
        return OnlineRegressor(estimator)
    if classes is None:
        raise ValueError("classes must be given for a classifier, got None instead")
    return OnlineClassifier(estimator, classes)


def _parts_of(chunk: Any) -> tuple[Any, Any, Any]:
    """Return X, y and weights (or None) of a chunk."""
    if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3):
        raise ValueError(
            f"chunks must hold pairs (X, y) or triples (X, y, sample_weight), "
            f"got {type(chunk).__name__} instead; a single chunk is [(X, y)]"
        )
    X, y, *weight = chunk
    return X, y, weight[0] if weight else None


def _whole_epochs(epochs: Any) -> int:
    n_epochs = as_number("epochs", epochs, least=1, most=MOST_DRAWS)
    if not n_epochs.is_integer():
        raise ValueError(f"epochs must be a whole number for chunks, got {shown(epochs)} instead")
    return int(n_epochs)


def _opened(chunks: Any) -> Iterator[Chunk]:
    """Return the chunks in the order in which they come."""
    opened = chunks() if callable(chunks) else chunks
    if not isinstance(opened, Iterable) or sparse.issparse(opened):  # which fails as it is read
        raise TypeError(
            f"chunks must be a sequence, an iterable or a function without arguments that returns "
            f"one, got {type(opened).__name__} instead"
        )
    return iter(opened)


def _visits(chunks: Chunks, seed: int, epoch: int) -> Iterator[Chunk]:
    """Return the chunks of one epoch, each read when its turn has come."""
    if isinstance(chunks, Sequence):
        # The key is (epoch,); keys of the draws within a chunk are longer.
        for index in IndexStream(len(chunks), "permutation", seed).epoch(epoch):
            yield chunks[int(index)]
    else:
        yield from _opened(chunks)
