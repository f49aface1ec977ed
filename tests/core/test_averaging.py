"""Averages of all iterates in closed form, and what folding and snapshots leave as it is."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose

from kpegasos.core.averaging import AVERAGES, combination, has_clock_over_t, suffix_start
from kpegasos.core.state import (
    Iterate,
    PegasosOptions,
    new_state,
)

pytestmark = pytest.mark.pure_python


def test_suffix_start_by_the_book():
    for t in [*range(1, 40), 1023, 1024, 1025, 2**20]:
        assert suffix_start(t) == naive.suffix_start(t)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("t", [1, 2, 3, 8, 9, 40])
@pytest.mark.parametrize("shrinking", [False, True])
def test_combination_is_the_sum_over_all_steps(average, t, shrinking):
    """``q`` by increments, its stamped twin and a clock, against every iterate by itself."""
    rng, lam, k = np.random.default_rng(t), 0.3, 4
    q, stamped, iterates = np.zeros(3), np.zeros(3), []
    scale, clock, prefixes = 1.0, 0.0, {0: np.zeros(3)}
    for step in range(1, t + 1):
        increment = rng.integers(-1, 2, size=3) / scale
        q, stamped = q + increment, stamped + clock * increment
        if shrinking:
            scale *= rng.uniform(0.8, 1.0)  # a scale below 2^-10 is absorbed
        clock += scale / step if has_clock_over_t(average) else scale
        iterates.append((scale * q / (lam * k * step)).tolist())
        prefixes[step] = clock * q - stamped
    prefix = prefixes[suffix_start(t)] if average == "suffix" else None
    shares = combination(average, t, scale, clock, lam, k)
    iterate = Iterate(*shares, clock, *(() if prefix is None else (prefix, prefix)))
    state = new_state(3, 0, PegasosOptions(), 1.0, 0).loop._replace(alpha=q, stamps=stamped)
    result = iterate.coefficients(state)
    assert_allclose(result, naive.average(iterates, average), rtol=1e-12, atol=1e-14)
