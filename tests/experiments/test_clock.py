"""Crossings along a run, and how far they lie apart."""

import math

import numpy as np
import pytest

from experiments.clock import crossing, crossing_of, exponent_of, spread_of

STEPS = [1, 10, 100, 1000]


def test_crossing_lies_between_the_steps_in_the_logarithm():
    assert crossing(STEPS, np.array([100.0, 10.0, 0.1, 0.01]), 1.0) == pytest.approx(10**1.5)
    assert crossing(STEPS, np.array([100.0, 10.0, 0.1, 0.01]), 10.0) == pytest.approx(10)


def test_a_small_swing_back_is_no_crossing():
    assert crossing(STEPS, np.array([100.0, 0.1, 1.1, 0.1]), 1.0) == pytest.approx(10 ** (2 / 3))


def test_what_holds_always_or_never_has_no_crossing():
    always = crossing_of(STEPS, np.full((3, 4), 0.5), 1.0)
    assert (always["state"], always["T"]) == ("always", 1.0)
    never = crossing_of(STEPS, np.full((3, 4), 2.0), 1.0)
    assert (never["state"], never["T"], never["T_20"]) == ("never", None, math.inf)


def test_seeds_that_disagree_leave_a_crossing_unclear():
    late, early = [9.0, 9.0, 9.0, 0.5], [9.0, 0.1, 0.1, 0.1]
    assert (
        crossing_of(STEPS, np.array([late, late, early, early, early]), 1.0)["state"] == "unclear"
    )
    assert crossing_of(STEPS, np.array([early] * 5), 1.0)["state"] == "crossed"


def test_a_perfect_clock_has_exponent_one_and_no_spread():
    rows = [
        {"data": name, "lam": lam, "T": 3 / lam, "epochs": 3 / lam / m, "lam_T": 3.0}
        for name, m in (("a", 10), ("b", 20))
        for lam in (1e-1, 1e-3)
    ]
    assert exponent_of(rows) == pytest.approx(1)
    never = {"data": "b", "lam": 1.0, "T": None, "state": "never"}
    found = spread_of([*(row | {"state": "crossed"} for row in rows), never])
    assert (found["crossings"], found["of"]) == (4, 5)
    assert (found["decades_T"], found["decades_lam_T"]) == pytest.approx((2, 0))
