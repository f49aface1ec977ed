"""Ctrl-C, deadlines and errors: when a run hears of them, and what is left of it."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from solver_cases import assert_same_result, make_kernel_rows, noisy, run_pegasos

from kpegasos import RBF, linear_rows, make_problem, make_rows, pegasos, sdca
from kpegasos.core.state import PegasosOptions, new_state
from kpegasos.losses import Hinge, SquaredHinge
from kpegasos.rows.gram import GramRows
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.solvers.pegasos import make_run
from kpegasos.solvers.polish import ascent_after, polished
from kpegasos.solvers.stopping import Interrupted, Stopper, interruptible
from kpegasos.utils import tuning
from kpegasos.utils.patience import count, heed


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


# --- Ctrl-C ---


@pytest.mark.parametrize("slice_number", [1, 3])
def test_interrupt_is_raised_with_the_model(slice_number):
    """Ctrl-C used to be swallowed; now the script stops, and the exception holds the model."""
    task, rows = interrupted_rows(slice_number=slice_number)
    options = {"checkpoints": None, "random_state": 0}
    with pytest.raises(Interrupted, match=r"stopped by Ctrl-C after \d+ steps") as caught:
        pegasos(task, rows, n_steps=10**7, **options)
    part = caught.value.result
    assert part.status == "interrupted"
    assert 0 < part.n_steps < 10**7
    assert_same_result(part, pegasos(task, rows, n_steps=part.n_steps, **options))
    again = pickle.loads(pickle.dumps(caught.value))  # from a process of joblib, say
    assert str(again) == str(caught.value)
    assert_same_result(again.result, part)
    # Its state is as good as any other.
    rest = pegasos(task, rows, n_steps=500, state=part.state, **options)
    assert_same_result(rest, pegasos(task, rows, n_steps=part.n_steps + 500, **options))


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


@pytest.mark.parametrize("solve", [pegasos, sdca])
def test_interrupt_of_a_last_slice_is_raised(solve):
    """It comes too late to cut the run short, and used to be lost: many short fits went on."""
    task, rows = interrupted_rows(slice_number=1)
    options = {"n_steps": 100} if solve is pegasos else {"max_epochs": 1}
    with pytest.raises(Interrupted) as caught:
        solve(task, rows, random_state=0, **options)
    assert caught.value.result.status == "completed"
    assert_same_result(caught.value.result, solve(task, rows, random_state=0, **options))


def test_second_interrupt_is_immediate_and_goes_to_the_handler_of_before():
    """Two of them do not wait for a model."""
    presses = []
    task, rows = interrupted_rows(slice_number=2, presses=2)
    before = signal.signal(signal.SIGINT, lambda number, frame: presses.append(number))
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            pegasos(task, rows, n_steps=10**7, checkpoints=None)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not isinstance(caught.value, Interrupted)
    assert presses == [signal.SIGINT]


def test_block_inside_an_interrupted_one_is_interrupted():
    """The outer run waits for the inner, which had not heard of Ctrl-C."""
    with interruptible(Stopper()) as outer:
        press_ctrl_c()
        with interruptible(Stopper()) as inner:
            assert inner.reason() == "interrupted"
    assert outer.reason() == "interrupted"


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


def test_interruptible_leaves_other_threads_alone():
    """Signals are the main thread's; elsewhere a deadline still counts."""
    seen = []

    def work():
        before = signal.getsignal(signal.SIGINT)
        with interruptible(Stopper(0.0)) as stopper:
            seen.append((signal.getsignal(signal.SIGINT) is before, stopper.reason()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(True, "max_time")]


# --- errors ---


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
    monkeypatch.setattr(tuning, "SLICE_SECONDS", np.inf)  # slices by no clock: one order of sums
    X, y = noisy()
    kernel, options = FailingKernel(), {"n_steps": 2000, "random_state": 0}
    rows, fresh = (make_rows(X, kernel, cache="cached", cache_mb=0.05) for _ in range(2))
    kernel.calls_left = call
    with pytest.raises(MemoryError, match="middle"):
        pegasos(make_problem(y, 1e-4), rows, **options)
    again, alone = (pegasos(make_problem(y, 1e-4), each, **options) for each in (rows, fresh))
    assert_same_result(again, alone)


# --- time ---


def test_share_of_a_stopper_pauses_and_shares_the_flags(monkeypatch):
    """Ctrl-C comes before the deadline, that before a pause, and none of them is no reason."""
    now = [7.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    assert Stopper().reason() is Stopper(1e3).reason() is None
    late = Stopper(0.0)
    assert late.reason() == "max_time"
    late.interrupt()
    assert late.reason() == "interrupted"
    whole = Stopper(100.0)
    part, rest = whole.share(0.25), whole.share(1.0)
    assert (part.seconds_left, rest.seconds_left) == (25.0, 100.0)
    now[0] = 31.9
    assert part.reason() is None
    now[0] = 32.0
    assert (part.reason(), part.seconds_left, rest.reason()) == ("paused", 0.0, None)
    now[0] = 107.0
    assert part.reason() == rest.reason() == "max_time"
    part.interrupt()
    assert whole.interrupted
    assert Stopper().share(0.3).seconds_left == np.inf
    assert Stopper(-5.0).share(0.5).reason() == "max_time"


def test_share_of_a_stopper_pauses_after_its_kernel_values():
    whole = Stopper()
    with whole.paying(100):
        count(40)
        part = whole.share(0.5)
        count(29)
        assert part.reason() is None
        count(1)
        assert (part.reason(), whole.reason()) == ("paused", None)
        count(30)
        assert part.reason() == whole.reason() == "max_kernel_evaluations"


def endless(*_, **__):
    while True:
        heed()
        time.sleep(0.001)


@pytest.mark.slow
def test_last_looks_of_many_runs_end_soon_after_the_deadline_of_all():
    """What is computed once more for certificates has a second together, not each for itself."""
    X, y = noisy(40)
    stopper, gram = Stopper(0.0), RBF(1.0).block(X, X)
    limits = {"n_steps": 5, "epochs": None, "checkpoints": None, "tol": None}
    begin = time.perf_counter()
    for number in range(20):
        rows = GramRows(gram, rounding=1e-3)
        rows.settle = endless
        run = make_run(make_problem(y, 0.1), rows, PegasosOptions(), seed=number, **limits)
        run.advance(stopper)
        assert run.result().status == "completed"
    assert 0.1 < time.perf_counter() - begin < 1.5


@pytest.mark.parametrize("X", [np.zeros((6, 2)), np.eye(6)], ids=["zero", "orthogonal"])
def test_sdca_ends_when_nothing_moves(X):
    """A thousand epochs used to pass before a fixed point."""
    task = make_problem(np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0]), 1e-2)
    rows = make_rows(X, "linear")
    state = new_state(rows.n_samples, rows.image_size, PegasosOptions(average=None), task.lam, 0)
    ascent = DualAscent(task, rows, state, max_epochs=1000)
    while not ascent.finished:
        ascent.advance(Stopper())
    result = ascent.result()
    assert result.status == "completed"
    assert result.n_steps < 100 * task.y.size


