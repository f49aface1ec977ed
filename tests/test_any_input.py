"""Whatever is passed, a call returns something sensible or says in one sentence what is wrong.

Signatures are read, so that a new function or parameter is tried without being listed. Listed are
values of parameters that must be given, as expressions: a failure reads as a call. What displays
refuse is in `test_refusals`.
"""

import contextlib
import inspect
import io
import random
import re
import signal
import tempfile
import warnings
from collections import OrderedDict
from collections.abc import Callable
from contextlib import chdir
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVC

import kpegasos
import kpegasos.large
from kpegasos import LinearPegasosSVC, PegasosSVC, datasets, reference, theory

MODULES = (kpegasos, theory, datasets, reference)
#: Public names that are not called with parameters of a user's choice, and why.
NOT_CALLED = {
    "a record": "Dataset History Iterates Problem Record RegularizationPath Result",
    "a protocol": "Kernel",
    "downloads, or reads a large set": "load_adult load_covtype "
    "load_fashion_mnist load_mnist load_rcv1_sample load_usps",
}
#: Parameters that are given even where they have a default, which takes long.
_ALWAYS = {
    "Cs", "classes", "cv", "epochs", "gammas", "lam", "max_epochs", "max_time", "n_features",
    "n_samples",
}  # fmt: skip
#: Values of parameters that must be given, of all callables and of one.
VALUES = {
    "Cs": "[0.1, 1.0, 10.0]",
    "K": "X @ X.T",
    "X": "X",
    "chunks": "kpegasos.large.ArrayChunks(X, y, chunk_size=10)",
    "classes": "[0, 1]",
    "cv": "2",
    "delta": "0.1",
    "deviation": "2.0",
    "draws": "np.arange(24)",
    "epochs": "3",
    "estimator": "fitted(PegasosSVC)",
    "excess": "0.5",
    "function": "lambda a, b: float(a @ b)",
    "gammas": "[1.0]",
    "gradient_norm": "1.0",
    "gram": "X @ X.T",
    "iterates": "[(1, np.ones(2)), (5, np.zeros(2), np.ones(2), np.ones(24))]",
    "lam": "0.1",
    "largest": "1.0",
    "max_epochs": "20",
    "max_time": "20",
    "model": "fitted(PegasosSVC)",
    "n_draws": "30",
    "n_features": "5",
    "n_samples": "24",
    "n_steps": "50",
    "name": "'moons'",
    "problem": "kpegasos.make_problem(2 * y - 1, 0.1)",
    "radius": "1.0",
    "regret": "0.1",
    "rows": "kpegasos.make_rows(X, gamma=2.0, intercept_scaling=1.0)",
    "y": "y",
    "CachedRows.values": "kpegasos.KernelMatrix(kpegasos.RBF(), X)",
    "KernelMatrix.kernel": "kpegasos.RBF(2.0)",
    "PegasosSVC.from_libsvm.path": "libsvm(PegasosSVC)",
    "PegasosSVR.from_libsvm.path": "libsvm(PegasosSVR)",
    "fit_chunks.estimator": "LinearPegasosSVC(lam=0.1)",
    "load.path": "stored()",
    "make_kernel.kernel": "'poly'",
    "make_problem.y": "2 * y - 1",
    "make_text_like.n_features": "2000",
    "save.path": "'a.skops'",
    "to_libsvm.path": "'a.model'",
}
VALUES |= {f"{name}.y": "2 * y - 1" for name in reference.__all__}
#: Values that hardly any parameter means.
_NASTY = """
None float('nan') float('inf') -float('inf') 0 -1 0.0 -0.5 0.5 2.5 1e308 -1e308 1e-320 10**30
-(10**30) 2**63 True False '' 'abc' '1' '\\x00' '\\U0001f40d'*5000 b'' b'abc' 1j [] [1] [1.5,2.5]
['a','b'] [None] [float('nan')] [[1,2],[3,4]] [[1],[2,3]] () (0,1) {} {'a':1} {0:1e-200,1:1e200}
{1,2} range(3) range(0) iter([1.0]) object() object int len Ellipsis slice(3) Decimal('0.5')
Fraction(1,3) OrderedDict() io.StringIO('1_1:1') Path('nowhere') np.float16('inf') np.float64('nan')
np.uint64(2**64-1) np.complex128(1j) np.str_('abc') np.datetime64('2020-01-01')
np.timedelta64('NaT') np.array(3) np.array(0.5) np.array(float('nan')) np.array([]) np.arange(3)
np.arange(24) -np.ones(24) np.zeros(24) np.full(24,float('nan')) np.full((24,2),float('inf'))
np.full((24,2),1e308) np.ones((2,2)) np.ones((24,1)) np.ones((24,24)) np.ones((2,2,2))
np.ones((24,2),complex) np.array(['a','b']) np.array([None,'a',1.5],object)
np.array([[1],[2,3]],object) np.zeros(3,[('a',int),('b',float)]) np.ma.masked
np.random.default_rng(0) np.random.RandomState(0)
sparse.eye(3,format='csr') sparse.coo_matrix((24,2)) sparse.csr_matrix PegasosSVC PegasosSVC()
LinearPegasosSVC(epochs=-1) SVC() kpegasos
"""
NASTY = [
    *_NASTY.split(),
    "(i for i in range(3))",
    "lambda *a, **k: None",
    "lambda *a, **k: np.ones((2, 3))",
]
#: What is not tried: it takes as long as it says, or is called, and its own error comes out.
_ENDLESS = ("2**63", "10**30", "1e308", "np.uint64(2**64-1)")
_NOT_TRIED = {
    "fit_chunks.epochs": _ENDLESS,
    # scikit-learn squares what is predicted.
    "LinearPegasosSVR.score.X": ("np.full((24,2),1e308)",),
    "make_text_like.n_samples": _ENDLESS,
    "iterates": ("sparse.coo_matrix((24,2))",),
} | dict.fromkeys(
    ("kernel", "sampling", "step", "monitor", "chunks", "bounds", "scoring", "loss", "bound"),
    ("len", "int", "object", "PegasosSVC", "sparse.csr_matrix"),
)

