"""Each loss alone: value, pull, conjugate and coordinate step belong to each other."""

import math
import subprocess
import sys
from typing import NamedTuple

import naive_losses
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from numpy.testing import assert_allclose
from solver_cases import EACH_LOSS

from kpegasos import PegasosSVC, losses, make_problem
from kpegasos.losses.base import bests, check_loss, probe, pulls, values
from kpegasos.losses.standard import CLASSIFICATION, REGRESSION

DECISIONS = st.floats(-5.0, 5.0, allow_subnormal=False)
NUMBERS = st.floats(-3.0, 3.0, allow_subnormal=False)


def book(loss):
    return naive_losses.LOSSES[type(loss).__name__]


def of(loss, number):
    """The target that a number makes for a loss, and its direction."""
    label = 1.0 if number > 0 else -1.0
    return (number, 1.0) if loss.regression else (label, label)


def inside(loss, share):
    low, high = max(loss.lower, -4.0), min(loss.upper, 4.0)
    return low + share * (high - low)


@EACH_LOSS
@given(decision=DECISIONS, other=DECISIONS, number=NUMBERS, share=st.floats(0.0, 1.0))
def test_value_is_that_of_the_book_and_pull_and_gain_belong_to_it(
    loss, decision, other, number, share
):
    """Fenchel and Young: ``ℓ(f) + β s f ≥ gain(β)``, with equality where β is the pull.

    So ``-s · pull`` is a subgradient.
    """
    y, s = of(loss, number)
    of_book = book(loss)(decision, y)
    assert_allclose(loss.value(decision, y), of_book, rtol=1e-12, atol=1e-13)
    pulled = loss.pull(decision, y)
    assert abs(pulled) <= loss.lipschitz
    assert_allclose(loss.gain(pulled, y), of_book + pulled * s * decision, rtol=1e-9, atol=1e-8)
    for beta in (inside(loss, share), pulled):
        assert loss.lower <= beta <= loss.upper
        assert loss.gain(beta, y) <= book(loss)(other, y) + beta * s * other + 1e-8


@EACH_LOSS
@given(
    decision=DECISIONS,
    number=NUMBERS,
    share=st.floats(0.0, 1.0),
    curvature=st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
)
def test_best_is_the_maximum_in_one_coordinate(loss, decision, number, share, curvature):
    (y, s), beta = of(loss, number), inside(loss, share)

    def dual(b):
        return loss.gain(b, y) - (b - beta) * s * decision - 0.5 * curvature * (b - beta) ** 2

    found = loss.best(beta, decision, y, curvature)
    assert loss.lower <= found <= loss.upper
    reach = 20.0 / curvature if math.isinf(loss.upper) else 1.0
    low, high = max(loss.lower, found - reach), min(loss.upper, found + reach)
    for other in np.linspace(low, high, 201):
        assert dual(found) >= dual(other) - 1e-9 * (1.0 + abs(dual(other)))


@EACH_LOSS
def test_arrays_are_the_methods_one_by_one(loss):
    rng = np.random.default_rng(0)
    f, y = rng.normal(size=50), rng.normal(size=50)
    y = y if loss.regression else np.sign(y)
    beta, curvature = np.array([inside(loss, u) for u in rng.random(50)]), rng.random(50)
    assert_allclose(values(loss, f, y), [loss.value(a, b) for a, b in zip(f, y, strict=True)])
    assert_allclose(pulls(loss, f, y), [loss.pull(a, b) for a, b in zip(f, y, strict=True)])
    each = [loss.best(*numbers) for numbers in zip(beta, f, y, curvature, strict=True)]
    assert_allclose(bests(loss, beta, f, y, curvature), each, atol=1e-12)


# --- losses of a user's own -----------------------------------------------------------------------


class Alike(NamedTuple):
    """A hinge of a user's own, of which one method after the other is replaced."""

    regression = False
    lower, upper, lipschitz = 0.0, 1.0, 1.0

    def value(self, decision, target):
        return max(0.0, 1.0 - target * decision)

    def pull(self, decision, target):
        return 1.0 if target * decision < 1.0 else 0.0

    def gain(self, beta, target):
        return beta

    def best(self, beta, decision, target, curvature):
        return min(1.0, max(0.0, beta + (1.0 - target * decision) / curvature))


