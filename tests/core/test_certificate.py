"""Iterates and their sums in one pass: what numpy finds in many; and their rounding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos import linear_rows
from kpegasos.core.certificate import additions, dual_bounds, evaluate_held, judge, limits_of
from kpegasos.core.state import Examples, Iterate, PegasosOptions, new_state
from kpegasos.losses import HINGE
from kpegasos.rows.base import Evaluated
from kpegasos.rows.gram import GramRows

EPS = np.finfo(np.float64).eps


def some_state(n_samples, seed, average="weighted"):
    """State, examples and rounding, all different from each other."""
    rng = np.random.default_rng(seed)
    state = new_state(n_samples, n_samples, PegasosOptions(average=average), 0.1, 0).loop
    state.alpha[:] = rng.integers(0, 4, n_samples)
    state.stamps[:] = state.alpha * rng.random(n_samples)
    state.image[:] = rng.normal(size=n_samples)
    state.stamped_image[:] = rng.normal(size=state.stamped_image.size)
    label = rng.choice([-1.0, 1.0], n_samples)
    return state, Examples(label, label * rng.random(n_samples)), rng.random(n_samples)


def evaluated(iterate, state, examples, rounding, largest=1.0):
    """Coefficients and margins of an iterate, and the sums of it."""
    coef, margin = np.empty((2, examples.label.size))
    limits = limits_of(examples.loss)
    sums = evaluate_held(state, examples, iterate, rounding, largest, limits, coef, margin)
    return coef, margin, Evaluated(coef, margin, *sums)


@given(st.integers(1, 70), st.integers(0, 99))
def test_sums_are_those_of_numpy(n_samples, seed):
    state, examples, rounding = some_state(n_samples, seed)
    weight, prefix = np.abs(examples.signed), np.random.default_rng(seed).random((2, n_samples))
    for plain, stamped, prefixes in ((0.5, 0.0, []), (2.0, 0.7, []), (2.0, 0.7, prefix)):
        iterate = Iterate(plain, stamped, 3.0, *prefixes)
        coef, margin, of = evaluated(iterate, state, examples, rounding, 17.0)
        of_coefs, of_image = prefixes if len(prefixes) else (0.0, 0.0)
        exact = plain * state.alpha - stamped * (state.stamps + of_coefs)
        assert_allclose(coef, exact, rtol=1e-12, atol=1e-12)
        exact = plain * state.image - stamped * (state.stamped_image + of_image)
        assert_allclose(margin, exact, rtol=1e-12, atol=1e-12)
        signed, size = coef * examples.signed, np.abs(coef) @ weight
        assert_allclose(of.squared_norm, signed @ margin, rtol=1e-11, atol=1e-12)
        loss = weight @ np.maximum(0.0, 1.0 - examples.label * margin)
        judged = judge(examples, limits_of(HINGE), coef, margin, *of[2:5], 0.1, 0.0)
        objective = 0.05 * of.squared_norm + loss / n_samples
        assert_allclose(judged[0], objective, rtol=1e-11, atol=1e-12)
        # Every term of the rounding.
        number = additions(state, examples, iterate, state.alpha @ weight)
        assert of.additions == pytest.approx(number, rel=1e-14)
        shares = plain + 2.0 * stamped * 3.0
        assert_allclose(of.additions, 4.0 * shares * (state.alpha @ weight + n_samples))
        of_values, of_sums = (np.abs(coef) * weight) @ rounding, of.additions * EPS * 17.0
        of_loss = of_sums + of_values + size * (weight @ rounding) / n_samples
        assert_allclose(of.loss_rounding, of_loss, rtol=1e-12)
        of_norm = size * (of_sums + 2.0 * of_values) + n_samples * EPS / 2 * size**2 * 17.0
        assert_allclose(of.norm_rounding, of_norm, rtol=1e-12)
        of_margin = of_sums + of_values + size * rounding.max()
        assert_allclose(of.margin_rounding, of_margin, rtol=1e-12)


def test_last_iterate_needs_no_stamped_image_and_others_arrays_of_one_length():
    state, examples, rounding = some_state(9, 0, average=None)
    coef, margin, _ = evaluated(Iterate(0.5), state, examples, rounding)
    assert_array_equal(coef, 0.5 * state.alpha)
    assert_array_equal(margin, 0.5 * state.image)
    for name, iterate, wrong, noise in (
        ("stamped_image", Iterate(0.5, 1.0), state, rounding),
        ("rounding", Iterate(0.5), state, rounding[1:]),
        ("image", Iterate(0.5), state._replace(image=state.image[1:]), rounding),
        ("prefix_image", Iterate(0.5, 0.0, 0.0, np.ones(9), np.ones(8)), state, rounding),
    ):
        with pytest.raises(ValueError, match=rf"^{name} must have shape \(9,\), got \("):
            evaluated(iterate, wrong, examples, noise)


@pytest.mark.pure_python
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_dual_bound_loses_what_its_sum_may_be_rounded_by():
    """``θ ≤ 5`` times a sum of 2, which 4 terms and a few numbers beside them have rounded."""
    ones, coef = Examples(np.ones(4), np.full(4, 10.0)), np.full(4, 0.5)
    dual, proven = dual_bounds(ones, limits_of(HINGE), coef, 0.0, 0.0, 0.1)
    assert dual == pytest.approx(10.0)
    assert dual - proven == pytest.approx(10.0 * 18.0 * np.finfo(float).eps, rel=0.1)
    far = np.full(4, np.inf)
    assert dual_bounds(ones, limits_of(HINGE), far, np.inf, 0.0, 0.1) == (0.0, 0.0)


# --- what rounding may do to a certificate, term by term -----------------------------------------


@pytest.fixture(params=["each", "all"])
def case(request):
    """Rows, examples, an iterate, and the rounding of each example's values."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(7, 4))
    rounding = rng.uniform(1e-9, 2e-9, 7) if request.param == "each" else 1.5e-9
    rows = GramRows(A @ A.T, rounding=rounding)
    label = np.resize([1.0, -1.0], 7)
    examples = Examples(label, label * rng.uniform(0.5, 2.0, 7))
    coef = np.array([0.5, 0.0, 1.25, 0.0, 2.0, 0.75, 0.0])
    margins = rows.gram @ (coef * examples.signed)
    iterate = Evaluated(coef, margins, float(coef * examples.signed @ margins))
    return rows, examples, iterate, np.broadcast_to(rounding, 7)


