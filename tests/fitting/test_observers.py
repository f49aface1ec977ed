"""The progress bar: in place where somebody looks, else one line, full at its end."""

import io
import re
import sys
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from kpegasos import LinearPegasosSVC, PegasosSVC, PegasosSVCCV
from kpegasos.fitting.observers import cell_bar
from kpegasos.utils import progress
from kpegasos.utils.patience import count

X, y = make_blobs(90, centers=3, cluster_std=3.0, random_state=0)
FITS = pytest.mark.parametrize(
    "model",
    [
        PegasosSVC(epochs=3),
        PegasosSVC(polish=True, fit_intercept="free", tol=1e-3),
        LinearPegasosSVC(epochs=3, n_jobs=2),
        PegasosSVCCV(Cs=[1.0], gammas=[1.0], cv=2),
    ],
    ids=["plain", "polished", "linear", "search"],
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Broken(Terminal):
    def write(self, text):
        raise OSError("No space left on device")


@FITS
def test_bar_that_nobody_looks_at_is_one_line_and_changes_no_model(model, capsys):
    model = clone(model).set_params(random_state=0)
    expected = clone(model).fit(X, y).decision_function(X)
    assert capsys.readouterr().out == ""
    model.set_params(verbose=True).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), expected)
    bars = capsys.readouterr().out.splitlines()  # of a search, and of its last fit
    assert bars
    assert all("100%" in bar and "Pegasos" in bar for bar in bars)
    assert re.search(r"gap \d", bars[-1])
    assert ("kernel values" in bars[-1]) == hasattr(model, "kernel")


@FITS
@pytest.mark.parametrize("stream", [Broken(), None], ids=["full disk", "none"])
def test_bar_does_not_cost_the_model(model, stream, monkeypatch):
    monkeypatch.setattr(sys, "stdout", stream)
    clone(model).set_params(random_state=0, verbose=True).fit(X, y)


def test_line_on_a_terminal_changes_in_place(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    stream, text = Terminal(), ["x" * 60]
    with progress.shown(lambda: text[0], stream):
        end = time.monotonic() + 60.0
        while not stream.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
        text[0] = progress.bar(1.0)
    first, *_, last = stream.getvalue().removeprefix("\r").split("\r")
    assert first == "x" * 39
    assert last.startswith(f"[{'#' * 20}] 100% 0:")
    assert (len(last), last[-1]) == (40, "\n")


def test_bar_is_drawn_by_its_share():
    assert progress.bar(0.0) == f"[{'.' * 20}]   0%"
    assert progress.bar(0.26) == f"[{'#' * 5}{'.' * 15}]  26%"


@pytest.mark.parametrize(("done", "values", "share"), [(0, 30, 30), (0, 500, 95), (1, 30, 50)])
def test_bar_of_a_search_moves_before_a_first_cell_is_done(capsys, done, values, share):
    """It stood at 0% for a minute and a half."""
    with cell_bar(True, "search", 2, values=100.0) as advance:
        count(values)
        advance(done)
    assert f"{share}% {done}/2 cells" in capsys.readouterr().out
