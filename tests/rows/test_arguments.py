"""What `make_rows` and `linear_rows` take: frames, integers, a gamma that follows from the data."""

import re

import numpy as np
import pandas as pd
import pytest
from kernel_cases import all_rows, exact
from numpy.testing import assert_allclose, assert_array_equal
from row_cases import RNG, X
from scipy import sparse

from kpegasos import linear_rows, make_kernel, make_problem, make_rows, sdca

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
    "float16": WHOLE.astype(np.float16),
    "big endian": WHOLE.astype(">f8"),
}


# --- data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_rows_take_any_form(form):

    def results(A):
        cached, streamed = (make_rows(A, "rbf", gamma=0.1, cache=c) for c in ("auto", "streamed"))
        w = sdca(make_problem(Y, 0.1), linear_rows(A), random_state=0).w
        return np.vstack((all_rows(cached), all_rows(streamed))), w

    (found, w), (expected, w_expected) = results(FORMS[form]), results(WHOLE.astype(float))
    assert_allclose(found, expected, rtol=1e-12)
    assert_allclose(w, w_expected, rtol=1e-9)


def test_rows_of_a_frame_lie_one_after_another():
    rows = linear_rows(pd.DataFrame(X))
    assert rows.X.flags.c_contiguous
    assert_array_equal(rows.X, X)
    A = np.asfortranarray(X)
    assert linear_rows(A).X is A


# --- parameters of kernels ------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "laplacian"])
def test_parameters_are_those_of_the_kernel_and_gamma_may_have_a_name(kernel):
    has = {"poly": ["degree", "coef0"], "sigmoid": ["coef0"]}.get(kernel, [])
    given = {name: value for name, value in (("degree", 2), ("coef0", 0.25)) if name in has}
    for name, gamma in (("scale", 1 / (X.shape[1] * X.var())), ("auto", 1 / X.shape[1])):
        rows = make_rows(X, kernel, gamma=name, **given)
        assert_allclose(rows.gram, exact(make_kernel(kernel, gamma=gamma, **given), X), rtol=1e-9)


def test_make_rows_refuses_parameters_that_the_kernel_has_not():
    for kernel, name, own in (
        ("rbf", "degree", "among ['gamma']"),
        ("poly", "gama", "among ['gamma', 'degree', 'coef0']"),
        ("precomputed", "gamma", "none"),
    ):
        expected = f"parameters must be {own} for kernel={kernel!r}, got {name!r} instead"
        with pytest.raises(TypeError, match=f"^{re.escape(expected)}$"):
            make_rows(X @ X.T, kernel, **{name: 2.0})


SCALE, AUTO = ({"kernel": "rbf", "gamma": gamma} for gamma in ("scale", "auto"))
FRAMES = [
    pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
    pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
    pd.DataFrame({"a": [1, None]}, dtype="Int64"),
    pd.DataFrame({"a": [1, None]}, dtype="float64"),
]
BUDGETS = [{"cache_mb": value} for value in ("Auto", "", None, True, 0, -1.0, np.nan)]
REFUSED = [
    ("kernel must be one of .* got 'gauss' instead", [X], [{"kernel": "gauss", "gamma": 2.0}]),
    ("cache must be one of .*'streamed'.* got 'disk'", [X], [{"cache": "disk"}]),
    ("gamma must be one of .*'scale'.* got '1'", [X], [{"kernel": "rbf", "gamma": "1"}]),
    ("X must have rows and features for gamma='scale'", [np.empty((0, 3))], [SCALE]),
    ("X must have rows and features for gamma='auto'", [np.empty((3, 0))], [AUTO]),
    ("X must be finite", [np.full((3, 2), np.nan)], [SCALE]),
    ("X must be large enough that", [1e-155 * np.eye(3), 1e-158 * np.eye(3)], [SCALE]),
    ("X must (be finite|hold real numbers)", FRAMES, [{}]),
    ("cache_mb must be a positive finite number", [X], BUDGETS),
]


@pytest.mark.parametrize(("match", "data", "options"), REFUSED, ids=lambda value: str(value)[:40])
def test_make_rows_refuses(match, data, options):
    for A in data:
        for own in options:
            with pytest.raises(ValueError, match=f"^{match}"):
                make_rows(A, **own)
            if not own:
                with pytest.raises(ValueError, match=f"^{match}"):
                    linear_rows(A)
