"""Sources of kernel rows: what they compute, what they keep, what they refuse."""

import tracemalloc

import naive
import numpy as np
import pytest
from conftest import stream
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
    Sigmoid,
    UncachedRows,
    make_problem,
    make_rows,
    pegasos,
    sdca,
)
from kpegasos.rows.cached import BufferPool, cache_capacity, cache_mb_needed
from kpegasos.utils.validation import check_gram

RNG = np.random.default_rng(0)
X = RNG.normal(size=(53, 4))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=53) > 0, 1, -1)
N = Y.size
KERNELS = {
    "linear": Linear(),
    "poly": Polynomial(0.5, 3, 1.0),
    "rbf": RBF(0.5),
    "laplacian": Laplacian(0.5),
    "sigmoid": Sigmoid(0.5, -1.0),
}
each_kernel = pytest.mark.parametrize("kernel", KERNELS)
each_cache = pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
each_format = pytest.mark.parametrize(
    "as_rows", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"]
)
each_dtype = pytest.mark.parametrize("dtype", [np.float64, np.float32])
MEBIBYTE = 2**20


def gram(kernel, A=X, B=X):
    k = KERNELS[kernel]
    return naive.gram(A, B, kernel, **{name: getattr(k, name) for name in vars(k)})


# --- values -------------------------------------------------------------------------------------


@each_kernel
@each_cache
@each_format
@each_dtype
@pytest.mark.parametrize("B", [0.0, 1.5])
def test_product_by_the_book(kernel, cache, as_rows, dtype, B):
    """Each source stands for the same matrix, dense or not, with the constant feature."""
    rows = make_rows(as_rows(X.astype(dtype)), KERNELS[kernel], cache=cache, intercept_scaling=B)
    columns = RNG.normal(size=(N, 2))
    columns[::3] = 0
    expected = (gram(kernel) + B**2) @ columns
    rtol, atol = (1e-10, 1e-10) if dtype == np.float64 else (1e-4, 1e-3)
    product = rows.product(columns)
    assert product.dtype == np.float64
    assert_allclose(product, expected, rtol=rtol, atol=atol)
    diagonal = gram(kernel).diagonal() + B**2
    assert_allclose(rows.squared_norms(), diagonal, rtol=rtol if dtype == np.float64 else 1e-5)
    assert rows.n_samples == N
    assert rows.positive_definite == (kernel != "sigmoid")


@each_kernel
@each_cache
@each_dtype
def test_training_by_the_book(kernel, cache, dtype):
    """Margins and coefficients that a run returns belong together."""
    rows = make_rows(X.astype(dtype), KERNELS[kernel], cache=cache, intercept_scaling=1.0)
    result = pegasos(make_problem(Y, 0.05), rows, epochs=6, batch_size=4, random_state=0)
    expected = (gram(kernel) + 1.0) @ result.coef
    assert_allclose(result.margins, expected, rtol=1e-4, atol=1e-3 if dtype == np.float32 else 1e-9)


def test_rows_of_csr_with_duplicates():
    """Entries stored twice add up, in norms too."""
    X2 = sparse.csr_matrix(X)
    halves = sparse.csr_matrix(
        (np.repeat(X2.data / 2, 2), np.repeat(X2.indices, 2), 2 * X2.indptr), shape=X.shape
    )
    assert not halves.has_canonical_format
    for kernel in ("linear", "poly", "rbf", "laplacian"):
        rows = make_rows(halves, KERNELS[kernel])
        assert_allclose(rows.product(np.eye(N)), gram(kernel), rtol=1e-9, atol=1e-12)
        assert_allclose(rows.squared_norms(), gram(kernel).diagonal(), rtol=1e-9)


# --- choosing -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "cache_mb", "expected"),
    [
        (N, 1024, GramRows),
        (500, 2.0, GramRows),
        (500, 1.8, UncachedRows),
        (2000, 31.0, GramRows),
        (2001, 1024, CachedRows),
        (2001, 1.0, UncachedRows),
        (2500, 30.0, CachedRows),
        (2500, 15.0, CachedRows),
        (2500, 8.0, UncachedRows),
    ],
)
def test_auto_fits_the_budget(n, cache_mb, expected):
    """The whole matrix if small, rows while a good part of them fits, nothing otherwise."""
    rows = make_rows(np.zeros((n, 1)) + np.arange(n)[:, None], "linear", cache_mb=cache_mb)
    assert type(rows) is expected


