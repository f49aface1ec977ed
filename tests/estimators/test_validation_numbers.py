"""Numbers of any library as parameters, and values beyond what arithmetic can hold."""

import re
from fractions import Fraction

import numpy as np
import pytest
import sklearn
from models import BOTH
from rejections import assert_rejected, data, message_of
from scipy import sparse
from sklearn.base import clone

from kpegasos import LinearPegasosSVC, PegasosSVC, fit_chunks, linear_rows, make_rows

INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
FLOATS = (np.float16, np.float32, np.float64, np.longdouble, Fraction)


def fitted(Estimator, **parameters):
    X, y = data()
    clf = Estimator(**{"epochs": 2, "random_state": 0} | parameters).fit(X, y)
    return clf.alpha_, clf.dual_coef_, clf.objective_


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


# --- numbers ---


@BOTH
@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_of_numpy(Estimator, kind):
    numbers = {"batch_size": 7, "n_steps": 100, "random_state": 3, "C": 4, "epochs": 2}
    assert_same(
        fitted(Estimator, **{name: kind(value) for name, value in numbers.items()}),
        fitted(Estimator, **numbers),
    )


@BOTH
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", FLOATS)
def test_floats_of_any_library(Estimator, kind):
    numbers = {"C": 0.3, "epochs": 1.7, "intercept_scaling": 0.9, "tol": 1e-3, "max_time": 60.5}
    of_kind = {name: kind(value) for name, value in numbers.items()}
    as_python = {name: float(value) for name, value in of_kind.items()}
    assert_same(fitted(Estimator, **of_kind), fitted(Estimator, **as_python))


NUMBERS = ("C", "lam", "epochs", "n_steps", "tol", "max_time", "batch_size", "n_jobs")
NO_NUMBERS = (True, np.True_, np.array(1), np.timedelta64(1), 1 + 0j, np.longdouble("1e4000"))


@BOTH
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, value) for name in NUMBERS for value in NO_NUMBERS],
        *[(name, 10**400) for name in NUMBERS[:-2]],  # they have a bound
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_number(Estimator, name, value):
    X, y = data()
    message = message_of(Estimator(**{name: value}), X, y)
    assert message.startswith(f"{name} must be")


@BOTH
def test_parameters_are_checked_where_scikit_learn_skips_it(Estimator):
    X, y = data()
    clf = Estimator(batch_size=np.int16(7), C=np.float16(0.3), epochs=np.uint8(2), random_state=0)
    with sklearn.config_context(skip_parameter_validation=True):
        clf.fit(X, y)
        for name, value in (("C", "1"), ("batch_size", 2.0), ("tol", np.nan), ("polish", "no")):
            wrong = Estimator(**{name: value})
            assert_rejected(wrong, X, y, rf"^{name} must be .*got {re.escape(repr(value))}")
    plain = Estimator(batch_size=7, C=float(np.float16(0.3)), epochs=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.alpha_, plain.alpha_)


@BOTH
def test_warm_start_knows_a_number_by_its_value(Estimator):
    X, y = data()
    clf = Estimator(C=np.float32(0.5), batch_size=np.int8(2), epochs=1, warm_start=True).fit(X, y)
    clf.set_params(C=0.5, batch_size=2).fit(X, y)
    assert clf.n_steps_ == 60


# --- what no arithmetic can hold ---


@BOTH
@pytest.mark.parametrize(
    ("parameters", "factor", "match"),
    [
        ({"C": 1e-100}, 1e-300, r"sample_weight .*between 1e-100 and 1e\+100, got 1e-300"),
        ({"C": 1e-100}, 1e-100, r"C times the mean of sample_weight .*got 1e-200"),
        ({}, 1e307, r"sample_weight .*between 1e-100 and 1e\+100, got 1e\+307"),
        ({}, 1e-322, r"sample_weight .*between 1e-100 and 1e\+100, got 9.88131e-323"),
        ({"epochs": 1e308}, 1.0, r"epochs must be at most .*got 1e\+308"),
        ({"n_steps": 10**30}, 1.0, f"n_steps must be at most .*got {10**30}"),
        ({"epochs": 1e15}, 1.0, r"epochs must be at most .*got 1000000000000000\.0"),
        ({"batch_size": 10**30}, 1.0, f"batch_size must be at most .*got {10**30}"),
        ({"class_weight": {0: 1e-200, 1: 1e200}}, 1.0, r"class_weight.*got 1e-200"),
        ({"class_weight": {0: 10**400}}, 1.0, "class_weight of 0 must be a positive finite number"),
        ({"class_weight": {0: "heavy"}}, 1.0, "class_weight of 0 must be .*got 'heavy'"),
        ({"class_weight": {0: None}}, 1.0, "class_weight of 0 must be .*got None"),
    ],
    ids=str,
)
def test_beyond_the_range_of_floats(Estimator, parameters, factor, match):
    X, y = data()
    weight = np.full(60, factor)
    assert_rejected(Estimator(**parameters), X, y, match, sample_weight=weight)


def test_no_budget_is_too_large():
    X, y = data()
    clf = PegasosSVC(cache_mb=1e308, epochs=1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.alpha_, PegasosSVC(epochs=1, random_state=0).fit(X, y).alpha_)
    for cache in ("cached", "streamed"):
        assert make_rows(X, cache=cache, cache_mb=1e308).n_samples == 60


def test_early_stopping_does_not_count_epochs_one_by_one():
    X, y = data()
    clf = LinearPegasosSVC(epochs=1e12, early_stopping=True, n_iter_no_change=2, random_state=0)
    clf.fit(X, y)
    assert len(clf.validation_scores_) < 100


