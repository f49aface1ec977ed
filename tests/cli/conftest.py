"""The program run in this process: its status and what it says."""

import io
import sys
from types import SimpleNamespace

import pytest
from cli_cases import write_examples

from kpegasos.cli.main import main


@pytest.fixture
def data(tmp_path):
    """A file of examples of two classes."""
    return write_examples(tmp_path / "data")


@pytest.fixture
def kpegasos(capsys, tmp_path, monkeypatch):
    """``kpegasos("train", file)``: status, out and err; the current folder is a fresh one."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, stdin=None):
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        try:
            status = main([str(each) for each in arguments])
        except SystemExit as end:
            status = end.code
        out, err = capsys.readouterr()
        return SimpleNamespace(status=status, out=out, err=err)

    return run


@pytest.fixture
def refusal(kpegasos, tmp_path):
    """``refusal("train", file)``: the one line that a command says; it writes nothing."""

    def run(command, *arguments, **options):
        before = {path.name for path in tmp_path.iterdir()}
        ran = kpegasos(command, *arguments, **options)
        assert (ran.status, ran.out, ran.err.count("\n")) == (1, "", 1)
        assert {path.name for path in tmp_path.iterdir()} == before
        prefix, colon, sentence = ran.err.partition(": ")
        assert prefix + colon == f"kpegasos {command}: "
        return sentence

    return run
