"""``fit_intercept="free"``: the models of SVC and SVR."""

from fractions import Fraction

import numpy as np
import pytest
from covering import each_pair
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import kpegasos
from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVR
from kpegasos.fitting.pairs import far_centre

EXACT = {"fit_intercept": "free", "polish": True, "tol": 1e-6, "random_state": 0}


def scaled(load, n_samples=None):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X)[:n_samples], y[:n_samples]


DATA = {
    "wine": scaled(load_wine),
    "iris": scaled(load_iris),
    "cancer": scaled(load_breast_cancer),
    "moons": make_moons(300, noise=0.3, random_state=0),
}


@each_pair(
    name=DATA,
    kernel=["rbf", "linear", "poly", "primal"],
    C=[0.01, 1.0, 100.0],
    layout=[np.asarray, csr_array],
)
@pytest.mark.filterwarnings("ignore:.*that is mostly rounding")
def test_decisions_are_those_of_svc(name, kernel, C, layout):
    (X, y), is_primal = DATA[name], kernel == "primal"
    options = {"C": C, "decision_function_shape": "ovo"}
    its = SVC(kernel="linear" if is_primal else kernel, **options, tol=1e-8).fit(X, y)
    expected = its.decision_function(X).reshape(len(y), -1)
    scale = 1.0 + np.abs(expected).max()
    ours = LinearPegasosSVC(**options) if is_primal else PegasosSVC(kernel=kernel, **options)
    # A decision may be off by the root of the gap, relative to λ.
    for tol, most in ((1e-6, 4e-3), (1e-9, 1e-4)):
        ours.set_params(**EXACT | {"tol": tol}).fit(layout(X), y)
        # Rounding allows no less: of the cubes with C=100, and of features.
        assert np.max(ours.relative_gap_) <= (5e-8 + tol if is_primal else 2e-6)
        unique = np.diff(ours.intercept_interval_)[:, 0] < 1e-3
        off = np.abs(ours.decision_function(X).reshape(len(y), -1) - expected)[:, unique]
        assert off.max(initial=0.0) <= most * scale
        for (low, high), b in zip(ours.intercept_interval_, its.intercept_, strict=True):
            assert low - most * scale <= b <= high + most * scale


@pytest.mark.parametrize(
    ("model", "its"),
    [
        (PegasosSVR(C=0.1, **EXACT), SVR(C=0.1, tol=1e-8)),
        (PegasosSVR(C=10.0, **EXACT), SVR(C=10.0, tol=1e-8)),
        (LinearPegasosSVR(C=0.1, **EXACT), SVR(kernel="linear", C=0.1, tol=1e-8)),
    ],
    ids=str,
)
def test_predictions_are_those_of_svr(model, its):
    X, y = scaled(load_diabetes, 200)
    y = (y - 200.0) / 50.0
    assert_allclose(model.fit(X, y).predict(X), its.fit(X, y).predict(X), atol=1e-3)
    assert_allclose(model.intercept_, its.intercept_, atol=1e-3)


# --- columns far from zero ------------------------------------------------------------------------


