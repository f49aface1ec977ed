"""Each campaign, small: the same trials in every test run."""

import pytest

from tests.campaigns import harness


@pytest.mark.parametrize("name", harness.names())
def test_campaign_finds_no_failure(name):
    report = harness.run(name, trials=harness.load(name).CI_TRIALS)
    assert not report.failures, str(report)
    assert report.tried > 0


@pytest.mark.parametrize("name", harness.names())
def test_campaign_makes_the_same_trial_again(name):
    """A failure is worth little if it cannot be seen twice: each module takes its draws from rng."""
    source = harness.load(name).__file__
    with open(source, encoding="utf-8") as file:
        text = file.read()
    assert "default_rng(" not in text
    assert "np.random.rand" not in text
