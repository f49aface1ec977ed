"""Kernels that cost: objects as X, each pair evaluated once, budgets, engines, faults, failures."""

import gc
import os
import pickle
import time
import weakref
from collections import Counter
from functools import partial
from threading import Event, Lock, Thread

import joblib
import numpy as np
import pytest
from forks import needs_fork, of_child
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel as GPKernel
from sklearn.model_selection import cross_val_score

from kpegasos import RBF, PairwiseKernel, PegasosSVC, PegasosSVCCV, PegasosSVR, make_kernel

N, PROBES = 60, 6


def letters(word):
    """Normalised counts of pairs of letters."""
    counts = Counter(word[k : k + 2] for k in range(len(word) - 1))
    norm = sum(n**2 for n in counts.values()) ** 0.5
    return {part: n / norm for part, n in counts.items()}


def shared(a, b):
    return sum(n * b.get(part, 0.0) for part, n in a.items())


def words(n, n_classes=2, seed=0):
    """Strings of different lengths; the class says how often a letter follows itself."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    steps = [
        rng.choice(4, size=20 + i % 7, p=np.roll([0.7, 0.1, 0.1, 0.1], y[i])) for i in range(n)
    ]
    return ["".join("ACGT"[k] for k in np.cumsum(each) % 4) for each in steps], y


def counted(**options):
    """A kernel of strings, and how often it was asked for which."""
    asked = Counter()

    def function(a, b):
        asked[frozenset(tuple(sorted(each.items())) for each in (a, b))] += 1
        return shared(a, b)

    return PairwiseKernel(function, prepare=letters, **options), asked


def gram(X):
    prepared = [*map(letters, X)]
    return np.array([[shared(a, b) for b in prepared] for a in prepared])


def fit(kernel, X, y, **options):
    return PegasosSVC(kernel=kernel, **{"random_state": 0} | options).fit(X, y)


# --- objects --------------------------------------------------------------------------------------


@pytest.mark.parametrize("polish", [False, True])
def test_model_is_that_of_the_matrix(polish):
    X, y = words(N, 3)
    options = {"polish": polish, "tol": 1e-8 if polish else None}
    one = fit(PairwiseKernel(shared, prepare=letters), X, y, **options)
    other = fit("precomputed", gram(X), y, **options)
    if not polish:
        assert_array_equal(one.support_, other.support_)
    strange, _ = words(20, 3, seed=1)
    values = gram([*strange, *X])[:20, 20:]
    decisions = one.decision_function(strange)
    assert_allclose(decisions, other.decision_function(values), atol=1e-3 if polish else 1e-12)
    assert_array_equal(one.support_vectors_, np.array(X, dtype=object)[one.support_])
    again = pickle.loads(pickle.dumps(one))
    assert again._kernel.evaluations == 0
    assert_allclose(again.decision_function(strange), decisions, rtol=1e-12)
    assert again._kernel.evaluations == 20 * one.support_.size


def arrays(X):
    return [np.array(list(x)) for x in X]


@pytest.mark.parametrize("as_X", [list, tuple, np.array, partial(np.array, dtype=object), arrays])
def test_any_sequence_of_objects_is_X(as_X):
    """Arrays of different lengths, too."""
    X, y = words(N)
    kernel = PairwiseKernel(shared, prepare=lambda x: letters("".join(x)))
    model = fit(kernel, as_X(X), y.astype(str))
    assert model.score(as_X(X), y.astype(str)) > 0.9
    assert model.predict(as_X(X[:1])).shape == (1,)
    numbers = PegasosSVR(kernel=kernel, C=10.0, random_state=0)
    assert numbers.fit(as_X(X), y - 0.5).score(as_X(X), y - 0.5) > 0.7


class SetKernel(GPKernel):
    requires_vector_input = False

    def __call__(self, X, Y=None):
        return np.array([[float(len(set(a) & set(b))) for b in (X if Y is None else Y)] for a in X])

    def diag(self, X):
        return np.array([float(len(set(a))) for a in X])

    def is_stationary(self):
        return False


def test_kernels_of_gaussian_processes_are_kernels_of_objects():
    model = fit(SetKernel(), ["abc", "abe", "xyz", "xyw"] * 5, [0, 0, 1, 1] * 5)
    assert_array_equal(model.predict(["bc", "yzw"]), [0, 1])
    assert make_kernel(SetKernel()).diag(["aab"]) == [2.0]


def test_blocks_see_vectors_as_a_matrix():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 3)), np.arange(N) % 2

    def product(A, B):
        assert A.shape == (1, 3)
        return A @ B.T

    decisions, expected = (
        fit(kernel, X, y, epochs=5).decision_function(X)
        for kernel in (PairwiseKernel(product, blocks=True), "linear")
    )
    assert_allclose(decisions, expected, atol=1e-9)


# --- what is evaluated ----------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"epochs": 1}, {"polish": True}, {"C": 0.01}])
def test_fit_asks_for_rows_of_violators_alone(options):
    X, y = words(N)
    kernel, asked = counted(diagonal=1.0)
    model = fit(kernel, X, y, **options)
    assert kernel.evaluations == asked.total() == model.kernel_evaluations_
    assert kernel.evaluations <= N * (N + 1) // 2 + PROBES + 1
    if not options.get("polish"):  # its support is all that has violated
        support = model.support_.size
        assert kernel.evaluations == support * N - support * (support + 1) // 2 + PROBES + 1


def linear_problem(n_samples):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 3))
    return X, (X[:, 0] + 0.4 * rng.normal(size=n_samples) > 0).astype(int)


def rbf_of_pairs():
    return PairwiseKernel(RBF(0.5).block, blocks=True, diagonal=1.0)


def test_polish_asks_for_little_more_than_a_certificate_takes():
    kernel = rbf_of_pairs()
    model = fit(kernel, *linear_problem(400), C=10.0, polish=True)
    support = model.support_.size
    assert model.relative_gap_ <= 0.01
    assert kernel.evaluations < 1.4 * (support * 400 - support**2 / 2)


def test_no_pair_is_evaluated_twice():
    X, y = words(N, 3)
    kernel, asked = counted()
    for C in (0.1, 1.0, 10.0):
        fit(kernel, X, y, C=C, polish=True).score(X, y)
    assert cross_val_score(PegasosSVC(kernel=kernel, random_state=0), X, y, cv=3).mean() > 0.7
    search = PegasosSVCCV(3, kernel=kernel, cv=3, random_state=0).fit(X, y)
    assert search.predict(X).shape == (N,)
    assert asked.total() <= N * (N + 1) // 2 + PROBES
    assert max(asked.values()) <= 2


def test_equal_objects_are_one():
    X, y = words(N)
    kernel, asked = counted(diagonal=1.0)
    model = fit(kernel, [*X, *X], [*y, *y])
    assert max(asked.values()) <= 2
    before = asked.total()
    assert model.predict(words(1, seed=1)[0] * 5).shape == (5,)
    assert asked.total() - before == np.unique(model.support_ % N).size


def test_quick_function_of_many_rows_is_asked_for_blocks():
    calls = []

    def quick(A, B):
        calls.append(A.shape[0] * B.shape[0])
        return np.exp(-((A[:, None] - B) ** 2).sum(axis=2))

    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1))
    PegasosSVC(kernel=quick, polish=True, random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    assert len(calls) < 400


def test_none_is_an_object_and_numpy_strings_are_strings():
    kernel = PairwiseKernel(lambda a, b: float(a == b))
    model = fit(kernel, [None, "a"] * 10, [0, 1] * 10)
    before = kernel.evaluations
    assert_array_equal(model.predict([None, "a"]), [0, 1])
    model.predict(np.array(["a", "a"]))
    assert kernel.evaluations == before
    with pytest.raises(ValueError, match="must be one of vectors"):
        model.to_sklearn()


def test_slow_function_of_rows_is_asked_for_rows_of_violators_alone():
    calls = Counter()

    def slow(A, B):
        time.sleep(5e-5 * A.shape[0] * B.shape[0])
        calls["values"] += A.shape[0] * B.shape[0]
        return np.exp(-((A[:, None] - B) ** 2).sum(axis=2))

    rng = np.random.default_rng(0)
    model = fit(slow, rng.normal(size=(100, 2)), np.arange(100) % 2, epochs=1)
    support, found = model.support_.size, 1 + 1 + 8 + 64 + 512  # out that it is slow
    assert calls["values"] <= support * 100 - support**2 / 2 + 100 + PROBES + found


# --- budgets --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"polish": True}, {"cache": "precomputed"}, {"cache": "streamed"}]
)
def test_budget_is_kept_and_gone_on_from(options):
    X, y = words(N)
    kernel = PairwiseKernel(shared, prepare=letters, diagonal=1.0)
    model = PegasosSVC(kernel=kernel, warm_start=True, random_state=0, **options)
    with pytest.warns(ConvergenceWarning, match="stopped by max_kernel_evaluations"):
        model.set_params(max_kernel_evaluations=500).fit(X, y)
    assert kernel.evaluations == model.kernel_evaluations_ == 500
    assert 0.0 < model.relative_gap_ < np.inf
    truth = fit("precomputed", gram(X), y, polish=True, tol=1e-6)
    assert model.objective_ - model.duality_gap_ <= truth.objective_
    model.set_params(max_kernel_evaluations=None).fit(X, y)
    assert kernel.evaluations <= N * (N + 1) // 2 + PROBES + 1


def test_polish_makes_no_less_of_a_budget_than_a_plain_fit():
    objectives = []
    for polish in (False, True):
        with pytest.warns(ConvergenceWarning):
            model = fit(
                rbf_of_pairs(), *linear_problem(300), polish=polish, max_kernel_evaluations=6000
            )
        objectives.append(model.objective_)
    assert objectives[1] < objectives[0]


def test_budget_of_a_built_in_kernel():
    with pytest.warns(ConvergenceWarning, match="max_kernel_evaluations"):
        model = fit("rbf", *linear_problem(3000), max_kernel_evaluations=10**6)
    assert 10**6 <= model.kernel_evaluations_ < 3e6


def test_budget_of_values_that_are_given_changes_nothing():
    X, y = linear_problem(60)
    for batch_size in (1, 4):
        options = {"polish": True, "batch_size": batch_size}
        expected = fit("precomputed", X @ X.T, y, **options)
        model = fit("precomputed", X @ X.T, y, max_kernel_evaluations=1, **options)
        assert_array_equal(model.dual_coef_, expected.dual_coef_)


# --- engines --------------------------------------------------------------------------------------


def slow_shared(a, b):
    time.sleep(0.02)
    return shared(a, b)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_jobs_make_the_same_model(backend):
    X, y = words(8)
    kernel = PairwiseKernel(slow_shared, prepare=letters, n_jobs=2)
    with joblib.parallel_config(backend):
        model = fit(kernel, X, y, epochs=2)
    assert kernel.evaluations <= 8 * 9 // 2 + PROBES
    other = fit(PairwiseKernel(shared, prepare=letters), X, y, epochs=2)
    assert_array_equal(model.dual_coef_, other.dual_coef_)


def test_function_that_cannot_be_pickled_is_told():
    lock = Lock()

    def guarded(a, b):
        with lock:
            return slow_shared(a, b)

    with pytest.raises(ValueError, match="function must be one that can be pickled"):
        fit(PairwiseKernel(guarded, prepare=letters, n_jobs=2), *words(8))


@pytest.mark.parametrize("polish", [True, False])
def test_indefinite_kernel_gives_a_model_and_no_certificate(polish):
    X, y = words(N)
    distance = PairwiseKernel(lambda a, b: float(abs(len(a) - len(b))))
    with pytest.warns(ConvergenceWarning, match="has no certificate"):
        model = fit(distance, X, y, C=100.0, polish=polish)
    assert np.isnan(model.duality_gap_)
    assert np.isfinite(model.decision_function(X)).all()


def test_noisy_values_are_asked_for_once():
    X, y = words(N)
    rng = np.random.default_rng(0)
    kernel = PairwiseKernel(
        lambda a, b: shared(a, b) + 0.1 * rng.normal(), prepare=letters, positive_definite=False
    )
    model = fit(kernel, X, y)
    support = [X[i] for i in model.support_]
    values = kernel.block(support, support)
    assert_array_equal(values, values.T)
    assert model.score(X, y) > 0.8


# --- what is kept, and for how long ---------------------------------------------------------------


class Document:
    """An object that can change, and be looked for."""

    def __init__(self, number):
        self.number = float(number)


def near(a, b):
    return float(np.exp(-((a.number - b.number) ** 2) / 20.0))


def test_objects_of_fits_go_with_them_and_values_by_clear():
    kernel, alive = PairwiseKernel(near, prepare=lambda x: x, diagonal=1.0), []
    for fold in range(3):
        documents = [Document(20 * fold + i) for i in range(20)]
        alive += map(weakref.ref, documents)
        model = fit(kernel, documents, np.arange(20) // 10)
        del documents
    gc.collect()
    assert not any(each() for each in alive)
    old, new = [Document(40 + i) for i in range(20)], [Document(40.5 + i) for i in range(20)]
    before, asked = [model.decision_function(each) for each in (old, new)], kernel.evaluations
    made = [weakref.ref(each) for each in kernel._pairs.prepared.values()]
    kernel.clear()
    assert kernel.evaluations == asked
    assert not kernel._pairs.rows
    # Numbers that objects of the model had are others' now.
    fit(kernel, new, np.arange(20) // 10)
    for each, expected in zip((old, new), before, strict=True):
        assert_array_equal(model.decision_function(each), expected)
    del model
    gc.collect()
    assert sum(each() is not None for each in made) == 0


def test_clear_during_a_fit_leaves_it_right():
    X, y = words(12)
    calls = iter(range(10**6))

    def function(a, b):
        if next(calls) in (5, 40):
            kernel.clear()
        return shared(a, b)

    kernel = PairwiseKernel(function, prepare=letters)
    model, fresh = fit(kernel, X, y), fit(PairwiseKernel(shared, prepare=letters), X, y)
    assert_array_equal(model.dual_coef_, fresh.dual_coef_)


@needs_fork
def test_child_of_a_fork_during_an_evaluation_goes_on():
    inside, go, parent = Event(), Event(), os.getpid()

    def function(a, b):
        if os.getpid() == parent:
            inside.set()
            go.wait(10.0)
        return shared(a, b)

    X, y = words(12)
    kernel = PairwiseKernel(function, prepare=letters)
    model = PegasosSVC(kernel=kernel, random_state=0)
    thread = Thread(target=lambda: model.fit(X, y))
    thread.start()
    assert inside.wait(10.0)
    expected = fit(PairwiseKernel(shared, prepare=letters), X, y)
    assert of_child(lambda: np.array_equal(model.fit(X, y).dual_coef_, expected.dual_coef_))
    go.set()
    thread.join(30.0)
