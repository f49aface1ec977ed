"""Whatever ends a call early leaves the whole new model or the one before, and it ends soon.

Ctrl-C is pressed once, twice or three times at random moments of fits, streams and predictions.
Errors come in kernels, callbacks and chunks of the user's, and in any call that the package makes,
as when memory is exhausted. Then the call is made again.
"""

import copy
import itertools
import signal
import sys
import threading
from contextlib import contextmanager, nullcontext
from pathlib import Path
from unittest import mock

import numpy as np
from scipy import sparse

import kpegasos
from kpegasos import RBF, LinearPegasosSVC, PegasosSVC, fit_chunks, make_problem, make_rows, pegasos
from kpegasos.fitting.observers import HAS_CALLBACKS
from kpegasos.utils import tuning
from tests.campaigns._pressing import Presser, in_time
from tests.campaigns._remains import check_certificate, check_usable, model_of
from tests.campaigns.harness import SMALL, blobs, pick, power, some

CI_TRIALS = 24

_ERRORS = [
    ValueError, RuntimeError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit,
    UserWarning, StopIteration,
]  # fmt: skip


def trial(rng):
    """End something early, and look at what remains."""
    handler = signal.getsignal(signal.SIGINT)
    kind = pick(rng, [_fault, _fault, _fault, _reused_rows, _fit, _fit, _stream, _prediction])
    is_small = some(rng, 0.8) and kind in (_fault, _reused_rows)
    small = mock.patch.multiple(tuning, **SMALL) if is_small else nullcontext()
    with small:
        outcome = in_time(kind, rng)
    assert signal.getsignal(signal.SIGINT) is handler, "the handler of Ctrl-C is another now"
    return outcome


# --- faults ---------------------------------------------------------------------------------------

_PACKAGE = str(Path(kpegasos.__file__).parent)
#: An error here would come when the way out has begun: that is a second one.
_WAYS_OUT = {"interruptible", "unchanged_by_errors", "__exit__", "fail", "interrupt"}


class Fault:
    """An error that strikes at the n-th moment; 0 for never, the moments are counted only.

    Moments are calls of the user's functions, or, inside, any call that the package makes.
    """

    def __init__(self, error, moment=0, *, inside=False):
        self.error = error
        self.moment = moment
        self.inside = inside
        self.seen = 0
        self._lock = threading.Lock()

    def pass_by(self):
        """One of the moments."""
        with self._lock:
            self.seen += 1
            strikes = self.seen == self.moment
        if strikes:
            raise self.error("a fault that was asked for")

    def _profile(self, frame, event, argument):
        caller = {"call": frame.f_back, "c_call": frame}.get(event)
        if caller is None or not caller.f_code.co_filename.startswith(_PACKAGE):
            return
        if not {caller.f_code.co_name, frame.f_code.co_name} & _WAYS_OUT:
            self.pass_by()

    @contextmanager
    def armed(self, functions):
        """Count and strike inside the block, on its thread and those that it starts."""
        if self.inside:
            threading.setprofile(self._profile)
            sys.setprofile(self._profile)
        for function in functions:
            function.fault = None if self.inside else self
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            for function in functions:
                function.fault = None


class _User:
    """A function of a user's, in which an armed fault may strike."""

    fault: Fault | None = None

    def user_code(self, *arguments, **named):
        if self.fault is not None:
            self.fault.pass_by()

    def __getstate__(self):  # a warm start knows a kernel by its state
        return {name: value for name, value in vars(self).items() if name != "fault"}

    def __deepcopy__(self, memo):
        return self


class Kernel(_User):
    """A Gaussian kernel; its value is the same for all faults, so its models can be compared."""

    def __init__(self, gamma):
        self.gamma = gamma

    def __call__(self, A, B):
        self.user_code()
        squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2.0 * (A @ B.T)
        return np.exp(-self.gamma * np.maximum(squares, 0.0))


class Hooks(_User):
    """A callback with every hook."""

    setup = teardown = on_fit_task_begin = on_fit_task_end = _User.user_code


