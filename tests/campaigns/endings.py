"""Whatever ends a call early leaves the whole new model or the one before, and every solver ends.

Errors come in kernels, sampling functions, callbacks and chunks of the user's, and in any call that
the package makes, as when memory is exhausted; warnings become errors; tolerances lie below
rounding. Machine constants are small, so that little data take every path.
"""

from __future__ import annotations

import copy
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from kpegasos import (
    RBF,
    LinearPegasosSVC,
    PegasosSVC,
    fit_chunks,
    linear_rows,
    make_problem,
    make_rows,
    pegasos,
    sdca,
)
from kpegasos.fitting.observers import HAS_CALLBACKS
from kpegasos.utils import tuning
from tests.campaigns._faults import Fault, Hooks, Kernel, Nothing
from tests.campaigns._remains import check_certificate, check_usable, model_of

CI_TRIALS = 60

_ERRORS = [
    ValueError, RuntimeError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit,
    UserWarning, StopIteration,
]  # fmt: skip
_SMALL = {
    "TILE_ROWS": 8, "SMALL_TILE_ROWS": 2, "TILE_DRAWS": 4, "FIRST_SLICE": 16, "FEWEST_ROWS": 1,
    "FEWEST_DRAWS": 4, "WORKING_SET": 16,
}  # fmt: skip


def trial(rng: np.random.Generator) -> str:
    """End something early, and look at what remains."""
    handler = signal.getsignal(signal.SIGINT)
    kind = rng.choice([_fault, _fault, _fault, _reused_rows, _warning, _tolerance])
    with _small_constants(bool(rng.random() < 0.8)), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        outcome: str = kind(rng)
    assert signal.getsignal(signal.SIGINT) is handler, "the handler of Ctrl-C is another now"
    return outcome


