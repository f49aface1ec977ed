"""A damaged model or matrix gives a result or one clear sentence; it neither crashes nor floods.

Arrays within real model files, of fitted models in memory and of sparse matrices of all formats are
edited: values, shapes, types, indices. Small files name columns that would take all memory. Cases
run in a process of their own, which goes on until one of them ends it.
"""

import atexit
import select
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

CI_TRIALS = 60
#: Seconds for a case, of which most take some hundredths; some compile.
TIME_LIMIT = 90
#: Seconds in which all models are fitted, with whatever has to be compiled for them.
START_LIMIT = 600
_ROOT = Path(__file__).parents[2]
_workers: list[subprocess.Popen] = []


def _worker() -> subprocess.Popen:
    if not _workers or _workers[0].poll() is not None:
        _workers[:] = [
            subprocess.Popen(
                [sys.executable, "-X", "faulthandler", "-m", "tests.campaigns._damaged_job"],
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        ]
        _answer(_workers[0], START_LIMIT)
    return _workers[0]


def _answer(worker: subprocess.Popen, limit: float) -> str:
    """The next line of the process, which may have to say where it is instead."""
    if not select.select([worker.stdout], [], [], limit)[0]:
        worker.send_signal(signal.SIGABRT)
    answer: str = worker.stdout.readline()
    if not answer:
        said = worker.stderr.read().partition("Extension modules")[0]
        raise AssertionError(f"the process ended with {worker.wait()}: {said}")
    return answer


@atexit.register
def _end() -> None:
    for worker in _workers:
        worker.kill()


def trial(rng: np.random.Generator) -> str:
    """Have a case of this generator tried elsewhere."""
    worker = _worker()
    print(int(rng.integers(2**62)), file=worker.stdin, flush=True)
    kind, _, rest = _answer(worker, TIME_LIMIT).strip().partition(" ")
    assert kind == "fine", rest.encode().decode("unicode_escape")
    return rest
