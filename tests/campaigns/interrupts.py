"""Ctrl-C and max_time end any call soon, and leave a whole model: the new one or that of before.

Ctrl-C is pressed once, twice or three times at random moments of fits, streams, predictions and
searches; then the call is made again. ``max_time`` is overrun by a slice and what a model costs.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import parallel_config
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

from kpegasos import RBF, LinearPegasosSVC, PegasosSVC, fit_chunks, make_problem, make_rows, sdca
from kpegasos.fitting.observers import HAS_CALLBACKS
from tests.campaigns._cold import interrupt_compilation
from tests.campaigns._faults import Hooks, Kernel
from tests.campaigns._pressing import Presser
from tests.campaigns._remains import check_certificate, check_usable, model_of

CI_TRIALS = 25

#: Never reached; max_time only keeps a trial that fails from running for ever.
_ENDLESS = {"n_steps": 10**9, "max_time": 30.0}


def trial(rng: np.random.Generator) -> dict[str, int]:
    """End something by Ctrl-C or max_time, and look at what remains."""
    kinds = [_fit, _stream, _chunks, _predict, _search, _elsewhere, _solver, _max_time, _ignored]
    shares = [0.4, 0.1, 0.06, 0.1, 0.06, 0.08, 0.07, 0.1, 0.03]
    # The first compilation takes half a minute.
    if rng.random() < 0.001:
        return {interrupt_compilation(rng): 1}
    kind = kinds[int(rng.choice(len(kinds), p=shares))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        outcome, late = kind(rng)
    bucket = next(limit for limit in (0.1, 0.3, 1.0, 2.0, np.inf) if late < limit)
    return {outcome: 1, f"ended less than {bucket:g} s late": 1}


def _pick(rng: np.random.Generator, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _presser(rng: np.random.Generator, longest: float = 0.06) -> Presser:
    """One press, or several in quick succession."""
    others = 10 ** rng.uniform(-6, -2, size=_pick(rng, 0, 0, 1, 2))
    return Presser([float(rng.uniform(0, longest)), *others.tolist()])


def _data(rng: np.random.Generator, n_classes: int) -> tuple[Any, np.ndarray]:
    return make_blobs(
        int(rng.integers(60, 400)), centers=n_classes, n_features=3, cluster_std=3.0,
        random_state=int(rng.integers(100)),
    )  # fmt: skip


def _estimator(rng: np.random.Generator, X: Any) -> tuple[Any, np.ndarray]:
    """Any estimator that trains for ever, and the kernel values that it sees."""
    settings = {
        **_ENDLESS, "random_state": 0, "C": float(10 ** rng.uniform(-1, 3)),
        "average": _pick(rng, "weighted", "suffix", "uniform", None),
        "checkpoints": _pick(rng, "log", None, "epoch"), "n_jobs": _pick(rng, None, 2),
        "warm_start": bool(rng.random() < 0.3), "verbose": False,
    }  # fmt: skip
    if rng.random() < 0.35:
        estimator: Any = LinearPegasosSVC(**settings)
        if not estimator.warm_start and rng.random() < 0.3:
            estimator.set_params(early_stopping=True, n_iter_no_change=10**9)
        return estimator, X @ X.T
    kernel = _pick(rng, "rbf", "rbf", Kernel(0.2))
    cache = _pick(rng, "precomputed", "cached", "streamed", "auto")
    if rng.random() < 0.3:  # polished for ever
        settings |= {"polish": True, "tol": 1e-300, "n_steps": 200, "checkpoints": None}
    return PegasosSVC(kernel=kernel, gamma=0.2, cache=cache, **settings), RBF(0.2).block(X, X)


def _fit(rng: np.random.Generator) -> tuple[str, float]:
    """A fit that is interrupted has the model reached so far, or that of before."""
    n_classes = _pick(rng, 2, 2, 3, 4)
    X, y = _data(rng, n_classes)
    estimator, gram = _estimator(rng, X)
    if HAS_CALLBACKS and estimator.checkpoints != "epoch" and rng.random() < 0.2:
        estimator.set_callbacks(Hooks())
    if rng.random() < 0.5 and not estimator.warm_start:
        endless = estimator.get_params()
        estimator.set_params(**{**_ended(endless), "C": 2.0}).fit(X[:, :2], y)
        estimator.set_params(**endless)
    before = model_of(estimator)
    presser = _presser(rng)
    raised = presser.during(lambda: estimator.fit(X, y))
    # A polished model may be at the limit of rounding before the press.
    assert raised is not None or estimator.polish, "Ctrl-C was lost"
    if model_of(estimator) == before:
        assert len(presser.delays) > 1 or "reached so far" not in str(raised)
        what = "the model before"
    else:
        check_usable(estimator, X, 3)
        if not getattr(estimator, "early_stopping", False):
            check_certificate(estimator, X, y, gram)
        if n_classes == 2 and estimator.n_steps_ < 30_000 and not estimator.polish:
            _check_is_fit_of_so_many_steps(estimator, X, y)
        what = "the model reached so far"
    _check_next_fit(estimator, X, y)
    return f"fit: {what}", presser.late


def _ended(parameters: dict[str, Any]) -> dict[str, Any]:
    """The same parameters for a fit that ends."""
    ends = {"n_steps": 300, "max_time": None, "polish": False, "tol": None, "warm_start": False}
    return {**parameters, **ends}


def _check_is_fit_of_so_many_steps(estimator: Any, X: Any, y: np.ndarray) -> None:
    steps = int(estimator.n_steps_)
    whole = copy.copy(estimator)
    whole.__dict__.pop("_skl_callbacks", None)
    whole.set_params(**{**_ended(estimator.get_params()), "n_steps": steps}).fit(X, y)
    np.testing.assert_array_equal(whole.alpha_, estimator.alpha_)


def _check_next_fit(estimator: Any, X: Any, y: np.ndarray) -> None:
    """The next fit is that of a new estimator, or goes on from where a warm start has come."""
    parameters = _ended(estimator.get_params())
    if estimator.warm_start and hasattr(estimator, "n_steps_"):
        done = np.array(estimator.n_steps_)
        estimator.set_params(**{**parameters, "warm_start": True}).fit(X, y)
        np.testing.assert_array_equal(estimator.n_steps_, done + 300)
        if done.size == 1 and done < 30_000:
            _check_is_fit_of_so_many_steps(estimator, X, y)
        return
    estimator.set_params(**parameters).fit(X, y)
    fresh = type(estimator)(**parameters)
    if hasattr(estimator, "_skl_callbacks"):
        fresh.set_callbacks(Hooks())
    assert model_of(estimator) == model_of(fresh.fit(X, y)), "the next fit makes another model"


def _stream(rng: np.random.Generator) -> tuple[str, float]:
    """A stream goes on after whole chunks, all pairs alike."""
    n_classes = _pick(rng, 2, 3, 5)
    X, y = _data(rng, n_classes)
    classes = np.unique(y)
    if rng.random() < 0.3:
        X = sparse.csr_matrix(X)
    parts = np.array_split(np.arange(len(y)), int(rng.integers(1, 4)))
    average = _pick(rng, "weighted", "suffix", None)

    def feed(estimator: Any, first: int, last: float) -> None:
        for number in itertools.count(first):
            if number == last:
                return
            part = parts[number % len(parts)]
            estimator.partial_fit(X[part], y[part], classes=classes)

    estimator = LinearPegasosSVC(random_state=0, average=average, lam=0.01)
    presser = _presser(rng)
    assert presser.during(lambda: feed(estimator, 0, np.inf)) is not None
    online = getattr(estimator, "_online", None)
    chunks = 0 if online is None else _chunks_of(online, y, parts, classes)
    if chunks > 200:
        return "partial_fit: too many chunks to compare", presser.late
    whole = LinearPegasosSVC(random_state=0, average=average, lam=0.01)
    feed(whole, 0, chunks)
    assert model_of(whole) == model_of(estimator), "a chunk was learned in part"
    feed(whole, chunks, chunks + 2)
    feed(estimator, chunks, chunks + 2)
    assert model_of(whole) == model_of(estimator), "the stream does not go on where it was"
    return "partial_fit: whole chunks", presser.late


def _chunks_of(online: Any, y: np.ndarray, parts: list[np.ndarray], classes: np.ndarray) -> int:
    """How many chunks a stream has seen, by the steps of its first pair."""
    of_pair = [int(np.isin(y[part], classes[:2]).sum()) for part in parts]
    steps, chunks = online.streams[0].state.steps, 0
    while steps > 0:
        steps -= of_pair[chunks % len(parts)]
        chunks += 1
    assert steps == 0, "a chunk was learned in part"
    return chunks


def _chunks(rng: np.random.Generator) -> tuple[str, float]:
    """Training on chunks leaves the model of those that have been seen."""
    X, y = _data(rng, _pick(rng, 2, 3))
    chunks = [(X[part], y[part]) for part in np.array_split(np.arange(len(y)), 4)]
    estimator = LinearPegasosSVC(random_state=0)
    before = model_of(estimator)
    presser = _presser(rng)
    assert presser.during(lambda: fit_chunks(estimator, chunks, epochs=10**6)) is not None
    if model_of(estimator) == before:
        what = "no model yet"
    else:
        check_usable(estimator, X, 3)
        steps = {stream.n_chunks for stream in estimator._online.streams}
        assert len(steps) == 1
        what = "the model of some chunks"
    fit_chunks(estimator, chunks, epochs=2)
    fresh = fit_chunks(LinearPegasosSVC(random_state=0), chunks, epochs=2)
    assert model_of(estimator) == model_of(fresh)
    return f"fit_chunks: {what}", presser.late


def _predict(rng: np.random.Generator) -> tuple[str, float]:
    """Predictions stop, and the model is what it was."""
    X, y = _data(rng, _pick(rng, 2, 4))
    estimator = _estimator(rng, X)[0]
    estimator.set_params(**_ended(estimator.get_params())).fit(X, y)
    before, expected = model_of(estimator), estimator.predict(X)
    many = np.tile(X, (20_000 // len(y), 1))
    call = _pick(rng, estimator.predict, estimator.decision_function)
    presser = _presser(rng)
    assert presser.during(lambda: [call(many) for _ in range(10**4)]) is not None
    assert model_of(estimator) == before
    np.testing.assert_array_equal(estimator.predict(X), expected)
    return f"{call.__name__}: as before", presser.late


def _search(rng: np.random.Generator) -> tuple[str, float]:
    """A search stops: no other of its fits begins."""
    X, y = _data(rng, 2)
    # Fits on other threads cannot hear of Ctrl-C; these soon end by themselves.
    threads = bool(rng.random() < 0.4)
    estimator = LinearPegasosSVC(n_steps=10**9, max_time=0.3 if threads else 30.0, C=1.0)
    search: Callable[[], object]
    n_jobs = 2 if threads else 1
    if rng.random() < 0.5:
        search = lambda: cross_val_score(estimator, X, y, cv=20, n_jobs=n_jobs)  # noqa: E731
    else:
        grid = GridSearchCV(estimator, {"C": np.logspace(-2, 2, 10)}, cv=2, n_jobs=n_jobs)
        search = lambda: grid.fit(X, y)  # noqa: E731
    presser = _presser(rng)
    with parallel_config("threading"):
        raised = presser.during(search)
    assert raised is not None
    assert not hasattr(estimator, "coef_")
    return f"search on {n_jobs} thread(s): stopped", presser.late


def _elsewhere(rng: np.random.Generator) -> tuple[str, float]:
    """A fit in an event loop, in another thread, or inside the callback of another fit."""
    X, y = _data(rng, 2)
    estimator = PegasosSVC(gamma=0.2, **_ENDLESS, random_state=0)
    presser = _presser(rng)
    where = _pick(rng, "an event loop", "a thread", "a callback")
    if where == "an event loop":

        async def cell() -> None:
            estimator.fit(X, y)

        del presser.delays[1:]  # a loop that is interrupted twice complains aloud
        assert presser.during(lambda: asyncio.run(cell())) is not None
    elif where == "a thread":
        estimator.set_params(max_time=0.1)
        thread = threading.Thread(target=estimator.fit, args=(X, y))

        def wait() -> None:
            thread.start()
            thread.join()

        presser.during(wait)
        if thread.ident is not None:
            thread.join()
    elif HAS_CALLBACKS:
        outer = LinearPegasosSVC(epochs=10**6, checkpoints="log")
        outer.set_callbacks(_Fitting(lambda: estimator.fit(X, y), int(rng.integers(1, 8))))
        assert presser.during(lambda: outer.fit(X, y)) is not None
        if hasattr(outer, "classes_"):
            check_usable(outer, X, 3)
    if hasattr(estimator, "classes_"):
        check_usable(estimator, X, 3)
        check_certificate(estimator, X, y, RBF(0.2).block(X, X))
    _check_next_fit(estimator, X, y)
    return f"fit in {where}: stopped", presser.late


class _Fitting(Hooks):
    """A callback that fits another estimator when one of its hooks is called."""

    def __init__(self, fit: Callable[[], object], hook: int) -> None:
        self.fit = fit
        self.hook = hook
        self.fault = self

    def user_code(self) -> None:
        """Fit, if it is time."""
        self.hook -= 1
        if self.hook == 0:
            self.fit()

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing: who fits here begins when all is over."""


