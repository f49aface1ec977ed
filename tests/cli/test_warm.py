"""``kpegasos warm``: what it has compiled, no process compiles again."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from kpegasos.cli import warm

COUNTED = """
import numba.core.event as event
import numpy as np
import kpegasos

class Listener(event.Listener):
    def on_start(self, event):
        print(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
rng = np.random.default_rng(1)
X = rng.normal(size=(500, 2))
for name, options in (
    ("PegasosSVC", {}),
    ("PegasosSVC", {"polish": True}),
    ("PegasosSVCCV", {"Cs": [0.1, 1.0], "gammas": 2}),
    ("LinearPegasosSVC", {"polish": True}),
):
    getattr(kpegasos, name)(random_state=0, **options).fit(X, X[:, 0] > 0).predict(X)
X = rng.normal(size=(2500, 2))
kpegasos.PegasosSVC(polish=True, random_state=0).fit(X, X[:, 0] > 0).predict(X)
"""


@pytest.mark.slow
def test_what_is_warm_is_not_compiled_again(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for command in (["-m", "kpegasos", "warm", "-q"], ["-c", COUNTED]):
        done = subprocess.run(
            [sys.executable, *command], env=environment, capture_output=True, text=True, check=True
        )
        assert (done.stdout, done.stderr) == ("", "")


def test_every_fit_of_a_kind_is_made(kpegasos, monkeypatch):
    made = []
    monkeypatch.setattr(warm, "fit", made.append)
    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", lambda *_: ThreadPoolExecutor(1))
    ran = kpegasos("warm", "--quiet")
    assert (ran.status, ran.out, ran.err) == (0, "", "")
    assert made == list(range(len(warm.FITS)))
