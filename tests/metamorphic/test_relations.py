"""Problems that are the same, or nearly, have the same certificates, decisions or bits."""

import gc
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest
from covering import covering
from models import counts_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from threadpoolctl import ThreadpoolController, threadpool_limits

from kpegasos import LinearPegasosSVC, PegasosSVC, PegasosSVCCV, make_problem, make_rows, pegasos

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

KERNELS: dict[str, dict[str, float]] = {
    "rbf": {"gamma": 0.5},
    "laplacian": {"gamma": 0.5},
    "poly": {"gamma": 0.5, "coef0": 1.0, "degree": 3},
    "linear": {},
    "primal": {},
}
#: Relative errors that kernel values of a type may bring into an objective.
ROUNDING = {"float32": 1e-5, "float64": 1e-9}
COMMON = {"C": 2.0, "epochs": 5, "random_state": 0, "decision_function_shape": "ovo"}


class Case(NamedTuple):
    """An estimator and a kind of data."""

    kernel: str
    dtype: str
    layout: str
    n_classes: int

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Overlapping classes; multiples of 1/64 are float32's too, also 1,000 away."""
        rng = np.random.default_rng(self.n_classes)
        y = np.arange(90) % self.n_classes
        centers = np.array([[1.0, 0.0, 0.0], [-0.5, 1.0, 0.0], [-0.5, -1.0, 0.5]])
        X = centers[y] + rng.normal(scale=0.8, size=(90, 3))
        return np.round(64 * X) / 64, y

    def rows(self, X: np.ndarray) -> Any:
        """The same numbers in the layout and type of the case."""
        X = X.astype(self.dtype)
        return sparse.csr_array(X) if self.layout == "csr" else X

    def fit(self, X: np.ndarray, y: np.ndarray, weight: Any = None, **parameters: Any) -> Any:
        options = COMMON | KERNELS[self.kernel] | parameters
        if self.kernel == "primal":
            return LinearPegasosSVC(**options).fit(self.rows(X), y, weight)
        return PegasosSVC(kernel=self.kernel, **options).fit(self.rows(X), y, weight)


AXES = {"kernel": KERNELS, "dtype": ROUNDING, "layout": ("dense", "csr"), "n_classes": (2, 3)}
CASES = [Case(*values) for values in covering(AXES, 2)]
EACH = pytest.mark.parametrize("case", CASES, ids=str)
DISTANCES = pytest.mark.parametrize("kernel", ["rbf", "laplacian"])


def assert_same_model(a: Any, b: Any, rtol: float = 0.0, gap_rtol: float = 0.0) -> None:
    """Two fits have the same counts, and the same numbers up to ``rtol``.

    Gaps may differ by ``gap_rtol``, where that is more: rounding is a part of them.
    """
    assert_array_equal(counts_of(a), counts_of(b))
    assert_array_equal(a.support_, b.support_)
    for name in ("dual_coef_", "intercept_", "objective_", "duality_gap_"):
        limit = max(rtol, gap_rtol) if name == "duality_gap_" else rtol
        mine, its = getattr(a, name), getattr(b, name)
        assert_allclose(mine, its, rtol=limit, atol=limit * np.abs(mine).max(), err_msg=name)


# --- shifted and scaled ---------------------------------------------------------------------------


@DISTANCES
def test_shift_keeps_the_model(kernel):
    case = Case(kernel, "float64", "dense", 3)
    X, y = case.data()
    assert_same_model(case.fit(X, y), case.fit(X + 1000.0, y), rtol=1e-7, gap_rtol=1e-5)


@EACH
def test_scale_by_a_power_of_two_keeps_every_bit(case):
    """With the parameters for which it is the same problem."""
    X, y = case.data()
    s = 0.125 if case.layout == "csr" else 4.0
    options = {"C": 2.0 / s**2, "intercept_scaling": s}
    if case.kernel not in ("linear", "primal"):
        options = {"gamma": 0.5 / (s if case.kernel == "laplacian" else s**2)}
    a, b = case.fit(X, y), case.fit(s * X, y, **options)
    assert_array_equal(counts_of(a), counts_of(b))
    assert_array_equal(a.objective_, b.objective_)
    assert_array_equal(a.duality_gap_, b.duality_gap_)
    decisions = a.decision_function(case.rows(X))
    assert_array_equal(decisions, b.decision_function(case.rows(s * X)))


# --- weights and labels ---------------------------------------------------------------------------


@EACH
def test_weights_of_two_are_no_weights_for_the_same_lam_and_twice_the_c(case):
    X, y = case.data()
    two = np.full(y.size, 2.0)
    assert_same_model(case.fit(X, y, lam=0.01), case.fit(X, y, two, lam=0.01))
    assert_same_model(case.fit(X, y, C=4.0), case.fit(X, y, two), rtol=1e-12)


@EACH
def test_weight_of_zero_is_absence(case):
    X, y = case.data()
    kept = np.arange(y.size) % 5 != 0
    a, b = case.fit(X[kept], y[kept]), case.fit(X, y, kept.astype(float))
    assert_array_equal(counts_of(b)[..., kept], counts_of(a))
    assert not counts_of(b)[..., ~kept].any()
    assert_allclose(b.objective_, a.objective_, rtol=ROUNDING[case.dtype])
    expected = a.decision_function(case.rows(X))
    atol = ROUNDING[case.dtype] * np.abs(expected).max()
    assert_allclose(b.decision_function(case.rows(X)), expected, rtol=0, atol=atol)


@EACH
def test_two_classes_that_are_swapped_negate_the_decisions(case):
    case = case._replace(n_classes=2)
    X, y = case.data()
    a, b = case.fit(X, y), case.fit(X, np.array(["b", "a"])[y])
    assert_array_equal(counts_of(a), counts_of(b))
    assert_array_equal(a.objective_, b.objective_)
    # Support vectors are grouped by class, so the sums come in another order.
    to, fro = a.decision_function(case.rows(X)), -b.decision_function(case.rows(X))
    assert_allclose(to, fro, rtol=0, atol=ROUNDING[case.dtype] * np.abs(to).max())


# --- what a call takes of memory, threads and kernel values, it gives back or uses again ----------


def test_whatever_computes_has_one_thread_of_blas():
    """Whatever the caller has set, which is there again behind the call."""
    seen, blas = [], ThreadpoolController().select(user_api="blas")

    def kernel(A, B):
        seen.append({each["num_threads"] for each in blas.info()})
        return A @ B.T

    X, y = make_blobs(60, centers=3, n_features=3, random_state=0)
    fit, search = PegasosSVC(kernel=kernel), PegasosSVCCV(Cs=[1.0], kernel=kernel, cv=2)
    with threadpool_limits(limits=3, user_api="blas"):
        for call in (
            lambda: fit.fit(X, y),
            lambda: fit.predict(X),
            lambda: search.fit(X, y),
            lambda: pegasos(make_problem(np.where(y > 0, 1.0, -1.0), 0.01), make_rows(X, kernel)),
        ):
            call()
            assert {1} in seen
            seen.clear()
            kernel(X, X)
            assert seen.pop() == {3}


def test_rows_of_a_run_end_with_it():
    """Rows in a cycle would wait for the collector, those of all pairs together."""
    X, y = make_blobs(60, centers=2, n_features=3, random_state=0)
    rows = make_rows(X, "rbf")
    alive = weakref.ref(rows)
    gc.collect()
    gc.disable()
    try:
        pegasos(make_problem(2.0 * y - 1.0, 0.01), rows, epochs=1, random_state=0)
        del rows
        assert alive() is None
    finally:
        gc.enable()