class _Chunks(_User):
    """A function that gives three chunks."""

    def __init__(self, X, y):
        self.X = X
        self.y = y

    def __call__(self):
        for begin in range(0, len(self.y), 20):
            self.user_code()
            yield self.X[begin : begin + 20], self.y[begin : begin + 20]


class _Case:
    """An estimator, and a call of it that a fault may end."""

    def __init__(self, rng):
        self.X, self.y = blobs(rng, 60, centers=[2, 2, 3])
        self.call = pick(rng, ["fit", "fit", "partial_fit", "fit_chunks"])
        self.user = []
        warm = self.call == "fit" and some(rng, 0.3)
        settings = {
            "C": power(rng, -1, 2), "epochs": int(rng.integers(1, 4)), "random_state": 0,
            "batch_size": pick(rng, [1, 1, 3]), "projection": some(rng, 0.3),
            "average": pick(rng, ["weighted", "suffix", "uniform", None]),
            "polish": some(rng, 0.3), "checkpoints": pick(rng, ["epoch", "log", None]),
            "n_jobs": pick(rng, [None, None, 2]), "warm_start": warm,
        }  # fmt: skip
        if self.call == "fit" and some(rng, 0.7):
            kernel = Kernel(0.2)
            self.user.append(kernel)
            settings |= {
                "kernel": pick(rng, [kernel, kernel, "rbf"]),
                "cache": pick(rng, ["precomputed", "cached", "streamed", "auto"]),
                "cache_mb": pick(rng, [1024.0, 1024.0, 0.05]),
            }
            self.estimator = PegasosSVC(**settings)
        else:
            early = self.call == "fit" and not warm and some(rng, 0.4)
            self.estimator = LinearPegasosSVC(**settings, early_stopping=early)
            if some(rng, 0.3):
                self.X = sparse.csr_matrix(self.X)
        if HAS_CALLBACKS and self.call == "fit" and some(rng, 0.4):
            hooks = Hooks()
            self.estimator.set_callbacks(hooks)
            self.user.append(hooks)
        self.chunks = _Chunks(self.X, self.y)
        if self.call == "fit_chunks":
            self.user.append(self.chunks)

    def make(self, estimator, fault=None):
        """The call."""
        with (fault or Fault(Exception)).armed(self.user):
            if self.call == "fit":
                estimator.fit(self.X, self.y)
            elif self.call == "partial_fit":
                estimator.partial_fit(self.X, self.y, classes=np.unique(self.y))
            else:
                fit_chunks(estimator, self.chunks, epochs=2)

    def begin(self, rng):
        """Let there be an earlier model, or none."""
        if (self.call == "partial_fit" and some(rng, 0.7)) or self.estimator.warm_start:
            self.make(self.estimator)
        elif some(rng, 0.5):
            chosen = self.estimator.get_params()
            self.estimator.set_params(C=3.0, epochs=1, polish=False)
            self.estimator.fit(self.X[:, :2], self.y)
            self.estimator.set_params(**chosen)


def _fault(rng):
    """An error at any moment of any call leaves one of two models, and the next call is as ever."""
    case = _Case(rng)
    error = pick(rng, _ERRORS)
    try:
        case.begin(rng)
    except ValueError as refused:
        if "cache_mb must be" not in str(refused):
            raise
        return "a budget that is too small"
    estimator = case.estimator
    before, twin = model_of(estimator), copy.deepcopy(estimator)
    counter = Fault(error, inside=not case.user or some(rng, 0.6))
    case.make(twin, counter)
    if counter.seen == 0:
        return "no moment for a fault"
    whole = model_of(twin)
    fault = Fault(error, int(rng.integers(1, counter.seen + 1)), inside=counter.inside)
    struck = None
    try:
        case.make(estimator, fault)
    except BaseException as raised:
        struck = raised
    causes = [struck, struck.__cause__, struck.__context__] if struck else [error()]
    assert any(isinstance(cause, error) for cause in causes), repr(struck)
    now = model_of(estimator)
    if struck is None or now == whole:
        assert now == whole
        check_usable(estimator, case.X, 3)
        return f"the new model after an error in {case.call}"
    if now != before:  # chunks that have been seen count
        assert case.call == "fit_chunks", "neither the model before nor the new one"
        check_usable(estimator, case.X, 3)
    case.make(estimator)
    assert model_of(estimator) == whole, "the next call makes another model"
    what = "the model before" if now == before else "the model of some chunks"
    return f"{what} after an error in {case.call}"


