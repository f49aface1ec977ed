"""What a run looked like: one record per checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from operator import index
from typing import Any, NamedTuple, SupportsIndex, get_type_hints, overload

import numpy as np

from kpegasos.utils.validation import shown


class Record(NamedTuple):
    """State of a run at a checkpoint.

    Attributes
    ----------
    iteration : int
        Steps done.
    epoch : float
        Passes over the data so far: draws divided by examples.
    seconds : float
        Time in the solver, without evaluations.
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
        Kernel values computed; row uses for which the row was there from an earlier use.
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
    def of(cls, rows: np.ndarray) -> History:
        """A history of rows with a column for each field of a record."""
        history = cls.__new__(cls)
        history._rows = rows
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
        """Columns as arrays of shape (n_checkpoints,)."""
        return {column: self[column] for column in self.columns}

    def to_pandas(self) -> Any:
        """Columns as a DataFrame.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: install pandas, or use to_dict") from error
        return pandas.DataFrame(self.to_dict())

    def __repr__(self) -> str:
        if not self.records:
            return "History(empty)"
        last = self.records[-1]
        return (
            f"History({len(self)} checkpoints, iteration {last.iteration}, "
            f"objective {last.objective_average:.6g}, relative gap {last.relative_gap:.2g})"
        )
