"""The runner of the experiments, on a small experiment of our own."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from experiments import _run
from experiments._run import discover, plain, to_json


def _contents(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*")}


def test_listing_describes_without_importing(bench, capsys):
    (bench.folder / "heavy.py").write_text('"""Too heavy."""\nraise ImportError\n')
    assert bench() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["heavy  Too heavy.", "line   A line through the origin."]
    assert all(discover().values())


def test_misuse_is_one_line_before_anything_runs(bench, capsys):
    full = "--quick must not overwrite"
    for arguments, sentence in (
        (["circle"], "Unknown experiment circle; there are: line.\n"),
        (["line", "--quick", "--output", bench.root / "experiments"], full),
        (["line", "--quick", "--output", bench.root], full),
        (["line", "--set", "N_ROWS=2", "--output", bench.root], "--set must not overwrite"),
        (["--set", "N_ROWS=2"], "--set must be of one experiment"),
        (["line", "--set", "N_ROWS=2", "--quick"], "--set must be of one experiment"),
        (
            ["line", "--set", "ROWS=2"],
            "--set must be of one of LAST_SEED, N_ROWS, QUICK_ROWS, SEEDS in line, got ROWS.\n",
        ),
    ):
        assert bench(*arguments) == 2
        assert sentence in capsys.readouterr().err
    assert bench.parts() == []


def test_run_writes_results_with_their_origin_and_a_figure(bench, capsys):
    assert bench("line") == 0
    document = bench.results()
    results, meta = document["results"], document["meta"]
    assert results["curve"] == [0, 0.5, 1]
    assert results["gap"] is None
    assert results["table"][1] == {"x": 1, "y": 0.3333333333}
    assert (bench.root / "figures" / "line.png").read_bytes()[1:4] == b"PNG"
    told = "- ✓ **It rises.** (Zhou) It ends at 1.0. *✓ if above 0.*\n- **It is ours.**"
    assert told in capsys.readouterr().out
    assert meta["date"] == datetime.now(UTC).date().isoformat()
    assert meta["quick"] is False
    assert meta["versions"]["numpy"] == np.__version__
    assert set(meta["machine"]["vectors"]) <= {"AVX2", "AVX-512", "NEON"}
    assert set(meta["code"]) == {"package", "experiment"}


def test_quick_and_set_leave_full_results_alone(bench, capsys):
    bench("line")
    folders = bench.folder / "results", bench.root / "figures"
    before = [_contents(folder) for folder in folders]
    capsys.readouterr()
    assert bench("line", "--quick") == 0
    assert "It rises" not in capsys.readouterr().out, "a small version decides nothing"
    assert len(bench.results("build/quick/results")["results"]["table"]) == 3
    assert bench("line", "--set", "N_ROWS=2", "--set", "SEEDS=5") == 0
    changed = bench.results("build/set/results")["results"]
    assert (len(changed["table"]), changed["seeds"], changed["last_seed"]) == (2, [5], 5)
    assert "It rises" not in capsys.readouterr().out
    assert [_contents(folder) for folder in folders] == before


def test_figures_only_makes_the_same_bytes_again(bench):
    bench("line")
    figures = _contents(bench.root / "figures")
    bench.parts()
    (bench.root / "figures" / "line.png").unlink()
    assert bench("line", "--figures-only") == 0
    assert bench.parts() == []
    assert _contents(bench.root / "figures") == figures


@pytest.mark.parametrize("trouble", ["error", "interrupt"])
def test_run_resumes_where_it_stopped(bench, monkeypatch, capsys, trouble):
    monkeypatch.setenv("FAKE_TROUBLE", trouble)
    if trouble == "error":
        with pytest.raises(RuntimeError):
            bench("line")
    else:
        assert bench("line") == 130
        assert "Interrupted in line: finished parts are kept" in capsys.readouterr().err
    monkeypatch.delenv("FAKE_TROUBLE")
    assert bench.parts() == ["part0", "part1", "part2"]
    assert bench("line") == 0
    assert bench.parts() == ["part2", "part3"], "the part that was cut short is no result"
    assert bench.partial() == []


# What is stale


def test_stale_names_what_has_changed(bench, capsys, monkeypatch):
    assert bench("--stale") == 0
    assert capsys.readouterr().out.startswith("line: never measured; changed since: package and")
    bench("line")
    for old, new, reason in (
        ("np.float64(i) / 3", "np.float64(i) / 4", "experiment"),
        ("Not the first line.", "The verdict.", ""),  # a docstring
        ("def compute", "# A comment.\ndef compute", ""),
        ("It rises.", "It climbs.", ""),  # of a claim
        ("Ünïcode", "Unicode", ""),  # of the plot
    ):
        bench.write(bench.source.replace(old, new))
        capsys.readouterr()
        bench("--stale")
        out = capsys.readouterr().out
        assert out.endswith(f"changed since: {reason}\n" if reason else "the present code.\n")
    monkeypatch.setattr(_run, "package_fingerprint", lambda: "another")
    bench("--stale")
    assert capsys.readouterr().out.endswith("changed since: package\n")


def test_json_is_rounded_compact_and_exact_on_the_way_back():
    value = {"third": 1 / 3, "big": 1e19 / 3, "int": np.int64(2**60), "text": "a [b]\n{c}, λ"}
    value |= {"rows": [{"b": [1, 2]}, {}], "matrix": np.ones((2, 3)), "flag": np.bool_(True)}
    text = to_json(value)
    assert json.loads(text) == plain(value)
    assert '"matrix": [\n  [1.0, 1.0, 1.0],\n  [1.0, 1.0, 1.0]\n ]' in text
    assert (plain(1 / 3), plain(value)["int"]) == (0.3333333333, 2**60)
    with pytest.raises(TypeError):
        to_json({"a": object()})
