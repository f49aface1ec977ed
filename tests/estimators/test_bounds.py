"""Bounds of decisions: they hold what the exact solution decides, and are attained."""

import warnings
from itertools import product

import naive
import naive_losses
import numpy as np
import pytest
from models import BOTH, four_classes, two_classes
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from kpegasos import (
    LinearPegasosSVC,
    LinearPegasosSVR,
    PegasosSVC,
    PegasosSVCCV,
    PegasosSVR,
    losses,
)
from kpegasos.fitting.pairs import is_decided, one_vs_rest, one_vs_rest_bounds
from kpegasos.kernels.pairwise import PairwiseKernel

SCALING = 2.0


def matrix_of(Estimator, A, B):
    """Kernel values with the constant feature's."""
    linear = Estimator in (LinearPegasosSVC, LinearPegasosSVR)
    return (A @ B.T if linear else rbf_kernel(A, B, gamma=0.5)) + SCALING**2


def options_of(Estimator):
    """Parameters of a model that is far from its optimum."""
    kernel = {} if Estimator in (LinearPegasosSVC, LinearPegasosSVR) else {"gamma": 0.5}
    return {"lam": 0.05, "intercept_scaling": SCALING, "random_state": 0, "epochs": 3, **kernel}


def widths_of(model, X):
    """Half of the distance between the ends, of shape (n_rows, n_pairs)."""
    lower, upper = model.decision_bounds(X)
    return 0.5 * (upper - lower).reshape(len(lower), -1)


LOSSES = [losses.Hinge(), losses.SquaredHinge(), losses.Logistic(), losses.EpsilonInsensitive()]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("is_linear", [False, True])
def test_bounds_hold_the_exact_decisions_and_the_own(loss, is_linear):
    kinds = (PegasosSVR, LinearPegasosSVR) if loss.regression else (PegasosSVC, LinearPegasosSVC)
    Estimator, (X, y) = kinds[is_linear], two_classes(25)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, 25)
    y = X[:, 0] + 0.3 * np.sin(5 * X[:, 1]) + 7.0 if loss.regression else y
    options = options_of(Estimator) | {"polish": is_linear}
    model = Estimator(loss=loss, **options).fit(X, y, weight)
    targets, offset = np.where(y == 1, 1.0, -1.0), 0.0
    if loss.regression:
        offset = model.intercept_[0] - SCALING**2 * model.dual_coef_.sum()
        targets = y - offset
    problem = type(loss).__name__, matrix_of(Estimator, X, X), targets, 0.05
    least, coef = naive_losses.solution(*problem, weight=weight)
    gap = naive_losses.objective(*problem, coef, weight=weight) - least
    slack = np.sqrt(2 * (max(gap, 0.0) + 1e-9) / 0.05 * problem[1].diagonal())
    exact = problem[1] @ coef + offset
    lower, upper = model.decision_bounds(X)
    assert lower.shape == y.shape
    assert np.all((lower - slack <= exact) & (exact <= upper + slack))
    own = model.predict(X) if loss.regression else model.decision_function(X)
    assert np.all((lower <= own) & (own <= upper))
    assert_allclose(model.decision_bounds(sparse.csr_array(X)), (lower, upper), atol=1e-9)
    assert hasattr(model, "is_certified") != loss.regression
    if not loss.regression:
        certified = model.is_certified(X)
        assert_array_equal(certified, (lower > 0) | (upper <= 0))
        assert_array_equal(model.predict(X)[certified], (exact > 0)[certified])


def test_bounds_are_attained():
    """Where all examples violate on the way to the optimum, the objective is a parabola."""
    X, y = np.array([[1.0], [2.0], [-1.0], [-0.5]]), np.array([1, 1, 0, 0])
    lam = 10.0
    clf = LinearPegasosSVC(lam=lam, fit_intercept=False, n_steps=5, random_state=0).fit(X, y)
    exact = (X[:, 0] @ np.where(y == 1, 1.0, -1.0)) / (lam * y.size)
    assert abs(clf.coef_[0, 0] - exact) > 1e-3 * exact
    lower, upper = clf.decision_bounds([[3.0]])
    end = upper if exact > clf.coef_[0, 0] else lower
    assert_allclose(end, 3.0 * exact, rtol=1e-9)