def _reused_rows(rng):
    """Rows in which an error struck go on to give the right values, and no state is cut in half."""
    X, y = blobs(rng, 60, centers=[2])
    task = make_problem(2.0 * y - 1.0, lam=power(rng, -4, -1))
    kernel = Kernel(0.2)
    given = {"cache": pick(rng, ["cached", "cached", "streamed"]), "cache_mb": pick(rng, [9, 0.05])}
    options = {
        "average": pick(rng, ["weighted", "suffix", None]),
        "n_steps": int(rng.integers(50, 300)),
        "random_state": 0,
    }
    rows = make_rows(X, kernel, **given)
    state = pegasos(task, rows, **options).state
    error = pick(rng, [ValueError, MemoryError, KeyboardInterrupt])
    counter = Fault(error, inside=some(rng, 0.5))
    with counter.armed([kernel]):
        pegasos(task, rows, **{**options, "state": copy.deepcopy(state)})
    fault = Fault(error, int(rng.integers(1, counter.seen + 2)), inside=counter.inside)
    try:
        with fault.armed([kernel]):
            pegasos(task, rows, **{**options, "state": state})
    except error:
        pass
    again = pegasos(task, rows, **options)
    fresh = pegasos(task, make_rows(X, kernel, **given), **options)
    np.testing.assert_array_equal(again.alpha, fresh.alpha)
    np.testing.assert_allclose(again.margins, fresh.margins, rtol=1e-9, atol=1e-9)
    return "rows are right after an error"


# --- Ctrl-C ---------------------------------------------------------------------------------------


def _presser(rng):
    """One press, or several in quick succession."""
    others = 10 ** rng.uniform(-6, -2, size=pick(rng, [0, 0, 1, 2]))
    return Presser([float(rng.uniform(0, 0.06)), *others.tolist()])


def _estimator(rng, X):
    """Any estimator that trains for ever, and the kernel values that it sees."""
    settings = {
        # max_time only keeps a trial that fails from running for ever
        "n_steps": 10**9, "max_time": 30.0, "random_state": 0, "C": power(rng, -1, 3),
        "average": pick(rng, ["weighted", "suffix", "uniform", None]),
        "checkpoints": pick(rng, ["log", None, "epoch"]), "n_jobs": pick(rng, [None, 2]),
        "warm_start": some(rng, 0.3),
    }  # fmt: skip
    if some(rng, 0.35):
        estimator = LinearPegasosSVC(**settings)
        if not estimator.warm_start and some(rng, 0.3):
            estimator.set_params(early_stopping=True, n_iter_no_change=10**9)
        return estimator, X @ X.T
    kernel = pick(rng, ["rbf", "rbf", Kernel(0.2)])
    cache = pick(rng, ["precomputed", "cached", "streamed", "auto"])
    if some(rng, 0.3):  # polished for ever
        settings |= {"polish": True, "tol": 1e-300, "n_steps": 200, "checkpoints": None}
    return PegasosSVC(kernel=kernel, gamma=0.2, cache=cache, **settings), RBF(0.2).block(X, X)


