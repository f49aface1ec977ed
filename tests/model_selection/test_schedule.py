"""Jobs of a search on several threads: each once, so many works at a time, errors end them all."""

import time
from contextlib import contextmanager
from functools import partial
from threading import Lock

import numpy as np
import pytest

from kpegasos.model_selection.cells import do_all, n_certified
from kpegasos.solvers.stopping import Stopper

each_number_of_threads = pytest.mark.parametrize("n_threads", [1, 2, 5])


@contextmanager
def work(events, number, n_jobs, does=lambda *place: None):
    """A work with so many jobs, which notes what happens."""

    def job(place):
        more = does("job", number, place)
        events.append(("job", number, place))
        return more

    does("open", number)
    events.append(("open", number))
    yield [partial(job, place) for place in range(n_jobs)]
    events.append(("close", number))
    does("close", number)


def done(sizes, *, n_threads, n_open, does):
    """What happened, in order, until works with so many jobs each were done."""
    events, stopper = [], Stopper()
    works = [work(events, number, size, does) for number, size in enumerate(sizes)]
    do_all(works, n_threads=n_threads, n_open=n_open, stopper=stopper)
    assert stopper.reason() is None
    return events


def jobs_of(events):
    return [event[1:] for event in events if event[0] == "job"]


@each_number_of_threads
@pytest.mark.parametrize("n_open", [1, 2, 7])
def test_schedule_opens_each_work_does_its_jobs_once_and_closes_it(n_threads, n_open):
    sizes = [3, 0, 1, 5, 2, 0, 4]
    # Long enough for other threads to look for jobs meanwhile.
    events = done(sizes, n_threads=n_threads, n_open=n_open, does=lambda *_: time.sleep(2e-3))
    opened = np.cumsum([(kind == "open") - (kind == "close") for kind, *_ in events])
    assert 1 <= opened.max() <= n_open
    every = [(number, job) for number, size in enumerate(sizes) for job in range(size)]
    assert sorted(jobs_of(events)) == every
    for number, size in enumerate(sizes):
        own = [event[0] for event in events if event[1] == number]
        assert own == ["open", *["job"] * size, "close"]
    if n_threads == 1:
        assert [event[1] for event in events if event[0] == "open"] == [*range(len(sizes))]
        assert jobs_of(events) == every


@pytest.mark.parametrize("n_threads", [1, 3])
def test_schedule_takes_turns_with_jobs_that_have_more_to_do(n_threads):
    """All of them have begun before the first goes on, and a work is closed after the last."""
    left, lock = dict.fromkeys([(0, 0), (0, 1), (0, 2), (1, 0)], 2), Lock()

    def in_turn(kind, *place):
        with lock:
            left[place] = left.get(place, 1) - 1
        return left[place] > 0

    events = done([3, 1], n_threads=n_threads, n_open=1, does=in_turn)
    assert len(jobs_of(events)) == 8
    assert [kind for kind, number, *_ in events if number == 0][-1] == "close"
    if n_threads == 1:
        every = [(0, 0), (0, 1), (0, 2)]
        assert jobs_of(events) == [*every, *every, (1, 0), (1, 0)]


@pytest.mark.parametrize("where", [("open", 1), ("job", 1, 1), ("close", 1)])
@each_number_of_threads
def test_error_of_a_job_or_work_stops_the_others(where, n_threads):
    def failing(*place):
        if place == where:
            raise OSError("no room")

    events, stopper = [], Stopper()
    works = [work(events, number, 3, failing) for number in range(50)]
    with pytest.raises(OSError, match="no room"):
        do_all(works, n_threads=n_threads, n_open=1, stopper=stopper)
    assert stopper.reason() == "stopped"
    assert ("open", 2) not in events
    if n_threads == 1:
        of_work = {"open": 0, "job": 1, "close": 3}[where[0]]
        assert jobs_of(events) == [*((0, k) for k in range(3)), *((1, k) for k in range(of_work))]


def test_certificates_that_a_stop_cut_short_are_no_cells():
    """The first that is too large ends what is kept of a path; without a stop all of it is."""
    gaps, stopper = np.array([0.01, 0.02, 0.001]), Stopper()
    assert n_certified(gaps, 0.01, stopper) == 3
    stopper.interrupt()
    assert n_certified(gaps, 0.01, stopper) == 1
    assert n_certified(gaps[:1], 0.01, stopper) == 1
    assert n_certified(np.array([np.nan]), 0.01, stopper) == 0
