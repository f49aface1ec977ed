"""Costly kernels: every pair of objects is evaluated once, whoever asks for it.

Where a value takes a millisecond or a second, as for graphs, strings, time series and quantum
circuits, only the number of values counts. `PairwiseKernel` takes a function of two objects, keeps
what it returns by pair, and evaluates what is missing one object against some others at a time, on
joblib's engines. Solvers see objects as places: rows of one number, between which `PlacedKernel` is
a kernel like any other. Which rows are asked for is decided by `kpegasos.rows`.

Objects are identified by their contents. A fit holds them while it lasts, and its model holds
copies of the support. After a fit the kernel has the values, and what ``prepare`` made.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import joblib
import numpy as np
from scipy import sparse

from kpegasos.kernels.base import real_values
from kpegasos.utils import tuning
from kpegasos.utils.patience import count, heed, room
from kpegasos.utils.threads import lock_of
from kpegasos.utils.validation import as_flag, as_jobs, as_number, as_objects, optional, shown

#: Seconds of a part of the work, after which a run may stop, and seconds from which on several jobs
#: share it: to hand it out takes some 15 ms.
_PART, _PAYS = 0.2, 0.05
#: Values that are asked for the other way round, to see whether a function is symmetric, and the
#: relative difference that rounding within it explains.
_PROBES, _DOUBT = 6, 1e-4


def copied(each: Any, how: Callable[[Any], Any] = deepcopy) -> Any:
    """Return a copy of an object, or what else ``how`` makes of its contents.

    Raises
    ------
    ValueError
        If ``how`` fails.
    """
    try:
        return how(each)
    except Exception as error:
        raise ValueError(
            f"X must hold objects that can be copied and told apart, as all that can be pickled "
            f"can, got {shown(each)} instead"
        ) from error


# --- asking a function ----------------------------------------------------------------------------


def _value_of(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function of a user's own returns.

    Raises
    ------
    ValueError
        For StopIteration, which loops around the call would take for their end.
    """
    try:
        return function(*arguments)
    except StopIteration as error:
        raise ValueError(f"{name} must return a value, got StopIteration instead") from error


def _together(objects: Sequence[Any]) -> Any:
    """Return sparse rows or vectors of one length as a matrix, anything else as a list."""
    if sparse.issparse(objects[0]):
        return sparse.vstack(objects, format="csr")
    vectors = all(isinstance(each, np.ndarray) and each.ndim == 1 for each in objects)
    if vectors and len({each.size for each in objects}) == 1:
        return np.stack(objects)
    return list(objects)


def _row(
    function: Callable[[Any, Any], Any], blocks: bool, one: Any, others: Sequence[Any]
) -> tuple[np.ndarray, float]:
    """Return values of one object against others, and the seconds that each took."""
    begin = time.perf_counter()
    if blocks:
        values = _value_of("function", function, _together([one]), _together(others))
    else:
        values = [[_value_of("function", function, one, other) for other in others]]
    seconds = (time.perf_counter() - begin) / len(others)
    return _numbers("kernel", values, (1, len(others)))[0], max(seconds, 1e-9)


