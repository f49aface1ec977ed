"""The toy sets have the shapes they promise; the real ones are found, checked and parsed."""

import gzip
import hashlib
import os
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pooch
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix, issparse, vstack
from sklearn.datasets import dump_svmlight_file
from sklearn.svm import SVC, LinearSVC

from kpegasos import datasets, linear_rows, make_problem, sdca
from kpegasos.datasets import (
    SvmlightChunks,
    _files,
    iter_svmlight,
    load_adult,
    load_covtype,
    load_fashion_mnist,
    load_mnist,
    load_rcv1_sample,
    load_svmlight,
    load_usps,
    make_gaussian_noise,
    make_spirals,
    make_text_like,
    make_toy,
    make_xor,
)

TOYS = ["circles", "moons", "xor", "spirals"]
MAKERS = [partial(make_toy, name) for name in TOYS] + [make_gaussian_noise]
MAKER_NAMES = [*TOYS, "gaussian_noise"]
each_maker = pytest.mark.parametrize("make", MAKERS, ids=MAKER_NAMES)


# Toy sets


@each_maker
def test_toy_shapes(make):
    X, y = make(101, random_state=0)
    assert X.shape == (101, 2)
    assert y.shape == (101,)
    assert X.dtype == np.float64
    assert_array_equal(np.unique(y), [0, 1])


@each_maker
def test_toy_is_determined_by_random_state(make):
    X, y = make(50, random_state=3)
    X_again, y_again = make(50, random_state=3)
    X_other, _ = make(50, random_state=4)
    assert_array_equal(X, X_again)
    assert_array_equal(y, y_again)
    assert not np.array_equal(X, X_other)


@pytest.mark.parametrize("name", TOYS)
@pytest.mark.parametrize("n_samples", [100, 101])
def test_toy_classes_are_balanced(name, n_samples):
    _, y = make_toy(name, n_samples, random_state=0)
    counts = np.bincount(y)
    assert abs(counts[0] - counts[1]) <= 1


@pytest.mark.parametrize("name", ["circles", "xor", "spirals"])
def test_toy_needs_a_kernel(name):
    X, y = make_toy(name, 600, random_state=0)
    assert LinearSVC().fit(X, y).score(X, y) < 0.75
    assert SVC(C=100, gamma=10).fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("name", TOYS)
def test_toy_noise_is_used(name):
    clean, _ = make_toy(name, 100, 0.0, random_state=0)
    noisy, _ = make_toy(name, 100, 0.5, random_state=0)
    assert np.ptp(noisy) > np.ptp(clean)


def test_toy_unknown_name():
    with pytest.raises(ValueError, match=r"name must be one of 'circles'.*got 'swirls'"):
        make_toy("swirls")


def test_xor_class_is_the_sign_of_the_product():
    X, y = make_xor(200, random_state=0)
    assert_array_equal(y == 1, X[:, 0] * X[:, 1] < 0)
    assert np.abs(X).max() <= 1


def test_spirals_wind_by_the_radius():
    X, y = make_spirals(200, turns=2, random_state=0)
    radius = np.hypot(*X.T)
    angle = 4 * np.pi * radius + np.pi * y
    assert radius.max() <= 1
    assert_allclose(X, radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))


def test_gaussian_noise_flips_the_given_fraction():
    X, clean = make_gaussian_noise(1000, n_features=5, noise=0, random_state=0)
    _, y = make_gaussian_noise(1000, n_features=5, noise=0.1, separation=8, random_state=0)
    assert X.shape == (1000, 5)
    assert clean.sum() == 500
    side = make_gaussian_noise(1000, n_features=5, noise=0.1, separation=50, random_state=0)
    assert np.sum((side[0].sum(axis=1) > 0) != side[1]) == 100
    assert LinearSVC().fit(X, clean).score(X, clean) > 0.99
    assert abs(y.mean() - 0.5) < 0.1


@pytest.mark.parametrize("noise", [-0.1, 1.5])
def test_gaussian_noise_rejects_what_is_no_fraction(noise):
    with pytest.raises(ValueError, match="noise must be a fraction"):
        make_gaussian_noise(noise=noise)


# Text at the papers' scale


@pytest.fixture(scope="module")
def text():
    return make_text_like(40_000, random_state=0)


def test_text_has_the_shape_of_rcv1(text):
    X, y = text
    assert X.shape == (40_000, 47_236)
    assert X.dtype == np.float32
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert_array_equal(np.unique(y), [-1, 1])
    assert abs(y.mean()) < 0.02
    assert X.nnz / np.prod(X.shape) == pytest.approx(0.0016, rel=0.02)
    assert np.diff(X.indptr).min() > 0
    assert_allclose(X.multiply(X).sum(axis=1), 1, rtol=1e-5)
    rebuilt = csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
    assert rebuilt.has_canonical_format


