"""The same model whatever the cache, budget, tiles, threads, refits, pickles or parts of a run.

Counts must be equal, and coefficients to the last bit, since they are made of counts. Where two
counts differ, the run is made again in long double: it is excused only if a margin lay within
rounding of the edge of the band of ties.
"""

from __future__ import annotations

import pickle
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kpegasos import PegasosSVC
from kpegasos.kernels import gemm
from kpegasos.utils import tuning
from tests.campaigns._comparisons import check, compare, counts_of, replayed, slack_of
from tests.campaigns._models import Case, draw_case, largest_value, own_gram
from tests.campaigns._problems import one_of, power, some

CI_TRIALS = 10


def trial(rng: np.random.Generator) -> dict[str, int]:
    """Fit one problem in several ways, and compare."""
    case = draw_case(rng)
    outcomes: Counter[str] = Counter()
    attacks = [_change_resources] * 3
    others = [_refit, _pickled, _batches, _continued, _given_matrix, _polished, _replayed]
    attacks += [one_of(rng, others)]
    try:
        base = case.fit(**({} if case.kind == "primal" else {"cache": "precomputed"}))
        for attack in attacks:
            outcomes[attack(rng, case, base)] += 1
    except AssertionError as error:
        raise AssertionError(f"{error}\nin {case}") from None
    return dict(outcomes)


@contextmanager
def _resources(rng: np.random.Generator) -> Iterator[None]:
    """Other machine constants, and threads even for small products."""
    choices: dict[str, list[Any]] = {
        "TILE_ROWS": [1, 5, 16, 64],
        "FEWEST_ROWS": [2, 5, 16],
        "SMALL_TILE_ROWS": [1, 8, 32],
        "TILE_DRAWS": [1, 2, 7, 128],
        "TILED_ABOVE_ADDITIONS": [0, 10, 3000, 10**9],
        "GRAM_SAMPLES": [0, 2000],
        "HOT_BYTES": [1 << 8, 1 << 12, 1 << 18],
        "FEATURE_ROWS": [1, 7, 1024],
        "FRESH_BYTES": [0, 1 << 14, 1 << 30],
        "IDLE_EPOCHS": [0.01, 0.25],
        "MOST_AGAIN": [0.0, 0.1, 1.0],
        "GATHER_BYTES": [64, 1 << 24],
        "FIRST_SLICE": [1, 33, 1024],
        "MOST_DRAWS": [8, 1 << 20],
        "FEWEST_DRAWS": [1, 8],
        "WORK_OF_A_THREAD": [1.0, 1e7],
    }
    changes = {name: one_of(rng, values) for name, values in choices.items() if some(rng, 0.6)}
    with (
        mock.patch.multiple(tuning, **changes),
        mock.patch.object(gemm, "available_threads", return_value=3),
    ):
        yield


# --- attacks --------------------------------------------------------------------------------------


def _change_resources(rng: np.random.Generator, case: Case, base: Any) -> str:
    """Another cache, budget, number of threads, or tile."""
    changes: dict[str, Any] = {"n_jobs": one_of(rng, [None, 2, 3])}
    if case.kind != "primal":
        changes["cache"] = one_of(rng, ["cached", "cached", "cached", "streamed", "precomputed"])
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
    kept = changes.get("cache") != "streamed"
    return compare(case, base, other, f"{changes}", same_values=kept or case.is_exact)


def _refit(rng: np.random.Generator, case: Case, base: Any) -> str:
    """Fit again: the same object, and a clone of it."""
    decisions = base.decision_function(case.given(case.rows))
    base.predict(case.given(case.rows[::2]))
    for again in (clone(base), base):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            again.fit(case.given(case.rows), case.y, case.weight)
        found = again.decision_function(case.given(case.rows))
        check(np.array_equal(found, decisions), "a refit is the same to the last bit")
    return "refit, the same bits"


def _pickled(rng: np.random.Generator, case: Case, base: Any) -> str:
    """Through a pickle."""
    other = pickle.loads(pickle.dumps(base))
    rows = case.given(case.rows)
    expected = base.decision_function(rows)
    check(np.array_equal(other.decision_function(rows), expected), "a pickle decides alike")
    for name in ("dual_coef_", "support_", "intercept_", "objective_", "duality_gap_"):
        same = np.array_equal(getattr(base, name), getattr(other, name), equal_nan=True)
        check(same, f"a pickle has the same {name}")
    return "pickled, the same bits"


