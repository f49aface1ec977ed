"""What `make_rows` and `linear_rows` take: frames, integers, a gamma that follows from the data."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from row_cases import RNG, X, each_cache, each_dtype, each_format
from scipy import sparse

from kpegasos import RBF, PegasosSVC, linear_rows, make_problem, make_rows, sdca

WHOLE = RNG.integers(-3, 4, size=(53, 4))
Y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1, -1)
#: Ways to give the same integers.
FORMS = {
    "int64": WHOLE,
    "int8": WHOLE.astype(np.int8),
    "lists": WHOLE.tolist(),
    "frame": pd.DataFrame(WHOLE, columns=list("abcd")),
    "mixed frame": pd.DataFrame(WHOLE).astype({0: np.int8, 2: np.float32}),
    "nullable frame": pd.DataFrame(WHOLE).astype({1: "Int64"}),
    "float frame": pd.DataFrame(WHOLE.astype(float)),
    "sparse frame": pd.DataFrame(WHOLE).astype(pd.SparseDtype(int, 0)),
    "csr of integers": sparse.csr_array(WHOLE),
    "objects": WHOLE.astype(object),
}
each_form = pytest.mark.parametrize("form", FORMS)


# --- data -----------------------------------------------------------------------------------------


@each_form
@each_cache
def test_make_rows_takes_any_form(form, cache):
    columns = RNG.normal(size=(53, 2))
    expected = make_rows(WHOLE.astype(float), "rbf", gamma=0.1, cache=cache).product(columns)
    product = make_rows(FORMS[form], "rbf", gamma=0.1, cache=cache).product(columns)
    assert_allclose(product, expected, rtol=1e-12)


@each_form
def test_linear_rows_takes_any_form(form):
    expected = sdca(make_problem(Y, 0.1), linear_rows(WHOLE.astype(float)), random_state=0)
    result = sdca(make_problem(Y, 0.1), linear_rows(FORMS[form]), random_state=0)
    assert_allclose(result.w, expected.w, rtol=1e-9)


def test_rows_of_a_frame_lie_one_after_another():
    rows = linear_rows(pd.DataFrame(X))
    assert rows.X.flags.c_contiguous
    assert_array_equal(rows.X, X)


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_of_an_array_are_the_array(order):
    A = np.array(X, order=order)
    assert linear_rows(A).X is A


@pytest.mark.parametrize("make", [make_rows, linear_rows])
@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
        pd.DataFrame({"a": pd.Series([1.0, None, "x"], dtype=object)}),
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
    ],
    ids=["strings", "objects", "dates"],
)
def test_rows_refuse_frames_that_hold_no_numbers(make, frame):
    with pytest.raises(ValueError, match=r"^X must hold real numbers, got"):
        make(frame)


@pytest.mark.parametrize("make", [make_rows, linear_rows])
def test_rows_refuse_frames_with_missing_numbers(make):
    for kind in ("Int64", "float64"):
        with pytest.raises(ValueError, match=r"^X must (be finite|hold real numbers), got"):
            make(pd.DataFrame({"a": pd.array([1, None], dtype=kind)}))


# --- gamma ----------------------------------------------------------------------------------------


@each_format
@each_dtype
@each_cache
@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_gamma_by_name_is_that_of_the_estimators(as_rows, dtype, cache, gamma):
    A = as_rows(3.0 * X.astype(dtype))
    model = PegasosSVC(gamma=gamma, random_state=0).fit(A, Y)
    rows = make_rows(A, "rbf", gamma=gamma, cache=cache)
    expected = make_rows(A, RBF(model._kernel.gamma), cache=cache)
    columns = RNG.normal(size=(53, 2))
    assert_array_equal(rows.product(columns), expected.product(columns))


@pytest.mark.parametrize("kernel", ["poly", "sigmoid", "laplacian"])
def test_gamma_by_name_of_every_kernel_that_has_one(kernel):
    gamma = 1 / (X.shape[1] * X.var())
    rows = make_rows(X, kernel, gamma="scale")
    assert_allclose(rows.gram, make_rows(X, kernel, gamma=gamma).gram, rtol=1e-12)


def test_gamma_is_one_by_default():
    assert_array_equal(make_rows(X, "rbf").gram, make_rows(X, RBF(1.0)).gram)


@pytest.mark.parametrize("gamma", ["", "SCALE", "1"])
def test_gamma_of_another_name_is_refused(gamma):
    with pytest.raises(ValueError, match=rf"^gamma must be one of .*'scale'.* got '{gamma}'"):
        make_rows(X, "rbf", gamma=gamma)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_gamma_by_name_needs_data(shape, gamma):
    with pytest.raises(ValueError, match=rf"^X must have rows and features for gamma='{gamma}'"):
        make_rows(np.empty(shape), "rbf", gamma=gamma)


def test_gamma_by_name_is_no_affair_of_data_that_are_not_finite():
    with pytest.raises(ValueError, match=r"^X must be finite"):
        make_rows(np.full((3, 2), np.nan), "rbf", gamma="scale")


@pytest.mark.parametrize("size", [1e-155, 1e-158, 1e-200])
def test_scale_names_features_that_are_too_small(size):
    with pytest.raises(ValueError, match=r"X must be large enough that 1 / variance is finite"):
        make_rows(size * np.eye(3), "rbf", gamma="scale")


# --- names of parameters --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "name", "own"),
    [
        ("rbf", "gama", "among ['gamma']"),
        ("rbf", "degree", "among ['gamma']"),
        ("laplacian", "coef0", "among ['gamma']"),
        ("poly", "gama", "among ['gamma', 'degree', 'coef0']"),
        ("sigmoid", "degree", "among ['gamma', 'coef0']"),
        ("linear", "gamma", "none"),
        ("precomputed", "gamma", "none"),
    ],
)
def test_make_rows_refuses_parameters_that_the_kernel_has_not(kernel, name, own):
    expected = f"parameters must be {own} for kernel={kernel!r}, got {name!r} instead"
    with pytest.raises(TypeError, match=f"^{re.escape(expected)}$"):
        make_rows(X @ X.T, kernel, **{name: 2.0})


def test_make_rows_of_an_unknown_kernel_names_the_kernel():
    with pytest.raises(ValueError, match=r"^kernel must be one of .* got 'gauss' instead"):
        make_rows(X, "gauss", gamma=2.0)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "laplacian", "linear"])
def test_make_rows_takes_every_parameter_that_the_kernel_has(kernel):
    has = {"rbf": ["gamma"], "laplacian": ["gamma"], "linear": [], "sigmoid": ["gamma", "coef0"]}
    values = {"gamma": 0.5, "degree": 2, "coef0": 0.25}
    given = {name: values[name] for name in has.get(kernel, values)}
    model = PegasosSVC(kernel=kernel, fit_intercept=False, random_state=0, **values).fit(X, Y)
    gram = make_rows(X, kernel, **given).gram
    decisions = gram[:, model.support_] @ model.dual_coef_[0]
    assert_allclose(model.decision_function(X), decisions, rtol=1e-9, atol=1e-9)
