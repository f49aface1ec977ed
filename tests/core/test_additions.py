"""Additions of many rows at a time: the sums of additions one by one, to the last bit."""

import numpy as np
import pytest
from covering import each_pair
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos.core import views
from kpegasos.core.views import add_rows_together

RNG = np.random.default_rng(0)
N = 5000


def added(values, rows, increments, stamps, offset, *, stamped=True):
    image, twin = np.linspace(-1, 1, N), np.linspace(0, 3, N if stamped else 0)
    add_rows_together(values, values[:0], rows, increments, stamps, offset, image, twin)
    return image, twin


@each_pair(n_rows=[0, 1, 3, 4, 5, 8, 30], dtype=[np.float32, np.float64], offset=[0.0, 2.5])
def test_rows_together_are_the_sum(n_rows, dtype, offset):
    values = RNG.normal(size=(40, N)).astype(dtype)
    rows = RNG.permutation(40)[:n_rows]
    increments, stamps = RNG.normal(size=(2, n_rows))
    image, twin = added(values, rows, increments, stamps, offset)
    chosen = values[rows].astype(float) + offset
    assert_allclose(image, np.linspace(-1, 1, N) + increments @ chosen, rtol=1e-12, atol=1e-12)
    assert_allclose(twin, np.linspace(0, 3, N) + stamps @ chosen, rtol=1e-12, atol=1e-12)
    alone, none = added(values, rows, increments, stamps, offset, stamped=False)
    assert_array_equal(alone, image)
    assert none.size == 0


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_rows_together_are_those_one_by_one(threads, monkeypatch):
    """Whatever the parts that they are added in, the threads, and where the rows are kept."""
    values = RNG.normal(size=(40, N)).astype(np.float32)
    rows, increments, stamps = RNG.permutation(40)[:23], *RNG.normal(size=(2, 23))
    expected = added(values, rows, increments, stamps, 1.0)
    monkeypatch.setattr(views, "threads_for", lambda work: threads)
    work, places = values[rows[::3]], rows.copy()
    places[::3] = -1 - np.arange(len(work))  # some are not kept
    for cuts in ([23], [1, 22], [4, 5, 14], [1] * 23):
        image, twin = np.linspace(-1, 1, N), np.linspace(0, 3, N)
        begin = 0
        for size in cuts:
            part = slice(begin, begin + size)
            chosen = places[part], increments[part], stamps[part]
            add_rows_together(values, work, *chosen, 1.0, image, twin)
            begin += size
        assert_array_equal(image, expected[0])
        assert_array_equal(twin, expected[1])
