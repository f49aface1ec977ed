"""Ctrl-C pressed at chosen moments of a call, in this process, and how long the call then takes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

#: Seconds that a call may take after the last press, and seconds of computing.
LATEST, LATEST_COMPUTING = 2.0, 1.0


class Presser:
    """Presses Ctrl-C after given delays, and lets it interrupt a call only.

    Parameters
    ----------
    delays : list of float
        Seconds before the first press, and between presses.
    """

    def __init__(self, delays: list[float]) -> None:
        self.delays = delays
        self.late = 0.0
        self._listening = False
        self._begun = threading.Event()
        self._pressed = (0.0, 0.0)

    def _handle(self, number: int, frame: Any) -> None:
        if self._listening:
            raise KeyboardInterrupt

    def _press(self) -> None:
        self._begun.wait()
        for delay in self.delays:
            time.sleep(delay)
            self._pressed = time.perf_counter(), time.process_time()
            os.kill(os.getpid(), signal.SIGINT)

    def during(self, call: Callable[[], object]) -> BaseException | None:
        """Make a call and press; returns the KeyboardInterrupt that ended it, if one did."""
        before = signal.signal(signal.SIGINT, self._handle)
        thread = threading.Thread(target=self._press)
        raised: BaseException | None = None
        try:
            thread.start()
            raised = self._caught(call)
            ended = time.perf_counter(), time.process_time()
            thread.join()
            handler = signal.getsignal(signal.SIGINT)
        finally:
            signal.signal(signal.SIGINT, before)
        assert handler == self._handle, "the handler of before has not been restored"
        self.late, computing = (e - p for e, p in zip(ended, self._pressed, strict=True))
        assert self.late < LATEST or computing < LATEST_COMPUTING, f"{self.late:.1f} s late"
        return raised

    def _caught(self, call: Callable[[], object]) -> BaseException | None:
        try:
            try:
                self._listening = True
                self._begun.set()
                call()
            finally:
                self._listening = False
        except KeyboardInterrupt as raised:
            return raised
        return None