def _fit(rng):
    """A fit that is interrupted has the model reached so far, or that of before."""
    X, y = blobs(rng, int(rng.integers(60, 400)), centers=[2, 2, 3, 4])
    estimator, gram = _estimator(rng, X)
    if HAS_CALLBACKS and estimator.checkpoints != "epoch" and some(rng, 0.2):
        estimator.set_callbacks(Hooks())
    if some(rng, 0.5) and not estimator.warm_start:
        endless = estimator.get_params()
        estimator.set_params(**{**_ended(endless), "C": 2.0}).fit(X[:, :2], y)
        estimator.set_params(**endless)
    before = model_of(estimator)
    presser = _presser(rng)
    raised = presser.during(lambda: estimator.fit(X, y))
    # A polished model may be at the limit of rounding before the press.
    assert raised is not None or estimator.polish, "Ctrl-C was lost"
    what = "the model before"
    if model_of(estimator) == before:
        assert len(presser.delays) > 1 or "reached so far" not in str(raised)
    else:
        what = "the model reached so far"
        check_usable(estimator, X, 3)
        if not getattr(estimator, "early_stopping", False):
            check_certificate(estimator, X, y, gram)
        if y.max() == 1 and estimator.n_steps_ < 30_000 and not estimator.polish:
            _check_is_fit_of_so_many_steps(estimator, X, y)
    _check_next_fit(estimator, X, y)
    return f"fit: {what}"


def _ended(parameters):
    """The same parameters for a fit that ends."""
    ends = {"n_steps": 300, "max_time": None, "polish": False, "tol": None, "warm_start": False}
    return {**parameters, **ends}


def _check_is_fit_of_so_many_steps(estimator, X, y):
    parameters = {**_ended(estimator.get_params()), "n_steps": int(estimator.n_steps_)}
    whole = type(estimator)(**parameters).fit(X, y)
    np.testing.assert_array_equal(whole.alpha_, estimator.alpha_)


def _check_next_fit(estimator, X, y):
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


def _stream(rng):
    """A stream goes on after whole chunks, all pairs alike."""
    X, y = blobs(rng, int(rng.integers(60, 400)), centers=[2, 3, 5])
    classes = np.unique(y)
    if some(rng, 0.3):
        X = sparse.csr_matrix(X)
    parts = np.array_split(np.arange(len(y)), int(rng.integers(1, 4)))
    average = pick(rng, ["weighted", "suffix", None])

    def feed(estimator, first, last):
        for number in itertools.count(first):
            if number == last:
                return
            part = parts[number % len(parts)]
            estimator.partial_fit(X[part], y[part], classes=classes)

    estimator = LinearPegasosSVC(random_state=0, average=average, lam=0.01)
    assert _presser(rng).during(lambda: feed(estimator, 0, np.inf)) is not None
    online = getattr(estimator, "_online", None)
    chunks = 0 if online is None else _chunks_of(online, y, parts, classes)
    if chunks > 200:
        return "partial_fit: too many chunks to compare"
    whole = LinearPegasosSVC(random_state=0, average=average, lam=0.01)
    feed(whole, 0, chunks)
    assert model_of(whole) == model_of(estimator), "a chunk was learned in part"
    feed(whole, chunks, chunks + 2)
    feed(estimator, chunks, chunks + 2)
    assert model_of(whole) == model_of(estimator), "the stream does not go on where it was"
    return "partial_fit: whole chunks"


def _chunks_of(online, y, parts, classes):
    """How many chunks a stream has seen, by the steps of its first pair."""
    of_pair = [int(np.isin(y[part], classes[:2]).sum()) for part in parts]
    steps, chunks = online.streams[0].state.steps, 0
    while steps > 0:
        steps -= of_pair[chunks % len(parts)]
        chunks += 1
    assert steps == 0, "a chunk was learned in part"
    return chunks


def _prediction(rng):
    """Predictions stop, and the model is what it was."""
    X, y = blobs(rng, int(rng.integers(60, 400)), centers=[2, 4])
    estimator = _estimator(rng, X)[0]
    estimator.set_params(**_ended(estimator.get_params())).fit(X, y)
    before, expected = model_of(estimator), estimator.predict(X)
    many = np.tile(X, (20_000 // len(y), 1))
    call = pick(rng, [estimator.predict, estimator.decision_function])
    assert _presser(rng).during(lambda: [call(many) for _ in range(10**4)]) is not None
    assert model_of(estimator) == before
    np.testing.assert_array_equal(estimator.predict(X), expected)
    return "prediction: as before"
