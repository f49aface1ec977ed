"""What rounding may do to a certificate, term by term."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kpegasos import GramRows, linear_rows
from kpegasos.core.evaluation import roundings
from kpegasos.core.state import Examples, Iterate, PegasosOptions, new_state
from kpegasos.rows.base import Evaluated

EPS = np.finfo(np.float64).eps


def test_roundings_have_every_term():
    size, of_values, rounding, additions, n_samples, largest = 3.0, 5e-14, 7e-14, 11.0, 13, 17.0
    sums = SimpleNamespace(size=size, of_values=of_values, rounding=rounding)
    of_loss, of_norm = roundings(sums, additions, n_samples, largest)
    in_margin = additions * EPS * largest + of_values
    assert_allclose(of_loss, in_margin + size * rounding / n_samples, rtol=1e-12)
    in_sum = n_samples * EPS / 2 * size**2 * largest
    assert_allclose(of_norm, size * (in_margin + of_values) + in_sum, rtol=1e-12)


@pytest.fixture(params=["each", "all"])
def given(request):
    """Rows, examples, an iterate, and the rounding of each example's values."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(7, 4))
    rounding = rng.uniform(1e-9, 2e-9, 7) if request.param == "each" else 1.5e-9
    rows = GramRows(A @ A.T, rounding=rounding)
    label = np.resize([1.0, -1.0], 7)
    examples = Examples(label, label * rng.uniform(0.5, 2.0, 7))
    coef = np.array([0.5, 0.0, 1.25, 0.0, 2.0, 0.75, 0.0])
    margins = rows.gram @ (coef * examples.signed)
    evaluated = Evaluated(coef, margins, float(coef * examples.signed @ margins))
    return rows, examples, evaluated, np.broadcast_to(rounding, 7)


def test_rounding_of_an_iterate_has_every_term(given):
    rows, examples, evaluated, rounding = given
    weight = np.abs(examples.signed)
    S, R = evaluated.coef @ weight, evaluated.coef @ (weight * rounding)
    in_margin = 11.0 * EPS * rows.largest + R
    found = rows._with_rounding(evaluated, examples, 11.0)
    expected = in_margin + S * (weight @ rounding) / 7
    if np.ptp(rounding) == 0.0:  # errors of all values alike, whatever the weights
        expected = in_margin + S * rounding[0]
    assert_allclose(found.loss_rounding, expected, rtol=1e-12)
    assert_allclose(found.norm_rounding, S * (in_margin + R) + 3.5 * EPS * S**2 * rows.largest)


def test_rounding_of_a_settled_iterate_has_every_term(given):
    rows, examples, evaluated, rounding = given
    rows.rounding = 1e-3 * rows.rounding  # what is computed again is known better
    before = evaluated._replace(additions=1e6)
    size = evaluated.coef * np.abs(examples.signed)
    total, R = size.sum(), size @ rounding * 1e-3
    in_values = total * rounding * 1e-3 + R
    in_margin = in_values + (2 + 4) * EPS * total * rows.largest
    found = rows.settle(before, examples)
    terms = np.abs(size * np.sign(examples.signed) * found.margins)
    expected = size @ in_margin + 3.5 * EPS * terms.sum()
    assert_allclose(found.norm_rounding, expected, rtol=1e-9)


def test_rounding_of_an_iterate_of_features_has_every_term(given):
    _, examples, evaluated, _ = given
    X = np.random.default_rng(1).normal(size=(7, 4))
    rows = linear_rows(X, intercept_scaling=2.0)
    state = new_state(7, 5, PegasosOptions(average=None), 0.1, 0).loop
    state.alpha[:] = evaluated.coef
    state.image[:] = np.column_stack((X, np.full(7, 2.0))).T @ (evaluated.coef * examples.signed)
    (found,) = rows.evaluate([Iterate(1.0)], state, examples)
    length, longest = np.linalg.norm(state.image), np.hypot(2.0 * np.abs(X).max(), 2.0)
    error = found.additions * EPS * longest
    expected = error * (2.0 * length + error) + 0.5 * (5 + 2) * EPS * length**2
    assert found.additions > 1.0
    assert_allclose(found.norm_rounding, expected, rtol=1e-9)
    of_margin = (0.5 * (5 + 2) + 1.0) * EPS * length * longest
    assert_allclose(found.loss_rounding, of_margin, rtol=1e-9)
