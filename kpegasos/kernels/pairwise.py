"""Kernels that cost: every pair of objects is evaluated once, whoever asks for it.

Where a value takes a millisecond or a second, as those of graphs, strings, time series and quantum
circuits do, values are all that counts. `PairwiseKernel` takes a function of two objects, keeps
what it returns by pair, and evaluates what is missing one object against some others at a time, on
joblib's engines. Solvers see objects as places: rows of one number, between which `PlacedKernel` is
a kernel like any other. Which rows are asked for is decided by `kpegasos.rows`.
"""

from __future__ import annotations

import pickle
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from os import PathLike
from threading import RLock
from typing import Any, ClassVar, NamedTuple, TypeGuard
from zipfile import BadZipFile

import joblib
import numpy as np
from scipy import sparse

from kpegasos.kernels.base import (
    CallableKernel,
    Kernel,
    check_finite,
)
from kpegasos.utils import tuning
from kpegasos.utils.boundary import as_indices
from kpegasos.utils.patience import Pace, count, heed, room
from kpegasos.utils.validation import as_flag, as_number, shown

#: Seconds of a value from which on a function of rows is costly: several times what it takes to
#: keep one.
_COSTLY = 1e-5
#: Seconds of a piece of work, after which somebody may want it to end, and those from which on
#: several jobs share it: to hand it out takes some 15 ms.
_PIECE, _PAYS = 0.2, 0.05
#: Values that are asked for the other way round, to see whether a function is symmetric, and the
#: relative difference that rounding within it explains.
_PROBES, _DOUBT = 6, 1e-4
#: In the place of an object of which only values are known.
_ABSENT: Any = object()
_PARTS_OF_FILE = ("keys", "owners", "rows", "diagonal")


def as_objects(X: Any) -> np.ndarray:
    """Return a sequence of objects as an array of them, of shape (n_samples,).

    Raises
    ------
    ValueError
        If it is none, or empty.
    """
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1 and X.size:
        return X
    given = X.to_numpy() if hasattr(X, "to_numpy") else X
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype != object:
        given = given.tolist()  # numbers and strings as others have them
    try:
        is_sequence = hasattr(given, "__getitem__") and len(given) > 0
    except TypeError:  # a sparse matrix, for one
        is_sequence = False
    if isinstance(given, str | bytes | dict) or not is_sequence:
        raise ValueError(f"X must be a sequence of one object or more, got {shown(X)} instead")
    objects = np.empty(len(given), dtype=object)
    for place in range(objects.size):
        objects[place] = given[place]
    return objects


def _key(given: Any) -> str:
    """Return what tells an object from others, in this process or another.

    Raises
    ------
    ValueError
        If nothing does.
    """
    try:
        return str(joblib.hash(given))
    except Exception as error:
        raise ValueError(
            f"X must hold objects that can be told apart, as all that can be pickled can, got "
            f"{shown(given)} instead"
        ) from error


# --- asking a function ----------------------------------------------------------------------------


def _together(objects: Sequence[Any]) -> Any:
    """Return vectors of one length as a matrix, whatever else as a list."""
    first = objects[0]
    if sparse.issparse(first):
        return sparse.vstack(objects, format="csr")
    vectors = all(isinstance(each, np.ndarray) and each.ndim == 1 for each in objects)
    if vectors and len({each.size for each in objects}) == 1:
        return np.stack(objects)
    return list(objects)


def _told(diagonal: Any, objects: list[Any]) -> np.ndarray:
    """Return the diagonal of some objects as it is given."""
    told = diagonal(_together(objects)) if callable(diagonal) else diagonal
    values = np.array(np.broadcast_to(np.asarray(told, dtype=np.float64), len(objects)))
    check_finite(values)
    return values


class _Answer(NamedTuple):
    """Values of one object against some others, the seconds of each, and what ended them."""

    values: Any
    seconds: float
    error: Exception | None = None


