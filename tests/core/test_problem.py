"""Objective, dual and the certificate between them."""

import naive
import numpy as np
import pytest
from conftest import make_integers
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kpegasos import (
    RBF,
    CachedRows,
    GramRows,
    KernelMatrix,
    Laplacian,
    Linear,
    Polynomial,
    UncachedRows,
    linear_rows,
    make_problem,
    make_rows,
    pegasos,
    sdca,
)
from kpegasos.core.averaging import AVERAGES
from kpegasos.core.problem import dual_bound, mean_loss, primal

DATA = make_integers()
K = naive.gram(DATA.X, DATA.X, "rbf", gamma=0.25)
M = DATA.y.size
each_weight = pytest.mark.parametrize("weighted", [False, True])
each_offset = pytest.mark.parametrize("offset", [0.0, 2.25])


def case(weighted, offset, seed):
    """A problem, its kernel and the non-negative coefficients of a point, many of them zero."""
    rng = np.random.default_rng(seed)
    lam = float(rng.choice([1e-3, 0.1, 4.0]))
    problem = make_problem(DATA.y, lam, DATA.weight if weighted else None)
    coef = rng.exponential(size=M) * (rng.random(M) < 0.6)
    signed = coef * problem.weight * DATA.y
    margins = (K + offset) @ signed
    return problem, coef, signed, margins, signed @ margins


# --- values -------------------------------------------------------------------------------------


@each_weight
@each_offset
@pytest.mark.parametrize("seed", range(5))
def test_primal_by_the_book(weighted, offset, seed):
    problem, _, signed, margins, norm = case(weighted, offset, seed)
    weight = DATA.omega if weighted else None
    expected = naive.primal(signed, K, DATA.y, problem.lam, weight, offset=offset)
    assert_allclose(primal(margins, norm, problem), expected, rtol=1e-12)
    assert_allclose(mean_loss(margins, problem), primal(margins, 0.0, problem), rtol=1e-15)


@each_weight
@pytest.mark.parametrize("seed", range(5))
def test_primal_of_a_vector_by_the_book(weighted, seed):
    problem = make_problem(DATA.y, 0.1, DATA.weight if weighted else None)
    *w, last = np.random.default_rng(seed).normal(size=4)
    expected = naive.linear_primal(
        [*w, last],
        DATA.X,
        DATA.y,
        0.1,
        DATA.omega if weighted else None,
        intercept_scaling=3.0,
    )
    value = primal(DATA.X @ w + 3.0 * last, np.dot(w, w) + last**2, problem)
    assert_allclose(value, expected, rtol=1e-12)


def test_primal_at_zero_is_one():
    for weight in (None, DATA.weight):
        assert primal(np.zeros(M), 0.0, make_problem(DATA.y, 0.1, weight)) == pytest.approx(1.0)


@each_weight
@each_offset
@pytest.mark.parametrize("seed", range(10))
def test_dual_bound_is_the_best_multiple(weighted, offset, seed):
    """No feasible multiple of β does better, and one does as well."""
    problem, coef, _, _, norm = case(weighted, offset, seed)
    weight = DATA.omega if weighted else None
    beta = problem.lam * M * coef
    theta = np.linspace(0, 1 / beta.max(), 401)
    values = [
        naive.dual(np.minimum(1, s * beta), K, DATA.y, problem.lam, weight, offset=offset)
        for s in theta
    ]
    bound = dual_bound(coef, norm, problem)
    assert bound >= max(values) - 1e-12
    assert_allclose(bound, max(values), rtol=1e-3, atol=1e-6)


@each_weight
def test_dual_bound_of_a_feasible_point(weighted):
    """The optimal β, given as coefficients, gives its own dual value."""
    problem = make_problem(DATA.y, 0.05, DATA.weight if weighted else None)
    weight = DATA.omega if weighted else None
    best, beta = naive.optimum(K, DATA.y, 0.05, weight, gap=1e-7)
    coef = np.array(beta) / (0.05 * M)
    signed = coef * problem.weight * DATA.y
    assert_allclose(dual_bound(coef, signed @ K @ signed, problem), best, atol=1e-7)
    assert_allclose(naive.dual(beta, K, DATA.y, 0.05, weight), best, atol=1e-12)


def test_dual_bound_is_never_negative():
    problem = make_problem(DATA.y, 0.1)
    assert dual_bound(np.zeros(M), 0.0, problem) == 0.0
    assert dual_bound(np.full(M, 1e6), 1e30, problem) >= 0.0


