"""Turns with something that changes: one thread at a time, in the order in which they came.

What a turn is about needs to know nothing of it: rows, estimators and sessions of any class, with
or without a call of a base class. Nothing is kept in them, so they are copied and pickled as ever.
"""

from __future__ import annotations

import sys
from collections import deque
from contextlib import suppress
from threading import Event, get_ident
from types import FrameType
from typing import Any
from weakref import finalize

#: Seconds after which whoever waits looks again, should nobody have called.
_LOOK = 0.05

_lines: dict[int, deque[Turn]] = {}


class Turn:
    """A block in which no other thread changes an object.

    Its turn ends with the block: an error ends it, and so does a second Ctrl-C that cuts the way
    out of the block short, since a turn whose block is not running any more is passed over.

    Parameters
    ----------
    owner : object
        What is changed.
    name : str
        What an error calls it.

    Raises
    ------
    ValueError
        On entry, if the block lies within another one about the same object.
    """

    def __init__(self, owner: Any, name: str) -> None:
        self._name = name
        self._line = _line_of(owner)
        self._frame: FrameType | None = None
        self._call: Event | None = None

    def __enter__(self) -> None:
        self.take(sys._getframe(1))

    def __exit__(self, *error: object) -> None:
        self.leave()

    def take(self, frame: FrameType) -> None:
        """Wait until all who came before have left.

        Parameters
        ----------
        frame : frame
            Of the block.
        """
        self._thread, self._frame = get_ident(), frame
        try:
            self._line.append(self)
            while (first := self._line[0]) is not self:
                if not first._is_running():
                    first.leave()
                elif first._thread == self._thread:
                    raise ValueError(
                        f"{self._name} must be free for this call, got {self._name} that a call "
                        f"around it is changing"
                    )
                elif self._call is None:
                    self._call = Event()
                else:
                    self._call.wait(_LOOK)
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """Let the next one in."""
        self._frame = None
        with suppress(ValueError):
            self._line.remove(self)
        for first in tuple(self._line)[:1]:
            if first._call is not None:
                first._call.set()

    def _is_running(self) -> bool:
        frame = sys._current_frames().get(self._thread)
        while frame is not None and frame is not self._frame:
            frame = frame.f_back
        return frame is not None


def _line_of(owner: Any) -> deque[Turn]:
    """Those who have a turn with an object or wait for it."""
    key = id(owner)
    line = _lines.get(key)
    if line is None:
        new: deque[Turn] = deque()
        line = _lines.setdefault(key, new)
        if line is new:
            finalize(owner, _lines.pop, key, None).atexit = False
    return line
