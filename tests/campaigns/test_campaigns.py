"""Each campaign, small: the same trials each time."""

import pytest

from tests.campaigns import harness, interrupts

#: Campaigns that start processes, compile much or look at the clock.
SLOW = {"environment", "interrupts", "memory"}
#: Of a slow one, the trials that are quick.
QUICK = {"interrupts": interrupts.early}


@pytest.mark.parametrize(
    ("name", "trial"),
    [
        *(
            pytest.param(name, None, marks=[pytest.mark.slow] if name in SLOW else [], id=name)
            for name in harness.names()
        ),
        *(pytest.param(name, trial, id=f"{name}, quick") for name, trial in QUICK.items()),
    ],
)
def test_campaign_finds_no_failure(name, trial):
    trials = harness.load(name).CI_TRIALS
    report = harness.run(name, trials=trials, trial=trial)
    assert not report.failures, str(report)
    assert not report.broken_off
    assert report.tried == trials
    if name == "certificates":  # a problem that is refused has none
        fits = sum(n for outcome, n in report.outcomes.items() if "fitted" in outcome)
        assert fits > 0.8 * trials
