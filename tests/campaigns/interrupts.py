"""Whatever ends a call early leaves the whole new model or the one before, and it ends soon.

Ctrl-C is pressed once, twice or three times at random moments of fits.
Errors come in kernels and chunks of the user's, and in any call that the package makes,
as when memory is exhausted. Then the call is made again. What takes long, a slow kernel, a matrix,
a polish, a search, a path, is left within a second of the clock or of computing, whichever says
less: on a busy machine the clock says nothing. Loops that are compiled for the first time cannot be
left, so that a trial has to be late three times.
"""

import copy
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from unittest import mock

import numpy as np
from scipy import sparse
from sklearn.datasets import make_blobs

import kpegasos
from kpegasos import (
    RBF,
    LinearPegasosSVC,
    PegasosSVC,
    PegasosSVCCV,
    make_problem,
    make_rows,
    regularization_path,
)
from kpegasos.large import fit_chunks
from kpegasos.utils import tuning
from tests.campaigns._remains import check_certificate, check_usable, model_of
from tests.campaigns.harness import SMALL, pick, power, some

CI_TRIALS = 24

_ERRORS = [
    ValueError, RuntimeError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit,
    UserWarning, StopIteration,
]  # fmt: skip


def trial(rng):
    """End something early, or something that takes long, and look at what remains."""
    return in_time(_phase, rng) if some(rng, 0.3) else early(rng)


def early(rng):
    """End something that a moment suffices for."""
    handler = signal.getsignal(signal.SIGINT)
    kind = pick(rng, [_fault, _fault, _fit])
    is_small = some(rng, 0.8) and kind is not _fit
    with mock.patch.multiple(tuning, **SMALL) if is_small else nullcontext():
        outcome = in_time(kind, rng)
    assert signal.getsignal(signal.SIGINT) is handler, "the handler of Ctrl-C is another now"
    return outcome


def _blobs(rng, n_samples, n_features=3, *, classes=(2, 2, 2, 3)):
    return make_blobs(
        n_samples, n_features, centers=pick(rng, classes), cluster_std=3.0,
        random_state=int(rng.integers(100)),
    )  # fmt: skip


# --- faults ---------------------------------------------------------------------------------------

_PACKAGE = str(Path(kpegasos.__file__).parent)
#: An error here would come when the way out has begun: that is a second one.
_WAYS_OUT = {"interruptible", "unchanged_by_errors", "__exit__", "fail", "interrupt"}


class Fault:
    """An error that strikes at the n-th moment; 0 for never, the moments are counted only.

    Moments are calls of the user's functions, or, inside, any call that the package makes.
    """

    of_users: "Fault | None" = None

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
        called = getattr(argument, "__name__", "")  # of C, as when a lock is left
        if not {caller.f_code.co_name, frame.f_code.co_name, called} & _WAYS_OUT:
            self.pass_by()

    @contextmanager
    def armed(self):
        """Count and strike inside the block, on its thread and those that it starts."""
        if self.inside:
            threading.setprofile(self._profile)
            sys.setprofile(self._profile)
        else:
            Fault.of_users = self
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            Fault.of_users = None


def _user_code():
    if Fault.of_users is not None:
        Fault.of_users.pass_by()


def kernel_of_users(A, B):
    """A Gaussian kernel, in which an armed fault may strike."""
    _user_code()
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2.0 * (A @ B.T)
    return np.exp(-0.2 * np.maximum(squares, 0.0))


