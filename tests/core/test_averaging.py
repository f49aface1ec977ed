"""Averages of all iterates in closed form, and what folding and snapshots leave as it is."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos.core.averaging import AVERAGES, combination, has_clock_over_t, suffix_start
from kpegasos.core.state import (
    CLOCK,
    SCALE,
    SQUARED_NORM,
    STEPS,
    Iterate,
    PegasosOptions,
    absorb_scale,
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
    iterate = Iterate(*shares, None if prefix is None else (prefix, prefix))
    state = new_state(3, 0, PegasosOptions(), 1.0, 0).loop._replace(alpha=q, stamps=stamped)
    result = iterate.coefficients(state)
    assert_allclose(result, naive.average(iterates, average), rtol=1e-12, atol=1e-14)


# --- the state of a run ---------------------------------------------------------------------------


@pytest.mark.parametrize("average", AVERAGES)
def test_absorb_scale_keeps_every_iterate(average):
    """Coefficients and images of the last iterate and of the average; the norm follows q."""
    rng = np.random.default_rng(3)
    state = new_state(5, 7, PegasosOptions(batch_size=2, average=average), 0.2, seed=0)
    loop = state.loop
    for sums in (loop.alpha, loop.stamps, loop.image, loop.stamped_image):
        sums[:] = rng.normal(size=sums.size)
    loop.scalars[:] = 2.0**-12, 5.5, 3.0, 7.0, 9.0
    loop.counters[STEPS] = 12
    if average == "suffix":
        state.suffix_snapshots[4] = (rng.normal(size=5), rng.normal(size=7))

    def look():
        found = [state.iterate(kind) for kind in (None, average)]
        return np.concatenate([[*it.coefficients(loop), *it.image(loop)] for it in found])

    before, norm = look(), loop.scalars[SQUARED_NORM] * loop.scalars[SCALE] ** 2
    absorb_scale(loop)
    assert loop.scalars[[SCALE, CLOCK]].tolist() == [1.0, 0.0]
    assert_allclose(loop.scalars[SQUARED_NORM], norm, rtol=1e-14)
    assert_allclose(look(), before, rtol=1e-9)


def test_suffix_snapshots_are_the_last_two():
    """The suffix begins at the power of two before the last, so no other can be asked for."""
    state = new_state(3, 3, PegasosOptions(average="suffix"), 1.0, seed=0)
    for steps in (1, 2, 4, 8, 16):
        state.loop.counters[STEPS] = steps
        state.take_suffix_snapshot()
    assert sorted(state.suffix_snapshots) == [8, 16]
    assert_array_equal(state.suffix_snapshots[8][0], np.zeros(3))
