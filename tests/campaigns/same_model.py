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
from tests.campaigns._problems import Case, draw_case
from tests.campaigns._reference import KernelSpec
from tests.campaigns.harness import check, pick, power, some

CI_TRIALS = 10


def trial(rng):
    """Fit one problem in several ways, and compare."""
    case = _draw_case(rng)
    try:
        base = case.fit(**({"cache": "precomputed"} if _has_rows(case) else {}))
        return Counter(each(rng, case, base) for each in [*[_change_resources] * 3, _continued])
    except AssertionError as error:
        raise AssertionError(f"{error}\nin {case}") from None
    except ValueError as error:
        check("\n" not in str(error), "a refusal is one sentence", said=error)
        return "one clear sentence"


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
    if _has_rows(case):
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
    cache = {"cache": pick(rng, ["cached", "precomputed"])} if _has_rows(case) else {}
    X = case.given(case.rows)
    whole = case.estimator(**cache).set_params(n_steps=sum(parts)).fit(X, case.y, case.weight)
    with _resources(rng):
        clf = case.estimator(**cache).set_params(warm_start=True)
        for n_steps in parts:
            clf.set_params(n_steps=n_steps).fit(X, case.y, case.weight)
    check(np.array_equal(clf.n_steps_, whole.n_steps_), "steps add up")
    return "warm start: " + _compare(case, whole, clf, f"parts {parts}, {cache}")


# --- problems -------------------------------------------------------------------------------------


def _draw_case(rng):
    """A problem of the campaign of certificates, or one of integers, of which no sum is rounded."""
    case, _ = draw_case(rng)
    if some(rng, 0.4):
        (n, d), y = case.rows.shape, case.y
        rows = rng.integers(-3, 4, size=(n, d)) + 2.0 * (y[:, None] == np.arange(d))
        poly = KernelSpec("poly", pick(rng, [0.5, 1.0]), int(rng.integers(1, 4)), 1.0)
        options = case.options | {"lam": 2.0 ** -int(rng.integers(0, 14)), "class_weight": None}
        options["intercept_scaling"] = pick(rng, [1.0, 0.5, 2.0])
        spec, is_sparse = pick(rng, [poly, KernelSpec("linear")]), some(rng, 0.25)
        case = Case(rows.astype(case.rows.dtype), y, None, "named", spec, options, is_sparse, True)
        if options["sampling"] == "contiguous":
            options["sampling"] = "uniform"
    # All that leaves counts of whole steps.
    case.options |= {"projection": False, "polish": False, "tol": None, "max_time": None}
    case.options.pop("cache", None)
    return case


def _has_rows(case):
    """Whether kernel rows are computed, and may be kept."""
    return case.kind not in ("primal", "precomputed")


def _has_own_bits(case):
    """Whether kernel values are the same bits wherever and with whatever they are computed."""
    packed = case.kind in ("named", "object") and case.spec.name != "laplacian"
    return (
        (packed and not case.is_sparse) or case.is_exact or case.kind in ("callable", "precomputed")
    )


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
