"""What reviewers found, each by public behaviour alone."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from functools import partial

import numpy as np
import pytest
from metamorphic_cases import grid_blobs, true_objectives
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from kpegasos import (
    RBF,
    ArrayChunks,
    LinearPegasosSVC,
    PegasosSVC,
    make_kernel,
    make_problem,
    make_rows,
    pegasos,
)
from kpegasos.datasets import SvmlightChunks
from kpegasos.kernels.base import InnerProductKernel

X, Y = grid_blobs(2)
START = {"epochs": 5, "random_state": 0}


def one_sentence(*words):
    """A message of one line that has one of the words, for ``match``."""
    return rf"\A[^\n]*({'|'.join(words)})[^\n]*\Z"


# --- warm starts take no other kernel -------------------------------------------------------------


def closure(gamma):
    return lambda A, B: rbf_kernel(A, B, gamma=gamma)


def default_argument(gamma):
    def kernel(A, B, gamma=gamma):
        return rbf_kernel(A, B, gamma=gamma)

    return kernel


def part_of_a_function(gamma):
    return partial(rbf_kernel, gamma=gamma)


class Width:
    """A kernel object without a representation of its own."""

    positive_definite = True

    def __init__(self, gamma):
        self.gamma = gamma

    def block(self, A, B):
        return rbf_kernel(A, B, gamma=self.gamma).astype(A.dtype)

    def diag(self, A):
        return np.ones(A.shape[0])

    def __call__(self, A, B):
        return self.block(A, B)


@pytest.mark.parametrize("make", [closure, default_argument, part_of_a_function, Width, RBF])
def test_warm_start_refuses_another_kernel(make):
    clf = PegasosSVC(kernel=make(0.01), warm_start=True, **START).fit(X, Y)
    objective = clf.objective_
    with pytest.raises(ValueError, match="warm_start"):
        clf.set_params(kernel=make(50.0)).fit(X, Y)
    assert clf.objective_ == objective


def test_warm_start_refuses_a_kernel_that_was_changed():
    kernel = Width(0.01)
    clf = PegasosSVC(kernel=kernel, warm_start=True, **START).fit(X, Y)
    kernel.gamma = 50.0
    with pytest.raises(ValueError, match="warm_start"):
        clf.fit(X, Y)


# --- kernel values and decisions that are not numbers ---------------------------------------------


class Root(InnerProductKernel):
    """``√⟨a, b⟩``: not a number where the product is negative."""

    positive_definite = True

    def from_inner_products(self, products, norms_a, norms_b):
        with np.errstate(invalid="ignore"):
            np.sqrt(products, out=products)

    def diag(self, A):
        return np.sqrt((A.astype(np.float64) ** 2).sum(axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
def test_kernel_of_inner_products_must_return_finite_values(cache, dtype):
    with pytest.raises(ValueError, match="finite"):
        PegasosSVC(kernel=Root(), cache=cache, **START).fit(X.astype(dtype), Y)
    # One value alone is enough, and none is none.
    positive = np.abs(X).astype(dtype) + 1
    PegasosSVC(kernel=Root(), cache=cache, **START).fit(positive, Y)
    positive[7] *= -1
    with pytest.raises(ValueError, match="finite"):
        PegasosSVC(kernel=Root(), cache=cache, **START).fit(positive, Y)


@pytest.mark.parametrize("ask", ["predict", "decision_function"])
@pytest.mark.parametrize("n_rows", [1, 100])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_that_are_not_numbers_are_an_error(ask, n_rows, n_classes):
    A, y = grid_blobs(n_classes)
    clf = PegasosSVC(kernel="poly", **START).fit(A.astype(np.float32), y)
    far = np.resize(np.float32([1e30, -1e30, 1e30]), (n_rows, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(ValueError, match=one_sentence("X", "decision", "finite")):
            getattr(clf, ask)(far)


# --- parameters -----------------------------------------------------------------------------------


def test_misspelt_parameters_of_a_kernel_are_refused():
    for build in (
        lambda: make_rows(X, "rbf", gama=50.0),
        lambda: make_rows(X, RBF(1.0), gamma=50.0),
        lambda: make_kernel("rbf", gama=50.0),
        lambda: make_kernel(RBF(1.0), gamma=50.0),
    ):
        with pytest.raises(TypeError, match=r"gam+a"):
            build()
    assert make_kernel("rbf", gamma=2.0) == RBF(2.0)


@pytest.mark.parametrize("first", [None, 0.5])
def test_stream_refuses_another_lam(first):
    clf = LinearPegasosSVC(lam=first, random_state=0).partial_fit(X, Y, classes=[0, 1])
    before = clf.coef_.copy()
    with pytest.raises(ValueError, match="lam"):
        clf.set_params(lam=0.01).partial_fit(X, Y)
    assert_array_equal(clf.coef_, before)
    clf.set_params(lam=first).partial_fit(X, Y)


@pytest.mark.parametrize("n_huge", [1, 90])
@pytest.mark.parametrize("estimator", [PegasosSVC, LinearPegasosSVC])
def test_weights_beyond_arithmetic_are_refused(estimator, n_huge):
    weight = np.ones(Y.size)
    weight[:n_huge] = 1e200
    with pytest.raises(ValueError, match=one_sentence("sample_weight")):
        estimator(**START).fit(X, Y, weight)


def test_rows_of_one_dimension_are_refused():
    for build in (make_rows, lambda A: make_rows(A, "linear", cache="streamed")):
        with pytest.raises(ValueError, match=one_sentence("X")):
            build(np.arange(5.0))


@pytest.mark.parametrize("seed", range(5))
def test_early_stopping_where_few_examples_count(seed):
    """Works, or is refused in the words of the parameters; never dies of a score."""
    weight = np.zeros(Y.size)
    weight[:4] = 1.0
    clf = LinearPegasosSVC(early_stopping=True, epochs=5, random_state=seed)
    try:
        clf.fit(X, Y, weight)
    except ValueError as error:
        assert "sample_weight" in str(error)  # noqa: PT017
        assert "early_stopping" in str(error) or "validation" in str(error)  # noqa: PT017
        assert not hasattr(clf, "coef_")
    else:
        assert np.isfinite(clf.validation_scores_).all()


# --- integers of numpy ----------------------------------------------------------------------------

INTEGERS = """
import json, sys
import numpy as np
from sklearn.datasets import make_moons
from kpegasos import LinearPegasosSVC, PegasosSVC, make_problem, make_rows, pegasos