def of_objects(a, b):
    return float(np.exp(-0.1 * np.sum(np.subtract(a, b) ** 2)))


@pytest.mark.parametrize(
    ("model", "rows_of", "n_classes"),
    [
        (LinearPegasosSVC(), np.asarray, 5),
        (PegasosSVC(gamma=0.1), np.asarray, 5),
        (PegasosSVC(kernel=PairwiseKernel(of_objects)), lambda X: [*map(tuple, X)], 2),
        (PegasosSVC(kernel=PairwiseKernel(of_objects)), lambda X: [*map(tuple, X)], 4),
    ],
    ids=["linear", "kernel", "two of objects", "objects"],
)
def test_bounds_of_pairs_are_as_wide_as_their_gaps(model, rows_of, n_classes):
    X, y = make_blobs(50, centers=n_classes, cluster_std=3.0, random_state=0)
    rows = rows_of(X)
    model.set_params(decision_function_shape="ovo", epochs=3, random_state=0).fit(rows, y)
    norms = (X**2).sum(axis=1) if isinstance(model, LinearPegasosSVC) else np.ones(50)
    expected = np.sqrt(2 * model.duality_gap_ / model.lam_ * (1.0 + norms[:, None]))
    assert_allclose(widths_of(model, rows), expected, rtol=1e-9)
    middle = np.add(*model.decision_bounds(rows)) / 2
    assert_allclose(middle, model.decision_function(rows), atol=1e-9)


@pytest.mark.parametrize("n_classes", [3, 4])
def test_votes_are_bounded_and_decided_as_all_corners_of_the_bounds_say(n_classes):
    rng = np.random.default_rng(n_classes)
    n_pairs = n_classes * (n_classes - 1) // 2
    middle, width = rng.normal(size=(100, n_pairs)), rng.exponential(0.5, size=(100, n_pairs))
    lower, upper = middle - width, middle + width
    least, most = one_vs_rest_bounds(lower, upper, n_classes)
    corners = [np.where(ends, upper, lower) for ends in product([False, True], repeat=n_pairs)]
    values = np.array([one_vs_rest(corner, n_classes) for corner in corners])
    assert_allclose(least, values.min(axis=0), atol=1e-12)
    assert_allclose(most, values.max(axis=0), atol=1e-12)
    assert np.all((least <= values) & (values <= most))
    winners = np.array([naive.ovo_vote(corner, n_classes) for corner in corners])
    decided = is_decided(np.rint(least), np.rint(most))
    assert_array_equal(decided, (winners == winners[0]).all(axis=0))
    assert 10 < decided.sum() < 90
    # With ties broken by the values, corners of the bounds are where these are extreme.
    winners = values.argmax(axis=2)
    assert_array_equal(is_decided(least, most), (winners == winners[0]).all(axis=0))


@BOTH
@pytest.mark.parametrize("break_ties", [False, True])
def test_several_classes_are_certified_by_their_bounds(Estimator, break_ties):
    X, y = four_classes()
    options = {"break_ties": break_ties, "polish": True, "random_state": 0}
    far, near = (Estimator(tol=tol, **options).fit(X, y) for tol in (1e-2, 1e-7))
    (lower, upper), values = far.decision_bounds(X), near.decision_function(X)
    assert lower.shape == upper.shape == values.shape == (160, 4)
    assert np.all((lower - 1e-9 <= values) & (values <= upper + 1e-9))
    certified = far.is_certified(X)
    assert 0.05 < certified.mean() < 0.95
    assert_array_equal(far.predict(X)[certified], near.predict(X)[certified])
    assert near.is_certified(X).mean() > certified.mean()


