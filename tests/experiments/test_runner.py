"""The runner of the experiments, on a small experiment of our own."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from experiments._catalog import discover
from experiments._store import plain, to_json


def _contents(folder: Path):
    return {path.name: path.read_bytes() for path in folder.glob("*")}


# Listing


def test_listing_describes_without_importing(bench, capsys):
    (bench.folder / "heavy.py").write_text('"""Too heavy."""\nraise ImportError\n')
    assert bench() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["experiment", "heavy", "line"]
    assert lines[1].split(maxsplit=3) == ["heavy", "?", "?", "Too heavy."]
    assert lines[2].split(maxsplit=5)[1:] == ["2", "s", "1", "s", "A line through the origin."]
    for name, experiment in discover().items():
        assert experiment.summary, name
        assert "?" not in (experiment.full_time, experiment.quick_time), name


def test_listing_is_light():
    program = (
        "import sys; from experiments.__main__ import main; main([]);"
        "assert not {'matplotlib', 'numba', 'sklearn', 'kpegasos'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_misuse_is_one_line_before_anything_runs(bench, capsys):
    unknown = "Unknown experiment circle; there are: line.\n"
    full = "--quick must not overwrite"
    for arguments, sentence in (
        (["circle"], unknown),
        (["circle", "--all"], unknown),
        (["line", "--jobs", "0"], "--jobs must be at least 1, got 0.\n"),
        (["line", "--quick", "--output", bench.root / "experiments"], full),
        (["line", "--quick", "--output", bench.root], full),
        (["line", "--set", "N_ROWS=2", "--output", bench.root], "--set must not overwrite"),
        (["--set", "N_ROWS=2"], "--set must be of one experiment.\n"),
        (["line", "--set", "N_ROWS=2", "--quick"], "--set must not go with --quick"),
        (["line", "--set", "N_ROWS=2", "--only", "a"], "--set must not go with --only"),
        (
            ["line", "--set", "ROWS=2"],
            "--set must be of one of LAST_SEED, N_ROWS, QUICK_ROWS, SEEDS in line, got ROWS.\n",
        ),
        (["line", "--set", "SEEDS=1 2"], "--set SEEDS must be a value of Python, got '1 2'.\n"),
    ):
        assert bench(*arguments) == 2
        assert sentence in capsys.readouterr().err
    assert bench.parts() == []


# Results


def test_run_writes_results_table_and_figures(bench):
    assert bench("line") == 0
    document = bench.results()
    assert document["experiment"] == "line"
    results = document["results"]
    assert results["curve"] == [0, 0.5, 1]
    assert results["matrix"] == [[1, 0], [0, 1]]
    assert results["gap"] is None
    assert results["table"][1] == {"x": 1, "y": 0.3333333333}
    with (bench.folder / "results" / "line.csv").open() as file:
        assert list(csv.DictReader(file))[1] == {"x": "1", "y": "0.3333333333"}
    assert (bench.root / "figures" / "line.png").read_bytes()[1:4] == b"PNG"
    svg = (bench.root / "figures" / "line.svg").read_text()
    assert "<svg" in svg
    assert "<dc:date>" not in svg
    meta = document["meta"]
    assert (meta["quick"], meta["seeds"]) == (False, [0, 1, 2])
    assert meta["seconds"] >= 0
    assert bench("line", "--output", bench.root / "elsewhere") == 0
    assert set(_contents(bench.root / "elsewhere" / "results")) == {"line.json", "line.csv"}


# Runs that are not full


def test_quick_and_set_leave_full_results_alone(bench, capsys, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    bench("line")
    assert "✓ A line is straight. It is." in capsys.readouterr().out
    folders = bench.folder / "results", bench.root / "figures"
    before = [_contents(folder) for folder in folders]
    assert bench("line", "--quick") == 0
    quick = bench.results("build/quick/results")
    assert (len(quick["results"]["table"]), quick["meta"]["quick"]) == (3, True)
    capsys.readouterr()
    assert bench("line", "--set", "N_ROWS=2", "--set", "SEEDS=5") == 0
    assert [_contents(folder) for folder in folders] == before
    changed = bench.results("build/set/results")["results"]
    assert (len(changed["table"]), changed["seeds"], changed["last_seed"]) == (2, [5], 5)
    said = capsys.readouterr().out
    assert "line: A line through the origin. (N_ROWS=2, SEEDS=5)" in said
    assert "straight" not in said


# Figures


def test_figures_only_makes_the_same_bytes_whatever_the_style(bench):
    bench("line")
    figures = _contents(bench.root / "figures")
    assert len(figures) == 2
    bench.parts()
    for path in (bench.root / "figures").glob("*"):
        path.unlink()
    with matplotlib.rc_context({"font.size": 30}):
        assert bench("line", "--figures-only") == 0
    assert bench.parts() == []
    assert _contents(bench.root / "figures") == figures


# Resuming


def test_resume_after_an_error(troubled, monkeypatch, capsys):
    bench = troubled
    assert bench.parts() == ["part0", "part1", "part2"]
    assert len(bench.partial()) == 1
    assert not (bench.folder / "results").exists()
    monkeypatch.delenv("FAKE_TROUBLE")
    assert bench("line") == 0
    assert bench.parts() == ["part2", "part3"]
    assert "line: resuming after 2 parts\n" in capsys.readouterr().out
    assert bench.partial() == []
    resumed = bench.results()["results"]
    assert bench("line") == 0
    assert bench.parts() == ["part0", "part1", "part2", "part3"]
    assert bench.results()["results"] == resumed


@pytest.mark.parametrize("trouble", ["interrupt", "interrupted fit"])
def test_interrupt_says_how_to_resume(bench, monkeypatch, capsys, trouble):
    (bench.folder / "other.py").write_text(bench.source)
    monkeypatch.setenv("FAKE_TROUBLE", trouble)
    assert bench("line", "other", "--quick", "--fresh") == 130
    monkeypatch.delenv("FAKE_TROUBLE")
    message = "Interrupted; finished parts are kept: resume with "
    assert f"{message}`python -m experiments line other --quick`." in capsys.readouterr().err
    assert bench.parts() == ["part0", "part1", "part2"]
    assert bench("line", "--quick") == 0
    assert bench.parts() == ["part2"], "the part that was cut short is no result"
    assert bench.results("build/quick/results")["results"]["table"][2]["x"] == 2


@pytest.mark.parametrize("reason", ["fresh", "source", "mode"])
def test_resume_does_not_happen(troubled, monkeypatch, reason):
    bench = troubled
    bench.parts()
    monkeypatch.delenv("FAKE_TROUBLE")
    if reason == "source":
        bench.module.write_text(bench.source + "\nCHANGED = True\n")
    options = {"fresh": ["--fresh"], "source": [], "mode": ["--quick"]}[reason]
    assert bench("line", *options) == 0
    assert bench.parts()[:2] == ["part0", "part1"]


# A context by itself


def test_json_is_rounded_compact_and_exact_on_the_way_back():
    value = {"third": 1 / 3, "big": 1e19 / 3, "int": np.int64(2**60), "text": "a [b]\n{c}, λ"}
    value |= {"rows": [{"b": [1, 2]}, {}], "matrix": np.ones((2, 3)), "flag": np.bool_(True)}
    text = to_json(value)
    assert json.loads(text) == plain(value)
    assert '"matrix": [\n  [1.0, 1.0, 1.0],\n  [1.0, 1.0, 1.0]\n ]' in text
    assert (plain(1 / 3), plain(value)["int"]) == (0.3333333333, 2**60)
    assert to_json(json.loads(text)) == text
    with pytest.raises(TypeError):
        to_json({"a": object()})
