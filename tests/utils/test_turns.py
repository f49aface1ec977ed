"""Turns: one thread at a time, what cannot end is refused, a child of a fork waits for nobody."""

import sys
from threading import Event, Thread

import pytest
from forks import needs_fork, of_child

from kpegasos.utils import threads
from kpegasos.utils.threads import is_torn, turn


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
        with turn(owner, "rows"):
            begun.set()
            go.wait(10.0)

    thread = in_thread(hold)
    assert begun.wait(10.0)
    return thread


def test_turn_waits_for_that_of_another_thread():
    owner, go, done = Owner(), Event(), []

    def follow():
        with turn(owner, "rows"):
            done.append(1)

    threads = [held(owner, go), in_thread(follow)]
    with turn(Owner(), "rows"):  # of something else
        assert not done
    go.set()
    for thread in threads:
        thread.join(10.0)
    assert done == [1]


def test_turn_ends_with_an_error_such_as_of_a_turn_within_it():
    owner = Owner()
    with pytest.raises(ZeroDivisionError), turn(owner, "rows"):
        raise ZeroDivisionError
    with turn(owner, "rows"):
        message = "rows must be free for this call, got rows that a"
        with pytest.raises(ValueError, match=message), turn(owner, "rows"):
            pass
    in_thread(lambda: turn(owner, "rows").__enter__()).join(10.0)


def test_turn_of_a_thread_that_goes_on_meanwhile_is_waited_for():
    owner, inside, most = Owner(), [0], [0]

    def change():
        with turn(owner, "rows"):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            for _ in range(20):
                sorted(range(50), key=lambda each: -each)
            inside[0] -= 1

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [in_thread(lambda: [change() for _ in range(40)]) for _ in range(4)]
        for thread in threads:
            thread.join(60.0)
        assert not any(thread.is_alive() for thread in threads)
    finally:
        sys.setswitchinterval(before)
    assert most == [1]


def test_locks_do_not_outlive_their_owners():
    owner = Owner()
    key = id(owner)
    with turn(owner, "rows"):
        assert key in threads._locks
    del owner
    assert key not in threads._locks


@needs_fork
def test_child_of_a_fork_waits_for_no_turn_and_knows_what_was_left_half_changed():
    mine, others, free, go = Owner(), Owner(), Owner(), Event()
    thread = held(others, go)
    with turn(free, "rows"):
        pass

    def is_right():
        with turn(others, "rows"):
            told = [is_torn(each) for each in (others, others, mine, free)]
        return told == [True, False, False, False]

    with turn(mine, "rows"):
        assert of_child(is_right)
    go.set()
    thread.join(10.0)
    assert not is_torn(others)
