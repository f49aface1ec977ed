"""Work on as many threads as it is worth, and locks for what changes.

A call that computes is `at_work` on some threads, its own among them: pairs side by side take
what there is, and where a pair is left alone its products take what the others have left. BLAS has
one thread meanwhile, as its own threads would spin on the cores that these need.

What changes has a lock of its own, `lock_of` any object: rows, estimators and sessions need to know
nothing of it.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext, suppress
from contextvars import Context, ContextVar, copy_context
from functools import cache
from itertools import pairwise
from threading import Lock, RLock
from typing import Any, TypeVar
from weakref import WeakSet, finalize

from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from kpegasos.utils import tuning
from kpegasos.utils.patience import CutShort, heeding

try:  # scikit-learn's own answer respects more limits, but its name is private
    from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
except ImportError:
    from joblib import cpu_count as _openmp_effective_n_threads


_Value = TypeVar("_Value")


class cached_property(functools.cached_property[_Value]):
    """Python's, without the lock that it has up to Python 3.11, one for all objects.

    With it threads would wait for each other, and a child that is forked meanwhile for ever.
    """

    def __init__(self, function: Callable[[Any], _Value]) -> None:
        super().__init__(function)
        self.lock = nullcontext()


def available_threads() -> int:
    """Count threads that OpenMP would use: environment, threadpoolctl, joblib may limit them."""
    return int(_openmp_effective_n_threads())


class _CallThreads:
    """Threads of a call: how many it may have, and how many of them have something to do."""

    def __init__(self, size: int) -> None:
        self.size, self._busy, self._lock = size, 1, Lock()

    def idle(self) -> int:
        """Count threads that have nothing to do."""
        return max(0, self.size - self._busy)

    def begin(self) -> None:
        """Count a thread that begins."""
        with self._lock:
            self._busy += 1

    def end(self, _: object = None) -> None:
        """Count a thread that has ended, or waits."""
        with self._lock:
            self._busy -= 1


_threads_of_call: ContextVar[_CallThreads | None] = ContextVar("kpegasos_threads", default=None)


class _Blas:
    """One thread for BLAS while anybody is at work, on whatever thread; then as many as before.

    The number is the whole process's, so that others may set it meanwhile: what they set stays.
    Calls are held weakly: a second Ctrl-C may end a block before `end` is called.
    """

    def __init__(self) -> None:
        self._calls: WeakSet[_CallThreads] = WeakSet()
        self._before: dict[Any, int] = {}
        self._lock = Lock()

    def begin(self, call: _CallThreads) -> None:
        """Limit BLAS, unless it is limited."""
        with self._lock:
            self._calls.add(call)
            numbers = {each: each.get_num_threads() for each in _blas_libraries()}
            more = {k: n for k, n in numbers.items() if n != 1 and not _is_of_thread(k)}
            self._before |= more
            _set_threads(dict.fromkeys(more, 1))

    def end(self, call: _CallThreads) -> None:
        """Restore the threads of BLAS, if nobody is at work any more."""
        with self._lock:
            self._calls.discard(call)
            if not self._calls:
                self._restore()

    def begin_child(self, call: _CallThreads | None) -> None:
        """Forget threads that do not live on in a forked process, all but the one of a call."""
        self._lock = Lock()
        self._calls = WeakSet() if call is None else WeakSet([call])
        if call is None:
            self._restore()

    def _restore(self) -> None:
        before, self._before = self._before, {}
        _set_threads({k: n for k, n in before.items() if k.get_num_threads() == 1})


_BLAS = _Blas()


@cache
def _blas_libraries() -> list[Any]:
    """Find the libraries, once: to look takes milliseconds."""
    import scipy.linalg  # noqa: F401  # has one of its own

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _is_of_thread(library: Any) -> bool:
    """Return whether each thread has a number of its own, as it has for OpenBLAS over OpenMP."""
    return library.internal_api == "openblas" and library.threading_layer == "openmp"


def _set_threads(numbers: dict[Any, int]) -> None:
    """Set numbers, from any thread: threadpoolctl >= 3.7 obeys only the first that sets one."""
    release = None
    for library, number in numbers.items():
        library.set_num_threads(number)
        release = getattr(library, "clear_controlling_thread", release)
        if release is not None and library.get_num_threads() != number:
            release(force=True)
            library.set_num_threads(number)
    if release is not None:  # of all libraries, so that others may set their numbers
        release()


def _limit_own_blas() -> list[tuple[Any, int]]:
    """Have one thread for BLAS in this thread, where that is its own; return what was before."""
    before = [(each, each.get_num_threads()) for each in _blas_libraries() if _is_of_thread(each)]
    for library, _ in before:
        library.set_num_threads(1)
    return before


@contextmanager
def at_work(n_jobs: int | None = None) -> Iterator[None]:
    """Open a block that computes on threads.

    Parameters
    ----------
    n_jobs : int or None, default=None
        How many at the most, with joblib's meaning of negative numbers. None for what joblib's
        context says, or else for all that are idle.
    """
    if n_jobs is None:
        _, n_jobs = get_active_backend()
    size = n_threads()
    if n_jobs is not None:
        # The backend of processes would warn where there can be no more of them.
        threads, _ = get_active_backend(require="sharedmem")
        size = threads.effective_n_jobs(n_jobs)
    call = _CallThreads(size)
    token = _threads_of_call.set(call)
    own = _limit_own_blas()
    try:
        _BLAS.begin(call)
        yield
    finally:
        _BLAS.end(call)
        for library, number in own:
            library.set_num_threads(number)
        _threads_of_call.reset(token)


def n_threads() -> int:
    """Count threads that the work of this thread may take: itself, and those that are idle."""
    call = _threads_of_call.get()
    return available_threads() if call is None else 1 + call.idle()


@contextmanager
def idle() -> Iterator[None]:
    """Open a block in which this thread waits, so that others may do its share."""
    call = _threads_of_call.get()
    if call is not None:
        call.end()
    try:
        yield
    finally:
        if call is not None:
            call.begin()


def threads_for(multiplications: float) -> int:
    """Count threads that so many multiplications are worth: at least 1."""
    worth = int(multiplications / tuning.WORK_OF_A_THREAD)
    return 1 if worth <= 1 else min(n_threads(), worth)


def even_ranges(size: int, parts: int) -> list[tuple[int, int]]:
    """Cut ``range(size)`` into so many parts of about the same length.

    Returns
    -------
    list of (first, last)
    """
    return list(pairwise(size * part // parts for part in range(parts + 1)))


def in_ranges(function: Callable[[int, int], object], size: int, multiplications: float) -> None:
    """Call a function with parts of ``range(size)``, on as many threads as the work is worth.

    Parameters
    ----------
    function : callable
        As `parallel_for` takes it; called with the first of a part and the one behind its last.
    size : int
    multiplications : float
        Of all parts together.
    """
    threads = threads_for(multiplications)
    if threads == 1:
        function(0, size)
    else:
        parallel_for(function, even_ranges(size, threads))


def _fresh_pool() -> None:
    global _pool
    size = max(32, os.cpu_count() or 1)
    _pool = ThreadPoolExecutor(size, "kpegasos", initializer=_limit_own_blas)


_pool: ThreadPoolExecutor
_fresh_pool()


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
    """Call a function with each piece of some work, all pieces at once.

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
    call = _threads_of_call.get()
    if call is not None:
        for other in others:
            call.begin()
            other.add_done_callback(call.end)
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
        # A call that was cut short since another has failed is not the cause.
        raise next((e for e in errors if e and not isinstance(e, CutShort)), error) from None
    finally:
        work.clear()


