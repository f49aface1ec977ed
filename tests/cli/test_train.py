"""``kpegasos train``: models, formats, reports, exit statuses."""

import json
import re
import sys

import numpy as np
import pytest
from cli_cases import examples, write_examples, write_rows
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from kpegasos import PegasosSVC, load
from kpegasos.datasets import load_svmlight, write_table

NATIVE = {"m", "m.model --format native", "--scale standard", "--kernel laplacian"}


@pytest.mark.parametrize("arguments", [*sorted(NATIVE), "m.model", "m --format libsvm"])
def test_format_is_that_of_the_name_unless_it_is_given(kpegasos, tmp_path, data, arguments):
    assert kpegasos("train", data, *arguments.split()).status == 0
    name = arguments.split()[0] if arguments.startswith("m") else "data.skops"
    assert (tmp_path / name).read_bytes().startswith(b"PK") == (arguments in NATIVE)
    assert kpegasos("predict", data, name).out.startswith("Accuracy = ")


OPTIONS = {
    "lam": ("--lam 0.01 --loss squared_hinge", {"lam": 0.01, "loss": "squared_hinge"}),
    "pegasos": (
        "--no-polish --epochs 3 --batch-size 2 --average none --sampling uniform",
        {"polish": False, "epochs": 3.0, "batch_size": 2, "average": None, "sampling": "uniform"},
    ),
    "balanced": (
        "--no-polish --steps 77 --balanced",
        {"polish": False, "n_steps": 77, "class_weight": "balanced"},
    ),
    "weights": (
        "-w-1 2 --weight 1=0.5 --intercept-scaling 2",
        {"class_weight": {-1: 2.0, 1: 0.5}, "fit_intercept": True, "intercept_scaling": 2.0},
    ),
    "kernel": (
        "--kernel cosine --seed 7 --no-intercept",
        {"kernel": "cosine", "random_state": 7, "fit_intercept": False},
    ),
    "short": (
        "-c 3 -g 0.2 -e 0.001 -m 20",
        {"C": 3.0, "gamma": 0.2, "tol": 0.001, "cache_mb": 20.0},
    ),
    "scale": ("--gamma scale", {"gamma": "scale"}),
}


@pytest.mark.parametrize(("arguments", "parameters"), OPTIONS.values(), ids=OPTIONS)
def test_options_are_the_parameters_of_the_estimator(kpegasos, data, arguments, parameters):
    assert kpegasos("train", data, "m.skops", *arguments.split()).status == 0
    X, y = load_svmlight(data, dtype=np.float64)
    usual = {"gamma": "auto", "polish": True, "fit_intercept": "free", "random_state": 0}
    wanted = PegasosSVC(**(usual | parameters)).fit(X.toarray(), y)
    found = load("m.skops")
    assert found.get_params() == wanted.get_params()
    np.testing.assert_array_equal(found.dual_coef_, wanted.dual_coef_)


def test_json_is_one_object_with_the_certificate(kpegasos, tmp_path):
    data = write_examples(tmp_path / "data", n_classes=3)
    facts = json.loads(kpegasos("train", data, "m.skops", "--json").out)
    model = load("m.skops")
    np.testing.assert_array_equal(facts["objective"], model.objective_)
    np.testing.assert_array_equal(facts["relative_gap"], model.relative_gap_)
    assert (facts["model"], facts["format"]) == ("m.skops", "native")
    assert facts["classes"] == [1, 2, 3]
    assert facts["n_support"] == model.support_.size
    assert (facts["reached"], facts["interrupted"]) == (True, False)
    assert "each within" in kpegasos("train", data, "m.skops").out


def test_tolerance_that_is_not_reached_is_status_3_with_strict(kpegasos, tmp_path, data):
    arguments = ("train", data, "--no-polish", "--steps", "5", "-e", "1e-3")
    ran = kpegasos(*arguments)
    assert (ran.status, ran.err.count("\n")) == (0, 1)
    assert ran.err.startswith("kpegasos train: PegasosSVC did not reach tol after 5 steps")
    assert "with a certified relative gap of" in ran.out
    ran = kpegasos(*arguments, "-q")
    assert (ran.status, ran.out, ran.err) == (0, "", "")
    (tmp_path / "data.model").unlink()
    assert kpegasos(*arguments, "--strict").status == 3
    assert kpegasos("predict", data, "data.model").status == 0
    assert kpegasos("train", data, "--strict").status == 0
    ran = kpegasos("train", data, "-c", "1e4", "-e", "1e-9", "--max-time", "1e-9", "--strict")
    assert (ran.status, "stopped by max_time" in ran.err) == (3, True)


