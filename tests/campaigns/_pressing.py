"""Ctrl-C pressed at chosen moments of a call, in this process, and how long the call then takes."""

import os
import signal
import threading
import time

#: Seconds that a call may take after the last press, and seconds of computing.
LATEST, LATEST_COMPUTING = 2.0, 1.0
#: How often a trial that is late is made again: what is compiled for the first time has to end.
_ATTEMPTS = 3


def in_time(kind, rng):
    """Make a trial, again if it was late; the last one counts."""
    begin = rng.bit_generator.state
    for _ in range(_ATTEMPTS - 1):
        rng.bit_generator.state = begin
        try:
            return kind(rng)
        except AssertionError as error:
            if " s late" not in str(error):
                raise
    rng.bit_generator.state = begin
    return kind(rng)


class Presser:
    """Presses Ctrl-C after given delays, and lets it interrupt a call only.

    Parameters
    ----------
    delays : list of float
        Seconds before the first press, and between presses.
    """

    def __init__(self, delays):
        self.delays = delays
        self.late = 0.0
        self._listening = False
        self._begun = threading.Event()
        self._pressed = (0.0, 0.0)

    def _handle(self, number, frame):
        if self._listening:
            raise KeyboardInterrupt

    def _press(self):
        self._begun.wait()
        for delay in self.delays:
            time.sleep(delay)
            self._pressed = time.perf_counter(), time.process_time()
            os.kill(os.getpid(), signal.SIGINT)

    def during(self, call):
        """Make a call and press; returns the KeyboardInterrupt that ended it, if one did."""
        before = signal.signal(signal.SIGINT, self._handle)
        thread = threading.Thread(target=self._press)
        raised = None
        try:
            thread.start()
            try:
                try:
                    self._listening = True
                    self._begun.set()
                    call()
                finally:
                    self._listening = False
            except KeyboardInterrupt as error:
                raised = error
            ended = time.perf_counter(), time.process_time()
            thread.join()
            handler = signal.getsignal(signal.SIGINT)
        finally:
            signal.signal(signal.SIGINT, before)
        assert handler == self._handle, "the handler of before has not been restored"
        self.late, computing = (e - p for e, p in zip(ended, self._pressed, strict=True))
        assert self.late < LATEST or computing < LATEST_COMPUTING, f"{self.late:.1f} s late"
        return raised