def _short(rng, how):
    """An estimator that a fault may end."""
    settings = {
        "C": power(rng, -1, 2), "epochs": int(rng.integers(1, 4)), "random_state": 0,
        "batch_size": pick(rng, [1, 1, 3]), "projection": some(rng, 0.3),
        "average": pick(rng, ["weighted", "suffix", "uniform", None]),
        "polish": some(rng, 0.3), "checkpoints": pick(rng, ["epoch", "log", None]),
        "n_jobs": pick(rng, [None, None, 2]), "warm_start": how == "fit" and some(rng, 0.3),
    }  # fmt: skip
    if how == "fit" and some(rng, 0.7):
        kernel = pick(rng, [kernel_of_users, kernel_of_users, "rbf"])
        cache = pick(rng, ["precomputed", "cached", "streamed", "auto"])
        return PegasosSVC(kernel=kernel, cache=cache, **settings)
    return LinearPegasosSVC(lam=0.01 if how == "fit_chunks" else None, **settings)


def _fault(rng):  # noqa: PLR0915
    """An error at any moment of any call leaves one of two models, and the next call is as ever."""
    X, y = _blobs(rng, 60)
    how = pick(rng, ["fit", "fit", "partial_fit", "fit_chunks"])
    estimator = _short(rng, how)
    if isinstance(estimator, LinearPegasosSVC) and some(rng, 0.3):
        X = sparse.csr_matrix(X)

    def chunks():
        for begin in range(0, 60, 20):
            _user_code()
            yield X[begin : begin + 20], y[begin : begin + 20]

    def call(model, fault):
        with fault.armed():
            if how == "fit":
                model.fit(X, y)
            elif how == "partial_fit":
                model.partial_fit(X, y, classes=np.unique(y))
            else:
                fit_chunks(model, chunks, epochs=2, classes=np.unique(y))

    # Let there be an earlier model, or none.
    if estimator.warm_start or (how == "partial_fit" and some(rng, 0.7)):
        call(estimator, Fault(Exception))
    elif some(rng, 0.5):
        chosen = estimator.get_params()
        estimator.set_params(C=3.0, epochs=1, polish=False).fit(X[:, :2], y)
        estimator.set_params(**chosen)
    before, twin = model_of(estimator), copy.deepcopy(estimator)
    has_own = how == "fit_chunks" or getattr(estimator, "kernel", None) is kernel_of_users
    inside = not has_own or some(rng, 0.6)
    # Within `map` Python takes a StopIteration for the end.
    error = pick(rng, [each for each in _ERRORS if not inside or each is not StopIteration])
    counter = Fault(error, inside=inside)
    call(twin, counter)
    if counter.seen == 0:
        return "no moment for a fault"
    whole, struck = model_of(twin), None
    try:
        call(estimator, Fault(error, rng.integers(1, counter.seen + 1), inside=inside))
    except BaseException as raised:
        struck = raised
        causes = [struck, struck.__cause__, struck.__context__]
        assert any(isinstance(cause, error) for cause in causes), repr(struck)
    now = model_of(estimator)
    if struck is None or now == whole:
        assert now == whole
        check_usable(estimator, X, 3)
        return f"the new model after an error in {how}"
    if now != before:  # chunks that have been seen count
        assert how == "fit_chunks", "neither the model before nor the new one"
        check_usable(estimator, X, 3)
    call(estimator, Fault(Exception))
    assert model_of(estimator) == whole, "the next call makes another model"
    return f"{'the model before' if now == before else 'some chunks'} after an error in {how}"


# --- Ctrl-C ---------------------------------------------------------------------------------------

#: Seconds that a call may take after the last press, and seconds of computing.
LATEST, LATEST_COMPUTING = 2.0, 1.0
#: How often a trial that is late is made again: what is compiled for the first time has to end.
_ATTEMPTS = 3


def in_time(kind, rng):
    """Make a trial, again if it was late; the last one counts."""
    begin = rng.bit_generator.state
    for left in reversed(range(_ATTEMPTS)):
        rng.bit_generator.state = begin
        try:
            return kind(rng)
        except AssertionError as error:
            if not left or " s late" not in str(error):
                raise