def far_data(n_classes):
    """Columns of years and of a million beside small ones; numbers for one class."""
    rng = np.random.default_rng(0)
    small, years = rng.normal(size=(120, 3)), 2000.0 + rng.integers(20, size=(120, 1))
    X = np.hstack((-1e6 + rng.normal(size=(120, 1)), small, years))
    y = small[:, 0] + 0.2 * (years[:, 0] - 2010.0)
    return X, y if n_classes == 1 else np.digitize(y, [0.0, 1.0][: n_classes - 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_linear_kernel_does_not_mind_columns_far_from_zero(n_classes, dtype):
    """Beside a square of the column, values of the small ones are rounding."""
    X, y = far_data(n_classes)
    X, Estimator = X.astype(dtype), PegasosSVR if n_classes == 1 else PegasosSVC
    model = Estimator(kernel="linear", **EXACT | {"tol": 1e-3}).fit(X, y)
    assert np.max(model.relative_gap_) <= 1e-3
    assert_array_equal(model.support_vectors_, X[model.support_])
    # The same columns less their means have the same problem.
    wide = X.astype(np.float64)
    centred = Estimator(kernel="linear", **EXACT).fit(wide - wide.mean(axis=0), y)
    assert_allclose(model.objective_, centred.objective_, rtol=1e-3)
    if n_classes > 1:
        model.set_params(decision_function_shape="ovo")
    found = (model.predict if n_classes == 1 else model.decision_function)(X)
    by_weights = X @ model.coef_.T + model.intercept_
    assert_allclose(
        found.reshape(by_weights.shape), by_weights, atol=1e-6 if dtype is np.float64 else 1e-2
    )
    low, high = model.intercept_interval_.T
    assert (low <= model.intercept_).all()
    assert (model.intercept_ <= high).all()


@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.filterwarnings("ignore:.*since the features are large")
def test_steps_through_the_primal_vector_do_not_mind_columns_far_from_zero(n_classes):
    """The constant feature was as long as such a row, and nothing was learnt."""
    X, y = far_data(n_classes)
    kinds = (LinearPegasosSVR, PegasosSVR) if n_classes == 1 else (LinearPegasosSVC, PegasosSVC)
    options = {"fit_intercept": "free", "random_state": 0}
    model, by_rows = kinds[0](**options).fit(X, y), kinds[1](kernel="linear", **options).fit(X, y)
    assert model.score(X, y) > 0.9
    assert_allclose(model.objective_, by_rows.objective_, rtol=1e-9)
    assert_allclose(model.intercept_interval_, by_rows.intercept_interval_, rtol=1e-9)
    if n_classes > 1:
        model.set_params(decision_function_shape="ovo")
    decide = model.predict if n_classes == 1 else model.decision_function
    for factor in (1.0, 2.0):  # which a model has that is edited, too
        model.coef_, model.intercept_ = factor * model.coef_, factor * model.intercept_
        by_weights = X @ model.coef_.T + model.intercept_
        assert_allclose(decide(X), by_weights.reshape(decide(X).shape), atol=1e-7)
        assert_allclose(decide(csr_array(X)), decide(X), atol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_of_far_columns_are_read_in_any_form(n_classes, tmp_path):
    X, y = far_data(n_classes)
    model = PegasosSVC(kernel="linear", decision_function_shape="ovo", **EXACT).fit(X, y)
    decisions = model.decision_function(X)
    assert_allclose(model.decision_function(csr_array(X)), decisions, atol=1e-8)
    assert_allclose(model.to_sklearn().decision_function(X), decisions, atol=1e-8)
    model.to_libsvm(tmp_path / "model")
    again = PegasosSVC.from_libsvm(tmp_path / "model", n_features=X.shape[1])
    assert_array_equal(again.predict(X), model.predict(X))
    pytest.importorskip("skops")
    kpegasos.save(model, tmp_path / "native")
    assert_array_equal(kpegasos.load(tmp_path / "native").decision_function(X), decisions)


def test_linear_kernel_learns_beside_a_column_of_tens_of_millions():
    rng = np.random.default_rng(0)
    X = np.hstack((1e7 * (7.0 + rng.random((300, 1))), rng.normal(size=(300, 3))))
    y = X[:, 1] > 0.0
    model = PegasosSVC(kernel="linear", fit_intercept="free", polish=True, random_state=0)
    with pytest.warns(ConvergenceWarning, match="that is mostly rounding"):
        model.fit(X, y)
    assert model.score(X, y) > 0.95


def test_far_columns_are_those_whose_differences_from_their_mean_are_exact():
    X = np.array([[2000.0, -3.0, 1.0, 0.0], [2020.0, -1.5, 2.1, 0.0], [2001.0, -2.0, 1.0, 0.0]])
    centre = far_centre(X)
    assert_array_equal(centre != 0.0, [True, True, False, False])
    for value, middle in zip(X[:, :2].ravel(), np.tile(centre[:2], 3), strict=True):
        assert Fraction(value - middle) == Fraction(value) - Fraction(middle)
    assert far_centre(X[:, 2:]) is None
    assert far_centre(csr_array(X)) is None


# --- extremes -------------------------------------------------------------------------------------


def test_without_free_support_vectors_the_intercept_is_a_middle():
    X = np.array([[0.0], [1.0], [5.0], [6.0]])
    y = np.array([0, 1, 0, 1])
    model = PegasosSVC(kernel="linear", C=1e-3, **EXACT).fit(X, y)
    ((low, high),) = model.intercept_interval_
    assert high - low > 0.5
    assert_allclose(model.intercept_, [(low + high) / 2])
    its = SVC(kernel="linear", C=1e-3, tol=1e-8).fit(X, y)
    assert low - 1e-6 <= its.intercept_[0] <= high + 1e-6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ascent_that_rounding_lets_run_away_ends_with_its_best():
    """Rows that differ by less than float32 shows, and a loss that bounds no coefficient."""
    rng = np.random.default_rng(1)
    X = (1e-3 * rng.normal(size=(40, 3))).astype(np.float32)
    options = {"loss": "squared_epsilon_insensitive", "C": 1e9, "gamma": 2.0, "cache": "cached"}
    y = np.round(0.5 * rng.normal(size=40))
    model = PegasosSVR(**options, **EXACT).fit(X, y)
    best = min(model.history_["objective_average"])
    assert model.objective_ <= best * (1 + 1e-6)
    assert model.history_["objective_last"][-1] > 1e3 * best
    assert len(model.history_) <= 5


def test_weights_are_those_of_svc():
    """Also those of zero."""
    X, y = DATA["moons"]
    weight = np.random.default_rng(0).uniform(0.1, 5.0, len(y))
    weight[::3] = 0.0
    options = {"gamma": 1.0, "C": 2.0, "class_weight": {0: 3.0}}
    ours = PegasosSVC(**options, **EXACT | {"tol": 1e-8}).fit(X, y, sample_weight=weight)
    its = SVC(**options, tol=1e-8).fit(X, y, sample_weight=weight)
    assert_allclose(ours.decision_function(X), its.decision_function(X), atol=2e-3)


# --- what models do -------------------------------------------------------------------------------


def test_warm_start_goes_on_with_the_same_iterates():
    X, y = DATA["moons"]
    options = {"fit_intercept": "free", "random_state": 0}
    twice = PegasosSVC(epochs=2, warm_start=True, **options).fit(X, y).fit(X, y)
    once = PegasosSVC(epochs=4, **options).fit(X, y)
    assert_array_equal(twice.alpha_, once.alpha_)
    assert_allclose(twice.intercept_, once.intercept_, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_kernel_that_is_not_definite_has_the_best_intercept_and_no_certificate():
    X, y = DATA["moons"]
    model = PegasosSVC(kernel="sigmoid", fit_intercept="free", epochs=2).fit(X, y)
    assert np.isnan(model.relative_gap_)
    low, high = model.intercept_interval_[0]
    assert low <= model.intercept_[0] <= high
