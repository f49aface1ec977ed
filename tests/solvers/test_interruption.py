"""Ctrl-C: the run keeps its model, and the script stops all the same."""

import os
import signal

import numpy as np
import pytest
from solver_cases import assert_same_result, make_kernel_rows, noisy, run_pegasos

from kpegasos import RBF, GramRows, make_problem, make_rows, pegasos, sdca
from kpegasos.core.state import PegasosOptions, new_state
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.solvers.stopping import Interrupted, Stopper, interruptible
from kpegasos.utils import tuning


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


class InterruptedRows(GramRows):
    """Rows during whose n-th slice somebody presses Ctrl-C."""

    def __init__(self, gram, *, slice_number, presses=1):
        super().__init__(gram)
        self.slice_number, self.presses = slice_number, presses

    def advance(self, *arguments):
        self.slice_number -= 1
        if self.slice_number == 0:
            for _ in range(self.presses):
                press_ctrl_c()
        super().advance(*arguments)


def interrupted_rows(**options):
    X, y = noisy()
    return make_problem(y, 1e-4), InterruptedRows(RBF(0.5).block(X, X), **options)


@pytest.fixture(autouse=True)
def handler():
    """Whatever happens, the handler of before is there again."""
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


def test_interrupt_is_raised_with_the_model():
    """Ctrl-C used to be swallowed; now the script stops, and the exception holds the model."""

    def monitor(running):
        if not running.finished:
            press_ctrl_c()

    with pytest.raises(Interrupted, match=r"stopped by Ctrl-C after \d+ steps") as caught:
        run_pegasos(
            make_kernel_rows("cached"), n_steps=10**7, checkpoints=[10, 10**7], monitor=monitor
        )
    result = caught.value.result
    assert result.status == "interrupted"
    assert 10 < result.n_steps < 10**7
    assert_same_result(result, run_pegasos(make_kernel_rows("cached"), n_steps=result.n_steps))


@pytest.mark.parametrize("slice_number", [1, 3])
def test_interrupted_pegasos_can_go_on(slice_number):
    """The state of the exception's result is as good as any other."""
    task, rows = interrupted_rows(slice_number=slice_number)
    with pytest.raises(Interrupted) as caught:
        pegasos(task, rows, n_steps=10**7, checkpoints=None, random_state=0)
    part = caught.value.result
    assert 0 < part.n_steps < 10**7
    options = {"checkpoints": None, "random_state": 0}
    rest = pegasos(task, rows, n_steps=500, state=part.state, **options)
    whole = pegasos(task, rows, n_steps=part.n_steps + 500, **options)
    assert_same_result(rest, whole)


@pytest.mark.parametrize("slice_number", [1, 12])
def test_interrupted_sdca_has_a_model(slice_number):
    task, rows = interrupted_rows(slice_number=slice_number)
    with pytest.raises(Interrupted) as caught:
        sdca(task, rows, tol=1e-15, max_epochs=10**6, random_state=0)
    result = caught.value.result
    assert result.status == "interrupted"
    assert 0 < result.n_steps < 10**6 * task.y.size
    assert 0 < result.dual_bound < result.objective < np.inf
    assert result.history["iteration"][-1] == result.n_steps


def test_interrupt_stops_a_loop_of_fits():
    """One Ctrl-C used to end the fit at hand alone, and the script went on."""
    done = []

    def script():
        for number in range(4):
            task, rows = interrupted_rows(slice_number=2 if number == 1 else 0)
            sdca(task, rows, tol=1e-3)
            pegasos(task, rows, epochs=50)
            done.append(number)

    with pytest.raises(KeyboardInterrupt):
        script()
    assert done == [0]


@pytest.mark.parametrize("solve", [pegasos, sdca])
def test_interrupt_of_a_last_slice_is_raised(solve):
    """It comes too late to cut the run short, and used to be lost: many short fits went on."""
    task, rows = interrupted_rows(slice_number=1)
    options = {"n_steps": 100} if solve is pegasos else {"max_epochs": 1}
    with pytest.raises(Interrupted) as caught:
        solve(task, rows, random_state=0, **options)
    assert caught.value.result.status == "completed"
    assert_same_result(caught.value.result, solve(task, rows, random_state=0, **options))


def test_second_interrupt_is_immediate():
    """Two of them do not wait for a model."""
    task, rows = interrupted_rows(slice_number=2, presses=2)
    with pytest.raises(KeyboardInterrupt) as caught:
        pegasos(task, rows, n_steps=10**7, checkpoints=None)
    assert not isinstance(caught.value, Interrupted)


def test_ignored_interrupt_stays_ignored():
    """A program that ignores Ctrl-C, as one under nohup does, goes on to do so."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible(Stopper()) as stopper:
            press_ctrl_c()
        assert not stopper.interrupted
        assert run_pegasos(make_kernel_rows("cached")).status == "completed"
    finally:
        signal.signal(signal.SIGINT, before)


class FailingKernel:
    """A linear kernel that fails at its n-th call."""

    def __init__(self):
        self.calls_left = 0

    def __call__(self, A, B):
        self.calls_left -= 1
        if self.calls_left == 0:
            raise MemoryError("in the middle of a step")
        return A @ B.T


@pytest.mark.parametrize("cache", ["cached", "streamed"])
def test_state_that_an_error_cut_in_half_is_refused(cache):
    X, y = noisy()
    task, kernel = make_problem(y, 1e-4), FailingKernel()
    state = pegasos(task, make_rows(X, kernel, cache=cache), n_steps=10, random_state=0).state
    rows = make_rows(X, kernel, cache=cache)
    kernel.calls_left = 1
    with pytest.raises(MemoryError, match="middle"):
        pegasos(task, rows, n_steps=500, random_state=0, state=state)
    with pytest.raises(ValueError, match="state must be whole, got one that an error"):
        pegasos(task, rows, n_steps=500, random_state=0, state=state)


@pytest.mark.parametrize("call", [1, 2, 4])
def test_rows_are_right_after_an_error(call, monkeypatch):
    """What was half done is forgotten, not used."""
    monkeypatch.setattr(tuning, "TILE_ROWS", 4)
    X, y = noisy()
    task, kernel = make_problem(y, 1e-4), FailingKernel()
    rows = make_rows(X, kernel, cache="cached", cache_mb=0.05)
    kernel.calls_left = call
    with pytest.raises(MemoryError, match="middle"):
        pegasos(task, rows, n_steps=2000, random_state=0)
    again = pegasos(task, rows, n_steps=2000, random_state=0)
    alone = pegasos(
        task, make_rows(X, kernel, cache="cached", cache_mb=0.05), n_steps=2000, random_state=0
    )
    assert_same_result(again, alone)


@pytest.mark.parametrize("X", [np.zeros((6, 2)), np.eye(6)], ids=["zero", "orthogonal"])
def test_sdca_ends_when_nothing_moves(X):
    """A thousand epochs used to pass before a fixed point."""
    task = make_problem(np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0]), 1e-2)
    rows = make_rows(X, "linear", cache="streamed")
    state = new_state(rows.n_samples, rows.image_size, PegasosOptions(average=None), task.lam, 0)
    ascent = DualAscent(task, rows, state, max_epochs=1000)
    while not ascent.finished:
        ascent.advance(Stopper())
    result = ascent.result()
    assert result.status == "completed"
    assert result.n_steps < 100 * task.y.size
