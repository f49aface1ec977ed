"""Several experiments at a time, each process taking the next one when it has ended its own.

Ctrl-C ends them all as it ends one: what is under way is broken off, the rest is not begun.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

_interrupted = False


def _start() -> None:
    """Leave Ctrl-C to the work, and bars to processes that have a terminal of their own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["TERM"] = "dumb"


def _end_pools() -> None:
    """End the processes that joblib keeps for later, which this one would wait for at its end."""
    loky = sys.modules.get("joblib.externals.loky")
    if loky is not None:
        loky.get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


def _interruptible(work: Callable[[str], bool], name: str) -> bool:
    """Do the work, unless an earlier one of this process was interrupted."""
    global _interrupted
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if _interrupted:
            raise KeyboardInterrupt
        return work(name)
    except KeyboardInterrupt:
        _interrupted = True
        raise KeyboardInterrupt from None  # without the model of the fit, which stays here
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _end_pools()


def each(
    work: Callable[[str], bool], names: Sequence[str], n_jobs: int
) -> Iterator[tuple[str, bool]]:
    """Do some work for each name.

    Parameters
    ----------
    work : callable
        What to do; with several processes it can be pickled.
    names : sequence of str
        What it is called with.
    n_jobs : int
        Number of processes; 1 does the work in this one, in the order of the names.

    Yields
    ------
    tuple
        A name and what ``work`` returned, as each ends. What it raises is raised here.
    """
    n_jobs = min(n_jobs, len(names))
    if n_jobs <= 1:
        for name in names:
            yield name, work(name)
        return
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(n_jobs, spawn, initializer=_start)
    try:
        futures = {pool.submit(_interruptible, work, name): name for name in names}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
