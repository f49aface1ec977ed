"""Seconds, peak memory, and processes of their own for what is measured.

``python -m experiments._measure MODULE FUNCTION JOB`` calls a function of a module with a job, a
JSON object, and prints what it returns, or each thing that it yields, as a line of JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from experiments._meta import busy_processors
from experiments._store import plain

MEBIBYTE = 1 << 20
#: A machine is quiet while fewer processors are busy, over so many seconds.
#: It is waited for as long as the last.
_QUIET, _LOOK, _PATIENCE = 0.3, 10.0, 300.0


def timed(work: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[float, Any]:
    """Return the seconds of a call, and what it returns."""
    begin = time.perf_counter()
    result = work(*args, **kwargs)
    return time.perf_counter() - begin, result


class Memory:
    """Peak of the resident memory while a block of code runs, of this process and its children.

    Linux keeps the peak of each process itself, whoever holds the interpreter's lock; elsewhere a
    thread looks every now and then. Pages that processes share are counted for each of them.
    """

    def __enter__(self) -> Memory:
        import psutil

        self._psutil = psutil
        self._process = psutil.Process()
        self._kept = self._forget()
        self._before = self._peak = self._now()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _processes(self) -> list[Any]:
        return [self._process, *self._process.children(recursive=True)]

    def _forget(self) -> bool:
        """Have Linux forget the peaks so far; return whether there is one that keeps them."""
        try:
            for process in self._processes():
                Path(f"/proc/{process.pid}/clear_refs").write_text("5")
        except OSError:
            return False
        return True

    def _now(self) -> int:
        """Return what is resident, or the most that was if the system keeps it."""
        resident = 0
        for process in self._processes():
            try:
                if self._kept:
                    status = Path(f"/proc/{process.pid}/status").read_text()
                    resident += sum(map(int, re.findall(r"VmHWM:\s*(\d+) kB", status))) << 10
                else:
                    resident += process.memory_info().rss
            except (OSError, self._psutil.NoSuchProcess):  # it has ended since
                continue
        return resident

    def _watch(self) -> None:
        while not (self._kept or self._done.wait(0.05)):
            self._peak = max(self._peak, self._now())

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._peak = max(self._peak, self._now())

    def columns(self) -> dict[str, float]:
        """Return MiB more than before, and in all."""
        extra = (self._peak - self._before) / MEBIBYTE
        return {"extra_mb": extra, "peak_mb": self._peak / MEBIBYTE}


def repeated(
    work: Callable[[], Any],
    times: int,
    budget: float,
    *,
    before: Callable[[], Any] = lambda: None,
    weighed: bool = False,
) -> tuple[list[float], Any, dict[str, float]]:
    """Repeat a call.

    Parameters
    ----------
    work : callable
        The call.
    times : int
        How often it is made at the most.
    budget : float
        Seconds after which it is made no more.
    before : callable
        What comes before each call, off the clock.
    weighed : bool, default False
        Whether to weigh the memory of the first call; of that alone, as a thread may watch it.

    Returns
    -------
    tuple of (list of float, object, dict)
        Seconds of all calls, the last result, and columns of memory if it was watched.
    """
    seconds: list[float] = []
    memory: dict[str, float] = {}
    result = None
    while len(seconds) < times and sum(seconds) < budget:
        before()
        with Memory() if weighed and not seconds else nullcontext() as watch:
            taken, result = timed(work)
        seconds.append(taken)
        memory = watch.columns() if watch else memory
    return seconds, result, memory


def touch_memory(size_mb: int) -> None:
    """Have had the memory that a fit may ask for.

    A virtual machine gets its memory from its host when it is touched for the first time, for
    seconds a GiB. That is no matter of solvers, whose fits would pay for it by their order.
    """
    np.ones(size_mb * MEBIBYTE // 8)


def quiet_load() -> float:
    """Wait until the machine is quiet, but not for ever; return how many processors are busy."""
    begin = time.monotonic()
    while (load := busy_processors(_LOOK)) >= _QUIET:
        patient = time.monotonic() - begin < _PATIENCE
        print(f"load {load:.2f}, {'waiting' if patient else 'measuring all the same'}", flush=True)
        if not patient:
            break
    return round(load, 2)


def in_a_process(
    work: Callable[[dict[str, Any]], Any], job: dict[str, Any]
) -> tuple[list[Any], bool]:
    """Do a job in a fresh process.

    Parameters
    ----------
    work : callable
        A function of a module.
    job : dict
        What it takes, as JSON has it; its ``environment``, if it has one, are more variables of the
        process, and ``timeout`` are seconds after which that is ended.

    Returns
    -------
    tuple of (list, bool)
        What it returned or yielded, and whether it came to its end within the timeout.
    """
    command = [sys.executable, "-m", "experiments._measure", work.__module__, work.__name__]
    command.append(json.dumps(job))
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | job.get("environment", {}),
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=job.get("timeout"))
    except BaseException as error:
        # All of its session, as a worker that fits does not notice that nobody waits any more.
        os.killpg(process.pid, signal.SIGKILL)
        printed, _ = process.communicate()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
    else:
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
    # The line in which a process was ended is torn, unless it was over.
    lines = [line for line in printed.splitlines() if line[:1] + line[-1:] in ("{}", "[]")]
    return [json.loads(line) for line in lines], process.returncode == 0


def _main(module: str, name: str, job: str) -> None:
    found = getattr(importlib.import_module(module), name)(json.loads(job))
    for each in found if isinstance(found, Generator) else [found]:
        print(json.dumps(plain(each)), flush=True)


if __name__ == "__main__":
    _main(*sys.argv[1:])
