"""Memory: what a budget is enough for, and that it is kept."""

import gc
from functools import partial

import numpy as np
import pytest
from covering import each_pair
from kernel_cases import each_dtype
from row_cases import BYTES_PER_EXAMPLE, SLACK_MB, X, large_data, peak_mb
from scipy import sparse

from kpegasos import KernelMatrix, Linear, PegasosSVC, make_problem, make_rows, pegasos
from kpegasos.kernels.exact import exact_products
from kpegasos.kernels.functions import scale_gamma
from kpegasos.rows import budget
from kpegasos.rows import cached as cache_module
from kpegasos.rows.budget import (
    ACCOUNT,
    Account,
    budget_mb,
    cache_capacity,
    cached_mb_needed,
    check_budget,
    most_mb_used,
)
from kpegasos.rows.cached import CachedRows
from kpegasos.rows.gram import GramRows
from kpegasos.utils import tuning


@each_pair(
    cache=["precomputed", "cached", "streamed"],
    dtype=[np.float64, np.float32],
    n=[3, 40, 53],
    as_rows=[np.asarray, sparse.csr_matrix],
)
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
    rows = np.arange(n, dtype=dtype)[:, None]
    values = KernelMatrix(Linear(), sparse.csr_matrix(rows) if is_sparse else rows)
    row = n * np.dtype(dtype).itemsize
    work = row + (24 * n if is_sparse else 0)
    most = most_mb_used(values)
    for cache_mb in cached_mb_needed(values) * np.array([1, 1.1, 2, 5, 20, 100, 1000]):
        kept, tile = cache_capacity(values, cache_mb)
        assert kept * row + tile * work <= cache_mb * tuning.MEBIBYTE
        assert kept >= min(n, 16)
        assert 1 <= tile <= min(256, kept)
    assert cache_capacity(values, 1e6) == cache_capacity(values, most) == (n, min(n, 256))


