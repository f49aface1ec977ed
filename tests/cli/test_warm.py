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

X = np.random.default_rng(1).normal(size=(2500, 2))
with event.install_recorder("numba:compile") as compiled:
    for name, n, options in (
        ("PegasosSVC", 500, {}),
        ("PegasosSVC", 500, {"polish": True}),
        ("PegasosSVCCV", 500, {"Cs": [0.1, 1.0], "gammas": 2}),
        ("LinearPegasosSVC", 500, {"polish": True}),
        ("PegasosSVC", 2500, {"polish": True}),
    ):
        model = getattr(kpegasos, name)(random_state=0, **options)
        model.fit(X[:n], X[:n, 0] > 0).predict(X[:n])
for _, each in compiled.buffer:
    print(each.data["dispatcher"].py_func.__qualname__)
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
