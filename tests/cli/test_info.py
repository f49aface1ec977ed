"""``kpegasos info``: what is said of data and of models, and in which words."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from cli_cases import blobs
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kpegasos import LinearPegasosSVC, PegasosSVC, PegasosSVCCV, PegasosSVR, __version__, load, save
from kpegasos.cli import files
from kpegasos.cli.files import facts_of, targets_of
from kpegasos.datasets import write_table


def said_of(kpegasos, path, *arguments):
    """Titles and texts of what is printed."""
    first, *lines = kpegasos("info", path, *arguments).out.splitlines()
    assert first == str(path)
    return {line[2:14].strip(): line[14:] for line in lines}


def told_of(kpegasos, path, *arguments):
    return json.loads(kpegasos("info", path, "--json", *arguments).out)


# --- data ---


def test_data_are_described(tmp_path, kpegasos):
    path = tmp_path / "a.csv"
    path.write_text("a,b,c,y\n0,1,5,cat\n0,1,5,dog\n3,,5,cat\n0,4000,5,cat\n")
    said = said_of(kpegasos, path, "--no-forecast")
    assert said["examples"] == "4 rows, 3 features, csv"
    assert said["entries"].startswith("75% of the entries are not zero, dense float64, ")
    assert said["labels"] == "2 classes: 3 of cat, 1 of dog"
    assert said["duplicates"].startswith("1 of an earlier row; 2 with the features of a row of ")
    assert said["values"] == "1 missing, 0 infinite"
    assert said["range"].startswith("0 to 4000; the widest feature spans 1.33e+03 times")
    assert said["constant"] == "1 of the features"
    assert "training" not in said
    told = told_of(kpegasos, path, "--no-forecast")
    assert (told["n_samples"], told["n_features"], told["kind"]) == (4, 3, "data")
    assert told["targets"]["classes"] == {"cat": 3, "dog": 1}
    assert "forecast" not in told
    write_table(tmp_path / "a.npz", np.zeros((25, 1)), np.arange(25))
    said = said_of(kpegasos, tmp_path / "a.npz", "--no-forecast")
    assert (said["examples"], said["labels"]) == ("25 rows, 1 feature, npz", "25 classes")


def test_columns_are_described_where_some_hold_texts(tmp_path, kpegasos):
    path = tmp_path / "a.csv"
    path.write_text("a,name,y\n0,anna,1\n3,bob,0\n3,anna,0\n")
    ran = kpegasos("info", path)
    assert (ran.status, "line 2, column 'name'" in ran.err) == (1, True)
    expected = ["a     numbers", "name  2 different texts, such as 'anna'", "y     numbers"]
    assert [line.strip() for line in ran.out.splitlines()] == expected


@pytest.mark.parametrize("numbers", [False, True])
def test_forecast_is_that_of_a_default_training(tmp_path, kpegasos, numbers):
    X, y = blobs()
    path = tmp_path / "a.csv"
    write_table(path, X, X.sum(axis=1) if numbers else y)
    told = told_of(kpegasos, path)
    assert told["forecast"]["n_probed"] == 120
    low, high = told["forecast"]["seconds_range"]
    assert low <= told["forecast"]["seconds"] <= high
    regression = ["--regression"] * numbers
    assert kpegasos("train", path, "a.skops", "--label", "label", *regression).status == 0
    values = load("a.skops").history_[-1].kernel_evaluations
    assert 0.5 <= told["forecast"]["kernel_values"] / values <= 2.0
    assert re.match(r"about .* s", said_of(kpegasos, path)["training"])


WHY_NOT = {
    "a,b\n1,2\n": "there are no labels; --label names their column",
    "a,y\n,1\n2,0\n": "there are values that are missing or infinite",
    "a,y\n1,1\n2,1\n": "there is one class",
    "a,y\n1e200,1\n2,0\n": "X must ",
    "a,y\n" + "".join(f"1,{k}\n" for k in range(101)): "more than half of the labels",
}


@pytest.mark.parametrize(("content", "why"), WHY_NOT.items(), ids=WHY_NOT.values())
def test_forecast_that_cannot_be_made_says_why(tmp_path, kpegasos, content, why):
    path = tmp_path / "a.csv"
    path.write_text(content)
    assert said_of(kpegasos, path)["training"].startswith(f"none, as {why}")
    assert told_of(kpegasos, path)["no_forecast"].startswith(why)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("entries", [2**22, 37])
def test_facts_are_those_of_the_whole_table(monkeypatch, storage, entries):
    monkeypatch.setattr(files, "_ENTRIES", entries)
    # Rows with zeros, duplicates and conflicts, columns with one value and of several widths.
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, size=(300, 4)) * [1.0, 1.0, 0.0, 1000.0]
    X[::7] = 0.0
    X[:, 2] = 7.0
    y = rng.integers(0, 3, size=300)
    facts = facts_of(storage(X), y)
    labels = [set(y[(row == X).all(axis=1)]) for row in X]
    assert (facts["n_samples"], facts["n_features"]) == X.shape
    assert facts["density"] == np.count_nonzero(X) / X.size
    assert facts["n_duplicates"] == len(X) - len(np.unique(X, axis=0))
    assert facts["n_conflicts"] == sum(len(each) > 1 for each in labels) > 0
    assert facts["n_constant"] == 1
    assert (facts["lowest"], facts["highest"]) == (-1000.0, 1000.0)
    assert facts["unevenness"] == 1000.0
    assert facts["n_missing"] == facts["n_infinite"] == 0
    assert facts["storage"] == ("dense" if storage is np.asarray else "sparse")
    odd = storage(np.array([[np.nan, 1.0, 2.0], [3.0, np.inf, np.nan], [4.0, -np.inf, 5.0]]))
    facts = facts_of(odd, None)
    assert (facts["n_missing"], facts["n_infinite"]) == (2, 2)
    assert (facts["lowest"], facts["highest"]) == (1.0, 5.0)
    assert (facts["targets"], facts["n_conflicts"]) == (None, 0)


def test_whole_numbers_are_classes_and_others_a_range():
    assert targets_of(np.array([1.0, -1.0, 1.0]))["classes"] == {"-1": 1, "1": 2}
    targets = targets_of(np.array([0.5, 2.0, -1.0]))
    assert targets == {"classes": None, "lowest": -1.0, "highest": 2.0}
    assert np.isnan(targets_of(np.array([np.nan]))["lowest"])


# --- models ---


@pytest.mark.parametrize("n_classes", [2, 3])
def test_native_model_is_described(tmp_path, kpegasos, n_classes):
    clf = PegasosSVC(C=2.0, gamma="scale", polish=True, random_state=0).fit(*blobs(n_classes))
    save(clf, tmp_path / "a")
    said, told = said_of(kpegasos, tmp_path / "a"), told_of(kpegasos, tmp_path / "a")
    assert said["written by"].startswith(f"kpegasos {__version__}, python 3.")
    assert said["kernel"] == repr(clf._kernel) == told["kernel"]
    assert ("each within" if n_classes == 3 else ", within") in said["objective"]
    assert told["support_per_class"] == {str(k): int(size) for k, size in enumerate(clf.n_support_)}
    for name in ("objective", "relative_gap", "n_steps"):
        assert told[name] == np.atleast_1d(getattr(clf, f"{name}_")).tolist()


def test_every_kind_of_model_is_described(tmp_path, kpegasos):
    (X, y), path = blobs(), tmp_path / "a"
    layers = CalibratedClassifierCV(make_pipeline(StandardScaler(), PegasosSVC()), ensemble=False)
    for model, name in (
        (LinearPegasosSVC(), "LinearPegasosSVC, native file"),
        (PegasosSVR(kernel="sigmoid"), "PegasosSVR, native file"),
        (layers, "StandardScaler and PegasosSVC, native file, with probabilities"),
    ):
        save(model.fit(X, y), path)
        said = said_of(kpegasos, path)
        assert said["model"] == name
        uncertified = said["objective"].endswith("without a certified gap")
        assert uncertified == isinstance(model, PegasosSVR)
    PegasosSVC(gamma=0.1).fit(X, y).to_libsvm(path)
    said = said_of(kpegasos, path)
    assert said["model"] == "PegasosSVC, LIBSVM's format"
    assert said["objective"] == "not known: the file holds no certificate"
    assert not {"written by", "training"} & set(said)


def test_search_that_is_kept_is_described(tmp_path, kpegasos):
    search = PegasosSVCCV([1.0, 10.0], gammas=[0.1], cv=3, refit=False, warm_start=True)
    save(search.fit(*blobs()), tmp_path / "a")
    said, told = said_of(kpegasos, tmp_path / "a"), told_of(kpegasos, tmp_path / "a")
    assert said["search"].startswith("completed, 6 of 6 cells, best C=")
    assert told["search"]["best_parameters"] == search.best_params_
    assert "kernel" not in said
    assert said["model"] == "PegasosSVCCV, native file"


def test_columns_that_a_small_file_names_take_no_memory(tmp_path, kpegasos, refusal):
    path = tmp_path / "wide.svm"
    path.write_text("1 2000000000:1\n-1 1:1\n-1 1:1\n")
    told = told_of(kpegasos, path, "--no-forecast")
    assert told["n_features"] == 2 * 10**9
    assert told["n_constant"] == 2 * 10**9 - 2
    assert (told["lowest"], told["highest"], told["n_duplicates"]) == (0.0, 1.0, 1)
    said = refusal("scale", "-l", "0", path, "out")
    assert re.search(r"ranges of 2000000000 features take [\d,]+ MiB, and [\d,]+ MiB", said)
