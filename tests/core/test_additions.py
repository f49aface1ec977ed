"""Additions of many rows at a time: the sums of additions one by one, to the last bit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos.core import views
from kpegasos.core.views import add_rows_together

RNG = np.random.default_rng(0)
N = 5000


def added(values, rows, increments, stamps, offset, *, stamped=True):
    image, twin = np.linspace(-1, 1, N), np.linspace(0, 3, N if stamped else 0)
    add_rows_together(values, values[:0], rows, increments, stamps, offset, image, twin)
    return image, twin


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [0, 1, 3, 4, 5, 8, 30])
@pytest.mark.parametrize("offset", [0.0, 2.5])
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
    """Whatever the parts that they are added in, and the threads."""
    values = RNG.normal(size=(40, N)).astype(np.float32)
    rows, increments, stamps = RNG.permutation(40)[:23], *RNG.normal(size=(2, 23))
    expected = added(values, rows, increments, stamps, 1.0)
    monkeypatch.setattr(views, "threads_for", lambda work: threads)
    for cuts in ([23], [1, 22], [4, 5, 14], [1] * 23):
        image, twin = np.linspace(-1, 1, N), np.linspace(0, 3, N)
        begin = 0
        for size in cuts:
            part = slice(begin, begin + size)
            chosen = rows[part], increments[part], stamps[part]
            add_rows_together(values, values[:0], *chosen, 1.0, image, twin)
            begin += size
        assert_array_equal(image, expected[0])
        assert_array_equal(twin, expected[1])


def test_rows_together_come_in_one_order_wherever_they_are():
    """Whichever of them are kept, the sums are the same bits."""
    values = RNG.normal(size=(40, N)).astype(np.float32)
    rows, increments, stamps = RNG.permutation(40)[:23], *RNG.normal(size=(2, 23))
    expected = added(values, rows, increments, stamps, 1.0)
    others = np.arange(0, 23, 3)
    places = rows.copy()
    places[others] = -1 - np.arange(others.size)
    image, twin = np.linspace(-1, 1, N), np.linspace(0, 3, N)
    work = values[rows[others]]
    add_rows_together(values, work, places, increments, stamps, 1.0, image, twin)
    assert_array_equal(image, expected[0])
    assert_array_equal(twin, expected[1])


def test_rows_together_refuse_what_does_not_fit():
    values, one = np.ones((3, 4)), np.ones(1)
    good = {
        "values": values,
        "work": values[:1],
        "rows": np.array([2]),
        "increments": one,
        "stamps": one,
    }
    good |= {"offset": 0.0, "image": np.zeros(4), "stamped_image": np.zeros(4)}
    add_rows_together(**good)
    add_rows_together(**good | {"rows": np.array([-1])})
    with pytest.raises(ValueError, match="rows"):
        add_rows_together(**good | {"rows": np.array([-2])})
    for name, bad in {
        "rows": np.array([3]),
        "work": np.ones((1, 5)),
        "increments": np.ones(2),
        "stamps": np.ones(2),
        "image": np.zeros(5),
        "stamped_image": np.zeros(3),
    }.items():
        with pytest.raises(ValueError, match=name):
            add_rows_together(**{**good, name: bad})
