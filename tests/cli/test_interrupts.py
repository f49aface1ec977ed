"""Ctrl-C, and SIGTERM: the model reached so far is written, whatever was going on."""

import os
import signal
import subprocess
import sys
import time

import pytest
from cli_cases import write_examples

from kpegasos import PegasosSVC
from kpegasos.cli import train
from kpegasos.solvers.driver import SolverRun


@pytest.mark.usefixtures("default_handler")
@pytest.mark.parametrize("scale", [(), ("--scale", "standard")])
def test_ctrl_c_in_the_middle_of_train_leaves_a_model_that_predict_takes(
    kpegasos, data, monkeypatch, scale
):
    calls, advance = [], SolverRun.advance

    def pressed(run, *arguments):
        calls.append(run)
        if len(calls) == 2:  # with a checkpoint behind it
            os.kill(os.getpid(), signal.SIGINT)
        advance(run, *arguments)

    monkeypatch.setattr(SolverRun, "advance", pressed)
    ran = kpegasos("train", "-t", "3", *scale, data, "m.skops")
    assert ran.status == 130
    assert ran.out.endswith("; stopped by Ctrl-C, the model reached so far is in m.skops\n")
    assert len(kpegasos("predict", data, "m.skops", "-").out.split()) == 270


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_ctrl_c_while_probabilities_are_fitted_leaves_the_model_without(
    kpegasos, data, tmp_path, monkeypatch
):
    kpegasos("train", data, "plain")
    monkeypatch.setattr(train, "cross_val_predict", interrupted)
    ran = kpegasos("train", "-b", "1", data, "m")
    assert ran.status == 130
    assert ran.out.endswith("; stopped by Ctrl-C, the model reached so far is in m\n")
    assert (tmp_path / "m").read_text() == (tmp_path / "plain").read_text()
    # Before there is a model nothing is written.
    monkeypatch.setattr(PegasosSVC, "fit", interrupted)
    ran = kpegasos("train", data, "n")
    assert (ran.status, ran.out) == (130, "")
    assert not (tmp_path / "n").exists()


def started(folder, *arguments):
    command = [sys.executable, "-m", "kpegasos", *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_a_training_with_the_model_reached(tmp_path, number):
    """SIGTERM, which batch queues send, kept nothing."""
    data = write_examples(tmp_path / "data", n_samples=8000)
    ran = started(tmp_path, "train", "-c", "1e4", "-e", "1e-13", data, "m")
    time.sleep(12)
    ran.send_signal(number)
    out, err = ran.communicate(timeout=60)
    assert (ran.returncode, "Traceback" in err) == (130, False), err
    assert "the model reached so far is in m" in out
    assert (tmp_path / "m").read_text().startswith("svm_type c_svc")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_in_the_first_second_end_the_program_without_a_word(tmp_path, number):
    """Imports that Ctrl-C broke made "initialization failed" of it, with status 1."""
    data = write_examples(tmp_path / "data")
    for wait in (0.2, 0.35, 0.5, 0.7, 0.9):
        ran = started(tmp_path, "train", "-q", data, "m")
        time.sleep(wait)
        ran.send_signal(number)
        _, err = ran.communicate(timeout=60)
        assert ran.returncode in (-number, 130, 0), err
        assert err in ("", "kpegasos train: stopped by Ctrl-C, nothing was kept\n")
