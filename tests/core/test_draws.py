"""The index stream: draws that depend on seed, key and position, and on nothing else."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from kpegasos.core.draws import RUN_LENGTH, SHORT_EPOCH, IndexStream

pytestmark = pytest.mark.pure_python

each_sampling = pytest.mark.parametrize("sampling", ["permutation", "uniform", "contiguous"])
SAMPLINGS = st.sampled_from(["permutation", "uniform", "contiguous"])


@pytest.mark.parametrize("sampling", ["permutation", "contiguous"])
@pytest.mark.parametrize("n_samples", [1, 2, 10, 257])
def test_each_epoch_is_a_permutation(n_samples, sampling):
    epochs = IndexStream(n_samples, sampling, 3).take(0, 20 * n_samples).reshape(20, -1)
    assert n_samples < RUN_LENGTH or len(np.unique(epochs, axis=0)) > 10
    assert_array_equal(np.sort(epochs, axis=1), np.tile(np.arange(n_samples), (20, 1)))


@given(st.integers(1, 12), SAMPLINGS, st.integers(0, 99), st.lists(st.integers(0, 120), min_size=2))
def test_take_does_not_depend_on_cuts(n_samples, sampling, seed, cuts):
    """Any partition of a range gives the same draws, with batches that straddle epochs."""
    cuts = sorted(cuts)
    whole = IndexStream(n_samples, sampling, seed).take(0, 16 * 120)
    stream = IndexStream(n_samples, sampling, seed)
    parts = [stream.take(a, b) for a, b in pairwise(cuts)]
    assert_array_equal(np.concatenate(parts), whole[cuts[0] : cuts[-1]])
    assert whole.dtype == np.int64
    # Going back to an epoch that is no longer at hand gives it again.
    for number in cuts[::-1]:
        assert_array_equal(stream.epoch(number), whole[number * n_samples :][:n_samples])


@each_sampling
def test_seed_and_key_tell_apart(sampling):
    streams = [
        IndexStream(1000, sampling, seed, key).take(0, 2000)
        for seed in (0, 1)
        for key in ((), (0,), (1,), (0, 0), (0, 1), (1, 0))
    ]
    assert len({tuple(draws) for draws in streams}) == 12


@each_sampling
def test_long_epochs_have_a_generator_each(sampling):
    """Seed, key and number of the epoch make the draws: old streams go on as they did."""
    n_samples = SHORT_EPOCH + 1
    epoch = IndexStream(n_samples, sampling, 3, (1,)).epoch(2)
    rng = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(1, 2)))
    if sampling == "permutation":
        expected = rng.permutation(n_samples)
    elif sampling == "uniform":
        expected = rng.integers(n_samples, size=n_samples)
    else:
        runs = rng.permutation(-(-n_samples // RUN_LENGTH))
        expected = (runs[:, None] * RUN_LENGTH + np.arange(RUN_LENGTH)).ravel()
        expected = expected[expected < n_samples]
    assert_array_equal(epoch, expected)


@pytest.mark.parametrize("ahead", [40, 1000])
def test_function_is_asked_once_an_epoch(ahead):
    """Its draws need not be the same if it is asked again; look-ahead reaches many epochs."""
    asked = []

    def sampling(rng, n_samples):
        asked.append(rng.integers(2**62))
        return rng.permutation(n_samples)

    stream = IndexStream(20, sampling, 0)
    for start in range(0, 5000, 250):
        stream.take(start, start + 250 + ahead)
    assert len(asked) == len(set(asked)) == (5000 + ahead) // 20


def test_stream_of_no_examples_is_empty_and_of_no_number_refused():
    for sampling in ("permutation", "uniform", "contiguous"):
        stream = IndexStream(0, sampling, 0)
        assert stream.take(0, 3).size == stream.epoch(2).size == 0
    for n_samples in (-1, 2.5):
        with pytest.raises(ValueError, match="n_samples must be an integer of at least 0"):
            IndexStream(n_samples, "permutation", 0)


# --- the distribution, over keys, epochs and places ---


def _assert_even(counts):
    """Counts of equally likely events; chi-square, five standard deviations from its mean."""
    expected, degrees = counts.mean(), counts.size - 1
    statistic = ((counts - expected) ** 2).sum() / expected
    assert abs(statistic - degrees) < 5 * np.sqrt(2 * degrees)


each_compiled = pytest.mark.parametrize("sampling", ["permutation", "uniform"])


@each_compiled
def test_neighbouring_epochs_and_keys_are_independent(sampling):
    """Pairs of draws at one place, of epochs or keys that follow each other."""
    n_samples, n_epochs = 8, 6400
    epochs = IndexStream(n_samples, sampling, 1).take(0, n_epochs * n_samples)
    keys = np.stack([IndexStream(n_samples, sampling, 1, (k,)).epoch(0) for k in range(n_epochs)])
    for draws in (epochs.reshape(keys.shape), keys):
        for place in (0, 3, 7):
            pairs = n_samples * draws[:-1:2, place] + draws[1::2, place]
            _assert_even(np.bincount(pairs, minlength=n_samples**2))


def test_all_orders_are_equally_likely():
    epochs = IndexStream(4, "permutation", 2).take(0, 4 * 24_000).reshape(-1, 4)
    _, counts = np.unique(epochs @ [64, 16, 4, 1], return_counts=True)
    assert counts.size == 24
    _assert_even(counts)