# --- values ---------------------------------------------------------------------------------------

MOONS = make_moons(24, noise=0.2, random_state=0)


def _unfitted(kind):
    options = {"Cs": 2, "gammas": 2} if "CV" in kind.__name__ else {}
    return kind(random_state=0, **options)


@cache
def fitted(kind):
    """A model that nobody modifies."""
    return _unfitted(kind).fit(*MOONS)


@cache
def _folder():
    return Path(tempfile.mkdtemp())


@cache
def _stored():
    kpegasos.save(fitted(kpegasos.PegasosSVC), _folder() / "model.skops")
    return _folder() / "model.skops"


@cache
def _libsvm(kind):
    path = _folder() / f"{kind.__name__}.model"
    fitted(kind).to_libsvm(path)
    return path


_NAMES = {
    "Decimal": Decimal, "Fraction": Fraction, "OrderedDict": OrderedDict, "Path": Path, "SVC": SVC,
    "X": MOONS[0], "fitted": fitted, "io": io, "kpegasos": kpegasos, "libsvm": _libsvm, "np": np,
    "sparse": sparse, "stored": _stored, "y": MOONS[1],
}  # fmt: skip


def make(text):
    """The value of an expression, a fresh one each time."""
    return eval(text, vars(kpegasos) | {name: getattr(kpegasos, name) for name in _OURS} | _NAMES)


_OURS = ("LinearPegasosSVC", "LinearPegasosSVR", "PegasosSVC", "PegasosSVCCV", "PegasosSVR")

# --- targets --------------------------------------------------------------------------------------


class Target(NamedTuple):
    """Something public to call: ``call(**parameters)``, and ``check(result, parameters)``."""

    name: str
    call: Callable[..., Any]
    parameters: tuple[str, ...]
    required: tuple[str, ...]
    check: Callable[[Any, dict[str, Any]], None]

    def usual(self):
        """Expressions of the parameters that must be given."""
        return {parameter: self._of(parameter, VALUES) for parameter in self.required}

    def nasty(self):
        """Each parameter with each value, an expression, that it hardly means."""
        for parameter in self.parameters:
            left_out = self._of(parameter, _NOT_TRIED) or ()
            yield from ((parameter, text) for text in NASTY if text not in left_out)

    def _of(self, parameter, table):
        method = self.name.rpartition(".")[2]
        names = (f"{self.name}.{parameter}", f"{method}.{parameter}", parameter)
        return next((table[name] for name in names if name in table), None)

    @property
    def is_slow(self):
        """Whether it draws pictures or many documents, or searches."""
        return self.name.startswith(("make_text_like", "PegasosSVCCV.fit"))


