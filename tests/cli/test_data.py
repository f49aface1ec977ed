"""``kpegasos data``: the catalogue, and files that are fetched and verified."""

import json
import sys

import numpy as np
import pooch
import pytest

from kpegasos.datasets import catalogue


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Data are looked for in an empty folder, and in an empty cache."""
    monkeypatch.setenv("KPEGASOS_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(pooch, "os_cache", lambda name: str(tmp_path / "cache"))
    (tmp_path / "data" / "usps").mkdir(parents=True)
    return tmp_path / "data"


def put_usps(folder):
    arrays = {f"{kind}_{part}": np.zeros(3) for kind in "Xy" for part in ("train", "test")}
    np.savez(folder / "usps" / "usps.npz", **arrays)


def test_list_names_every_set_and_where_it_is(kpegasos, own_folder):
    put_usps(own_folder)
    titles, *lines = kpegasos("data", "list").out.splitlines()
    assert titles.split()[0] == "name"
    assert [line.split()[0] for line in lines] == [entry.name for entry in catalogue()]
    assert lines[-1].endswith(str(own_folder / "usps"))
    assert lines[0].endswith("can be fetched")
    told = json.loads(kpegasos("data", "list", "--json").out)["data_sets"]
    assert [entry["name"] for entry in told] == [entry.name for entry in catalogue()]
    assert all(entry["folder"] is None for entry in told[:-1])
    assert told[0]["source"].startswith("UCI Adult")


def test_fetch_prints_the_files_or_says_why_not(kpegasos, refusal, own_folder):
    assert "must be one of" in refusal("data", "fetch", "iris")
    sentence = refusal("data", "fetch", "usps")
    assert "usps.npz is not in" in sentence
    assert "it comes from US Postal Service" in sentence
    put_usps(own_folder)
    path = str(own_folder / "usps" / "usps.npz")
    assert kpegasos("data", "fetch", "usps").out == f"{path}\n"
    assert json.loads(kpegasos("data", "fetch", "usps", "--json").out) == {"usps": [path]}


def test_without_pooch_a_sentence_names_the_extra(refusal, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    sentence = "real data need pooch: pip install 'kpegasos[datasets]'\n"
    assert refusal("data", "fetch", "adult") == sentence