def test_text_words_follow_zipfs_law(text):
    documents = np.sort(np.bincount(text[0].indices, minlength=47_236))[::-1]
    ranks = np.array([200, 400, 800, 1600, 3200])
    slope = np.polyfit(np.log(ranks), np.log(documents[ranks]), 1)[0]
    assert slope == pytest.approx(-1, abs=0.2)


def test_text_rare_words_weigh_more(text):
    X = text[0]
    documents = np.bincount(X.indices, minlength=X.shape[1])
    weight = np.bincount(X.indices, X.data, minlength=X.shape[1]) / np.maximum(documents, 1)
    common, rare = np.argsort(documents)[-50:], np.flatnonzero(documents == 10)
    assert weight[rare].mean() > 2 * weight[common].mean()


@pytest.mark.parametrize("n_samples", [1, 5000, 8192])
def test_text_begins_alike_however_long_it_is(text, n_samples):
    X, y = make_text_like(n_samples, random_state=0)
    assert (text[0][:n_samples] != X).nnz == 0
    assert_array_equal(y, text[1][:n_samples])
    other, _ = make_text_like(n_samples, random_state=1)
    assert (other != X).nnz > 0


def test_text_noise_is_the_fraction_of_flipped_labels(text):
    _, clean = make_text_like(40_000, noise=0, random_state=0)
    assert np.mean(clean != text[1]) == pytest.approx(0.06, abs=0.005)


def test_text_is_linear_but_for_the_noise():
    for noise in (0, 0.06):
        X, y = make_text_like(40_000, 2000, 0.04, noise=noise, random_state=0)
        model = sdca(
            make_problem(y[:35_000], 1e-4), linear_rows(X[:35_000]), tol=0.02, random_state=0
        )
        error = np.mean(np.sign(X[35_000:] @ model.w) != y[35_000:])
        assert noise - 0.01 < error < noise + 0.012


@pytest.mark.parametrize("n_features", [2, 3, 51])
def test_text_of_few_words(n_features):
    X, _ = make_text_like(300, n_features, 0.5, dtype=np.float64, random_state=0)
    assert X.shape == (300, n_features)
    assert X.dtype == np.float64
    assert_allclose(X.multiply(X).sum(axis=1), 1)
    assert len(np.unique(X.indices)) == n_features


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"n_samples": 0}, "n_samples must be at least 1, got 0"),
        ({"n_features": 1}, "n_features must be at least 2, got 1"),
        ({"density": 0.6}, r"density must be between .* and 0\.5, got 0\.6"),
        ({"density": 1e-6}, "density must be between"),
        ({"noise": 1.5}, r"noise must be a fraction between 0 and 1, got 1\.5"),
    ],
)
def test_text_rejects_what_is_out_of_range(arguments, match):
    with pytest.raises(ValueError, match=match):
        make_text_like(**arguments)


# Files in LIBSVM's format


@pytest.fixture(scope="module")
def small():
    X, y = make_text_like(500, 300, 0.02, random_state=0)
    return X, y


@pytest.fixture
def svmlight(small, tmp_path):
    """The path of a file, plain or compressed."""

    def write(suffix=""):
        path = tmp_path / "small"
        dump_svmlight_file(*small, str(path), zero_based=False)
        if suffix:
            packed = datasets._OPENERS[suffix](f"{path}{suffix}", "wb")
            with packed:
                packed.write(path.read_bytes())
        return f"{path}{suffix}"

    return write


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_svmlight_whole_and_in_chunks(small, svmlight, suffix):
    path = svmlight(suffix)
    X, y = load_svmlight(path, n_features=300)
    assert X.dtype == np.float32
    assert_allclose(X.toarray(), small[0].toarray(), rtol=1e-6)
    assert y.dtype == np.int64
    assert_array_equal(y, small[1])
    parts = list(iter_svmlight(path, n_features=300, chunk_size=64))
    assert [part.shape[0] for part, _ in parts] == [64] * 7 + [52]
    assert (vstack([part for part, _ in parts]) != X).nnz == 0
    assert_array_equal(np.hstack([labels for _, labels in parts]), y)


@pytest.mark.parametrize("n_bytes", [50, 777, 10_000, 10**6])
def test_svmlight_chunks_by_number_are_a_partition(small, svmlight, n_bytes):
    chunks = SvmlightChunks(svmlight(), n_features=300, chunk_mb=n_bytes / 2**20)
    backwards = [chunks[number] for number in reversed(range(len(chunks)))]
    X = vstack([part for part, _ in backwards[::-1]])
    assert_allclose(X.toarray(), small[0].toarray(), rtol=1e-6)
    assert_array_equal(np.hstack([labels for _, labels in backwards[::-1]]), small[1])
    with pytest.raises(IndexError):
        chunks[len(chunks)]