def _ask(
    function: Callable[[Any, Any], Any], blocks: bool, one: Any, others: Sequence[Any]
) -> _Answer:
    """Return values of one object against others, as they come; those before an error, too."""
    begin = time.perf_counter()
    if blocks:
        values = np.asarray(function(_together([one]), _together(others)))
        values = values[0] if values.shape == (1, len(others)) else values[None]
        return _Answer(values, (time.perf_counter() - begin) / len(others))
    found: list[Any] = []
    error = None
    try:
        for other in others:
            found.append(function(one, other))
    except Exception as caught:
        error = caught
    return _Answer(np.asarray(found), (time.perf_counter() - begin) / len(others), error)


def _answers(kernel: PairwiseKernel, one: Any, parts: list[Any]) -> Iterator[_Answer]:
    """Return values of one object against others, part by part; several parts go to joblib."""
    calls = ((kernel.function, kernel.blocks, one, part) for part in parts)
    answers = (_ask(*call) for call in calls)
    if len(parts) > 1:
        jobs = joblib.Parallel(n_jobs=kernel.n_jobs, return_as="generator")
        answers = jobs(joblib.delayed(_ask)(*call) for call in calls)
    try:
        for part, answer in zip(parts, answers, strict=True):
            size = len(part) if answer.error is None else len(answer.values)
            yield answer._replace(values=_checked(answer.values, size))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if not any(word in str(error) for word in ("pickle", "serialize")):
            raise
        raise ValueError(
            f"function must be one that can be pickled for jobs in other processes, got "
            f"{shown(kernel.function)} instead; joblib.parallel_config('threading') takes any"
        ) from error


def _checked(values: np.ndarray, n_others: int) -> np.ndarray:
    """Return values in float64.

    Raises
    ------
    ValueError
        If they have the wrong shape, are not real or not finite.
    """
    if values.shape != (n_others,):
        raise ValueError(
            f"kernel must return a number for each pair, or with blocks an array of shape "
            f"(1, {n_others}) for one object and {n_others} others, got shape "
            f"{values.shape[1:]} instead"
        )
    if values.dtype.kind not in "fiub":
        raise ValueError(f"kernel must return real numbers, got dtype {values.dtype} instead")
    values = values.astype(np.float64)
    check_finite(values)
    return values


# --- what is known --------------------------------------------------------------------------------