def test_dual_bound_stays_in_the_box():
    """A β beyond 1, as uniform sampling makes, is scaled and not taken as it is."""
    problem = make_problem([1, 1], 1.0)
    # Two orthogonal points, one drawn far too often: β = (4, 0) by the counts.
    bound = dual_bound(np.array([2.0, 0.0]), 1e-9, problem)
    assert_allclose(bound, 0.5, rtol=1e-6)


# --- problems -----------------------------------------------------------------------------------


def test_problem_weights_have_mean_one():
    problem = make_problem(DATA.y, 0.1, DATA.weight)
    assert_allclose(problem.weight, DATA.omega, rtol=1e-15)
    assert_allclose(problem.weight.mean(), 1.0, rtol=1e-15)
    assert_array_equal(make_problem(DATA.y, 0.1).weight, np.ones(M))


def test_problem_examples():
    problem = make_problem(DATA.y, 0.1, DATA.weight)
    assert_array_equal(problem.examples.label, DATA.y)
    assert_array_equal(problem.examples.signed, DATA.y * problem.weight)


@pytest.mark.parametrize("y", [[1, -1], np.array([1, -1], dtype=np.int8), (1.0, -1.0)], ids=str)
def test_problem_takes_labels_of_any_type(y):
    problem = make_problem(y, 1)
    assert problem.y.dtype == np.float64
    assert_array_equal(problem.y, [1, -1])
    assert isinstance(problem.lam, float)


@pytest.mark.parametrize("y", [[], 1, [[1, -1]], [[1], [1, -1]], {1, -1}], ids=str)
def test_problem_refuses_labels(y):
    with pytest.raises(ValueError, match="y must be a non-empty vector of labels"):
        make_problem(y, 0.1)


@pytest.mark.parametrize("lam", [0, -1, np.nan, np.inf])
def test_problem_refuses_lam(lam):
    with pytest.raises(ValueError, match=r"lam must be a positive finite number, got"):
        make_problem([1, -1], lam)


@pytest.mark.parametrize(
    "weight", [[1], [1, 0], [1, -1], [1, np.nan], [1, np.inf], [[1, 1]]], ids=str
)
def test_problem_refuses_weights(weight):
    with pytest.raises(ValueError, match="sample_weight must be 2 positive finite numbers"):
        make_problem([1, -1], 0.1, weight)


@pytest.mark.parametrize("weight", [1e-322, 1e-300, 1e300], ids=str)
def test_problem_refuses_weights_without_digits(weight):
    """Numbers next to the ends of float64 have few digits, or squares that are none."""
    with pytest.raises(ValueError, match=r"numbers from 1e-100 to 1e\+100, got .* from"):
        make_problem([1, -1], 0.1, [weight, weight])


@pytest.mark.parametrize("lam", [5e-324, 1e-200, 1e200, "1", True, [1], 10**400], ids=repr)
def test_problem_refuses_lam_without_digits(lam):
    with pytest.raises(ValueError, match=r"^lam must be (at least|at most|a positive finite)"):
        make_problem([1, -1], lam)


@pytest.mark.parametrize("y", [[1j, -1], np.array([1, -1], "m8[s]")], ids=str)
def test_problem_refuses_what_is_no_label(y):
    expected = r"^y must hold labels such as integers or strings, got (complex|timedelta)"
    with pytest.raises(ValueError, match=expected):
        make_problem(y, 0.1)


@pytest.mark.parametrize("source", ["cached", "streamed", "linear"])
def test_weights_are_repetitions(source):
    """An integer weight is as many copies: the same optimum."""
    weight = np.resize([1, 3, 2], M)
    copies = np.repeat(np.arange(M), weight)

    def rows(X):
        return linear_rows(X) if source == "linear" else make_rows(X, "linear", cache=source)

    options = {"tol": 1e-7, "max_epochs": 5000, "random_state": 0}
    weighted = sdca(make_problem(DATA.y, 0.5, weight), rows(DATA.X), **options)
    repeated = sdca(make_problem(DATA.y[copies], 0.5), rows(DATA.X[copies]), **options)
    assert_allclose(weighted.objective, repeated.objective, rtol=1e-6)


# --- the certificate ----------------------------------------------------------------------------

