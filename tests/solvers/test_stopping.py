"""Deadlines and slices: when a run is asked to stop, and how soon it hears of it."""

import signal
import threading
import time

import pytest
from solver_cases import noisy

from kpegasos import RBF, GramRows, make_problem
from kpegasos.core.state import PegasosOptions
from kpegasos.solvers.driver import TimeSlicer
from kpegasos.solvers.pegasos import make_run
from kpegasos.solvers.stopping import Stopper, interruptible
from kpegasos.utils import tuning
from kpegasos.utils.patience import heed


def test_stopper_reasons():
    """Ctrl-C comes before the deadline, and neither is no reason."""
    assert Stopper().reason() is None
    assert Stopper(1e3).reason() is None
    late = Stopper(0.0)
    assert late.reason() == "max_time"
    late.interrupt()
    assert late.reason() == "interrupted"


def test_stopper_split_shares_the_flag_and_the_time():
    whole = Stopper(100.0)
    part = whole.split(4)
    left = part.deadline - time.perf_counter()
    assert left == pytest.approx(25.0, abs=0.5)
    part.interrupt()
    assert whole.interrupted
    assert Stopper().split(3).deadline is None
    assert Stopper(-5.0).split(2).reason() == "max_time"
    assert part.latest == whole.latest > whole.deadline


def test_last_looks_of_many_runs_end_soon_after_the_deadline_of_all():
    """What is computed once more for certificates has a second together, not each for itself."""
    X, y = noisy(40)
    stopper, gram = Stopper(0.0), RBF(1.0).block(X, X)
    begin = time.perf_counter()
    for number in range(20):
        rows = GramRows(gram, rounding=1e-3)
        rows.settle = endless
        run = make_run(
            make_problem(y, 0.1), rows, PegasosOptions(), n_steps=5, epochs=None, checkpoints=None,
            tol=None, seed=number,
        )  # fmt: skip
        run.advance(stopper)
        assert run.result().status == "completed"
    assert 0.1 < time.perf_counter() - begin < 1.5


def endless(*_, **__):
    while True:
        heed()
        time.sleep(0.001)


def test_time_slicer_follows_the_clock():
    """Twice as long after a short slice, half as long after a slow one, within limits."""
    slicer = TimeSlicer(1000)
    slicer.done(1000, 0.0)
    assert slicer.draws == 2000
    slicer.done(10, 0.0)  # ended early, at a checkpoint
    assert slicer.draws == 2000
    slicer.done(2000, 1.5 * tuning.SLICE_SECONDS)
    assert slicer.draws == 2000
    slicer.done(2000, 3 * tuning.SLICE_SECONDS)
    assert slicer.draws == 1000
    for _ in range(60):
        slicer.done(slicer.draws, 3 * tuning.SLICE_SECONDS)
    assert slicer.draws == tuning.FEWEST_DRAWS
    for _ in range(60):  # where even these take long
        slicer.done(slicer.draws, 1.0)
    assert (slicer.draws, slicer.is_slow) == (1, True)
    for _ in range(60):
        slicer.done(slicer.draws, 0.0)
    assert slicer.draws == tuning.MOST_DRAWS


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
