"""Real sets are listed, fetched and verified."""

import gzip
import hashlib
import os

import numpy as np
import pooch
import pytest

from kpegasos.datasets import (
    catalogue,
    fetch,
    load_adult,
    load_covtype,
    load_fashion_mnist,
    load_mnist,
    load_rcv1_sample,
    load_usps,
    real,
)
from kpegasos.datasets import files as set_files

LOADERS = {
    "adult": load_adult,
    "covtype": load_covtype,
    "fashion-mnist": load_fashion_mnist,
    "mnist": load_mnist,
    "rcv1-sample": load_rcv1_sample,
    "usps": load_usps,
}


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """No data, an empty cache and no network."""

    def fail(address, path):
        raise OSError("no network")

    monkeypatch.setenv("KPEGASOS_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    monkeypatch.setattr(set_files, "_download", fail)
    return tmp_path


@pytest.mark.usefixtures("nowhere")
def test_catalogue_has_every_set_that_is_loaded():
    assert {entry.name for entry in catalogue()} == LOADERS.keys()
    for entry in catalogue():
        assert entry.folder is None
        assert entry.source
        assert entry.licence
        assert entry.fetchable == (entry.name != "usps")


def test_catalogue_says_where_a_set_is(nowhere):
    for file in ("adult/a9a", "usps/usps.npz"):
        (nowhere / "data" / file).parent.mkdir(parents=True)
        (nowhere / "data" / file).write_bytes(b"")
    folders = {entry.name: entry.folder for entry in catalogue()}
    assert folders["usps"] == nowhere / "data" / "usps"
    assert folders["adult"] is None, "a9a.t is not there"


def test_fetch_downloads_verifies_and_says_where(nowhere, monkeypatch):
    content = {"a9a": b"1 1:1\n", "a9a.t": b"-1 1:1\n"}

    def download(address, path):
        assert address.startswith("https://")
        path.write_bytes(content[address.rpartition("/")[2]])

    monkeypatch.setattr(set_files, "_download", download)
    with pytest.raises(FileNotFoundError, match=r"content of .*a9a: expected SHA-256 f5d5ffd8"):
        fetch("adult")
    files = tuple(
        file._replace(sha256=(_sha256(content[file.name]),)) for file in real._SETS["adult"].files
    )
    monkeypatch.setitem(real._SETS, "adult", real._SETS["adult"]._replace(files=files))
    folder = nowhere / "cache" / "kpegasos" / "adult"
    assert fetch("adult") == (folder / "a9a", folder / "a9a.t")
    assert (folder / "a9a.t").read_bytes() == content["a9a.t"]
    monkeypatch.setattr(set_files, "_download", None)
    assert fetch("adult") == (folder / "a9a", folder / "a9a.t")


def _sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("name", LOADERS)
def test_set_that_cannot_be_fetched_says_where_it_comes_from(name):
    with pytest.raises(FileNotFoundError, match="it comes from ") as error:
        fetch(name)
    assert "\n" not in str(error.value)
    assert ("no network" in str(error.value)) == (name != "usps")


def test_file_of_another_content_is_refused(nowhere):
    path = nowhere / "data" / "covtype" / "covtype.csv.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(b"1,2\n"))
    with pytest.raises(ValueError, match=r"covtype\.csv\.gz: expected SHA-256 0a93.* or ea35"):
        fetch("covtype")


@pytest.mark.parametrize("name", ["digits", None, 3])
def test_name_of_no_set_is_refused(name):
    with pytest.raises(ValueError, match=r"name must be one of \('adult', 'covtype', "):
        fetch(name)


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("KPEGASOS_DATA"), reason="KPEGASOS_DATA is not set")
@pytest.mark.parametrize("name", LOADERS)
def test_real_files_are_those_of_the_catalogue(name):
    entry = next(entry for entry in catalogue() if entry.name == name)
    paths = fetch(name)
    assert {path.parent for path in paths} == {entry.folder}
    assert sum(path.stat().st_size for path in paths) / 1e6 == pytest.approx(
        entry.megabytes, abs=0.5
    )
    data = LOADERS[name]()
    assert (len(data.y_train), *data.X_test.shape) == (
        entry.n_train,
        entry.n_test,
        entry.n_features,
    )
    assert len(data.target_names) == entry.n_classes


# --- the numbers of Covertype ---


@pytest.fixture
def covtype(nowhere, monkeypatch):
    """Write a small table, which is kept as a large one would be."""
    monkeypatch.setattr(real, "_KEPT_BYTES", 1)
    path = nowhere / "data" / "covtype" / "covtype.csv.gz"
    path.parent.mkdir(parents=True)

    def write(first):
        rows = "".join(f"{first + i},{1 + i % 7}\n" for i in range(70))
        path.write_bytes(gzip.compress(rows.encode()))
        return load_covtype(scale=False).X_train

    return write


def kept(nowhere):
    return list((nowhere / "cache").rglob("*.npy"))


@pytest.mark.parametrize("first", [0, -1.5, 100_000])
def test_numbers_of_covtype_are_kept(covtype, nowhere, monkeypatch, first):
    expected = covtype(first)
    assert len(kept(nowhere)) == 1
    monkeypatch.setattr(real, "_read_table", None)
    again = load_covtype(scale=False).X_train
    assert again.dtype == np.float32
    np.testing.assert_array_equal(again, expected)


def test_numbers_of_covtype_are_read_anew_if_the_file_is_another(covtype, nowhere):
    covtype(0)
    assert covtype(1000).min() >= 1000
    assert len(kept(nowhere)) == 1


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[:-5], lambda b: b"nothing"])
def test_damaged_numbers_of_covtype_are_read_anew(covtype, nowhere, damage):
    expected = covtype(0)
    (path,) = kept(nowhere)
    path.write_bytes(damage(path.read_bytes()))
    np.testing.assert_array_equal(load_covtype(scale=False).X_train, expected)
    assert np.load(path).shape == (70, 2)


def test_covtype_is_read_where_nothing_can_be_kept(covtype, nowhere):
    (nowhere / "cache").write_bytes(b"no folder")
    assert covtype(0).shape == (63, 1)
