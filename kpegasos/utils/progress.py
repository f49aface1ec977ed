"""A line that says how far something has come, until it is done."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any


@contextmanager
def shown(text: Callable[[], str], stream: Any) -> Iterator[None]:
    """Show a text that changes, and the seconds: a full disk or a reader who is gone costs nothing.

    Parameters
    ----------
    text : callable
        Returns the text as it is, in one line; called from a thread.
    stream : text stream or None
        On a terminal and in a notebook the line changes in place several times a second; elsewhere
        it is written once, at the end.
    """
    ended, begin, widest = Event(), time.monotonic(), 0
    moves = False
    with suppress(OSError, ValueError, AttributeError):
        moves = stream.isatty()

    def write(end: str) -> None:
        nonlocal widest
        minutes, seconds = divmod(int(time.monotonic() - begin), 60)
        line = f"{text()} {minutes}:{seconds:02}"
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


def bar(share: float) -> str:
    """Draw a share, from 0 to 1."""
    full = int(20 * share)
    return f"[{'#' * full}{'.' * (20 - full)}] {share:4.0%}"
