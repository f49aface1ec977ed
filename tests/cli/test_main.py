"""The program as a whole: its help, its errors, its exit statuses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kpegasos.cli.main import main
from kpegasos.cli.options import SUBCOMMANDS


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in SUBCOMMANDS)])
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys\nfrom kpegasos.cli.main import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(sorted({'numpy', 'numba', 'scipy', 'sklearn', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: kpegasos")
    assert done.stdout.splitlines()[-1] == "[]"


def test_program_is_a_module_and_a_script():
    for program in ([sys.executable, "-m", "kpegasos"], ["kpegasos"]):
        done = subprocess.run([*program, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout.startswith("kpegasos ")


def test_unknown_subcommand_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as end:
        main(["fit"])
    assert end.value.code == 2
    assert "invalid choice: 'fit'" in capsys.readouterr().err


def test_port_that_no_machine_has_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as end:
        main(["playground", "--no-browser", "--port", "70000"])
    assert end.value.code == 2
    assert "must be an integer from 0 to 65535, got '70000'" in capsys.readouterr().err


def test_missing_file_is_one_sentence(capsys, tmp_path):
    assert main(["playground", str(tmp_path / "no.csv")]) == 1
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith("kpegasos playground: ")
    assert "no.csv" in err
    assert err.count("\n") == 1
