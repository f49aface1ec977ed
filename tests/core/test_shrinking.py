"""Which examples are gone over alone, and the kernel values between them."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

from kpegasos.core.path import active_examples, gap_of_each, gather
from kpegasos.core.state import Examples, PegasosOptions, new_state
from kpegasos.core.views import KernelView

pytestmark = pytest.mark.pure_python


class Case:
    """Dual variables of a small random problem, some of them on their bounds, with their image."""

    def __init__(self, seed, n_samples, lam=0.01):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(n_samples, 2))
        self.lam = lam
        self.gram = np.exp(-cdist(points, points, "sqeuclidean"))
        self.label = np.where(rng.uniform(size=n_samples) > 0.5, 1.0, -1.0)
        weight = rng.uniform(size=n_samples) * (rng.uniform(size=n_samples) > 0.3)
        weight[0] += 0.1
        self.weight = weight / weight.mean()
        self.examples = Examples(self.label, self.label * self.weight)
        self.state = new_state(n_samples, n_samples, PegasosOptions(average=None), lam, 0).loop
        self.state.alpha[:] = np.clip(rng.normal(0.5, 1.0, n_samples), 0.0, 1.0)
        self.state.alpha[self.weight == 0.0] = 0.0
        self.state.image[:] = self.gram @ (self.state.alpha * self.examples.signed)
        self.to_margin = 1.0 / (lam * n_samples)

    @property
    def slack(self):
        return 1.0 - self.label * self.state.image * self.to_margin

    def gaps(self):
        return gap_of_each(self.state, self.examples, self.to_margin)

    def active(self, most):
        return active_examples(self.state, self.examples, self.to_margin, most)


cases = st.builds(
    Case, st.integers(0, 2**32 - 1), st.integers(1, 25), st.sampled_from([1e-4, 0.01, 1.0])
)


@settings(max_examples=50)
@given(cases)
def test_gaps_of_all_examples_add_up_to_the_duality_gap(case):
    gaps, alpha = case.gaps(), case.state.alpha
    coef = alpha * case.examples.signed * case.to_margin
    primal = naive.primal(coef, case.gram, case.label, case.lam, case.weight)
    dual = naive.dual(alpha, case.gram, case.label, case.lam, case.weight)
    assert gaps.sum() == pytest.approx(alpha.size * (primal - dual), rel=1e-9, abs=1e-9)
    assert (gaps >= 0.0).all()
    assert not gaps[case.weight == 0.0].any()


@settings(max_examples=100)
@given(cases, st.integers(1, 30))
def test_active_examples_are_those_that_violate_then_those_near_the_margin(case, most):
    members, gaps, alpha = case.active(most), case.gaps(), case.state.alpha
    trained = case.weight > 0.0
    assert members.size == min(most, np.count_nonzero(trained))
    assert (np.diff(members) > 0).all()
    assert trained[members].all()
    left = trained.copy()
    left[members] = False
    urgent = (gaps > 0.0) | ((alpha > 0.0) & (alpha < 1.0))
    if urgent[left].any():
        assert urgent[members].all()
        assert gaps[members].min() >= gaps[left & urgent].max()
    calm = members[~urgent[members]]
    if calm.size and left.any():
        distance = np.abs(case.slack)
        assert distance[calm].max() <= distance[left].min()


def test_active_examples_begin_with_free_ones():
    """An example off its bounds matters though it is optimal where it is."""
    case = Case(0, 8, lam=1.0)
    examples = Examples(case.label, case.label)
    margins = np.array([1.0, 1.001, 3.0, 1.0, 0.999, 2.0, 0.5, 0.1])
    case.state.image[:] = case.label * margins / case.to_margin
    # Free at the margin, right at zero thrice, free again, and wrong at one.
    case.state.alpha[:] = [0.5, 0.0, 0.0, 0.5, 1.0, 0.0, 1.0, 1.0]
    for most, expected in [(2, [0, 3]), (4, [0, 1, 3, 4]), (5, [0, 1, 3, 4, 6]), (8, range(8))]:
        found = active_examples(case.state, examples, case.to_margin, most)
        assert_array_equal(found, expected)
    # They come before others that are at the margin as well, on a bound.
    case.state.image[:] = case.label / case.to_margin
    case.state.alpha[:] = [0.0, 1.0, 0.0, 1.0, 0.5, 1.0, 0.0, 0.5]
    assert_array_equal(active_examples(case.state, examples, case.to_margin, 2), [4, 7])


# --- the kernel values between them ---------------------------------------------------------------


def view_of(held, dtype=np.float64):
    """Some rows, in another order than that of their examples."""
    case = Case(1, 12)
    slots = np.full(12, -1)
    slots[held] = np.arange(len(held))
    values = case.gram[held].astype(dtype)
    ticks = np.zeros(len(held), dtype=np.int64)
    return KernelView(values, slots, ticks, case.gram.diagonal() + 0.5, 0.5), case.gram


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("members", [[], [3], [9, 2, 3], [2, 3, 5, 9, 11]])
def test_gather_finds_what_indices_find(members, dtype):
    view, gram = view_of([9, 3, 11, 2, 5], dtype)
    members = np.array(members, dtype=np.int64)
    out = np.full((members.size, members.size), np.nan, dtype)
    gather(view, members, out)
    # Without the offset, which the view of the problem has itself.
    assert_array_equal(out, gram[np.ix_(members, members)].astype(dtype))
