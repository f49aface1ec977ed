"""Work on all threads, as many as it is worth, and turns of threads with something that changes.

What a `Turn` is about needs to know nothing of it: rows, estimators and sessions of any class, with
or without a call of a base class. Nothing is kept in them, so they are copied and pickled as ever.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import Context, copy_context
from itertools import pairwise
from threading import Event, get_ident
from types import FrameType
from typing import Any
from weakref import finalize, ref

from joblib.parallel import get_active_backend

from kpegasos.utils import tuning
from kpegasos.utils.patience import CutShort, heeding

try:  # scikit-learn's own answer hears of more limits, but its name is private
    from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
except ImportError:
    from joblib import cpu_count as _openmp_effective_n_threads


def available_threads() -> int:
    """Count threads that OpenMP would use: environment, threadpoolctl, joblib may limit them."""
    return int(_openmp_effective_n_threads())


def threads_for(multiplications: float, limit: int | None = None) -> int:
    """Count threads that so many multiplications are worth: at least 1, at most ``limit``.

    Parameters
    ----------
    multiplications : float
    limit : int, default=None
        None for `available_threads`.
    """
    worth = int(multiplications / tuning.WORK_OF_A_THREAD)
    if worth <= 1:
        return 1
    return max(1, min(available_threads() if limit is None else limit, worth))


def even_ranges(size: int, parts: int) -> list[tuple[int, int]]:
    """Cut ``range(size)`` into so many parts of about the same length.

    Returns
    -------
    list of (first, last)
    """
    return list(pairwise(size * part // parts for part in range(parts + 1)))


def n_threads(n_jobs: int | None, n_pairs: int) -> int:
    """Count threads that pairs are trained on."""
    if n_jobs is None:
        _, n_jobs = get_active_backend()
    # The backend of processes would warn where there can be no more of them.
    threads, _ = get_active_backend(require="sharedmem")
    return max(1, min(n_pairs, threads.effective_n_jobs(n_jobs)))


def _fresh_pool() -> None:
    global _pool
    _pool = ThreadPoolExecutor(max(32, os.cpu_count() or 1), "kpegasos")


_pool: ThreadPoolExecutor
_fresh_pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_fresh_pool)  # its threads do not live on in a child


def _fulfil(
    future: Future[None],
    context: Context,
    failed: list[bool],
    work: list[Callable[..., object]],
    piece: tuple[Any, ...],
) -> None:
    """Call a function for a future, unless that is cancelled."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        context.run(work[0], *piece)
    except BaseException as error:
        failed.append(True)
        future.set_exception(error)
    else:
        future.set_result(None)


def parallel_for(function: Callable[..., object], pieces: Iterable[tuple[Any, ...]]) -> None:
    """Call a function with each piece of some work, all pieces at a time.

    The first piece is done by the calling thread, and so is every other that no thread of the pool
    has begun by then. So nothing waits for a busy pool, not even a piece that calls this function,
    and nothing fails where no more threads can be started.

    Parameters
    ----------
    function : callable
        It should release the interpreter's lock.
    pieces : iterable of tuple
        Arguments of each call; there should not be more than there are threads for it.

    Raises
    ------
    Exception
        Whatever a call raised, when no call is running any more.
    """
    first, *rest = pieces
    if not rest:
        function(*first)
        return
    others: list[Future[None]] = [Future() for _ in rest]
    failed: list[bool] = []
    work = [function]  # emptied at the end: the pool keeps what it was given for a while
    # no more threads: a limit, or the interpreter is about to end
    with suppress(RuntimeError), heeding(lambda: not failed, for_good=True):
        for piece, other in zip(rest, others, strict=True):
            _pool.submit(_fulfil, other, copy_context(), failed, work, piece)
    try:
        function(*first)
        for piece, other in zip(rest, others, strict=True):
            if other.cancel():
                function(*piece)
            else:
                other.result()
    except BaseException as error:
        failed.append(True)  # the others end at their next look
        running = [other for other in others if not other.cancel()]
        wait(running)
        errors = [error, *(other.exception() for other in running)]
        # Who was cut short since another has failed is not the cause.
        raise next((e for e in errors if e and not isinstance(e, CutShort)), error) from None
    finally:
        work.clear()


_lines: dict[int, deque[ref[Turn]]] = {}


class Turn:
    """A block in which no other thread changes an object.

    Its turn ends with the block: an error ends it, and so does a second Ctrl-C that cuts the way
    out of the block short. The thread that it came to sees that the block is not running any more;
    for other threads the turn is gone with it, as the line holds turns weakly. No thread looks at
    another's stack, which goes on meanwhile.

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
        self._line, self._place = _line_of(owner), ref(self)
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
            self._line.append(self._place)
            while (place := self._line[0]) is not self._place:
                self._wait_for(place)
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """Let the next one in."""
        self._frame = None
        with suppress(ValueError):
            self._line.remove(self._place)
        for place in tuple(self._line)[:1]:
            first = place()
            if first is not None and first._call is not None:
                first._call.set()

    def _wait_for(self, place: ref[Turn]) -> None:
        """Wait for a while, or pass over a turn whose block is gone."""
        first = place()
        if first is None or first._is_left():
            with suppress(ValueError):  # another thread was quicker
                self._line.remove(place)
        elif first._thread == self._thread:
            raise ValueError(
                f"{self._name} must be free for this call, got {self._name} that a call around it "
                f"is changing"
            )
        elif self._call is None:
            self._call = Event()
        else:
            del first
            self._call.wait(0.05)  # should nobody call

    def _is_left(self) -> bool:
        """Tell whether this is a turn of the calling thread, and its block not running any more."""
        if self._thread != get_ident():
            return False
        frame: FrameType | None = sys._getframe()
        while frame is not None and frame is not self._frame:
            frame = frame.f_back
        return frame is None


def _line_of(owner: Any) -> deque[ref[Turn]]:
    """Return those who have a turn with an object or wait for it."""
    key = id(owner)
    line = _lines.get(key)
    if line is None:
        new: deque[ref[Turn]] = deque()
        line = _lines.setdefault(key, new)
        if line is new:
            finalize(owner, _lines.pop, key, None).atexit = False
    return line
