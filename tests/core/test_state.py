"""The state of a run: what folding and snapshots leave as it is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos.core.averaging import AVERAGES
from kpegasos.core.state import (
    CLOCK,
    SCALE,
    SQUARED_NORM,
    STEPS,
    PegasosOptions,
    absorb_scale,
    new_state,
)

pytestmark = pytest.mark.pure_python


def state_in_work(average):
    rng = np.random.default_rng(3)
    state = new_state(5, 7, PegasosOptions(batch_size=2, average=average), 0.2, seed=0)
    loop = state.loop
    for sums in (loop.alpha, loop.stamps, loop.image, loop.stamped_image):
        sums[:] = rng.normal(size=sums.size)
    loop.scalars[:] = 2.0**-12, 5.5, 3.0, 7.0, 9.0
    loop.counters[STEPS] = 12
    if average == "suffix":
        state.suffix_snapshots[4] = (rng.normal(size=5), rng.normal(size=7))
    return state


@pytest.mark.parametrize("average", AVERAGES)
def test_absorb_scale_keeps_every_iterate(average):
    """Coefficients and images of the last iterate and of the average; the norm follows q."""
    state = state_in_work(average)

    def look():
        kinds = {None, average}
        found = [state.iterate(kind) for kind in sorted(kinds, key=str)]
        return [(it.coefficients(state.loop), it.image(state.loop)) for it in found]

    before = look()
    norm = state.loop.scalars[SQUARED_NORM] * state.loop.scalars[SCALE] ** 2
    absorb_scale(state.loop)
    assert state.loop.scalars[[SCALE, CLOCK]].tolist() == [1.0, 0.0]
    assert_allclose(state.loop.scalars[SQUARED_NORM], norm, rtol=1e-14)
    for (coef, image), (coef_before, image_before) in zip(look(), before, strict=True):
        assert_allclose(coef, coef_before, rtol=1e-9)
        assert_allclose(image, image_before, rtol=1e-9)


def test_suffix_snapshots_are_the_last_two():
    """The suffix begins at the power of two before the last, so no other can be asked for."""
    state = new_state(3, 3, PegasosOptions(average="suffix"), 1.0, seed=0)
    for steps in (1, 2, 4, 8, 16):
        state.loop.counters[STEPS] = steps
        state.take_suffix_snapshot()
    assert sorted(state.suffix_snapshots) == [8, 16]
    assert_array_equal(state.suffix_snapshots[8][0], np.zeros(3))
