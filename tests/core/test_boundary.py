"""A loop that is called with arrays that do not fit together raises, and touches none of them."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from kpegasos import FeatureRows, make_rows
from kpegasos.core.loops import (
    add_rows,
    dual_steps,
    primal_steps,
)
from kpegasos.core.state import Examples, LoopParameters, PegasosOptions, new_state
from kpegasos.core.views import CsrView, DenseView, KernelView, sparse_margins
from kpegasos.core.working_sets import add_moves, ascend, new_working_sets
from kpegasos.solvers.pegasos import PRIMAL

N, WIDTH = 20, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, WIDTH))
GRAM = X @ X.T
EXAMPLES = Examples(np.resize([1.0, -1.0], N), np.resize([1.0, -1.0], N))
PARAMETERS = LoopParameters(0.1, N, 2, True, False)
DRAWS = RNG.integers(0, N, 40)


def kernel_view():
    return KernelView(GRAM, np.arange(N), np.zeros(N, np.int64), GRAM.diagonal().copy(), 0.0)


def dense_view():
    return DenseView(X, np.arange(N), (X**2).sum(axis=1), 1.0)


def csr_view():
    S = sparse.csr_matrix(X)
    return CsrView(S.data, S.indices, S.indptr, WIDTH, np.arange(N), (X**2).sum(axis=1), 1.0)


def state_for(view):
    size = N if isinstance(view, KernelView) else WIDTH + 1
    return new_state(N, size, PegasosOptions(batch_size=2), 0.1, 0).loop


VIEWS = {"kernel": kernel_view, "dense": dense_view, "csr": csr_view}
#: Arrays of state and examples, and what is done to each; the sizes of others follow from them.
SHORTER = ("alpha", "stamps", "image", "stamped_image", "scalars", "counters", "pulls")


def assert_refused(loop, state, *arguments, match):
    before = copy.deepcopy(state)
    with pytest.raises(ValueError, match=match):
        loop(state, *arguments)
    for array, old in zip(state, before, strict=True):
        assert_array_equal(array, old)


@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("name", SHORTER)
@pytest.mark.parametrize("loop", [primal_steps, dual_steps])
def test_steps_refuse_a_state_of_another_size(loop, name, kind):
    view = VIEWS[kind]()
    state = state_for(view)
    state = state._replace(**{name: getattr(state, name)[:-1]})
    rest = (view, DRAWS, 0, 40, EXAMPLES, PARAMETERS)
    assert_refused(loop, state, *rest, match=f"^{'image|' if name == 'image' else ''}{name} must")


@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("wrong", [-1, N, 2**40])
def test_steps_refuse_draws_of_no_example(kind, wrong):
    view = VIEWS[kind]()
    draws = DRAWS.copy()
    draws[7] = wrong
    rest = (view, draws, 0, 40, EXAMPLES, PARAMETERS)
    assert_refused(
        primal_steps, state_for(view), *rest, match=r"draws must be indices from 0 to 19"
    )


def test_steps_refuse_draws_that_only_look_ahead_reads():
    """Rows are fetched a few draws ahead of their turn."""
    view = dense_view()
    draws = DRAWS.copy()
    draws[14] = 2**40
    rest = (view, draws, 0, 10, EXAMPLES, PARAMETERS)
    assert_refused(primal_steps, state_for(view), *rest, match="draws must be indices")


@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize(("start", "stop"), [(-2, 4), (0, 42), (6, 4)])
def test_steps_refuse_a_range_beyond_the_draws(kind, start, stop):
    view = VIEWS[kind]()
    rest = (view, DRAWS, start, stop, EXAMPLES, PARAMETERS)
    assert_refused(primal_steps, state_for(view), *rest, match="start and stop must be a range")


def test_steps_refuse_draws_of_another_type():
    view = kernel_view()
    for draws in (DRAWS.astype(np.int32), DRAWS.astype(float), DRAWS.reshape(2, 20)):
        rest = (view, draws, 0, 2, EXAMPLES, PARAMETERS)
        assert_refused(
            primal_steps, state_for(view), *rest, match="draws must be a vector of int64"
        )


@pytest.mark.parametrize("changed", [{"draws": DRAWS + N}, {"stop": 42}, {"first_rate": 9}])
@pytest.mark.parametrize("as_rows", [FeatureRows, lambda X: make_rows(X, "linear")])
def test_later_slices_refuse_what_a_slice_brings(as_rows, changed):
    """Arrays of a run are checked once; draws, their range and sizes of steps each time."""
    rows = as_rows(X)
    state = new_state(N, rows.image_size, PegasosOptions(), 0.1, 0).loop
    parameters = LoopParameters(0.1, N, 1, False, False)
    rows.advance(PRIMAL, state, DRAWS, 20, EXAMPLES, parameters)
    if "first_rate" in changed:
        parameters = parameters._replace(rates=np.ones(40), **changed)
    draws, stop = changed.get("draws", DRAWS), changed.get("stop", 40)
    before = copy.deepcopy(state)
    with pytest.raises(ValueError, match="must be"):
        rows.advance(PRIMAL, state, draws, stop, EXAMPLES, parameters)
    for array, old in zip(state, before, strict=True):
        assert_array_equal(array, old)
    other = state._replace(alpha=state.alpha[:-1])
    with pytest.raises(ValueError, match="alpha must have shape"):
        rows.advance(PRIMAL, other, DRAWS, 20, EXAMPLES, parameters._replace(rates=np.empty(0)))


@pytest.mark.parametrize("field", ["label", "signed"])
def test_steps_refuse_other_examples(field):
    view = kernel_view()
    examples = EXAMPLES._replace(**{field: np.ones(N + 1)})
    rest = (view, DRAWS, 0, 40, examples, PARAMETERS)
    assert_refused(primal_steps, state_for(view), *rest, match="must have shape")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("values", GRAM[:, :-1]),
        ("values", GRAM[:-1]),
        ("slots", np.arange(N - 1)),
        ("slots", np.arange(1, N + 1)),
        ("ticks", np.zeros(N - 1, np.int64)),
    ],
)
def test_steps_refuse_a_kernel_view_that_contradicts_itself(field, value):
    view = kernel_view()._replace(**{field: value})
    rest = (view, DRAWS, 0, 40, EXAMPLES, PARAMETERS)
    assert_refused(primal_steps, state_for(view), *rest, match="(values|slots|ticks) must")


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_steps_refuse_a_view_of_other_examples(kind):
    view = VIEWS[kind]()._replace(members=np.arange(N - 1))
    rest = (view, DRAWS, 0, 40, EXAMPLES, PARAMETERS)
    assert_refused(primal_steps, state_for(view), *rest, match="members must have shape")


@pytest.mark.parametrize("loop", [primal_steps, dual_steps])
def test_steps_refuse_missing_norms(loop):
    """The projection and dual ascent read them."""
    view = kernel_view()._replace(squared_norms=np.empty(0))
    rest = (view, DRAWS, 0, 40, EXAMPLES, PARAMETERS)
    assert_refused(loop, state_for(view), *rest, match="squared_norms must have shape")


@pytest.mark.parametrize("members", [[0, N], [-1, 3], [[0, 1]], [0.5, 1.0]])
def test_rows_are_not_added_of_members_that_are_none(members):
    view = kernel_view()
    rest = (view, np.array(members), EXAMPLES)
    assert_refused(add_rows, state_for(view), *rest, match="members must be")


def test_rows_are_not_added_unless_they_are_held():
    view = kernel_view()
    view.slots[4] = -1
    match = "members must have rows that are held"
    assert_refused(add_rows, state_for(view), view, np.array([3, 4]), EXAMPLES, match=match)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"members": np.zeros(N + 1, dtype=np.int64)}, "size must be"),
        ({"members": np.array([0, N, 1, 2])}, "members must be"),
        ({"moved": np.zeros(3)}, "moved must have shape"),
        ({"wanted": np.zeros(3, dtype=np.int64)}, "wanted must have room for 4"),
        ({"counts": np.zeros(4, dtype=np.int64)}, "counts must have shape"),
        ({"counts": np.array([1, 5, 0, 0, 0, 0])}, "n_members must be"),
        ({"hessian": np.zeros((4, 3))}, "hessian must have shape"),
        ({"seen": np.zeros(N - 1, dtype=bool)}, "seen must have shape"),
        ({"scalars": np.zeros(0)}, "scalars must have shape"),
    ],
)
def test_ascent_refuses_working_sets_that_do_not_fit(changes, match):
    view = kernel_view()
    sets = new_working_sets(4, 4, 0, np.zeros(N, dtype=bool), True)
    sets.counts[:] = [1, 4, 0, 0, 0, 0]
    sets = sets._replace(**changes)
    assert_refused(ascend, state_for(view), view, sets, EXAMPLES, PARAMETERS, match=match)


def test_ascent_refuses_members_without_a_row():
    view = kernel_view()
    view.slots[1] = -1
    sets = new_working_sets(4, 4, 0, np.zeros(N, dtype=bool), True)
    sets.members[:] = np.arange(4)
    match = "members must have rows that are held"
    sets.counts[:] = [1, 4, 0, 0, 1, 0]
    assert_refused(ascend, state_for(view), view, sets, EXAMPLES, PARAMETERS, match=match)
    assert_refused(add_moves, state_for(view), view, sets, match=match)


@pytest.mark.parametrize(
    ("vectors", "first", "last", "out", "match"),
    [
        (np.ones((WIDTH, 2)), 0, N, np.zeros((N, 2)), "vectors must have shape"),
        (np.ones((WIDTH + 1, 2)), 0, N + 1, np.zeros((N, 2)), "first and last must be"),
        (np.ones((WIDTH + 1, 2)), -1, N, np.zeros((N, 2)), "first and last must be"),
        (np.ones((WIDTH + 1, 2)), 0, N, np.zeros((N, 1)), "out must have shape"),
        (np.ones((WIDTH + 1, 2)), 0, N, np.zeros((N - 1, 2)), "out must have shape"),
    ],
)
def test_sparse_margins_refuse_other_shapes(vectors, first, last, out, match):
    with pytest.raises(ValueError, match=match):
        sparse_margins(csr_view(), vectors, first, last, out)
    assert not out.any()


# --- indices that rows of features hold -----------------------------------------------------------


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("members", [[0, N], [-1, 2]])
def test_feature_rows_refuse_members_beyond_the_rows(as_rows, members):
    with pytest.raises(ValueError, match="members must be indices from 0 to 19"):
        FeatureRows(as_rows(X), members=np.array(members))


@pytest.mark.parametrize("column", [-1, WIDTH, 2**30])
def test_feature_rows_refuse_entries_of_no_feature(column):
    S = sparse.csr_matrix(X)
    S.indices[5] = column
    with pytest.raises(ValueError, match="X must have column indices from 0 to 2"):
        FeatureRows(S)


def test_feature_rows_refuse_rows_beyond_their_entries():
    S = sparse.csr_matrix(X)
    S.indptr[-1] += 1
    with pytest.raises(ValueError, match="data, indices and shape agree"):
        FeatureRows(S)
