"""The fuzz campaign leaves nothing public out, and notices what it is there for."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kpegasos
from kpegasos import datasets, plotting, reference, theory
from tests.campaigns import _fuzz_checks as checks
from tests.campaigns import fuzz
from tests.campaigns._fuzz_targets import GOOD, GOOD_OF, NOT_CALLED, targets
from tests.campaigns._fuzz_values import NASTY, make

TARGETS = {target.name: target for target in targets()}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_call_returns_something_sensible_or_one_clear_sentence(data):
    fuzz.try_case(fuzz.draw_case(lambda items: data.draw(st.sampled_from(items))))


@pytest.mark.parametrize("module", [kpegasos, theory, datasets, plotting, reference])
def test_every_public_callable_is_called(module):
    called = {name.partition(".")[0] for name in TARGETS}
    public = {name for name in module.__all__ if callable(getattr(module, name))}
    assert public - called - set(NOT_CALLED) == set()


def test_what_is_not_called_exists():
    everything = {name for module in (kpegasos, datasets, reference) for name in module.__all__}
    assert set(NOT_CALLED) <= everything
    assert not set(NOT_CALLED) & {name.partition(".")[0] for name in TARGETS}


@pytest.mark.parametrize("name", TARGETS)
def test_every_parameter_that_must_be_given_has_a_good_value(name):
    target = TARGETS[name]
    assert [p for p in target.required if not target.good(p)] == []


@pytest.mark.parametrize("name", sorted(TARGETS.keys() - {"TrainingAnimation.save"}))
def test_call_with_usual_values_returns(name):
    usual = fuzz.draw_case(lambda items: items[0], TARGETS[name])
    assert not usual.unusual
    assert fuzz.try_case(usual) in ("fitted", "returned")


def test_recipes_are_of_parameters_that_exist():
    parameters = {f"{target.name}.{p}" for target in targets() for p in target.parameters}
    assert [key for key in GOOD_OF if key not in parameters] == []
    assert GOOD.keys() - {key.rpartition(".")[2] for key in parameters} == set()


def test_values_are_expressions():
    for text in (*NASTY, *(text for texts in (GOOD | GOOD_OF).values() for text in texts)):
        make(text)


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
        checks.assert_clear(error, {"C": -1})


def test_errors_that_are_clear_are_none():
    checks.assert_clear(ValueError("C must be positive, got -1 instead"), {"C": -1})
    value = np.ones((20, 20))
    checks.assert_clear(TypeError(f"C must be a number, got {value!r}"), {"C": value})


def test_leftovers_of_a_fit_are_a_failure():
    class Careless(kpegasos.PegasosSVC):
        def fit(self, X, y, sample_weight=None):
            self.classes_ = np.unique(y)
            raise ValueError("X must be finite")

    with pytest.raises(AssertionError, match=r"left behind after an error: .'classes_'"):
        checks.fit(Careless(), {"X": [[0.0]], "y": [0]})
