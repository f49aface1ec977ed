"""Jobs in processes of their own, and calls that are repeated."""

import subprocess
import time

import pytest

from experiments._measure import in_a_process, repeated


def count(job):
    """Yield numbers, then sleep."""
    for number in range(job["numbers"]):
        yield {"number": number}
    time.sleep(job["seconds"])


def fail(job):
    """Raise an error."""
    raise RuntimeError(job)


def test_process_gives_what_it_yielded():
    found, ended = in_a_process(count, {"numbers": 2, "seconds": 0})
    assert (found, ended) == ([{"number": 0}, {"number": 1}], True)


@pytest.mark.slow
def test_process_that_is_given_up_leaves_what_it_had_printed():
    begin = time.perf_counter()
    found, ended = in_a_process(count, {"numbers": 2, "seconds": 600}, timeout=20)
    assert (found, ended) == ([{"number": 0}, {"number": 1}], False)
    assert time.perf_counter() - begin < 300


def test_process_that_fails_is_an_error():
    with pytest.raises(subprocess.CalledProcessError):
        in_a_process(fail, {})


def test_calls_are_repeated_up_to_their_number_or_their_seconds():
    results = iter(range(9))
    seconds, last, memory = repeated(lambda: next(results), 3, 60.0)
    assert (len(seconds), last, memory) == (3, 2, {})
    seconds, last, memory = repeated(lambda: time.sleep(0.01), 9, 0.005, weighed=True)
    assert len(seconds) == 1
    assert set(memory) == {"extra_mb", "peak_mb"}
