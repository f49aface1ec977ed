"""Turns: one thread at a time, in order, and nothing that ends without release is waited for."""

import gc
import sys
from functools import partial
from threading import Event, Thread

import pytest

from kpegasos.utils import threads as turns
from kpegasos.utils.threads import Turn


class Owner:
    """Something that changes, whose class knows nothing of turns and has no hash."""

    __hash__ = None

    def __eq__(self, other):
        return True


def in_thread(function):
    thread = Thread(target=function, daemon=True)
    thread.start()
    return thread


def held(owner, go):
    """A thread whose turn lasts until it may go."""
    begun = Event()

    def hold():
        with Turn(owner, "rows"):
            begun.set()
            go.wait(10.0)

    thread = in_thread(hold)
    assert begun.wait(10.0)
    return thread


def test_turns_come_one_at_a_time_in_the_order_of_coming():
    owner, go, order = Owner(), Event(), []

    def follow(number):
        with Turn(owner, "rows"):
            order.append(number)

    threads = [held(owner, go)]
    for number in (1, 2):
        threads.append(in_thread(partial(follow, number)))
        while len(turns._line_of(owner)) < 1 + number:
            pass
    assert not order
    go.set()
    for thread in threads:
        thread.join(10.0)
    assert order == [1, 2]


def test_turn_ends_with_an_error_such_as_of_a_turn_within_it():
    owner = Owner()
    with pytest.raises(ZeroDivisionError), Turn(owner, "rows"):
        raise ZeroDivisionError
    with Turn(owner, "rows"):
        message = "rows must be free for this call, got rows that a"
        with pytest.raises(ValueError, match=message), Turn(owner, "rows"):
            pass
        with Turn(Owner(), "rows"):  # of something else
            pass
    with Turn(owner, "rows"):
        pass


def test_turn_whose_block_is_gone_is_passed_over():
    """A second Ctrl-C may come on the way out of a block, before the turn is given back."""
    owner, go = Owner(), Event()

    def take_and_forget():
        turn = Turn(owner, "rows")
        turn.take(sys._getframe())
        return turn

    kept = take_and_forget()
    with Turn(owner, "rows"):
        pass
    del kept
    take_and_forget()
    gc.collect(1)  # nobody keeps it but its own frame
    go.set()
    held(owner, go)


def test_turn_of_a_thread_that_goes_on_meanwhile_is_waited_for():
    """Blocks of a deep stack, whose frames come and go while others wait."""
    owner, inside, most = Owner(), [0], [0]

    def change(depth):
        if depth:
            change(depth - 1)
            return
        with Turn(owner, "rows"):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            for _ in range(20):
                sorted(range(50), key=lambda each: -each)
            inside[0] -= 1

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [in_thread(lambda: [change(30) for _ in range(40)]) for _ in range(4)]
        for thread in threads:
            thread.join(60.0)
        assert not any(thread.is_alive() for thread in threads)
    finally:
        sys.setswitchinterval(before)
    assert most == [1]
    assert not turns._line_of(owner)


def test_wait_for_a_turn_ends_with_an_interrupt(monkeypatch):
    owner, go = Owner(), Event()

    class Pressed(Event):
        def wait(self, timeout=None):
            raise KeyboardInterrupt

    thread = held(owner, go)
    with monkeypatch.context() as patch:
        patch.setattr(turns, "Event", Pressed)
        with pytest.raises(KeyboardInterrupt), Turn(owner, "rows"):
            pass
    assert len(turns._line_of(owner)) == 1
    go.set()
    thread.join(10.0)
    with Turn(owner, "rows"):
        pass


def test_lines_do_not_outlive_their_owners():
    owner = Owner()
    key = id(owner)
    with Turn(owner, "rows"):
        assert key in turns._lines
    del owner
    assert key not in turns._lines
