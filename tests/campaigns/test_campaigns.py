"""Each campaign, small: the same trials each time."""

import pytest

from tests.campaigns import certificates, harness

#: Campaigns that start processes, compile much or look at the clock.
SLOW = {
    *("certificates", "damaged", "environment", "intervals", "lifecycle", "memory"),
    "punctuality",
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in harness.names()
    ],
)
def test_campaign_finds_no_failure(name):
    assert_no_failure(name, harness.load(name).CI_TRIALS)


def test_certificates_of_the_hinge_loss_are_true():
    assert_no_failure("certificates", 50, trial=certificates.hinge)


def assert_no_failure(name, trials, **options):
    report = harness.run(name, trials=trials, **options)
    assert not report.failures, str(report)
    assert not report.broken_off
    assert report.tried == trials
