"""Threads that share an object get what the same calls get one by one, and true certificates.

Rows, estimators, searches and streams are used by two to four threads at once, which the
interpreter switches as often as it can. Machine constants are small, so that runs have many slices.
No call may hang.
"""

import sys
from threading import Barrier, Thread
from unittest import mock

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from kpegasos import (
    LinearPegasosSVC,
    PegasosSVC,
    PegasosSVCCV,
    linear_rows,
    make_problem,
    make_rows,
    pegasos,
    regularization_path,
    sdca,
)
from kpegasos.core.state import PegasosOptions
from kpegasos.large import fit_chunks
from kpegasos.solvers.pegasos import make_run
from kpegasos.solvers.polish import ascent_after, polished
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning
from tests.campaigns.harness import SMALL, pick, power

CI_TRIALS = 12

#: Seconds after which a call hangs.
_PATIENCE = 120.0


def trial(rng):
    """Use one object from several threads, and compare."""
    kinds = [_rows, _rows, _rows, _estimator, _predictions, _search, _stream]
    with mock.patch.multiple(tuning, **SMALL):
        return pick(rng, kinds)(rng)


def _at_once(calls):
    """What calls return that begin at the same time, a thread each."""
    found = [None] * len(calls)
    together = Barrier(len(calls))

    def work(number):
        together.wait()
        try:
            found[number] = calls[number]()
        except BaseException as error:
            found[number] = error

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [Thread(target=work, args=(k,), daemon=True) for k in range(len(calls))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_PATIENCE)
            assert not thread.is_alive(), "a call hangs"
    finally:
        sys.setswitchinterval(before)
    for each in found:
        if isinstance(each, BaseException):
            raise AssertionError("a call failed") from each
    return found


def _data(rng):
    n = int(rng.integers(40, 160))
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)


# --- rows -----------------------------------------------------------------------------------------


def _polished(problem, rows, seed):
    limits = {"n_steps": 100, "epochs": None, "checkpoints": None, "tol": None}
    run = make_run(problem, rows, PegasosOptions(), seed=seed, **limits)
    while not run.finished:
        run.advance(Stopper())
    ascent = ascent_after(run, tol=1e-3, stopper=Stopper())
    while ascent is not None and not ascent.finished:
        ascent.advance(Stopper(), 1e-3)
    return run.result() if ascent is None else polished(run, ascent)


_SOLVERS = {
    "pegasos": lambda problem, rows, seed: pegasos(problem, rows, epochs=3, random_state=seed),
    "sdca": lambda problem, rows, seed: sdca(problem, rows, tol=1e-3, random_state=seed),
    "polish": _polished,
    "path": lambda problem, rows, seed: regularization_path(problem, rows, [1.0 + seed], tol=1e-3),
}


def _rows(rng):
    """Runs on the same rows."""
    X, y = _data(rng)
    lam, gamma = power(rng, -3, -1), power(rng, -1, 1)
    problem = make_problem(y, lam=lam)
    cache = pick(rng, ["cached", "cached", "cached", "precomputed", "streamed", "features"])
    room = len(y) * (int(rng.integers(20, 60)) if cache == "cached" else len(y) + 40)
    options = {"gamma": gamma, "cache": cache, "cache_mb": max(room * 8 / 2**20, 0.02)}

    def new():
        return linear_rows(X) if cache == "features" else make_rows(X, "rbf", **options)

    jobs = [(pick(rng, _SOLVERS), seed) for seed in range(int(rng.integers(2, 5)))]
    alone = [_SOLVERS[name](problem, new(), seed) for name, seed in jobs]
    rows = new()
    found = _at_once([lambda job=job: _SOLVERS[job[0]](problem, rows, job[1]) for job in jobs])
    K = X @ X.T if cache == "features" else rbf_kernel(X, gamma=gamma)
    for (name, seed), one, other in zip(jobs, alone, found, strict=True):
        coef, low, high = _told(one)
        other_coef, other_low, other_high = _told(other)
        same = np.array_equal(coef, other_coef)
        assert same or name != "pegasos", f"{cache}: counts are those of the run alone"
        _check_truth(K, y, 1.0 / ((1.0 + seed) * len(y)) if name == "path" else lam, other)
        apart = max(low, other_low) - min(high, other_high)
        assert apart <= 1e-9 * high, f"{cache} {name}: intervals"
    if cache in ("cached", "streamed") and all(name != "path" for name, _ in jobs):
        charged = sum(each.history["kernel_evaluations"][-1] for each in found)
        assert charged == rows.evaluations, "each value is charged to the run that computed it"
    return f"rows, {cache}"


