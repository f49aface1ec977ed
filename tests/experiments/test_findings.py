"""What the findings conclude: rules to stop, changes that never come, groups that are missing."""

import numpy as np
import pytest

from experiments import clock, equal_seconds, gap_and_error, run_time
from experiments._catalog import HERE
from experiments._store import read

EPOCHS = [1, 2, 5, 10]


def run(data, C, gaps, excess):
    """A run with its certified gaps and errors above the final one, in standard errors."""
    return {
        **{"data": data, "C": C, "gap": gaps, "excess": excess, "epochs": EPOCHS},
        "deviation": 0.01,
    }


SOON = run("a", 1.0, [0.5, 0.09, 0.05, 0.01], [4.0, 0.5, 0.2, 0.0])
LATE = run("a", 1.0, [0.8, 0.6, 0.3, 0.2], [9.0, 3.0, 0.5, 0.1])


def results_of(name):
    return read(HERE / "results" / f"{name}.json")["results"]


# Does the gap know the error


def test_rule_stops_where_its_limit_is_first_met():
    assert gap_and_error.stop(SOON, True, 0.1) == 1
    assert gap_and_error.stop(SOON, False, 5) == 2
    assert gap_and_error.stop(LATE, True, 0.1) == 3, "the end, if it never is"


def test_small_gap_is_judged_by_the_runs_that_come_to_it():
    assert gap_and_error.enough([SOON, LATE]).tolist() == [1.0]
    wrong = run("b", 1.0, [0.5, 0.09, 0.05, 0.01], [4.0, 2.0, 0.2, 0.0])
    assert gap_and_error.enough([SOON, LATE, wrong]).tolist() == [1.0, 0.0]
    assert gap_and_error.finding([SOON, LATE, wrong]).startswith("Not even at")


def test_control_has_runs_of_as_many_epochs_and_a_larger_gap():
    assert gap_and_error.as_late([SOON, LATE]) == {1.0: 0.0}
    fine = run("b", 1.0, [0.8, 0.6, 0.3, 0.2], [9.0, 0.9, 0.5, 0.1])
    assert gap_and_error.as_late([SOON, LATE, fine]) == {1.0: 0.5}
    assert gap_and_error.as_late([LATE]) == {}


def test_gap_that_no_run_comes_to_has_no_share():
    results = results_of("gap_and_error")
    for one in results["runs"]:
        one["gap"] = np.maximum(one["gap"], 0.2).tolist()
    (claim,) = gap_and_error.claims(results)
    assert claim.claim.startswith("Not even at")


# Is λT the clock


def test_change_that_never_comes_counts_where_its_run_ends():
    results = results_of("clock")
    before = clock._told_spreads(results)["close"]
    row = next(row for row in results["table"] if (row["kind"], row["state"]) == ("close", "never"))
    row["last_lam_T"] = 1e6 * before["lam_T_to"]
    after = clock._told_spreads(results)["close"]
    assert after["decades_lam_T"] == pytest.approx(before["decades_lam_T"] + 6)
    assert after["beyond"] == before["beyond"] + 1
    assert "close" in clock._told_timed(results_of("clock"))
    assert "close" not in clock._told_timed(results)


# What does run time depend on, what do equal seconds buy


@pytest.mark.parametrize("group", ["kernel", "error", "timing", "accuracy"])
def test_run_time_tells_nothing_of_a_part(group):
    results = results_of("run_time")
    assert run_time.claims(results)
    rest = [row for row in results["table"] if row["group"] != group]
    assert run_time.claims(results | {"table": rest}) == []


def test_kernel_values_grow_like_the_examples_if_both_counts_do():
    assert run_time._told_like_m({"values_exponent": 1.05, "computed_exponent": 0.95})
    assert not run_time._told_like_m({"values_exponent": 1.05, "computed_exponent": 1.3})


def test_equal_seconds_tells_nothing_without_runs():
    results = results_of("equal_seconds")
    assert equal_seconds.claims(results)
    assert equal_seconds.claims(results | {"table": []}) == []
