"""``kpegasos data``: the catalogue, and files that are fetched and verified."""

import json
import sys

import numpy as np
import pooch
import pytest

from kpegasos.datasets import catalogue


@pytest.fixture(autouse=True)
def usps(tmp_path, monkeypatch):
    """Data are looked for in a folder that has one set, and in an empty cache."""
    monkeypatch.setenv("KPEGASOS_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(pooch, "os_cache", lambda name: str(tmp_path / "cache"))
    path = tmp_path / "data" / "usps" / "usps.npz"
    path.parent.mkdir(parents=True)
    np.savez(path, **dict.fromkeys(("X_train", "y_train", "X_test", "y_test"), np.zeros(3)))
    return path


def test_list_names_every_set_and_where_it_is(kpegasos, usps):
    names = [entry.name for entry in catalogue()]
    titles, *lines = kpegasos("data", "list").out.splitlines()
    assert [line.split()[0] for line in (titles, *lines)] == ["name", *names]
    assert lines[-1].endswith(str(usps.parent))
    assert lines[0].endswith("can be fetched")
    told = json.loads(kpegasos("data", "list", "--json").out)["data_sets"]
    assert [entry["name"] for entry in told] == names
    assert all(entry["folder"] is None for entry in told[:-1])
    assert told[0]["source"].startswith("UCI Adult")


def test_fetch_prints_the_files_or_says_why_not(kpegasos, refusal, usps, monkeypatch):
    assert kpegasos("data", "fetch", "usps").out == f"{usps}\n"
    assert json.loads(kpegasos("data", "fetch", "usps", "--json").out) == {"usps": [str(usps)]}
    usps.unlink()
    assert "must be one of" in refusal("data", "fetch", "iris")
    sentence = refusal("data", "fetch", "usps")
    assert "usps.npz is not in" in sentence
    assert "it comes from US Postal Service" in sentence
    monkeypatch.setitem(sys.modules, "pooch", None)
    sentence = "real data need pooch: pip install 'kpegasos[datasets]'\n"
    assert refusal("data", "fetch", "adult") == sentence
