"""What a run costs: time and kernel values, charged to its state."""

from __future__ import annotations

import time

from kpegasos.core.state import State
from kpegasos.rows.base import RowSource


class OnAccount:
    """A block whose time and kernel values are charged to a state, and which errors cut in half.

    Attributes
    ----------
    seconds : float
        How long the block took, once it is over.
    """

    def __init__(self, rows: RowSource, state: State) -> None:
        self._rows = rows
        self._state = state
        self.seconds = 0.0

    def __enter__(self) -> OnAccount:
        self._evaluations = self._rows.evaluations
        self._begin = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is not None:
            self._state.whole = False
            self._rows.forget()
        self.seconds = time.perf_counter() - self._begin
        self._state.seconds += self.seconds
        self._state.evaluations += self._rows.evaluations - self._evaluations
