"""Working sets, dual values and errors of any loss, against the definitions."""

import naive_losses
import numpy as np
import pytest
from covering import each_pair
from few_points import LAM, FewPoints, N
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from solver_cases import LOSSES, TWO_LOSSES

from kpegasos import losses
from kpegasos.core import interior
from kpegasos.core.certificate import (
    best_multiple,
    dual_bounds,
    dual_value,
    limits_of,
    loss_errors,
    steepest,
)
from kpegasos.core.state import Examples, LoopParameters, PegasosOptions, new_state
from kpegasos.core.views import KernelView
from kpegasos.core.working_sets import (
    DONE,
    ENOUGH,
    LEFT,
    SETS_DONE,
    ascend,
    choose_largest,
    new_working_sets,
)
from kpegasos.utils.compiled import compiled

pytestmark = pytest.mark.pure_python

EACH = pytest.mark.parametrize("loss", [*LOSSES, losses.SquaredEpsilonInsensitive(0.0)], ids=str)


@TWO_LOSSES
@pytest.mark.parametrize("size", [4, N])
def test_working_sets_reach_the_optimum(loss, size):
    case = FewPoints(loss)
    state = new_state(N, N, PegasosOptions(average=None), LAM, 0).loop
    ticks = np.full(N, -1, dtype=np.int64)
    view = KernelView.of(case.K, np.arange(N), ticks, case.K.diagonal().copy(), 0.0)
    sets = new_working_sets(size, N, N, np.full(N, True), adds=True)
    sets.counts[LEFT], sets.counts[SETS_DONE], sets.scalars[ENOUGH] = 400, 0, 1e-7
    parameters = LoopParameters(LAM, N, 1, False, False)
    assert ascend(state, view, sets, case.examples, parameters) == DONE
    coef = state.alpha * case.examples.signed / (LAM * N)
    assert_allclose(case.K @ coef, state.image / (LAM * N), atol=1e-9)
    assert loss.lower <= state.alpha.min()
    assert state.alpha.max() <= loss.upper
    assert case.objective(coef) <= case.optimum() * (1 + 1e-6)


@EACH
def test_dual_value_is_the_dual_and_its_bound_that_of_the_best_multiple(loss):
    case, limits = FewPoints(loss), limits_of(loss)
    rng = np.random.default_rng(2)
    beta = 0.5 * np.clip(rng.normal(size=N), max(loss.lower, -2.0), min(loss.upper, 2.0))
    coef = beta / (LAM * N)
    vector = coef * case.examples.signed
    norm = vector @ case.K @ vector

    def dual(theta):
        gains = [loss.gain(theta * b, y) for b, y in zip(beta, case.y, strict=True)]
        return case.weight @ gains / N - 0.5 * LAM * theta**2 * norm

    for theta in (0.0, 0.3, 1.0):
        value = dual_value(case.examples, coef, norm, LAM, theta)
        assert_allclose(value, dual(theta), rtol=1e-12, atol=1e-14)
    ends = [end / b for b in beta for end in (loss.lower, loss.upper) if b and end / b > 0.0]
    theta = best_multiple(case.examples, limits, coef, norm, LAM)
    assert theta <= min([*ends, np.inf])
    multiples = np.linspace(0.0, min([*ends, 2.0 * theta]), 10_001)
    value, bound = dual_bounds(case.examples, limits, coef, norm, 0.0, LAM)
    assert value == pytest.approx(max(0.0, dual(theta)), rel=1e-12)
    assert value >= max(map(dual, multiples)) - 1e-9
    assert bound <= min(value, case.optimum() + 1e-12)
    _, bound = dual_bounds(case.examples, limits, coef, norm, 0.1 * norm, LAM)
    assert bound <= max(dual(theta) - 0.05 * LAM * theta**2 * norm for theta in multiples) + 1e-9
    assert dual_bounds(case.examples, limits, np.zeros(N), 0.0, 0.0, LAM) == (0.0, 0.0)


@EACH
def test_errors_of_losses_bound_what_errors_of_decisions_do(loss):
    case, rng = FewPoints(loss), np.random.default_rng(3)
    decisions, errors = 2.0 * rng.normal(size=N), rng.uniform(0.0, 0.7, N)
    bounds = loss_errors(case.examples, decisions, errors)
    book = naive_losses.LOSSES[case.name]
    for share in np.linspace(-1.0, 1.0, 21):
        for i in range(N):
            there = book(decisions[i] + share * errors[i], case.y[i], **case.parameters)
            here = book(decisions[i], case.y[i], **case.parameters)
            assert abs(there - here) <= bounds[i] + 1e-12
    slope = steepest(case.examples, limits_of(loss), decisions, float(errors.max()))
    assert (bounds <= slope * errors.max() + 1e-12).all()
    assert np.isfinite(bounds).all()
    if np.isfinite(loss.lipschitz):
        felt = bounds > 0.0
        assert_allclose(bounds[felt], loss.lipschitz * errors[felt])


# --- the quadratic problem of the hinge, in a box -------------------------------------------------


def maximise_in_box(hessian, gradient, values, n_sets):
    """Maximise ``gradientᵀ (x − values) − ½ (x − values)ᵀ hessian (x − values)`` over [0, 1]ⁿ.

    By working sets of all variables; values and gradient are brought up to date.
    """
    n = values.size
    state = new_state(n, n, PegasosOptions(average=None), 1.0 / n, 0).loop
    state.alpha[:], state.image[:] = values, 1.0 - gradient
    view = KernelView.of(
        hessian, np.arange(n), np.zeros(n, np.int64), hessian.diagonal().copy(), 0.0
    )
    sets = new_working_sets(n, n, 0, np.full(n, True), adds=True)
    sets.counts[LEFT], sets.scalars[ENOUGH] = n_sets, -1.0
    examples = Examples(np.ones(n), np.ones(n))
    assert ascend(state, view, sets, examples, LoopParameters(1.0 / n, n, 1, False, False)) == DONE
    values[:], gradient[:] = state.alpha, 1.0 - state.image


