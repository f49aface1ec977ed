"""``kpegasos predict``: labels, decisions, probabilities, reports."""

import json

import numpy as np
import pytest
from cli_cases import examples, write_rows
from sklearn.metrics import confusion_matrix, f1_score

from kpegasos import LinearPegasosSVC, PegasosSVR, load
from kpegasos.datasets import write_table


@pytest.fixture(params=[2, 3])
def trained(request, kpegasos, tmp_path):
    """Examples, labels and the name of a native model for them."""
    X, y = examples(n_classes=request.param)
    write_rows(tmp_path / "data", X, y)
    kpegasos("train", "-q", "data", "m.skops")
    return X, y, "m.skops"


def test_predictions_are_those_of_the_estimator(kpegasos, tmp_path, trained):
    X, y, model = trained
    estimator = load(model)
    ran = kpegasos("predict", "data", model, "labels")
    labels = np.loadtxt("labels", dtype=int)
    np.testing.assert_array_equal(labels, estimator.predict(X))
    correct = int((labels == y).sum())
    assert ran.out == f"Accuracy = {100 * correct / 270:g}% ({correct}/270) (classification)\n"
    kpegasos("predict", "data", model, "--decisions", "decisions")
    np.testing.assert_array_equal(np.loadtxt("decisions"), estimator.decision_function(X))
    facts = json.loads(kpegasos("predict", "data", model, "--report", "--json").out)
    assert facts["confusion"] == confusion_matrix(y, labels).tolist()
    for label, score in zip(np.unique(y), f1_score(y, labels, average=None), strict=True):
        assert facts["report"][str(label)]["f1-score"] == pytest.approx(score, abs=1e-12)
    content = (tmp_path / "data").read_bytes()
    streams = kpegasos("predict", "-", model, "-", stdin=content)
    assert (streams.out, streams.err) == ((tmp_path / "labels").read_text(), ran.out)
    assert kpegasos("predict", "-", model, "-q", stdin=content).out == ""
    ran = kpegasos("predict", "data", model, "/dev/null")
    assert (ran.status, ran.err) == (0, "")


def test_data_without_labels_have_predictions_and_no_report(kpegasos, refusal, tmp_path):
    X, y = examples()
    write_table(tmp_path / "all.csv", X, y)
    write_table(tmp_path / "features.csv", X)
    write_table(tmp_path / "texts.csv", X, np.full(270, "well"))
    kpegasos("train", "all.csv", "m.model")
    with_labels = kpegasos("predict", "all.csv", "m.model", "-").out
    ran = kpegasos("predict", "features.csv", "m.model", "-")
    assert (ran.out, ran.err) == (with_labels, "")
    assert "has no labels to compare with" in refusal("predict", "features.csv", "m.model")
    sentence = "texts.csv: labels must be of the model's kind, such as [-1, 1], got 'well'\n"
    assert refusal("predict", "texts.csv", "m.model") == sentence
    sentence = "m.model has no probabilities: train it with --probability\n"
    assert refusal("predict", "-b", "1", "all.csv", "m.model", "out") == sentence


def test_wider_data_are_cut_for_linear_models_and_refused_by_others(kpegasos, refusal, tmp_path):
    X, y = examples()
    write_rows(tmp_path / "data", X[:, :9], y)
    write_rows(tmp_path / "wide", X, y)
    kpegasos("train", "data", "linear.skops", "-t", "0", "-e", "1e-6")
    kpegasos("train", "data", "rbf.skops")
    linear = load("linear.skops")
    assert type(linear) is LinearPegasosSVC
    assert linear.relative_gap_ <= 1e-6
    ran = kpegasos("predict", "--decisions", "wide", "linear.skops", "out")
    assert (ran.status, "beyond 9 are left out" in ran.err) == (0, True)
    np.testing.assert_allclose(np.loadtxt("out"), linear.decision_function(X[:, :9]))
    assert refusal("predict", "wide", "rbf.skops") == "wide: must have 9 columns, got 13\n"
    # Narrower data have zeros behind them.
    write_rows(tmp_path / "narrow", X[:, :5], y)
    padded = np.pad(X[:, :5], ((0, 0), (0, 4)))
    for model in ("linear.skops", "rbf.skops"):
        kpegasos("predict", "--decisions", "narrow", model, "out")
        np.testing.assert_allclose(np.loadtxt("out"), load(model).decision_function(padded))


def test_regressions_are_scored_by_squares(kpegasos, refusal, tmp_path):
    X, _ = examples()
    y = X[:, 0] + X[:, 1]
    write_rows(tmp_path / "data", X, y)
    kpegasos("train", "-s", "3", "-p", "0.2", "data", "m.skops")
    assert (type(load("m.skops")), load("m.skops").epsilon) == (PegasosSVR, 0.2)
    facts = json.loads(kpegasos("predict", "data", "m.skops", "out", "--json").out)
    predicted = np.loadtxt("out")
    np.testing.assert_array_equal(predicted, load("m.skops").predict(X))
    assert facts["mean_squared_error"] == pytest.approx(np.mean((predicted - y) ** 2))
    correlation = np.corrcoef(predicted, y)[0, 1] ** 2
    assert facts["squared_correlation"] == pytest.approx(correlation)
    sentence = refusal("predict", "data", "m.skops", "--report")
    assert sentence.startswith("--report must be of a classifier")


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_sparser_data_than_those_of_the_training_are_scaled_alike(kpegasos, data, tmp_path, scale):
    X, y = examples()
    few = np.where(np.abs(X) > 0.6, X, 0.0)
    kpegasos("train", data, "m", "--scale", scale)
    write_rows(tmp_path / "few.svm", few, y)
    write_table(tmp_path / "few.csv", few, y)
    predicted = kpegasos("predict", "few.svm", "m", "-").out
    assert predicted.split()
    assert kpegasos("predict", "few.csv", "m", "-").out == predicted


def test_text_classes_are_compared_with_labels_that_are_numbers(kpegasos, tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n" + "0,1\n5,2\n9,other\n" * 5)
    (tmp_path / "b.csv").write_text("a,y\n0,1\n5,2\n5,1\n")
    kpegasos("train", "a.csv", "m")
    assert kpegasos("predict", "b.csv", "m").out.startswith("Accuracy = 66.6")
