"""Blocks of those who wait: what is computed in them is left when they say so, on any thread."""

import contextlib
import types
from threading import Event, get_ident

import numpy as np
import pytest

from kpegasos.utils import patience
from kpegasos.utils.patience import Counter, CutShort, Pace, counting, finishing, heed, heeding
from kpegasos.utils.threads import parallel_for


def no():
    return False


def test_heed_leaves_what_nobody_waits_for_and_finishing_for_good_only():
    with heeding(lambda: True), pytest.raises(CutShort), heeding(no):
        heed()
    heed()
    with heeding(no), finishing():
        heed()
    with pytest.raises(CutShort), heeding(no, for_good=True), finishing():
        heed()


def test_counting_adds_what_is_begun_and_not_what_is_refused():
    counter = Counter()
    with counting(counter):
        heed(3)
        with contextlib.suppress(CutShort), heeding(no):
            heed(5)
        parallel_for(heed, [(10,), (20,)])
    heed(100)
    assert counter.values == 33


def test_parallel_for_carries_blocks_on_to_its_threads():
    threads, begun = set(), Event()

    def piece(number):
        threads.add(get_ident())
        if number == 0:
            begun.wait(10)
        else:
            begun.set()
            heed()

    with pytest.raises(CutShort), heeding(no):
        parallel_for(piece, [(0,), (1,)])
    assert len(threads) == 2


def test_parallel_for_ends_the_others_when_one_fails_and_raises_its_error():
    begun = Event()

    def piece(number):
        if number == 1:  # goes on until it is told
            begun.set()
            while True:
                heed()
        begun.wait(10)
        raise ValueError("of the first")

    with pytest.raises(ValueError, match="of the first"):
        parallel_for(piece, [(0,), (1,)])


class Timed:
    """A function whose values take some time each, by a clock of its own."""

    def __init__(self, monkeypatch, seconds_each, seconds_of_a_call=0.0):
        self.now, self.shapes = 0.0, []
        self._each, self._of_a_call = seconds_each, seconds_of_a_call
        clock = types.SimpleNamespace(perf_counter=lambda: self.now)
        monkeypatch.setattr(patience, "time", clock)

    def __call__(self, A, B):
        self.shapes.append((len(A), len(B)))
        self.now += self._of_a_call + self._each * len(A) * len(B)
        return np.subtract.outer(A, B)


A, B = np.arange(300.0), np.arange(200.0)


@pytest.mark.parametrize("held_up", [None, *range(1, 8)])
def test_pace_calls_a_quick_function_as_a_whole_though_a_call_be_held_up(held_up, monkeypatch):
    """Were it cut by the clock, its last bits would depend on the clock.

    A busy machine stops any call for some moments: of two in a row, the faster one counts.
    """
    quick = Timed(monkeypatch, 1e-8, seconds_of_a_call=1e-4)

    def function(A, B):
        quick.now += 5.0 * (len(quick.shapes) == held_up)
        return quick(A, B)

    pace = Pace()
    for _ in range(4):
        np.testing.assert_array_equal(pace.call(function, A, B), np.subtract.outer(A, B))
        assert quick.shapes[-1] == (300, 200)
    probes = [rows * columns for rows, columns in quick.shapes if rows < 300]
    assert max(probes) <= 512
    assert quick.shapes.count((300, 200)) == 4


@pytest.mark.parametrize(("seconds_each", "n_rows"), [(1e-4, 300), (5e-3, 300), (0.2, 9)])
def test_pace_cuts_a_slow_function_into_pieces_of_a_moment(seconds_each, n_rows, monkeypatch):
    slow, A = Timed(monkeypatch, seconds_each), np.arange(float(n_rows))
    np.testing.assert_array_equal(Pace().call(slow, A, B), np.subtract.outer(A, B))
    pieces = [rows * columns for rows, columns in slow.shapes]
    assert max(pieces) * seconds_each <= max(0.35, seconds_each)
    assert sum(pieces) <= n_rows * 200 + 600


def test_pace_can_be_left_between_two_pieces(monkeypatch):
    slow = Timed(monkeypatch, 1e-3)
    with pytest.raises(CutShort), heeding(lambda: slow.now < 2.0):
        Pace().call(slow, A, B)
    assert slow.now < 2.5


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_pace_that_is_known_cuts_the_same_pieces_whatever_the_clock_says(seconds, monkeypatch):
    """A first call compiles or imports: last bits may not depend on it."""
    timed = Timed(monkeypatch, seconds_each=0.0, seconds_of_a_call=seconds)
    np.testing.assert_array_equal(Pace(1e-4).call(timed, A, B), np.subtract.outer(A, B))
    assert set(timed.shapes) == {(5, 200)}