def test_rounding_of_a_settled_iterate_has_every_term(case):
    rows, examples, iterate, rounding = case
    rows.rounding = 1e-3 * rows.rounding  # what is computed again is known better
    before = iterate._replace(additions=1e6)
    size = iterate.coef * np.abs(examples.signed)
    total, R = size.sum(), size @ rounding * 1e-3
    in_values = total * rounding * 1e-3 + R
    in_margin = in_values + (2 + 4) * EPS * total * rows.largest
    found = rows.settle(before, examples)
    terms = np.abs(size * np.sign(examples.signed) * found.margins)
    expected = size @ in_margin + 3.5 * EPS * terms.sum()
    assert_allclose(found.norm_rounding, expected, rtol=1e-9)


def test_rounding_of_an_iterate_of_features_has_every_term(case):
    _, examples, iterate, _ = case
    X = np.random.default_rng(1).normal(size=(7, 4))
    rows = linear_rows(X, intercept_scaling=2.0)
    state = new_state(7, 5, PegasosOptions(average=None), 0.1, 0).loop
    state.alpha[:] = iterate.coef
    state.image[:] = np.column_stack((X, np.full(7, 2.0))).T @ (iterate.coef * examples.signed)
    (found,) = rows.evaluate([Iterate(1.0)], state, examples)
    length, longest = np.linalg.norm(state.image), np.hypot(2.0 * np.abs(X).max(), 2.0)
    error = found.additions * EPS * longest
    expected = error * (2.0 * length + error) + 0.5 * (5 + 2) * EPS * length**2
    assert found.additions > 1.0
    assert_allclose(found.norm_rounding, expected, rtol=1e-9)
    of_margin = (0.5 * (5 + 2) + 1.0) * EPS * length * longest
    assert_allclose(found.loss_rounding, of_margin, rtol=1e-9)


@pytest.mark.parametrize(("n_samples", "n_features"), [(3, 2000), (500, 3)])
def test_rounding_of_settled_features_has_every_term(n_samples, n_features):
    """One of two terms is the larger by far: of products of many columns, or of many rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (n_samples, n_features)).astype(float)
    signed = np.resize([2.0, -1.0, 3.0], n_samples)
    examples = Examples(np.sign(signed), signed)
    full = np.column_stack((X, np.full(n_samples, 2.0)))
    image = full.T @ signed
    before = Evaluated(
        np.ones(n_samples), full @ image, float(image @ image), 1.0, 1.0, vector=image
    )
    found = linear_rows(X, intercept_scaling=2.0).settle(before, examples)
    length, size = np.linalg.norm(image), np.linalg.norm(np.abs(full).T @ np.abs(signed))
    error = (n_samples + 2) * EPS * size + 0.5 * (n_features + 3) * EPS * length
    expected = 2.0 * length * error + 0.5 * (n_features + 5) * EPS * length**2
    assert_allclose(found.norm_rounding, expected, rtol=1e-2)
