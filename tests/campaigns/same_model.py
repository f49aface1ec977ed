"""The same model whatever the cache, budget, tiles, threads or parts of a run.

Counts must be equal, and coefficients to the last bit, since they are made of counts, wherever
kernel values are the same bits or of float64; other values are rounded otherwise in other blocks.
Runs with projections, whose counts are no integers, are those of the book in
`tests/solvers/test_losses_runs.py`; objectives and gaps are judged by the campaign of certificates.
"""

from collections import Counter
from contextlib import contextmanager
from unittest import mock

import numpy as np
from scipy import sparse

from kpegasos.utils import threads, tuning
from tests.campaigns._problems import Case
from tests.campaigns._reference import KernelSpec
from tests.campaigns.harness import check, pick, power, some

CI_TRIALS = 10


def trial(rng):
    """Fit one problem in several ways, and compare."""
    case = _draw_case(rng)
    try:
        base = case.fit(**({} if case.kind == "primal" else {"cache": "precomputed"}))
        return Counter(each(rng, case, base) for each in [*[_change_resources] * 3, _continued])
    except AssertionError as error:
        raise AssertionError(f"{error}\nin {case}") from None


@contextmanager
def _resources(rng):
    """Other machine constants, and threads even for small products."""
    choices = {
        "TILE_ROWS": [1, 5, 16, 64],
        "FEWEST_ROWS": [2, 5, 16],
        "SMALL_TILE_ROWS": [1, 8, 32],
        "TILE_DRAWS": [1, 2, 7, 128],
        "TILED_ABOVE_ADDITIONS": [0, 10, 3000, 10**9],
        "GRAM_SAMPLES": [0, 2000],
        "HOT_BYTES": [1 << 8, 1 << 12, 1 << 18],
        "FEATURE_ROWS": [1, 7, 1024],
        "FRESH_BYTES": [0, 1 << 14, 1 << 30],
        "GATHER_BYTES": [64, 1 << 24],
        "FIRST_SLICE": [1, 33, 1024],
        "MOST_DRAWS": [8, 1 << 20],
        "FEWEST_DRAWS": [1, 8],
        "WORK_OF_A_THREAD": [1.0, 1e7],
    }
    changes = {name: pick(rng, values) for name, values in choices.items() if some(rng, 0.6)}
    with (
        mock.patch.multiple(tuning, **changes),
        mock.patch.object(threads, "available_threads", return_value=3),
    ):
        yield


# --- attacks --------------------------------------------------------------------------------------


def _change_resources(rng, case, base):
    """Another cache, budget, number of threads, or tile."""
    changes = {"n_jobs": pick(rng, [None, 2, 3])}
    if case.kind != "primal":
        changes["cache"] = pick(rng, ["cached", "cached", "cached", "streamed", "precomputed"])
        whole = case.rows.shape[0] ** 2 * case.rows.itemsize / 2**20
        changes["cache_mb"] = whole * power(rng, -0.7, 1.5)
    else:
        case.options["n_jobs"] = changes["n_jobs"]
    with _resources(rng):
        try:
            other = case.fit(**changes)
        except ValueError as error:
            check("cache_mb must be at least" in str(error), f"a budget is named: {error}")
            return "too small a budget, one clear sentence"
    return _compare(case, base, other, f"{changes}")


def _continued(rng, case, base):
    """Two or three fits of a warm start are one long fit."""
    parts = [int(rng.integers(1, 200)) for _ in range(int(rng.integers(2, 4)))]
    cache = {} if case.kind == "primal" else {"cache": pick(rng, ["cached", "precomputed"])}
    X = case.given(case.rows)
    whole = case.estimator(**cache).set_params(n_steps=sum(parts)).fit(X, case.y, case.weight)
    with _resources(rng):
        clf = case.estimator(**cache).set_params(warm_start=True)
        for n_steps in parts:
            clf.set_params(n_steps=n_steps).fit(X, case.y, case.weight)
    check(np.array_equal(clf.n_steps_, whole.n_steps_), "steps add up")
    return "warm start: " + _compare(case, whole, clf, f"parts {parts}, {cache}")


