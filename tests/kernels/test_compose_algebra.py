"""The algebra of kernels: laws, expressions, copies, and operands that are refused."""

import copy
import pickle

import numpy as np
import pytest
from compose_cases import (
    CASES,
    A,
    B,
    Constant,
    compositions,
    each_case,
    point_sets,
    polynomial,
)
from hypothesis import given, settings
from numpy.testing import assert_array_equal

import kpegasos
from kpegasos import (
    RBF,
    Laplacian,
    Linear,
    make_kernel,
)
from kpegasos.kernels import CallableKernel, Product, Scaled, Sum

#: What a user has who writes ``from kpegasos import *``.
NAMES = {name: getattr(kpegasos, name) for name in kpegasos.__all__}

# --- algebra --------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(compositions(), compositions(), point_sets())
def test_sums_and_products_commute(one, other, X):
    X = X.astype(np.float64)
    for left, right in ((one + other, other + one), (one * other, other * one)):
        scale = np.sqrt(np.outer(left.diag(X), left.diag(X)))
        difference = np.abs(left.block(X, X) - right.block(X, X))
        assert (difference <= 1e-12 * scale).all()


@settings(max_examples=100)
@given(compositions(), point_sets())
def test_matrices_are_symmetric_and_positive_semi_definite(kernel, X):
    assert kernel.positive_definite
    X = X.astype(np.float64)
    K, diagonal = kernel.block(X, X), kernel.diag(X)
    scale = np.sqrt(np.outer(diagonal, diagonal))
    assert (np.abs(K - K.T) <= 1e-10 * scale).all()
    assert (np.abs(K) <= scale * (1 + 1e-10)).all()
    assert np.linalg.eigvalsh((K + K.T) / 2).min() >= -1e-9 * diagonal.max()


def test_sums_of_sums_and_products_of_products_are_flat():
    one, two, three = RBF(1.0), Linear(), Laplacian(1.0)
    assert (one + two) + three == one + (two + three) == Sum((one, two, three))
    assert (one * two) * three == one * (two * three) == Product([one, two, three])
    assert (one + two).parts == (one, two)
    assert (2 * one).parts == (one,)


def test_any_order_of_operands():
    function = CallableKernel(polynomial)
    assert 2 * RBF(1.0) == RBF(1.0) * 2.0 == Scaled(2.0, RBF(1.0))
    assert np.float32(0.5) * RBF(1.0) == RBF(1.0) * np.float64(0.5) == 0.5 * RBF(1.0)
    assert polynomial + RBF(1.0) == function + RBF(1.0) == Sum((polynomial, RBF(1.0)))
    assert RBF(1.0) * polynomial == RBF(1.0) * function
    own = Constant()
    assert (own + RBF(1.0)).parts == (own, RBF(1.0))
    assert (RBF(1.0) * own).parts == (RBF(1.0), own)


@pytest.mark.parametrize("case", ["sum", "product", "three", "nested", "distances", "mixed sum"])
def test_repr_is_the_expression(case):
    kernel, _ = CASES[case]
    assert eval(repr(kernel), NAMES) == kernel


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (RBF(1) + 0.5 * Linear(), "RBF(gamma=1) + 0.5 * Linear()"),
        (2 * (RBF(1) + Linear()), "2.0 * (RBF(gamma=1) + Linear())"),
        (RBF(1) * (Linear() + RBF(1)), "RBF(gamma=1) * (Linear() + RBF(gamma=1))"),
        (RBF(1) * (3 * Linear()), "RBF(gamma=1) * (3.0 * Linear())"),
        (2 * (3 * Linear()), "2.0 * (3.0 * Linear())"),
    ],
)
def test_repr_has_the_brackets_that_it_needs(kernel, expected):
    assert repr(kernel) == expected
    assert eval(repr(kernel), NAMES) == kernel


@each_case
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda k: pickle.loads(pickle.dumps(k))])
def test_copies_are_equal(case, way):
    kernel, _ = CASES[case]
    other = way(kernel)
    assert type(other) is type(kernel)
    assert_array_equal(other.block(A, B), kernel.block(A, B))
    if case != "object":  # which has no equality of its own
        assert other == kernel
        assert hash(other) == hash(kernel)
        assert other != 2.0 * kernel


def test_make_kernel_keeps_compositions():
    kernel = RBF(1.0) + 0.5 * Linear()
    assert make_kernel(kernel) is kernel


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0, 0.0, -1, -0.5, np.nan, np.inf, True, 10**400])
def test_factor_is_a_positive_finite_number(factor):
    for multiply in (lambda: factor * RBF(1.0), lambda: RBF(1.0) * factor):
        with pytest.raises(ValueError, match="factor must be a positive finite number, got"):
            multiply()


@pytest.mark.parametrize("other", ["rbf", None, 1j, [1.0], np.ones(2), RBF, object()])
def test_other_operands_are_refused(other):
    for combine in (
        lambda: RBF(1.0) + other,
        lambda: other + RBF(1.0),
        lambda: RBF(1.0) * other,
        lambda: other * RBF(1.0),
    ):
        with pytest.raises(
            TypeError, match=r"unsupported operand|concatenate|non-int|support ufuncs"
        ):
            combine()


def test_numbers_are_not_added():
    with pytest.raises(TypeError, match="unsupported operand"):
        RBF(1.0) + 1.0


@pytest.mark.parametrize("kind", [Sum, Product])
@pytest.mark.parametrize("given", [(), (RBF(1.0),), RBF(1.0), 3, None])
def test_parts_are_at_least_two(kind, given):
    with pytest.raises(ValueError, match="parts must be at least two kernels, got"):
        kind(given)


def test_parts_are_kernels():
    with pytest.raises(ValueError, match="each of parts must be a kernel object or a function"):
        Sum((RBF(1.0), "linear"))
    with pytest.raises(
        ValueError, match="kernel must be a kernel object or a function, got <class"
    ):
        Scaled(2.0, RBF)


def test_values_of_parts_are_checked():
    wrong = RBF(1.0) + CallableKernel(lambda X, Z: np.ones(X.shape[0]))
    with pytest.raises(ValueError, match="kernel must return an array of shape"):
        wrong.block(A, B)
    nowhere = RBF(1.0) * CallableKernel(lambda X, Z: np.full((X.shape[0], Z.shape[0]), np.nan))
    with pytest.raises(ValueError, match="finite"):
        nowhere.block(A, B)
