"""Reasons to stop before the end: a deadline, Ctrl-C, an error elsewhere.

Loops are advanced in short slices; between two slices the driver asks a `Stopper`. While
`interruptible` is active the first Ctrl-C only raises a flag, so that the state is never cut in
half; a second one interrupts for good. Once the model is complete the interrupt is raised again,
so that a script stops: see `Interrupted`.

The stopper's ``presses_kept`` is the number of presses that only raise the flag. None interrupts a
block that has set it to infinity, nor, for a second, the cleanup after an interrupt for good.
"""

from __future__ import annotations

import copy
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from kpegasos.utils.patience import Counter, CutShort, counting, heeding
from kpegasos.utils.threads import at_work

#: Reasons to stop that leave a run where it stands.
CUT_SHORT = ("interrupted", "max_time", "max_kernel_evaluations")
#: Reason to leave a run for others, and to go on with it later.
PAUSED = "paused"
#: Seconds after a press that interrupts for good in which further ones are ignored.
_WAY_OUT = 1.0
#: Seconds after Ctrl-C in which a run that has no model yet may make one.
_FIRST_MODEL = 0.5


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

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a process makes it again from the result, not from the message."""
        return type(self), (self.result,)


class Stopper:
    """Shared by all runs of a fit, from any thread.

    Parameters
    ----------
    max_time : float, default=None
        Seconds from now.

    Attributes
    ----------
    deadline : float or None
        By the clock of `time.perf_counter`.
    latest : float
        When computing again for certificates ends, for all runs together; by the same clock.
    presses_kept : float
        How many presses of Ctrl-C only ask the runs to stop; the next interrupts for good.
    """

    def __init__(self, max_time: float | None = None) -> None:
        self._begin, self._counter = time.perf_counter(), Counter()
        self.limit(max_time)
        self.presses_kept = 1.0
        self._presses: list[float] = []
        #: "failed" or "abandoned", if that has come; all shares have the same set.
        self._flags: set[str] = set()
        self._pause, self._pause_values = math.inf, math.inf

    def limit(self, max_time: float | None) -> None:
        """Stop so many seconds after the stopper was made; None for no limit."""
        self.deadline = None if max_time is None else self._begin + max_time
        self.latest = math.inf if self.deadline is None else self.deadline + 0.2

    def paying(self, most: int | None) -> AbstractContextManager[None]:
        """Open a block in which so many kernel values are a reason to stop; None for no limit."""
        if most is None:
            return nullcontext()
        self._counter.most = most
        return counting(self._counter)

    def interrupt(self) -> None:
        """Ask all runs to stop."""
        self._presses.append(time.perf_counter())

    def abandon(self) -> None:
        """Ask all runs to end at once, whatever is lost."""
        self._flags.add("abandoned")

    def is_kept(self) -> bool:
        """Return whether results are still wanted: no press has interrupted for good."""
        return "abandoned" not in self._flags

    def lasts(self) -> bool:
        """Return whether there is no reason to stop; a pause does not count within a step."""
        return self.reason() in (None, PAUSED)

    def bears_delay(self) -> bool:
        """Return whether a first model may still be made: not long after Ctrl-C."""
        return not self._presses or time.perf_counter() < self._presses[0] + _FIRST_MODEL

    def fail(self) -> None:
        """Ask all runs to stop, since one of them has failed."""
        self._flags.add("failed")

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C came."""
        return bool(self._presses)

    def share(self, part: float) -> Stopper:
        """Make a stopper with the same flags that pauses a run after a part of what is left.

        Parameters
        ----------
        part : float
            Share of the time and of the kernel values that are left.
        """
        share, now = copy.copy(self), time.perf_counter()
        share._begin = now
        if part < 1.0:
            if self.deadline is not None:
                share._pause = now + part * (self.deadline - now)
            values, most = self._counter.values, self._counter.most
            share._pause_values = values + part * (most - values)
        return share

    @property
    def seconds(self) -> float:
        """Seconds since the stopper was made."""
        return time.perf_counter() - self._begin

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline or the pause, infinite without either."""
        end = math.inf if self.deadline is None else self.deadline
        return max(0.0, min(end, self._pause) - time.perf_counter())

    def reason(self) -> str | None:
        """Return one of `CUT_SHORT`, ``"stopped"``, `PAUSED` or None."""
        if self.interrupted:
            return "interrupted"
        if "failed" in self._flags:
            return "stopped"
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            return "max_time"
        if self._counter.values >= self._counter.most:
            return "max_kernel_evaluations"
        if time.perf_counter() >= self._pause or self._counter.values >= self._pause_values:
            return PAUSED
        return None


class _Handler:
    """The handler of Ctrl-C inside a block: as many presses as are kept ask the runs to stop."""

    def __init__(self, stopper: Stopper, previous: Callable[[int, Any], Any]) -> None:
        self._stopper = stopper
        self._previous = previous
        self._passed_on = -math.inf
        if isinstance(previous, _Handler) and previous._stopper.interrupted:
            stopper.interrupt()  # the block around this one has been asked to stop

    def __call__(self, number: int, frame: Any) -> None:
        stopper = self._stopper
        stopper.interrupt()
        if stopper.presses_kept > 0:
            stopper.presses_kept -= 1
        elif time.perf_counter() > self._passed_on + _WAY_OUT:
            self._passed_on = time.perf_counter()
            stopper.abandon()
            self._previous(number, frame)


@contextmanager
def interruptible(stopper: Stopper) -> Iterator[Stopper]:
    """Turn Ctrl-C inside the block, which is `at_work`, into ``stopper.interrupt()``.

    After as many presses as the stopper keeps, the next goes to the previous handler, as does each
    that comes more than a second later: cleanup is not cut in half. Outside the main thread, and
    where Ctrl-C is ignored, nothing is changed.

    Raises
    ------
    KeyboardInterrupt
        Instead of an error of the block after a press, which would be lost otherwise.
    """
    previous = None
    if threading.current_thread() is threading.main_thread():
        previous = signal.getsignal(signal.SIGINT)
    if not callable(previous):  # ignored, or not installed from Python: leave it
        with at_work():
            yield stopper
        return
    try:
        signal.signal(signal.SIGINT, _Handler(stopper, previous))
        with at_work(), heeding(stopper.is_kept, for_good=True):
            yield stopper
    except CutShort as cut:
        if stopper.interrupted:
            raise KeyboardInterrupt("stopped by Ctrl-C before there was a model") from cut
        raise
    except Exception as error:
        if stopper.interrupted:
            raise KeyboardInterrupt("stopped by Ctrl-C, and by an error") from error
        raise
    finally:
        signal.signal(signal.SIGINT, previous)
