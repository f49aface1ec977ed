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
    with_duplicates,
)
from scipy import sparse
from sklearn.base import clone

from kpegasos import LinearPegasosSVC, PegasosSVC


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("average", ["weighted", "suffix", None])
@pytest.mark.parametrize("batch_size", [1, 6])
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
def test_n_jobs_equivalence(Estimator):
    X, y = four_classes()
    a = Estimator(n_jobs=1, random_state=0).fit(X, y)
    b = Estimator(n_jobs=2, random_state=0).fit(X, y)
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


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "other",
    [
        {"cache": "precomputed"},
        {"cache": "cached"},
        {"cache": "cached", "cache_mb": 0.02},
        {"cache": "streamed"},
        {"cache": "streamed", "cache_mb": 0.02},
    ],
    ids=str,
)
def test_cache_equivalence_exact(kernel, n_classes, other):
    X, y = integers(n_classes, 64)
    parameters = {"kernel": kernel, "gamma": 0.5, "degree": 2, "coef0": 1.0, **EXACT}
    a = PegasosSVC(**parameters).fit(X, y)
    b = PegasosSVC(**parameters, **other).fit(X, y)
    assert_close_model(a, b, X)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
def test_cache_equivalence_predictions(kernel, cache):
    X, y = four_classes()
    a = PegasosSVC(kernel=kernel, random_state=0).fit(X, y)
    b = PegasosSVC(kernel=kernel, cache=cache, random_state=0).fit(X, y)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    np.testing.assert_allclose(a.objective_, b.objective_, rtol=1e-4)


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
    "clf",
    [
        PegasosSVC(kernel="linear", **EXACT),
        PegasosSVC(kernel="poly", degree=2, gamma=0.5, coef0=1.0, **EXACT),
        LinearPegasosSVC(**EXACT),
    ],
    ids=["kernel", "poly", "linear"],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_formats_exact(clf, name, n_classes):
    X, y = integers(n_classes)
    Z = FORMATS[name](X)
    clf = clone(clf).set_params(decision_function_shape="ovo")
    rtol = 1e-4 if "float32" in name else 1e-10
    assert_close_model(clone(clf).fit(X, y), clone(clf).fit(Z, y), X, Z, rtol=rtol)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_formats_of_distance_kernels(name, kernel):
    X, y = integers(2)
    Z = FORMATS[name](X)
    clf = PegasosSVC(kernel=kernel, gamma=0.1, random_state=0)
    a, b = clone(clf).fit(X, y), clone(clf).fit(Z, y)
    # A margin on the edge may be rounded over it, hence no more digits.
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(Z), atol=2e-3)
    # Predicting rows of another format than those of the fit.
    np.testing.assert_allclose(b.decision_function(Z), b.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(a.decision_function(Z), a.decision_function(X), atol=1e-4)


@BOTH
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("how", ["np.memmap", "joblib", "joblib csr"])
def test_read_only_memory_map(Estimator, n_classes, dtype, how, tmp_path):
    X, y = integers(n_classes)
    X = X.astype(dtype)
    path = tmp_path / "X"
    if how == "np.memmap":
        np.memmap(path, dtype=dtype, mode="w+", shape=X.shape)[:] = X
        mapped = np.memmap(path, dtype=dtype, mode="r", shape=X.shape)
        assert not mapped.flags.writeable
    else:
        joblib.dump(X if how == "joblib" else sparse.csr_matrix(X), path)
        mapped = joblib.load(path, mmap_mode="r")
        assert not (mapped if how == "joblib" else mapped.data).flags.writeable
    for n_jobs in (None, 2):
        clf = Estimator(n_jobs=n_jobs, **EXACT)
        a, b = clone(clf).fit(X, y), clone(clf).fit(mapped, y)
        assert_close_model(a, b, X, mapped, rtol=1e-5)