def pressed(call, delays):
    """Press Ctrl-C during a call; returns the KeyboardInterrupt that ended it, if one did.

    ``delays`` are seconds before the first press, and between presses. None interrupts anything
    but the call.
    """
    begun, listening, raised = threading.Event(), False, None
    times = [np.zeros(2)]

    def handle(number, frame):
        if listening:
            raise KeyboardInterrupt

    def press():
        begun.wait()
        for delay in delays:
            time.sleep(delay)
            times.append(np.array([time.perf_counter(), time.process_time()]))
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, handle)
    thread = threading.Thread(target=press)
    thread.start()
    try:
        try:
            listening = True
            begun.set()
            call()
        finally:
            listening = False
    except KeyboardInterrupt as error:
        raised = error
    finally:
        ended = np.array([time.perf_counter(), time.process_time()])
        thread.join()
        restored = signal.signal(signal.SIGINT, before)
    assert restored == handle, "the handler of before has not been restored"
    late, computing = ended - times[-1]
    assert late < LATEST or computing < LATEST_COMPUTING, f"{late:.1f} s late"
    return raised


def _endless(rng, X):
    """Any estimator that trains for ever, and the kernel values that it sees."""
    settings = {
        # max_time only keeps a trial that fails from running for ever
        "n_steps": 10**9, "max_time": 30.0, "random_state": 0, "C": power(rng, -1, 3),
        "average": pick(rng, ["weighted", "suffix", "uniform", None]),
        "checkpoints": pick(rng, ["log", None, "epoch"]), "n_jobs": pick(rng, [None, 2]),
        "warm_start": some(rng, 0.3),
    }  # fmt: skip
    if some(rng, 0.35):
        return LinearPegasosSVC(**settings), X @ X.T
    kernel = pick(rng, ["rbf", "rbf", kernel_of_users])
    cache = pick(rng, ["precomputed", "cached", "streamed", "auto"])
    if some(rng, 0.3):  # polished for ever
        settings |= {"polish": True, "tol": 1e-300, "n_steps": 200, "checkpoints": None}
    return PegasosSVC(kernel=kernel, gamma=0.2, cache=cache, **settings), RBF(0.2).block(X, X)


def _fit(rng):
    """A fit that is interrupted has the model reached so far, or that of before."""
    X, y = _blobs(rng, int(rng.integers(60, 200)), classes=[2, 2, 3, 4])
    estimator, gram = _endless(rng, X)
    if some(rng, 0.5) and not estimator.warm_start:
        endless = estimator.get_params()
        estimator.set_params(**{**_ended(endless), "C": 2.0}).fit(X[:, :2], y)
        estimator.set_params(**endless)
    before = model_of(estimator)
    others = 10 ** rng.uniform(-6, -2, size=pick(rng, [0, 0, 1, 2]))
    raised = pressed(lambda: estimator.fit(X, y), [rng.uniform(0, 0.06), *others])
    # A polished model may be at the limit of rounding before the press.
    assert raised is not None or estimator.polish, "Ctrl-C was lost"
    what = "the model before"
    if model_of(estimator) == before:
        assert others.size or "reached so far" not in str(raised)
    else:
        what = "the model reached so far"
        check_usable(estimator, X, 3)
        check_certificate(estimator, X, y, gram)
        _check_is_fit_of_so_many_steps(estimator, X, y)
    _check_next_fit(estimator, X, y)
    return f"fit: {what}"


def _ended(parameters):
    """The same parameters for a fit that ends."""
    ends = {"n_steps": 300, "max_time": None, "polish": False, "tol": None, "warm_start": False}
    return {**parameters, **ends}


def _check_is_fit_of_so_many_steps(estimator, X, y):
    """Unless these are too many, not the same for all pairs, or followed by a polish."""
    if y.max() == 1 and estimator.n_steps_ < 30_000 and not estimator.polish:
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
        _check_is_fit_of_so_many_steps(estimator, X, y)
        return
    estimator.set_params(**parameters).fit(X, y)
    fresh = type(estimator)(**parameters).fit(X, y)
    assert model_of(estimator) == model_of(fresh), "the next fit makes another model"