def test_svmlight_chunk_starts_with_a_whole_line(tmp_path):
    path = tmp_path / "even"
    path.write_text("".join(f"{i % 2} 1:{i}\n" for i in range(10)))  # six bytes a line
    chunks = SvmlightChunks(path, n_features=1, chunk_mb=12 / 2**20)
    assert_array_equal(np.vstack([X.toarray() for X, _ in chunks])[:, 0], np.arange(10))


def test_svmlight_chunk_without_a_row_is_empty(tmp_path):
    (tmp_path / "long").write_text("1 " + " ".join(f"{j}:1" for j in range(1, 100)) + "\n")
    chunks = SvmlightChunks(tmp_path / "long", n_features=99, chunk_mb=100 / 2**20)
    assert [X.shape for X, _ in chunks] == [(1, 99)] + [(0, 99)] * (len(chunks) - 1)
    assert len(chunks) > 1


def test_svmlight_labels_that_are_not_whole_stay(tmp_path):
    (tmp_path / "file").write_text("0.5 1:1\n-1 2:1\n")
    assert_array_equal(load_svmlight(tmp_path / "file")[1], [0.5, -1])


def test_svmlight_rejects(svmlight, tmp_path):
    with pytest.raises(ValueError, match="path must be of a plain file"):
        SvmlightChunks(svmlight(".gz"), n_features=300)
    with pytest.raises(ValueError, match="chunk_mb must be positive, got 0"):
        SvmlightChunks(svmlight(), n_features=300, chunk_mb=0)
    with pytest.raises(ValueError, match="chunk_size must be at least 1, got 0"):
        next(iter_svmlight(svmlight(), n_features=300, chunk_size=0))
    with pytest.raises(ValueError, match="n_features"):
        load_svmlight(svmlight(), n_features=10)


# A tiny idx set, and the ways to it


def _idx(array):
    shape = np.array(array.shape, ">u4").tobytes()
    return bytes([0, 0, 8, array.ndim]) + shape + array.tobytes()


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Four small idx files in tmp_path/data/tiny, an empty cache and no way to download."""
    rng = np.random.default_rng(0)
    contents = {
        "train-images-idx3-ubyte.gz": _idx(rng.integers(0, 256, (6, 3, 2), dtype=np.uint8)),
        "train-labels-idx1-ubyte.gz": _idx(np.array([0, 1, 2, 0, 1, 2], np.uint8)),
        "t10k-images-idx3-ubyte.gz": _idx(np.full((2, 3, 2), 255, np.uint8)),
        "t10k-labels-idx1-ubyte.gz": _idx(np.array([2, 0], np.uint8)),
    }
    folder = tmp_path / "data" / "tiny"
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(gzip.compress(content))
    monkeypatch.setenv("KPEGASOS_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    sha256 = [hashlib.sha256(content).hexdigest() for content in contents.values()]
    return datasets._ImageSet("tiny", (), *sha256, ("a", "b", "c"))


@pytest.fixture
def server(tmp_path):
    """Serve tmp_path over HTTP; yields the address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = partial(Quiet, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


def test_idx_set_is_parsed(tiny):
    data = tiny.load(scale=True)
    assert data.X_train.shape == (6, 6)
    assert data.X_train.dtype == data.X_test.dtype == np.float32
    assert_array_equal(data.X_test, 1)
    assert_array_equal(data.y_train, [0, 1, 2, 0, 1, 2])
    assert_array_equal(data.y_test, [2, 0])
    assert data.target_names == ("a", "b", "c")
    unscaled = tiny.load(scale=False)
    assert unscaled.X_train.dtype == np.float32
    assert_allclose(unscaled.X_train / 255, data.X_train, rtol=1e-6)


def test_idx_rejects_another_type():
    with pytest.raises(ValueError, match="not an idx file of unsigned bytes"):
        _files.parse_idx(bytes([0, 0, 13, 1, 0, 0, 0, 0]))


def test_idx_set_is_found_in_the_cache(tiny, tmp_path, monkeypatch):
    (tmp_path / "cache").mkdir()
    (tmp_path / "data").rename(tmp_path / "cache" / "kpegasos")
    assert len(tiny.load(scale=True).y_train) == 6
    monkeypatch.delenv("KPEGASOS_DATA")
    assert len(tiny.load(scale=True).y_train) == 6


def test_checksum_is_of_the_content(tiny, tmp_path):
    path = tmp_path / "data" / "tiny" / "t10k-labels-idx1-ubyte.gz"
    content = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(content, compresslevel=1, mtime=12345))
    assert_array_equal(tiny.load(scale=True).y_test, [2, 0])