class _Known:
    """Objects, and the kernel values between them that are known.

    A value of two objects is kept in the row of either. Rows begin when an object is asked for
    against others.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.numbers: dict[str, int] = {}
        self.objects: list[Any] = []
        self.evaluations, self.seconds_each = 0, 0.0
        self.is_probed = self.is_loaded = False
        self.most_bytes = np.inf
        self.slots = np.empty(0, dtype=np.int64)
        self.rows = np.empty((0, 0))
        self.diagonal = np.empty(0)
        self.n_rows = 0

    def add(self, keys: Sequence[str], objects: Callable[[int], Any]) -> np.ndarray:
        """Return numbers of some objects, new ones where they have none.

        An error or Ctrl-C in ``objects`` leaves no key without its object.
        """
        try:
            for place, key in enumerate(keys):
                if key not in self.numbers:
                    number = len(self.objects)
                    self.objects.append(objects(place))
                    self.numbers[key] = number
                elif self.objects[self.numbers[key]] is _ABSENT:
                    self.objects[self.numbers[key]] = objects(place)
        finally:
            self._widen()
        return np.array([self.numbers[key] for key in keys], dtype=np.int64)

    def _widen(self) -> None:
        """Have a place in rows and diagonal for every object."""
        more, width = len(self.objects) - self.slots.size, max(1, len(self.objects))
        if not more:
            return
        fit = int(self.most_bytes // (8 * width))
        if self.n_rows > fit:  # wider rows are fewer
            self.slots[self.slots >= fit] = -1
            self.n_rows = fit
        self.rows = self.rows[:fit]
        self.slots = np.pad(self.slots, (0, more), constant_values=-1)
        self.diagonal = np.pad(self.diagonal, (0, more), constant_values=np.nan)
        self.rows = np.pad(self.rows, ((0, 0), (0, more)), constant_values=np.nan)

    def forget(self) -> None:
        """Give up all values."""
        self.slots[:], self.diagonal[:] = -1, np.nan
        self.rows, self.n_rows, self.is_loaded = np.empty((0, self.slots.size)), 0, False

    def number(self, key: str) -> int:
        """Return the number of an object, -1 if it has none."""
        number = self.numbers.get(key, -1)
        return -1 if number < 0 or self.objects[number] is _ABSENT else number

    def begin_row(self, number: int) -> None:
        """Have a row for an object, if there is memory for it."""
        if self.slots[number] >= 0:
            return
        if self.n_rows == len(self.rows):
            width = self.slots.size
            height = int(min(max(16, 2 * self.n_rows), self.most_bytes // (8 * width), width))
            if height <= self.n_rows:
                return
            more = np.full((height - self.n_rows, width), np.nan)
            self.rows = np.concatenate((self.rows, more))
        self.slots[number], self.n_rows = self.n_rows, self.n_rows + 1

    def between(self, one: int, others: np.ndarray) -> np.ndarray:
        """Return values of an object against others, NaN where they are unknown."""
        slot = self.slots[one]
        values = self.rows[slot, others] if slot >= 0 else np.full(others.size, np.nan)
        missing = np.flatnonzero(np.isnan(values))
        opposite = self.slots[others[missing]]
        values[missing[opposite >= 0]] = self.rows[opposite[opposite >= 0], one]
        values[others == one] = self.diagonal[one]
        return values

    def keep(self, one: int, others: np.ndarray, values: np.ndarray) -> None:
        """Keep values of an object against others, where there is a row for them."""
        is_own = others == one
        self.diagonal[others[is_own]] = values[is_own]
        if self.slots[one] >= 0:
            self.rows[self.slots[one], others] = values
            return
        slots = self.slots[others]
        self.rows[slots[slots >= 0], one] = values[slots >= 0]

    def save(self, path: str | PathLike[str]) -> None:
        """Write keys, rows and the diagonal."""
        owners = np.empty(self.n_rows, dtype=np.int64)
        held = np.flatnonzero(self.slots >= 0)
        owners[self.slots[held]] = held
        np.savez_compressed(
            path,
            keys=np.array([*self.numbers], dtype="U"),
            owners=owners,
            rows=self.rows[: self.n_rows],
            diagonal=self.diagonal,
        )

    def load(self, path: str | PathLike[str]) -> None:
        """Take what `save` has written, beside what is known.

        Raises
        ------
        ValueError
            If it is no such file.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                keys, owners, rows, diagonal = map(file.get, _PARTS_OF_FILE)
            if rows.shape != (owners.size, keys.size) or diagonal.shape != keys.shape:
                raise ValueError("shapes do not agree")
            as_indices("owners", owners, keys.size)
        except (AttributeError, TypeError, ValueError, EOFError, BadZipFile, zlib.error) as error:
            raise ValueError(f"path must be a file of kernel values, got {path}: {error}") from None
        numbers = self.add(keys.tolist(), lambda place: _ABSENT)
        self.diagonal[numbers] = np.where(np.isnan(diagonal), self.diagonal[numbers], diagonal)
        for owner, values in zip(numbers[owners].tolist(), rows, strict=True):
            there = np.flatnonzero(~np.isnan(values))
            self.begin_row(owner)
            self.keep(owner, numbers[there], values[there])
        self.is_loaded = True