_locks: dict[int, RLock] = {}
#: What other threads were changing when this process was forked, by its id.
_torn: set[int] = set()


def _begin_child() -> None:
    """Renew threads and locks: those of the parent process do not live on."""
    _fresh_pool()
    _BLAS.begin_child(_threads_of_call.get())
    _torn.update(key for key, lock in _locks.items() if not lock.acquire(blocking=False))
    _locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


def lock_of(owner: Any) -> RLock:
    """Return the lock of an object, which goes with it; a process that is forked has new ones.

    Parameters
    ----------
    owner : object
        Of any class with weak references. Nothing is kept in it, so it is copied and pickled as
        ever.
    """
    key = id(owner)
    lock = _locks.get(key)
    if lock is None:
        new = RLock()
        lock = _locks.setdefault(key, new)
        if lock is new:
            finalize(owner, _locks.pop, key, None).atexit = False
    return lock


def is_torn(owner: Any) -> bool:
    """Return, once, whether a thread that ended with a fork has left an object half changed."""
    is_one = id(owner) in _torn
    _torn.discard(id(owner))
    return is_one


def turn(owner: Any, name: str) -> RLock:
    """Return the lock of an object for a block in which no other thread changes it.

    The lock itself is the context manager: if one of ours ended the block, a second Ctrl-C in it
    could leave it locked.

    Parameters
    ----------
    owner : object
        What is changed.
    name : str
        What an error calls it.

    Raises
    ------
    ValueError
        If the block lies within another one about the same object.
    """
    lock = lock_of(owner)
    if getattr(lock, "_is_owned", bool)():  # a private name, without which nobody is warned
        raise ValueError(
            f"{name} must be free for this call, got {name} that a call around it is changing"
        )
    return lock