def test_checksum_mismatch_names_file_expected_and_got(tiny, tmp_path):
    path = tmp_path / "data" / "tiny" / "t10k-labels-idx1-ubyte.gz"
    other = _idx(np.array([1, 0], np.uint8))
    path.write_bytes(gzip.compress(other))
    with pytest.raises(ValueError, match="SHA-256") as error:
        tiny.load(scale=True)
    message = str(error.value)
    assert str(path) in message
    assert f"expected SHA-256 {tiny.test_labels}" in message
    assert f"got {hashlib.sha256(other).hexdigest()}" in message


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b"<html>"], ids=["cut", "html"])
def test_damaged_file_is_named(tiny, tmp_path, damage):
    path = tmp_path / "data" / "tiny" / "train-images-idx3-ubyte.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte\.gz is not a whole gzip file"):
        tiny.load(scale=True)


def test_download_fills_the_cache(tiny, tmp_path, server, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("KPEGASOS_DATA")
    source = replace(tiny, mirrors=(f"{server}/data/tiny/",))
    data = source.load(scale=True)
    assert_array_equal(data.y_test, [2, 0])
    assert len(list((tmp_path / "cache" / "kpegasos" / "tiny").iterdir())) == 4
    assert len(tiny.load(scale=True).y_train) == 6, "the second load needs no mirror"


def test_download_goes_to_the_second_mirror(tiny, tmp_path, server, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("KPEGASOS_DATA")
    bad = tmp_path / "bad"
    bad.mkdir()
    for path in (tmp_path / "data" / "tiny").iterdir():
        (bad / path.name).write_bytes(b"not what was asked for")
    mirrors = (f"{server}/nothing/", f"{server}/bad/", f"{server}/data/tiny/")
    assert_array_equal(replace(tiny, mirrors=mirrors).load(scale=True).y_test, [2, 0])


def test_failed_download_says_what_to_set_and_leaves_nothing(tiny, tmp_path, server, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("KPEGASOS_DATA")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "train-images-idx3-ubyte.gz").write_bytes(b"not what was asked for")
    source = replace(tiny, mirrors=(f"{server}/nothing/", f"{server}/bad/"))
    with pytest.raises(FileNotFoundError, match="KPEGASOS_DATA") as error:
        source.load(scale=True)
    assert "404" in str(error.value)
    assert "not a whole gzip file" in str(error.value)
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("load", "place"),
    [
        (load_fashion_mnist, "fashion-mnist"),
        (load_mnist, "mnist"),
        (load_usps, "usps"),
        (load_adult, "adult"),
        (load_rcv1_sample, "rcv1-sample"),
        (load_covtype, "covtype"),
    ],
)
def test_missing_set_says_where_it_looked_and_what_to_set(load, place, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setenv("KPEGASOS_DATA", str(tmp_path / "here"))
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "there")
    monkeypatch.setattr(pooch, "retrieve", fail)
    with pytest.raises(FileNotFoundError) as error:
        load()
    message = str(error.value)
    assert str(tmp_path / "here" / place) in message
    assert str(tmp_path / "there" / place) in message
    assert "set the environment variable KPEGASOS_DATA" in message
    assert "\n" not in message
    assert ("no network" in message) == ("mnist" in place)


def test_import_does_not_touch_the_network():
    program = "import sys, kpegasos.datasets; assert 'requests' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


# The small formats, on hand-written files


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
    with pytest.raises(ValueError, match="positive must be a class from 1 to 7, got 0"):
        load_covtype(positive=0)


def test_covtype_split_is_determined_by_random_state(data_folder):
    (data_folder / "covtype").mkdir()
    rows = "".join(f"{i},{1 + i % 7}\n" for i in range(70)).encode()
    (data_folder / "covtype" / "covtype.csv.gz").write_bytes(gzip.compress(rows))
    first, again, other = (load_covtype(random_state=seed).X_test for seed in (0, 0, 1))
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)


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


@pytest.mark.usefixtures("real_data")
def test_real_covtype_is_as_hard_as_in_the_papers():
    data = load_covtype(positive=1)
    model = sdca(make_problem(data.y_train, 1e-6), linear_rows(data.X_train), tol=0.02)
    error = np.mean(np.sign(data.X_test @ model.w) != data.y_test)
    assert error == pytest.approx(0.226, abs=0.004)
