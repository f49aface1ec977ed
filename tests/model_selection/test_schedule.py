"""Jobs of a search on several threads: each once, so many works at a time, errors end them all."""

from __future__ import annotations

import time
from functools import partial
from threading import Lock

import numpy as np
import pytest

from kpegasos.model_selection.cells import do_all, n_certified
from kpegasos.solvers.stopping import Stopper

each_number_of_threads = pytest.mark.parametrize("n_threads", [1, 2, 5])


def nothing(number, job):
    """What a job does of its own, if nothing."""


class Log:
    """What happened, in order."""

    def __init__(self):
        self.events, self.lock = [], Lock()

    def add(self, *event):
        with self.lock:
            self.events.append(event)

    def of(self, kind):
        return [event[1:] for event in self.events if event[0] == kind]

    @property
    def most_open(self):
        """How many works were open at a time at the most."""
        steps = [(kind == "open") - (kind == "close") for kind, *_ in self.events]
        return int(np.cumsum(steps).max())


class Logged:
    """A work with so many jobs."""

    def __init__(self, log, number, n_jobs, does=nothing):
        self.log, self.number, self.n_jobs, self.does = log, number, n_jobs, does

    def __enter__(self):
        self.log.add("open", self.number)
        return [partial(self._job, job) for job in range(self.n_jobs)]

    def _job(self, job):
        more = self.does(self.number, job)
        self.log.add("job", self.number, job)
        return more

    def __exit__(self, *error):
        self.log.add("close", self.number)


def done(sizes, *, n_threads, n_open, does=nothing):
    """The log of works with so many jobs each, when all is done."""
    log, stopper = Log(), Stopper()
    works = [Logged(log, number, size, does) for number, size in enumerate(sizes)]
    do_all(works, n_threads=n_threads, n_open=n_open, stopper=stopper)
    assert stopper.reason() is None
    return log


@each_number_of_threads
@pytest.mark.parametrize("n_open", [1, 2, 7])
def test_schedule_opens_each_work_does_its_jobs_once_and_closes_it(n_threads, n_open):
    sizes = [3, 0, 1, 5, 2, 0, 4]
    # Long enough for other threads to look for jobs meanwhile.
    log = done(sizes, n_threads=n_threads, n_open=n_open, does=lambda *_: time.sleep(2e-3))
    assert 1 <= log.most_open <= n_open
    every = [(number, job) for number, size in enumerate(sizes) for job in range(size)]
    assert sorted(log.of("job")) == every
    for number, size in enumerate(sizes):
        own = [event[0] for event in log.events if event[1] == number]
        assert own == ["open", *["job"] * size, "close"]
    if n_threads == 1:
        assert log.of("open") == [(number,) for number in range(len(sizes))]
        assert log.of("job") == every


@pytest.mark.parametrize("n_threads", [1, 3])
def test_schedule_takes_turns_with_jobs_that_have_more_to_do(n_threads):
    """All of them have begun before the first goes on, and a work is closed after the last."""
    left, lock = dict.fromkeys([(0, 0), (0, 1), (0, 2), (1, 0)], 2), Lock()

    def in_turn(*place):
        with lock:
            left[place] -= 1
        return left[place] > 0

    log = done([3, 1], n_threads=n_threads, n_open=1, does=in_turn)
    assert set(left.values()) == {0}
    assert [kind for kind, number, *_ in log.events if number == 0][-1] == "close"
    if n_threads == 1:
        every = [(0, 0), (0, 1), (0, 2)]
        assert log.of("job") == [*every, *every, (1, 0), (1, 0)]


@pytest.mark.parametrize("where", ["open", "job", "close"])
@each_number_of_threads
def test_error_of_a_job_or_work_stops_the_others(where, n_threads):
    class Failing(Logged):
        def __enter__(self):
            if where == "open":
                raise OSError("no room")
            return super().__enter__()

        def _job(self, job):
            if where == "job" and job == 1:
                raise OSError("no room")
            super()._job(job)

        def __exit__(self, *error):
            super().__exit__(*error)
            if where == "close":
                raise OSError("no room")

    log, stopper = Log(), Stopper()
    later = [Logged(log, number, 3) for number in range(2, 50)]
    works = [Logged(log, 0, 2), Failing(log, 1, 3), *later]
    with pytest.raises(OSError, match="no room"):
        do_all(works, n_threads=n_threads, n_open=1, stopper=stopper)
    assert stopper.reason() == "stopped"
    assert (2,) not in log.of("open")
    if n_threads == 1:
        of_work = {"open": [], "job": [(1, 0)], "close": [(1, 0), (1, 1), (1, 2)]}
        assert log.of("job") == [(0, 0), (0, 1), *of_work[where]]


def test_certificates_that_a_stop_cut_short_are_no_cells():
    """The first that is too large ends what is kept of a path; without a stop all of it is."""
    gaps, stopper = np.array([0.01, 0.02, 0.001]), Stopper()
    assert n_certified(gaps, 0.01, stopper) == 3
    stopper.interrupt()
    assert n_certified(gaps, 0.01, stopper) == 1
    assert n_certified(gaps[:1], 0.01, stopper) == 1
    assert n_certified(np.array([np.nan]), 0.01, stopper) == 0
