"""``kpegasos train``: models, files, reports."""

import json
import re
import sys

import numpy as np
import pytest
from cli_cases import examples, write_csv, write_examples, write_rows
from sklearn.datasets import dump_svmlight_file
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from kpegasos import PegasosSVC, load
from kpegasos.cli.train import _sigmoid_of

SKOPS = {"m.skops", "--scale standard", "a.skops --scale maxabs"}


@pytest.mark.parametrize("arguments", [*sorted(SKOPS), "mymodel", "m.model", ""])
def test_model_is_libsvms_text_unless_its_name_says_skops(kpegasos, tmp_path, data, arguments):
    assert kpegasos("train", data, *arguments.split()).status == 0
    default = "data.skops" if arguments in SKOPS else "data.model"
    name = arguments.split()[0] if arguments[:1] not in ("", "-") else default
    assert (tmp_path / name).read_bytes().startswith(b"PK") == (arguments in SKOPS)
    assert kpegasos("predict", data, name).out.startswith("Accuracy = ")


OPTIONS = {
    "weights": ("-w-1 2 --weight 1=0.5 -h 0", {"class_weight": {-1: 2.0, 1: 0.5}}),
    "short": (
        "-c 3 -g 0.2 -e 0.001 -m 20 --seed 7",
        {"C": 3.0, "gamma": 0.2, "tol": 0.001, "cache_mb": 20.0, "random_state": 7},
    ),
    "scale": ("-g scale --jobs 1 --max-time 60", {"gamma": "scale", "n_jobs": 1, "max_time": 60.0}),
    "polynomial": ("-t 1 -d 2 -r 1", {"kernel": "poly", "degree": 2, "coef0": 1.0}),
    "sigmoid": (
        "-t 3 -r -1e-1",
        {"kernel": "sigmoid", "coef0": -0.1, "polish": False, "tol": None},
    ),
}


@pytest.mark.parametrize(("arguments", "parameters"), OPTIONS.values(), ids=OPTIONS)
def test_options_are_the_parameters_of_the_estimator(kpegasos, data, arguments, parameters):
    assert kpegasos("train", data, "m.skops", *arguments.split()).status == 0
    usual = {"gamma": "auto", "polish": True, "fit_intercept": "free", "random_state": 0}
    usual |= {"tol": 0.001}
    wanted = PegasosSVC(**(usual | parameters)).fit(*examples())
    found = load("m.skops")
    assert found.get_params() == wanted.get_params()
    np.testing.assert_array_equal(found.dual_coef_, wanted.dual_coef_)


