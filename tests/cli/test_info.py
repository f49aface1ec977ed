"""``kpegasos info``: what is said of data and of models, and in which words."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from shell_cases import blobs, write_blobs, write_csv
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kpegasos
from kpegasos import LinearPegasosSVC, PegasosSVC, PegasosSVCCV, PegasosSVR, save
from kpegasos.cli.main import main


def said_of(path, capsys, *arguments):
    """Titles and texts of what is printed."""
    assert main(["info", str(path), *arguments]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == str(path)
    return {line[2:14].strip(): line[14:] for line in lines}


def told_of(path, capsys, *arguments):
    assert main(["info", str(path), "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


# --- data ---


def test_data_are_described(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("a,b,c,y\n0,1,5,cat\n0,1,5,dog\n3,,5,cat\n0,4000,5,cat\n")
    said = said_of(path, capsys, "--no-forecast")
    assert said["examples"] == "4 rows, 3 features, csv"
    assert said["entries"].startswith("75% of the entries are not zero, dense float64, ")
    assert said["labels"] == "2 classes: 3 of cat, 1 of dog"
    assert said["duplicates"] == (
        "1 of an earlier row; 2 with the features of a row of another label"
    )
    assert said["values"] == "1 missing, 0 infinite"
    assert said["range"].startswith("0 to 4000; the widest feature spans 1.33e+03 times")
    assert said["constant"] == "1 of the features"
    assert "training" not in said


def test_json_of_data_has_the_same(tmp_path, capsys):
    told = told_of(write_blobs(tmp_path / "a"), capsys, "--no-forecast")
    X, y = blobs()
    assert (told["n_samples"], told["n_features"]) == X.shape
    assert told["targets"]["classes"] == {"0": int((y == 0).sum()), "1": int((y == 1).sum())}
    assert (told["lowest"], told["highest"]) == (X.min(), X.max())
    assert told["kind"] == "data"
    assert "forecast" not in told


@pytest.mark.parametrize("numbers", [False, True])
def test_forecast_is_that_of_a_default_training(tmp_path, capsys, numbers):
    X, y = blobs()
    path = write_csv(tmp_path / "a.csv", X, X.sum(axis=1) if numbers else y)
    told = told_of(path, capsys)
    assert told["forecast"]["n_probed"] == 120
    low, high = told["forecast"]["seconds_range"]
    assert low <= told["forecast"]["seconds"] <= high
    assert main(["train", path, str(tmp_path / "a.skops"), "--json", "--label", "label"]
                + ["--regression"] * numbers) == 0  # fmt: skip
    capsys.readouterr()
    histories = kpegasos.load(tmp_path / "a.skops").history_
    values = histories[-1].kernel_evaluations
    assert 0.5 <= told["forecast"]["kernel_values"] / values <= 2.0
    assert re.match(r"about .* s", said_of(path, capsys)["training"])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("a,b\n1,2\n", "there are no labels; --label names their column"),
        ("a,y\n,1\n2,0\n", "there are values that are missing or infinite"),
        ("a,y\n1,1\n2,1\n", "there is one class"),
        ("a,y\n1e200,1\n2,0\n", "X must "),
    ],
)
def test_forecast_that_cannot_be_made_says_why(tmp_path, capsys, content, why):
    path = tmp_path / "a.csv"
    path.write_text(content)
    assert said_of(path, capsys)["training"].startswith(f"none, as {why}")
    assert told_of(path, capsys)["no_forecast"].startswith(why)


def test_many_classes_are_counted(tmp_path, capsys):
    path = write_csv(tmp_path / "a.csv", np.zeros((25, 1)), np.arange(25))
    assert said_of(path, capsys, "--no-forecast")["labels"] == "25 classes"


def test_archive_of_arrays_is_no_model(tmp_path, capsys):
    assert main(["convert", write_blobs(tmp_path / "a"), str(tmp_path / "a.npz"), "-q"]) == 0
    assert told_of(tmp_path / "a.npz", capsys, "--no-forecast")["format"] == "npz"


# --- models ---


@pytest.mark.parametrize("n_classes", [2, 3])
def test_native_model_is_described(tmp_path, capsys, n_classes):
    X, y = blobs(n_classes)
    clf = PegasosSVC(C=2.0, gamma="scale", polish=True, random_state=0).fit(X, y)
    save(clf, tmp_path / "a")
    said, told = said_of(tmp_path / "a", capsys), told_of(tmp_path / "a", capsys)
    assert said["model"] == "PegasosSVC, native file"
    assert said["written by"].startswith(f"kpegasos {kpegasos.__version__}, python 3.")
    assert said["kernel"] == repr(clf._kernel) == told["kernel"]
    assert said["parameters"] == "C=2.0, polish=True"
    assert said["support"].startswith(f"{clf.n_support_.sum()} vectors: {clf.n_support_[0]} of ")
    assert told["support_per_class"] == {str(k): int(size) for k, size in enumerate(clf.n_support_)}
    assert told["objective"] == np.atleast_1d(clf.objective_).tolist()
    assert told["relative_gap"] == np.atleast_1d(clf.relative_gap_).tolist()
    assert told["n_steps"] == np.atleast_1d(clf.n_steps_).tolist()
    within = "each within" if n_classes == 3 else ", within"
    assert within in said["objective"]
    assert said["objective"].endswith("% of the optimum (certified)")
    assert re.fullmatch(r"[\d,]+ steps of Pegasos, .* s in the solver", said["training"])


def test_layers_around_a_model_are_named(tmp_path, capsys):
    X, y = blobs()
    pipeline = make_pipeline(StandardScaler(), PegasosSVC())
    save(CalibratedClassifierCV(pipeline, ensemble=False).fit(X, y), tmp_path / "a")
    said = said_of(tmp_path / "a", capsys)
    assert said["model"] == "StandardScaler and PegasosSVC, native file, with probabilities"


@pytest.mark.parametrize(
    ("model", "kernel"),
    [
        (LinearPegasosSVC(), "linear"),
        (PegasosSVC(kernel=kpegasos.RBF(1.0) + kpegasos.Linear()), "RBF(gamma=1.0) + Linear()"),
        (PegasosSVR(kernel="sigmoid", gamma=0.1), "Sigmoid(gamma=0.1, coef0=0.0)"),
    ],
)
def test_every_kind_of_model_is_described(tmp_path, capsys, model, kernel):
    X, y = blobs()
    save(model.fit(X, y), tmp_path / "a")
    said = said_of(tmp_path / "a", capsys)
    assert said["kernel"] == kernel
    uncertified = said["objective"].endswith("without a certified gap")
    assert uncertified == isinstance(model, PegasosSVR)


def test_model_of_libsvm_has_no_certificate(tmp_path, capsys):
    X, y = blobs()
    PegasosSVC(gamma=0.1).fit(X, y).to_libsvm(tmp_path / "a")
    said = said_of(tmp_path / "a", capsys)
    assert said["model"] == "PegasosSVC, LIBSVM's format"
    assert said["objective"] == "not known: the file holds no certificate"
    assert "written by" not in said
    assert "training" not in said


def test_search_that_is_kept_is_described(tmp_path, capsys):
    X, y = blobs()
    search = PegasosSVCCV([1.0, 10.0], gammas=[0.1], cv=3, refit=False, warm_start=True).fit(X, y)
    save(search, tmp_path / "a")
    said, told = said_of(tmp_path / "a", capsys), told_of(tmp_path / "a", capsys)
    assert said["search"].startswith("completed, 6 of 6 cells, best C=")
    assert told["search"]["best_parameters"] == search.best_params_
    assert "kernel" not in said
    assert said["model"] == "PegasosSVCCV, native file"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "must have rows"),
        (b"svm_type c_svc\nkernel_type rbf\n", "line 2"),
        (b"svm_type one_class\n", "svm_type must be one of"),
        (b"PK\x03\x04 and no more", "broken"),
        (b"\x00\x01\x02\x03", "broken"),
    ],
)
def test_broken_files_are_one_line(tmp_path, capsys, content, expected):
    (tmp_path / "broken").write_bytes(content)
    assert main(["info", str(tmp_path / "broken")]) == 1
    err = capsys.readouterr().err
    assert err.startswith("kpegasos info: ")
    assert err.count("\n") == 1
    assert expected in err


def test_model_that_is_cut_short_is_one_line(tmp_path, capsys):
    X, y = blobs()
    save(PegasosSVC().fit(X, y), tmp_path / "a")
    content = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(content[: len(content) // 2])
    assert main(["info", str(tmp_path / "a")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_columns_that_a_small_file_names_take_no_memory(tmp_path, capsys):
    path = tmp_path / "wide.svm"
    path.write_text("1 2000000000:1\n-1 1:1\n-1 1:1\n")
    told = told_of(path, capsys, "--no-forecast")
    assert told["n_features"] == 2 * 10**9
    assert told["n_constant"] == 2 * 10**9 - 2
    assert (told["lowest"], told["highest"], told["n_duplicates"]) == (0.0, 1.0, 1)
    assert main(["scale", "-l", "0", str(path), str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert re.search(r"ranges of 2000000000 features take [\d,]+ MiB, and [\d,]+ MiB", said)
