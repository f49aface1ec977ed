"""Kernels by name, and their algebra: laws, expressions, copies, and what is refused."""

import copy
import operator
import pickle

import numpy as np
import pytest
from kernel_cases import COMPOSED, MAPPED, A, B, Constant, polynomial
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import KERNEL_PARAMS, PAIRWISE_KERNEL_FUNCTIONS

import kpegasos
from kpegasos import RBF, Chi2, Laplacian, Linear, Polynomial, Sigmoid, make_kernel, make_rows
from kpegasos.kernels import CallableKernel, Product, Scaled, Sum
from kpegasos.kernels.functions import KERNELS, parameters_of

#: What a user has who writes ``from kpegasos import *``.
NAMES = {name: getattr(kpegasos, name) for name in kpegasos.__all__}

# --- names ----------------------------------------------------------------------------------------


def test_make_kernel_takes_the_parameters_of_the_kernel_and_ignores_others():
    expected = {
        "linear": Linear(),
        **dict.fromkeys(("poly", "polynomial"), Polynomial(2.0, 4, 0.5)),
        "rbf": RBF(2.0),
        "sigmoid": Sigmoid(2.0, 0.5),
        "laplacian": Laplacian(2.0),
        "chi2": Chi2(2.0),
        "additive_chi2": kpegasos.AdditiveChi2(),
    }
    for name, kernel in expected.items():
        assert make_kernel(name, gamma=2.0, degree=4, coef0=0.5) == kernel
    assert make_kernel("rbf", gamma=2.0, degree=-1, coef0=np.nan) == RBF(2.0)
    assert make_kernel("poly", degree=0, coef0=-1.5) == Polynomial(1.0, 0, -1.5)
    own = RBF(1.0) + 0.5 * Linear()
    assert make_kernel(own) is own


def test_names_and_parameters_are_those_of_sklearn():
    for name in PAIRWISE_KERNEL_FUNCTIONS:
        assert name in KERNELS
        assert set(parameters_of(name)) == set(KERNEL_PARAMS[name])


# --- algebra --------------------------------------------------------------------------------------


def test_sums_of_sums_and_products_of_products_are_flat():
    one, two, three = RBF(1.0), Linear(), Laplacian(1.0)
    assert (one + two) + three == one + (two + three) == Sum((one, two, three))
    assert (one * two) * three == one * (two * three) == Product([one, two, three])
    assert (2 * one).parts == (one,)


def test_operands_of_any_kind_keep_their_order():
    assert 2 * RBF(1.0) == RBF(1.0) * 2.0 == Scaled(2.0, RBF(1.0))
    assert np.float32(0.5) * RBF(1.0) == RBF(1.0) * np.float64(0.5) == 0.5 * RBF(1.0)
    function, own = CallableKernel(polynomial), Constant()
    assert polynomial + RBF(1.0) == function + RBF(1.0) == Sum((polynomial, RBF(1.0)))
    assert RBF(1.0) * polynomial == RBF(1.0) * function
    assert (own + RBF(1.0)).parts == (own, RBF(1.0))
    assert (RBF(1.0) * own).parts == (RBF(1.0), own)


@pytest.mark.parametrize("kernel", MAPPED.values(), ids=repr)
def test_repr_is_an_expression_of_the_kernel(kernel):
    assert eval(repr(kernel), NAMES) == kernel


@pytest.mark.parametrize("case", COMPOSED)
def test_copies_are_equal(case):
    kernel = COMPOSED[case]
    for other in (copy.copy(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert type(other) is type(kernel)
        assert_array_equal(other.block(A, B), kernel.block(A, B))
        if case != "object":  # which has no equality of its own
            assert other == kernel
            assert hash(other) == hash(kernel)
            assert other != 2.0 * kernel


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["rbf", None, 1j, [1.0], np.ones(2), RBF, object()])
def test_other_operands_are_refused(other):
    match = "unsupported operand|concatenate|non-int|support ufuncs"
    for combine in (operator.add, operator.mul):
        for operands in ((RBF(1.0), other), (other, RBF(1.0))):
            with pytest.raises(TypeError, match=match):
                combine(*operands)
    with pytest.raises(TypeError, match=match):
        RBF(1.0) + 1.0  # nor are numbers added


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2"])
def test_rows_that_are_no_histograms_are_refused(kernel):
    X = np.abs(A)
    with pytest.raises(ValueError, match=r"X must be dense for the kernel .*Chi2\(.*, got a spar"):
        make_rows(sparse.csr_matrix(X), kernel)
    X[17, 2] = -1.5
    match = r"X must have no negative values for the kernel .*Chi2\(.*, got -1\.5"
    with pytest.raises(ValueError, match=match):
        make_rows(X, kernel)
    with pytest.raises(ValueError, match=match):
        make_kernel(kernel).block(X, np.abs(A))
