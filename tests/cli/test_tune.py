"""``kpegasos tune``: the search is that of `PegasosSVCCV`; what it prints, writes and keeps."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from search_cases import after_cells
from shell_cases import blobs, write_blobs
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from kpegasos import PegasosSVC, PegasosSVCCV, load, save
from kpegasos.cli.main import main

VALUES = ["--C", "2^-1:3:2", "--gamma", "0.02,0.2", "-v", "3"]


@pytest.fixture
def data(tmp_path):
    return write_blobs(tmp_path / "blobs.svm")


def search_of(X, y, **changed):
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    settings = {"Cs": [0.5, 2.0, 8.0], "gammas": [0.02, 0.2], "cv": folds, "random_state": 0}
    return PegasosSVCCV(**{**settings, **changed}).fit(X, y)


def press(stopper):
    os.kill(os.getpid(), signal.SIGINT)


def time_is_up(stopper):
    stopper.deadline = 0.0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_search_and_model_are_those_of_the_estimator(tmp_path, capsys, n_classes):
    data, model = write_blobs(tmp_path / "data", n_classes), tmp_path / "best.skops"
    assert main(["tune", data, str(model), *VALUES]) == 0
    X, y = blobs(n_classes)
    expected = search_of(X, y)
    best, cells, fitted = capsys.readouterr().out.splitlines()
    C, gamma, rate = best.split()
    assert {"C": float(C), "gamma": float(gamma)} == expected.best_params_
    assert float(rate) == pytest.approx(100 * expected.best_score_, rel=1e-5)
    assert cells.startswith("18 cells, each within ")
    size = expected.best_estimator_.support_.size
    assert re.fullmatch(
        rf".* within [\d.]+% of the optimum \(certified\), {size} support vectors, .* s", fitted
    )
    np.testing.assert_allclose(load(model).decision_function(X), expected.decision_function(X))


def test_words_of_grid_py_are_the_same_values(data, capsys):
    assert main(["tune", data, "-log2c", "-1,3,2", "-log2g", "-2,-6,-2", "-v", "3"]) == 0
    ours = capsys.readouterr().out.splitlines()[0]
    assert main(["tune", data, "--C", "0.5,2,8", "--gamma", "2^-2:-6:-2", "--folds", "3"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == ours


def test_model_for_libsvm_is_the_same(data, tmp_path):
    assert main(["tune", data, str(tmp_path / "best.model"), *VALUES, "-q"]) == 0
    X, y = blobs()
    expected = search_of(X, y).decision_function(X)
    read = PegasosSVC.from_libsvm(tmp_path / "best.model")
    np.testing.assert_allclose(read.decision_function(X), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "scaler"),
    [
        ("standard", StandardScaler()),
        ("minmax", MinMaxScaler((-1.0, 1.0))),
        ("maxabs", MaxAbsScaler()),
    ],
)
def test_scaling_is_a_part_of_the_model(data, tmp_path, kind, scaler):
    model = tmp_path / "best.skops"
    assert main(["tune", data, str(model), *VALUES, "--scale", kind, "-q"]) == 0
    X, y = blobs()
    Z = scaler.fit_transform(X)
    np.testing.assert_allclose(
        load(model).decision_function(X), search_of(Z, y).decision_function(Z)
    )


def test_json_has_every_cell(data, tmp_path, capsys):
    assert main(["tune", data, str(tmp_path / "m.skops"), *VALUES, "--json"]) == 0
    told, expected = json.loads(capsys.readouterr().out), search_of(*blobs())
    assert told["best_parameters"] == expected.best_params_
    assert [cell["mean_score"] for cell in told["cells"]] == pytest.approx(
        expected.cv_results_["mean_test_score"].tolist()
    )
    assert (told["status"], told["n_folds"], told["n_missing"]) == ("completed", 3, 0)
    assert told["model"]["n_support"] == expected.support_.size


def test_results_are_the_columns_of_the_search(data, tmp_path):
    results = tmp_path / "cells.csv"
    assert main(["tune", data, *VALUES, "--results", str(results), "-q"]) == 0
    with results.open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = search_of(*blobs()).cv_results_
    assert list(rows[0]) == [name for name in expected if name != "params"]
    for name in ("param_C", "param_gamma", "mean_test_score", "max_relative_gap"):
        assert [float(row[name]) for row in rows] == pytest.approx(list(expected[name]))


@pytest.mark.parametrize(
    ("name", "head", "values"),
    [
        ("surface.png", b"\x89PNG", VALUES),
        ("path.svg", b"<?xml", ["--kernel", "linear", "-v", "3"]),
        ("path.pdf", b"%PDF", ["--gamma", "0.1", "--C", "1,2", "-v", "3"]),
    ],
)
def test_picture_is_drawn(data, tmp_path, name, head, values):
    assert main(["tune", data, *values, "--plot", str(tmp_path / name), "-q"]) == 0
    assert (tmp_path / name).read_bytes().startswith(head)


def test_table_is_for_terminals(data, capsys, monkeypatch):
    assert main(["tune", data, *VALUES]) == 0
    assert "support" not in capsys.readouterr().out
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True)
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda self: True)
    assert main(["tune", data, *VALUES]) == 0
    out, err = capsys.readouterr()
    titles, best, *others = out.splitlines()
    assert titles.split("  ")[-1] == "support"
    expected = search_of(*blobs())
    assert [float(word) for word in best.split()[:2]] == list(expected.best_params_.values())
    assert best.split()[2] == f"{100 * expected.best_score_:.4g}"
    assert len(others) == 5 + 2
    assert "18/18 cells" not in out
    assert "18/18" in err


def test_other_scores_are_no_percentages(data, capsys):
    assert main(["tune", data, *VALUES, "--metric", "f1"]) == 0
    expected = search_of(*blobs(), scoring="f1")
    assert float(capsys.readouterr().out.split()[2]) == pytest.approx(expected.best_score_, 1e-5)


@pytest.mark.parametrize(
    ("kernel", "n_values"), [("linear", 1), ("poly", 4), ("sigmoid", 3), ("cosine", 1)]
)
def test_best_line_has_the_values_that_the_kernel_has(data, capsys, kernel, n_values):
    values = ["--C", "1", "--gamma", "0.1", "--degree", "2", "--coef0", "-0.5,0"]
    values = values if kernel == "sigmoid" else values[:-2]
    status = main(["tune", data, "--kernel", kernel, *values, "-v", "3", "--strict"])
    best, certified = capsys.readouterr().out.splitlines()
    assert len(best.split()) == n_values + 1
    assert best.startswith("1.0 ")
    # The sigmoid kernel is not positive semi-definite: there is no gap to be certified.
    assert status == (3 if kernel == "sigmoid" else 0)
    assert ("no certified gaps" in certified) == (kernel == "sigmoid")


# --- what is stopped, and goes on ---


@pytest.mark.usefixtures("default_handler")
@pytest.mark.parametrize("n_cells", [2, 9])
def test_interrupted_search_is_kept_and_goes_on(data, tmp_path, capsys, monkeypatch, n_cells):
    kept, model = tmp_path / "kept", tmp_path / "best.skops"
    command = ["tune", data, str(model), *VALUES, "--jobs", "1", "--resume", str(kept)]
    with monkeypatch.context() as patch:
        after_cells(patch, n_cells, press)
        assert main(command) == 130
    out, err = capsys.readouterr()
    n_missing = int(re.search(r"with (\d+) of 18 cells missing, .*kept has what is done", err)[1])
    assert 0 < n_missing < 18
    assert f"{18 - n_missing} of 18 cells" in out
    assert not model.exists()
    seen = []
    with monkeypatch.context() as patch:
        after_cells(patch, 1, lambda stopper: seen.append("a cell"))
        assert main(command) == 0
        assert seen
        best = capsys.readouterr().out.splitlines()[0]
        assert model.exists()
        seen.clear()
        assert main(command) == 0  # nothing is left to do
    assert capsys.readouterr().out.splitlines()[0] == best
    assert not seen
    assert main(["tune", data, *VALUES]) == 0
    assert capsys.readouterr().out.splitlines()[0] == best


@pytest.mark.usefixtures("default_handler")
def test_interrupted_training_leaves_the_model_reached(data, tmp_path, monkeypatch):
    fit = PegasosSVC.fit

    def stopped(self, *arguments):
        fit(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(PegasosSVC, "fit", stopped)
    model = tmp_path / "best.skops"
    assert main(["tune", data, str(model), *VALUES]) == 130
    assert load(model).predict(blobs()[0]).shape == (120,)


def test_time_limit_is_one_line_and_its_search_goes_on(data, tmp_path, capsys, monkeypatch):
    kept = str(tmp_path / "kept")
    command = ["tune", data, *VALUES, "--jobs", "1", "--resume", kept]
    with monkeypatch.context() as patch:
        after_cells(patch, 9, time_is_up)
        assert main([*command, "--max-time", "100", "--strict"]) == 3
    err = capsys.readouterr().err
    assert re.fullmatch(r"kpegasos tune: .* stopped by max_time with \d+ of 18 cells .*\n", err)
    assert main(command) == 0


def test_search_without_a_whole_cell_is_an_error(data, capsys):
    assert main(["tune", data, *VALUES, "--max-time", "1e-9"]) == 1
    assert "--max-time was too short" in capsys.readouterr().err


@pytest.mark.parametrize(
    "changed",
    [
        ["--C", "1,2"],
        ["--seed", "1"],
        ["--tol", "0.1"],
        ["--metric", "f1"],
        ["--scale", "standard"],
    ],
)
def test_other_search_is_not_gone_on_from(data, tmp_path, capsys, changed):
    kept = str(tmp_path / "kept")
    assert main(["tune", data, *VALUES, "--resume", kept]) == 0
    before = (tmp_path / "kept").read_bytes()
    assert main(["tune", data, *VALUES, *changed, "--resume", kept]) == 1
    assert f"{kept}: holds another search" in capsys.readouterr().err
    assert (tmp_path / "kept").read_bytes() == before


def test_other_data_are_not_gone_on_with(data, tmp_path, capsys):
    kept = str(tmp_path / "kept")
    assert main(["tune", data, *VALUES, "--resume", kept, "-q"]) == 0
    other = write_blobs(tmp_path / "other", n_samples=121)
    assert main(["tune", other, *VALUES, "--resume", kept]) == 1
    assert "holds another search; data, values" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["model", "search", "text"])
def test_other_files_are_not_overwritten(data, tmp_path, capsys, content):
    kept, (X, y) = tmp_path / "kept", blobs()
    if content == "text":
        kept.write_text("a letter")
    else:
        save(PegasosSVC().fit(X, y) if content == "model" else search_of(X, y), kept)
    before = kept.read_bytes()
    assert main(["tune", data, *VALUES, "--resume", str(kept)]) == 1
    err = capsys.readouterr().err
    assert str(kept) in err
    assert err.count("\n") == 1
    assert kept.read_bytes() == before


@pytest.mark.slow
def test_press_on_the_keyboard_ends_the_program(tmp_path):
    data, kept = write_blobs(tmp_path / "data", 3, 600), tmp_path / "kept"
    command = [sys.executable, "-m", "kpegasos", "tune", data, "--jobs", "1"]
    command += ["--C", "10^-1:6:0.1", "--gamma", "10^-3:1:0.1", "--resume", str(kept)]
    ready = "import kpegasos.model_selection.search as s; f = s.search_surface"
    program = (
        f"import sys; {ready}\n"
        "def tell(*arguments, on_cells, **options):\n"
        "    def told(n):\n"
        "        print('a cell', file=sys.stderr, flush=True)\n"
        "        on_cells(n)\n"
        "    f(*arguments, on_cells=told, **options)\n"
        "s.search_surface = tell\n"
        "from kpegasos.cli.main import main\n"
        f"sys.exit(main({command[3:]!r}))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stderr.readline() == "a cell\n"
    begin = time.perf_counter()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert time.perf_counter() - begin < 120
    assert err.splitlines()[-1].startswith("kpegasos tune: stopped by Ctrl-C with ")
    assert re.search(r"with \d+ of 14555 cells missing", err)
    assert load(kept).status_ == "interrupted"


# --- what is at fault ---


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--C", "0"], "argument --C: must be positive"),
        (["-log2c", "1,2"], "begin,end,step or null"),
        (["--folds", "1"], "integer from 2 on"),
        (["--metric", "speed"], "--metric must be a name of"),
        (["--plot", "a.xyz"], "--plot must end in one of"),
        (["--plot", "a.png", "--C", "1"], "at least two values of C"),
        (["best.model", "--scale", "standard"], "LIBSVM's format has no scaling"),
        (["best.model", "--kernel", "cosine"], "LIBSVM's format has no kernel cosine"),
        (["--resume", "-"], "--resume must be the name of a file"),
    ],
)
def test_arguments_at_fault_are_usage_errors(data, capsys, arguments, expected):
    try:
        status = main(["tune", data, *arguments])
    except SystemExit as end:
        status = end.code
    assert status == 2
    assert expected in capsys.readouterr().err


def test_outputs_are_files_of_their_own(data, tmp_path, capsys):
    same = str(tmp_path / "same.svg")
    doubled = [
        [same, "--resume", same],
        ["--results", same, "--plot", same],
        ["-", "--results", "-"],
    ]
    for arguments in ([data], ["--resume", data], ["--results", data], *doubled):
        assert main(["tune", data, *arguments, *VALUES]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_missing_values_are_named_with_their_file(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("a,y\n1,0\n,1\n")
    assert main(["tune", str(tmp_path / "a.csv"), *VALUES]) == 1
    assert "a.csv" in capsys.readouterr().err


def test_files_that_cannot_be_written_are_found_before_the_search(data, tmp_path, capsys):
    for option in ("--resume", "--results", "--plot"):
        name = str(tmp_path / "nowhere" / "file.png")
        assert main(["tune", data, *VALUES, option, name]) == 1
        assert name in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "broken.svm: "),
        ("1 1:x\n", "broken.svm, line 1"),
        ("1 1:1\n1 1:2\n1 1:3\n", "at least two classes"),
        ("1 1:1\n1 1:2\n1 1:3\n2 1:3\n", "--folds must be at most the number of examples"),
        ("0.5 1:1\n0.7 1:2\n", "--folds must be"),
    ],
)
def test_data_at_fault_are_one_line(tmp_path, capsys, content, expected):
    path = tmp_path / "broken.svm"
    path.write_text(content)
    assert main(["tune", str(path), *VALUES]) == 1
    err = capsys.readouterr().err
    assert err.startswith("kpegasos tune: ")
    assert err.count("\n") == 1
    assert expected in err
