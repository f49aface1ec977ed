"""Real sets are listed, found, fetched, checked and parsed; the real files where they are."""

import gzip
import hashlib
import os
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rejections import refusal
from scipy.sparse import issparse

from kpegasos import datasets
from kpegasos.datasets import load_covtype, load_rcv1_sample, load_usps, real
from kpegasos.datasets import real as set_files
from tests.playground.browser import served

NAMES = "adult", "covtype", "fashion-mnist", "mnist", "rcv1-sample", "usps"
LOADERS = {name: getattr(datasets, f"load_{name.replace('-', '_')}") for name in NAMES}
each_set = pytest.mark.parametrize("name", LOADERS)


class Places:
    """Folders for data and for the cache, without a network."""

    def __init__(self, folder):
        self.data, self.cache, self.downloads = folder / "data", folder / "cache", {}

    def put(self, file, content):
        path = self.data / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def download(self, address):
        assert address.startswith("http")
        if address not in self.downloads:
            raise OSError("404: no network")
        return self.downloads[address]

    def cached(self):
        return sorted(path.name for path in self.cache.rglob("*") if path.is_file())


@pytest.fixture
def places(tmp_path, monkeypatch):
    made = Places(tmp_path)
    monkeypatch.setenv("KPEGASOS_DATA", str(made.data))
    monkeypatch.setenv("XDG_CACHE_HOME", str(made.cache))
    monkeypatch.setattr(set_files, "_download", made.download)
    return made


def sha256(content):
    return hashlib.sha256(content).hexdigest()


# --- what is fetched -----------------------------------------------------------------------------


def test_files_are_downloaded_and_verified_once(places, monkeypatch):
    content = {"a9a": b"1 1:1\n", "a9a.t": b"-1 1:1\n"}
    known = real._SETS["adult"]
    places.downloads = {address: content[file.name] for file in known for address in file.addresses}
    with pytest.raises(FileNotFoundError, match=r"content of .*a9a: expected SHA-256 f5d5ffd8"):
        real._content("adult")
    some = tuple(file._replace(sha256=(sha256(content[file.name]),)) for file in known)
    monkeypatch.setitem(real._SETS, "adult", some)
    folder = places.cache / "kpegasos" / "adult"
    for _ in range(2):
        assert real._content("adult") == [*content.values()]
        places.downloads = {}  # nor is it needed again
    assert (folder / "a9a.t").read_bytes() == content["a9a.t"]


@each_set
def test_set_that_is_nowhere_says_what_to_set(places, name):
    with pytest.raises(FileNotFoundError, match="set the environment variable KPEGAS") as loaded:
        LOADERS[name]()
    assert "\n" not in str(loaded.value)
    assert ("no network" in str(loaded.value)) == (name != "usps")
    for folder in (places.data, places.cache / "kpegasos"):
        assert str(folder / name) in str(loaded.value)


# --- images in IDX format, and how files get there ------------------------------------------------


def idx(array):
    shape = np.array(array.shape, ">u4").tobytes()
    return bytes([0, 0, 8, array.ndim]) + shape + array.tobytes()


@pytest.fixture
def tiny(places, monkeypatch):
    """Four small files in the data folder, which a mirror has too."""
    images = np.random.default_rng(0).integers(0, 256, (6, 3, 2), dtype=np.uint8)
    arrays = (
        *(images, np.array([0, 1, 2, 0, 1, 2], np.uint8)),
        *(np.full((2, 3, 2), 255, np.uint8), np.array([2, 0], np.uint8)),
    )
    for name, array in zip(real._IDX_FILES, arrays, strict=True):
        places.put(f"tiny/{name}", gzip.compress(idx(array)))
        places.downloads[f"https://bad/{name}"] = b"not what was asked for"
        places.downloads[f"https://good/{name}"] = gzip.compress(idx(array))
    mirrors = "https://nothing/", "https://bad/", "https://good/"
    known = real._files(real._IDX_FILES, mirrors, *(sha256(idx(array)) for array in arrays))
    monkeypatch.setitem(real._SETS, "tiny", known)
    return partial(real._load_images, "tiny", ("a", "b", "c"))


