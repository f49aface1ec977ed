"""Each campaign, small: the same trials in every test run."""

import pytest

from tests.campaigns import harness


@pytest.mark.parametrize("name", harness.names())
def test_campaign_finds_no_failure(name):
    report = harness.run(name, trials=harness.load(name).CI_TRIALS)
    assert not report.failures, str(report)
    assert not report.broken_off
    assert report.tried == harness.load(name).CI_TRIALS
