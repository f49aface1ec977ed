"""``kpegasos tune``: the search is that of `PegasosSVCCV`; what it prints, writes and keeps."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import sys

import numpy as np
import pytest
from cli_cases import blobs, write_blobs
from search_cases import after_cells
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from kpegasos import PegasosSVC, PegasosSVCCV, load, save
from kpegasos.cli import tune

VALUES = ["--C", "2^-1:3:2", "--gamma", "0.02,0.2", "-v", "3"]


@pytest.fixture
def data(tmp_path):
    return write_blobs(tmp_path / "blobs.svm")


def search_of(X, y, **changed):
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    settings = {"Cs": [0.5, 2.0, 8.0], "gammas": [0.02, 0.2], "cv": folds, "random_state": 0}
    return PegasosSVCCV(**{**settings, **changed}).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_search_and_model_are_those_of_the_estimator(tmp_path, kpegasos, n_classes):
    data = write_blobs(tmp_path / "data", n_classes)
    best, cells, fitted = kpegasos("tune", data, "best.skops", *VALUES).out.splitlines()
    X, y = blobs(n_classes)
    expected = search_of(X, y)
    C, gamma, rate = best.split()
    assert {"C": float(C), "gamma": float(gamma)} == expected.best_params_
    assert float(rate) == pytest.approx(100 * expected.best_score_, rel=1e-5)
    assert cells.startswith("18 cells, each within ")
    size = expected.best_estimator_.support_.size
    assert re.fullmatch(rf".* within .*% .* \(certified\), {size} support vectors, .* s", fitted)
    found = load("best.skops").decision_function(X)
    np.testing.assert_allclose(found, expected.decision_function(X))


SCALERS = {"standard": StandardScaler(), "minmax": MinMaxScaler((-1, 1)), "maxabs": MaxAbsScaler()}


def test_settings_are_those_of_the_search(data, kpegasos):
    X, y = blobs()
    log2 = ["-log2c", "-1,3,2", "-log2g", "-2,-6,-2", "-v", "3", "--metric", "f1"]
    best = kpegasos("tune", data, "best.model", *log2).out.split()
    expected = search_of(X, y, gammas=[2.0**-2, 2.0**-4, 2.0**-6], scoring="f1")
    assert [float(each) for each in best[:2]] == list(expected.best_params_.values())
    assert float(best[2]) == pytest.approx(expected.best_score_, 1e-5)
    read = PegasosSVC.from_libsvm("best.model").decision_function(X)
    np.testing.assert_allclose(read, expected.decision_function(X), atol=1e-9)
    cases = [(["--scale", kind], scaler.fit_transform(X), None) for kind, scaler in SCALERS.items()]
    for words, Z, weight in (*cases, (["--balanced"], X, "balanced"), (["-w1", "5"], X, {1: 5.0})):
        assert kpegasos("tune", data, "m", *VALUES, *words, "-q").status == 0
        decisions = search_of(Z, y, class_weight=weight).decision_function(Z)
        np.testing.assert_allclose(load("m").decision_function(X), decisions)


def test_json_has_every_cell(data, kpegasos):
    command = ("tune", data, "m.skops", *VALUES, "--results", "cells.csv", "--json")
    told, expected = json.loads(kpegasos(*command).out), search_of(*blobs())
    assert told["best_parameters"] == expected.best_params_
    means = expected.cv_results_["mean_test_score"].tolist()
    assert [cell["mean_score"] for cell in told["cells"]] == pytest.approx(means)
    assert (told["status"], told["n_folds"], told["n_missing"]) == ("completed", 3, 0)
    assert told["model"]["n_support"] == expected.support_.size
    with open("cells.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [name for name in expected.cv_results_ if name != "params"]
    for name in ("param_C", "param_gamma", "mean_test_score", "max_relative_gap"):
        assert [float(row[name]) for row in rows] == pytest.approx(list(expected.cv_results_[name]))


PICTURES = {
    "surface.png": (b"\x89PNG", VALUES),
    "path.svg": (b"<?xml", ["--kernel", "linear", "-v", "3"]),
    "path.pdf": (b"%PDF", ["--gamma", "0.1", "--C", "1,2", "-v", "3"]),
}


@pytest.mark.parametrize("name", PICTURES)
def test_picture_is_drawn(data, kpegasos, tmp_path, name):
    head, values = PICTURES[name]
    assert kpegasos("tune", data, *values, "--plot", name, "-q").status == 0
    assert (tmp_path / name).read_bytes().startswith(head)


def test_table_is_for_terminals(data, kpegasos, monkeypatch):
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(type(stream), "isatty", lambda self: True)
    ran = kpegasos("tune", data, *VALUES)
    titles, best, *others = ran.out.splitlines()
    assert titles.split("  ")[-1] == "support"
    expected = search_of(*blobs())
    assert [float(word) for word in best.split()[:2]] == list(expected.best_params_.values())
    assert best.split()[2] == f"{100 * expected.best_score_:.4g}"
    assert len(others) == 5 + 2
    assert "18/18 cells" not in ran.out
    assert "18/18" in ran.err


@pytest.mark.parametrize(
    ("kernel", "n_values"), [("linear", 1), ("poly", 4), ("sigmoid", 3), ("cosine", 1)]
)
def test_best_line_has_the_values_that_the_kernel_has(data, kpegasos, kernel, n_values):
    values = ["--C", "1", "--gamma", "0.1", "--degree", "2", "--coef0", "-0.5,0"]
    values = values if kernel == "sigmoid" else values[:-2]
    ran = kpegasos("tune", data, "--kernel", kernel, *values, "-v", "3", "--strict")
    best, certified = ran.out.splitlines()
    assert len(best.split()) == n_values + 1
    assert best.startswith("1.0 ")
    # The sigmoid kernel is not positive semi-definite: there is no gap to be certified.
    assert ran.status == (3 if kernel == "sigmoid" else 0)
    assert ("no certified gaps" in certified) == (kernel == "sigmoid")


# --- what is stopped, and goes on ---


@pytest.mark.usefixtures("default_handler")
@pytest.mark.parametrize("n_cells", [2, 9])
def test_interrupted_search_is_kept_and_goes_on(data, tmp_path, kpegasos, monkeypatch, n_cells):
    model = tmp_path / "best.skops"
    command = ["tune", data, model, *VALUES, "--jobs", "1", "--resume", "kept"]
    with monkeypatch.context() as patch:
        after_cells(patch, n_cells, lambda stopper: os.kill(os.getpid(), signal.SIGINT))
        ran = kpegasos(*command)
    assert ran.status == 130
    missing = int(re.search(r"with (\d+) of 18 cells missing, kept has what is done", ran.err)[1])
    assert 0 < missing < 18
    assert f"{18 - missing} of 18 cells" in ran.out
    assert not model.exists()
    seen = []
    after_cells(monkeypatch, 1, lambda stopper: seen.append("a cell"))
    best = kpegasos(*command).out.splitlines()[0]
    assert seen
    assert model.exists()
    seen.clear()
    assert kpegasos(*command).out.splitlines()[0] == best  # nothing is left to do
    assert not seen
    assert kpegasos("tune", data, *VALUES).out.splitlines()[0] == best


@pytest.mark.usefixtures("default_handler")
def test_limits_and_late_interrupts_leave_what_is_reached(data, kpegasos, monkeypatch):
    command = ["tune", data, *VALUES, "--jobs", "1", "--resume", "kept"]
    with monkeypatch.context() as patch:
        after_cells(patch, 9, lambda stopper: setattr(stopper, "deadline", 0.0))
        ran = kpegasos(*command, "--max-time", "100", "--strict")
    assert ran.status == 3
    said = r"kpegasos tune: .* stopped by max_time with \d+ of 18 cells .*\n"
    assert re.fullmatch(said, ran.err)
    assert kpegasos(*command).status == 0
    ran = kpegasos("tune", data, *VALUES, "--max-time", "1e-9")
    assert ran.status == 1
    assert "--max-time was too short" in ran.err
    fit = PegasosSVC.fit

    def stopped(self, *arguments):
        fit(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(PegasosSVC, "fit", stopped)
    assert kpegasos("tune", data, "best.skops", *VALUES).status == 130
    assert load("best.skops").predict(blobs()[0]).shape == (120,)


def test_other_search_is_not_gone_on_from(data, tmp_path, kpegasos, refusal):
    kept = tmp_path / "kept"
    assert kpegasos("tune", data, *VALUES, "--resume", kept).status == 0
    before = kept.read_bytes()
    other = write_blobs(tmp_path / "other", n_samples=121)
    for words in ("--C 1,2", "--seed 1", "--tol 0.1", "--metric f1", "--scale standard", other):
        arguments = [other] if words == other else [data, *words.split()]
        sentence = refusal("tune", *VALUES, *arguments, "--resume", kept)
        assert sentence.startswith(f"{kept}: holds another search")
    assert kept.read_bytes() == before
    save(PegasosSVC().fit(*blobs()), tmp_path / "a.model")
    save(search_of(*blobs()), tmp_path / "a.search")
    (tmp_path / "a.text").write_text("a letter")
    for name in ("a.model", "a.search", "a.text"):
        before = (tmp_path / name).read_bytes()
        assert name in refusal("tune", data, *VALUES, "--resume", name)
        assert (tmp_path / name).read_bytes() == before


# --- values to search, as words of a command line ---


WORDS = [
    (tune.numbers, "0.1,1,10", [0.1, 1.0, 10.0]),
    (tune.numbers, "2^-5:15:2", [2.0**k for k in range(-5, 16, 2)]),
    (tune.numbers, "10^1:-1", [10.0, 1.0, 0.1]),
    (tune.numbers, "2^0:2:1,100", [1.0, 2.0, 4.0, 100.0]),
    (tune.numbers, "10^0:1:0.1", [10.0 ** (k * 0.1) for k in range(11)]),
    # Decimal powers are the numbers that are written.
    (tune.numbers, "10^-30:30:1", [float(f"1e{k}") for k in range(-30, 31)]),
    (tune.gammas, "scale,2^-1:1:1,auto", ["scale", 0.5, 1.0, 2.0, "auto"]),
    (tune.degrees, "2^0:2", [1, 2, 4]),
    (tune.log2_of_C, "-5,15,2", [2.0**k for k in range(-5, 16, 2)]),
    (tune.log2_of_C, "-1,2,2", [0.5, 2.0]),  # the end is not met
    (tune.log2_of_C, "null", [1.0]),
    (tune.log2_of_gamma, "null", ["auto"]),
]


@pytest.mark.parametrize(("read", "text", "values"), WORDS)
def test_values_are_lists_and_powers(read, text, values):
    assert [repr(value) for value in read(text)] == [repr(value) for value in values]