def _batches(rng: np.random.Generator, case: Case, base: Any) -> str:
    """Decisions of any batch of rows, in any order, between other calls."""
    new = case.rows[rng.integers(case.y.size, size=40)]
    new = (new + rng.normal(size=new.shape)).astype(new.dtype) if not case.is_exact else new
    expected = base._decisions_of_pairs(case.given(new))
    chosen = rng.integers(40, size=int(rng.integers(1, 60)))
    base.predict(case.given(new[chosen]))
    with _resources(rng):
        found = base._decisions_of_pairs(case.given(new[chosen]))
        single = base._decisions_of_pairs(case.given(new[:1]))
    if case.is_packed:
        same = np.array_equal(found, expected[chosen]) and np.array_equal(single, expected[:1])
        check(same, "decisions are the same bits in any batch")
        return "any batch, the same bits"
    eps = np.finfo(case.rows.dtype).eps
    size = np.abs(expected).max() + np.abs(base.dual_coef_).sum() * largest_value(case, new)
    worst = np.abs(found - expected[chosen]).max()
    check(worst <= 100 * eps * size, f"decisions are the same in any batch: {worst}, {size}")
    return "any batch, the same but for rounding"


def _continued(rng: np.random.Generator, case: Case, base: Any) -> str:
    """Two or three fits of a warm start are one long fit."""
    parts = [int(rng.integers(1, 200)) for _ in range(int(rng.integers(2, 4)))]
    cache = {} if case.kind == "primal" else {"cache": one_of(rng, ["cached", "precomputed"])}
    X = case.given(case.rows)
    whole = case.estimator(**cache).set_params(n_steps=sum(parts)).fit(X, case.y, case.weight)
    with _resources(rng):
        clf = case.estimator(**cache).set_params(warm_start=True)
        for n_steps in parts:
            clf.set_params(n_steps=n_steps).fit(X, case.y, case.weight)
    check(np.array_equal(clf.n_steps_, whole.n_steps_), "steps add up")
    return "warm start: " + compare(case, whole, clf, f"parts {parts}, {cache}", same_values=True)


def _given_matrix(rng: np.random.Generator, case: Case, base: Any) -> str:
    """The kernel's own values, given as a matrix."""
    if case.kind == "primal" or (case.weight is not None and not case.weight.all()):
        return "no matrix to give"
    if case.spec.name == "sigmoid":  # a given matrix is taken to be definite
        return "no matrix to give"
    gram = own_gram(case)
    options = case.options | {"kernel": "precomputed"}
    clf = PegasosSVC(**options).fit(gram, case.y, case.weight)
    return "given matrix: " + compare(case, base, clf, "given matrix", same_values=True)


def _replayed(rng: np.random.Generator, case: Case, base: Any) -> str:
    """The algorithm as written in the papers, in long double."""
    if case.options["projection"]:
        return "no whole counts to compare"
    excused = False
    for number, counts in enumerate(counts_of(base)):
        ratio, expected = replayed(case, base, number, same_values=case.has_own_bits)
        excused |= ratio < 1.0
        same = np.array_equal(counts, expected)
        check(same or ratio < 1.0, f"counts are those of a replay, whose closest margin is {ratio}")
    if excused:
        return "replayed, a margin within rounding of the band of ties"
    return "replayed, the same counts"


def _polished(rng: np.random.Generator, case: Case, base: Any) -> str:
    """Refined models: the same bits where all rows are kept, else the same optimum."""
    too_long = case.options.get("C", 1.0) > 100 or case.y.size > 100
    if case.spec.name == "sigmoid" or too_long:
        return "no optimum to compare"
    asked = {"polish": True, "tol": power(rng, -2, -1)}
    if case.kind == "primal":
        case.options |= asked
        asked = {}
    one = case.fit(**asked)
    other = case.fit(**asked, cache="streamed") if case.kind != "primal" else case.fit()
    (low, high), (other_low, other_high) = _interval(one), _interval(other)
    slack = slack_of(case, one, False) + slack_of(case, other, False)
    overlap = (np.maximum(low, other_low) <= np.minimum(high, other_high) + slack).all()
    check(overlap, f"certified intervals overlap: {low}, {high}, {other_low}, {other_high}")
    if case.kind != "primal":
        other = case.fit(**asked, cache="cached")
    same = np.array_equal(one.dual_coef_, other.dual_coef_)
    own_bits = case.has_own_bits and not case.options["projection"]
    check(same or not own_bits, "a polished model is the same to the last bit")
    return "polished, the same bits" if same else "polished, the same optimum"


def _interval(clf: Any) -> tuple[np.ndarray, np.ndarray]:
    high = np.atleast_1d(clf.objective_)
    return high - np.atleast_1d(clf.duality_gap_), high
