"""``kpegasos data``: the catalogue, and files that are fetched and verified."""

from __future__ import annotations

import json

import numpy as np
import pooch
import pytest

from kpegasos.cli.main import main
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


def test_list_names_every_set_and_where_it_is(own_folder, capsys):
    put_usps(own_folder)
    assert main(["data", "list"]) == 0
    titles, *lines = capsys.readouterr().out.splitlines()
    assert titles.split()[0] == "name"
    assert [line.split()[0] for line in lines] == [entry.name for entry in catalogue()]
    assert lines[-1].endswith(str(own_folder / "usps"))
    assert lines[0].endswith("can be fetched")


def test_json_has_the_whole_catalogue(capsys):
    assert main(["data", "list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["data_sets"]
    assert [entry["name"] for entry in told] == [entry.name for entry in catalogue()]
    assert all(entry["folder"] is None for entry in told)
    assert told[0]["source"].startswith("UCI Adult")


def test_fetch_prints_the_files(own_folder, capsys):
    put_usps(own_folder)
    path = str(own_folder / "usps" / "usps.npz")
    assert main(["data", "fetch", "usps"]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    assert main(["data", "fetch", "usps", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"usps": [path]}


def test_set_without_a_mirror_says_where_it_comes_from(capsys):
    assert main(["data", "fetch", "iris"]) == 1
    assert "must be one of" in capsys.readouterr().err
    assert main(["data", "fetch", "usps"]) == 1
    err = capsys.readouterr().err
    assert "usps.npz is not in" in err
    assert "it comes from US Postal Service" in err
    assert err.count("\n") == 1
