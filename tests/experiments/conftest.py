"""A folder with one small experiment, and what running it leaves behind."""

import importlib
import json
import sys

import pytest

import experiments
from experiments import _results
from experiments.__main__ import main

SOURCE = '''"""A line through the origin.

Not the first line.
"""
import os

import matplotlib.pyplot as plt
import numpy as np

from experiments._results import OURS, Claim, mark

N_ROWS, QUICK_ROWS = 4, 3
SEEDS = (0, 1, 2)
LAST_SEED = SEEDS[-1]


def part(i):
    with open(os.environ["FAKE_LOG"], "a") as file:
        file.write(f"part{i}\\n")
    if i == 2 and os.environ.get("FAKE_TROUBLE"):
        raise {"error": RuntimeError, "interrupt": KeyboardInterrupt}[os.environ["FAKE_TROUBLE"]]
    return {"x": i, "y": np.float64(i) / 3}


def compute(context):
    n = QUICK_ROWS if context.quick else N_ROWS
    rows = [context.part(f"row{i}", part, i) for i in range(n)]
    return {
        "table": rows,
        "curve": np.linspace(0, 1, 3),
        "matrix": np.eye(2, dtype=int),
        "gap": np.inf,
        "seeds": list(SEEDS),
        "last_seed": LAST_SEED,
        7: True,
    }


def claims(results):
    last = results["curve"][-1]
    return [
        Claim("It rises.", "Zhou", f"It ends at {last:.1f}.", mark(last > 0), "✓ if above 0."),
        Claim("It is ours.", OURS, f"It ends at {last:.1f} too."),
    ]


def plot(results):
    assert results["gap"] is None and results["7"] is True
    fig, ax = plt.subplots()
    ax.plot([row["x"] for row in results["table"]], [row["y"] for row in results["table"]], "o-")
    ax.set(title="Ünïcode λ $x^2$")
    return fig
'''


class Bench:
    """A root with one experiment, and what it left behind."""

    source = SOURCE

    def __init__(self, root, monkeypatch):
        self.root = root
        self.folder = root / "experiments"
        self.folder.mkdir()
        self.module = self.folder / "line.py"
        self.write(SOURCE)
        (self.folder / "_helper.py").write_text("raise ImportError\n")
        self.log = root / "log"
        monkeypatch.setenv("FAKE_LOG", str(self.log))
        monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(self.folder)])

    def write(self, source):
        self.module.write_text(source)
        importlib.invalidate_caches()
        sys.modules.pop("experiments.line", None)
        _results.document.cache_clear()

    def __call__(self, *argv):
        _results.document.cache_clear()
        return main([str(arg) for arg in argv], root=self.root)

    def parts(self):
        """Return the parts computed since the last call."""
        words = self.log.read_text().split() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return words

    def results(self, folder="experiments/results"):
        return json.loads((self.root / folder / "line.json").read_text())

    def partial(self):
        return list((self.root / "build" / "partial").glob("*"))


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Return a root with one experiment."""
    monkeypatch.delenv("KPEGASOS_EXPERIMENT_SETTINGS", raising=False)
    yield Bench(tmp_path, monkeypatch)
    sys.modules.pop("experiments.line", None)
