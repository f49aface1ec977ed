"""The progress bar: in place where somebody looks, else one line, full at its end."""

import io
import re
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVCCV, PegasosSVR
from kpegasos.fitting import observers as progress
from kpegasos.fitting.observers import cell_bar, progress_bar
from kpegasos.solvers.result import History, Record
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


@pytest.mark.filterwarnings("ignore:.*predicts the same for all")
@pytest.mark.parametrize("regression", [PegasosSVR, LinearPegasosSVR])
def test_bar_of_an_objective_of_zero_is_no_division(regression, capsys):
    """One target is on the edge of the tube, so that its loss of zero may be rounded."""
    model = regression(verbose=True).fit([[0.0], [1.0], [2.0]], [0.0, 0.1, -0.1])
    assert model.objective_ == 0.0
    assert "gap inf%" in capsys.readouterr().out


@FITS
@pytest.mark.parametrize("stream", [Broken(), None], ids=["full disk", "none"])
def test_bar_does_not_cost_the_model(model, stream, monkeypatch):
    monkeypatch.setattr(sys, "stdout", stream)
    clone(model).set_params(random_state=0, verbose=True).fit(X, y)


def test_line_on_a_terminal_changes_in_place(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    stream, text = Terminal(), ["x" * 60]
    with progress.shown(lambda time: f"{text[0]} {time}", stream):
        end = time.monotonic() + 60.0
        while not stream.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
        text[0] = progress.bar(1.0)
    first, *_, last = stream.getvalue().removeprefix("\r").split("\r")
    assert first == "x" * 39
    assert last.startswith(f"[{'#' * 20}] 100% 0:")
    assert (len(last), last[-1]) == (40, "\n")


@pytest.mark.parametrize(("done", "values", "share"), [(0, 30, 30), (0, 500, 95), (1, 30, 50)])
def test_bar_of_a_search_moves_before_a_first_cell_is_done(capsys, done, values, share):
    """It stood at 0% for a minute and a half."""
    with cell_bar(True, "search", 2, values=100.0) as advance:
        count(values)
        advance(done)
    assert f"{share}% {done}/2 cells" in capsys.readouterr().out


def test_bar_moves_between_checkpoints_and_tells_the_time_left(monkeypatch):
    """It stood at 0%, and was full after Ctrl-C."""
    stream, now = Terminal(), SimpleNamespace(monotonic=lambda: 20.0, sleep=time.sleep)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(progress, "time", now)
    run = SimpleNamespace(progress=0.0, history=History())
    other = SimpleNamespace(progress=0.0, history=History())

    def line_with(text):
        end = time.monotonic() + 60.0
        while text not in (line := stream.getvalue().rpartition("\r")[2]):
            assert time.monotonic() < end, line
            time.sleep(0.01)
        return line

    with progress_bar(True, "fit", 2) as update:
        now.monotonic = lambda: 50.0
        update(0, run, 0.0, 1.0)
        update(1, other, 0.0, 1.0)
        run.progress = 0.5
        assert "gap ? 0:30, 1:30 left" in line_with(" 25%")
        record = Record(1, 1.0, 0.0, 2.0, 2.0, 1.0, 0.5, 0.25, 0.1, 1, 0, 0)
        other.history.append(record)
        update(1, other, 0.3, 0.0)
        line_with(" 40% gap 30.00%")
    last = stream.getvalue().rpartition("\r")[2]
    assert " 40% gap 30.00% 0:30 " in last
    assert "left" not in last


@pytest.mark.parametrize("options", [{}, {"polish": True, "tol": 1e-12}], ids=str)
def test_bar_of_a_fit_that_is_cut_short_is_not_full(options, capsys):
    model = PegasosSVC(n_steps=10**7, max_time=0.05, verbose=True, random_state=0, **options)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model.fit(X, y)
    line = capsys.readouterr().out
    assert "100%" not in line
    assert f"gap {model.relative_gap_.max():.2%}" in line
