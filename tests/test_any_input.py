"""Whatever is passed, a call returns something sensible or says in one sentence what is wrong."""

import contextlib
import inspect
import io
import random
import signal
import warnings
from functools import partial

import any_input
import numpy as np
import pytest
from any_input import MODULES, NOT_CALLED, make, targets
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kpegasos import LinearPegasosSVC, PegasosSVC

plt.switch_backend("Agg")
TARGETS = targets()


@contextlib.contextmanager
def quiet_and_soon(seconds=30):
    """Nothing is printed, no warning is a leftover, and the end is near."""

    def give_up(*_):
        raise AssertionError(f"not back after {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("always")
            yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        plt.close("all")
    for warning in caught:
        assert not issubclass(warning.category, RuntimeWarning | DeprecationWarning), warning


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
            any_input.assert_clear(error, {name: arguments[name] for name in blamed})
            return []
        target.check(found, arguments)
    return [found]


@pytest.mark.parametrize("name", sorted(TARGETS.keys() - {"TrainingAnimation.save"}))
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


WRONG = ["np.array(1)", "np.array([1])", "'1'", "b'1'", "1j", "np.complex64(1)", "{}", "np.nan"]


def bits(found):
    """What a call has made, as bytes."""
    if isinstance(found, tuple | list):
        return [bits(each) for each in found]
    made = [found, *(getattr(found, name, None) for name in ("margins", "dual_coef_"))]
    return [each.tobytes() for each in made if isinstance(each, np.ndarray | np.generic)]


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, target in TARGETS.items()
        if not target.is_slow and ("." not in name or name.endswith("fit"))
        if target.check is not any_input.bound and name != "GramRows"  # which take arrays
    ],
)
def test_number_may_be_one_of_numpy_and_nothing_else(name):
    target = TARGETS[name]
    usual = target.usual() | ({"random_state": "0"} if "random_state" in target.parameters else {})
    for parameter, value in target.numbers().items():
        for text in WRONG:
            found = call(target, usual | {parameter: text}, [parameter])
            assert not found, (parameter, text)
        plain = usual | {parameter: repr(value)}
        kind = "np.int32" if isinstance(value, int) else "np.float64"
        numpys = plain | {parameter: f"{kind}({value!r})"}
        assert bits(call(target, plain)) == bits(call(target, numpys)), parameter


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
            any_input.assert_clear(error, dict.fromkeys(names, ""))
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


@pytest.mark.parametrize(
    ("error", "match"),
    [
        (AttributeError("'int' object has no attribute 'shape'"), "AttributeError"),
        (OverflowError("int too large"), "OverflowError"),
        (ValueError("operands could not be broadcast together"), "'broadcast' in"),
        (ValueError("C must be positive, got\n1\n2\n3"), "3 lines"),
        (ValueError("it must be positive"), "names none of"),
        (ValueError("C must be " + 500 * "very "), "characters"),
    ],
)
def test_errors_that_are_not_clear_are_failures(error, match):
    with pytest.raises(AssertionError, match=match):
        any_input.assert_clear(error, {"C": -1})
