"""The program run in this process: its status and what it says."""

import io
import sys
from types import SimpleNamespace

import pytest

from kpegasos.cli.main import main


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
