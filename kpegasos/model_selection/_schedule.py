"""Pieces of work on several threads, so many kernels at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from threading import Condition

from threadpoolctl import threadpool_limits

from kpegasos.solvers.stopping import Stopper
from kpegasos.utils.threads import parallel_for

#: A piece of work.
Job = Callable[[], None]


class Work(ABC):
    """Jobs that share something which is made before the first and given up after the last."""

    @abstractmethod
    def open(self) -> list[Job]:
        """Make what is shared; returns the jobs, which may run at the same time."""

    @abstractmethod
    def close(self) -> None:
        """Hand on what has been done, and give up what was shared."""


class _Board:
    """What there is to do, for threads that take one job after another."""

    def __init__(self, works: Sequence[Work], n_open: int, stopper: Stopper) -> None:
        self._works, self._n_open, self._stopper = deque(works), n_open, stopper
        self._jobs: deque[tuple[Work, Job]] = deque()
        self._left: dict[int, int] = {}
        self._changed = Condition()
        self.failures: list[BaseException] = []

    def work(self, number: int) -> None:
        """Do jobs until nothing is left to do."""
        while (job := self._take()) is not None:
            try:
                job()
            except BaseException as error:
                with self._changed:
                    self.failures.append(error)
                    self._stopper.fail()  # or the others would go on to their end
                    self._changed.notify_all()
            del job  # while this thread waits, it would keep a kernel matrix alive

    def _take(self) -> Job | None:
        with self._changed:
            while not self.failures:
                if self._jobs:
                    work, job = self._jobs.popleft()
                    return lambda: self._do(work, job)
                if self._works and len(self._left) < self._n_open:
                    work = self._works.popleft()
                    self._left[id(work)] = 1
                    return lambda: self._open(work)
                if not self._left:
                    break
                self._changed.wait()
            return None

    def _open(self, work: Work) -> None:
        jobs = work.open()
        with self._changed:
            self._left[id(work)] += len(jobs)
            self._jobs.extend((work, job) for job in jobs)
            self._changed.notify_all()
        self._finish_one(work)

    def _do(self, work: Work, job: Job) -> None:
        job()
        self._finish_one(work)

    def _finish_one(self, work: Work) -> None:
        with self._changed:
            self._left[id(work)] -= 1
            is_last = self._left[id(work)] == 0
        if is_last:
            work.close()
            with self._changed:
                del self._left[id(work)]
                self._changed.notify_all()


def do_all(works: Sequence[Work], *, n_threads: int, n_open: int, stopper: Stopper) -> None:
    """Do all jobs of some works, in order as far as threads allow.

    Parameters
    ----------
    works : sequence of Work
    n_threads : int
    n_open : int
        Works that may be open at the same time.
    stopper : Stopper
        Told of a failure, so that jobs which ask it end early.

    Raises
    ------
    BaseException
        The first that a work raised, when no job is running any more.
    """
    board = _Board(works, n_open, stopper)
    if n_threads == 1:
        board.work(0)
    else:
        with threadpool_limits(limits=1, user_api="blas"):
            parallel_for(board.work, [(number,) for number in range(n_threads)])
    if board.failures:
        raise board.failures[0]
