"""Slips in the printed algorithms: none of them is ours.

Each test is a concrete problem on which the package agrees with the definition and the slip does
not.
"""

import naive
import numpy as np
import pytest
from conftest import make_integers, stream
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos import make_problem, make_rows, pegasos

DATA = make_integers()
K = naive.gram(DATA.X, DATA.X)
N_STEPS = 100
DRAWS = stream(DATA.y.size, N_STEPS)
LAM = 2.0**-2


def ours(K=K, y=DATA.y, lam=LAM, n_steps=N_STEPS):
    rows = make_rows(K, "precomputed")
    return pegasos(make_problem(y, lam), rows, n_steps=n_steps, average=None, random_state=0)


def by_the_book(K=K, y=DATA.y, lam=LAM, n_steps=N_STEPS):
    return naive.pegasos(K, y, stream(len(y), n_steps), lam)


def assert_by_the_book(result, expected):
    assert_array_equal(result.alpha, expected.counts)
    assert_allclose(result.coef, np.array(expected.iterates[-1], float), rtol=1e-14)


def test_label_outside_sum_forgets_labels():
    """With y_i in the place of y_j the labels cancel out of the test."""
    y = DATA.y.copy()
    y[::3] *= -1
    assert naive.slip_label_outside_sum(K, y, DRAWS, LAM) == naive.slip_label_outside_sum(
        K, DATA.y, DRAWS, LAM
    )
    assert not np.array_equal(ours(y=y).alpha, ours().alpha)
    assert_by_the_book(ours(y=y), by_the_book(y=y))


def test_label_outside_sum_fails_two_points():
    """x and its opposite, labelled apart: one violation settles both, the slip sees a conflict."""
    K, y, lam = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([1, -1]), 0.5
    result = ours(K, y, lam, n_steps=2)
    assert result.alpha.sum() == 1
    assert sum(naive.slip_label_outside_sum(K, y, stream(2, 2), lam)) == 2


def test_shrunk_threshold_is_not_ours():
    """One point, lam = 1: after the first step its margin is 1, and 1 is no violation."""
    K, y = np.array([[1.0]]), [1]
    result = ours(K, y, 1.0, n_steps=2)
    assert_by_the_book(result, by_the_book(K, y, 1.0, n_steps=2))
    assert result.alpha.tolist() == [1]
    assert naive.slip_shrunk_threshold(K, y, [0, 0], 1.0) == [2]


def test_step_zero_is_not_ours():
    """Steps count from 1: from 0 the first step size is infinite."""
    with pytest.raises(ZeroDivisionError):
        naive.slip_step_zero(K, DATA.y, DRAWS, LAM)
    result = ours(n_steps=1)
    assert_by_the_book(result, by_the_book(n_steps=1))
    first = DRAWS[0]
    expected = np.zeros(DATA.y.size)
    expected[first] = DATA.y[first] / LAM
    assert_array_equal(result.coef, expected)


def test_no_scaling_is_not_ours():
    """Without 1/(lam T) the signs survive, and nothing else."""
    result = ours()
    slip = np.array(naive.slip_no_scaling(K, DATA.y, DRAWS, LAM), float)
    assert_by_the_book(result, by_the_book())
    assert_allclose(result.coef * LAM * N_STEPS, slip, rtol=1e-14)
    assert not np.allclose(result.coef, slip)
    assert_array_equal(np.sign(result.margins), np.sign(K @ slip))
    book = naive.primal(by_the_book().iterates[-1], K, DATA.y, LAM)
    assert_allclose(result.objective, book, rtol=1e-12)
    assert naive.primal(slip, K, DATA.y, LAM) > 2 * book


def test_seed_code_lets_lone_points_violate_forever():
    """Without the self term orthogonal points see no margin; ours reach theirs and stay."""
    K, y, n_steps = np.eye(3), [1, -1, 1], 60
    result = ours(K, y, 1.0, n_steps)
    assert_by_the_book(result, by_the_book(K, y, 1.0, n_steps))
    draws = stream(3, n_steps)
    slip = np.abs(np.array(naive.slip_seed_code(K, y, draws, 1.0), float))
    assert_array_equal(slip, np.bincount(draws))
    # lam = 1: the optimum has margin 1/3 at each, hence everything violates; less lam, and not.
    relaxed = ours(K, y, 2.0**-3, n_steps)
    assert_by_the_book(relaxed, by_the_book(K, y, 2.0**-3, n_steps))
    assert (relaxed.alpha < np.bincount(draws) / 2).all()


@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
@pytest.mark.parametrize("lam", [1.5, 1.0, 0.25])
def test_no_slip_in_any_rows(cache, lam):
    """Counts and model are the definition's, none of the slips', whatever serves the rows."""
    rows = make_rows(DATA.X, "linear", cache=cache)
    result = pegasos(make_problem(DATA.y, lam), rows, n_steps=N_STEPS, average=None, random_state=0)
    counts = result.alpha.tolist()
    assert_by_the_book(result, by_the_book(lam=lam))
    assert counts != naive.slip_label_outside_sum(K, DATA.y, DRAWS, lam)
    assert counts != naive.slip_shrunk_threshold(K, DATA.y, DRAWS, lam)
    code = [abs(a) * lam for a in naive.slip_seed_code(K, DATA.y, DRAWS, lam)]
    assert counts != code