def _target(name, call, *signatures, check=None, also=()):
    found = {}
    for function in signatures or (call,):
        found |= inspect.signature(function).parameters
    named = [
        p
        for p in found.values()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name != "self"
    ]
    given = [p.name for p in named if p.default is p.empty or p.name in _ALWAYS]
    names = (*(p.name for p in named), *also)
    return Target(name, call, names, tuple(given), check or returned)


def _elsewhere(call, *given, **arguments):
    """Call what may write to a path of any name, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        return call(*given, **arguments)


def _fit(kind, method, **arguments):
    """Fit a model; nothing is left of it after an error."""
    data = {k: arguments.pop(k) for k in ("X", "y", "sample_weight", "groups") if k in arguments}
    if method == "partial_fit":
        data |= arguments
        arguments = {"random_state": 0}
    model = kind(**arguments)
    try:
        return getattr(model, method)(**data)
    except Exception:
        left = [name for name in vars(model) if name.endswith("_")]
        assert not left, f"left behind after an error: {left}"
        raise


def _asked(kind, method, **arguments):
    """Call a method of a fitted model; while tests are collected, none is fitted yet."""
    return getattr(fitted(kind), method)(**arguments)


def _methods(kind):
    for name, method in inspect.getmembers(kind, callable):
        ours = str(getattr(method, "__module__", "")).startswith("kpegasos")
        if not name.startswith("_") and (ours or name == "score"):
            yield name, method


def _of_an_estimator(name, kind):
    yield _target(f"{name}.fit", partial(_fit, kind, "fit"), kind, kind.fit, check=model)
    for method, function in _methods(kind):
        if method == "partial_fit":
            yield _target(f"{name}.{method}", partial(_fit, kind, method), function, check=model)
        elif method != "fit" and hasattr(_unfitted(kind), method):
            of_models = dict.fromkeys(("from_libsvm", "sparsify", "densify"), model)
            check = of_models.get(method, returned if "to_" in method else prediction)
            call = partial(_elsewhere, _asked, kind, method)
            made = _target(f"{name}.{method}", call, function, check=check)
            yield made._replace(parameters=("X",)) if method == "score" else made


def _public():
    left_out = " ".join(NOT_CALLED.values()).split()
    for module in MODULES:
        for name in module.__all__:
            if name not in left_out and callable(getattr(module, name)):
                yield name, getattr(module, name)


@cache
def targets():
    """All that is called, by name."""
    found = []
    for name, thing in _public():
        if hasattr(thing, "fit"):
            found += _of_an_estimator(name, thing)
        elif hasattr(thing, "diag"):
            call = partial(lambda kind, **arguments: _kernel_values(kind(**arguments)), thing)
            found.append(_target(name, call, thing))
        else:
            kinds = {p.kind for p in inspect.signature(thing).parameters.values()}
            also = ("gamma", "degree", "coef0") if inspect.Parameter.VAR_KEYWORD in kinds else ()
            check = model if name == "fit_chunks" else returned
            found.append(_target(name, partial(_elsewhere, thing), thing, check=check, also=also))
    return {target.name: target for target in found}


# --- what is asked of results ---------------------------------------------------------------------


def returned(result, arguments):
    """Nothing more is known."""


def model(model, arguments):
    """A fitted model has a certificate that can be, and predicts its classes, or numbers."""
    assert hasattr(model, "classes_") or is_regressor(model), "no classes_ after a fit"
    if hasattr(model, "objective_"):
        objective, gap = np.asarray(model.objective_), np.asarray(model.duality_gap_)
        assert np.isfinite(objective).all(), f"objective_ {objective}"
        assert (objective >= 0).all(), f"objective_ {objective}"
        sure = str(arguments.get("kernel", "rbf")) in ("rbf", "linear", "laplacian")
        assert (gap >= 0).all() or (not sure and np.isnan(gap).any()), f"duality_gap_ {gap}"
    has_no_model = hasattr(model, "scores_") and not hasattr(model, "best_estimator_")
    if "X" in arguments and not has_no_model:
        X = arguments["X"]
        assert model.n_features_in_ == (X.shape if sparse.issparse(X) else np.shape(X))[1]
        if getattr(model, "kernel", None) != "precomputed":
            prediction(model.predict(X), {"X": X, "model": model})


def prediction(values, arguments):
    """Predictions are finite, or of the classes; one for each row."""
    if isinstance(values, tuple):  # lower and upper ends, infinite of rows that are far enough
        for each in values:
            assert not np.isnan(each).any()
            prediction(np.nan_to_num(each), arguments)
        return
    if np.ndim(values) == 0:  # an accuracy, or an R² that may be negative
        assert values <= 1
        return
    X = arguments["X"]
    assert len(values) == (X.shape[0] if sparse.issparse(X) else len(X))
    if "model" in arguments and not is_regressor(arguments["model"]):
        assert np.isin(values, arguments["model"].classes_).all()
    else:
        assert np.isfinite(values).all()


def _kernel_values(kernel):
    """Values of a kernel on the data, without their signs as some want histograms: finite."""
    values = kpegasos.KernelMatrix(kernel, np.abs(MOONS[0])).block(*[np.arange(len(MOONS[0]))] * 2)
    assert np.isfinite(values).all()
    return values


# --- what is asked of errors ----------------------------------------------------------------------

#: Leftovers of what a sentence came through.
_LEFTOVERS = re.compile(
    r"broadcast|out of bounds|boolean index|Traceback|ufunc|object is|has no attribute|"
    r"unexpected keyword|positional argument|cannot convert|not supported between|"
    r"unsupported operand|cannot be interpreted|must be real number|unhashable|invalid literal|"
    r"unpack|truth value|inhomogeneous|numba|float\(\) argument|int\(\) argument|subscriptable|"
    r"not iterable|__|setting an array|zero-size|only integers|could not convert|ambiguous|"
    r"axis|Cannot cast|<lambda>\(\)"
)
#: What a message may say instead of the parameter's name.
_ALIASES = {
    "Cs": "scores values", "gammas": "scores", "eps": "X", "history": "runs",
    "X": "array features sample samples sparse decisions alpha",
    "y": "cv labels label classes target targets samples",
    "coef0": "kernel Polynomial", "coef0s": "kernel Polynomial", "degree": "kernel Polynomial",
    "gamma": "kernel Polynomial", "decisions": "margins", "groups": "cv", "metrics": "values",
    "sample_weight": "weights", "scores": "axes", "counts": "count", "curves": "y",
    "diagonal": "kernel", "function": "kernel", "prepare": "kernel",
    "chunks": "X y sample_weight epochs", "estimator": "epochs PegasosSVC LinearPegasosSVC",
}  # fmt: skip


def assert_clear(error, blamed):
    """Assert that an error is one clear sentence about one of some parameters."""
    if isinstance(error, NotFittedError) or getattr(error, "filename", None) is not None:
        return  # scikit-learn's sentence names the method, Python's the file
    # Exactly these: JSONDecodeError, UnicodeError and LinAlgError are ValueErrors, too.
    ours = type(error).__name__ == "InvalidParameterError"
    clear = type(error) in (ValueError, TypeError, FileNotFoundError) or ours
    assert clear, f"{type(error).__name__}: {error}"
    message = str(error)
    for value in blamed.values():
        for text in {_text(repr, value), _text(str, value)}:
            message = message.replace(text, "VALUE") if len(text) > 2 else message
    assert len(message) <= 500, f"{len(message)} characters: {message[:200]}"
    names = [word for name in blamed for word in (name, *_ALIASES.get(name, "").split())]
    # What scikit-learn says of an array, and its users look for, may follow the sentence.
    own = message.partition(": ")[0]
    if not re.match(rf"({'|'.join(map(re.escape, names))}) must ", own):
        own = message
    assert own.count("\n") <= 2, f"{own.count(chr(10))} lines: {own}"
    found = _LEFTOVERS.search(own)
    assert not found, f"{found and found[0]!r} in: {type(error).__name__}: {message}"
    named = any(re.search(rf"\b{re.escape(word)}\b", message) for word in names)
    assert named, f"names none of {sorted(blamed)}: {type(error).__name__}: {message}"


def _text(write, value):
    try:
        return str(write(value))
    except Exception:
        return ""


# --- tests ----------------------------------------------------------------------------------------

TARGETS = targets()


@contextlib.contextmanager
def quiet_and_soon(seconds=30):
    """Nothing is printed, no warning is a leftover, and the end is near, in seconds of work."""

    def give_up(*_):
        raise AssertionError(f"not back after {seconds} s")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("always")
            yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    for warning in caught:
        assert not issubclass(warning.category, RuntimeWarning | DeprecationWarning), warning


def _may_be_of_its_own(target, values):
    """Whether an error may be one of a user's function, which comes out as it is."""
    asked = (callable(value) or name == "blocks" for name, value in values.items())
    return target.name == "PairwiseKernel" and any(asked)


