"""Work on several threads: all of it, at once, and errors of any piece."""

import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from threading import Event, Thread

import numpy as np
import pytest
from forks import needs_fork, of_child
from joblib import parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

from kpegasos.rows.budget import ACCOUNT
from kpegasos.utils import threads
from kpegasos.utils.threads import (
    at_work,
    cached_property,
    is_torn,
    n_threads,
    parallel_for,
    threads_for,
    turn,
)


def test_at_work_takes_what_joblib_says():
    with parallel_config("threading", n_jobs=3), at_work():
        assert n_threads() == 3
    with at_work(5), at_work():
        assert n_threads() == threads_for(1e20) == 5
        assert threads_for(0) == 1
    assert n_threads() == threads.available_threads()


def blas():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_at_work_blas_has_one_thread_and_then_as_many_as_before(error):
    def work():
        with at_work(), at_work():
            assert blas() == {1}
            if error is not None:
                raise error

    with threadpool_limits(3, user_api="blas"):
        before = blas()
        with nullcontext() if error is None else pytest.raises(error):
            work()
        assert blas() == before


def hold_at_work(began, go, *locks):
    with at_work(), ExitStack() as stack:
        for lock in locks:
            stack.enter_context(lock)
        began.set()
        go.wait(20)


@contextmanager
def another_at_work(*locks):
    """Another thread is at work during the block, and holds locks."""
    began, go = threading.Event(), threading.Event()
    thread = threading.Thread(target=hold_at_work, args=(began, go, *locks))
    thread.start()
    began.wait(20)
    try:
        yield
    finally:
        go.set()
        thread.join()


def test_at_work_in_threads_that_overlap_blas_has_one_thread_until_the_last_ends():
    """Whichever thread has set the number before: threadpoolctl 3.7 minds one thread alone."""
    with threadpool_limits(3, user_api="blas"):
        before = blas()
        with ExitStack() as other:
            with at_work():
                other.enter_context(another_at_work())
                assert blas() == {1}
            assert blas() == {1}
        assert blas() == before
        with another_at_work():
            assert blas() == {1}
        assert blas() == before


def test_at_work_leaves_what_somebody_else_has_set_meanwhile():
    with threadpool_limits(3, user_api="blas"):
        with at_work():
            threadpool_limits(2, user_api="blas")
        assert blas() == {2}


@pytest.mark.parametrize("broken", [0, 1, 3])
def test_parallel_for_raises_when_no_piece_is_running(broken):
    running = []

    def piece(k):
        running.append(k)
        time.sleep(0.01 * k)
        running.remove(k)
        if k == broken:
            raise RuntimeError(f"broken piece {k}")

    with pytest.raises(RuntimeError, match=f"broken piece {broken}"):
        parallel_for(piece, [(k,) for k in range(4)])
    assert running == []


@pytest.mark.parametrize("n_pieces", [1, 2, 80])
def test_parallel_for_inside_itself_does_every_piece_once(n_pieces):
    """More pieces than the pool has threads, each of which waits for pieces of its own."""
    done = []
    pieces = [(i, -i) for i in range(n_pieces)]
    parallel_for(
        lambda i, k: parallel_for(lambda j: done.append((i, k, j)), [(j,) for j in range(3)]),
        pieces,
    )
    assert sorted(done) == sorted((*piece, j) for piece in pieces for j in range(3))


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_parallel_for_works_in_a_forked_child():
    """The pool's threads do not live on in a child."""

    def work():
        done = []
        parallel_for(done.append, [(k,) for k in range(3)])
        return sorted(done) == [0, 1, 2]

    assert work()
    assert of_child(work)


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_child_waits_for_no_thread_that_was_at_work():
    """Nor is its BLAS limited by one: that thread does not live on in a child."""
    with threadpool_limits(3, user_api="blas"):
        before = blas()

        def work():
            assert blas() == before
            with at_work():
                assert blas() == {1}
            assert blas() == before
            ACCOUNT.grant(1.0, 1.0)
            return True

        with another_at_work(threads._BLAS._lock, ACCOUNT._lock):
            assert blas() == {1}
            assert of_child(work)


@pytest.mark.parametrize("begun", [0, 1])
def test_parallel_for_ends_where_no_thread_can_be_started(begun, monkeypatch):
    """By a limit of the system, or as the interpreter ends; a thread that runs may still help."""

    def refuse(self):
        raise RuntimeError("can't start new thread")

    with ThreadPoolExecutor(4) as pool:
        monkeypatch.setattr(threads, "_pool", pool)
        for _ in range(begun):
            pool.submit(int).result()
        monkeypatch.setattr(threading.Thread, "start", refuse)
        done = []
        parallel_for(done.append, [(k,) for k in range(9)])
        monkeypatch.undo()
    assert sorted(done) == list(range(9))
    monkeypatch.setattr(threads, "_pool", pool)  # it takes no more work
    parallel_for(done.append, [(9,), (10,)])
    assert sorted(done) == list(range(11))


def test_parallel_for_keeps_nothing_of_its_work():
    for _ in range(50):
        block = np.empty(1)
        reference = weakref.ref(block)
        parallel_for(lambda k, block=block: block.sum(), [(k,) for k in range(4)])
        del block
        assert reference() is None


# --- turns: one thread at a time, what cannot end is refused, a child of a fork waits for nobody --


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


def test_turn_ends_with_an_error_such_as_of_a_turn_within_it():
    owner = Owner()
    with pytest.raises(ZeroDivisionError), turn(owner, "rows"):
        raise ZeroDivisionError
    with turn(owner, "rows"):
        message = "rows must be free for this call, got rows that a"
        with pytest.raises(ValueError, match=message), turn(owner, "rows"):
            pass
    in_thread(lambda: turn(owner, "rows").__enter__()).join(10.0)


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


def test_cached_properties_of_two_objects_do_not_wait_for_each_other():
    """What one thread holds the child of a fork beside it would wait for, and never get."""
    both = threading.Barrier(2)

    class Slow:
        @cached_property
        def place(self):
            return both.wait(timeout=20)

    objects = Slow(), Slow()
    with ThreadPoolExecutor(2) as pool:
        assert set(pool.map(lambda each: each.place, objects)) == {0, 1}
    assert {each.place for each in objects} == {0, 1}
