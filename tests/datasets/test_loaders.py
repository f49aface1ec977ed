"""Real sets are parsed: small files written by hand, and the real files where they are at hand."""

import gzip
import os

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import issparse

from kpegasos import linear_rows, make_problem, sdca
from kpegasos.datasets import (
    load_adult,
    load_covtype,
    load_fashion_mnist,
    load_mnist,
    load_rcv1_sample,
    load_usps,
)


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KPEGASOS_DATA", str(tmp_path))
    return tmp_path


def test_rcv1_sample_reads_vowpal_wabbit(data_folder):
    (data_folder / "rcv1-sample").mkdir()
    text = "-1 |f 2:.5 47236:1.5\n1 |f 1:2.0000000e+00\n"
    for name in ("rcv1_small.dat", "rcv1_small_test.data"):
        (data_folder / "rcv1-sample" / name).write_text(text)
    data = load_rcv1_sample()
    assert data.X_train.shape == data.X_test.shape == (2, 47_236)
    assert_array_equal(data.y_train, [-1, 1])
    assert data.X_train[0, 1] == 0.5
    assert data.X_train[0, 47_235] == 1.5
    assert data.X_train[1, 0] == 2


@pytest.mark.parametrize("header", ["", "a,b,c\n"], ids=["bare", "header"])
def test_covtype_is_class_two_against_the_rest(data_folder, header):
    (data_folder / "covtype").mkdir()
    rows = "".join(f"{i},{10 + i % 3},{1 + i % 7}\n" for i in range(70))
    path = data_folder / "covtype" / "covtype.csv.gz"
    path.write_bytes(gzip.compress((header + rows).encode()))
    data = load_covtype(scale=False)
    assert data.X_train.shape == (63, 2)
    assert data.X_test.shape == (7, 2)
    X = np.vstack([data.X_train, data.X_test])
    y = np.hstack([data.y_train, data.y_test])
    assert_array_equal(np.sort(X[:, 0]), np.arange(70))
    assert_array_equal(y, np.where(X[:, 0] % 7 == 1, 1, -1))
    scaled = load_covtype()
    assert scaled.X_train.dtype == np.float32
    assert_allclose(np.unique(np.vstack([scaled.X_train, scaled.X_test])[:, 1]), [0, 0.5, 1])


def test_covtype_positive_class_is_chosen(data_folder):
    (data_folder / "covtype").mkdir()
    rows = "".join(f"{i},{1 + i % 7}\n" for i in range(70)).encode()
    (data_folder / "covtype" / "covtype.csv.gz").write_bytes(gzip.compress(rows))
    data = load_covtype(positive=1, scale=False)
    assert_array_equal(data.y_train == 1, data.X_train[:, 0] % 7 == 0)
    assert data.target_names == ("rest", "spruce/fir")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"positive": 0}, "^positive must be a positive integer, got 0"),
        ({"positive": 8}, "^positive must be at most 7, got 8"),
        ({"positive": True}, "^positive must be a positive integer, got True"),
        ({"positive": np.array([1, 2])}, "^positive must be a positive integer, got array"),
        ({"scale": "no"}, "^scale must be True or False, got 'no'"),
        ({"random_state": "seed"}, "^random_state must be an integer, .* got 'seed'"),
    ],
)
def test_covtype_arguments_are_checked_before_its_file(data_folder, arguments, match):
    with pytest.raises(ValueError, match=match):
        load_covtype(**arguments)


