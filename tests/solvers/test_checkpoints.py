"""Steps at which a run is recorded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from solver_cases import M, make_kernel_rows, run_pegasos

from kpegasos.solvers.pegasos import Checkpoints


@pytest.mark.parametrize(
    ("checkpoints", "expected"),
    [
        ("epoch", [13, 25, 37, 50, 62, 63]),
        ("auto", [13, 25, 62, 63]),
        ("log", [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 63]),
        ([40, 2, 2, 700], [2, 40, 63]),
        (np.array([63, 5]), [5, 63]),
        ([], [63]),
        (None, [63]),
    ],
    ids=str,
)
def test_history_checkpoints(checkpoints, expected):
    history = run_pegasos(
        make_kernel_rows("cached"), 3, n_steps=63, checkpoints=checkpoints
    ).history
    assert_array_equal(history["iteration"], expected)
    assert_allclose(history["epoch"], 3 * np.array(expected) / M)


def test_checkpoints_are_not_counted_one_by_one():
    assert len(Checkpoints("epoch", 0, 40 * 10**15, 40, 1)) == 10**15


def expected_checkpoints(checkpoints, first, last, n_samples, batch_size):
    """Each step by itself: is it a checkpoint?"""
    if checkpoints == "epoch":
        chosen = {-(-e * n_samples // batch_size) for e in range(1, last * batch_size + 1)}
    elif checkpoints == "auto":
        epochs = [d * 10**e for e in range(5) for d in (1, 2, 5)]
        chosen = {-(-e * n_samples // batch_size) for e in epochs}
    elif checkpoints == "log":
        chosen = {round(10 ** (j / 10)) for j in range(60)}
    else:
        chosen = set(checkpoints or [])
    return [t for t in range(first + 1, last + 1) if t in chosen or t == last]


@given(
    st.none()
    | st.sampled_from(["auto", "epoch", "log"])
    | st.lists(st.integers(1, 120), max_size=5),
    st.integers(0, 80),
    st.integers(1, 80),
    st.integers(1, 12),
    st.data(),
)
def test_checkpoints_one_by_one(checkpoints, first, n_steps, n_samples, data):
    """All of them from anywhere on, as many as announced, as often as they are asked for."""
    batch_size = data.draw(st.integers(1, n_samples))
    arguments = checkpoints, first, first + n_steps, n_samples, batch_size
    expected = expected_checkpoints(*arguments)
    points = Checkpoints(*arguments)
    assert len(points) == len(expected)
    assert list(points) == expected
    assert list(points) == expected  # and again