def test_model_is_that_of_streams_and_lies_in_the_current_folder(kpegasos, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    data = write_examples(tmp_path / "elsewhere" / "heart.svm")
    ran = kpegasos("train", "-", "-", stdin=data.read_bytes())
    assert ran.status == 0
    assert re.fullmatch(r"objective .* \(certified\), \d+ support .* s", ran.err.splitlines()[-1])
    assert ran.out.startswith("svm_type c_svc\n")
    assert kpegasos("train", data).err == ""
    assert (tmp_path / "heart.svm.model").read_text() == ran.out


def test_cross_validation_is_that_of_shuffled_folds(kpegasos, tmp_path, data):
    X, y = load_svmlight(data, dtype=np.float64)
    model = PegasosSVC(gamma="auto", polish=True, fit_intercept="free", random_state=3)
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    predicted = cross_val_predict(model, X.toarray(), y, cv=folds)
    ran = kpegasos("train", "-v", "4", "--seed", "3", data)
    assert ran.out == f"Cross Validation Accuracy = {100 * (predicted == y).mean():g}%\n"
    told = json.loads(kpegasos("train", "-v", "4", "--seed", "3", data, "--json").out)
    assert told["correct"] == (predicted == y).sum()
    ran = kpegasos("train", "-v", "4", "-s", "3", data)
    assert re.fullmatch(
        r"Cross Validation Mean squared error = [\d.]+\n"
        r"Cross Validation Squared correlation coefficient = [\d.]+\n",
        ran.out,
    )
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_labels_are_of_the_kind_that_model_and_format_have(kpegasos, refusal, tmp_path, data):
    X, y = examples()
    halves = write_rows(tmp_path / "halves", X, y + 0.5)
    for arguments in ((), ("--chunks", "-t", "0")):
        sentence = refusal("train", *arguments, halves)
        assert sentence.startswith(f"{halves}: labels of classes must be whole")
        assert "or texts, got -0.5; --regression is for other numbers" in sentence
    assert kpegasos("train", "--regression", halves).status == 0
    write_table("data.csv", X, np.where(y > 0, "ill", "well"))
    ran = kpegasos("train", "data.csv", "m.model")
    assert (ran.status, ran.out) == (2, "")
    assert "classes but integers" in ran.err
    assert kpegasos("train", "data.csv").status == 0
    assert kpegasos("predict", "data.csv", "data.csv.skops", "out").status == 0
    assert set((tmp_path / "out").read_text().split()) == {"ill", "well"}
    ran = kpegasos("train", "-w5", "2", data)
    assert (ran.status, ran.err) == (0, "kpegasos train: no example has the label 5 of a weight\n")


def test_scaling_is_part_of_the_model(kpegasos, refusal, tmp_path):
    X, y = examples()
    large = write_rows(tmp_path / "large", 1000.0 * X + 500.0 * (X != 0.0), y)
    for scale in ("standard", "minmax", "maxabs"):
        kpegasos("train", large, "m", "--scale", scale)
        assert json.loads(kpegasos("predict", large, "m", "--json").out)["accuracy"] > 0.8
    assert kpegasos("train", large, "m").err == "", "all are as wide"
    wide = write_rows(tmp_path / "wide", X * np.where(np.arange(13) == 0, 1000.0, 1.0), y)
    ran = kpegasos("train", wide, "m")
    assert (ran.status, ran.err.count("\n")) == (0, 1)
    assert re.match(r"kpegasos train: the widest feature spans [\d,.e+]+ times", ran.err)
    for arguments in (["--scale", "standard"], ["-q"], ["-t", "0"]):
        assert "spans" not in kpegasos("train", wide, "m", *arguments).err
    data = write_rows(tmp_path / "data", np.where(np.abs(X) > 0.6, X, 0.0), y)
    assert "maxabs or standard" in refusal("train", data, "--scale", "minmax")
    assert kpegasos("train", data, "--scale", "standard").status == 0


def test_probabilities_of_several_classes_are_native(kpegasos, tmp_path):
    data = write_examples(tmp_path / "data", n_classes=3)
    assert kpegasos("train", "-b", "1", data, "m.model").status == 2
    assert kpegasos("train", "--probability", data).status == 0
    assert kpegasos("predict", "-b", "1", data, "data.skops", "out").status == 0
    with open("out") as file:
        assert file.readline() == "labels 1 2 3\n"
        values = np.loadtxt(file)
    np.testing.assert_allclose(values[:, 1:].sum(axis=1), 1.0)
    np.testing.assert_array_equal(values[:, 0], values[:, 1:].argmax(axis=1) + 1)


@pytest.mark.parametrize("regression", [False, True])
def test_chunks_are_read_part_by_part(kpegasos, data, regression):
    kind = ["-s", "3"] if regression else []
    ran = kpegasos("train", "--chunks", "-t", "0", "--epochs", "10", data, *kind)
    assert ran.status == 0
    assert re.fullmatch(r"no certificate, [\d.]+ s\n", ran.out)
    scores = json.loads(kpegasos("predict", data, "data.model", "--json").out)
    assert scores["squared_correlation"] > 0.4 if regression else scores["accuracy"] > 0.8


def test_large_files_are_read_part_by_part(kpegasos, data, monkeypatch):
    monkeypatch.setattr("kpegasos.utils.memory.free_memory", lambda: 1.9 * data.stat().st_size)
    assert kpegasos("train", "-t", "0", data).out.startswith("no certificate")
    ran = kpegasos("train", "-t", "0", "-e", "0.1", data)
    assert ran.status == 2
    assert "needs all examples at once" in ran.err
    assert "(certified)" in kpegasos("train", data).out  # another kernel
    monkeypatch.setattr("kpegasos.utils.memory.free_memory", lambda: 2.1 * data.stat().st_size)
    assert "(certified)" in kpegasos("train", "-t", "0", data).out


def test_model_that_cannot_be_written_is_found_before_training(refusal, data, monkeypatch):
    monkeypatch.setattr(PegasosSVC, "fit", lambda *_: pytest.fail("it was trained"))
    for model in ("no/folder/m.model", ".", "data/m"):
        assert refusal("train", data, model).startswith(f"{model}: ")
    monkeypatch.setitem(sys.modules, "skops", None)
    assert refusal("train", data, "m.skops").endswith("pip install 'kpegasos[skops]'\n")


def test_progress_is_for_terminals(kpegasos, data, monkeypatch):
    assert kpegasos("train", data, "m").err == ""
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda self: True)
    assert "gap" in kpegasos("train", data, "m").err
    assert kpegasos("train", data, "m", "-q").err == ""
