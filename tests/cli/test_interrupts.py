"""Ctrl-C: the model reached so far is written, whatever was going on."""

import os
import pty
import signal
import subprocess
import sys
import threading

import pytest
from cli_cases import write_examples
from sklearn.calibration import CalibratedClassifierCV

from kpegasos import PegasosSVC, load
from kpegasos.datasets import SvmlightChunks


def interrupt_when_progress_is_shown(arguments):
    """Run the program on a terminal, press Ctrl-C once its bar is there; status and output."""
    ours, its = pty.openpty()
    program = [sys.executable, "-m", "kpegasos", *arguments]
    process = subprocess.Popen(program, stderr=its, stdout=subprocess.PIPE, text=True)
    os.close(its)
    seen, shown = bytearray(), threading.Event()

    def read():
        try:
            while part := os.read(ours, 4096):
                seen.extend(part)
                if b"gap" in seen:
                    shown.set()
        except OSError:  # the other end is closed
            pass
        shown.set()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        assert shown.wait(300)
        assert process.poll() is None, seen.decode()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=300)
    finally:
        process.kill()
        reader.join(60)
        os.close(ours)
    return process.returncode, out


@pytest.mark.slow
@pytest.mark.parametrize("scale", [(), ("--scale", "standard")])
def test_ctrl_c_in_the_middle_of_train_leaves_a_model_that_predict_takes(kpegasos, tmp_path, scale):
    data = write_examples(tmp_path / "data", n_samples=5000)
    # Longer than anybody waits: steps of Pegasos without end.
    endless = ("--no-polish", "--steps", str(10**9), *scale)
    status, out = interrupt_when_progress_is_shown(["train", *endless, str(data), "m"])
    assert status == 130
    assert out.endswith("; stopped by Ctrl-C, the model reached so far is in m\n")
    assert kpegasos("predict", data, "m", "out").status == 0
    assert len((tmp_path / "out").read_text().split()) == 5000


def test_ctrl_c_while_probabilities_are_fitted_leaves_the_model_without(
    kpegasos, data, tmp_path, monkeypatch
):
    kpegasos("train", data, "plain.model")

    def interrupted(*_):
        raise KeyboardInterrupt

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


def test_ctrl_c_while_a_file_is_read_in_parts_leaves_the_parts_seen(
    kpegasos, data, tmp_path, monkeypatch
):
    X, y = SvmlightChunks(data, n_features=13)[0]

    def interrupted(estimator, *_, **__):
        estimator.partial_fit(X, y, classes=[-1, 1])
        raise KeyboardInterrupt

    monkeypatch.setattr("kpegasos.large.chunks.fit_chunks", interrupted)
    ran = kpegasos("train", "--chunks", "-t", "0", data, "m.skops")
    assert ran.status == 130
    assert load("m.skops").n_steps_ == 270
