"""A folder with one small experiment, and what running it leaves behind."""

import json

import pytest

from experiments.__main__ import main

SOURCE = '''"""A line through the origin.

Not the first line.
"""
import os

import matplotlib.pyplot as plt
import numpy as np

from experiments._claims import Claim

FULL_TIME = "2 s"
QUICK_TIME = "1 s"

N_ROWS, QUICK_ROWS = 4, 3
SEEDS = (0, 1, 2)
LAST_SEED = SEEDS[-1]


def log(word):
    with open(os.environ["FAKE_LOG"], "a") as file:
        file.write(word + "\\n")


class Interrupted(KeyboardInterrupt):
    result = {"x": -1}


def part(i):
    log(f"part{i}")
    if i == 2:
        what = os.environ.get("FAKE_TROUBLE")
        if what == "error":
            raise RuntimeError("trouble")
        if what == "interrupt":
            raise KeyboardInterrupt
        if what == "interrupted fit":  # raises with what it has so far
            raise Interrupted
    return {"x": i, "y": np.float64(i) / 3}


def compute(context):
    n = QUICK_ROWS if context.quick else N_ROWS
    rows = [context.part(f"row{i}", lambda i=i: part(i)) for i in context.progress(n, "rows")]
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
    return [Claim("A line is straight.", "Karthik", "It is.", "✓", "✓ always.")]


def plot(results):
    assert results["gap"] is None and results["7"] is True
    fig, ax = plt.subplots()
    ax.plot([row["x"] for row in results["table"]], [row["y"] for row in results["table"]], "o-")
    ax.fill_between(results["curve"], 0, 1, alpha=0.2, hatch="/")
    ax.set(title="Ünïcode λ $x^2$")
    return fig
'''


class Bench:
    """A folder with one experiment, and what it left behind."""

    source = SOURCE

    def __init__(self, root, monkeypatch):
        self.root = root
        self.folder = root / "experiments"
        self.folder.mkdir()
        self.module = self.folder / "line.py"
        self.module.write_text(SOURCE)
        (self.folder / "_helper.py").write_text("raise ImportError\n")
        self.log = root / "log"
        monkeypatch.setenv("FAKE_LOG", str(self.log))

    def __call__(self, *argv):
        return main([str(arg) for arg in argv], folder=self.folder, root=self.root)

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
    """Return a folder with one experiment."""
    return Bench(tmp_path, monkeypatch)


@pytest.fixture
def troubled(bench, monkeypatch):
    """Return a folder whose experiment has failed in its third part."""
    monkeypatch.setenv("FAKE_TROUBLE", "error")
    with pytest.raises(RuntimeError, match="trouble"):
        bench("line")
    return bench
