"""The same model by other ways: formats of X, threads, caches."""

import joblib
import numpy as np
import pytest
from models import (
    BOTH,
    EXACT,
    assert_close_model,
    counts_of,
    four_classes,
    integers,
    two_classes,
    with_duplicates,
)
from scipy import sparse
from sklearn.base import clone

from kpegasos import (
    LinearPegasosSVC,
    PegasosSVC,
    linear_rows,
    make_problem,
    make_rows,
)
from kpegasos.solvers.pegasos import PegasosOptions, make_run
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils.validation import draw_seed


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("average", "batch_size"), [("weighted", 1), ("suffix", 6), (None, 1)])
def test_linear_kernel_equals_linear_estimator(n_classes, average, batch_size):
    X, y = integers(n_classes)
    common = {"average": average, "batch_size": batch_size, "checkpoints": "epoch", **EXACT}
    common["decision_function_shape"] = "ovo"  # a vote may hang on a rounded zero
    a = PegasosSVC(kernel="linear", **common).fit(X, y)
    b = LinearPegasosSVC(**common).fit(X, y)
    np.testing.assert_array_equal(counts_of(a), counts_of(b))
    np.testing.assert_array_equal(a.support_, b.support_)
    np.testing.assert_array_equal(a.n_support_, b.n_support_)
    np.testing.assert_allclose(a.dual_coef_, b.dual_coef_, rtol=1e-12)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(a.duality_gap_, b.duality_gap_, rtol=1e-6)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-9)


@BOTH
@pytest.mark.parametrize(
    "options",
    [
        {"average": "suffix", "sampling": "uniform"},
        {"average": None, "batch_size": 4, "projection": True},
        {"average": "uniform"},
    ],
    ids=str,
)
def test_run_is_that_of_the_solver(Estimator, options):
    """Every parameter gets to where it counts; a pair has draws of its own."""
    X, y = two_classes()
    if Estimator is PegasosSVC:
        own, rows = {"gamma": 2.0}, make_rows(X, "rbf", gamma=2.0, intercept_scaling=0.5)
    else:
        own, rows = {}, linear_rows(X, intercept_scaling=0.5)
    steps = {"n_steps": 400, "checkpoints": [100]}
    clf = Estimator(lam=0.02, intercept_scaling=0.5, random_state=5, **own, **steps, **options)
    run = make_run(
        make_problem(2.0 * y - 1.0, 0.02), rows, PegasosOptions(**options), **steps,
        epochs=None, tol=None, seed=draw_seed(5), spawn_key=(0,),
    )  # fmt: skip
    while not run.finished:
        run.advance(Stopper())
    np.testing.assert_allclose(clf.fit(X, y).objective_, run.result().objective, rtol=1e-12)
    np.testing.assert_array_equal(clf.alpha_, run.result().alpha)


def test_n_jobs_of_the_linear_model():
    X, y = four_classes()
    a, b = (LinearPegasosSVC(n_jobs=n, random_state=0).fit(X, y) for n in (1, 2))
    assert_close_model(a, b, X)
    for one, two in zip(a.history_, b.history_, strict=True):
        np.testing.assert_allclose(one["gap"], two["gap"], rtol=1e-9)


@pytest.mark.parametrize(
    "memory",
    [{"cache": "cached"}, {"cache": "cached", "cache_mb": 0.5}, {"cache": "precomputed"}, {}],
    ids=str,
)
def test_n_jobs_share_no_memory_in_use(memory):
    """Several pairs at once, each with rows of its own: exactly the model of one after another."""
    X, y = integers(5, 100)
    poly = {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0}
    a = PegasosSVC(n_jobs=1, **poly, **memory, **EXACT).fit(X, y)
    for _ in range(3):
        b = PegasosSVC(n_jobs=4, **poly, **memory, **EXACT).fit(X, y)
        assert_close_model(a, b, X, rtol=1e-12)


def wide(X):
    made = sparse.csr_matrix(X)
    made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


FORMATS = {
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "list": lambda X: X.tolist(),
    "int": lambda X: X.astype(np.int32),
    "float32": lambda X: X.astype(np.float32),
    "float32 fortran": lambda X: np.asfortranarray(X.astype(np.float32)),
    "big-endian": lambda X: X.astype(">f8"),
    "csr": sparse.csr_matrix,
    "csr array": sparse.csr_array,
    "csr float32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "csr int64": wide,
    "csr duplicates": with_duplicates,
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("clf", "n_classes"),
    [
        (PegasosSVC(kernel="poly", degree=2, gamma=0.5, coef0=1.0, **EXACT), 3),
        (LinearPegasosSVC(decision_function_shape="ovo", **EXACT), 2),
    ],
    ids=["poly", "linear"],
)
def test_formats_exact(clf, n_classes, name):
    X, y = integers(n_classes)
    Z = FORMATS[name](X)
    rtol = 1e-4 if "float32" in name else 1e-10
    clf = clone(clf).set_params(decision_function_shape="ovo")
    assert_close_model(clone(clf).fit(X, y), clone(clf).fit(Z, y), X, Z, rtol=rtol)


@BOTH
@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("convert", [np.asarray, np.float32, sparse.csr_matrix])
def test_read_only_memory_map(Estimator, convert, n_jobs, tmp_path):
    X, y = integers(3)
    joblib.dump(convert(X), tmp_path / "X")
    mapped = joblib.load(tmp_path / "X", mmap_mode="r")
    assert not (mapped.data if sparse.issparse(mapped) else mapped).flags.writeable
    clf = Estimator(n_jobs=n_jobs, **EXACT)
    a, b = clone(clf).fit(X, y), clone(clf).fit(mapped, y)
    assert_close_model(a, b, X, mapped, rtol=1e-5)
