"""One Ctrl-C ends a script: no other of its fits begins."""

import subprocess
import sys
import time

import pytest

PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, cross_val_score
from kpegasos import LinearPegasosSVC

X, y = make_blobs(600, centers=2, n_features=5, cluster_std=3.0, random_state=0)
LinearPegasosSVC(epochs=1).fit(X, y)

def press():
    while signal.getsignal(signal.SIGINT) is signal.default_int_handler and "jobs" not in sys.argv:
        time.sleep(0.005)
    time.sleep(3.0 if "jobs" in sys.argv else 0.2)
    os.kill(os.getpid(), signal.SIGINT)

slow = LinearPegasosSVC(n_steps=10**9, max_time=40.0, checkpoints=None, random_state=0)
threading.Thread(target=press, daemon=True).start()
begin = time.perf_counter()
print("begun", flush=True)
"""
CALLS = {
    "loop": "for _ in range(4): slow.fit(X, y); print('one is done', flush=True)",
    "cross_val_score": "cross_val_score(slow, X, y, cv=4); print('is done', flush=True)",
    "search": "GridSearchCV(slow, {'C': [1, 2]}, cv=2).fit(X, y); print('is done', flush=True)",
    "jobs": "cross_val_score(slow, X, y, cv=4, n_jobs=2); print('is done', flush=True)",
}


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_stops_what_runs_fits(call):
    """One press ends a script: neither the next of its fits, nor the next fold, begins."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + CALLS[call], call],
        capture_output=True,
        text=True,
        timeout=90,
        start_new_session=True,
    )
    assert done.stdout == "begun\n"
    assert "KeyboardInterrupt" in done.stderr
    assert done.returncode != 0
    assert time.perf_counter() - begin < 36.0
