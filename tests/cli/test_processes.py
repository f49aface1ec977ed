"""The program as others call it: processes, pipes, and what they leave."""

import os
import subprocess
import sys

import pytest
from cli_cases import accuracy, write_examples

PROGRAM = [sys.executable, "-m", "kpegasos"]


@pytest.mark.slow
def test_subcommands_are_connected_by_pipes(tmp_path):
    data = write_examples(tmp_path / "data")
    command = (
        '"$@" scale -l 0 data | "$@" train -c 10 - - > m.model && '
        '"$@" scale -l 0 data | "$@" predict --json - m.model out'
    )
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command, "bash", *PROGRAM],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith('{"accuracy": 0.')
    assert "(certified)" in done.stderr.splitlines()[-1]
    assert len((tmp_path / "out").read_text().split()) == len(data.read_text().splitlines())


@pytest.mark.slow
def test_reader_that_has_enough_is_no_traceback(tmp_path):
    write_examples(tmp_path / "data", n_samples=3000)
    done = subprocess.run(
        ["bash", "-c", '"$@" scale data | head -n 1; echo ${PIPESTATUS[0]}', "bash", *PROGRAM],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    first, status = done.stdout.splitlines()
    assert first.split()[0] in ("1", "-1")
    assert (status, done.stderr) == ("1", "")


@pytest.mark.slow
def test_status_of_the_process_is_that_of_the_program(tmp_path):
    data = write_examples(tmp_path / "data")
    arguments = ["train", "--strict", "--no-polish", "--steps", "3", "--tol", "0.01", data, "m"]
    done = subprocess.run([*PROGRAM, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 3
    assert accuracy(subprocess.run(
        [*PROGRAM, "predict", "data", "m"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout) > 40  # fmt: skip


@pytest.mark.slow
def test_data_come_through_pipes_and_models_do_not(tmp_path):
    write_examples(tmp_path / "data")
    command = (
        '"$@" train -q data && "$@" train -q <(cat data) piped.model && cmp data.model piped.model '
        '&& "$@" info --no-forecast <(cat data) && "$@" predict data <(cat data.model)'
    )
    done = subprocess.run(
        ["bash", "-c", command, "bash", *PROGRAM], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "270 rows, 13 features, svmlight" in done.stdout
    assert done.stderr.endswith(": a model must be in a plain file, got a pipe or a device\n")


@pytest.mark.slow
def test_streams_that_are_closed_are_no_traceback(tmp_path):
    write_examples(tmp_path / "data")
    command = (
        '"$@" scale data >&-; echo $?; "$@" scale - <&-; echo $?; "$@" train data m.model 2>&-'
    )
    done = subprocess.run(
        ["bash", "-c", command, "bash", *PROGRAM], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stdout.startswith("0\n1\n*\n")
    assert done.stderr == "kpegasos scale: standard input: a table must have rows, got none\n"
    assert (tmp_path / "m.model").exists()


@pytest.mark.slow
def test_labels_and_names_are_printed_in_any_encoding(tmp_path):
    (tmp_path / "grün.csv").write_text("a,label\n1,grün\n2,blau\n", encoding="utf-8")
    command = '"$@" train -q grün.csv m && "$@" predict grün.csv m - && "$@" info grün.csv'
    done = subprocess.run(
        ["bash", "-c", command, "bash", *PROGRAM], cwd=tmp_path, capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii:strict"},
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.startswith("grün\nblau\ngr\\xfcn.csv\n".encode())
