"""``kpegasos predict``: labels, probabilities, scores, columns by their names."""

import json

import numpy as np
import pytest
from cli_cases import examples, write_csv, write_rows

from kpegasos import LinearPegasosSVC, PegasosSVC, PegasosSVR, load, save


@pytest.fixture(params=[2, 3])
def trained(request, kpegasos, tmp_path):
    """Examples, labels and the name of a model of skops for them."""
    X, y = examples(n_classes=request.param)
    write_rows(tmp_path / "data", X, y)
    kpegasos("train", "-q", "-b", "1", "data", "m.skops")
    return X, y, "m.skops"


def test_predictions_are_those_of_the_estimator(kpegasos, tmp_path, trained):
    X, y, model = trained
    estimator = load(model)
    ran = kpegasos("predict", "data", model, "labels")
    labels = np.loadtxt("labels", dtype=int)
    np.testing.assert_array_equal(labels, estimator.predict(X))
    correct = int((labels == y).sum())
    assert ran.out == f"Accuracy = {100 * correct / 270:g}% ({correct}/270) (classification)\n"
    facts = json.loads(kpegasos("predict", "data", model, "--json").out)
    assert facts == {"accuracy": correct / 270, "correct": correct, "n_samples": 270}
    content = (tmp_path / "data").read_bytes()
    streams = kpegasos("predict", "-", model, "-", stdin=content)
    assert (streams.out, streams.err) == ((tmp_path / "labels").read_text(), ran.out)
    assert kpegasos("predict", "-", model, "-q", stdin=content).out == ""
    ran = kpegasos("predict", "data", model, "/dev/null")
    assert (ran.status, ran.err) == (0, "")


def test_probabilities_are_those_of_the_estimator(kpegasos, trained):
    X, y, model = trained
    kpegasos("predict", "-b", "1", "data", model, "out")
    with open("out") as file:
        assert file.readline().split() == ["labels", *map(str, np.unique(y))]
        values = np.loadtxt(file)
    np.testing.assert_array_equal(values[:, 1:], load(model).predict_proba(X))
    np.testing.assert_array_equal(values[:, 0], np.unique(y)[values[:, 1:].argmax(axis=1)])
    # They tell how many are right.
    assert values[:, 1:].max(axis=1).mean() == pytest.approx((values[:, 0] == y).mean(), abs=0.1)


def test_data_without_labels_have_predictions_and_no_scores(kpegasos, refusal, tmp_path):
    pytest.importorskip("pandas")
    X, y = examples()
    write_csv(tmp_path / "all.csv", X, y)
    write_csv(tmp_path / "features.csv", X)
    write_csv(tmp_path / "texts.csv", X, np.full(270, "well"))
    kpegasos("train", "all.csv", "m.skops")
    with_labels = kpegasos("predict", "all.csv", "m.skops", "-").out
    ran = kpegasos("predict", "features.csv", "m.skops", "-")
    assert (ran.out, ran.err) == (with_labels, "")
    assert "has no labels to compare with" in refusal("predict", "features.csv", "m.skops")
    sentence = "texts.csv: labels must be numbers, got 'well'\n"
    assert refusal("predict", "texts.csv", "m.skops") == sentence
    sentence = "m.skops has no probabilities: train it with -b 1\n"
    assert refusal("predict", "-b", "1", "all.csv", "m.skops", "out") == sentence


@pytest.mark.parametrize("scale", [(), ("--scale", "standard")])
def test_columns_of_a_table_are_known_by_their_names(kpegasos, refusal, tmp_path, scale):
    """By their positions, a fifth of the labels would be others."""
    pandas = pytest.importorskip("pandas")
    X, y = examples()
    write_csv(tmp_path / "t.csv", X, y)
    assert kpegasos("train", "t.csv", *scale).status == 0
    expected = kpegasos("predict", "t.csv", "t.csv.skops", "-").out
    table = pandas.read_csv("t.csv")
    table[table.columns[::-1]].to_csv("reversed.csv", index=False)
    ran = kpegasos("predict", "reversed.csv", "t.csv.skops", "-")
    assert (ran.status, ran.out) == (0, expected)
    table.assign(more=0.0).to_csv("more.csv", index=False)
    ran = kpegasos("predict", "more.csv", "t.csv.skops", "-")
    assert ran.out == expected
    assert "column 'more', which the model lacks, is left out" in ran.err
    table.rename(columns={"x3": "height"}).to_csv("other.csv", index=False)
    sentence = "other.csv: must have the model's column 'x3', got none\n"
    assert refusal("predict", "other.csv", "t.csv.skops", "-") == sentence


def test_narrower_data_have_zeros_behind_them_and_wider_are_refused(kpegasos, refusal, tmp_path):
    X, y = examples()
    write_rows(tmp_path / "data", X[:, :9], y)
    write_rows(tmp_path / "wide", X, y)
    write_rows(tmp_path / "narrow", X[:, :5], y)
    padded = np.pad(X[:, :5], ((0, 0), (0, 4)))
    for kernel, kind in (("0", LinearPegasosSVC), ("2", PegasosSVC)):
        kpegasos("train", "data", "m.skops", "-t", kernel)
        assert type(load("m.skops")) is kind
        found = kpegasos("predict", "narrow", "m.skops", "-").out.split()
        np.testing.assert_array_equal(np.array(found, int), load("m.skops").predict(padded))
        assert "X has 13 features, but" in refusal("predict", "wide", "m.skops")


def test_regressions_are_scored_by_squares(kpegasos, tmp_path):
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


def test_text_classes_are_compared_with_labels_that_are_numbers(kpegasos, tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "a.csv").write_text("a,y\n" + "0,1\n5,2\n9,other\n" * 5)
    (tmp_path / "b.csv").write_text("a,y\n0,1\n5,2\n5,1\n")
    kpegasos("train", "a.csv", "m.skops")
    assert kpegasos("predict", "b.csv", "m.skops").out.startswith("Accuracy = 66.6")


def test_models_of_python_are_fitted_and_may_have_objects_as_classes(kpegasos, refusal, tmp_path):
    """As a column of pandas with texts makes them."""
    pytest.importorskip("pandas")
    X, y = examples()
    names = np.where(y == 1, "yes", "no").astype(object)
    write_csv(tmp_path / "t.csv", X, names)
    model = PegasosSVC(random_state=0)
    save(model, tmp_path / "bare.skops")
    assert "must hold a fitted estimator, got Peg" in refusal("predict", "t.csv", "bare.skops")
    save(model.fit(X, names), tmp_path / "m.skops")
    facts = json.loads(kpegasos("predict", "t.csv", "m.skops", "--json").out)
    assert facts["accuracy"] == model.score(X, names)