def test_covtype_split_is_determined_by_random_state(data_folder):
    (data_folder / "covtype").mkdir()
    rows = "".join(f"{i},{1 + i % 7}\n" for i in range(70)).encode()
    (data_folder / "covtype" / "covtype.csv.gz").write_bytes(gzip.compress(rows))
    first, again, other = (load_covtype(random_state=seed).X_test for seed in (0, 0, 1))
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("head", ["\ufeff", "\ufeffa,b\n", "a,b\r\n"])
def test_covtype_keeps_its_first_row(data_folder, head):
    (data_folder / "covtype").mkdir()
    rows = "".join(f"{-1.5 - i},{1 + i % 7}\n" for i in range(20))
    path = data_folder / "covtype" / "covtype.csv.gz"
    path.write_bytes(gzip.compress((head + rows).encode()))
    data = load_covtype(scale=False)
    assert data.X_train.size + data.X_test.size == 20
    assert max(data.X_train.max(), data.X_test.max()) == -1.5


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("", "must be a table of numbers"),
        ("a,b\n", "must be a table of numbers"),
        ("1,2\n3,x\n", "must be a table of numbers: could not convert string 'x'"),
        ("1,2\n3,4,5\n", "must be a table of numbers: the number of columns changed from 2 to 3"),
        ("1\n2\n", "must have finite numbers, and classes from 1 to 7"),
        ("1,8\n2,1\n", "must have finite numbers, and classes from 1 to 7"),
        ("nan,1\n2,1\n", "must have finite numbers, and classes from 1 to 7"),
        ("1e39,1\n2,1\n", "must have finite numbers, and classes from 1 to 7"),
    ],
)
def test_covtype_of_another_content_is_refused(data_folder, content, match):
    (data_folder / "covtype").mkdir()
    path = data_folder / "covtype" / "covtype.csv.gz"
    path.write_bytes(gzip.compress(content.encode()))
    with pytest.raises(ValueError, match=match) as error:
        load_covtype()
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("load", "files"),
    [
        (load_adult, ["adult/a9a", "adult/a9a.t"]),
        (load_rcv1_sample, ["rcv1-sample/rcv1_small.dat", "rcv1-sample/rcv1_small_test.data"]),
    ],
)
def test_text_of_another_format_names_file_and_line(data_folder, load, files):
    for file in files:
        path = data_folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_text("1 2:1\n-1 3:1 x\n" if file == files[1] else "1 2:1\n")
    with pytest.raises(
        ValueError, match=r"line 2: entries must be column:value.* got 'x'"
    ) as error:
        load()
    assert str(error.value).startswith(str(data_folder / files[1]))


# The real files


@pytest.fixture
def real_data():
    if not os.environ.get("KPEGASOS_DATA"):
        pytest.skip("KPEGASOS_DATA is not set")


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize(
    ("load", "n_train", "n_test", "n_features", "labels", "sparse"),
    [
        (load_fashion_mnist, 60_000, 10_000, 784, range(10), False),
        (load_mnist, 60_000, 10_000, 784, range(10), False),
        (load_usps, 7_291, 2_007, 256, range(10), False),
        (load_adult, 32_561, 16_281, 123, [-1, 1], True),
        (load_rcv1_sample, 1_000, 500, 47_236, [-1, 1], True),
        (load_covtype, 522_911, 58_101, 54, [-1, 1], False),
    ],
)
def test_real_set_shapes(load, n_train, n_test, n_features, labels, sparse):
    data = load()
    assert data.X_train.shape == (n_train, n_features)
    assert data.X_test.shape == (n_test, n_features)
    assert data.X_train.dtype == data.X_test.dtype == np.float32
    assert data.y_train.dtype == data.y_test.dtype == np.int64
    assert issparse(data.X_train) == issparse(data.X_test) == sparse
    assert_array_equal(np.unique(data.y_train), list(labels))
    assert_array_equal(np.unique(data.y_test), list(labels))
    assert len(data.target_names) == len(list(labels))
    assert -1 <= data.X_train.min() <= 0 < data.X_train.max() <= 1


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize("load", [load_fashion_mnist, load_mnist])
def test_real_images_classes_are_counted_in_the_test_set(load):
    data = load(scale=False)
    assert data.X_test.max() == 255
    counts = np.bincount(data.y_test)
    assert counts.sum() == 10_000
    assert counts.min() > 800


@pytest.mark.usefixtures("real_data")
def test_real_rcv1_rows_have_length_one():
    X = load_rcv1_sample().X_train
    assert_allclose(X.multiply(X).sum(axis=1), 1, atol=1e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("real_data")
def test_real_covtype_is_as_hard_as_in_the_papers():
    data = load_covtype(positive=1)
    model = sdca(make_problem(data.y_train, 1e-6), linear_rows(data.X_train), tol=0.02)
    error = np.mean(np.sign(data.X_test @ model.w) != data.y_test)
    assert error == pytest.approx(0.226, abs=0.004)
