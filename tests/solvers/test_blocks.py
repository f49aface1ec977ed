"""Dual ascent that begins with blocks of violators."""

from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from solver_cases import Countdown, finished_run, polish

from kpegasos import RBF, KernelMatrix, PegasosSVC, losses, make_problem
from kpegasos.core.state import LoopParameters, PegasosOptions, new_state
from kpegasos.losses import HINGE
from kpegasos.rows.cached import CachedRows
from kpegasos.rows.gram import GramRows
from kpegasos.solvers.polish import Blocks
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning

X, LABELS = make_blobs(600, centers=2, n_features=4, cluster_std=4.0, random_state=0)
Y = np.where(LABELS > 0, 1, -1)
KERNEL = RBF(0.05)
#: Little data take blocks, and as many as they can.
FEW = {"BLOCKS_FROM": 100, "EXAMPLES_OF_A_BLOCK": 4, "VALUES_AFTER_BLOCKS": 1, "SMALL_PAIR": 0}


@pytest.fixture(autouse=True)
def few(monkeypatch):
    for name, value in FEW.items():
        monkeypatch.setattr(tuning, name, value)


@pytest.fixture
def added():
    """Members of the blocks that were added."""
    blocks, add = [], Blocks.add

    def counting(self, rows, members, alpha, stopper):
        blocks.append(members)
        return add(self, rows, members, alpha, stopper)

    with mock.patch.object(Blocks, "add", counting):
        yield blocks


def make_rows(**options):
    return CachedRows(KernelMatrix(KERNEL, X), **options)


def make_blocks(*, C=0.1, loss=HINGE):
    problem = make_problem(Y, 1.0 / (C * Y.size), loss=loss)
    state = new_state(Y.size, Y.size, PegasosOptions(average=None), problem.lam, 0).loop
    order = np.random.default_rng(0).permutation(Y.size)
    return Blocks(problem, state, order), state, problem


PARAMETERS = {"kernel": KERNEL, "C": 0.1, "polish": True, "random_state": 0}


@pytest.mark.parametrize("loss", ["hinge", "smoothed_hinge"])
@pytest.mark.parametrize("intercept", [True, False, "free"])
def test_fit_by_blocks_ends_at_the_certified_optimum(loss, intercept, added, monkeypatch):
    options = PARAMETERS | {"loss": loss, "fit_intercept": intercept, "tol": 1e-6}
    options |= {"cache": "cached"}
    found = PegasosSVC(**options).fit(X, LABELS)
    assert added
    monkeypatch.setattr(tuning, "BLOCKS_FROM", 10**9)
    reference = PegasosSVC(**options).fit(X, LABELS)
    assert found.relative_gap_ <= 1e-6
    assert_allclose(found.objective_, reference.objective_, rtol=2e-6)
    for one, other in ((found, reference), (reference, found)):
        assert one.objective_ * (1.0 - one.relative_gap_) <= other.objective_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fit_by_blocks_is_the_same_for_any_cache_and_threads(dtype, added):
    settings = [
        {"cache": "precomputed"},
        {"cache": "cached", "cache_mb": 2.0, "n_jobs": 1},
        {"cache": "cached", "cache_mb": 100.0, "n_jobs": 3},
    ]
    models = [
        PegasosSVC(**PARAMETERS, tol=1e-4, **each).fit(X.astype(dtype), LABELS) for each in settings
    ]
    assert len(added) % 3 == 0
    assert added
    for model in models[1:]:
        for name in ("dual_coef_", "intercept_", "support_"):
            assert_array_equal(getattr(model, name), getattr(models[0], name), err_msg=name)


def test_fit_by_blocks_of_several_classes_is_certified(added):
    points, labels = make_blobs(900, centers=3, n_features=4, cluster_std=4.0, random_state=0)
    model = PegasosSVC(**PARAMETERS, tol=1e-4, cache="cached").fit(points, labels)
    assert added
    assert np.max(model.relative_gap_) <= 1e-4


