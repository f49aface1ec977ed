"""What loops ask of rows: open to a fourth kind, closed to anything else."""

from typing import NamedTuple

import numpy as np
import pytest
from conftest import stream
from numpy.testing import assert_array_equal

from kpegasos import GramRows, make_problem, pegasos
from kpegasos.core.views import KernelView, add_row, inner, prefetch_draw, touch
from kpegasos.rows.base import run_loop


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
        view = DiagonalView(diagonal, diagonal)
        run_loop(steps, view, draws, stop)


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


def test_view_unknown():
    for ask in (
        lambda: inner.dispatch(tuple)((), np.zeros(1), 0),
        lambda: touch.dispatch(tuple)((), 0, 0),
        lambda: add_row.dispatch(tuple)((), np.zeros(1), np.zeros(1), 0, 1.0, 1.0),
        lambda: prefetch_draw.dispatch(tuple)((), np.zeros(1), 0),
    ):
        with pytest.raises(TypeError, match="unknown rows: tuple"):
            ask()


def test_touch_tells_hits_from_first_uses_and_missing_rows():
    """A row that was fetched ahead bears the step of its arrival until it is used."""
    view = KernelView(np.eye(2), np.array([-1, 0, 1]), np.array([-1 - 7, 5]), np.ones(3), 0.0)
    assert touch(view, 0, 9) == -1
    assert touch(view, 1, 9) == 0
    assert touch(view, 1, 10) == 1
    assert touch(view, 2, 11) == 1
    assert view.ticks.tolist() == [10, 11]