# --- calls that take long -------------------------------------------------------------------------


class Slow:
    """A Gaussian kernel that computes for some seconds for each value."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, A, B):
        until = time.thread_time() + self.seconds * len(A) * len(B)
        while time.thread_time() < until:
            pass
        return RBF(0.2).block(A, B)


def _long_call(rng, kind, X, y, kernel):
    """An estimator, and a call that takes long: of the estimator, or beside it."""
    options = {"kernel": kernel, "n_jobs": pick(rng, [None, 2]), "random_state": 0}
    if kind == "search":
        mb = pick(rng, ["auto", 20.0])
        model = PegasosSVCCV(Cs=3, gammas=3, cv=3, refit=False, cache_mb=mb, **options)
        return model, lambda: model.fit(X, y)
    if kind == "stream":
        model = LinearPegasosSVC(lam=0.01, random_state=0)
        parts = np.array_split(np.arange(len(y)), 5)
        chunks = [(X[part], y[part]) for part in parts]
        return model, lambda: fit_chunks(model, chunks, epochs=10**4, classes=np.unique(y))
    options |= {"C": power(rng, 0, 3), "cache": pick(rng, ["auto", "cached"])}
    model = PegasosSVC(polish=some(rng, 0.6), tol=1e-4, **options)
    if kind == "prediction":
        seconds, kernel.seconds = kernel.seconds, 0.0
        model.set_params(epochs=2, polish=False).fit(X, y)
        kernel.seconds = seconds
        many = X[rng.integers(len(X), size=int(power(rng, 2, 3.5)))]
        return model, lambda: model.decision_function(many)
    if kind == "path":
        problem = make_problem(np.where(y > 0, 1.0, -1.0), lam=1.0)
        rows, Cs = {"kernel": kernel, "cache": "cached"}, np.logspace(-1, 4, 8)
        return model, lambda: regularization_path(problem, make_rows(X, **rows), Cs, tol=1e-4)
    return model, lambda: model.fit(X, y)


def _phase(rng):
    """Matrices, rows, polishes, searches, paths and predictions are left in time."""
    kind = pick(rng, ["fit", "fit", "search", "search", "path", "prediction", "stream"])
    is_slow = kind == "prediction" or some(rng, 0.5)
    X, y = _blobs(rng, int(rng.integers(50, 300) if is_slow else rng.integers(1000, 5000)), 30)
    kernel = Slow(power(rng, -5.5, -3)) if is_slow else "rbf"
    model, call = _long_call(rng, kind, X, y, kernel)
    seconds, ended = power(rng, -2, 0.3), "Ctrl-C"
    if kind in ("fit", "search") and some(rng, 0.4):
        ended = "max_time"
        model.set_params(max_time=seconds)
        begin = np.array([time.perf_counter(), time.process_time()])
        call()
        late, computing = [time.perf_counter(), time.process_time()] - begin - seconds
        if is_slow and kind == "fit":
            # Diagonal, a row, and the rows of the support of each pair: a first model has them.
            n_values = len(y) * (model.classes_.size - 1) * (2 + model.support_.size)
            late, computing = np.array([late, computing]) - kernel.seconds * n_values
        # Two threads compute at a time.
        assert min(late, computing / 2) < 1.0, f"{late:.1f} s late, {computing:.1f} of computing"
    else:
        again = [rng.uniform(0.01, 0.5)] * some(rng, 0.4)
        pressed(call, [seconds, *again])
    if is_slow:
        kernel.seconds = 0.0
    if kind == "search":
        assert ended != "max_time" or model.status_ in ("max_time", "completed")
        assert not hasattr(model, "best_params_") or model.best_params_["C"] in model.Cs_
    elif ended == "max_time" or hasattr(model, "classes_"):
        check_usable(model, X[:100], 30)
    return f"{kind}{' of a slow kernel' if is_slow else ''}: {ended}"