# --- the kernel -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairwiseKernel:
    """A kernel of objects whose values are costly: each pair is evaluated once, and kept.

    X may then be any sequence: strings, graphs, arrays of different lengths. Copies of the kernel,
    such as ``clone`` makes, share the values; a pickled one leaves them behind, see `save`.

    Parameters
    ----------
    function : callable
        ``function(a, b) -> float``, symmetric; with ``blocks``, ``function(A, B) -> (n_a, n_b)`` of
        two sequences, of which A has one object. Vectors of one length come as a matrix.
    blocks : bool, default=False
    prepare : callable, default=None
        ``prepare(x)`` is called once for each object of a fit, and whenever another is predicted;
        the function sees what it returns.
    diagonal : float or callable, default=None
        ``k(x, x)``, where it is known: one number for all objects, as 1.0 of a kernel that is
        normalised, or ``diagonal(X) -> (n,)`` of prepared ones. If None, the function is asked.
    positive_definite : bool, default=True
        Whether the kernel is positive semi-definite, so that gaps are certificates. False for
        values that are noisy, too: they are then not asked for both ways round.
    n_jobs : int, default=None
        Jobs of joblib that evaluate at the same time; ``joblib.parallel_config`` chooses the
        engine: processes, threads, a Dask cluster. A function for processes has to be pickled.
    cache_mb : float, default=1024
        MiB that values which are kept may take.

    Raises
    ------
    ValueError
        If a parameter will not do.

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
    _known: _Known = field(default_factory=_Known, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("function", "prepare"):
            given = getattr(self, name)
            if not (callable(given) or (given is None and name == "prepare")):
                raise ValueError(f"{name} must be a function, got {shown(given)} instead")
        as_flag("blocks", self.blocks)
        as_flag("positive_definite", self.positive_definite)
        cache_mb = as_number("cache_mb", self.cache_mb, positive=True)  # float16 overflows soon
        if not (self.diagonal is None or callable(self.diagonal)):
            as_number("diagonal", self.diagonal, least=0.0)
        # Rows that grow are there twice.
        self._known.most_bytes = 0.5 * cache_mb * tuning.MEBIBYTE

    def __deepcopy__(self, memo: Any) -> PairwiseKernel:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_known"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _known=_Known())
        self.__post_init__()

    @property
    def evaluations(self) -> int:
        """Values that the function has been asked for so far."""
        return self._known.evaluations

    # --- objects and their places ---

    def placed(self, X: Any) -> tuple[PlacedKernel, np.ndarray]:
        """Return the kernel between places, and those of some objects, of shape (n_samples, 1)."""
        objects = as_objects(X)
        keys = [_key(each) for each in objects]
        with self._known.lock:
            numbers = self._known.add(keys, lambda place: self._prepared(objects[place]))
            if self._known.is_loaded:
                self._probe_loaded()
                self._known.is_loaded = False
        return PlacedKernel(self), numbers.astype(np.float64)[:, None]

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Return values of all objects of A against all of B, of shape (n_a, n_b).

        Those between objects that have been fitted are kept, those of others are not.
        """
        A, B = as_objects(A), as_objects(B)
        if len(A) > len(B):
            return self.block(B, A).T
        known, values = self._known, np.empty((len(A), len(B)))
        of_A, of_B = (np.array([known.number(_key(each)) for each in part]) for part in (A, B))
        others = [
            self._prepared(each) if number < 0 else known.objects[number]
            for each, number in zip(B, of_B, strict=True)
        ]
        fitted, strange = np.flatnonzero(of_B >= 0), np.flatnonzero(of_B < 0)
        for row, one in enumerate(of_A.tolist()):
            new = strange if one >= 0 else np.arange(len(B))
            if one >= 0:
                values[row, fitted] = self.between(np.array([one]), of_B[fitted])[0]
            if new.size:
                given = known.objects[one] if one >= 0 else self._prepared(A[row])
                pieces = self._values(given, [others[j] for j in new])
                values[row, new] = np.concatenate([*pieces])
        return values

    def diag(self, A: Any) -> np.ndarray:
        """``k(a, a)`` of each object, float64 of shape (n_a,)."""
        objects = as_objects(A)
        if self.diagonal is not None:
            return _told(self.diagonal, [self._prepared(each) for each in objects])
        return np.array([self.block(objects[[i]], objects[[i]])[0, 0] for i in range(len(objects))])

    def between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return values between numbered objects, of shape (n_left, n_right).

        Parameters
        ----------
        left, right : ndarray of int
        """
        if left.size > right.size:
            return self.between(right, left).T
        values = np.empty((left.size, right.size))
        with self._known.lock:
            for row, one in enumerate(left.tolist()):
                found = self._known.between(one, right)
                unknown = np.isnan(found)
                if unknown.any():
                    missing, place = np.unique(right[unknown], return_inverse=True)
                    found[unknown] = self._evaluated(one, missing)[place]
                values[row] = found
        return values

    def diagonal_of(self, numbers: np.ndarray) -> np.ndarray:
        """``k(x, x)`` of numbered objects, float64."""
        known = self._known
        with known.lock:
            missing = np.unique(numbers[np.isnan(known.diagonal[numbers])])
            if missing.size and self.diagonal is not None:
                known.diagonal[missing] = _told(
                    self.diagonal, [known.objects[one] for one in missing]
                )
            else:
                for one in missing:
                    self._evaluated(one, np.array([one]))
            return known.diagonal[numbers]

    def _prepared(self, given: Any) -> Any:
        return given if self.prepare is None else self.prepare(given)

    # --- values ---

    def _evaluated(self, one: int, others: np.ndarray) -> np.ndarray:
        """Evaluate one numbered object against others, and keep the values as they come."""
        known, values, done = self._known, np.empty(others.size), 0
        if others[0] != one or others.size > 1:
            known.begin_row(one)
        try:
            for found in self._values(known.objects[one], [known.objects[j] for j in others]):
                part = slice(done, done + found.size)
                known.keep(one, others[part], found)
                values[part], done = found, part.stop
        except Exception as error:
            if hasattr(error, "add_note"):  # Python 3.11
                error.add_note(f"The kernel keeps the {known.evaluations} values so far.")
            raise
        if others.size > 1 and self.positive_definite and not known.is_probed:
            self._probe(one, others, values)
            known.is_probed = True
        return values

    def _probe(self, one: int, others: np.ndarray, values: np.ndarray) -> None:
        """Ask for some values the other way round, and for one of the diagonal that is told.

        Raises
        ------
        ValueError
            If the function is not symmetric, or has another diagonal.
        """
        objects = self._known.objects
        scale, own = np.abs(values).max(), objects[one]
        for place in np.flatnonzero(others != one)[:_PROBES]:
            value = self._value(objects[others[place]], own)
            if not abs(value - values[place]) <= _DOUBT * scale:
                raise ValueError(
                    f"kernel must be symmetric, got {values[place]:.6g} and {value:.6g} for the "
                    f"same two objects; average f(a, b) and f(b, a), or set "
                    f"positive_definite=False if values are noisy"
                )
        if self.diagonal is not None:
            value, told = self._value(own, own), float(self.diagonal_of(np.array([one]))[0])
            if not abs(value - told) <= _DOUBT * max(scale, abs(value)):
                raise ValueError(
                    f"diagonal must be that of the function, {value:.6g} for the first object, "
                    f"got {told:.6g} instead"
                )

    def _probe_loaded(self) -> None:
        """Ask again for some values that were loaded.

        Raises
        ------
        ValueError
            If they are another kernel's.
        """
        known, objects = self._known, self._known.objects
        here = np.array([each is not _ABSENT for each in objects])
        for one in np.flatnonzero(here & (known.slots >= 0))[:_PROBES].tolist():
            row = known.rows[known.slots[one]]
            for other in np.flatnonzero(here & ~np.isnan(row))[:1].tolist():
                value = self._value(objects[one], objects[other])
                if self.positive_definite and not abs(value - row[other]) <= _DOUBT * abs(value):
                    known.forget()
                    raise ValueError(
                        f"kernel must be that of the values that were loaded, got {value:.6g} for "
                        f"two objects that have {row[other]:.6g} in the file"
                    )

    def _value(self, one: Any, other: Any) -> float:
        return float(next(self._values(one, [other]))[0])

    def _values(self, one: Any, others: list[Any]) -> Iterator[np.ndarray]:
        """Evaluate one object against others, a piece of them at a time."""
        known, begin = self._known, 0
        while begin < len(others):
            heed()
            # One value tells how long the others take.
            each = max(1, int(_PIECE / known.seconds_each)) if known.seconds_each else 1
            end = min(len(others), begin + max(1, room()))
            pays = (end - begin) * known.seconds_each > _PAYS
            n_jobs = joblib.effective_n_jobs(self.n_jobs) if pays else 1
            if n_jobs == 1:
                end = min(end, begin + each)
            each = min(each, -(-(end - begin) // n_jobs))
            parts = [others[first : min(end, first + each)] for first in range(begin, end, each)]
            for values, seconds, error in _answers(self, one, parts):
                known.evaluations += values.size
                known.seconds_each = max(seconds, 1e-9)
                count(values.size)
                begin += values.size
                if values.size:
                    yield values
                if error is not None:
                    raise error
                heed()

    # --- files ---

    def save(self, path: str | PathLike[str]) -> None:
        """Save the values that are known, to go on from in another process.

        Parameters
        ----------
        path : path-like
            Ending in ``.npz``. Objects are not in it; they are known again by their contents.
        """
        with self._known.lock:
            self._known.save(path)

    def load(self, path: str | PathLike[str]) -> None:
        """Load values that `save` has written, beside those that are known.

        Some of them are asked for again by the next fit, to see whether they are this kernel's.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        ValueError
            If it is no such file.
        OSError
            If it cannot be read.
        """
        with self._known.lock:
            self._known.load(path)


class PlacedKernel:
    """A `PairwiseKernel` between places: rows of one number, which stands for an object.

    Parameters
    ----------
    kernel : PairwiseKernel
    """

    def __init__(self, kernel: PairwiseKernel) -> None:
        self.kernel = kernel

    @property
    def positive_definite(self) -> bool:
        """Tell whether the kernel is positive semi-definite."""
        return self.kernel.positive_definite

    @property
    def evaluations(self) -> int:
        """Values that the function has been asked for so far."""
        return self.kernel.evaluations

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Return kernel values of shape (n_a, n_b)."""
        return self.kernel.between(*(rows[:, 0].astype(np.int64) for rows in (A, B)))

    def diag(self, A: Any) -> np.ndarray:
        """``k(a, a)`` of each place, float64 of shape (n_a,)."""
        return self.kernel.diagonal_of(A[:, 0].astype(np.int64))