def test_matrix_of_kernel_values_needs_its_diagonal():
    X, y = two_classes()
    K = rbf_kernel(X, gamma=0.5)
    clf = PegasosSVC(kernel="precomputed", random_state=0).fit(K, y)
    of_function = PegasosSVC(gamma=0.5, random_state=0).fit(X, y)
    ends = clf.decision_bounds(K, np.ones(y.size))
    assert_allclose(ends, of_function.decision_bounds(X), atol=1e-9)
    larger = clf.decision_bounds(K, 7.0 * np.ones(y.size))
    assert_allclose(np.subtract(*larger), 2.0 * np.subtract(*ends), rtol=1e-9)
    assert_array_equal(clf.is_certified(K, np.ones(y.size)), of_function.is_certified(X))
    with pytest.raises(ValueError, match=r"diagonal must be k\(x, x\) of each row"):
        clf.is_certified(K)
    linear = LinearPegasosSVC(random_state=0).fit(X, y)
    for model, rows, diagonal, match in (
        (clf, K, np.ones(3), "a finite number"),
        (clf, K, -np.ones(y.size), "a finite number"),
        (clf, K, np.full(y.size, np.nan), "a finite number"),
        (of_function, X, np.ones(y.size), "k.* with kernel='precomputed', and None with others"),
        (linear, X, np.ones(y.size), "k.* with kernel='precomputed', and None with others"),
    ):
        with pytest.raises(ValueError, match=f"diagonal must be {match}"):
            model.decision_bounds(rows, diagonal)


def test_rounding_is_part_of_the_bounds():
    """Decisions of large coefficients cannot be known better than their sums."""
    X, y = two_classes(40)
    clf = PegasosSVC(C=1e9, gamma=0.5, epochs=2, random_state=0).fit(X, y)
    clf.duality_gap_ = 0.0
    size = np.abs(clf.dual_coef_).sum()
    widths = widths_of(clf, X)
    assert np.all(widths > np.finfo(float).eps * size)
    assert np.all(widths < 1e4 * np.finfo(float).eps * size)


def test_without_a_certificate_nothing_is_certain(tmp_path):
    X, y = two_classes()
    clf = PegasosSVC(kernel="sigmoid", random_state=0).fit(X, y)
    lower, upper = clf.decision_bounds(X)
    assert np.all(lower == -np.inf)
    assert np.all(upper == np.inf)
    assert not clf.is_certified(X).any()
    Z, z = four_classes()
    clf = PegasosSVC(kernel="sigmoid", random_state=0).fit(Z, z)
    least, most = clf.decision_bounds(Z)
    assert np.all((least <= 0) & (most >= 3))
    assert not clf.is_certified(Z).any()
    clf = PegasosSVC(gamma=0.5, random_state=0).fit(X, y)
    clf.to_libsvm(tmp_path / "model")
    read = PegasosSVC.from_libsvm(tmp_path / "model")
    stream = LinearPegasosSVC(random_state=0).partial_fit(X, y, classes=[0, 1])
    free = PegasosSVC(fit_intercept="free", random_state=0).fit(X, y)
    for model, match in (
        (read, "without duality_gap_, which models that"),
        (stream, "without duality_gap_, which models that"),
        (free, "^PegasosSVC has no bounds of decisions with fit_intercept='free'"),
    ):
        for method in (model.decision_bounds, model.is_certified):
            with pytest.raises(AttributeError, match=match):
                method(X)
    for unfitted in (PegasosSVC(), LinearPegasosSVR(), PegasosSVCCV()):
        with pytest.raises(NotFittedError):
            unfitted.decision_bounds(X)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_little_that_is_certain_comes_with_the_tol_that_changes_it(n_classes):
    X, y = make_classification(
        600, 10, n_informative=6, n_classes=n_classes, flip_y=0.05, random_state=0
    )
    clf = PegasosSVC(C=10.0, polish=True, tol=0.02, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match=r"certain of \d%.* gap of 0.0\d+; .* tol=") as caught:
        clf.is_certified(X)
    assert (len(caught), caught[0].filename) == (1, __file__)
    tol = float(str(caught[0].message).split("tol=")[1].split()[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.is_certified(X[:5])  # of a few rows nothing may be certain by chance
        assert clf.set_params(tol=tol).fit(X, y).is_certified(X).mean() > 0.5