@pytest.mark.parametrize(
    ("cache", "expected"),
    [("precomputed", GramRows), ("cached", CachedRows), ("streamed", UncachedRows)],
)
def test_cache_by_name(cache, expected):
    assert type(make_rows(X, "rbf", cache=cache)) is expected


def test_cache_unknown():
    with pytest.raises(ValueError, match=r"cache must be one of .*'streamed'.* got 'disk'"):
        make_rows(X, "rbf", cache="disk")


@pytest.mark.parametrize("data", [X.tolist(), X.astype(np.float16), X.astype(">f8")], ids=type)
def test_rows_of_other_types_are_float64(data):
    rows = make_rows(data, "linear")
    assert rows.gram.dtype == np.float64
    Z = np.asarray(data, dtype=np.float64)
    assert_allclose(rows.gram, Z @ Z.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
@each_dtype
@pytest.mark.parametrize("n", [3, 40, 53])
@each_format
def test_cache_mb_too_small(cache, dtype, n, as_rows):
    """The error names the least that would do: that number is accepted as it is printed."""
    data = as_rows(X[:n].astype(dtype))
    with pytest.raises(ValueError, match="cache_mb must be at least") as error:
        make_rows(data, "rbf", cache=cache, cache_mb=1e-9)
    needed = float(str(error.value).split("cache_mb must be at least ")[1].split()[0])
    make_rows(data, "rbf", cache=cache, cache_mb=needed)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 100, 1000, 5000])
@pytest.mark.parametrize("is_sparse", [False, True])
@each_dtype
def test_cache_capacity_keeps_the_budget(n, is_sparse, dtype):
    """Rows kept and rows in work together take no more than was given."""
    row = n * np.dtype(dtype).itemsize
    work = row + (n * (np.dtype(dtype).itemsize + 8) if is_sparse else 0)
    needed = cache_mb_needed(n, dtype, is_sparse)
    for cache_mb in needed * np.array([1, 1.1, 2, 5, 20, 100, 1000]):
        kept, block = cache_capacity(n, dtype, cache_mb, is_sparse)
        assert kept * row + block * work <= cache_mb * MEBIBYTE
        assert kept >= min(n, 16)
        assert 1 <= block <= min(256, kept)
    assert cache_capacity(n, dtype, 1e6, is_sparse) == (n, min(n, 256))


# --- Gram matrices ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (3,), (2, 2, 2)], ids=str)
def test_check_gram_not_square(shape):
    with pytest.raises(ValueError, match=r"square kernel matrix, got shape \("):
        make_rows(np.ones(shape), "precomputed")


@pytest.mark.parametrize("n", [3, 600, 1100])
@each_dtype
def test_check_gram_not_symmetric(n, dtype):
    K = np.eye(n, dtype=dtype)
    K[n - 1, 0] = 1e-2
    with pytest.raises(ValueError, match=r"symmetric kernel matrix, got entries .* by 0.01"):
        make_rows(K, "precomputed")


@each_dtype
def test_check_gram_symmetric_to_rounding(dtype):
    K = (1e3 * gram("rbf")).astype(dtype)
    K[3, 5] *= 1 + 8 * np.finfo(dtype).eps
    assert K[3, 5] != K[5, 3]
    assert check_gram(K) is K


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(1, 2), (2, 2)], ids=str)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_check_gram_not_finite(value, place):
    """Such a matrix is no more symmetric than it is a kernel; margins would be NaN throughout."""
    K = np.eye(4)
    K[place] = K[place[::-1]] = value
    with pytest.raises(ValueError, match="kernel='precomputed' expects X"):
        check_gram(K)


@pytest.mark.parametrize("kind", [list, np.int64, np.float16, bool])
def test_check_gram_of_other_types(kind):
    K = np.eye(4).tolist() if kind is list else np.eye(4).astype(kind)
    checked = check_gram(K)
    assert checked.dtype == np.float64
    assert_array_equal(checked, np.eye(4))


def test_gram_is_only_read():
    """A matrix may be a memory map that nobody may write to, in either order."""
    K = gram("rbf")
    expected = pegasos(make_problem(Y, 0.1), make_rows(K.copy(), "precomputed"), random_state=0)
    K.flags.writeable = False
    for matrix in (K, np.asfortranarray(K)):
        result = pegasos(make_problem(Y, 0.1), make_rows(matrix, "precomputed"), random_state=0)
        assert_array_equal(result.alpha, expected.alpha)
        assert_allclose(result.coef, expected.coef)