@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=str)
@pytest.mark.parametrize("source", ["gram", "cached", "features"])
def test_pauses_and_rows_made_anew_change_nothing(source, loss, projection):
    """Neither of a run nor of the ascent behind it."""
    X, y = noisy(80)

    def rows():
        if source == "features":
            return linear_rows(X)
        cache = "precomputed" if source == "gram" else source
        return make_rows(X, "rbf", gamma=0.5, cache=cache)

    def trained(*, pauses):
        problem, limits = make_problem(y, 1e-3, loss=loss), {"n_steps": 500, "epochs": None}
        options = PegasosOptions(projection=projection)
        limits |= {"checkpoints": [200], "tol": None, "seed": 1}
        run, stopper, ascent = make_run(problem, rows(), options, **limits), Stopper(1e3), None
        share, n_pauses = stopper.share(0.0 if pauses else 1.0), 0
        while ascent is None or not ascent.finished:
            if not run.finished:
                run.advance(share)
            elif ascent is None:
                ascent = ascent_after(run, tol=1e-6, stopper=stopper)
            else:
                ascent.advance(stopper, 1e-6)
            if pauses:
                run.rows.close()
                new, n_pauses = rows(), n_pauses + 1
                for each in (run, ascent)[: 1 + (ascent is not None)]:
                    each.use_rows(new)
        return polished(run, ascent), n_pauses

    (paused, n_pauses), (whole, _) = trained(pauses=True), trained(pauses=False)
    assert n_pauses > 2
    assert_array_equal(paused.alpha, whole.alpha)
    assert_array_equal(paused.coef, whole.coef)
    assert (paused.objective, paused.gap) == (whole.objective, whole.gap)
    assert_array_equal(paused.history["iteration"], whole.history["iteration"])
