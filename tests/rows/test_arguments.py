"""What `make_rows` and `linear_rows` take: frames, integers, a gamma that follows from the data."""

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