KERNELS = {
    "linear": (Linear(), "linear", {}),
    "poly": (Polynomial(0.5, 3, 1.0), "poly", {"gamma": 0.5, "degree": 3, "coef0": 1.0}),
    "rbf": (RBF(0.5), "rbf", {"gamma": 0.5}),
    "laplacian": (Laplacian(0.5), "laplacian", {"gamma": 0.5}),
}
SOURCES = {
    "precomputed": lambda kernel, X, B: GramRows.from_values(
        KernelMatrix(kernel, X), intercept_scaling=B
    ),
    "gram": lambda kernel, X, B: make_rows(kernel.block(X, X), "precomputed", intercept_scaling=B),
    "cached": lambda kernel, X, B: CachedRows(KernelMatrix(kernel, X), intercept_scaling=B),
    "streamed": lambda kernel, X, B: UncachedRows(
        KernelMatrix(kernel, X), intercept_scaling=B, tile_rows=3
    ),
    "sparse": lambda kernel, X, B: make_rows(
        sparse.csr_matrix(X), kernel, intercept_scaling=B, cache="cached"
    ),
}


@st.composite
def runs(draw):
    """Any small problem and any way to run Pegasos on it."""
    m = draw(st.integers(1, 7))
    d = draw(st.integers(1, 3))
    quarters = st.integers(-8, 8).map(lambda v: v / 4)
    X = np.array(draw(st.lists(quarters, min_size=m * d, max_size=m * d))).reshape(m, d)
    y = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=m, max_size=m)))
    weight = draw(st.none() | st.lists(st.integers(1, 20), min_size=m, max_size=m))
    name = draw(st.sampled_from(sorted(KERNELS)))
    return {
        "X": X,
        "y": y,
        "lam": 2.0 ** draw(st.integers(-4, 3)),
        "weight": weight,
        "kernel": name,
        "source": draw(st.sampled_from([*SOURCES, *(["vector"] if name == "linear" else [])])),
        "B": draw(st.sampled_from([0.0, 1.0, 3.0])),
        "options": {
            "batch_size": draw(st.integers(1, m)),
            "sampling": draw(st.sampled_from(["permutation", "uniform"])),
            "projection": draw(st.booleans()),
            "average": draw(st.sampled_from(AVERAGES)),
            "n_steps": draw(st.integers(1, 60)),
            "checkpoints": draw(st.sampled_from([None, "log", "epoch"])),
            "random_state": draw(st.integers(0, 99)),
        },
    }


@settings(max_examples=200)
@given(runs())
def test_certificate_holds_always(case):
    """P(w) − min P ≤ gap and the dual bound ≤ min P, by an optimum from elsewhere."""
    X, y, lam, B = case["X"], case["y"], case["lam"], case["B"]
    problem = make_problem(y, lam, case["weight"])
    kernel, name, parameters = KERNELS[case["kernel"]]
    if case["source"] == "vector":
        rows = linear_rows(X, intercept_scaling=B)
    else:
        rows = SOURCES[case["source"]](kernel, X, B)
    result = pegasos(problem, rows, **case["options"])
    gram = naive.gram(X, X, name, **parameters)
    best, _ = naive.optimum(gram, y, lam, problem.weight, offset=B**2, gap=1e-9)
    tiny = 1e-9 * max(1.0, result.objective) + 1e-9
    assert result.objective - best <= result.gap + tiny
    assert result.dual_bound <= best + tiny
    assert result.objective >= best - tiny
    assert (result.history["dual_bound"] <= best + tiny).all()
    assert_allclose(result.gap, result.objective - result.dual_bound, atol=tiny)
    # The objective is that of the coefficients that were returned.
    assert_allclose(
        result.objective,
        naive.primal(result.coef, gram, y, lam, problem.weight, offset=B**2),
        rtol=1e-8,
        atol=1e-9,
    )
    assert_allclose(result.margins, (gram + B**2) @ result.coef, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("sampling", ["permutation", "uniform"])
def test_certificate_closes(average, sampling):
    """The gap is not just valid: it goes to zero where the iterates converge."""
    options = {"average": average, "sampling": sampling, "random_state": 0}
    problem, rows = make_problem(DATA.y, 0.1), make_rows(K, "precomputed")
    gaps = [pegasos(problem, rows, n_steps=n, **options).relative_gap for n in (100, 10_000)]
    assert gaps[1] < 0.2 * gaps[0]
    if average == "weighted" and sampling == "permutation":
        assert pegasos(problem, rows, n_steps=100_000, **options).relative_gap < 2e-3
