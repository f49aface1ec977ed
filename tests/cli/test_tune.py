"""``kpegasos tune``: the search is that of `PegasosSVCCV`; what it prints and writes."""

import json
import os
import re
import signal

import numpy as np
import pytest
from cli_cases import blobs, write_blobs
from search_cases import after_cells
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from kpegasos import PegasosSVC, PegasosSVCCV, load

VALUES = ["-c", "0.5,2,8", "-g", "0.02,0.2", "-v", "3"]


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
    *cells, best, fitted = kpegasos("tune", data, "best", *VALUES).out.splitlines()
    X, y = blobs(n_classes)
    expected = search_of(X, y)
    C, gamma, rate = best.split()
    assert {"C": float(C), "gamma": float(gamma)} == expected.best_params_
    assert float(rate) == pytest.approx(100 * expected.best_score_, rel=1e-5)
    assert len(cells) == 6
    assert re.fullmatch(r"C=0.5 gamma=0.02: [\d.]+% right, within [\d.]+% of .*", cells[0])
    size = expected.best_estimator_.support_.size
    assert re.fullmatch(rf"objective.*% .* \(certified\),.* {size} support vectors, .* s", fitted)
    found = PegasosSVC.from_libsvm("best").decision_function(X)
    np.testing.assert_allclose(found, expected.decision_function(X), atol=1e-9)


SCALERS = {"standard": StandardScaler(), "minmax": MinMaxScaler((-1, 1)), "maxabs": MaxAbsScaler()}


def test_settings_are_those_of_the_search(data, kpegasos):
    X, y = blobs()
    cases = [(["--scale", kind], scaler.fit_transform(X), None) for kind, scaler in SCALERS.items()]
    for words, Z, weight in (*cases, (["-w1", "5"], X, {1: 5.0})):
        assert kpegasos("tune", data, "m.skops", *VALUES, *words, "-q").status == 0
        decisions = search_of(Z, y, class_weight=weight).decision_function(Z)
        np.testing.assert_allclose(load("m.skops").decision_function(X), decisions)


def test_json_has_every_cell(data, kpegasos):
    told, expected = json.loads(kpegasos("tune", data, *VALUES, "--json").out), search_of(*blobs())
    assert told["best_parameters"] == expected.best_params_
    for name in ("param_C", "mean_test_score", "max_relative_gap"):
        assert told["cells"][name] == pytest.approx(expected.cv_results_[name].tolist())
    assert told["status"] == "completed"


@pytest.mark.usefixtures("default_handler")
@pytest.mark.parametrize("n_cells", [2, 9])
def test_interrupted_search_says_what_is_done(data, tmp_path, kpegasos, monkeypatch, n_cells):
    after_cells(monkeypatch, n_cells, lambda stopper: os.kill(os.getpid(), signal.SIGINT))
    ran = kpegasos("tune", data, tmp_path / "best", *VALUES, "--jobs", "1")
    assert ran.status == 130
    done = int(re.search(r"stopped by Ctrl-C after (\d+) of 18 cells", ran.err)[1])
    assert 0 < done < 18
    assert not (tmp_path / "best").exists()
    assert ran.out.count("nan% right") >= 1


@pytest.mark.usefixtures("default_handler")
def test_limits_and_late_interrupts_leave_what_is_reached(data, kpegasos, monkeypatch):
    ran = kpegasos("tune", data, *VALUES, "--max-time", "1e-9")
    assert ran.status == 1
    assert "--max-time was too short" in ran.err
    fit = PegasosSVC.fit

    def stopped(self, *arguments):
        fit(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(PegasosSVC, "fit", stopped)
    assert kpegasos("tune", data, "best", *VALUES).status == 130
    assert PegasosSVC.from_libsvm("best").predict(blobs()[0]).shape == (120,)