def _numbers(name: str, returned: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return what a function has returned, if it is an array of a shape.

    Raises
    ------
    ValueError
        If it is another, or holds anything but finite real numbers.
    """
    values = real_values(returned, name=name)
    if values.shape != shape:
        raise ValueError(
            f"{name} must return one number for each, as an array of shape {shape}, got shape "
            f"{values.shape} instead"
        )
    return values


# --- what is kept ---------------------------------------------------------------------------------


class _Pairs:
    """What is known of objects by their indices, and of pairs of them.

    The row of an object has its values with the objects of that time, NaN where they are unknown. A
    value is in the row of either object; where memory is short the oldest rows go.

    Attributes
    ----------
    indices : dict of str to int
        Of each object, by a digest of its contents.
    prepared : dict of int to object
    diagonal : dict of int to float
        ``k(x, x)``.
    """

    evaluations, seconds_each, is_probed = 0, 0.0, False

    def __init__(self, most_bytes: float = 0.0) -> None:
        self._most_bytes = most_bytes
        self.indices: dict[str, int] = {}
        self.prepared: dict[int, Any] = {}
        self.diagonal: dict[int, float] = {}
        self.rows: dict[int, np.ndarray] = {}

    def row(self, one: int) -> np.ndarray:
        """Return the values of an object with all others."""
        row = np.full(len(self.indices), np.nan)
        for other, values in self.rows.items():
            if one < values.size:
                row[other] = values[one]
        kept = self.rows.get(one, row[:0])
        np.copyto(row[: kept.size], kept, where=~np.isnan(kept))
        row[one] = self.diagonal.get(one, np.nan)
        return row

    def keep(self, one: int, others: np.ndarray, values: np.ndarray) -> None:
        """Keep values of an object with others."""
        row = self.row(one)
        row[others] = values
        self.rows.pop(one, None)
        while self.rows and row.nbytes * (len(self.rows) + 1) > self._most_bytes:
            del self.rows[next(iter(self.rows))]
        self.rows[one] = row


# --- the kernel -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairwiseKernel:
    """A kernel of objects whose values are costly: each pair is evaluated once, and kept.

    X may then be any sequence: strings, graphs, arrays of different lengths. Copies of the kernel,
    such as ``clone`` makes, share the values; a pickled one leaves them behind. They are freed with
    the kernel, or by `clear`. Objects may change after a fit: a model has copies of its support.

    Parameters
    ----------
    function : callable
        ``function(a, b) -> float``, symmetric; with ``blocks``, ``function(A, B) -> (n_a, n_b)`` of
        two sequences, of which A has one object. Vectors of one length come as a matrix.
    blocks : bool, default=False
    prepare : callable, default=None
        ``prepare(x)`` is called once for each object that has been fitted, and whenever another is
        predicted, on a copy; the function sees what it returns.
    diagonal : float or callable, default=None
        ``k(x, x)``, where it is known: one number for all objects, such as 1.0 for a normalised
        kernel, or ``diagonal(X) -> (n,)`` of prepared ones. If None, the function is asked.
    positive_definite : bool, default=True
        Whether the kernel is positive semi-definite, so that gaps are certificates. False for
        values that are noisy, too: they are then not asked for both ways round.
    n_jobs : int, default=None
        Jobs of joblib that evaluate at the same time; ``joblib.parallel_config`` chooses the
        engine: processes, threads, a Dask cluster. A function for processes has to be pickled.
    cache_mb : float, default=1024
        MiB for the values that are kept.

    Raises
    ------
    ValueError
        If a parameter is not valid.

    Examples
    --------
    >>> from kpegasos import PairwiseKernel, PegasosSVC
    >>> kernel = PairwiseKernel(lambda a, b: float(len(set(a) & set(b))))
    >>> words, y = ["sun", "moon", "soon", "tax", "axe", "taxi"], [0, 0, 0, 1, 1, 1]
    >>> clf = PegasosSVC(kernel=kernel, random_state=0).fit(words, y)
    >>> clf.predict(["noon", "exact"]).tolist(), kernel.evaluations <= 6 * 7 // 2 + 12 + 6
    ([0, 1], True)
    """

    requires_vector_input: ClassVar[bool] = False

    function: Callable[[Any, Any], Any]
    _: KW_ONLY
    blocks: bool = False
    prepare: Callable[[Any], Any] | None = None
    diagonal: Any = None
    positive_definite: bool = True
    n_jobs: int | None = None
    cache_mb: float = 1024.0
    _pairs: _Pairs = field(default_factory=_Pairs, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("function", "prepare"):
            function = getattr(self, name)
            if not (callable(function) or (function is None and name == "prepare")):
                raise ValueError(f"{name} must be a function, got {shown(function)} instead")
        as_flag("blocks", self.blocks)
        as_flag("positive_definite", self.positive_definite)
        optional(as_jobs, "n_jobs", self.n_jobs)
        as_number("cache_mb", self.cache_mb, positive=True)
        if not (self.diagonal is None or callable(self.diagonal)):
            as_number("diagonal", self.diagonal, least=0.0)
        self.clear()

    def __deepcopy__(self, memo: Any) -> PairwiseKernel:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_pairs"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _pairs=_Pairs())
        self.__post_init__()

    @property
    def evaluations(self) -> int:
        """Values that the function has been asked for so far."""
        return self._pairs.evaluations

    def clear(self) -> None:
        """Forget all values, and what ``prepare`` made."""
        with lock_of(self):
            before, kept = self._pairs, _Pairs(float(self.cache_mb) * tuning.MEBIBYTE)
            kept.evaluations, kept.seconds_each = before.evaluations, before.seconds_each
            # Existing fits and models identify objects by the indices of before.
            vars(self)["_pairs"] = kept
            for each in (before.prepared, before.diagonal, before.rows):
                each.clear()

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Return values of all objects of A against all of B, of shape (n_a, n_b).

        Those between objects that have been fitted are kept, those of others are not.
        """
        left, right = (PlacedKernel(self, part, is_fitted=False) for part in (A, B))
        return left.between(left.places, right, right.places)

    def diag(self, A: Any) -> np.ndarray:
        """``k(a, a)`` of each object, float64 of shape (n_a,)."""
        objects = PlacedKernel(self, A, is_fitted=False)
        return objects.diag(objects.places)

    def write_row(self, one: Any, others: list[Any], out: np.ndarray) -> None:
        """Ask for values of one prepared object against others, and write them as they come."""
        kept, begin = self._pairs, 0
        while begin < len(others):
            heed()
            size = min(len(others) - begin, max(1, room()))
            pays = size * kept.seconds_each > _PAYS
            n_jobs = joblib.effective_n_jobs(self.n_jobs) if pays else 1
            # One value tells how long the others take.
            each = max(1, int(_PART / kept.seconds_each)) if kept.seconds_each else 1
            each = min(each, -(-size // n_jobs))
            ends = range(begin, begin + size, each) if n_jobs > 1 else (begin,)
            parts = [others[k : min(k + each, begin + size)] for k in ends]
            for values, kept.seconds_each in self._rows(one, parts):
                out[begin : begin + values.size] = values
                begin += values.size
                self._pairs.evaluations += values.size  # `clear` may have replaced it
                count(values.size)
                heed()

    def _rows(self, one: Any, parts: list[list[Any]]) -> Iterator[tuple[np.ndarray, float]]:
        """Ask for values against parts of some objects; several parts go to joblib."""
        calls = [joblib.delayed(_row)(self.function, self.blocks, one, part) for part in parts]
        jobs = joblib.Parallel(n_jobs=self.n_jobs, return_as="generator")
        try:
            yield from jobs(calls) if len(calls) > 1 else [_row(*calls[0][1])]
        except pickle.PicklingError as error:
            raise ValueError(
                f"function must be one that can be pickled for jobs in other processes, got "
                f"{shown(self.function)} instead; joblib.parallel_config('threading') takes any"
            ) from error


class PlacedKernel:
    """A `PairwiseKernel` between some objects, each of which is a place: a row of one number.

    Parameters
    ----------
    kernel : PairwiseKernel
    X : sequence of objects
    is_fitted : bool, default=True
        Whether values of the objects are kept; else only of those that have been fitted.

    Attributes
    ----------
    places : ndarray of shape (n_objects, 1), float64
    """

    def __init__(self, kernel: PairwiseKernel, X: Any, *, is_fitted: bool = True) -> None:
        self.kernel, self._objects = kernel, as_objects(X)
        self.positive_definite, self._before = kernel.positive_definite, kernel.evaluations
        self.places = np.arange(self._objects.size, dtype=np.float64)[:, None]
        digests = [copied(each, joblib.hash) for each in self._objects]
        with lock_of(kernel):
            self._pairs, self._strange = kernel._pairs, _Pairs()
            self._indices = np.array([self._index(digest, is_fitted) for digest in digests])

    def _index(self, digest: str, is_fitted: bool) -> int:
        """Return the index of an object, which is negative if it has not been fitted."""
        fitted, others = self._pairs.indices, self._strange.indices
        if is_fitted or digest in fitted:
            return fitted.setdefault(digest, len(fitted))
        return -1 - others.setdefault(digest, len(others))

    @property
    def evaluations(self) -> int:
        """Values that the function has been asked for since these objects were placed."""
        return self.kernel.evaluations - self._before

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Return kernel values of shape (n_a, n_b)."""
        return self.between(A, self, B)

    def diag(self, A: Any) -> np.ndarray:
        """``k(a, a)`` of each place, float64 of shape (n_a,)."""
        with lock_of(self.kernel):
            return np.array([self._diagonal_value(int(at)) for (at,) in A.tolist()])

    def between(self, A: np.ndarray, other: PlacedKernel, B: np.ndarray) -> np.ndarray:
        """Return values of shape (n_a, n_b) between places A and places B of another one.

        Parameters
        ----------
        A : ndarray of shape (n_a, 1)
        other : PlacedKernel
            Of the same kernel.
        B : ndarray of shape (n_b, 1)
        """
        if len(A) > len(B):
            return other.between(B, self, A).T
        places, others = (rows[:, 0].astype(np.int64) for rows in (A, B))
        _, first, where = np.unique(self._indices[places], return_index=True, return_inverse=True)
        values = np.empty((first.size, others.size))
        # A kernel that was cleared between the two counts objects anew.
        shared = self._pairs is other._pairs and bool((other._indices[others] >= 0).any())
        for row, at in zip(values, places[first].tolist(), strict=True):
            is_kept = shared and bool(self._indices[at] >= 0)
            with lock_of(self.kernel) if is_kept else nullcontext():
                row[:] = self._row(at, other, others, is_kept)
        return values[where]

    def _row(self, at: int, other: PlacedKernel, others: np.ndarray, is_kept: bool) -> np.ndarray:
        """Return values of one object with others; those with fitted ones may be kept."""
        one, indices, kept = int(self._indices[at]), other._indices[others], self._pairs
        values = np.full(others.size, np.nan)
        if is_kept:
            if one in indices:
                self._diagonal_value(at)
            values[indices >= 0] = kept.row(one)[indices[indices >= 0]]
        unknown = np.flatnonzero(np.isnan(values))
        if unknown.size:
            missing, first, where = np.unique(
                indices[unknown], return_index=True, return_inverse=True
            )
            asked, new = others[unknown[first]].tolist(), np.full(missing.size, np.nan)
            try:
                self._ask(at, other, asked, new)
            finally:
                if is_kept:
                    kept.keep(one, missing[missing >= 0], new[missing >= 0])
            if is_kept and not kept.is_probed and new.size > 1:
                self._probe(at, other, asked, new)
            values[unknown] = new[where]
        return values

    def _probe(self, at: int, other: PlacedKernel, asked: list[int], new: np.ndarray) -> None:
        """Check some values by asking the other way round, and one of a given diagonal.

        Raises
        ------
        ValueError
            If the function is not symmetric, or has another diagonal.
        """
        if not self.positive_definite:
            return
        kept, scale = self._pairs, float(np.abs(new).max())
        try:
            for place, value in zip(asked[:_PROBES], new.tolist(), strict=False):
                back = other._value(place, self, at)
                if not abs(back - value) <= _DOUBT * scale:
                    raise ValueError(
                        f"kernel must be symmetric, got {value:.6g} and {back:.6g} for the same "
                        f"two objects; average f(a, b) and f(b, a), or set "
                        f"positive_definite=False if values are noisy"
                    )
            if self.kernel.diagonal is not None:
                value, stated = self._value(at, self, at), self._diagonal_value(at)
                if not abs(value - stated) <= _DOUBT * max(scale, abs(value)):
                    raise ValueError(
                        f"diagonal must be that of the function, {value:.6g} for the first "
                        f"object, got {stated:.6g} instead"
                    )
        except ValueError:
            kept.rows.clear()  # or the next fit would take them as they are
            raise
        kept.is_probed = True

    def _diagonal_value(self, at: int) -> float:
        """Return ``k(x, x)`` of one object."""
        index, diagonal = int(self._indices[at]), self.kernel.diagonal
        values = self._of(index).diagonal
        if index not in values:
            if diagonal is None:
                values[index] = self._value(at, self, at)
            elif callable(diagonal):
                returned = _value_of("diagonal", diagonal, _together([self._argument(at)]))
                values[index] = float(_numbers("diagonal", returned, (1,))[0])
            else:
                values[index] = float(diagonal)
        return values[index]

    def _value(self, at: int, other: PlacedKernel, place: int) -> float:
        """Ask the function for one value, whatever is known."""
        out = np.empty(1)
        self._ask(at, other, [place], out)
        return float(out[0])

    def _ask(self, at: int, other: PlacedKernel, places: list[int], out: np.ndarray) -> None:
        self.kernel.write_row(self._argument(at), [other._argument(each) for each in places], out)

    def _argument(self, at: int) -> Any:
        """Return what the function gets for an object."""
        prepare, index = self.kernel.prepare, int(self._indices[at])
        if prepare is None:
            return self._objects[at]
        prepared = self._of(index).prepared
        if index not in prepared:
            prepared[index] = _value_of("prepare", prepare, copied(self._objects[at]))
        return prepared[index]

    def _of(self, index: int) -> _Pairs:
        return self._pairs if index >= 0 else self._strange