# --- data ---


@BOTH
def test_masked_entries_are_not_looked_under(Estimator):
    X, y = data()
    masked = np.ma.masked_array(X, mask=False)
    Estimator(epochs=1).fit(masked, y)
    masked[3, 1] = np.ma.masked
    assert_rejected(Estimator(), masked, y, "X must have no masked entries, got 1 of 180")
    labels = np.ma.masked_array(y, mask=np.arange(60) < 2)
    assert_rejected(Estimator(), X, labels, "y must have no masked entries, got 2 of 60")
    assert_rejected(
        Estimator(), X, y, "sample_weight must have no masked entries", sample_weight=labels
    )


@BOTH
@pytest.mark.parametrize("index", [10**6, 3, -1])
def test_indices_of_no_feature(Estimator, index):
    """SciPy does not check them, and compiled code would read what lies there."""
    X, y = data()
    wrong = sparse.csr_matrix(X)
    wrong.indices[5] = index
    match = "X must have column indices from 0 to 2, got"
    assert_rejected(Estimator(), wrong, y, match)
    with pytest.raises(ValueError, match=match):
        Estimator(epochs=1).fit(X, y).predict(wrong)
    for rows in (make_rows, linear_rows):
        with pytest.raises(ValueError, match=match):
            rows(wrong)


@BOTH
@pytest.mark.parametrize(
    ("kind", "match"),
    [
        ("datetime64[s]", r"^X must hold real numbers, got datetime64\[s\]"),
        ("timedelta64[s]", r"^X must hold real numbers, got timedelta64\[s\]"),
        (complex, "^X must be a matrix of real numbers: Complex data not supported"),
        ("U5", None),
    ],
)
def test_x_of_no_numbers(Estimator, kind, match):
    X, y = data()
    if match is None:
        Estimator(epochs=1).fit(X.astype(kind), y)  # scikit-learn reads them
        X, match = np.full(X.shape, "a"), "^X must be a matrix of real numbers: could not convert"
    message = message_of(Estimator(), X.astype(kind), y)
    assert re.search(match, message)
    assert "\n" not in message
    assert len(message) < 400


@BOTH
@pytest.mark.parametrize("unit", ["datetime64[ns]", "timedelta64[ns]"])
def test_x_with_a_column_of_times(Estimator, unit):
    pandas = pytest.importorskip("pandas")
    X, y = data()
    frame = pandas.DataFrame({"a": X[:, 0], "b": np.arange(y.size).astype(unit)})
    assert_rejected(Estimator(), frame, y, f"^X must hold real numbers, got {re.escape(unit)}")


@BOTH
@pytest.mark.parametrize("kind", [np.int64, np.float64, np.bool_])
def test_y_of_numbers_one_by_one(Estimator, kind):
    X, y = data()
    expected = Estimator(epochs=1, random_state=0).fit(X, y.astype(kind))
    model = Estimator(epochs=1, random_state=0).fit(X, y.astype(kind).astype(object))
    assert model.classes_.dtype == kind
    assert_same([model.decision_function(X)], [expected.decision_function(X)])


def test_labels_of_numbers_one_by_one_in_a_stream():
    X, y = data()
    objects = y.astype(object)
    model = LinearPegasosSVC(epochs=1, random_state=0)
    expected = clone(model).partial_fit(X, y, classes=[0, 1])
    for classes in ([0, 1], np.array([0, 1], dtype=object)):
        given = clone(model).partial_fit(X, objects, classes=classes)
        assert_same(given.coef_, expected.coef_)
    given = fit_chunks(clone(model), [(X, objects)])
    assert_same(given.coef_, fit_chunks(clone(model), [(X, y)]).coef_)
    with pytest.raises(ValueError, match=r"^y must be class labels: Unknown label type"):
        fit_chunks(model, [(X, y + 0.5 * X[:, 0])])


@BOTH
def test_y_of_two_kinds(Estimator):
    X, y = data()
    mixed = y.astype(object)
    mixed[3] = "a"
    assert_rejected(Estimator(), X, mixed, "^y must hold labels of one kind.* got array")


def test_labels_of_two_kinds_in_a_stream():
    X, _ = data()
    mixed = np.array([0, None] * 30, object)
    message = message_of(LinearPegasosSVC(), X, mixed, method="partial_fit", classes=[0, 1])
    assert re.search(r"\by\b", message)


@BOTH
@pytest.mark.parametrize(
    "weight", [{"a": 1}, "balanced", np.full(60, "a"), np.ones(60) * 1j], ids=repr
)
def test_weights_of_no_numbers(Estimator, weight):
    X, y = data()
    with pytest.raises((ValueError, TypeError), match=r"^sample_weight must be a number for"):
        Estimator().fit(X, y, sample_weight=weight)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "clf", [LinearPegasosSVC(epochs=1), PegasosSVC(kernel="precomputed", epochs=1)], ids=str
)
def test_decisions_that_overflow_have_no_class(clf, n_classes):
    X, y = data(n_classes)
    X = X / 100 if isinstance(clf, LinearPegasosSVC) else X @ X.T
    clf.set_params(C=1e4, random_state=0).fit(X, y)
    far = np.where(np.arange(X.shape[1]) % 2, -1.7e308, 1.7e308)[None]
    for method in (clf.predict, clf.decision_function):
        with pytest.raises(ValueError, match=r"^X must be small enough that decisions"):
            method(far)
