"""What loops ask of rows: open to a fourth kind, closed to anything else; rows added together."""

from typing import NamedTuple

import numpy as np
import pytest
from conftest import stream
from covering import each_value
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos import make_problem, pegasos
from kpegasos.core import views
from kpegasos.core.views import KernelView, add_row, inner, prefetch_draw, touch
from kpegasos.rows.base import run_loop
from kpegasos.rows.gram import GramRows
from kpegasos.utils import threads as utils_threads


class DiagonalView(NamedTuple):
    """Rows of a diagonal kernel matrix, of which only the diagonal is held."""

    diagonal: np.ndarray
    squared_norms: np.ndarray


@inner.register(DiagonalView)
def _(view, image, i):
    return image[i]


@touch.register(DiagonalView)
def _(view, i, t):
    return 0


@add_row.register(DiagonalView)
def _(view, image, stamped_image, i, increment, stamp):
    image[i] += increment * view.diagonal[i]
    if stamped_image.size:
        stamped_image[i] += stamp * view.diagonal[i]


@prefetch_draw.register(DiagonalView)
def _(view, draws, position):
    pass


class DiagonalRows(GramRows):
    """A source that advances on the view above."""

    def advance(self, steps, draws, stop):
        diagonal = self.gram.diagonal().copy()
        run_loop(steps, DiagonalView(diagonal, diagonal), draws, stop)


@pytest.mark.pure_python
def test_view_of_a_fourth_kind_runs_the_same_loop():
    """A NamedTuple and four functions are enough, compiled or not."""
    gram = np.diag(np.arange(1.0, 21.0) / 4)
    task = make_problem(np.resize([1, -1, -1], 20), 2.0**-4)
    options = {"n_steps": 150, "batch_size": 3, "projection": True, "random_state": 0}
    expected = pegasos(task, GramRows(gram), **options)
    result = pegasos(task, DiagonalRows(gram), **options)
    assert 0 < np.count_nonzero(result.alpha) < stream(20, 450).size
    assert_array_equal(result.alpha, expected.alpha)
    assert_array_equal(result.coef, expected.coef)


def test_touch_tells_hits_from_first_uses_and_missing_rows():
    """A row that was fetched ahead bears the step of its arrival until it is used."""
    view = KernelView.of(np.eye(2), np.array([-1, 0, 1]), np.array([-1 - 7, 5]), np.ones(3), 0.0)
    found = [touch(view, *at) for at in ((0, 9), (1, 9), (1, 10), (2, 11))]
    assert found == [-1, 0, 1, 1]
    assert view.ticks.tolist() == [10, 11]


@each_value(threads=[1, 2, 5], dtype=[np.float32, np.float64], offset=[0.0, 2.5])
def test_rows_together_are_the_sum_to_the_same_bits_one_by_one(threads, dtype, offset, monkeypatch):
    """Whatever the parts that they are added in, the threads, and where the rows are kept."""
    rng = np.random.default_rng(0)
    values, rows = rng.normal(size=(40, 5000)).astype(dtype), rng.permutation(40)[:23]
    increments, stamps = rng.normal(size=(2, 23))
    work, places = values[rows[::3]], rows.copy()
    places[::3] = -1 - np.arange(len(work))  # some are not kept
    start, chosen = np.linspace(-1, 1, 5000), values[rows].astype(float) + offset
    found = []
    for n_threads, held, cuts, stamped in (
        (1, rows, [23], True),
        (threads, places, [23], True),
        (threads, places, [1, 22, 0], True),
        (threads, places, [4, 5, 3, 11], True),
        (threads, places, [1] * 23, True),
        (threads, rows, [8, 15], False),
    ):
        monkeypatch.setattr(utils_threads, "threads_for", lambda work, n=n_threads: n)
        image, twin = start.copy(), 3.0 * start[: 5000 if stamped else 0]
        begin = 0
        for size in cuts:
            part = slice(begin, begin + size)
            chosen_part = held[part], increments[part], stamps[part]
            views.add_rows_together(values, work, *chosen_part, offset, image, twin)
            begin += size
        found.append((image, twin))
    assert_allclose(found[0][0], start + increments @ chosen, rtol=1e-12, atol=1e-12)
    assert_allclose(found[0][1], 3.0 * start + stamps @ chosen, rtol=1e-12, atol=1e-12)
    for image, twin in found[1:]:
        assert_array_equal(image, found[0][0])
        assert_array_equal(twin, found[0][1][: twin.size])
