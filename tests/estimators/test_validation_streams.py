"""Bad chunks and bad arguments of functions; errors leave the earlier model as it is."""

import numpy as np
import pytest
from models import BOTH
from rejections import assert_rejected, data

from kpegasos import (
    LinearPegasosSVC,
    linear_rows,
    make_kernel,
    make_problem,
    make_rows,
    pegasos,
)


@BOTH
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("wrong", ["batch_size", "y", "features", "weight"])
def test_failed_refit_keeps_the_model(Estimator, n_classes, wrong):
    X, y = data(n_classes)
    clf = Estimator(random_state=0, epochs=3).fit(X, y)
    decisions = clf.decision_function(X)
    before = set(vars(clf))
    Z, labels, weight = X * 3, y, None
    if wrong == "batch_size":
        clf.set_params(batch_size=1000)
    elif wrong == "y":
        labels = np.zeros_like(y)
    elif wrong == "features":
        Z, labels = np.column_stack((X, X)), np.zeros_like(y)
    else:
        weight = np.zeros(y.size)
    with pytest.raises(ValueError, match=r"\S"):
        clf.fit(Z, labels, sample_weight=weight)
    assert set(vars(clf)) == before
    np.testing.assert_array_equal(clf.decision_function(X), decisions)


def test_failed_refit_keeps_the_stream():
    X, y = data()
    a, b = (LinearPegasosSVC(random_state=0).partial_fit(X, y, classes=[0, 1]) for _ in range(2))
    with pytest.raises(ValueError, match="batch_size"):
        a.set_params(batch_size=1000).fit(X, y)
    a.set_params(batch_size=1).partial_fit(X, y)
    np.testing.assert_array_equal(a.coef_, b.partial_fit(X, y).coef_)


def assert_chunk_rejected(X, y, match, *, parameters=None, **arguments):
    clf = LinearPegasosSVC(**(parameters or {}))
    assert_rejected(clf, X, y, match, method="partial_fit", **arguments)


def test_partial_fit_first_call():
    X, y = data()
    assert_chunk_rejected(X, y, "classes must be passed on the first call")
    assert_chunk_rejected(X, y, "classes must hold at least two classes", classes=[1])
    assert_chunk_rejected(X, y + 5, "y must have classes among", classes=[0, 1])
    assert_chunk_rejected(X * np.nan, y, "X contains NaN", classes=[0, 1])


def test_partial_fit_y():
    X, y = data()
    for wrong in (y[:-1], y[:1], np.append(y, 0)):
        assert_chunk_rejected(
            X, wrong, r"inconsistent numbers of samples|length|y must", classes=[0, 1]
        )
    assert_chunk_rejected(X, np.column_stack((y, y)), r"(?i)\by\b|label", classes=[0, 1])
    assert_chunk_rejected(X, np.where(y == 1, np.nan, 0.0), r"\by\b", classes=[0, 1])


def test_partial_fit_weights():
    X, y = data()
    one = np.ones(60)
    for wrong in (-one, one * np.nan, one[:-1]):
        assert_chunk_rejected(X, y, r"(?i)sample.?weight", classes=[0, 1], sample_weight=wrong)
    for weight in (-1.0, np.nan, np.inf):
        assert_chunk_rejected(
            X, y, "class_weight", classes=[0, 1], parameters={"class_weight": {1: weight}}
        )
    assert_chunk_rejected(
        X, y, "class_weight", classes=[0, 1], parameters={"class_weight": "balanced"}
    )


def test_partial_fit_parameters():
    X, y = data()
    for name, value in (("C", -1.0), ("lam", 0.0), ("batch_size", 0), ("average", "mean")):
        assert_chunk_rejected(X, y, f"^{name} must be", classes=[0, 1], parameters={name: value})


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("projection", [False, True])
def test_partial_fit_overflow(projection):
    X, y = data()
    parameters = {"projection": projection}
    assert_chunk_rejected(X * 1e200, y, r"\bX\b", classes=[0, 1], parameters=parameters)


def test_partial_fit_failed_chunk_changes_nothing():
    X, y = data()
    a, b = (LinearPegasosSVC(random_state=0).partial_fit(X, y, classes=[0, 1]) for _ in range(2))
    for bad_X, bad_y, weight in (
        (X * np.nan, y, None),
        (X, y + 1, None),
        (X[:, :2], y, None),
        (X, y, -np.ones(60)),
    ):
        with pytest.raises(ValueError, match=r"\S"):
            a.partial_fit(bad_X, bad_y, sample_weight=weight)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.partial_fit(X, y).coef_, b.partial_fit(X, y).coef_)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"epochs": 0}, "epochs"),
        ({"epochs": np.inf}, "epochs"),
        ({"epochs": None}, "epochs"),
        ({"n_steps": 0}, "n_steps"),
        ({"n_steps": 1.5}, "n_steps"),
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 61}, "batch_size"),
        ({"sampling": "random"}, "sampling"),
        ({"average": "mean"}, "average"),
        ({"checkpoints": "step"}, "checkpoints"),
        ({"checkpoints": [0]}, "checkpoints"),
    ],
    ids=str,
)
def test_function_pegasos_names_the_argument(arguments, match):
    X, y = data()
    problem = make_problem(2.0 * y - 1.0, 0.1)
    for rows in (make_rows(X, "rbf"), linear_rows(X)):
        with pytest.raises(ValueError, match=rf"{match} (must|needs)"):
            pegasos(problem, rows, **arguments)


def test_functions_name_the_argument():
    X, y = data()
    with pytest.raises(ValueError, match="y must hold labels of two classes"):
        make_problem(np.arange(60), 0.1)
    with pytest.raises(ValueError, match=r"lam must be.*got -1"):
        make_problem(2 * y - 1, -1.0)
    with pytest.raises(ValueError, match="sample_weight must be"):
        make_problem(2 * y - 1, 0.1, np.zeros(60))
    with pytest.raises(ValueError, match=r"cache must be one of.*'disk'"):
        make_rows(X, "rbf", cache="disk")
    with pytest.raises(ValueError, match=r"kernel must be one of.*'gauss'"):
        make_kernel("gauss")
    with pytest.raises(ValueError, match="kernel must be a name"):
        make_kernel(3)
    with pytest.raises(ValueError, match=r"rows must belong to the 60 examples.*got 59"):
        pegasos(make_problem(2 * y - 1, 0.1), make_rows(X[:-1]))