def test_idx_set_is_parsed(tiny):
    data = tiny()
    assert data.X_train.shape == (6, 6)
    assert data.X_train.dtype == data.X_test.dtype == np.float32
    assert_array_equal(data.X_test, 1)
    assert_array_equal(data.y_train, [0, 1, 2, 0, 1, 2])
    assert_array_equal(data.y_test, [2, 0])
    assert data.target_names == ("a", "b", "c")
    assert data.X_train.min() >= 0


def test_checksum_is_of_the_content_and_a_mismatch_names_file_expected_and_got(tiny, places):
    file, other = "tiny/t10k-labels-idx1-ubyte.gz", idx(np.array([1, 0], np.uint8))
    content = gzip.decompress((places.data / file).read_bytes())
    places.put(file, gzip.compress(content, compresslevel=1, mtime=12345))
    assert_array_equal(tiny().y_test, [2, 0])
    path = places.put(file, gzip.compress(other))
    sentence = f"{re.escape(str(path))}.* expected SHA-256 {sha256(content)}.*got {sha256(other)}"
    with pytest.raises(ValueError, match=sentence):
        tiny()


def test_download_goes_from_mirror_to_mirror_and_fills_the_cache(tiny, places, monkeypatch):
    monkeypatch.delenv("KPEGASOS_DATA")
    with ThreadPoolExecutor(4) as pool:  # as several processes would, each on its own copy
        for data in pool.map(lambda _: tiny(), range(4)):
            assert_array_equal(data.y_test, [2, 0])
    assert places.cached() == sorted(real._IDX_FILES)
    places.downloads = {}
    assert len(tiny().y_train) == 6, "the second load needs no mirror"


def test_failed_download_says_what_to_set_and_leaves_nothing(tiny, places, monkeypatch):
    monkeypatch.delenv("KPEGASOS_DATA")
    del places.downloads["https://good/train-images-idx3-ubyte.gz"]
    with pytest.raises(FileNotFoundError, match=r"404.*expected SHA-256.*KPEGASOS_DATA"):
        tiny()
    assert not places.cached()


def test_download_is_the_file_of_the_server(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (tmp_path / "a9a").write_bytes(b"1 1:1\n")
    with served(tmp_path) as server:
        with pytest.raises(OSError, match="404"):
            set_files._download(f"{server}/nothing")
        assert set_files._download(f"{server}/a9a") == b"1 1:1\n"


# --- arrays of USPS -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"X_train": np.zeros((2, 255))}, r"X_train of shape \(n_samples, 256\).*got float64"),
        ({"y_test": np.full(2, 10)}, "as many digits y_test"),
        ({"X_train": np.array([{}])}, r"usps\.npz must be a whole \.npz file"),
    ],
)
def test_usps_of_other_arrays_is_refused(places, arrays, match):
    X, y = np.zeros((2, 256), np.float32), np.zeros(2, int)
    usual = {"X_train": X, "y_train": y, "X_test": X, "y_test": y}
    np.savez(places.put("usps/usps.npz", b""), **(usual | arrays))
    assert re.search(match, refusal(load_usps))


def test_package_has_nothing_that_unpickles_or_unpacks_files():
    """Compiled code aside, which numba pickles: its folder is trusted, as SECURITY.md says."""
    package = Path(set_files.__file__).parents[1]
    for path in set(package.rglob("*.py")) - {package / "utils" / "compiled.py"}:
        source = path.read_text(encoding="utf-8")
        for word in ("pickle.load", "joblib.load", "allow_pickle=True", "extractall", "Unzip"):
            assert word not in source, path


# --- texts, and the table of Covertype ------------------------------------------------------------


@pytest.fixture
def put_set(places, monkeypatch):
    """Put files of a set where they are looked for, as those that are known."""

    def put(name, *contents):
        known = real._SETS[name]
        files = [
            file._replace(sha256=(sha256(content),))
            for file, content in zip(known, contents, strict=True)
        ]
        for file, content in zip(files, contents, strict=True):
            places.put(f"{name}/{file.name}", content)
        monkeypatch.setitem(real._SETS, name, tuple(files))

    return put


