"""Ctrl-C: the model reached so far is written, whatever was going on."""

import os
import signal

import pytest
from sklearn.calibration import CalibratedClassifierCV

from kpegasos import PegasosSVC, load
from kpegasos.datasets import SvmlightChunks
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
    # Longer than anybody waits: steps of Pegasos without end.
    ran = kpegasos("train", "--no-polish", "--steps", 10**9, "--max-time", "60", *scale, data, "m")
    assert ran.status == 130
    assert ran.out.endswith("; stopped by Ctrl-C, the model reached so far is in m\n")
    assert len(kpegasos("predict", data, "m", "-").out.split()) == 270


def interrupted(*_):
    raise KeyboardInterrupt


def test_ctrl_c_while_probabilities_are_fitted_leaves_the_model_without(
    kpegasos, data, tmp_path, monkeypatch
):
    kpegasos("train", data, "plain.model")
    monkeypatch.setattr(CalibratedClassifierCV, "fit", interrupted)
    ran = kpegasos("train", "-b", "1", data, "m.model")
    assert ran.status == 130
    assert ran.out.endswith("; stopped by Ctrl-C, the model reached so far is in m.model\n")
    assert (tmp_path / "m.model").read_text() == (tmp_path / "plain.model").read_text()
    # Before there is a model nothing is written.
    monkeypatch.setattr(PegasosSVC, "fit", interrupted)
    ran = kpegasos("train", data, "m")
    assert (ran.status, ran.out) == (130, "")
    assert not (tmp_path / "m").exists()


def test_ctrl_c_while_a_file_is_read_in_parts_leaves_the_parts_seen(kpegasos, data, monkeypatch):
    X, y = SvmlightChunks(data, n_features=13)[0]

    def first_part(estimator, *_, **__):
        estimator.partial_fit(X, y, classes=[-1, 1])
        raise KeyboardInterrupt

    monkeypatch.setattr("kpegasos.large.chunks.fit_chunks", first_part)
    assert kpegasos("train", "--chunks", "-t", "0", data, "m.skops").status == 130
    assert load("m.skops").n_steps_ == 270
