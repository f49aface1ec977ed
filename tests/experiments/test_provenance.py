"""Where results come from, and which of them other code has measured."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from experiments import _meta


def _stale(bench, capsys, *argv):
    """Return the lines of the table of stale results, without its head."""
    capsys.readouterr()
    assert bench("--stale", *argv) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()[1:]]


def test_results_note_code_commit_machine_and_date(bench):
    bench("line")
    meta = bench.results()["meta"]
    assert meta["date"] == datetime.now(UTC).date().isoformat()
    assert meta.get("commit") == _meta.commit()
    assert meta["code"] == {
        "package": _meta.package_fingerprint(),
        "experiment": _meta.fingerprint([bench.module]),
    }
    assert meta["versions"]["numpy"] == np.__version__
    names = "kpegasos", "python", "numpy", "numba", "scipy", "scikit-learn"
    assert set(meta["versions"]) == set(names)
    assert set(meta["machine"]) == {"processor", "vectors", "cores", "platform"}
    assert set(meta["machine"]["vectors"]) <= {"AVX2", "AVX-512", "NEON"}


def test_stale_names_results_and_what_has_changed(bench, monkeypatch, capsys):
    assert _stale(bench, capsys) == [["line", "never"]]
    bench("line")
    bench.parts()
    capsys.readouterr()
    assert bench("--stale") == 0
    assert capsys.readouterr().out == "All results were measured with the present code.\n"
    assert bench.parts() == []
    monkeypatch.setattr(_meta, "package_fingerprint", lambda: "another")
    assert [line[-1] for line in _stale(bench, capsys)] == ["package"]
    path = bench.folder / "results" / "line.json"
    document = bench.results()
    for key in ("code", "commit", "date"):
        document["meta"].pop(key, None)
    path.write_text(json.dumps(document))
    assert _stale(bench, capsys) == [["line", "unknown", "unknown", "unknown"]]


def test_stale_names_changes_of_the_experiment_that_matter(bench, capsys):
    bench("line")
    for old, new, reasons in (
        ("np.float64(i) / 3", "np.float64(i) / 4", ["experiment"]),
        ("Not the first line.", "The verdict.", []),  # a docstring
        ("def compute", "# A comment.\ndef compute", []),
        ("Ünïcode", "Unicode", []),  # of the plot
        ('FULL_TIME = "2 s"', 'FULL_TIME = "3 s"', []),
        ("import os\n", "import os\nif TYPE_CHECKING:\n    import re\n", []),
    ):
        assert old in bench.source
        bench.module.write_text(bench.source.replace(old, new))
        assert [line[-1] for line in _stale(bench, capsys, "line")] == reasons


@pytest.mark.parametrize(("room", "counts"), [("core", True), ("cli", False), ("plotting", False)])
def test_package_is_what_results_depend_on(monkeypatch, tmp_path, room, counts):
    file = tmp_path / "kpegasos" / room / "a.py"
    file.parent.mkdir(parents=True)
    file.write_text("x = 1")
    monkeypatch.setattr(_meta, "ROOT", tmp_path)
    before = _meta.package_fingerprint.__wrapped__()
    file.write_text("x = 2")
    assert (_meta.package_fingerprint.__wrapped__() != before) is counts
