"""Each campaign, small: the same trials each time."""

import pytest

from tests.campaigns import harness

#: Campaigns that start processes, compile much or look at the clock.
SLOW = {"certificates", "damaged", "environment", "lifecycle", "memory", "punctuality"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in harness.names()
    ],
)
def test_campaign_finds_no_failure(name):
    report = harness.run(name, trials=harness.load(name).CI_TRIALS)
    assert not report.failures, str(report)
    assert not report.broken_off
    assert report.tried == harness.load(name).CI_TRIALS