@contextmanager
def _small_constants(wanted: bool) -> Iterator[None]:
    """Small tiles, slices and working sets."""
    before = {name: getattr(tuning, name) for name in _SMALL}
    for name, value in _SMALL.items() if wanted else ():
        setattr(tuning, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(tuning, name, value)


def _pick(rng: np.random.Generator, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _data(rng: np.random.Generator, n_classes: int, n_samples: int = 60) -> tuple[Any, np.ndarray]:
    X, y = make_blobs(
        n_samples, centers=n_classes, n_features=3, cluster_std=3.0,
        random_state=int(rng.integers(5)),
    )  # fmt: skip
    return X, y


def _settings(rng: np.random.Generator) -> dict[str, Any]:
    """Parameters that both estimators have."""
    return {
        "C": float(10 ** rng.uniform(-1, 2)),
        "epochs": int(rng.integers(1, 4)),
        "batch_size": _pick(rng, 1, 1, 3),
        "average": _pick(rng, "weighted", "suffix", "uniform", None),
        "projection": bool(rng.random() < 0.3),
        "polish": bool(rng.random() < 0.3),
        "checkpoints": _pick(rng, "epoch", "log", None),
        "n_jobs": _pick(rng, None, None, 2),
        "random_state": 0,
    }


class _Case:
    """An estimator, and a call of it that a fault may end."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.n_classes = _pick(rng, 2, 2, 3)
        self.X, self.y = _data(rng, self.n_classes)
        self.user: list[Any] = []
        settings = _settings(rng)
        call = _pick(rng, "fit", "fit", "partial_fit", "fit_chunks")
        self.call = call
        warm = call == "fit" and rng.random() < 0.3
        if call == "fit" and rng.random() < 0.7:
            kernel = Kernel(0.2)
            self.user.append(kernel)
            settings |= {
                "kernel": _pick(rng, kernel, kernel, "rbf"),
                "cache": _pick(rng, "precomputed", "cached", "streamed", "auto"),
                "cache_mb": _pick(rng, 1024.0, 1024.0, 0.05),
            }
            self.estimator: Any = PegasosSVC(**settings, warm_start=warm)
        else:
            early = call == "fit" and not warm and rng.random() < 0.4
            self.estimator = LinearPegasosSVC(**settings, warm_start=warm, early_stopping=early)
            if rng.random() < 0.3:
                self.X = sparse.csr_matrix(self.X)
        self.hooks = Hooks()
        if HAS_CALLBACKS and call == "fit" and rng.random() < 0.4:
            self.estimator.set_callbacks(self.hooks)
            self.user.append(self.hooks)
        if call == "fit_chunks":
            self.user.append(self)
        self.fault: Any = Nothing

    def make(self, estimator: Any, fault: Any) -> None:
        """The call."""
        for function in self.user:
            function.fault = fault
        try:
            if self.call == "fit":
                estimator.fit(self.X, self.y)
            elif self.call == "partial_fit":
                estimator.partial_fit(self.X, self.y, classes=np.unique(self.y))
            else:
                fit_chunks(estimator, self._chunks, epochs=2)
        finally:
            for function in self.user:
                function.fault = Nothing

    def _chunks(self) -> Iterator[tuple[Any, np.ndarray]]:
        for begin in range(0, 60, 20):
            self.fault.user_code()
            yield self.X[begin : begin + 20], self.y[begin : begin + 20]

    def begin(self, rng: np.random.Generator) -> str:
        """Let there be an earlier model, or none."""
        if (self.call == "partial_fit" and rng.random() < 0.7) or self.estimator.warm_start:
            self.make(self.estimator, Nothing)
        elif rng.random() < 0.5:
            chosen = self.estimator.get_params()
            self.estimator.set_params(C=3.0, epochs=1, polish=False)
            self.estimator.fit(self.X[:, :2], self.y)
            self.estimator.set_params(**chosen)
        else:
            return "none before"
        return "one before"


def _fault(rng: np.random.Generator) -> str:
    """An error at any moment of any call."""
    case = _Case(rng)
    error = _pick(rng, *_ERRORS)
    try:
        case.begin(rng)
    except ValueError as refused:  # such as a budget that is too small
        return _refused(refused)
    before, twin = model_of(case.estimator), copy.deepcopy(case.estimator)
    counter = Fault(error, inside=bool(rng.random() < 0.6 or not case.user))
    with counter.armed():
        case.make(twin, counter)
    if counter.seen == 0:
        return "no moment for a fault"
    whole = model_of(twin)
    moment = int(rng.integers(1, counter.seen + 1))
    fault = Fault(error, moment, inside=counter.inside)
    struck: BaseException | None = None
    try:
        with fault.armed():
            case.make(case.estimator, fault)
    except BaseException as raised:
        struck = raised
    assert struck is None or _is_caused_by(struck, error), repr(struck)
    return f"{_what_remains(case, before, whole, struck)} after an error in {case.call}"


def _refused(error: ValueError) -> str:
    """The outcome of a budget that is too small."""
    if "cache_mb must be" not in str(error):
        raise error
    return "refused"


def _is_caused_by(raised: BaseException, error: type[BaseException]) -> bool:
    """Whether an error is the one that was asked for, or says that it comes from it."""
    causes = [raised, raised.__cause__, raised.__context__]
    return any(isinstance(cause, error) for cause in causes)


def _what_remains(case: _Case, before: Any, whole: Any, struck: BaseException | None) -> str:
    """One of two models; then the call is made again, and makes the whole one."""
    estimator = case.estimator
    now = model_of(estimator)
    if struck is None or now == whole:
        assert now == whole
        check_usable(estimator, case.X, 3)
        return "the new model"
    if now != before:
        # Chunks that have been seen count.
        assert case.call == "fit_chunks", "neither the model before nor the new one"
        check_usable(estimator, case.X, 3)
    case.make(estimator, Nothing)
    assert model_of(estimator) == whole, "the next call makes another model"
    return "the model before" if now == before else "the model of some chunks"


def _reused_rows(rng: np.random.Generator) -> str:
    """Rows in which an error struck go on to give the right values, and no state is cut in half."""
    X, y = _data(rng, 2)
    task = make_problem(2.0 * y - 1.0, lam=float(10 ** rng.uniform(-4, -1)))
    kernel = Kernel(0.2)
    cache, cache_mb = _pick(rng, "cached", "cached", "streamed"), _pick(rng, 1024.0, 0.015)

    def new_rows() -> Any:
        return make_rows(X, kernel, cache=cache, cache_mb=cache_mb)

    error = _pick(rng, ValueError, MemoryError, KeyboardInterrupt)
    options = {
        "average": _pick(rng, "weighted", "suffix", None), "n_steps": int(rng.integers(50, 300)),
        "random_state": 0,
    }  # fmt: skip
    try:
        rows = new_rows()
    except ValueError as refused:
        return _refused(refused)
    state = pegasos(task, rows, **options).state
    counter = Fault(error, inside=bool(rng.random() < 0.5))
    after = copy.deepcopy(state)
    with _in(kernel, counter):
        pegasos(task, rows, **{**options, "state": after})
    fault = Fault(error, int(rng.integers(1, counter.seen + 2)), inside=counter.inside)
    try:
        with _in(kernel, fault):
            pegasos(task, rows, **{**options, "state": state})
    except error:
        pass
    again = pegasos(task, rows, **options)
    fresh = pegasos(task, new_rows(), **options)
    np.testing.assert_array_equal(again.alpha, fresh.alpha)
    np.testing.assert_allclose(again.margins, fresh.margins, rtol=1e-9, atol=1e-9)
    return "rows are right after an error"


@contextmanager
def _in(kernel: Kernel, fault: Fault) -> Iterator[None]:
    kernel.fault = fault
    try:
        with fault.armed():
            yield
    finally:
        kernel.fault = Nothing


def _warning(rng: np.random.Generator) -> str:
    """A warning that is an error comes when the model is complete."""
    X, y = _data(rng, _pick(rng, 2, 3))
    settings = {**_settings(rng), "polish": False, "average": "weighted"}
    if rng.random() < 0.5:
        settings |= {"max_time": 1e-9, "epochs": 1000}
    else:
        settings |= {"tol": 1e-300}
    if rng.random() < 0.5:
        estimator: Any = PegasosSVC(gamma=0.2, cache=_pick(rng, "auto", "cached"), **settings)
        gram = RBF(0.2).block(X, X)
    else:
        estimator, gram = LinearPegasosSVC(**settings), X @ X.T
    before = model_of(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            estimator.fit(X, y)
        except ConvergenceWarning:
            assert model_of(estimator) != before
            check_usable(estimator, X, 3)
            check_certificate(estimator, X, y, gram)
            return "the new model after a warning"
    raise AssertionError("no warning came")


def _tolerance(rng: np.random.Generator) -> str:
    """A solver that is asked for more than rounding allows comes to an end."""
    n = int(rng.integers(2, 40))
    draw: list[Callable[[], np.ndarray]] = [
        lambda: rng.normal(size=(n, 3)),
        lambda: np.ones((n, 2)),
        lambda: np.zeros((n, 2)),
        lambda: np.repeat(rng.normal(size=(2, 3)), n, axis=0)[:n],
        lambda: rng.integers(-1, 2, size=(n, 1)).astype(float),
    ]
    X = _pick(rng, *draw)().astype(_pick(rng, np.float64, np.float32))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    tol = _pick(rng, 0.0, 1e-300, 1e-17, 1e-12)
    C = float(10 ** rng.uniform(-4, 5))
    kernel = _pick(rng, "linear", "rbf", "poly")
    begin = time.perf_counter()
    if rng.random() < 0.6:
        task = make_problem(y, 1.0 / (C * n))
        if rng.random() < 0.5:
            rows: Any = linear_rows(X, intercept_scaling=_pick(rng, 0.0, 1.0))
        else:
            rows = make_rows(X, kernel, cache=_pick(rng, "cached", "streamed"))
        result = sdca(task, rows, tol=tol, max_epochs=200, random_state=0)
        assert 0 <= result.dual_bound <= result.objective * (1 + 1e-9)
        outcome = f"sdca ended as {result.status}"
    else:
        cache = _pick(rng, "cached", "streamed")
        estimator = PegasosSVC(
            C, kernel=kernel, gamma=1.0, polish=True, tol=max(tol, 1e-300), epochs=1,
            cache=cache, random_state=0,
        )  # fmt: skip
        estimator.fit(X, y)
        assert 0 <= estimator.duality_gap_ <= estimator.objective_
        outcome = "polish ended"
    assert time.perf_counter() - begin < 20.0
    return outcome
