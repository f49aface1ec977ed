"""The program as a whole: its help, its errors, its exit statuses."""

import errno
import os
import subprocess
import sys

import pytest
from cli_cases import accuracy, write_examples


def ran_in_shell(folder, command, **options):
    """What bash makes of a command in which "$@" is the program."""
    words = ["bash", "-o", "pipefail", "-c", command, "bash", sys.executable, "-m", "kpegasos"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, **options)


def test_help_imports_nothing_heavy():
    code = """
import sys
from kpegasos.cli.main import main
from kpegasos.cli.main import COMMANDS
of_commands = [[name, "--help"] for name in COMMANDS]
for words in ([], ["--help"], ["help"], ["help", "train"], *of_commands):
    try:
        main(words)
    except SystemExit as end:
        assert not end.code
print(sorted({'numpy', 'numba', 'scipy', 'sklearn', 'matplotlib'} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("usage: kpegasos") == 3 + 1 + 4
    assert done.stdout.count("usage: kpegasos train") == 2
    assert done.stdout.splitlines()[-1] == "[]"


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


@pytest.mark.slow
def test_program_is_a_module_and_a_script_with_the_same_status(tmp_path):
    done = ran_in_shell(tmp_path, '"$@" --version && kpegasos --version', check=True)
    module, script = done.stdout.splitlines()
    assert module == script
    assert module.startswith("kpegasos ")
    write_examples(tmp_path / "data")
    assert ran_in_shell(tmp_path, '"$@" train -t 9 data m').returncode == 2
    assert ran_in_shell(tmp_path, '"$@" predict data m').returncode == 1
    assert ran_in_shell(tmp_path, '"$@" train data m').returncode == 0
    assert accuracy(ran_in_shell(tmp_path, '"$@" predict data m', check=True).stdout) > 40


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full device")
def test_program_says_that_its_words_cannot_be_written(data, tmp_path):
    ran = ran_in_shell(tmp_path, '"$@" train data m > /dev/full')
    assert (ran.returncode, ran.stderr) == (1, "kpegasos train: no space left on device\n")


@pytest.mark.slow
def test_reader_that_has_enough_is_no_traceback(tmp_path):
    write_examples(tmp_path / "data", n_samples=3000)
    command = '"$@" train -q data m && "$@" predict data m - 2>/dev/null | head -n 1'
    done = ran_in_shell(tmp_path, command)
    assert done.stdout.strip() in ("1", "-1")
    assert (
        done.stderr.replace("kpegasos: compiling for this processor, once (some seconds)\n", "")
        == ""
    )
