"""Reasons to stop before the end: a deadline, Ctrl-C.

Loops are advanced in short slices; between two slices the driver asks a `Stopper`. While
`interruptible` is active the first Ctrl-C only raises a flag, so that the state is never cut in
half; a second one interrupts for good. Once the model is complete the interrupt is raised again,
so that a script stops: see `Interrupted`.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kpegasos.utils import tuning


class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped a run; ``result`` is the model that it had reached.

    Attributes
    ----------
    result : Result
    """

    def __init__(self, result: Any) -> None:
        super().__init__(
            f"stopped by Ctrl-C after {result.n_steps} steps, with a certified relative gap of "
            f"{result.relative_gap:.3g}; the exception's result is the model reached so far"
        )
        self.result = result


class TimeSlicer:
    """How many draws to make before looking at the clock again: what `SLICE_SECONDS` allow.

    Parameters
    ----------
    first : int
        Draws of the first slice.
    """

    def __init__(self, first: int) -> None:
        self.draws = first

    def done(self, draws: int, seconds: float) -> None:
        """Learn from a slice that made so many draws in so many seconds."""
        if seconds > 2 * tuning.SLICE_SECONDS:
            self.draws = max(tuning.FEWEST_DRAWS, self.draws // 2)
        elif seconds < tuning.SLICE_SECONDS and draws >= self.draws:
            # A slice that ended early, at a checkpoint, says nothing of a longer one.
            self.draws = min(tuning.MOST_DRAWS, 2 * self.draws)


class Stopper:
    """Shared by all runs of a fit, from any thread.

    Parameters
    ----------
    max_time : float, default=None
        Seconds from now.
    """

    def __init__(self, max_time: float | None = None) -> None:
        self.deadline = None if max_time is None else time.perf_counter() + max_time
        self._interrupted = threading.Event()

    def interrupt(self) -> None:
        """Ask all runs to stop."""
        self._interrupted.set()

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C came."""
        return self._interrupted.is_set()

    def split(self, parts: float) -> Stopper:
        """A stopper with the same flag and 1/parts of the time that is left."""
        part = Stopper()
        part._interrupted = self._interrupted
        if self.deadline is not None:
            now = time.perf_counter()
            part.deadline = now + max(0.0, self.deadline - now) / parts
        return part

    def reason(self) -> str | None:
        """``"interrupted"``, ``"max_time"`` or None."""
        if self.interrupted:
            return "interrupted"
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            return "max_time"
        return None


@contextmanager
def interruptible(stopper: Stopper) -> Iterator[Stopper]:
    """Turn the first Ctrl-C inside the block into ``stopper.interrupt()`` (main thread only)."""
    if threading.current_thread() is not threading.main_thread():
        yield stopper
        return
    previous = signal.getsignal(signal.SIGINT)
    if not callable(previous):  # ignored, or not installed from Python: leave it
        yield stopper
        return

    def handle(number: int, frame: Any) -> None:
        if stopper.interrupted:
            previous(number, frame)
        stopper.interrupt()

    signal.signal(signal.SIGINT, handle)
    try:
        yield stopper
    finally:
        signal.signal(signal.SIGINT, previous)
