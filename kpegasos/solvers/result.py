"""The result of a run: a model, its certificate, its history and the state to continue from.

How a model decides on new examples is known to its rows; see `kpegasos.rows.base`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, get_type_hints, overload

import numpy as np

from kpegasos.utils.threads import cached_property
from kpegasos.utils.validation import shown

if TYPE_CHECKING:
    from kpegasos.core.state import State


class Record(NamedTuple):
    """State of a run at a checkpoint.

    Attributes
    ----------
    iteration : int
        Steps done.
    epoch : float
        Passes over the data so far: draws divided by examples.
    seconds : float
        Time in the solver, without evaluations. Estimators count from ``fit``: work before the
        steps, such as a kernel matrix, is included. What all pairs need counts for the first.
    objective_last, objective_average : float
        Primal objective of the last iterate and of the returned one (the chosen average).
    dual_bound : float
        Largest dual value seen, less what rounding may have added: a lower bound on the optimum.
    gap, relative_gap : float
        ``objective_average`` less the largest dual value, as both were computed, and the same
        divided by ``objective_average``.
    rounding : float
        What rounding may add to the gap: ``gap + rounding`` is certified. It is zero, and part of
        the gap, where it is below 1e-8 of the objective, and in the last record of a run that is
        over.
    support_size : int
        Examples with a non-zero coefficient.
    kernel_evaluations, cache_hits : int
        Kernel values computed; uses of a row that was there from an earlier use.
    """

    iteration: int
    epoch: float
    seconds: float
    objective_last: float
    objective_average: float
    dual_bound: float
    gap: float
    relative_gap: float
    rounding: float
    support_size: int
    kernel_evaluations: int
    cache_hits: int


class History:
    """The records of a run, in order.

    ``history["gap"]`` is a column, ``history[-1]`` the last record, ``history[2:5]`` a history of
    some of them; ``for record in history`` goes through all.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns, the fields of `Record`.
    records : list of Record

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kpegasos import PegasosSVC
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> history = PegasosSVC(epochs=3, random_state=0).fit(X, y).history_
    >>> history["iteration"]
    array([200, 400, 600])
    >>> history[-1].iteration
    600
    >>> [record.epoch for record in history[:2]]
    [1.0, 2.0]
    """

    columns = Record._fields
    _rows: np.ndarray

    def __init__(self) -> None:
        self.records: list[Record] = []

    @classmethod
    def of(cls, rows: np.ndarray, before: History | None = None) -> History:
        """Make a history of rows with a column for each field of a record, appended to another."""
        history = cls.__new__(cls)
        history._rows = rows if before is None else np.concatenate((before._rows, rows))
        return history

    @cached_property
    def records(self) -> list[Record]:
        """Records of the rows, made when they are asked for."""
        counts = [kind is int for kind in get_type_hints(Record).values()]
        return [
            Record(*(int(v) if whole else v for v, whole in zip(row, counts, strict=True)))
            for row in self._rows.tolist()
        ]

    def append(self, record: Record) -> None:
        """Add a checkpoint."""
        self.records.append(record)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    @overload
    def __getitem__(self, key: str) -> np.ndarray: ...
    @overload
    def __getitem__(self, key: SupportsIndex) -> Record: ...
    @overload
    def __getitem__(self, key: slice) -> History: ...

    def __getitem__(self, key: str | SupportsIndex | slice) -> np.ndarray | Record | History:
        if isinstance(key, str):
            return self._column(key)
        if isinstance(key, slice):
            part = History()
            part.records = self.records[key]
            return part
        try:
            number = index(key)
        except TypeError:
            raise TypeError(
                f"history must be indexed by a column's name, an integer or a slice, "
                f"got {shown(key)} instead"
            ) from None
        if not -len(self) <= number < len(self):
            raise IndexError(f"history has {len(self)} records, none of them at {number}")
        return self.records[number]

    def _column(self, name: str) -> np.ndarray:
        if name not in self.columns:
            raise KeyError(f"history has the columns {self.columns}, not {name!r}")
        return np.array([getattr(record, name) for record in self.records])

    def to_dict(self) -> dict[str, np.ndarray]:
        """Return the columns as arrays of shape (n_checkpoints,), for a DataFrame."""
        return {column: self[column] for column in self.columns}

    def __repr__(self) -> str:
        if not self.records:
            return "History(empty)"
        last = self.records[-1]
        return (
            f"History({len(self)} checkpoints, iteration {last.iteration}, "
            f"objective {last.objective_average:.6g}, relative gap {last.relative_gap:.2g})"
        )


@dataclass(frozen=True, repr=False)
class Result:
    """A trained binary model and its certificate.

    It holds a few vectors of length n_samples and, for new examples, the kernel. It refers to the
    data, without a copy, until a first decision or a pickle, and holds the support vectors from
    then on. It holds no kernel values.

    Attributes
    ----------
    alpha : ndarray of shape (n_samples,), float64
        With the hinge how often each example was drawn while violating, else the sum of its pulls,
        times the product of the later projections (integers with the hinge and neither projection
        nor a step rule); ``w_{T+1} = Σ alpha_j ω_j y_j φ(x_j) / (lam k T)``. `sdca` returns the
        dual variables β.
    coef : ndarray of shape (n_samples,)
        Signed coefficients: ``f(x) = Σ_j coef_j k(x_j, x) + intercept``.
    w : ndarray of shape (n_features,) or None
        Primal vector, from `FeatureRows` only.
    intercept : float
        ``B · w_B``: what the constant feature of size B adds to every decision; the intercept
        where that is free.
    margins : ndarray of shape (n_samples,)
        ``f(x_i)`` of the training examples.
    objective : float
        ``P(w)``.
    dual_bound : float
        A lower bound on the minimum of P.
    gap, relative_gap : float
        ``objective − dual_bound`` plus what rounding may have taken off the objective; the same
        divided by the objective. Bound and gaps are NaN where the kernel is not positive
        semi-definite, by its name or as the values showed.
    n_steps : int
        Steps done, all calls together.
    status : str
        Why it ended: ``"completed"``, ``"tolerance"``, ``"max_time"``, ``"interrupted"``,
        ``"max_kernel_evaluations"``, or ``"stopped"`` by a monitor or a callback.
    history : History
    state : State
        What `pegasos` continues from.
    rounding : float
        How much of the gap is rounding.
    decisions : callable or None
        Function that `decision_function` calls, made by ``RowSource.decisions``.
    classes : ndarray of shape (2,) or None
        The labels of negative and positive decisions; None for -1 and +1.
    regression : bool
        Whether decisions are the predictions.
    intercept_interval : tuple of float or None
        Smallest and largest optimal intercept for this w; None unless the intercept is free.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kpegasos import make_problem, make_rows, pegasos
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> rows = make_rows(X[:150], "rbf", gamma="scale")
    >>> result = pegasos(make_problem(y[:150], C=10.0), rows, random_state=0)
    >>> bool((result.predict(X[150:]) == y[150:]).mean() > 0.9)
    True
    """

    alpha: np.ndarray
    coef: np.ndarray
    w: np.ndarray | None
    intercept: float
    margins: np.ndarray
    objective: float
    dual_bound: float
    gap: float
    relative_gap: float
    n_steps: int
    status: str
    history: History
    state: State | None = None
    rounding: float = 0.0
    decisions: Callable[[Any], np.ndarray] | None = None
    classes: np.ndarray | None = None
    regression: bool = False
    intercept_interval: tuple[float, float] | None = None

    def decision_function(self, X: Any) -> np.ndarray:
        """Return ``f(x)`` of new examples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            Where the kernel was given as a matrix: its values with the training examples, of shape
            (n_new, n_samples).

        Returns
        -------
        ndarray of shape (n_new,), float64

        Raises
        ------
        ValueError
            If X has another number of columns, or leaves no finite decision; if the kernel could
            not be pickled with the result, or the rows cannot decide on new examples.
        """
        if self.decisions is None:
            raise ValueError(
                "rows must have a method decisions to decide on new examples, got some that return "
                "None"
            )
        return self.decisions(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return labels of new examples, as `make_problem` was given them; numbers in regression.

        Parameters
        ----------
        X : array-like or sparse matrix
            As `decision_function` takes it.

        Returns
        -------
        ndarray of shape (n_new,)

        Raises
        ------
        ValueError
            As `decision_function` does.
        """
        decisions = self.decision_function(X)
        if self.regression:
            return decisions
        classes = np.array([-1.0, 1.0]) if self.classes is None else self.classes
        if classes.shape != (2,):
            raise ValueError(f"classes must have shape (2,), got {classes.shape} instead")
        return np.asarray(classes[(decisions > 0.0).astype(np.intp)])

    def __repr__(self) -> str:
        return (
            f"Result({self.status} after {self.n_steps} steps, objective {self.objective:.6g}, "
            f"relative gap {self.relative_gap:.2g}, {np.count_nonzero(self.coef)} support vectors)"
        )


class Results(Sequence[Result]):
    """Results of several runs.

    Parameters
    ----------
    results : sequence of Result
    """

    def __init__(self, results: Sequence[Result]) -> None:
        self._results = results

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, key: SupportsIndex) -> Result: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Result]: ...

    def __getitem__(self, key: SupportsIndex | slice) -> Result | Sequence[Result]:
        if isinstance(key, slice):
            return [self._result(number) for number in range(len(self))[key]]
        return self._result(range(len(self))[key])

    def _result(self, number: int) -> Result:
        return self._results[number]

    def column(self, name: str) -> list[Any]:
        """Return an attribute of all results."""
        return [getattr(result, name) for result in self._results]

    def of_members(self, name: str) -> np.ndarray:
        """Return an attribute of shape (n_samples,) of all results, concatenated."""
        return np.concatenate(self.column(name))
