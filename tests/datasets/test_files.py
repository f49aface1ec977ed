"""Files of real sets are found, downloaded and checked."""

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

from kpegasos.datasets import (
    _files,
    images,
    load_adult,
    load_covtype,
    load_fashion_mnist,
    load_mnist,
    load_rcv1_sample,
    load_usps,
)


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
    return images.ImageSet("tiny", (), *sha256, ("a", "b", "c"))


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
