"""A process that compiles everything anew, and Ctrl-C while it does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

from kpegasos import PegasosSVC

_COMPILED_FIRST = """
import sys, numpy as np
from kpegasos import PegasosSVC
X = np.random.default_rng(0).normal(size=(60, 3)); y = X[:, 0] > 0
print("begun", flush=True)
model = PegasosSVC(gamma=0.5, random_state=0, epochs=1)
try:
    model.fit(X, y)
    model.set_params(n_steps=10**9, max_time=60.0).fit(X, y)
except KeyboardInterrupt:
    print("interrupted", flush=True)
assert not hasattr(model, "alpha_") or np.isfinite(model.decision_function(X)).all()
model.set_params(n_steps=None, max_time=None).fit(X, y)
print(np.abs(model.decision_function(X)).sum(), flush=True)
"""


def interrupt_compilation(rng: np.random.Generator) -> str:
    """Ctrl-C in the first compilation of all leaves functions that can be compiled again."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        with subprocess.Popen(
            [sys.executable, "-c", _COMPILED_FIRST], env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        ) as child:  # fmt: skip
            assert child.stdout is not None
            assert child.stdout.readline() == "begun\n"
            for _ in range(int(rng.integers(1, 3))):
                time.sleep(float(rng.uniform(0.1, 5.0)))
                child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=300)
    lines = out.split()
    if child.returncode != 0:  # the second press came after the fits, or in the last of them
        assert child.returncode in (1, -signal.SIGINT), (child.returncode, out, err)
        assert lines[0] == "interrupted"
        assert len(lines) == 2 or err.rstrip().splitlines()[-1].startswith("KeyboardInterrupt"), err
        return "first compilation: stopped twice"
    assert lines[0] == "interrupted"
    X = np.random.default_rng(0).normal(size=(60, 3))
    fresh = PegasosSVC(gamma=0.5, random_state=0, epochs=1).fit(X, X[:, 0] > 0)
    assert lines[1] == str(np.abs(fresh.decision_function(X)).sum())
    return "first compilation: stopped"
