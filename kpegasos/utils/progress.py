"""A line that says how far something has come, until it is done."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any


@contextmanager
def shown(
    text: Callable[[str], str],
    stream: Any,
    share: Callable[[], float] | None = None,
    most_seconds: float | None = None,
) -> Iterator[None]:
    """Show a text that changes: a full disk or a reader who is gone costs nothing.

    Parameters
    ----------
    text : callable
        Returns the text as it is, in one line, with a time that it is given; called from a thread.
    stream : text stream or None
        On a terminal and in a notebook the line changes in place several times a second; elsewhere
        it is written once, at the end.
    share : callable, default=None
        Returns what part is done, from 0 to 1, by which the time left is told.
    most_seconds : float, default=None
        After which all ends.
    """
    ended, begin, widest = Event(), time.monotonic(), 0
    moves = False
    with suppress(OSError, ValueError, AttributeError):
        moves = stream.isatty()

    def write(end: str) -> None:
        nonlocal widest
        passed = time.monotonic() - begin
        line = _minutes(passed)
        if share is not None and not end and passed > 1.0 and 0.0 < (done := share()) < 1.0:
            left = passed * (1.0 - done) / done
            left = left if most_seconds is None else max(0.0, min(left, most_seconds - passed))
            line += f", {_minutes(left)} left"
        line = text(line)
        if moves:  # a line that is wrapped could not be taken back
            line = line[: shutil.get_terminal_size().columns - 1]
        widest = max(widest, len(line))
        with suppress(OSError, ValueError, AttributeError):
            stream.write("\r" * moves + line.ljust(widest) + end)
            stream.flush()

    def draw() -> None:
        while not ended.wait(0.1):
            write("")

    thread = Thread(target=draw, daemon=True)
    if moves:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if moves:
            thread.join()
        write("\n")


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def bar(share: float) -> str:
    """Draw a share, from 0 to 1."""
    full = int(20 * share)
    return f"[{'#' * full}{'.' * (20 - full)}] {share:4.0%}"