def is_costly(kernel: Any) -> TypeGuard[PlacedKernel]:
    """Tell whether values of a kernel are worth more than whatever else a solver does."""
    return isinstance(kernel, PlacedKernel)


def as_pairwise(kernel: Any) -> PairwiseKernel:
    """Return a kernel of objects that asks another one, or a function of blocks.

    Parameters
    ----------
    kernel : PairwiseKernel, Kernel or callable
        With ``requires_vector_input = False``.
    """
    if isinstance(kernel, PairwiseKernel):
        return kernel
    function = kernel.block if isinstance(kernel, Kernel) else kernel
    return PairwiseKernel(
        function,
        blocks=True,
        diagonal=getattr(kernel, "diag", None),
        positive_definite=bool(getattr(kernel, "positive_definite", True)),
    )


def placed(kernel: Kernel | PairwiseKernel, X: Any, cache_mb: float) -> tuple[Kernel, Any]:
    """Return a kernel that is costly between places, and these; any other, and X, as they are.

    A function of a user's own on rows of numbers is costly where it is slow.

    Parameters
    ----------
    kernel : Kernel or PairwiseKernel
        Of a user's own.
    X : ndarray or CSR matrix of shape (n_samples, n_features), or ndarray of objects
    cache_mb : float
        MiB of values that are kept of a function on rows.
    """
    if isinstance(kernel, PairwiseKernel):
        return kernel.placed(X)
    pace = Pace()
    if pace.is_quick(kernel.block, X, X, X.shape[0] ** 2) or pace.seconds_each < _COSTLY:
        return kernel, X
    rows = np.empty(X.shape[0], dtype=object)
    for place in range(rows.size):
        rows[place] = X[place : place + 1] if sparse.issparse(X) else X[place]
    # A function's own diagonal is made of blocks.
    own = None if isinstance(kernel, CallableKernel) else kernel.diag
    return PairwiseKernel(
        kernel.block,
        blocks=True,
        diagonal=own,
        positive_definite=kernel.positive_definite,
        cache_mb=cache_mb,
    ).placed(rows)