X, y = make_moons(600, noise=0.2, random_state=0)
problem, rows = make_problem(2 * y - 1, 0.01), make_rows(X, "rbf", gamma=2.0)
for name in ["int", *sys.argv[1:]]:
    of = int if name == "int" else np.dtype(name).type
    options = {"batch_size": of(7), "checkpoints": [of(20), of(100)], "random_state": of(3)}
    found = [
        pegasos(problem, rows, epochs=of(60), **options).alpha,
        pegasos(problem, rows, n_steps=of(120), **options).alpha,
        PegasosSVC(gamma=2.0, epochs=of(60), **options).fit(X, y).alpha_,
        LinearPegasosSVC(epochs=of(60), n_jobs=of(1), **options).fit(X, y).alpha_,
        LinearPegasosSVC(n_steps=of(120), **options).fit(X, y).alpha_,
    ]
    print(json.dumps([name, [alpha.tolist() for alpha in found]]), flush=True)
"""


@pytest.mark.slow
def test_integers_of_numpy_are_integers():
    """In a process of its own, which a wrong one once brought down."""
    types = ["int8", "int16", "int64", "uint8", "uint32", "uint64"]
    done = subprocess.run(
        [sys.executable, "-c", INTEGERS, *types], capture_output=True, text=True, check=False
    )
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    same = {name: alpha == found["int"] for name, alpha in found.items()}
    assert same == dict.fromkeys(["int", *types], True), (
        f"exit status {done.returncode}: {done.stderr[-500:]}"
    )


# --- polish ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compiled_polish():
    for dtype in (np.float32, np.float64):
        PegasosSVC(C=100.0, polish=True, tol=0.05, **START).fit(X.astype(dtype), Y)


@pytest.mark.usefixtures("compiled_polish")
@pytest.mark.parametrize(
    ("C", "tol", "dtype"),
    [(0.01, 1e-17, "float64"), (100.0, 1e-15, "float64"), (0.01, 1e-17, "float32")],
)
def test_polish_ends_where_rounding_leaves_nothing_to_gain(C, tol, dtype):
    A, y = make_moons(80, noise=0.3, random_state=1)
    clf = PegasosSVC(C=C, gamma=2.0, polish=True, tol=tol, max_time=30.0, random_state=0)
    begin = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(A.astype(dtype), y)
    assert time.perf_counter() - begin < 15.0
    messages = [str(w.message) for w in caught if w.category is ConvergenceWarning]
    assert not any("max_time" in message for message in messages)
    assert clf.relative_gap_ <= tol or any("did not reach tol" in m for m in messages)
    assert clf.relative_gap_ < 1e-4


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.usefixtures("compiled_polish")
@pytest.mark.parametrize("cache", ["auto", "cached"])
def test_polish_that_is_cut_short_keeps_the_best_model(cache):
    A, y = make_moons(1500, noise=0.25, random_state=0)
    options = {"C": 1e4, "gamma": 2.0, "random_state": 0, "epochs": 5, "cache": cache}
    for max_time in (0.15, 0.3):
        clf = PegasosSVC(polish=True, tol=1e-9, max_time=max_time, **options).fit(A, y)
        assert clf.relative_gap_ > 1e-9, "the fit is cut short"
        # The last look sums the margins anew, and dual coefficients are as large as C.
        rounding = 100 * np.finfo(float).eps * options["C"]
        assert clf.objective_ <= clf.history_["objective_average"].min() * (1 + rounding)
        assert clf.objective_ == pytest.approx(true_objectives(clf, A, y)[0], rel=1e-6)


# --- models that warnings would leave half made ---------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [PegasosSVC(kernel="poly", **START), LinearPegasosSVC(**START)],
    ids=["kernel", "linear"],
)
def test_warning_turned_into_an_error_leaves_a_whole_model(estimator):
    clf, expected = clone(estimator).set_params(tol=1e-12), clone(estimator).set_params(tol=1e-12)
    with pytest.warns(ConvergenceWarning):
        expected.fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            clf.fit(X, Y)
    assert set(vars(clf)) == set(vars(expected))
    assert clf.n_features_in_ == 3
    assert_array_equal(clf.decision_function(X), expected.decision_function(X))
    for width in (1, 50):
        with pytest.raises(ValueError, match="3 features"):
            clf.decision_function(np.ones((4, width)))


def test_fit_that_never_was_leaves_no_width():
    clf = PegasosSVC(batch_size=1000)
    with pytest.raises(ValueError, match="batch_size"):
        clf.fit(X, Y)
    assert not hasattr(clf, "n_features_in_")


# --- chunks and rows ------------------------------------------------------------------------------


def assert_same_chunks(some, others):
    some, others = list(some), list(others)
    assert len(some) == len(others)
    for one, other in zip(some, others, strict=True):
        for a, b in zip(one, other, strict=True):
            a, b = (part.toarray() if hasattr(part, "toarray") else part for part in (a, b))
            assert_array_equal(a, b)


def array_chunks(tmp_path):
    return ArrayChunks(X, Y, np.arange(90.0), chunk_size=20)


def svmlight_chunks(tmp_path):
    path = tmp_path / "examples.svm"
    path.write_text("".join(f"{i % 2} 1:{i} 3:{i / 8}\n" for i in range(60)))
    return SvmlightChunks(path, n_features=3, chunk_mb=200 / 2**20)


@pytest.mark.parametrize("make", [array_chunks, svmlight_chunks])
@pytest.mark.parametrize(
    "part",
    [slice(0, 2), slice(1, None), slice(None, None, 2), slice(-2, None), slice(3, 1)],
    ids=["0:2", "1:", "::2", "-2:", "3:1"],
)
def test_slices_of_chunks_are_their_chunks(make, part, tmp_path):
    chunks = make(tmp_path)
    each = [chunks[number] for number in range(len(chunks))]
    assert len(each) > 3
    assert_same_chunks(chunks[part], each[part])
    assert_same_chunks([chunks[-1]], each[-1:])


@pytest.mark.parametrize("cache", ["cached", "streamed"])
def test_rows_used_within_a_monitor_count_the_values_of_either_run(cache):
    A, y = make_moons(1200, noise=0.2, random_state=0)
    problem = make_problem(2 * y - 1, 1e-3)
    rows = make_rows(A, "rbf", gamma=2.0, cache=cache)
    inner = []

    def monitor(run):
        if not inner:
            inner.append(pegasos(problem, rows, epochs=2, random_state=1))

    outer = pegasos(problem, rows, epochs=3, random_state=0, monitor=monitor)
    of_runs = [run.history["kernel_evaluations"][-1] for run in (outer, *inner)]
    assert min(of_runs) > 0
    assert sum(of_runs) == rows.evaluations


def test_rows_used_again_within_the_first_epoch_are_not_computed_again():
    A, y = make_moons(1200, noise=0.2, random_state=0)
    problem = make_problem(2 * y - 1, 1e-3)
    rows = make_rows(A, "rbf", gamma=2.0, cache="cached")
    first = pegasos(problem, rows, epochs=3, random_state=0)
    once = rows.evaluations
    again = pegasos(problem, rows, epochs=3, random_state=0)
    assert_array_equal(again.alpha, first.alpha)
    assert rows.evaluations - once <= once
    assert again.history["kernel_evaluations"][-1] == rows.evaluations - once