def test_gram_float32_is_not_copied():
    K = gram("rbf").astype(np.float32)
    assert make_rows(K, "precomputed").gram is K


# --- keeping rows -------------------------------------------------------------------------------


def test_cached_rows_cost_no_more_than_the_matrix():
    """While everything fits, no value is computed twice, in one run or in several."""
    rows = make_rows(X, "rbf", cache="cached")
    for random_state in range(4):
        pegasos(make_problem(Y, 1e-3), rows, epochs=5, random_state=random_state)
    sdca(make_problem(Y, 1e-3), rows, max_epochs=20)
    assert N <= rows.evaluations <= N * N


def test_cached_rows_evict_the_least_recently_used():
    """Everything violates and comes round once in an epoch: the rows drawn last are there."""
    blocks = KernelMatrix(Linear(), np.eye(200))
    rows = CachedRows(blocks, cache_mb=40 * 200 * 8 / MEBIBYTE, tile_rows=1)
    kept = rows._rows.values.shape[0]
    assert 16 <= kept < 40
    task = make_problem(np.ones(200), 1.0)
    result = pegasos(task, rows, n_steps=1000, random_state=0, checkpoints=None)
    assert_array_equal(result.alpha, 5)
    latest = list(dict.fromkeys(stream(200, 1000)[::-1].tolist()))[:kept]
    assert set(np.flatnonzero(rows._rows.slots >= 0)) == set(latest)


def test_cached_rows_full_of_an_earlier_run():
    """What an earlier run left behind gives way: dual ascent costs what it does on fresh rows."""
    A = RNG.normal(size=(300, 3))
    task = make_problem(np.where(RNG.random(300) < 0.5, 1, -1), 1e-2)

    def rows():
        return make_rows(A, "rbf", cache="cached", cache_mb=0.3 * 300 * 300 * 8 / MEBIBYTE)

    def cost(source):
        before = source.evaluations
        sdca(task, source, tol=1e-9, max_epochs=10, random_state=0)
        return source.evaluations - before

    fresh, used = rows(), rows()
    pegasos(task, used, epochs=20, random_state=0, checkpoints=None)
    assert cost(used) < 1.5 * cost(fresh)


def test_cached_rows_of_an_earlier_run_are_the_oldest():
    """Whether that run had used them or only fetched them ahead."""
    A = RNG.normal(size=(300, 3))
    task = make_problem(np.where(RNG.random(300) < 0.5, 1, -1), 1e-2)
    rows = make_rows(A, "rbf", cache="cached", cache_mb=0.3 * 300 * 300 * 8 / MEBIBYTE)
    pegasos(task, rows, n_steps=100, random_state=0, checkpoints=None)
    assert (rows._rows.ticks < -1).any()  # fetched and not used so far
    pegasos(task, rows, n_steps=1, random_state=0, checkpoints=None)
    ticks = rows._rows.ticks
    assert np.where(ticks < 0, -1 - ticks, ticks).max() <= 1


def test_streamed_counts_what_it_computes():
    """Evaluations are those of the blocks: draws against support, and against themselves."""
    calls = []

    class Counting(RBF):
        def apply(self, products, norms_a, norms_b):
            calls.append(products.size)
            super().apply(products, norms_a, norms_b)

    rows = UncachedRows(KernelMatrix(Counting(0.5), X), tile_rows=8)
    pegasos(make_problem(Y, 0.1), rows, n_steps=50, average=None, checkpoints=None, random_state=0)
    # The last product is that of the evaluation, over the support.
    assert 0 < rows.evaluations <= sum(calls)
    assert sum(calls) - rows.evaluations <= N * N


def test_row_buffers_are_handed_on():
    buffers = BufferPool()
    blocks = KernelMatrix(RBF(0.5), X)
    first = CachedRows(blocks, buffers=buffers)
    expected = pegasos(make_problem(Y, 0.1), first, epochs=3, random_state=0)
    both = CachedRows(blocks, buffers=buffers)
    assert not np.shares_memory(both._rows.values, first._rows.values)
    del first, both
    small = CachedRows(KernelMatrix(RBF(0.5), X[:20]), buffers=buffers)
    assert small._rows.values.shape == (20, 20)
    del small
    again = CachedRows(blocks, buffers=buffers)
    assert again._rows.values.shape == (N, N)
    result = pegasos(make_problem(Y, 0.1), again, epochs=3, random_state=0)
    assert_array_equal(result.alpha, expected.alpha)
    assert_array_equal(result.coef, expected.coef)