# --- problems -------------------------------------------------------------------------------------

_NAMES = ["rbf", "rbf", "linear", "poly", "laplacian", "sigmoid", "cauchy", "callable"]


def _draw_case(rng):
    is_exact = some(rng, 0.4)
    n = int(rng.integers(12, 121)) if some(rng, 0.9) else int(rng.integers(121, 300))
    n_classes = int(pick(rng, [2, 2, 2, 3, 4]))
    y = rng.permutation(np.arange(n) % n_classes)
    d = int(rng.integers(1, 12))
    options = {
        "epochs": pick(rng, [0.7, 1, 2, 4, 8]),
        "random_state": int(rng.integers(2**31)),
        "average": pick(rng, ["weighted", "suffix", "uniform", None]),
        "sampling": pick(rng, ["permutation", "uniform"]),
        "batch_size": int(rng.integers(1, 5)) if some(rng, 0.3) else 1,
        "fit_intercept": some(rng, 0.7),
        "intercept_scaling": pick(rng, [1.0, 1.0, 0.5, 2.0]),
    }
    weight = None
    if is_exact:
        rows = rng.integers(-3, 4, size=(n, d)) + 2.0 * (y[:, None] == np.arange(d))
        kernels = [
            KernelSpec("linear"),
            KernelSpec("poly", pick(rng, [0.5, 1.0]), int(rng.integers(1, 4)), 1.0),
        ]
        options["lam"] = 2.0 ** -int(rng.integers(0, 14))
    else:
        rows = rng.normal(size=(n, d)) + np.outer(y, rng.normal(size=d))
        rows += power(rng, -1, 2) * rng.normal(size=d)
        gamma = power(rng, -3, 1)
        kernels = [KernelSpec(name, gamma, int(rng.integers(1, 4)), 1.0) for name in _NAMES]
        options["C"] = power(rng, -2, 4)
        if some(rng, 0.4):
            weight = 10.0 ** rng.uniform(-2, 2, size=n)
    if some(rng, 0.4):
        rows[rng.integers(n, size=n // 2)] = rows[rng.integers(n, size=n // 2)]
    if some(rng, 0.2):
        weight = (np.ones(n) if weight is None else weight) * (rng.random(n) < 0.8)
        weight[np.unique(y, return_index=True)[1]] = 1.0
    spec = pick(rng, kernels)
    kind = {"cauchy": "object", "callable": "callable"}.get(spec.name, "named")
    if spec.name == "linear" and some(rng, 0.3):
        kind = "primal"
        options["sampling"] = pick(rng, ["permutation", "uniform", "contiguous"])
    if kind == "callable":
        spec = spec._replace(name="rbf")
    dtype = np.float32 if some(rng, 1 / 3) else np.float64
    # Threads of OpenMP make small products of sparse rows for this kernel slow.
    is_sparse = some(rng, 0.25) and (spec.name != "laplacian" or n <= 40)
    # Pairs of several classes must have room for a batch.
    options["batch_size"] = min(options["batch_size"], n // n_classes)
    return Case(rows.astype(dtype), y, weight, kind, spec, options, is_sparse, is_exact)


def _has_own_bits(case):
    """Whether kernel values are the same bits wherever and with whatever they are computed."""
    packed = case.kind in ("named", "object") and case.spec.name != "laplacian"
    return (packed and not case.is_sparse) or case.is_exact or case.kind == "callable"


# --- comparisons ----------------------------------------------------------------------------------


def _counts_of(clf):
    return np.asarray(clf.alpha_.toarray() if sparse.issparse(clf.alpha_) else clf.alpha_[None])


def _compare(case, a, b, change):
    """Equal counts and coefficients, unless values that are rounded otherwise have told another."""
    same = np.array_equal(_counts_of(a), _counts_of(b))
    if not same and not _has_own_bits(case) and case.rows.dtype == np.float32:
        return "a margin within rounding of float32"
    check(same, f"counts are the same, {change}")
    for name in ("support_", "dual_coef_"):
        same = np.array_equal(getattr(a, name), getattr(b, name))
        check(same, f"{name} is the same to the last bit, {change}")
    return "the same bits"