def _solver(rng: np.random.Generator) -> tuple[str, float]:
    """`sdca` stops with a result, or at once."""
    X, y = _data(rng, 2)
    task = make_problem(2.0 * y - 1.0, lam=float(10 ** rng.uniform(-4, -1)))
    rows = make_rows(X, "rbf", gamma=0.2, cache=_pick(rng, "cached", "streamed", "precomputed"))
    presser = _presser(rng)
    raised = presser.during(lambda: _again_and_again(lambda: sdca(task, rows, tol=0.0)))
    assert raised is not None
    if hasattr(raised, "result"):
        result = raised.result
        assert 0 <= result.dual_bound <= result.objective * (1 + 1e-9)
    fresh = make_rows(X, "rbf", gamma=0.2)
    after, alone = (sdca(task, r, tol=1e-3, random_state=0) for r in (rows, fresh))
    np.testing.assert_allclose(after.objective, alone.objective, rtol=1e-2)
    return "sdca: stopped", presser.late


def _again_and_again(call: Callable[[], object]) -> None:
    while True:
        call()


def _max_time(rng: np.random.Generator) -> tuple[str, float]:
    """A deadline is overrun by little, and the model is whole."""
    n_classes = _pick(rng, 2, 3, 10)
    large = bool(rng.random() < 0.05)
    n_samples, n_features = (5000, 784) if large else (int(rng.integers(100, 1500)), 20)
    y = rng.integers(n_classes, size=n_samples)
    X = rng.normal(size=(n_classes, n_features))[y] + rng.normal(size=(n_samples, n_features))
    gamma = 1.0 / n_features
    kind = _pick(rng, "rbf", "laplacian", "callable", "precomputed", "linear", "polished")
    max_time = float(10 ** rng.uniform(-2, -0.3))
    settings = {"n_steps": 10**9, "max_time": max_time, "random_state": 0}
    if kind == "linear":
        estimator: Any = LinearPegasosSVC(**settings)
    elif kind == "polished":
        settings |= {"n_steps": 100, "polish": True, "tol": 1e-300, "C": 1e4}
        estimator = PegasosSVC(gamma=gamma, **settings)
    else:
        kernel = Kernel(gamma) if kind == "callable" else kind
        estimator = PegasosSVC(kernel=kernel, gamma=gamma, **settings)
        X = RBF(gamma).block(X, X) if kind == "precomputed" else X
    begin, computing = time.perf_counter(), time.process_time()
    estimator.fit(X, y)
    late = time.perf_counter() - begin - max_time
    computing = time.process_time() - computing - max_time
    assert min(late, computing / 2) < (2.0 if large else 1.0), f"{kind}: {late:.2f} s too long"
    assert np.all(estimator.n_steps_ >= 1)
    assert np.isfinite(estimator.decision_function(X[:50])).all()
    assert np.all(estimator.duality_gap_ <= 1.001 * estimator.objective_)  # large C, rounding
    return f"max_time, {n_classes} classes: {kind}", max(0.0, late)


def _ignored(rng: np.random.Generator) -> tuple[str, float]:
    """A program that ignores Ctrl-C, as one under nohup does, goes on to do so."""
    X, y = _data(rng, 2)
    fresh = PegasosSVC(gamma=0.2, n_steps=20_000, random_state=0).fit(X, y)
    estimator = PegasosSVC(gamma=0.2, n_steps=20_000, random_state=0)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    delay = float(rng.uniform(0, 0.02))
    timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        estimator.fit(X, y)
        timer.join()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert model_of(estimator) == model_of(fresh)
    return "ignored", 0.0
