"""Whatever is passed, a call returns something sensible or says in one sentence what is wrong.

One or two parameters of a public callable are bad, or good but odd; the rest is usual.
"""

from __future__ import annotations

import contextlib
import io
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from tests.campaigns import _fuzz_checks as checks
from tests.campaigns._fuzz_targets import DURATIONS, Target, targets
from tests.campaigns._fuzz_values import NASTY, make

CI_TRIALS = 100
_SECONDS = 30.0

plt.switch_backend("Agg")

#: Chooses one of some possibilities: a generator does, or hypothesis.
Choose = Callable[[Sequence[Any]], Any]


class Case:
    """A call, as text: which parameters are given, and which of them are not usual."""

    def __init__(self, target: Target, given: dict[str, str], unusual: set[str]) -> None:
        self.target = target
        self.given = given
        self.unusual = unusual

    def __str__(self) -> str:
        arguments = ", ".join(f"{name}={text}" for name, text in self.given.items())
        return f"{self.target.name}({arguments})"


def draw_case(choose: Choose, target: Target | None = None) -> Case:
    """Choose a callable and one or two parameters that are not usual."""
    target = target or choose(targets())
    if target.slow and not choose((True, *[False] * 9)):
        target = choose(targets())
    given = {name: target.good(name)[0] for name in target.required if target.good(name)}
    unusual: set[str] = set()
    for _ in range(choose((0, 1, 1, 1, 1, 2, 2, 3)) if target.parameters else 0):
        name = choose(target.parameters)
        if name in DURATIONS and unusual & DURATIONS:
            continue
        odd = target.good(name)
        nasty = not odd or choose((True, True, False))
        refused = target.refused(name)
        given[name] = choose([text for text in NASTY if text not in refused] if nasty else odd)
        unusual.add(name)
    return Case(target, given, unusual)


class DoesNotEndError(Exception):
    """A call took too long."""


@contextlib.contextmanager
def _limited_time() -> Iterator[None]:
    def give_up(*_: Any) -> None:
        raise DoesNotEndError(f"not back after {_SECONDS:.0f} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def try_case(case: Case) -> str:
    """Make the call; says how it ended.

    Raises
    ------
    AssertionError
        If it ended in none of the ways that are promised.
    """
    arguments = {name: make(text) for name, text in case.given.items()}
    try:
        with (
            _limited_time(),
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("always")
            outcome = _outcome(case, arguments)
        for warning in caught:
            leaked = issubclass(warning.category, RuntimeWarning | DeprecationWarning)
            where = f"{warning.filename}:{warning.lineno}"
            assert not leaked, f"{warning.category.__name__}: {warning.message} ({where})"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise AssertionError(f"{case}: {type(error).__name__}: {error}") from error
    finally:
        plt.close("all")
    return outcome


def _outcome(case: Case, arguments: dict[str, Any]) -> str:
    blamed = {name: arguments[name] for name in case.unusual}
    try:
        result = case.target.call(**arguments)
        case.target.check(result, arguments)
    except (AssertionError, DoesNotEndError):
        raise
    except Exception as error:
        checks.assert_clear(error, blamed)
        return "one clear sentence"
    return "fitted" if hasattr(result, "classes_") else "returned"


def trial(rng: np.random.Generator) -> str:
    """One call of a public function."""
    return try_case(draw_case(lambda items: items[int(rng.integers(len(items)))]))
