"""Files of real sets are found, downloaded and checked."""

import gzip
import hashlib
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pooch
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos.datasets import files as set_files
from kpegasos.datasets import (
    load_adult,
    load_covtype,
    load_fashion_mnist,
    load_mnist,
    load_rcv1_sample,
    load_usps,
    real,
)
from kpegasos.utils import files


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
    return real.ImageSet("tiny", (), *sha256, ("a", "b", "c"))


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
        set_files.parse_idx(bytes([0, 0, 13, 1, 0, 0, 0, 0]))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0\x08",
        b"\0\0\x08\x02\0\0\0\x01",
        _idx(np.zeros((2, 3), np.uint8))[:-1],
        _idx(np.zeros((2, 3), np.uint8)) + b"1",
        b"\0\0\x08\xff" + 1020 * b"\xff",
        b"\0\0\x08\x02" + 8 * b"\xff",
    ],
)
def test_idx_of_another_size_is_refused_in_a_sentence(content):
    with pytest.raises(ValueError, match=r"^not (an|a whole) idx file") as error:
        set_files.parse_idx(content)
    assert "\n" not in str(error.value)


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


def files_below(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("moment", ["download", "verification"])
def test_interrupt_in_the_middle_leaves_nothing(tiny, tmp_path, monkeypatch, moment):
    monkeypatch.delenv("KPEGASOS_DATA")

    def half(address, path):
        path.write_bytes(b"half a file")
        if moment == "download":
            raise KeyboardInterrupt

    def interrupted(path, sha256):
        assert path.is_file()
        raise KeyboardInterrupt

    monkeypatch.setattr(set_files, "_download", half)
    monkeypatch.setattr(set_files, "_verified", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace(tiny, mirrors=("http://nowhere/",)).load(scale=True)
    assert not list((tmp_path / "cache" / "kpegasos" / "tiny").iterdir())


def test_file_takes_its_place_when_it_is_whole(tiny, tmp_path, monkeypatch):
    monkeypatch.delenv("KPEGASOS_DATA")
    place = tmp_path / "cache" / "kpegasos" / "tiny"

    def copied(address, path):
        name = address.rpartition("/")[2]
        path.write_bytes((tmp_path / "data" / "tiny" / name).read_bytes())
        assert path.parent != place

    monkeypatch.setattr(set_files, "_download", copied)
    source = replace(tiny, mirrors=("http://nowhere/",))
    with ThreadPoolExecutor(4) as pool:  # as several processes would, each on its own copy
        loaded = list(pool.map(lambda _: source.load(scale=True), range(4)))
    for data in loaded:
        assert_array_equal(data.y_test, [2, 0])
    assert sorted(path.name for path in place.iterdir()) == sorted(
        path.name for path in (tmp_path / "data" / "tiny").iterdir()
    )


def test_download_that_goes_on_and_on_is_ended(tiny, tmp_path, server, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("KPEGASOS_DATA")
    monkeypatch.setattr(set_files, "_LARGEST", 10)
    source = replace(tiny, mirrors=(f"{server}/data/tiny/",))
    with pytest.raises(FileNotFoundError, match="a download must have at most 10 bytes"):
        source.load(scale=True)
    assert not files_below(tmp_path / "cache")


def test_archive_that_expands_too_far_is_refused(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_HARMLESS", 2**16)
    path = tmp_path / "data" / "tiny" / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(bytes(2**20)))
    with pytest.raises(
        ValueError, match=r"must hold at most .* bytes, 200 times its size"
    ) as error:
        tiny.load(scale=True)
    assert str(path) in str(error.value)


class Payload:
    """What would run if it were unpickled."""

    def __reduce__(self):
        return os.mkdir, ("unpickled",)


def test_nothing_is_unpickled(tmp_path, monkeypatch):
    monkeypatch.setenv("KPEGASOS_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "usps").mkdir()
    y = np.zeros(1, int)
    X = np.array([Payload()], dtype=object)
    np.savez(tmp_path / "usps" / "usps.npz", X_train=X, y_train=y, X_test=X, y_test=y)
    with pytest.raises(ValueError, match=r"usps\.npz must be a whole \.npz file of the numbers"):
        load_usps()
    assert not (tmp_path / "unpickled").exists()


def test_package_has_nothing_that_unpickles_or_unpacks_files():
    """Compiled code aside, which numba pickles: its folder is trusted, as SECURITY.md says."""
    package = Path(set_files.__file__).parents[1]
    for path in set(package.rglob("*.py")) - {package / "utils" / "compiled.py"}:
        source = path.read_text(encoding="utf-8")
        for word in ("pickle.load", "joblib.load", "allow_pickle=True", "extractall", "Unzip"):
            assert word not in source, path


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"X_train": np.zeros((2, 255))}, r"X_train in .* \(n_samples, 256\), got float64"),
        ({"X_test": np.zeros((2, 256), "U1")}, "X_test in .* must be numbers"),
        ({"y_train": np.zeros(3)}, r"y_train in .* must be numbers of shape \(2,\)"),
        ({"y_test": np.full(2, 10)}, "digits from 0 to 9"),
        ({"X_train": np.full((2, 256), np.nan)}, "pixels from -1 to 1"),
        ({"X_train": np.full((2, 256), 255)}, "pixels from -1 to 1"),
    ],
)
def test_usps_of_other_arrays_is_refused(tmp_path, monkeypatch, arrays, match):
    monkeypatch.setenv("KPEGASOS_DATA", str(tmp_path))
    (tmp_path / "usps").mkdir()
    X, y = np.zeros((2, 256), np.float32), np.zeros(2, int)
    given = {"X_train": X, "y_train": y, "X_test": X, "y_test": y} | arrays
    np.savez(tmp_path / "usps" / "usps.npz", **given)
    with pytest.raises(ValueError, match=match):
        load_usps()


@pytest.mark.parametrize("damage", [lambda b: b[:-30], lambda b: b"PK\x03\x04", lambda b: b""])
def test_damaged_usps_is_named(tmp_path, monkeypatch, damage):
    monkeypatch.setenv("KPEGASOS_DATA", str(tmp_path))
    path = tmp_path / "usps" / "usps.npz"
    path.parent.mkdir()
    X, y = np.zeros((2, 256), np.float32), np.zeros(2, int)
    np.savez(path, X_train=X, y_train=y, X_test=X, y_test=y)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"usps\.npz must be a whole \.npz file"):
        load_usps()


def test_npz_that_expands_too_far_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_HARMLESS", 2**16)
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, X=np.zeros(2**20))
    with pytest.raises(ValueError, match="hold at most"):
        set_files.read_arrays(path, ["X"])


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


@pytest.mark.slow
def test_no_downloader_is_imported_for_a_set_that_is_there(tmp_path):
    X, y = np.zeros((1, 256), np.float32), np.zeros(1, int)
    (tmp_path / "usps").mkdir()
    np.savez(tmp_path / "usps" / "usps.npz", X_train=X, y_train=y, X_test=X, y_test=y)
    program = """
import sys, kpegasos.datasets
kpegasos.datasets.load_usps()
assert not {"pooch", "requests"} & set(sys.modules)
"""
    environment = {**os.environ, "KPEGASOS_DATA": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
