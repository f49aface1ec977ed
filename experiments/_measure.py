"""Seconds, peak memory, and processes of their own for what is measured.

``python -m experiments._measure MODULE FUNCTION JOB`` calls a function of an experiment with a job,
a JSON object, and prints what it returns as a line of JSON.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np

from experiments._results import Row
from experiments._run import load, plain


def timed(work: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[float, Any]:
    """Return the seconds of a call, and what it returns."""
    begin = time.perf_counter()
    result = work(*args, **kwargs)
    return time.perf_counter() - begin, result


class Memory:
    """Peak of the resident memory while a block runs, of this process and its children, on Linux.

    Pages that processes share are counted for each of them.
    """

    def __enter__(self) -> Memory:
        self.before = self._peak(reset=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.peak = self._peak()

    def _peak(self, reset: bool = False) -> float:
        """Return MiB, of now on if Linux is to forget the peaks so far."""
        import psutil

        own = psutil.Process()
        total = 0
        for process in (own, *own.children(recursive=True)):
            with suppress(OSError):  # it has ended since, or the system keeps no peak
                folder = Path(f"/proc/{process.pid}")
                if reset:
                    (folder / "clear_refs").write_text("5")
                total += int(re.findall(r"VmHWM:\s*(\d+)", (folder / "status").read_text())[0])
        return total / 1024

    def columns(self) -> Row:
        """Return MiB more than before, and in all."""
        return {"extra_mb": self.peak - self.before, "peak_mb": self.peak}


def repeated(
    work: Callable[[], Any], times: int, budget: float = np.inf, *, weighed: bool = False
) -> tuple[list[float], Any, Row]:
    """Repeat a call, as often and as many seconds as told at the most.

    Returns
    -------
    tuple of (list of float, object, dict)
        Seconds of all calls, the last result, and columns of memory of the first if it is weighed.
    """
    seconds: list[float] = []
    memory: Row = {}
    while len(seconds) < times and sum(seconds) < budget:
        with Memory() if weighed and not seconds else nullcontext() as watch:
            taken, result = timed(work)
        seconds.append(taken)
        memory = watch.columns() if watch else memory
    return seconds, result, memory


def touch_memory(size_mb: int = 2048) -> None:
    """Have had the memory that a fit may ask for, as a virtual machine is slow to give it first."""
    np.ones(size_mb << 17)


def apart(work: Callable[[Row], Any], job: Row) -> Any:
    """Do a job in a fresh process.

    Parameters
    ----------
    work : callable
        A function of an experiment, or of this module.
    job : dict
        What it takes, as JSON has it; its ``environment``, if it has one, are more variables of the
        process, and ``timeout`` are seconds after which that is ended.

    Returns
    -------
    object
        What it returned, an empty dictionary after the timeout.
    """
    command = [sys.executable, "-m", "experiments._measure", work.__module__, work.__name__]
    process = subprocess.Popen(
        [*command, json.dumps(job)],
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
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            return {}
        raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return json.loads(printed.splitlines()[-1])


if __name__ == "__main__":
    module, function, given = sys.argv[1:]
    name = module.removeprefix("experiments.")
    found = getattr(load(name), function)(json.loads(given))
    print(json.dumps(plain(found)), flush=True)
