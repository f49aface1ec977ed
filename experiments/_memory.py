"""Peak memory of what an experiment runs."""

from __future__ import annotations

import threading

import numpy as np

MEBIBYTE = 1 << 20


class Memory:
    """Peak of the resident memory while a block of code runs, of this process and its children.

    Pages that processes share are counted for each of them.
    """

    def __enter__(self) -> Memory:
        import psutil

        self._psutil = psutil
        self._process = psutil.Process()
        self._before = self._peak = self._now()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _now(self) -> int:
        resident = 0
        for process in (self._process, *self._process.children(recursive=True)):
            try:
                resident += process.memory_info().rss
            except self._psutil.NoSuchProcess:  # it has ended since
                continue
        return resident

    def _watch(self) -> None:
        while not self._done.wait(0.05):
            self._peak = max(self._peak, self._now())

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._peak = max(self._peak, self._now())

    @property
    def extra(self) -> float:
        """MiB more than before."""
        return (self._peak - self._before) / MEBIBYTE

    @property
    def peak(self) -> float:
        """MiB in all."""
        return self._peak / MEBIBYTE


def touch_memory(size_mb: int) -> None:
    """Have had the memory that a fit may ask for.

    A virtual machine gets its memory from its host when it is touched for the first time, for
    seconds a GiB. That is no matter of solvers, whose fits would pay for it by their order.
    """
    np.ones(size_mb * MEBIBYTE // 8)
