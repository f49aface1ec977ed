"""The program as a whole: its help, its errors, its exit statuses."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest
from cli_cases import accuracy, write_examples

from kpegasos import cli, losses
from kpegasos.cli import train
from kpegasos.cli.main import COMMANDS
from kpegasos.kernels import functions


def ran_in_shell(folder, command, **options):
    """What bash makes of a command in which "$@" is the program."""
    words = ["bash", "-o", "pipefail", "-c", command, "bash", sys.executable, "-m", "kpegasos"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, **options)


def test_help_imports_nothing_heavy():
    code = """
import sys
from kpegasos.cli.main import COMMANDS, main
for words in (["--help"], ["help"], ["help", "train"], *([name, "--help"] for name in COMMANDS)):
    try:
        main(words)
    except SystemExit as end:
        assert not end.code
print(sorted({'numpy', 'numba', 'scipy', 'sklearn', 'matplotlib'} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("usage: kpegasos") == 3 + len(COMMANDS)
    assert done.stdout.count("usage: kpegasos train") == 2
    assert done.stdout.splitlines()[-1] == "[]"


COMPLETED = {
    "kpegasos tun": "tune",
    "kpegasos tune --bal": "--balanced",
    "kpegasos train --kernel additive": "additive_chi2",
    "kpegasos train comp": "complete",
    "kpegasos tune --plot comp": "complete",
}


def test_completion_knows_commands_options_choices_and_files(kpegasos, tmp_path):
    pytest.importorskip("shtab", reason="needs shtab")
    (tmp_path / "complete").write_text(kpegasos("--completion", "bash").out)
    script = ["source complete"]
    for words in COMPLETED:
        at = words.count(" ")
        script.append(f"COMP_WORDS=({words}); COMP_CWORD={at}; _shtab_kpegasos; echo $COMPREPLY")
    done = subprocess.run(["bash", "-c", "\n".join(script)], capture_output=True, text=True)
    assert done.stdout.split() == [*COMPLETED.values()]


@pytest.mark.slow
def test_commands_import_what_they_need(data):
    """A process for each: what another one has imported is there."""
    heavy = ["scipy.stats", "pandas", "sklearn.metrics", "sklearn.preprocessing", "skops"]
    code = f"""
import sys
from kpegasos.cli.main import main
assert main(sys.argv[1:]) == 0
print(sorted(set({heavy}) & set(sys.modules)), type(sys.modules["sklearn"].utils.fixes.scipy.stats))
"""
    for words in (
        "train -q data m.model",
        "predict -q data m.model out",
        "scale data scaled",
        "convert -q data data.npz",
        "info --no-forecast data",
        "info m.model",
    ):
        command = [sys.executable, "-c", code, *words.split()]
        done = subprocess.run(command, cwd=data.parent, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[] <class 'module'>", words


def test_names_that_help_lists_are_those_of_the_package():
    """They are written twice, as help imports no table of kernels or losses."""
    assert set(cli.KERNELS) == {*functions.KERNELS, "precomputed"}
    assert list(losses.CLASSIFICATION) == list(train._LOSSES)
    assert list(losses.REGRESSION) == list(train._REGRESSION_LOSSES)


def test_a_full_disk_is_one_sentence_with_the_file(kpegasos, refusal, data, tmp_path, monkeypatch):
    kpegasos("train", "-q", data, "m.model")
    if os.path.exists("/dev/full"):
        sentence = "/dev/full: no space left on device\n"
        assert refusal("predict", data, "m.model", "/dev/full") == sentence

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert refusal("predict", data, "m.model", "out") == "out: no space left on device\n"
    before = (tmp_path / "m.model").read_text()
    ran = kpegasos("train", "-c", "50", data, "m.model")
    assert (ran.status, ran.err) == (1, "kpegasos train: m.model: no space left on device\n")
    assert (tmp_path / "m.model").read_text() == before
    assert {path.name for path in tmp_path.iterdir()} == {"data", "m.model"}


def test_files_behind_two_dashes_may_begin_with_one(kpegasos, tmp_path):
    write_examples(tmp_path / "-x")
    assert kpegasos("train", "-q", "--", "-x", "-y.model").status == 0
    assert (tmp_path / "-y.model").exists()
    assert kpegasos("predict", "-q", "--", "-x", "-y.model").status == 0


@pytest.mark.slow
def test_program_is_a_module_and_a_script_with_the_same_status(tmp_path):
    done = ran_in_shell(tmp_path, '"$@" --version && kpegasos --version', check=True)
    module, script = done.stdout.splitlines()
    assert module == script
    assert module.startswith("kpegasos ")
    write_examples(tmp_path / "data")
    command = '"$@" train --strict --no-polish --steps 3 --tol 0.01 data m'
    assert ran_in_shell(tmp_path, command).returncode == 3
    assert accuracy(ran_in_shell(tmp_path, '"$@" predict data m', check=True).stdout) > 40


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full device")
def test_program_says_that_its_words_cannot_be_written(tmp_path):
    """The version ended in a traceback, help in status 0."""
    for option in ("--version", "--help"):
        ran = ran_in_shell(tmp_path, f'"$@" {option} > /dev/full')
        assert (ran.returncode, ran.stderr) == (1, "kpegasos: no space left on device\n")


@pytest.mark.slow
def test_subcommands_are_connected_by_pipes(data, tmp_path):
    command = (
        '"$@" scale -l 0 data | "$@" train -c 10 - - > m.model && '
        '"$@" scale -l 0 data | "$@" predict --json - m.model out'
    )
    done = ran_in_shell(tmp_path, command, check=True)
    assert done.stdout.startswith('{"accuracy": 0.')
    assert "(certified)" in done.stderr.splitlines()[-1]
    assert len((tmp_path / "out").read_text().split()) == len(data.read_text().splitlines())


@pytest.mark.slow
def test_reader_that_has_enough_and_closed_streams_are_no_traceback(tmp_path):
    write_examples(tmp_path / "data", n_samples=3000)
    done = ran_in_shell(tmp_path, '"$@" scale data | head -n 1; echo ${PIPESTATUS[0]}')
    first, status = done.stdout.splitlines()
    assert first.split()[0] in ("1", "-1")
    assert (status, done.stderr) == ("1", "")
    write_examples(tmp_path / "data")
    command = (
        '"$@" scale data >&-; echo $?; "$@" scale - <&-; echo $?; "$@" train data m.model 2>&-'
    )
    done = ran_in_shell(tmp_path, command, check=True)
    assert done.stdout.startswith("0\n1\n*\n")
    assert done.stderr == "kpegasos scale: standard input: a table must have rows, got none\n"
    assert (tmp_path / "m.model").exists()


@pytest.mark.slow
def test_labels_and_names_are_printed_in_any_encoding(tmp_path):
    (tmp_path / "grün.csv").write_text("a,label\n1,grün\n2,blau\n", encoding="utf-8")
    command = '"$@" train -q grün.csv m && "$@" predict grün.csv m - && "$@" info grün.csv'
    encoding = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    done = ran_in_shell(tmp_path, command, env=encoding, check=True)
    assert done.stdout.startswith("grün\nblau\ngr\\xfcn.csv\n")