def test_rcv1_sample_reads_vowpal_wabbit(put_set):
    put_set("rcv1-sample", *[b"-1 |f 2:.5 47236:1.5\n1 |f 1:2.0000000e+00\n"] * 2)
    data = load_rcv1_sample()
    assert data.X_train.shape == data.X_test.shape == (2, 47_236)
    assert_array_equal(data.y_train, [-1, 1])
    assert_array_equal(data.X_train.data, [0.5, 1.5, 2.0])
    assert_array_equal(data.X_train.indices, [1, 47_235, 0])


@pytest.fixture
def covtype(put_set):
    """Write a table and load it."""

    def write(head="", **options):
        rows = "".join(f"{i},{10 + i % 3},{1 + i % 7}\n" for i in range(70))
        put_set("covtype", (head + rows).encode())
        return load_covtype(**options)

    return write


@pytest.mark.parametrize("head", ["", "a,b,c\n"])
def test_covtype_is_a_class_against_the_rest(covtype, head):
    data = covtype(head)
    assert data.X_train.shape == (63, 2)
    assert data.X_test.shape == (7, 2)
    X = np.vstack([data.X_train, data.X_test])
    row = np.round(69 * X[:, 0])
    assert_array_equal(np.sort(row), np.arange(70))
    y = np.hstack([data.y_train, data.y_test])
    assert_array_equal(y, np.where(row % 7 == 1, 1, -1))
    spruce = covtype(head, positive=1)
    assert_array_equal(spruce.y_train == 1, np.round(69 * spruce.X_train[:, 0]) % 7 == 0)
    assert spruce.target_names == ("rest", "spruce/fir")


def test_covtype_is_scaled_and_split_by_random_state(covtype):
    first, again, other = (covtype(random_state=seed) for seed in (0, 0, 1))
    assert first.X_train.dtype == np.float32
    assert_allclose(np.unique(np.vstack([first.X_train, first.X_test])[:, 1]), [0, 0.5, 1])
    assert_array_equal(first.X_test, again.X_test)
    assert not np.array_equal(first.X_test, other.X_test)


@each_set
def test_set_of_another_content_is_refused(places, name):
    for file in [file.name for file in real._SETS.get(name, ())] or ["usps.npz"]:
        places.put(f"{name}/{file}", b"1,2\n")
    assert re.search(f"{name}.*(expected SHA-256|must be a whole)", refusal(LOADERS[name]))


# --- the real files -------------------------------------------------------------------------------

real_data = pytest.mark.skipif(not os.environ.get("KPEGASOS_DATA"), reason="no KPEGASOS_DATA")


#: Rows to train and to test on, columns, classes.
SIZES = {
    "adult": (32_561, 16_281, 123, 2),
    "covtype": (522_911, 58_101, 54, 2),
    "fashion-mnist": (60_000, 10_000, 784, 10),
    "mnist": (60_000, 10_000, 784, 10),
    "rcv1-sample": (1_000, 500, 47_236, 2),
    "usps": (7_291, 2_007, 256, 10),
}


@real_data
@each_set
def test_real_set_has_the_sizes_that_are_known(name):
    data, (n_train, n_test, n_features, n_classes) = LOADERS[name](), SIZES[name]
    assert data.X_train.shape == (n_train, n_features)
    assert data.X_test.shape == (n_test, n_features)
    assert data.X_train.dtype == data.X_test.dtype == np.float32
    assert data.y_train.dtype == data.y_test.dtype == np.int64
    sparse = name in ("adult", "rcv1-sample")
    assert issparse(data.X_train) == issparse(data.X_test) == sparse
    labels = range(10) if n_classes == 10 else [-1, 1]
    for y in (data.y_train, data.y_test):
        assert_array_equal(np.unique(y), labels)
    assert len(data.target_names) == n_classes
    assert -1 <= data.X_train.min() <= 0 < data.X_train.max() <= 1
    if name == "rcv1-sample":  # rows have length one
        assert_allclose(data.X_train.multiply(data.X_train).sum(axis=1), 1, atol=1e-5)
