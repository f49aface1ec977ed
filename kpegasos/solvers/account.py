"""What a run costs: time and kernel values, charged to it while the rows are its own."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from kpegasos.rows.base import RowSource
from kpegasos.utils.turns import Turn


class Charged(Protocol):
    """What is charged: the state of a run, or a run.

    Attributes
    ----------
    seconds : float
    evaluations : int
        Kernel values.
    whole : bool
        Whether no error has cut a block in half.
    """

    seconds: float
    evaluations: int
    whole: bool


def alone_with(rows: RowSource) -> AbstractContextManager[None]:
    """A block in which no other thread changes the rows."""
    return nullcontext() if rows.unchanging else Turn(rows, "rows")


class OnAccount:
    """A block whose time and kernel values are charged, and which errors cut in half.

    No other thread changes the rows meanwhile; time spent waiting for them is not charged.

    Parameters
    ----------
    rows : RowSource
    state : State or PathRun
        What is charged.
    counts : bool, default=False
        Whether kernel values are computed even by rows that are `RowSource.unchanging`.

    Attributes
    ----------
    seconds : float
        How long the block took, once it is over.
    """

    def __init__(self, rows: RowSource, state: Charged, *, counts: bool = False) -> None:
        self._rows = rows
        self._state = state
        self._turn = Turn(rows, "rows") if counts or not rows.unchanging else None
        self.seconds = 0.0

    def __enter__(self) -> OnAccount:
        if self._turn is not None:
            self._turn.take(sys._getframe(1))
        self._evaluations = self._rows.evaluations
        self._begin = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if error[0] is not None:
                self._state.whole = False
                self._rows.forget()
            self.seconds = time.perf_counter() - self._begin
            self._state.seconds += self.seconds
            if self._turn is not None:
                self._state.evaluations += self._rows.evaluations - self._evaluations
        finally:
            if self._turn is not None:
                self._turn.leave()
