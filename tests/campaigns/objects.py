"""Objects have their own kernel values, whatever fails or changes between two fits.

A kernel of objects goes through fits, predictions, clearing, copies, budgets and threads, while one
of its functions fails at some calls, with an error, Ctrl-C or StopIteration, and the objects of
finished fits change. What is left is as good as new: a fit, and predictions, are those of a kernel
without a past, to the last bit, and objectives those of the coefficients. No pair is evaluated
again without need.
"""

import copy
import math
from collections import Counter
from contextlib import suppress
from threading import Thread

import numpy as np
from sklearn.base import clone

from kpegasos import PairwiseKernel, PegasosSVC
from tests.campaigns.harness import check, pick, some

CI_TRIALS = 20

KINDS = [OSError, KeyboardInterrupt, StopIteration]


class Thing:
    """An object that can change."""

    def __init__(self, number, text):
        self.number, self.text = number, text


def prepared(thing):
    """What the function sees where it does not see the object."""
    return thing.number, thing.text


def value(a, b):
    """A kernel value, the same bits either way round."""
    (x, s), (z, t) = (each if isinstance(each, tuple) else prepared(each) for each in (a, b))
    shared = sum(min(s.count(letter), t.count(letter)) for letter in "abcd")
    return shared + math.exp(-abs(x - z))


class Machine:
    """A kernel whose functions are counted, and fail when they are told to."""

    def __init__(self, rng):
        self.fails, self.calls, self.asked = {}, Counter(), Counter()
        self.options = {
            "blocks": some(rng, 0.4),
            "prepare": self._told("prepare", prepared) if some(rng, 0.6) else None,
            "diagonal": self._told("diagonal", self._diagonal) if some(rng, 0.4) else None,
            "cache_mb": pick(rng, [1024.0, 1024.0, 0.0005, 1e-9]),
            "n_jobs": pick(rng, [None, None, None, 1]),
        }
        function = self._block if self.options["blocks"] else self._pair
        self.kernel = PairwiseKernel(self._told("function", function), **self.options)

    def fresh(self):
        """A kernel without a past, which does not fail."""
        options = {k: v for k, v in self.options.items() if k in ("blocks", "cache_mb", "n_jobs")}
        function = (
            (lambda A, B: [[value(a, b) for b in B] for a in A]) if options["blocks"] else value
        )
        return PairwiseKernel(function, **options)

    def fail(self, place, kind, after):
        """Have a function fail at a call that is to come, once."""
        self.fails[place] = kind, self.calls[place] + after

    def _told(self, place, function):
        def told(*arguments):
            self.calls[place] += 1
            kind, at = self.fails.get(place, (None, 0))
            if kind is not None and self.calls[place] >= at:
                del self.fails[place]
                raise kind(place)
            return function(*arguments)

        return told

    def _pair(self, a, b):
        self.asked[frozenset(map(repr, map(_contents, (a, b))))] += 1
        return value(a, b)

    def _block(self, A, B):
        return [[self._pair(a, b) for b in B] for a in A]

    def _diagonal(self, X):
        return np.array([value(x, x) for x in X])


def _contents(thing):
    return thing if isinstance(thing, tuple) else prepared(thing)


def things(rng, n):
    """Some objects, a few of them equal."""
    numbers = np.round(rng.normal(size=n), 1)
    texts = ["".join(rng.choice(list("abcd"), rng.integers(0, 6))) for _ in range(n)]
    return [Thing(float(number), text) for number, text in zip(numbers, texts, strict=True)]