@pytest.mark.parametrize("cache", ["precomputed", "cached", "streamed"])
def test_check_budget_says_what_all_shares_need(cache):
    values = KernelMatrix(Linear(), X)
    check_budget(cache, 2.0, 6.0, values, shares=3)
    message = rf"cache_mb must be at least 8\.04 for cache='{cache}' with 53 examples, got 6"
    with pytest.raises(ValueError, match=message):
        check_budget(cache, 2.0, 6.0, values, shares=4)


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["cached", "streamed", "precomputed"])
def test_memory_of_sparse_rows_of_many_columns(cache):
    """No more than the budget, the support vectors and some features in work; they were copied."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(1_000_000, size=(600, 8000)), axis=1)
    ends = np.arange(0, columns.size + 1, 8000)
    X = sparse.csr_matrix((rng.normal(size=columns.size), columns.ravel(), ends), (600, 1_000_000))
    X.sum_duplicates()
    y = rng.choice([-1, 1], 600)
    whole, few = ((X[:n], make_problem(y[:n], 1e-3)) for n in (600, 20))

    def train(rows, problem):
        gamma = scale_gamma("scale", rows)
        source = make_rows(rows, "rbf", gamma=gamma, cache=cache, cache_mb=8)
        pegasos(problem, source, random_state=0, n_steps=50, checkpoints=None)

    train(*few)
    assert X.data.nbytes + X.indices.nbytes > 52 * tuning.MEBIBYTE
    assert peak_mb(partial(train, *whole)) < 8 + 48 + 32 * X.shape[1] / tuning.MEBIBYTE + 8


@each_dtype
def test_memory_of_an_evaluation_with_few_rows(dtype):
    """Margins of many examples against many, too: float32 values are not widened all at once."""
    n_samples, cache_mb = 9000, 16
    A = np.random.default_rng(0).normal(size=(n_samples, 2)).astype(dtype)
    rows = make_rows(A, "linear", cache="streamed", cache_mb=cache_mb)
    coef, everybody = np.ones(n_samples), np.ones(n_samples, dtype=bool)
    peak = peak_mb(lambda: exact_products(rows.exact, coef, everybody, rows.largest))
    assert peak < cache_mb + BYTES_PER_EXAMPLE * n_samples / tuning.MEBIBYTE + SLACK_MB


# --- what is free ---------------------------------------------------------------------------------


def set_free(monkeypatch, mb):
    """Let so much be free and nothing be granted, and let everybody ask."""
    monkeypatch.setattr(ACCOUNT, "_grants", type(ACCOUNT._grants)())
    monkeypatch.setattr(budget, "free_memory", lambda: int(mb * tuning.MEBIBYTE))
    monkeypatch.setattr(budget, "_MODEST_MB", 0.0)


def test_account_grants_no_more_than_is_free(monkeypatch):
    set_free(monkeypatch, 400)
    account = Account()
    first = account.grant(100, 1)
    second = account.grant(500, 1)
    third = account.grant(500, 1)
    assert (first.mb, second.mb, third.mb) == (100, 200, 1)  # of three quarters of 400
    assert account.granted_mb == 301
    del second
    gc.collect()
    assert account.granted_mb == 101
    fourth = account.grant(500, 90, shares=2)
    fifth = account.grant(500, 90, shares=2)
    assert (fourth.mb, fifth.mb) == (99.5, 90)  # what a source cannot do without


def test_sources_give_back_what_they_were_granted(monkeypatch):
    set_free(monkeypatch, 1000)
    gc.collect()
    before = ACCOUNT.granted_mb
    rows = [make_rows(X, "rbf", cache=cache) for cache in ("cached", "streamed", "precomputed")]
    assert ACCOUNT.granted_mb > before
    del rows
    gc.collect()
    assert ACCOUNT.granted_mb == pytest.approx(before)


def test_cache_auto_takes_what_is_free(monkeypatch):
    A = large_data(2200, 2)[0]
    for free, kind in ((1000, CachedRows), (40, CachedRows), (2, CachedRows)):
        set_free(monkeypatch, free)
        gc.collect()
        rows = make_rows(A, "rbf")
        assert type(rows) is kind
        assert rows.row_capacity * A.shape[0] * 8 <= free * tuning.MEBIBYTE
        del rows
    set_free(monkeypatch, 1000)
    assert type(make_rows(A[:500], "rbf")) is GramRows


def test_matrix_that_is_not_free_is_refused(monkeypatch):
    set_free(monkeypatch, 0.2)
    message = (
        "cache must be 'auto', 'cached' or 'streamed' where memory is short, got 'precomputed'"
    )
    with pytest.raises(ValueError, match=message):
        PegasosSVC(cache="precomputed").fit(*large_data())


@pytest.mark.parametrize(
    ("free", "granted", "threads", "expected"),
    [
        (6000, 0, 4, 3000),  # half
        (6000, 2000, 4, 2000),  # of what others have not been granted
        (100_000, 0, 4, 4096),
        (100_000, 0, 2, 2048),  # half of the processors
        (1500, 0, 1, 750),
        (100, 0, 4, 64),
        (None, 0, 4, 1024),
    ],
)
def test_cache_mb_auto_is_bounded(free, granted, threads, expected, monkeypatch):
    account = Account()
    held = account.grant(granted, 0)
    monkeypatch.setattr(budget, "ACCOUNT", account)
    amount = None if free is None else free * tuning.MEBIBYTE
    monkeypatch.setattr(budget, "free_memory", lambda: amount)
    monkeypatch.setattr(budget, "cpu_count", lambda: 4)
    monkeypatch.setattr(budget, "available_threads", lambda: threads)
    assert budget_mb("auto", 1e6) == expected
    assert budget_mb(7.0, 1e6) == 7.0
    assert held.mb == granted


def test_cache_mb_auto_asks_nothing_for_little(monkeypatch):
    monkeypatch.setattr(budget, "free_memory", lambda: pytest.fail("asked"))
    assert Account().grant(63, 1).mb == 63
    assert budget_mb("auto", 64.0) == 64.0
    assert type(make_rows(X, "rbf", cache_mb="auto")) is GramRows


def test_auto_fits_the_budget():
    """The whole matrix if small, rows while they fit otherwise."""
    for n, cache_mb, expected in (
        (512, 2.0, GramRows),
        (500, 1.8, CachedRows),
        (2000, 31.0, GramRows),
        (2001, 1024, CachedRows),
        (2001, 1.0, CachedRows),
        (2500, 8.0, CachedRows),
    ):
        rows = make_rows(np.arange(n)[:, None], "linear", cache_mb=cache_mb)
        assert type(rows) is expected


# --- no memory ------------------------------------------------------------------------------------


def refuse_beyond(monkeypatch, size):
    """Let arrays of kernel rows be no larger than so many numbers."""

    def few(shape, dtype):
        if np.prod(shape) > size:
            raise MemoryError("Unable to allocate")
        return np.empty(shape, dtype)

    monkeypatch.setattr(cache_module, "array_of", few)


def test_cache_goes_on_with_the_memory_it_gets(monkeypatch):
    A, y = large_data(1500)
    A = np.round(A)
    options = {"epochs": 2, "random_state": 0, "cache": "cached", "kernel": "linear"}
    expected = PegasosSVC(**options).fit(A, y)
    refuse_beyond(monkeypatch, 1500 * 100)
    assert make_rows(A, "linear", cache="cached").row_capacity == 93
    assert np.array_equal(PegasosSVC(**options).fit(A, y).alpha_, expected.alpha_)


def test_fit_without_memory_says_so_and_leaves_the_earlier_model(monkeypatch):
    A, y = large_data(1500)
    model = PegasosSVC(epochs=1, random_state=0).fit(A[:100], y[:100])
    before = model.decision_function(A)
    refuse_beyond(monkeypatch, 100)
    model.set_params(cache="cached", cache_mb=50)
    with pytest.raises(MemoryError, match="cache_mb must be less where memory is short, got 50"):
        model.fit(A, y)
    assert np.array_equal(model.decision_function(A), before)
