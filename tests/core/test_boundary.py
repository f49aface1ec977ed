"""A loop that is called with arrays that do not fit together raises, and touches none of them."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from path_cases import beginning as beginning_of_path
from path_cases import make_path, new_sets
from scipy import sparse

from kpegasos import make_rows
from kpegasos.core.loops import dual_steps, primal_steps
from kpegasos.core.path import CELL, follow
from kpegasos.core.state import Examples, LoopParameters, PegasosOptions, new_state
from kpegasos.core.views import (
    CsrView,
    DenseView,
    KernelView,
    add_rows_together,
    dense_margins,
    sparse_margins,
)
from kpegasos.core.working_sets import LEFT, add_moves, ascend, new_working_sets
from kpegasos.rows.base import Steps
from kpegasos.rows.features import FeatureRows
from kpegasos.solvers.pegasos import PRIMAL

pytestmark = pytest.mark.pure_python

N, WIDTH = 20, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, WIDTH))
GRAM = X @ X.T
EXAMPLES = Examples(np.resize([1.0, -1.0], N), np.resize([1.0, -1.0], N))
PARAMETERS = LoopParameters(0.1, N, 2, True, False)
DRAWS = RNG.integers(0, N, 40)


def kernel_view():
    return KernelView.of(
        GRAM.copy(), np.arange(N), np.zeros(N, np.int64), GRAM.diagonal().copy(), 0.0
    )


def dense_view():
    return DenseView(X, np.arange(N), (X**2).sum(axis=1), 1.0)


def csr_view():
    S = sparse.csr_matrix(X)
    return CsrView(S.data, S.indices, S.indptr, WIDTH, np.arange(N), (X**2).sum(axis=1), 1.0)


def steps_of(view):
    size = N if isinstance(view, KernelView) else WIDTH + 1
    state = new_state(N, size, PegasosOptions(batch_size=2), 0.1, 0).loop
    return {"state": state, "view": view, "draws": DRAWS.copy(), "start": 0, "stop": 40} | LOOP


LOOP = {"examples": EXAMPLES, "parameters": PARAMETERS}


def table():
    """Loops, and what they are called with, in this order."""
    kernel = steps_of(kernel_view())
    state, view = kernel["state"], kernel["view"]
    sets = new_working_sets(4, 4, 0, np.zeros(N, dtype=bool), True)
    sets.counts[LEFT], sets.members[:] = 1, np.arange(4)
    path, (path_state, path_view) = make_path(), beginning_of_path()
    of_path = {"view": path_view}
    vectors, margins = np.ones((2, WIDTH + 1)), {"first": 0, "last": N, "out": np.zeros((N, 2))}
    return {
        "primal kernel": (primal_steps, kernel),
        "primal dense": (primal_steps, steps_of(dense_view())),
        "primal csr": (primal_steps, steps_of(csr_view())),
        "dual kernel": (dual_steps, kernel),
        "dual dense": (dual_steps, steps_of(dense_view())),
        "ascend": (ascend, {"state": state, "view": view, "sets": sets} | LOOP),
        "add moves": (add_moves, {"state": state, "view": view, "sets": sets}),
        "dense margins": (dense_margins, {"view": dense_view(), "vectors": vectors} | margins),
        "margins": (sparse_margins, {"view": csr_view(), "vectors": vectors.T} | margins),
        "rows together": (
            add_rows_together,
            {"values": np.ones((3, 4)), "work": np.ones((1, 4)), "rows": np.array([2, -1])}
            | {"increments": np.ones(2), "stamps": np.ones(2), "offset": 0.0}
            | {"image": np.zeros(4), "stamped_image": np.zeros(4)},
        ),
        "follow": (follow, {"path": path, "state": path_state} | of_path | {"sets": new_sets()}),
    }


LOOPS = list(table())
STEPS = [call for call in LOOPS if call.startswith(("primal", "dual"))]


def shorter(array):
    return array[:-1]


def narrower(array):
    return array[:, :-1]


def put(place, value):
    """A copy with another entry."""

    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


def each(name, *values):
    return [{name: value} for value in values]


def of_members(number, chosen=0):
    """Counts of a set of so many members."""
    return {"sets.counts": np.array([1, number, 0, 0, chosen, 0])}


def missing(member):
    return {"view.slots": put(member, -1)}


UNPROJECTED = {"parameters": PARAMETERS._replace(projection=False)}
SHORTER_IMAGES = {"state.image": shorter, "state.stamped_image": shorter}
NO_RANGES = [{"start": start, "stop": stop} for start, stop in ((-2, 4), (0, 42), (6, 4))]
NO_DRAWS = [{"draws": DRAWS.astype(np.int32)}, {"draws": DRAWS.reshape(2, 20), "stop": 2}]
HELD = "members must have rows that are held"
BETWEEN = "must be a range within 0 and"
#: What is changed of the arguments of loops other than lengths, and what they say of it.
REFUSED = [
    ("draws must be indices from 0 to 19", STEPS, each("draws", put(7, -1), put(7, N))),
    # Rows are fetched a few draws ahead of their turn.
    ("draws must be indices", ["primal dense"], [{"draws": put(14, 2**40), "stop": 10}]),
    (f"start and stop {BETWEEN}", STEPS, NO_RANGES),
    ("draws must be a vector of int64", ["primal kernel"], NO_DRAWS),
    ("must have shape", ["primal kernel"], each("examples.label", np.ones(N + 1))),
    ("slots must be", ["primal kernel"], each("view.slots", lambda slots: slots + 1)),
    ("size must be", ["ascend"], each("sets.members", np.zeros(N + 1, dtype=np.int64))),
    ("members must be", ["ascend"], [{"sets.members": put(1, N)} | of_members(4)]),
    ("n_members must be", ["ascend"], [of_members(5)]),
    (HELD, ["ascend", "add moves"], [missing(1) | of_members(4, chosen=1)]),
    (f"first and last {BETWEEN}", ["dense margins", "margins"], [{"last": N + 1}, {"first": -1}]),
    ("image must have shape", ["primal dense", "primal csr"], [SHORTER_IMAGES]),
    ("squared_norms", ["dual kernel"], [{"view.squared_norms": shorter} | UNPROJECTED]),
    ("image", ["rows together"], [{"image": shorter, "stamped_image": shorter}]),
    ("rows", ["rows together"], each("rows", np.array([2, -2]), np.array([3, -1]))),
    ("folds must be indices from 0 to 1", ["follow"], each("path.folds", put(0, 2), put(0, -1))),
    (f"cell {BETWEEN} 6", ["follow"], each("path.counts", put(CELL, 7), put(CELL, -1))),
]
#: Arrays whose lengths loops need not look at: what `FeatureRows` has checked, what they do not
#: read, and lists that may be shorter.
UNCHECKED = {
    *["X", "data", "indices", "indptr"],
    *[f"{call} {name}" for call in ("ascend", "follow") for name in ("pulls", "ahead")],
    *[f"{call} squared_norms" for call in LOOPS if call not in STEPS],
}


def with_changes(arguments, changes):
    arguments = dict(arguments)
    for name, change in changes.items():
        owner, _, field = name.partition(".")
        old = getattr(arguments[owner], field) if field else arguments[owner]
        new = change(old) if callable(change) else change
        arguments[owner] = arguments[owner]._replace(**{field: new}) if field else new
    return arguments


def arrays_of(arguments):
    """Arrays by their places, as in `REFUSED`."""
    flat = {}
    for name, value in arguments.items():
        fields = value._asdict() if isinstance(value, tuple) else {"": value}
        flat |= {f"{name}.{field}".rstrip("."): each for field, each in fields.items()}
    return {place: each for place, each in flat.items() if isinstance(each, np.ndarray)}


def assert_refused(call, changes, match):
    loop, arguments = table()[call]
    arguments = with_changes(arguments, changes)
    before = copy.deepcopy(arguments)
    with pytest.raises(ValueError, match=match):
        loop(*arguments.values())
    for array, old in zip(*(arrays_of(each).values() for each in (arguments, before)), strict=True):
        assert_array_equal(array, old)


def test_loops_take_what_fits():
    """So that each refusal is that of the one thing that was changed."""
    for call in LOOPS:
        loop, arguments = table()[call]
        loop(*arguments.values())


@pytest.mark.parametrize(
    ("match", "call", "changes"),
    [(match, call, changes) for match, calls, changes in REFUSED for call in calls],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_loops_refuse_what_does_not_fit(match, call, changes):
    for change in changes:
        assert_refused(call, change, match)


@pytest.mark.parametrize("call", [call for call in LOOPS if call != "add moves"])
def test_loops_refuse_arrays_of_other_lengths(call):
    for place, array in arrays_of(table()[call][1]).items():
        name = place.rpartition(".")[2]
        if array.size and not {name, f"{call} {name}"} & UNCHECKED:
            assert_refused(call, {place: shorter}, r"\w must (be|have)")
            if array.ndim == 2:
                assert_refused(call, {place: narrower}, r"\w must (be|have)")


@pytest.mark.parametrize("changed", [{"draws": DRAWS + N}, {"stop": 42}, {"first_rate": 9}])
@pytest.mark.parametrize("as_rows", [FeatureRows, lambda X: make_rows(X, "linear")])
def test_later_slices_refuse_what_a_slice_brings(as_rows, changed):
    """Arrays of a run are checked once; draws, their range and sizes of steps each time."""
    rows = as_rows(X)
    state = new_state(N, rows.image_size, PegasosOptions(), 0.1, 0).loop
    parameters = LoopParameters(0.1, N, 1, False, False)
    steps = Steps(PRIMAL, state, EXAMPLES, parameters)
    rows.advance(steps, DRAWS, 20)
    if "first_rate" in changed:
        steps.parameters = parameters._replace(rates=np.ones(40), **changed)
    draws, stop = changed.get("draws", DRAWS), changed.get("stop", 40)
    before = copy.deepcopy(state)
    with pytest.raises(ValueError, match="must be"):
        rows.advance(steps, draws, stop)
    for array, old in zip(state, before, strict=True):
        assert_array_equal(array, old)
    other = state._replace(alpha=state.alpha[:-1])
    with pytest.raises(ValueError, match="alpha must have shape"):
        rows.advance(Steps(PRIMAL, other, EXAMPLES, parameters), DRAWS, 20)


# --- indices that rows of features hold -----------------------------------------------------------


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("members", [[0, N], [-1, 2]])
def test_feature_rows_refuse_members_beyond_the_rows(as_rows, members):
    with pytest.raises(ValueError, match="members must be indices from 0 to 19"):
        FeatureRows(as_rows(X), members=np.array(members))