def targets(rng, n):
    """Labels of two or three classes."""
    return np.arange(n)[rng.permutation(n)] % int(rng.integers(2, min(3, n // 2) + 1))


def fitted(rng, kernel, X, y, **options):
    """A model of a kernel."""
    return PegasosSVC(kernel=kernel, epochs=2, random_state=0, **options).fit(X, y)


# --- what happens; each may fail on the way -------------------------------------------------------


def fit(rng, machine, pool):
    order = rng.permutation(len(pool))[: rng.integers(4, 1 + len(pool))]
    X = [copy.deepcopy(pool[i]) for i in order]
    model = fitted(rng, machine.kernel, X, targets(rng, len(X)))
    for each in X:  # a buffer that is used again
        each.number, each.text = 99.0, "d"
    return model


def budget(rng, machine, pool):
    return fitted(
        rng, machine.kernel, pool, targets(rng, len(pool)),
        max_kernel_evaluations=int(rng.integers(1, 60)), polish=some(rng, 0.5),
    )  # fmt: skip


def predict(rng, machine, pool):
    model, new = fit(rng, machine, pool), [*pool[:3], *things(rng, 3)]
    expected = decisions_of(model, new)
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=1e-9, atol=1e-9)


def decide(rng, machine, pool):
    A, B = [*pool[:5], *things(rng, 2)], things(rng, 2) + pool[2:9]
    truth = [[value(a, b) for b in B] for a in A]
    np.testing.assert_array_equal(machine.kernel.block(A, B), truth)
    np.testing.assert_array_equal(machine.kernel.diag(A), [value(a, a) for a in A])


def clear(rng, machine, pool):
    machine.kernel.clear()
    machine.asked.clear()


def cloned(rng, machine, pool):
    estimator = PegasosSVC(kernel=machine.kernel, epochs=1, random_state=0)
    clone(estimator).fit(pool, targets(rng, len(pool)))


def beside(rng, machine, pool):
    model, new = fit(rng, machine, pool), [*pool, *things(rng, 3)]
    expected, found, failed = decisions_of(model, new), [], []

    def go_on():
        try:
            for _ in range(3):
                found.append(model.decision_function(new))
        except BaseException as error:
            failed.append(error)

    threads = [Thread(target=go_on, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        fitted(rng, machine.kernel, things(rng, 8), targets(rng, 8))
    finally:
        for thread in threads:
            thread.join(60.0)
            check(not thread.is_alive(), "no call hangs")
    check(failed or len(found) == 6, "each prediction ends")
    for each in found:
        np.testing.assert_allclose(each, expected, rtol=1e-9, atol=1e-9)


def decisions_of(model, new):
    """Decisions by the coefficients of a model, whatever its kernel keeps."""
    values = np.array([[value(a, b) for b in model.support_vectors_] for a in new])
    if len(model.classes_) == 2:
        return values @ model.dual_coef_[0] + model.intercept_[0]
    fresh = copy.copy(model).set_params()
    fresh._kernel = PairwiseKernel(value)
    return fresh.decision_function(new)


EVENTS = [fit, fit, budget, predict, predict, decide, clear, cloned, beside]


def trial(rng):
    """Let things happen, and see what is left."""
    machine, pool = Machine(rng), things(rng, int(rng.integers(8, 25)))
    outcomes = Counter()
    for _ in range(int(rng.integers(2, 7))):
        if some(rng, 0.7):
            machine.fail(pick(rng, ["function", "prepare", "diagonal"]), pick(rng, KINDS),
                         int(rng.integers(1, 40)))  # fmt: skip
        event = pick(rng, EVENTS)
        with suppress(OSError, KeyboardInterrupt, _Stopped):
            try:
                event(rng, machine, pool)
            except ValueError as error:
                if "StopIteration" not in str(error):
                    raise
                raise _Stopped from error
            outcomes[event.__name__] += 1
            continue
        outcomes[f"{event.__name__}, failed"] += 1
    machine.fails.clear()
    _check(rng, machine, pool)
    return outcomes


class _Stopped(Exception):
    """The sentence for StopIteration."""


def _check(rng, machine, pool):
    """Fit in another order, and compare."""
    X = [pool[i] for i in rng.permutation(len(pool))]
    y = np.arange(len(X)) % 2
    before = machine.asked.copy()
    model, other = (fitted(rng, each, X, y) for each in (machine.kernel, machine.fresh()))
    np.testing.assert_array_equal(model.dual_coef_, other.dual_coef_)
    new = [*things(rng, 5), *pool]
    np.testing.assert_array_equal(model.decision_function(new), other.decision_function(new))
    K = np.array([[value(a, b) for b in X] for a in X]) + 1.0
    coef = np.zeros(len(X))
    coef[model.support_] = model.dual_coef_[0]
    signs, decisions = np.where(y > 0, 1.0, -1.0), K @ coef
    true = 0.5 * model.lam_ * coef @ decisions + np.maximum(0.0, 1.0 - signs * decisions).mean()
    check(abs(true - model.objective_) <= 1e-9 * true, "the objective is that of the coefficients",
          true=true, told=model.objective_)  # fmt: skip
    if machine.options["cache_mb"] > 1.0:
        fitted_pairs = {frozenset({repr(prepared(a)), repr(prepared(b))}) for a in X for b in X}
        again = {p for p, n in (machine.asked - before).items() if n > 2 and p in fitted_pairs}
        check(not again, "no pair is evaluated again without need", again=again)
