"""Parameters, weights and fitted attributes: what each of them does, and what "auto" means."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from models import (
    BOTH,
    EXACT,
    assert_close_model,
    assert_same_model,
    counts_of,
    integers,
    two_classes,
    with_duplicates,
)
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_sample_weight

from kpegasos import (
    DelayedInverse,
    LinearPegasosSVC,
    LinearPegasosSVR,
    PegasosSVC,
    PegasosSVR,
    linear_rows,
    make_problem,
    make_rows,
    pegasos,
)
from kpegasos.reference import index_stream, pegasos_linear
from kpegasos.solvers.result import History


@pytest.mark.parametrize("Estimator", [PegasosSVC, PegasosSVR, LinearPegasosSVC, LinearPegasosSVR])
def test_polish_alone_goes_to_a_thousandth(Estimator):
    model = Estimator(polish=True, random_state=0).fit(*two_classes(300))
    assert model.relative_gap_ <= 1e-3


# --- history ---


def test_history_is_sparse_where_nobody_waits_and_gaps_are_looked_at_each_epoch():
    X, y = two_classes(60)
    plain = PegasosSVC(random_state=0).fit(X, y)
    assert plain.n_steps_ == 20 * 60
    assert plain.history_["epoch"].tolist() == [1, 2, 5, 10, 20]
    every = PegasosSVC(checkpoints="epoch", epochs=200, random_state=0).fit(X, y).history_
    tol = float(every["relative_gap"][6])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        clf = PegasosSVC(tol=tol, epochs=200, random_state=0).fit(X, y)
    first = np.flatnonzero(every["relative_gap"] <= tol)[0]
    assert clf.history_["epoch"].tolist() == list(range(1, first + 2))


# --- tol and polish ---


@BOTH
@pytest.mark.parametrize("checkpoints", ["epoch", None])
def test_tol_that_is_not_reached_is_told_at_the_call_of_fit(Estimator, checkpoints):
    X, y = two_classes()
    clf = Estimator(tol=1e-9, epochs=2, checkpoints=checkpoints, random_state=0)
    with pytest.warns(ConvergenceWarning, match="gap") as caught:
        clf.fit(X, y)
    (warning,) = caught
    assert f"{clf.relative_gap_:.3g}" in str(warning.message)
    assert Estimator.__name__ in str(warning.message)
    assert warning.filename == __file__
    assert clf.n_steps_ == 2 * y.size


# --- rows, weights, seeds and attributes ---


@BOTH
def test_entries_of_sparse_rows_may_be_there_twice_and_are_left_alone(Estimator):
    X, y = integers(2)
    Z = with_duplicates(X)
    n_stored = Z.nnz
    model, expected = (Estimator(epochs=1, random_state=0).fit(rows, y) for rows in (Z, X))
    assert_close_model(expected, model, X, Z)
    assert Z.nnz == n_stored


@BOTH
@pytest.mark.parametrize("class_weight", [{"a": 3.0, "b": 0.5, "c": 1.25}, {"c": 3.0}, "balanced"])
def test_class_weight_is_sample_weight(Estimator, class_weight):
    X, y = integers(3)
    keep = (y != 0) | (np.arange(y.size) % 3 == 0)
    X, names = X[keep], np.array(["a", "b", "c"])[y[keep]]
    own = np.random.default_rng(0).uniform(0.5, 1.5, size=names.size)
    # What is balanced is counts of classes, of whatever weight.
    for weight in (np.ones(names.size), *([] if class_weight == "balanced" else [own])):
        expected = weight * compute_sample_weight(class_weight, names)
        a = Estimator(class_weight=class_weight, random_state=0).fit(X, names, weight)
        b = Estimator(random_state=0).fit(X, names, expected)
        assert_same_model(a, b, X)


@BOTH
def test_random_state(Estimator):
    X, y = two_classes()
    fit = lambda state: Estimator(random_state=state, epochs=2).fit(X, y)  # noqa: E731
    assert_same_model(fit(3), fit(np.random.RandomState(3)), X)
    assert np.any(fit(3).alpha_ != fit(4).alpha_)
    assert np.any(fit(None).alpha_ != fit(None).alpha_)


X, Y = make_blobs(120, centers=3, cluster_std=2.0, random_state=0)


@pytest.mark.parametrize("C", [1e-50, 1e45])
def test_decisions_of_float32_survive_extreme_coefficients(C):
    two = Y < 2
    options = {"C": C, "gamma": 0.1, "fit_intercept": False, "epochs": 2, "random_state": 0}
    wide = PegasosSVC(**options).fit(X[two], Y[two])
    narrow = PegasosSVC(**options).fit(X[two].astype(np.float32), Y[two])
    expected = wide.decision_function(X)
    atol = 1e-3 * np.abs(expected).max()
    np.testing.assert_allclose(narrow.decision_function(X), expected, rtol=1e-3, atol=atol)


@BOTH
def test_alpha_counts(Estimator):
    X, y = integers(2)
    clf = Estimator(average=None, **EXACT).fit(X, y)
    assert clf.alpha_.dtype == np.int64
    assert clf.alpha_.max() <= 5  # a permutation draws each example once an epoch
    np.testing.assert_array_equal(np.flatnonzero(clf.alpha_), np.sort(clf.support_))
    # w_{T+1} = Σ alpha y φ / (lam T), and the model of average=None is the last iterate.
    expected = clf.alpha_ * np.where(y == 1, 1, -1) / (clf.lam_ * clf.n_steps_)
    np.testing.assert_allclose(clf.dual_coef_[0], expected[clf.support_], rtol=1e-12)


@BOTH
@pytest.mark.parametrize("projection", [False, True])
def test_attributes_of_several_classes_are_per_pair(Estimator, projection):
    X, y = integers(3)
    clf = Estimator(projection=projection, **EXACT).fit(X, y)
    assert isinstance(clf.alpha_, sparse.csr_array)
    assert clf.alpha_.shape == (3, y.size)
    assert clf.alpha_.dtype == (np.float64 if projection else np.int64)
    assert clf.alpha_.has_canonical_format
    assert np.all(clf.alpha_.data > 0)
    for number, (i, j) in enumerate(combinations(range(3), 2)):
        outside = (y != i) & (y != j)
        assert not counts_of(clf)[number, outside].any()
        assert counts_of(clf)[number, ~outside].any()
    for name in ("lam_", "n_steps_", "objective_", "duality_gap_", "relative_gap_"):
        assert getattr(clf, name).shape == (3,), name
    assert [type(history) for history in clf.history_] == [History] * 3


@BOTH
@pytest.mark.parametrize(
    "options",
    [
        {"average": "suffix", "sampling": "uniform"},
        {"sampling": "contiguous"},
        {"sampling": lambda rng, n_samples: rng.permutation(n_samples)[::-1]},
        {"average": None, "batch_size": 4, "projection": True},
        {"average": "uniform"},
        {"step": DelayedInverse()},
    ],
    ids=", ".join,
)
def test_run_is_that_of_the_solver(Estimator, options):
    """Every parameter gets to where it counts; one seed makes the same draws."""
    X, y = two_classes()
    clf = Estimator(n_steps=400, checkpoints=[100], lam=0.02, intercept_scaling=0.5, **options)
    rows = linear_rows(X, intercept_scaling=0.5)
    if Estimator is PegasosSVC:
        clf.set_params(gamma=2.0)
        rows = make_rows(X, "rbf", gamma=2.0, intercept_scaling=0.5)
    clf.set_params(random_state=5).fit(X, y)
    result = pegasos(
        make_problem(y, 0.02), rows, n_steps=400, checkpoints=[100], random_state=5, **options
    )
    np.testing.assert_allclose(clf.objective_, result.objective, rtol=1e-12)
    np.testing.assert_array_equal(clf.alpha_, result.alpha)


@pytest.mark.parametrize("options", [{"kernel": "linear"}, {}, {"sampling": "contiguous"}], ids=str)
def test_each_of_several_pairs_has_draws_of_its_own(options):
    X, y = integers(3)
    clf = PegasosSVC if "kernel" in options else LinearPegasosSVC
    clf = clf(n_steps=200, lam=1.0, fit_intercept=False, random_state=3, **options).fit(X, y)
    for number, (i, j) in enumerate(combinations(range(3), 2)):
        members = np.concatenate((np.flatnonzero(y == i), np.flatnonzero(y == j)))
        if "sampling" in options:
            members.sort()
        sampling = options.get("sampling", "permutation")
        draws = index_stream(members.size, 200, sampling, random_state=3, pair=number)
        labels = np.where(y[members] == i, 1, -1)
        found = pegasos_linear(X[members], labels, 1.0, draws)
        np.testing.assert_array_equal(clf.alpha_[[number]].toarray()[0, members], found.alpha)
