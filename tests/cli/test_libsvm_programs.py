"""The program beside LIBSVM's: the same options, numbers, models and predictions."""

import numpy as np
from cli_cases import accuracy, examples, libsvm, needs_libsvm, write_examples, write_rows
from covering import each_value
from sklearn.metrics.pairwise import rbf_kernel

pytestmark = needs_libsvm

OPTIONS = {
    "defaults": (),
    "rbf": ("-t", "2", "-c", "10", "-g", "0.2"),
    "poly": ("-t", "1", "-d", "2", "-r", "1", "-g", "0.5"),
    "linear": ("-t", "0", "-c", "0.5"),
    "weights": ("-w1", "3", "-w-1", "0.5", "-h", "0", "-m", "50"),
}


@each_value(name=OPTIONS, n_classes=[2, 3])
def test_train_and_predict_agree_with_svm_train_and_svm_predict(
    kpegasos, tmp_path, name, n_classes
):
    train = write_examples(tmp_path / "train", n_classes=n_classes)
    test = write_examples(tmp_path / "test", n_samples=4000, n_classes=n_classes, seed=1)
    assert kpegasos("train", *OPTIONS[name], "-e", "1e-4", train, "our.model").status == 0
    libsvm("svm-train", "-e", "1e-4", *OPTIONS[name], train, "its.model")
    ours = kpegasos("predict", test, "our.model", "ours")
    its = libsvm("svm-predict", test, "its.model", "its")
    assert abs(accuracy(ours.out) - accuracy(its)) <= 0.3
    # Each reads the other's model, to the same labels and the same line.
    crossed = libsvm("svm-predict", test, "our.model", "crossed")
    assert crossed == ours.out
    assert (tmp_path / "crossed").read_text() == (tmp_path / "ours").read_text()
    assert kpegasos("predict", test, "its.model", "back").out == its
    assert (tmp_path / "back").read_text() == (tmp_path / "its").read_text()


def test_precomputed_kernels_go_both_ways(kpegasos, tmp_path):
    X, y = examples()
    K = rbf_kernel(X, gamma=0.1)
    numbers = np.arange(y.size) + 1
    train = write_rows(tmp_path / "train", K, y, numbers)
    few = [5, 3, 200, 7]
    test = write_rows(tmp_path / "test", K[few], y[few], numbers[few])
    assert kpegasos("train", "-t", "4", train, "our.model").status == 0
    libsvm("svm-train", "-t", "4", train, "its.model")
    for model in ("our.model", "its.model"):
        for data in (train, test):
            its = libsvm("svm-predict", data, model, "its")
            assert kpegasos("predict", data, model, "ours").out == its
            assert (tmp_path / "ours").read_text() == (tmp_path / "its").read_text()


def test_rows_with_features_that_a_model_does_not_know_are_as_far_as_for_svm_predict(
    kpegasos, tmp_path
):
    X, y = examples()
    train = write_rows(tmp_path / "train", X[:, :9], y)
    wide, narrow = write_rows(tmp_path / "wide", X, y), write_rows(tmp_path / "narrow", X[:, :4], y)
    kpegasos("train", "-c", "10", train, "our.model")
    for data in (wide, narrow):
        its = libsvm("svm-predict", data, "our.model", "its")
        assert kpegasos("predict", data, "our.model", "ours").out == its
        assert (tmp_path / "ours").read_text() == (tmp_path / "its").read_text()


def test_probabilities_are_in_the_order_of_svm_predict_behind_any_header(kpegasos, tmp_path):
    """A hundred classes have half a megabyte of it."""
    data = write_examples(tmp_path / "data", n_classes=3)
    libsvm("svm-train", "-b", "1", data, "its.model")
    text = (tmp_path / "its.model").read_text()
    (tmp_path / "its.model").write_text(text.replace("rho ", f"rho {' ' * 100_000}"))
    libsvm("svm-predict", "-b", "1", data, "its.model", "its")
    kpegasos("predict", "-b", "1", data, "its.model", "ours")
    first = [(tmp_path / name).read_text().split("\n")[0] for name in ("its", "ours")]
    assert first[0] == first[1] != "labels 1 2 3"