def test_probabilities_of_too_few_examples_are_refused_before_the_training(refusal, monkeypatch):
    monkeypatch.setattr(PegasosSVC, "fit", lambda *_: pytest.fail("has trained"))
    content = b"1 1:1\n1 1:2\n2 1:3\n"
    assert "-b must have 2 examples of each class, got 1" in refusal(
        "train", "-b1", "-", stdin=content
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_json_is_one_object_with_the_certificate(kpegasos, tmp_path, n_classes):
    data = write_examples(tmp_path / "data", n_classes=n_classes)
    facts = json.loads(kpegasos("train", data, "m.skops", "--json").out)
    model = load("m.skops")
    np.testing.assert_array_equal(facts["objective"], np.atleast_1d(model.objective_))
    np.testing.assert_array_equal(facts["relative_gap"], np.atleast_1d(model.relative_gap_))
    assert (facts["model"], facts["interrupted"]) == ("m.skops", False)
    assert facts["classes"] == model.classes_.tolist()
    assert facts["n_support"] == model.support_.size
    facts = json.loads(kpegasos("train", data, "-t", "3", "--json").out)
    assert facts["relative_gap"] == [None] * len(facts["objective"])


def test_closing_line_says_of_how_many_pairs_it_is_true(kpegasos, tmp_path):
    data = write_examples(tmp_path / "data", n_classes=3)
    ran = kpegasos("train", data)
    sentence = r"objectives \S+ to \S+ of 3 pairs, each within [\d.]+% of the optimum \(certified\)"
    assert re.fullmatch(sentence + r", 0 beyond 0.1%, \d+ support vectors, [\d.]+ s\n", ran.out)
    ran = kpegasos("train", data, "-c", "1e4", "-e", "1e-9", "--max-time", "1e-9")
    assert (ran.status, "--max-time" in ran.err) == (0, True)
    assert re.match(r"objectives .* of 3 pairs, each within .*, [123] beyond 1e-07%, ", ran.out)


#: Words of Python that nobody can give in a shell.
PYTHON = re.compile(r"\w+=|max_time|cache_mb|row_dtype|StandardScaler|polish|\btol\b")
ADVICE = {
    "time": "-c 1e4 --max-time 1e-9",
    "wide": "-g 1e-6",
    "ill": "-c 1e9 -e 1e-12 --max-time 1",
    "linear": "-t 0 -c 1e9 -e 1e-12 --max-time 1",
    "rounding": "-c 100 -e 1e-5",
    "memory": "-m 0.1",
    "memory of a search": "-m 0.001",
}


@pytest.mark.parametrize("case", ADVICE)
def test_advice_is_in_words_of_the_program(kpegasos, tmp_path, case):
    X, y = examples(n_samples=2100)
    width = np.where(np.arange(13) == 0, 1000.0, 1.0) if case in ("wide", "ill", "linear") else 1.0
    data = write_rows(tmp_path / "data", X * width, y)
    command = "tune" if "search" in case else "train"
    ran = kpegasos(command, data, "m", *ADVICE[case].split())
    assert ran.err, "nothing is said"
    assert not PYTHON.search(ran.err.replace(f"kpegasos {command}: PegasosSVC", "")), ran.err


def test_little_memory_is_enough_or_told(kpegasos, refusal, tmp_path):
    data = write_examples(tmp_path / "data", n_samples=2100)
    expected = kpegasos("train", data, "--json").out
    found = kpegasos("train", data, "--json", "-m", "1").out
    names = ("objective", "n_support", "n_steps")
    assert [json.loads(found)[name] for name in names] == [
        json.loads(expected)[name] for name in names
    ]
    sentence = refusal("train", data, "m", "-m", "0.1")
    needed = float(
        re.fullmatch(r"-m must be at least (\S+) with 2100 examples, got 0.1 instead\n", sentence)[
            1
        ]
    )
    assert kpegasos("train", data, "-m", str(needed)).status == 0


def test_model_is_that_of_streams_and_lies_in_the_current_folder(kpegasos, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    data = write_examples(tmp_path / "elsewhere" / "heart.svm")
    ran = kpegasos("train", "-", "-", stdin=data.read_bytes())
    assert ran.status == 0
    assert re.fullmatch(r"objective .* \(certified\), \d+ support .* s", ran.err.splitlines()[-1])
    assert ran.out.startswith("svm_type c_svc\n")
    assert kpegasos("train", data).err == ""
    assert (tmp_path / "heart.svm.model").read_text() == ran.out


def test_columns_may_count_from_zero(kpegasos, refusal, tmp_path):
    X, y = examples()
    for name in ("zero", "one"):
        dump_svmlight_file(X, y, str(tmp_path / name), zero_based=name == "zero")
    assert refusal("train", "zero").startswith("zero: line 1: Invalid index 0")
    for name, *options in (("zero", "--zero-based"), ("one",)):
        assert kpegasos("train", name, f"{name}.model", *options).status == 0
        assert kpegasos("predict", name, f"{name}.model", f"{name}.out", *options).status == 0
    for ending in ("model", "out"):
        assert (tmp_path / f"zero.{ending}").read_text() == (tmp_path / f"one.{ending}").read_text()


def test_cross_validation_is_that_of_shuffled_folds(kpegasos, tmp_path, data):
    X, y = examples()
    model = PegasosSVC(gamma="auto", polish=True, fit_intercept="free", random_state=3)
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    predicted = cross_val_predict(model, X, y, cv=folds)
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


def test_classes_may_be_texts(kpegasos, refusal, tmp_path):
    pytest.importorskip("pandas")
    X, y = examples()
    write_csv(tmp_path / "data.csv", X, np.where(y > 0, "ill", "well"))
    assert kpegasos("train", "data.csv", "-will", "2").status == 0
    assert load("data.csv.skops").class_weight == {"ill": 2.0}
    assert kpegasos("predict", "data.csv", "data.csv.skops", "out").status == 0
    assert set((tmp_path / "out").read_text().split()) == {"ill", "well"}


def test_scaling_is_part_of_the_model(kpegasos, refusal, tmp_path):
    X, y = examples()
    large = write_rows(tmp_path / "large", 1000.0 * X + 500.0 * (X != 0.0), y)
    for scale in ("standard", "minmax", "maxabs"):
        kpegasos("train", large, "m.skops", "--scale", scale)
        assert json.loads(kpegasos("predict", large, "m.skops", "--json").out)["accuracy"] > 0.8
    data = write_rows(tmp_path / "data", np.where(np.abs(X) > 0.6, X, 0.0), y)
    assert "maxabs or standard" in refusal("train", data, "--scale", "minmax")
    assert kpegasos("train", data, "--scale", "standard").status == 0


def test_files_that_cannot_be_written_are_found_before_training(refusal, data, monkeypatch):
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


def test_sigmoids_do_not_know_the_scale_of_decisions():
    rng = np.random.default_rng(0)
    decisions, is_positive = rng.normal(size=80), rng.random(80) < 0.6
    slope, offset = _sigmoid_of(decisions, is_positive)
    for scale in (1e-20, 1e8, 1e30):
        scaled = _sigmoid_of(scale * decisions, is_positive)
        np.testing.assert_allclose(scaled, (slope / scale, offset), rtol=1e-4)
    for constant in (0.0, 3.0):  # of a model that has learnt nothing
        curve = _sigmoid_of(np.full(80, constant), is_positive)
        share = 1.0 / (1.0 + np.exp(-curve[0] * constant - curve[1]))
        np.testing.assert_allclose(share, is_positive.mean(), atol=0.02)
