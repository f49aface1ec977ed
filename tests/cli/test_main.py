"""The program as a whole: its help, its errors, its exit statuses."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest
from cli_cases import write_examples

from kpegasos import cli, losses
from kpegasos.cli import train
from kpegasos.cli.main import COMMANDS, main
from kpegasos.kernels import functions

ERROR = "kpegasos predict:"


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys\nfrom kpegasos.cli.main import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(sorted({'numpy', 'numba', 'scipy', 'sklearn', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: kpegasos")
    assert done.stdout.splitlines()[-1] == "[]"


def test_names_that_help_lists_are_those_of_the_package():
    """They are written twice, as help imports no table of kernels or losses."""
    assert set(cli.KERNELS) == {*functions.KERNELS, "precomputed"}
    assert list(losses.CLASSIFICATION) == list(train._LOSSES)
    assert list(losses.REGRESSION) == list(train._REGRESSION_LOSSES)


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


def test_a_full_disk_is_one_sentence_with_the_file(kpegasos, tmp_path, monkeypatch):
    data = write_examples(tmp_path / "data")
    kpegasos("train", "-q", data, "m.model")
    if os.path.exists("/dev/full"):
        ran = kpegasos("predict", data, "m.model", "/dev/full")
        assert (ran.status, ran.err) == (1, f"{ERROR} /dev/full: no space left on device\n")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    ran = kpegasos("predict", data, "m.model", "out")
    assert (ran.status, ran.err) == (1, f"{ERROR} out: no space left on device\n")
    assert not (tmp_path / "out").exists()


def test_files_behind_two_dashes_may_begin_with_one(kpegasos, tmp_path):
    write_examples(tmp_path / "-x")
    assert kpegasos("train", "-q", "--", "-x", "-y.model").status == 0
    assert (tmp_path / "-y.model").exists()
    assert kpegasos("predict", "-q", "--", "-x", "-y.model").status == 0


@pytest.mark.parametrize("name", ["m.onnx", "m.json", "m.py"])
def test_a_name_of_another_format_is_refused_before_training(kpegasos, tmp_path, name):
    data = write_examples(tmp_path / "data")
    ran = kpegasos("train", data, name)
    assert ran.status == 2
    assert "'kpegasos export' writes" in ran.err
    assert not (tmp_path / name).exists()


def test_a_port_that_is_none_is_a_usage_error(kpegasos):
    ran = kpegasos("playground", "--port", "99999")
    assert ran.status == 2
    assert "must be an integer from 0 to 65535, got '99999'" in ran.err


def test_table_that_the_playground_refuses_is_named(kpegasos, tmp_path):
    (tmp_path / "wide.csv").write_text("1,2,3,4,5,0\n")
    ran = kpegasos("playground", "wide.csv")
    assert ran.status == 1
    assert ran.err.startswith("kpegasos playground: wide.csv: table must have two columns")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full device")
@pytest.mark.parametrize("option", ["--version", "--help"])
def test_program_says_that_its_words_cannot_be_written(option):
    """The version ended in a traceback, help in status 0."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "kpegasos", option], stdout=full, stderr=subprocess.PIPE
        )
    assert ran.returncode == 1
    assert ran.stderr == b"kpegasos: no space left on device\n"