@pytest.mark.parametrize("offset", [0.0, 2.0])
@pytest.mark.parametrize("kind", ["cached", "gram", "part"])
def test_block_leaves_margins_of_its_coefficients(kind, offset):
    values = KernelMatrix(KERNEL, X)
    if kind == "part":  # of a matrix of others, too
        others = np.random.default_rng(1).normal(size=(50, X.shape[1]))
        values = KernelMatrix(KERNEL, np.vstack((X[:300], others, X[300:])))
        values = values.subset(np.r_[:300, 350:650])
    rows = (
        GramRows.from_values(values, intercept_scaling=offset)
        if kind == "gram"
        else CachedRows(values, intercept_scaling=offset)
    )
    blocks, state, problem = make_blocks()
    K = KERNEL.block(X, X) + offset**2
    for _ in range(3):
        members = blocks.choose(rows)
        assert members.size == Y.size // 4
        alpha = blocks.solve(rows, members, _parameters(problem), 1.0)
        assert blocks.add(rows, members, alpha, Stopper()) is None
        assert_array_equal(state.alpha[members], alpha)
        assert_allclose(state.image, K @ (state.alpha * Y), atol=1e-10)


def _parameters(problem):
    return LoopParameters(problem.lam, Y.size, 1, False, False)


def test_block_is_a_sample_of_the_violators():
    """Nobody comes twice before all others have come; who is at an end never does."""
    rows, (blocks, state, _) = make_rows(), make_blocks()
    state.alpha[:100] = 1.0  # which can only shrink, and violate margins of zero
    seen = np.concatenate([blocks.choose(rows) for _ in range(2)])
    assert np.unique(seen).size == seen.size
    assert seen.min() >= 100


def test_blocks_are_left_where_coefficients_end_inside_their_box():
    rows, (blocks, state, problem) = make_rows(), make_blocks(C=1e4)
    assert not blocks.solve(rows, blocks.choose(rows), _parameters(problem), 1.0).size
    assert not state.alpha.any()
    blocks, _, problem = make_blocks(loss=losses.SquaredHinge())
    assert not blocks.solve(rows, blocks.choose(rows), _parameters(problem), 1.0).size


def test_block_that_is_cut_short_has_margins_of_its_coefficients(monkeypatch):
    monkeypatch.setattr(tuning, "TILE_ROWS", 16)
    rows, (blocks, state, problem) = make_rows(), make_blocks()
    members = blocks.choose(rows)
    alpha = blocks.solve(rows, members, _parameters(problem), 1.0)
    assert blocks.add(rows, members, alpha, Countdown(2)) == "max_time"
    assert 0 < np.count_nonzero(state.alpha) < np.count_nonzero(alpha)
    assert_allclose(state.image, KERNEL.block(X, X) @ (state.alpha * Y), atol=1e-10)


def test_blocks_go_on_with_other_rows(added):
    """As where a pair has left its memory to others; the model is the same."""
    problem = make_problem(Y, 1.0 / (0.1 * Y.size))

    def renew(ascent):
        ascent.rows.close()
        ascent.use_rows(make_rows())

    ends = [
        polish(finished_run(problem, make_rows(), n_steps=50), tol=1e-4, on_round=on_round)
        for on_round in (renew, lambda ascent: None)
    ]
    assert len(added) > 2
    assert_array_equal(ends[0].alpha, ends[1].alpha)


def test_working_sets_shrink_with_the_rows_that_are_held(monkeypatch):
    """Less memory may be free when a pair takes its turn again."""
    monkeypatch.setattr(tuning, "BLOCKS_FROM", Y.size + 1)
    run = finished_run(make_problem(Y, 1.0 / (0.1 * Y.size)), make_rows(), n_steps=50)

    def shrink(ascent):
        ascent.rows.close()
        ascent.use_rows(make_rows(cache_mb=0.2))
        assert ascent.rows.row_capacity < 64

    assert polish(run, tol=1e-3, on_round=shrink).relative_gap <= 1e-3


def test_blocks_need_room_for_their_matrix():
    size = Y.size // 4
    assert make_rows().block_size == size
    assert make_rows(cache_mb=0.9 * 8 * size**2 / 2**20).block_size == 0


def test_pass_of_rows_has_the_values_that_are_written():
    for dtype in (np.float32, np.float64):
        values, members = KernelMatrix(KERNEL, X.astype(dtype)), np.array([5, 2, 599])
        written, used = np.zeros((2, 3, Y.size), dtype)
        values.write_rows(members, written)

        def use(begin, tile, used=used):
            used[:, begin : begin + tile.shape[1]] = tile

        assert values.pass_rows(members, use) == written.size
        assert_array_equal(used, written)