OWN = """
from typing import NamedTuple
import numpy
from numba.core import event
from kpegasos.losses.base import values

class Own(NamedTuple):
    def value(self, decision, target):
        return {factor} * decision

with event.install_recorder("numba:compile") as compiled:
    (found,) = values(Own(), numpy.ones(1), numpy.ones(1))
print(found, len(compiled.buffer))
"""


@pytest.mark.slow
def test_an_edited_loss_never_meets_an_old_loop(tmp_path, monkeypatch):
    """The same class name, edited between two processes that share a cache."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    script = tmp_path / "own.py"
    for number in (1.0, 2.0, 1.0):
        script.write_text(OWN.format(factor=number))
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
        found, events = done.stdout.split()
        assert float(found) == number
        assert int(events) > 0


SCALE = 1.0


def _value(self, decision, target):
    return max(0.0, SCALE - target * decision)


def _helped(self, decision, target):
    return helper(decision)  # noqa: F821


def test_a_loss_that_changes_within_a_session_meets_no_old_loop(monkeypatch):
    loss = type("Own", (Alike,), {"value": _value})()
    helped = type("Own", (Alike,), {"value": _helped})()
    for scale in (1.0, 3.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        assert values(loss, np.zeros(1), np.ones(1)) == scale
        # As a cell of a notebook that is run again.
        defined_anew = eval(f"lambda self, decision, target: {scale} * decision")
        again = type("Own", (Alike,), {"value": defined_anew})()
        assert values(again, np.array([3.0]), np.zeros(1)) == 3.0 * scale
        helper = njit(eval(f"lambda decision: {scale} * abs(decision)"))
        monkeypatch.setattr(sys.modules[__name__], "helper", helper, raising=False)
        assert values(helped, np.array([3.0]), np.zeros(1)) == 3.0 * scale


def test_a_loss_that_changes_within_a_session_is_checked_again(monkeypatch):
    loss = type("Own", (Alike,), {"value": _value})()
    assert check_loss(loss) == loss
    monkeypatch.setitem(globals(), "SCALE", -1.0)
    with pytest.raises(ValueError, match="loss must have a"):
        check_loss(loss)


@pytest.mark.parametrize(
    ("name", "method", "message"),
    [
        ("value", lambda self, decision, target: math.nan, "finite"),
        ("value", lambda self, decision, target: -target * decision, "finite and not negative"),
        ("pull", lambda self, decision, target: 2.0, "from lower to upper"),
        ("gain", lambda self, beta, target: 0.5 * beta, ".* at beta = pull"),
        ("gain", lambda self, beta, target: beta + 9.0 * beta * (1.0 - beta), ".* at the most"),
        ("best", lambda self, beta, decision, target, curvature: -1.0, "from lower to upper"),
        ("best", lambda self, beta, decision, target, curvature: beta, "the maximiser"),
    ],
)
def test_check_loss_names_the_method_that_is_wrong(name, method, message):
    wrong = type("Wrong", (Alike,), {"__slots__": (), name: method})()
    with pytest.raises(ValueError, match=f"loss must have a {name} that is {message}.* from Wrong"):
        check_loss(wrong)
    with pytest.raises(ValueError, match="loss must have a"):
        PegasosSVC(loss=wrong, polish=True).fit([[0.0], [1.0]], [0, 1])
    assert check_loss(Alike()) == Alike()


def test_a_loss_of_numbers_is_asked_at_the_targets():
    own = type("Own", (losses.Huber,), {"__slots__": (), "__module__": __name__})
    lies = {"gain": lambda self, beta, target: beta * target + 1e-3 * target}
    wrong = type("Wrong", (own,), {"__slots__": (), "__module__": __name__, **lies})
    make_problem([0.0, 2.0, 1e6], 1.0, loss=own(1.5))
    with pytest.raises(ValueError, match="gain that is"):
        make_problem([0.0, 2.0, 1e6], 1.0, loss=wrong(1.5))


@pytest.mark.parametrize("kind", [*CLASSIFICATION.values(), *REGRESSION.values()])
def test_losses_of_the_package_pass_as_if_they_were_foreign(kind):
    for each in [(-3.0, 0.0, 0.7, 1e5)] if kind().regression else [(-1.0, 1.0)]:
        probe(kind(), each)
