"""Problems that are the same, or nearly, have the same certificates, decisions or bits."""

from __future__ import annotations

import numpy as np
import pytest
from metamorphic_cases import CASES, assert_overlap, assert_same_model, decisions, interval, reach
from models import counts_of
from numpy.testing import assert_allclose, assert_array_equal

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

EXACT = {"polish": True, "tol": 1e-4}


def cases(*kernels, **fields):
    """Those of the table with one of the kernels and these fields, as a parameter."""
    chosen = [
        case
        for case in CASES
        if (not kernels or case.kernel in kernels)
        and all(getattr(case, name) == value for name, value in fields.items())
    ]
    return pytest.mark.parametrize("case", chosen, ids=str)


def assert_agree(case, a, b, X_a, X_b=None, other=None):
    """Intervals overlap, and decisions lie as close to each other as the gaps promise."""
    X_b = X_a if X_b is None else X_b
    assert_overlap(a, b, case.rounding)
    difference = np.abs(decisions(a, case.rows(X_a)) - decisions(b, (other or case).rows(X_b)))
    rounding = 100 * case.rounding
    assert (difference <= reach(a, X_a) + reach(b, X_b) + rounding).all()


# --- shifted and scaled ---------------------------------------------------------------------------


@cases("rbf", "laplacian", dtype="float32")
def test_shift_keeps_certificate_and_decisions(case):
    X, y = case.data()
    shifted = X + 1000.0
    assert_agree(case, case.fit(X, y, **EXACT), case.fit(shifted, y, **EXACT), X, shifted)


@cases("rbf", "laplacian", dtype="float64")
def test_shift_keeps_the_model_in_float64(case):
    X, y = case.data()
    assert_same_model(case.fit(X, y), case.fit(X + 1000.0, y), rtol=1e-7, gap_rtol=1e-5)


def scaled(case, s):
    """Parameters with which ``s X`` is the problem that ``X`` is by default."""
    return {
        "rbf": {"gamma": 0.5 / s**2},
        "laplacian": {"gamma": 0.5 / s},
        "poly": {"gamma": 0.5 / s**2},
        "linear": {"C": 2.0 / s**2, "intercept_scaling": s},
    }[case.kernel]


@cases()
def test_scale_by_a_power_of_two_keeps_every_bit(case):
    X, y = case.data()
    s = 0.125 if case.layout == "csr" else 4.0
    a, b = case.fit(X, y), case.fit(s * X, y, **scaled(case, s))
    assert_array_equal(counts_of(a), counts_of(b))
    assert_array_equal(a.objective_, b.objective_)
    assert_array_equal(a.duality_gap_, b.duality_gap_)
    assert_array_equal(decisions(a, case.rows(X)), decisions(b, case.rows(s * X)))


# --- rows and types -------------------------------------------------------------------------------


@cases()
def test_order_of_the_rows_keeps_certificate_and_decisions(case):
    X, y = case.data()
    order = np.random.default_rng(0).permutation(y.size)
    assert_agree(case, case.fit(X, y, **EXACT), case.fit(X[order], y[order], **EXACT), X)


@pytest.mark.parametrize(
    ("case", "other"),
    [
        *[(case, case._replace(dtype="float64")) for case in CASES if case.dtype == "float32"],
        *[(case, case._replace(layout="dense")) for case in CASES if case.layout == "csr"],
    ],
    ids=str,
)
def test_the_same_numbers_in_another_form_certify_the_same(case, other):
    X, y = case.data()
    assert_agree(case, case.fit(X, y, **EXACT), other.fit(X, y, **EXACT), X, other=other)


# --- weights and labels ---------------------------------------------------------------------------


@cases()
def test_weights_of_two_are_no_weights_for_the_same_lam_and_twice_the_c(case):
    X, y = case.data()
    two = np.full(y.size, 2.0)
    assert_same_model(case.fit(X, y, lam=0.01), case.fit(X, y, two, lam=0.01))
    assert_same_model(case.fit(X, y, C=4.0), case.fit(X, y, two), rtol=1e-12)


@cases()
def test_weight_of_zero_is_absence(case):
    X, y = case.data()
    kept = np.arange(y.size) % 5 != 0
    a, b = case.fit(X[kept], y[kept]), case.fit(X, y, kept.astype(float))
    assert_array_equal(counts_of(b)[..., kept], counts_of(a))
    assert not counts_of(b)[..., ~kept].any()
    assert_allclose(b.objective_, a.objective_, rtol=case.rounding)
    expected = decisions(a, case.rows(X))
    atol = case.rounding * np.abs(expected).max()
    assert_allclose(decisions(b, case.rows(X)), expected, rtol=0, atol=atol)


@cases()
def test_names_of_classes_do_not_matter(case):
    X, y = case.data()
    names = np.array(["ant", "bee", "cat"])
    a, b = case.fit(X, y), case.fit(X, names[y])
    assert_same_model(a, b)
    assert_array_equal(b.predict(case.rows(X)), names[a.predict(case.rows(X))])


@cases(n_classes=2)
def test_swapped_classes_negate_the_decisions(case):
    X, y = case.data()
    a, b = case.fit(X, y), case.fit(X, 1 - y)
    assert_array_equal(counts_of(a), counts_of(b))
    assert_array_equal(a.objective_, b.objective_)
    # Support vectors are grouped by class, so the sums come in another order.
    to, fro = decisions(a, case.rows(X)), -decisions(b, case.rows(X))
    assert_allclose(to, fro, rtol=0, atol=case.rounding * np.abs(to).max())


@cases(n_classes=3)
def test_permuted_classes_certify_the_same_pairs(case):
    X, y = case.data()
    a, b = case.fit(X, y, **EXACT), case.fit(X, np.array([2, 0, 1])[y], **EXACT)
    # Pairs (0, 1), (0, 2), (1, 2) of the one are (2, 0), (2, 1), (0, 1) of the other.
    to, sign = [1, 2, 0], [-1.0, -1.0, 1.0]
    (low_a, high_a), (low_b, high_b) = interval(a), interval(b)
    assert (low_a <= high_b[to] * (1 + case.rounding)).all()
    assert (low_b[to] <= high_a * (1 + case.rounding)).all()
    rows = case.rows(X)
    difference = np.abs(decisions(a, rows) - sign * decisions(b, rows)[:, to])
    assert (difference <= reach(a, X) + reach(b, X)[:, to] + 100 * case.rounding).all()