def definite(rng, n, rank, condition):
    factor = rng.normal(size=(n, rank)) * np.geomspace(1.0, condition**-0.5, rank)
    return factor @ factor.T


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(0, 25), st.floats(0.0, 8.0))
def test_maximise_in_box_never_falls_and_comes_to_an_optimum_within(seed, n, lacking, decades):
    rng = np.random.default_rng(seed)
    hessian = definite(rng, n, max(1, n - lacking), 10.0**decades)
    gradient, values = rng.normal(size=n), rng.uniform(size=n)
    start, slope = values.copy(), gradient.copy()
    for _ in range(4):
        maximise_in_box(hessian, gradient, values, 1)
        moved = values - start
        assert values.min() >= 0.0
        assert values.max() <= 1.0
        assert slope @ moved - 0.5 * moved @ hessian @ moved >= -1e-10
        assert_allclose(gradient, slope - hessian @ moved, rtol=1e-8, atol=1e-8)
    # How far a projected gradient step of unit length moves.
    assert np.abs(np.clip(values + gradient, 0.0, 1.0) - values).max() < 1e-4


def test_maximise_in_box_follows_a_line_to_its_end():
    """Without curvature the slope alone decides."""
    values = np.array([0.5, 0.5, 0.5])
    maximise_in_box(np.zeros((3, 3)), np.array([1.0, 0.0, -1.0]), values, 1)
    assert values.tolist() == [1.0, 0.5, 0.0]


def test_maximise_in_box_does_not_know_the_scale_of_the_hessian():
    """A maximum a millionth from its bound, where steps are smaller still."""
    hessian = definite(np.random.default_rng(5), 30, 30, 10.0)
    optimum, values = np.linspace(1e-6, 2e-6, 30), np.zeros(30)
    maximise_in_box(1e12 * hessian, 1e12 * hessian @ optimum, values, 3)
    assert_allclose(values, optimum, rtol=1e-4)


# --- newton steps stay within the box and solve what they are said to solve -----------------------


def newton(point, A, curvature):
    """One predictor and corrector step at w = κ Aᵀβ; returns the share of it that was taken."""
    n, d = A.shape
    inverse, right = np.empty((2, n))
    total = interior.inverse_barrier(point, inverse)
    matrix = np.eye(d) / curvature + A.T @ (inverse[:, None] * A)
    predicted = A @ np.linalg.solve(matrix, -A.T @ (inverse * point.gradient))
    target = interior.correct(point, inverse, predicted, total, right)
    slope = A @ np.linalg.solve(matrix, A.T @ (inverse * right))
    return interior.move(point, inverse, predicted, slope, right, target)


def problem(seed=0):
    rng = np.random.default_rng(seed)
    A, weight, curvature = rng.normal(size=(60, 4)), rng.uniform(0.2, 2.0, 60), 0.05
    point = interior.start(weight, 0.1, 0.5)
    return interior.replace_gradient(point, curvature * A @ (A.T @ point.beta) - weight), A, weight


def test_steps_stay_inside_and_close_the_gap():
    point, A, weight = problem()
    for _ in range(10):
        newton(point, A, 0.05)
        for part in point[:4]:
            assert (part > 0).all()
        assert_allclose(point.beta + point.room, 1.0)
        assert_allclose(point.low - point.high, point.gradient, atol=1e-12)
        w = 0.05 * A.T @ point.beta
        assert_allclose(point.gradient, A @ w - weight, atol=1e-10)
    loss = np.maximum(-point.gradient, 0.0).sum()
    primal, dual = 10.0 * w @ w + loss, weight @ point.beta - 10.0 * w @ w
    assert primal - dual == pytest.approx(0.0, abs=1e-8 * primal)


def test_vectors_of_another_length_are_refused():
    point, _, _ = problem()
    with pytest.raises(ValueError, match="vectors of a point must have shape"):
        interior.inverse_barrier(point, np.empty(59))
    with pytest.raises(ValueError, match="vectors of a point must have shape"):
        interior.correct(point, np.empty(60), np.empty(61), 1.0, np.empty(60))


# --- the largest of many keys ---------------------------------------------------------------------


@compiled()
def choose(keys, chosen, begin, end):
    return choose_largest(keys, chosen, begin, end)


@each_pair(
    kind=["any", "equal", "few candidates", "rising"],
    n_keys=[1, 63, 64, 65, 1000],
    number=[0, 1, 2, 17, 128],
)
def test_choose_largest_is_what_a_sort_finds(kind, n_keys, number):
    rng, chosen = np.random.default_rng(n_keys), np.full(140, -1)
    keys = rng.normal(size=n_keys)
    if kind == "equal":
        keys = rng.integers(-2, 3, n_keys).astype(float)
    elif kind == "few candidates":
        keys[rng.random(n_keys) < 0.8] = -np.inf
    elif kind == "rising":
        keys.sort()
    end, total = choose(keys, chosen, 3, 3 + number)
    candidates = np.sort(keys[keys > -np.inf])[::-1][:number]
    found = chosen[3:end]
    assert_array_equal(np.sort(keys[found])[::-1], candidates)
    assert np.unique(found).size == found.size
    assert total == pytest.approx(np.maximum(candidates, 0.0).sum())
    assert np.all(chosen[:3] == -1)
    assert np.all(chosen[end:] == -1)
