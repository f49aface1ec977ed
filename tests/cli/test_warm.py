"""``kpegasos warm``: what it has compiled, no process compiles again."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kpegasos.cli import warm

ROOT = Path(__file__).resolve().parents[2]
#: Each estimator with each loss, on both storages, with each intercept, polished and not; few rows.
FITS = """
import warnings
import numpy as np
from scipy import sparse
import kpegasos
from kpegasos.losses.standard import CLASSIFICATION, REGRESSION

warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
X = rng.normal(size=(150, 4))
X[np.abs(X) < 0.3] = 0.0
classes, numbers = (X[:, 0] > 0).astype(int), X[:, 0]
KINDS = {"PegasosSVC": CLASSIFICATION, "LinearPegasosSVC": CLASSIFICATION}
KINDS |= {"PegasosSVR": REGRESSION, "LinearPegasosSVR": REGRESSION}
for rows in (X, sparse.csr_matrix(X)):
    for name, losses in KINDS.items():
        y = numbers if name.endswith("SVR") else classes
        for loss in losses:
            for intercept in (True, "free", False):
                for polish in (True, False):
                    model = getattr(kpegasos, name)(loss=loss, fit_intercept=intercept)
                    model.set_params(polish=polish, random_state=0).fit(rows, y).predict(rows)
        few = [int(np.argmin(y)), int(np.argmax(y)), 5]
        for n in (2, 3):
            kind = getattr(kpegasos, name)(polish=True, random_state=0)
            kind.fit(rows[few[:n]], y[few[:n]]).predict(rows)
    kpegasos.PegasosSVCCV([1.0, 10.0], gammas=2, cv=3).fit(rows, classes).predict(rows)
    kpegasos.PegasosSVC(polish=True, tol=1e-5).fit(rows, classes).is_certified(rows)
large = rng.normal(size=(2500, 5))
for model in (kpegasos.PegasosSVC(polish=True), kpegasos.PegasosSVR(polish=True)):
    model.fit(large, (large[:, 0] > 0).astype(int)).predict(large)
"""
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples():
    """Code of the README, of each page, and of the gallery, by the names of their files."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        if blocks := BLOCK.findall(page.read_text(encoding="utf-8")):
            yield page.name, "\n".join(blocks)
    for path in sorted((ROOT / "docs" / "examples").glob("plot_*.py")):
        yield path.name, path.read_text(encoding="utf-8")
    yield "each loss and storage", FITS


#: Runs code by its name, and tells what each has compiled.
RUNNER = """
import json, os, sys
from pathlib import Path
from matplotlib import pyplot

def kept():
    return {path.name for path in Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbc")}

before, compiled, stdout = kept(), {}, sys.stdout
sys.stdout = sys.stderr
for name, code in json.load(open("code.json")).items():
    exec(code, {"__name__": "__main__"})
    pyplot.close("all")
    before, found = kept(), kept() - before
    compiled |= {name: sorted(found)} if found else {}
print(json.dumps(compiled), file=stdout)
"""


@pytest.mark.slow
def test_what_is_warm_is_not_compiled_again(tmp_path):
    """Squared hinge, free intercepts, sparse rows and two rows were."""
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "MPLBACKEND": "Agg"}
    (tmp_path / "code.json").write_text(json.dumps(dict(examples())))
    told = []
    for command in (["-m", "kpegasos", "warm", "-q"], ["-W", "ignore", "-c", RUNNER]):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        told.append(done.stdout)
    assert len([*tmp_path.rglob("*.nbc")]) > 100
    assert told[0] == ""
    assert json.loads(told[1]) == {}


def test_every_kind_of_fit_is_made(kpegasos, monkeypatch):
    made = []
    monkeypatch.setattr(warm, "fit", made.append)
    monkeypatch.setattr(warm, "ProcessPoolExecutor", lambda *_: ThreadPoolExecutor(1))
    ran = kpegasos("warm", "--quiet")
    assert (ran.status, ran.out, ran.err) == (0, "", "")
    assert made == list(range(len(warm.FITS)))
