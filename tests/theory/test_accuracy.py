"""Steps for an accuracy are the bounds turned round, and the earlier bound is where it is put."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kpegasos import theory

positive = st.floats(0.01, 100)
#: Bound and steps, first T, whether they take delta, whether they take ``projection``.
PAIRS = [
    ("convergence", 3, False, False),
    ("random_iterate", 3, True, False),
    ("best_of_runs", None, True, False),
    ("average_iterate", 3, False, True),
    ("weighted_average", 1, False, True),
    ("high_probability", 3, True, True),
]
each_pair = pytest.mark.parametrize(("name", "first", "with_delta", "projects"), PAIRS)


def functions(name):
    """A bound, and the least steps at which it has an accuracy."""
    bound = getattr(theory, f"{name}_bound")
    first = next(pair[1] for pair in PAIRS if pair[0] == name)

    def steps(accuracy, lam, radius, *delta, **options):
        begin = first or 3 * theory.n_runs(*delta)
        return theory.least_steps(
            lambda n_steps: bound(n_steps, lam, radius, *delta, **options), accuracy, first=begin
        )

    return bound, steps


@each_pair
@settings(max_examples=30)
@given(
    accuracy=st.floats(1e-6, 1e3),
    lam=st.floats(1e-6, 1e-2),
    radius=st.floats(0.1, 10),
    delta=st.floats(1e-6, 0.99),
    projection=st.booleans(),
)
def test_steps_are_the_least_that_suffice(
    name, first, with_delta, projects, accuracy, lam, radius, delta, projection
):
    bound, steps = functions(name)
    constants = (lam, radius, delta) if with_delta else (lam, radius)
    options = {"projection": projection} if projects else {}
    first = first or 3 * theory.n_runs(delta)
    found = steps(accuracy, *constants, **options)
    assert found == np.floor(found) >= first
    assert bound(found, *constants, **options) <= accuracy
    fewer = found - max(1, 1e-13 * found)  # bounds are rounded
    assert found == first or bound(fewer, *constants, **options) > accuracy
    # And so does every larger number.
    assert bound(1.7 * found, *constants, **options) <= accuracy


@each_pair
def test_accuracy_out_of_reach_takes_for_ever(name, first, with_delta, projects):
    _, steps = functions(name)
    others = (0.1,) if with_delta else ()
    assert steps(1e-60, 1e-50, 1.0, *others) == np.inf
    found = steps([[1e-60], [1e-10]], [1e-50, 1e-40], 1.0, *others)  # they are broadcast
    assert_array_equal(
        found, [[steps(a, c, 1.0, *others) for c in (1e-50, 1e-40)] for a in (1e-60, 1e-10)]
    )
    assert np.isfinite(found[1, 0])


def test_accuracy_must_be_positive():
    for name, _, with_delta, _ in PAIRS:
        _, steps = functions(name)
        others = (0.1,) if with_delta else ()
        with pytest.raises(ValueError, match="accuracy must be a positive finite number, got 0"):
            steps([0.1, 0.0], 0.1, 1.0, *others)
    with pytest.raises(ValueError, match="accuracy must be a positive finite number, got -1"):
        theory.earlier_analysis_steps(-1, 0.1, 0.1)


# The earlier bound


@given(st.floats(1e-4, 1), positive, st.floats(1e-6, 0.99), st.floats(1.01, 10))
def test_earlier_steps_have_the_square_of_the_accuracy(accuracy, lam, delta, factor):
    steps = theory.earlier_analysis_steps(accuracy, lam, delta)
    assert_allclose(steps, np.log(1 / delta) / (lam * accuracy**2))
    finer = theory.earlier_analysis_steps(accuracy / factor, lam, delta)
    assert_allclose(finer, factor**2 * steps)


def test_crossing_is_near_the_printed_accuracies():
    for delta, crossing in ((0.01, 0.046), (0.001, 0.007)):
        order = 1 / (delta * 0.1 * crossing)
        assert_allclose(theory.earlier_analysis_steps(crossing, 0.1, delta), order, rtol=0.02)