def call(target, texts, blamed=()):
    """Make a call of expressions; a list of what comes back, empty after one clear sentence."""
    arguments = {name: make(text) for name, text in texts.items()}
    with quiet_and_soon():
        try:
            found = target.call(**arguments)
            found = list(found) if inspect.isgenerator(found) else found
        except Exception as error:
            if isinstance(error, AssertionError):
                raise
            values = {name: arguments[name] for name in blamed}
            if not _may_be_of_its_own(target, values):
                assert_clear(error, values)
            return []
        target.check(found, arguments)
    return [found]


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_call_with_usual_values_returns(name):
    assert call(TARGETS[name], TARGETS[name].usual())


@pytest.mark.parametrize("share", ["some", pytest.param("all", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_call_with_a_nasty_value_returns_or_says_why_in_one_sentence(name, share):
    target, failures = TARGETS[name], []
    cases = list(target.nasty())
    if share == "some":
        cases = random.Random(name).sample(cases, min(len(cases), 1 if target.is_slow else 4))
    for parameter, text in cases:
        try:
            call(target, target.usual() | {parameter: text}, blamed=[parameter])
        except AssertionError as error:
            failures.append(f"{parameter}={text}: {error}")
    assert not failures, "\n".join(failures)


# --- numbers from one end of the floats to the other ----------------------------------------------

EXPONENTS = {
    "C": (-110, 110), "lam": (-110, 110), "epochs": (-3, 1), "intercept_scaling": (-320, 60),
    "tol": (-320, 300), "gamma": (-320, 308), "coef0": (-320, 308), "cache_mb": (-3, 308),
}  # fmt: skip


@settings(max_examples=60)
@given(st.data())
def test_numbers_of_any_size_give_a_finite_model_or_one_sentence(data):
    kernel = data.draw(st.sampled_from([None, "rbf", "poly", "linear", "sigmoid", "laplacian"]))
    left_out = {None: {"gamma", "coef0", "cache_mb"}, "sigmoid": {"tol"}}.get(kernel, set())
    chosen = data.draw(st.sets(st.sampled_from(sorted(EXPONENTS.keys() - left_out)), max_size=3))
    parameters = {name: 10.0 ** data.draw(st.floats(*EXPONENTS[name])) for name in sorted(chosen)}
    parameters |= {"max_time": 0.1, "random_state": 0} | data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "fit_intercept": st.just(False),
                "projection": st.just(True),
                "average": st.sampled_from(["weighted", "suffix", "uniform", None]),
                "batch_size": st.integers(1, 3),
                "class_weight": st.floats(-210, 210).map(lambda e: {0: 10.0**e}),
            },
        )
    )
    made = LinearPegasosSVC if kernel is None else partial(PegasosSVC, kernel=kernel)
    model = made(**parameters)
    dtype, largest = data.draw(st.sampled_from([(np.float32, 38), (np.float64, 307)]))
    y = np.arange(24) % data.draw(st.integers(2, 3))
    X = np.random.default_rng(0).normal(size=(24, 3)) + y[:, None]
    scale = 10.0 ** data.draw(st.one_of(st.just(0.0), st.floats(-largest, largest - 1)))
    X = data.draw(st.sampled_from([np.asarray, sparse.csr_matrix]))((X * scale).astype(dtype))
    weight = data.draw(
        st.one_of(st.none(), st.floats(-320, 307).map(lambda e: np.full(24, 10.0**e)))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # what overflows is looked at below
        try:
            model.fit(X, y, sample_weight=weight)
        except ValueError as error:
            names = (*model.get_params(), "sample_weight", "X")
            assert_clear(error, dict.fromkeys(names, ""))
            return
        decisions = model.decision_function(X)
    for found in (decisions, model.intercept_, model.dual_coef_, model.objective_):
        assert np.isfinite(found).all(), (model, found)
    gap = np.asarray(model.duality_gap_)
    assert ((gap >= 0) & (gap < np.inf) | np.isnan(gap)).all(), (model, gap)
    assert kernel != "sigmoid" or np.isnan(gap).all(), model


# --- nothing is left out --------------------------------------------------------------------------


def test_every_public_callable_is_called():
    called = {name.partition(".")[0] for name in TARGETS}
    public = {name for module in MODULES for name in module.__all__}
    callables = {n for m in MODULES for n in m.__all__ if callable(getattr(m, n))}
    left_out = set(" ".join(NOT_CALLED.values()).split())
    assert callables - called == left_out
    assert left_out <= public