def _told(result):
    """Coefficients, the bound and the objective of a run, or of a path of one value."""
    if hasattr(result, "coefs"):
        return np.asarray(result.coefs[0]), result.dual_bounds[0], result.objectives[0]
    return np.asarray(result.coef), result.dual_bound, result.objective


def _check_truth(K, y, lam, result):
    """The objective is that of the coefficients, and no lower than the bound."""
    coef, low, told = _told(result)
    margins = K @ coef
    true = 0.5 * lam * coef @ margins + np.maximum(0.0, 1.0 - y * margins).mean()
    assert abs(true - told) <= 1e-8 * true, f"the objective told is {told}, the true one {true}"
    assert low <= true * (1.0 + 1e-12), f"the bound {low} lies above {true}"


# --- estimators -----------------------------------------------------------------------------------


def _models(rng):
    """An estimator, what it may be fitted to, new examples, and what is decided of them."""
    problems, new = [_data(rng) for _ in range(2)], rng.normal(size=(50, 3))
    options = {"random_state": int(rng.integers(100)), "epochs": 2}
    model = pick(rng, [PegasosSVC(**options), LinearPegasosSVC(**options)])
    if isinstance(model, PegasosSVC):
        model.set_params(cache=pick(rng, ["auto", "cached"]), polish=pick(rng, [False, True]))
    expected = [model.fit(*each).decision_function(new) for each in problems]
    return model, problems, new, expected


def _estimator(rng):
    """Fits of one estimator: the last one's model is left, whole."""
    model, problems, new, expected = _models(rng)
    numbers = rng.integers(2, size=int(rng.integers(2, 5))).tolist()
    _at_once([lambda number=number: model.fit(*problems[number]) for number in numbers])
    found = model.decision_function(new)
    sizes = [len(problems[k][1]) for k in set(numbers) if np.array_equal(found, expected[k])]
    assert sizes, "a model is that of one of the fits"
    assert model.alpha_.size in sizes, "all of one fit"
    return "estimators, fit"


def _predictions(rng):
    """Predictions while others fit are those of one model or the other."""
    model, problems, new, expected = _models(rng)

    def predict():
        return [model.decision_function(new) for _ in range(40)]

    def fit():
        for number in (0, 1, 0, 1):
            model.fit(*problems[number])

    for found in _at_once([predict, fit, predict])[::2]:
        for each in found:
            assert any(np.array_equal(each, one) for one in expected), "decisions of one model"
    return "estimators, predict while fit runs"


def _search(rng):
    """Fits of one search."""
    X, y = _data(rng)
    options = {"cv": 3, "n_jobs": pick(rng, [1, 2]), "random_state": 0}
    search, alone = (PegasosSVCCV([0.1, 10.0], gammas=[0.1, 1.0], **options) for _ in range(2))
    alone.fit(X, y)
    _at_once([lambda: search.fit(X, y)] * 2)
    assert search.best_params_ == alone.best_params_
    for name in ("mean_test_score", "split0_test_score"):
        np.testing.assert_array_equal(search.cv_results_[name], alone.cv_results_[name])
    np.testing.assert_array_equal(search.decision_function(X), alone.decision_function(X))
    return "searches"


def _stream(rng):
    """Passes over chunks; calls of `partial_fit` are in `tests/estimators/test_partial_fit.py`."""
    chunks = [_data(rng) for _ in range(int(rng.integers(2, 4)))]
    options = {"lam": power(rng, -3, -1), "random_state": int(rng.integers(100)), "epochs": 2}
    model, alone = (LinearPegasosSVC(**options) for _ in range(2))
    classes = np.unique(np.concatenate([y for _, y in chunks]))
    fit_chunks(alone, chunks, classes=classes)
    _at_once([lambda: fit_chunks(model, chunks, classes=classes)] * 2)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    return "streams"