# --- memory -------------------------------------------------------------------------------------

#: Beside the kernel values: state, draws, labels and a centred copy of ten features.
BYTES_PER_EXAMPLE = 150
SLACK_MB = 4.0


def large(n_samples=3000, n_features=10):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(n_samples, n_features))
    return A, np.where(A[:, 0] * A[:, 1] + 0.3 * rng.normal(size=n_samples) > 0, 1, -1)


def peak_mb(train):
    """Most memory that was held at a time, beyond what was held before."""
    tracemalloc.start()
    try:
        train()
        return tracemalloc.get_traced_memory()[1] / MEBIBYTE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("cache", "cache_mb"),
    [("cached", 0.6), ("cached", 2), ("cached", 8), ("streamed", 0.5), ("streamed", 8)],
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@each_dtype
def test_memory_stays_within_the_budget(cache, cache_mb, kernel, dtype):
    A, y = large()
    A = A.astype(dtype)
    task = make_problem(y, 1e-3)
    options = {"n_steps": 2000, "checkpoints": [1000, 2000], "random_state": 0}

    def train(rows=A, problem=task, mb=cache_mb):
        pegasos(problem, make_rows(rows, kernel, cache=cache, cache_mb=mb), **options)

    train(A[:50], make_problem(y[:50], 1e-3), 8)  # compiles
    assert peak_mb(train) < cache_mb + BYTES_PER_EXAMPLE * y.size / MEBIBYTE + SLACK_MB


@pytest.mark.parametrize("cache_mb", [2, 8])
def test_memory_of_sparse_rows(cache_mb):
    A, y = large()
    A[np.random.default_rng(0).random(A.shape) < 0.7] = 0
    data, task = sparse.csr_matrix(A), make_problem(y, 1e-3)
    for cache in ("cached", "streamed"):

        def train(rows=data, problem=task, cache=cache):
            source = make_rows(rows, "rbf", cache=cache, cache_mb=cache_mb)
            pegasos(problem, source, n_steps=1500, checkpoints=None, random_state=0)

        train(data[:50], make_problem(y[:50], 1e-3))
        assert peak_mb(train) < cache_mb + BYTES_PER_EXAMPLE * y.size / MEBIBYTE + SLACK_MB


@each_dtype
def test_memory_of_streamed_evaluation(dtype):
    """Margins of many examples against many, too: float32 values are not widened all at once."""
    n_samples, cache_mb = 9000, 16
    A = np.random.default_rng(0).normal(size=(n_samples, 2)).astype(dtype)
    rows = make_rows(A, "linear", cache="streamed", cache_mb=cache_mb)
    columns = np.ones((n_samples, 2))
    peak = peak_mb(lambda: rows.product(columns))
    assert peak < cache_mb + BYTES_PER_EXAMPLE * n_samples / MEBIBYTE + SLACK_MB


@each_dtype
def test_memory_of_streamed_large_batches(dtype):
    """A batch as large as the budget allows is scored against the support within it, too."""
    cache_mb, (A, y) = 32, large(9000, 2)
    A, task = A.astype(dtype), make_problem(y, 1.0)

    def train(rows=A, problem=task, batch_size=1448):
        source = make_rows(rows, "linear", cache="streamed", cache_mb=cache_mb)
        # As if every example had violated: the support is more than one product may take.
        state = pegasos(problem, source, n_steps=1, batch_size=batch_size, checkpoints=None).state
        state.loop.alpha[:] = 1
        pegasos(problem, source, n_steps=1, batch_size=batch_size, checkpoints=None, state=state)

    train(A[:50], make_problem(y[:50], 1.0), 20)  # compiles
    assert peak_mb(train) < cache_mb + BYTES_PER_EXAMPLE * y.size / MEBIBYTE + SLACK_MB


def test_streamed_refuses_batches_beyond_its_budget():
    """A batch is scored against itself, and the sentence says what that takes."""
    A, y = large()

    def train(cache_mb):
        rows = make_rows(A, "linear", cache="streamed", cache_mb=cache_mb)
        pegasos(
            make_problem(y, 1e-3),
            rows,
            n_steps=4,
            batch_size=2000,
            checkpoints=None,
            random_state=0,
        )

    with pytest.raises(
        ValueError, match=r"cache_mb must be at least .* for batch_size=2000"
    ) as caught:
        train(1.0)
    train(float(str(caught.value).split("at least ")[1].split()[0]))
