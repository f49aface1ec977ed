"""What a run looked like: one record per checkpoint."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Record(NamedTuple):
    """State of a run at a checkpoint.

    Attributes
    ----------
    iteration : int
        Steps done.
    epoch : float
        Draws per example so far.
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
    """The records of a run, in order; ``history["gap"]`` is a column.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kpegasos import PegasosSVC
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> history = PegasosSVC(epochs=3, random_state=0).fit(X, y).history_
    >>> history["iteration"]
    array([200, 400, 600])
    """

    columns = Record._fields

    def __init__(self) -> None:
        self.records: list[Record] = []

    def append(self, record: Record) -> None:
        """Add a checkpoint."""
        self.records.append(record)

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, column: str) -> np.ndarray:
        if column not in self.columns:
            raise KeyError(f"history has the columns {self.columns}, not {column!r}")
        return np.array([getattr(record, column) for record in self.records])

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
        import pandas

        return pandas.DataFrame(self.to_dict())

    def __repr__(self) -> str:
        if not self.records:
            return "History(empty)"
        last = self.records[-1]
        return (
            f"History({len(self)} checkpoints, iteration {last.iteration}, "
            f"objective {last.objective_average:.6g}, relative gap {last.relative_gap:.2g})"
        )
