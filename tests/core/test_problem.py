"""Objective, dual and the certificate between them."""

import naive
import numpy as np
import pytest
from conftest import make_integers
from covering import each_value
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from row_cases import KERNELS, make_gram
from scipy import sparse

from kpegasos import KernelMatrix, UncachedRows, linear_rows, make_problem, make_rows, pegasos
from kpegasos.core.averaging import AVERAGES
from kpegasos.core.problem import dual_bound, mean_loss, primal

pytestmark = pytest.mark.pure_python

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
def test_primal_and_dual_bound_by_the_book(weighted, offset, seed):
    """The bound is the dual value of the best feasible multiple of β."""
    problem, coef, signed, margins, norm = case(weighted, offset, seed)
    data = (DATA.y, problem.lam, DATA.omega if weighted else None)
    expected = naive.primal(signed, K, *data, offset=offset)
    assert_allclose(primal(margins, norm, problem), expected, rtol=1e-12)
    assert_allclose(mean_loss(margins, problem), primal(margins, 0.0, problem), rtol=1e-15)
    beta = problem.lam * M * coef
    # A parabola through zero, its value half of the way to the end of the box, and that at the end.
    half, whole = (
        naive.dual(share * beta / beta.max(), K, *data, offset=offset) for share in (0.5, 1.0)
    )
    slope, curvature = 4 * half - whole, 4 * half - 2 * whole
    share = min(1.0, slope / (2 * curvature))
    expected = share * slope - share**2 * curvature
    assert_allclose(dual_bound(coef, norm, problem), expected, rtol=1e-9)


def test_dual_bound_is_never_negative():
    problem = make_problem(DATA.y, 0.1)
    assert dual_bound(np.zeros(M), 0.0, problem) == 0.0
    assert dual_bound(np.full(M, 1e6), 1e30, problem) >= 0.0


# --- the certificate ----------------------------------------------------------------------------

SOURCES = {
    "precomputed": lambda kernel, X, B: make_rows(
        kernel.block(X, X), "precomputed", intercept_scaling=B
    ),
    "streamed": lambda kernel, X, B: UncachedRows(
        KernelMatrix(kernel, X), intercept_scaling=B, tile_rows=3
    ),
    "cached": lambda kernel, X, B: make_rows(
        sparse.csr_matrix(X), kernel, intercept_scaling=B, cache="cached"
    ),
    "vector": lambda _, X, B: linear_rows(X, intercept_scaling=B),
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
    name = draw(st.sampled_from(sorted({*KERNELS} - {"sigmoid"})))
    return {
        "X": X,
        "y": y,
        "lam": 2.0 ** draw(st.integers(-4, 3)),
        "weight": weight,
        "kernel": name,
        "source": draw(st.sampled_from([*SOURCES][: 4 if name == "linear" else 3])),
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
    rows = SOURCES[case["source"]](KERNELS[case["kernel"]], X, B)
    result = pegasos(problem, rows, **case["options"])
    gram = make_gram(case["kernel"], X, X)
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


@each_value(average=AVERAGES, sampling=["permutation", "uniform"])
def test_certificate_closes(average, sampling):
    """The gap is not just valid: it goes to zero where the iterates converge."""
    options = {"average": average, "sampling": sampling, "random_state": 0}
    problem, rows = make_problem(DATA.y, 0.1), make_rows(K, "precomputed")
    gaps = [pegasos(problem, rows, n_steps=n, **options).relative_gap for n in (100, 10_000)]
    assert gaps[1] < 0.2 * gaps[0]
