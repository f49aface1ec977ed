"""What a result says of new examples, and of itself."""

import copy
import pickle

import numpy as np
import pytest
from covering import each_pair, each_value
from numpy.testing import assert_allclose, assert_array_equal
from solver_cases import (
    ALL_SOURCES,
    DATA,
    finished_run,
    make_any_rows,
    make_task,
    noisy,
    polish,
    run_pegasos,
)

from kpegasos import Problem, linear_rows, make_problem, make_rows, pegasos, sdca
from kpegasos.rows.base import RowSource
from kpegasos.rows.gram import GramRows

X, SIGNS = noisy()
NEW, _ = noisy(40, seed=1)
LABELS = {
    "signs": SIGNS,
    "zero and one": (SIGNS + 1) // 2,
    "booleans": SIGNS > 0,
    "strings": np.where(SIGNS > 0, "yes", "no"),
    "objects": np.where(SIGNS > 0, "yes", "no").astype(object),
}
#: Solvers, each on its way to a result.
SOLVERS = {
    "pegasos": lambda problem, rows: pegasos(problem, rows, epochs=5, random_state=0),
    "sdca": lambda problem, rows: sdca(problem, rows, tol=1e-3, random_state=0),
    "polish": lambda problem, rows: polish(finished_run(problem, rows, epochs=2), tol=1e-3),
}


# --- decisions ------------------------------------------------------------------------------------


@each_pair(source=ALL_SOURCES, solver=list(SOLVERS), B=[0.0, 2.0])
def test_decisions_on_the_training_examples_are_the_margins(source, solver, B):
    rows = make_any_rows(source, intercept_scaling=B)
    result = SOLVERS[solver](make_task(weighted=True), rows)
    found = result.decision_function(DATA.X)
    assert_allclose(found, result.margins, rtol=1e-9, atol=1e-9)


class SilentRows(GramRows):
    """Rows that say nothing of new examples, as a class of a user's own may."""

    decisions = RowSource.decisions


def test_rows_may_decide_nothing():
    result = run_pegasos(SilentRows(DATA.X @ DATA.X.T))
    for ask in (result.decision_function, result.predict):
        with pytest.raises(ValueError, match=r"^rows must have a method decisions"):
            ask(DATA.X)


# --- labels ---------------------------------------------------------------------------------------


@each_value(kind=list(LABELS), cache=["precomputed", "cached", "streamed"])
def test_predictions_are_labels_as_they_were_given(kind, cache):
    rows = make_rows(X, "rbf", gamma=0.5, cache=cache)
    result = pegasos(make_problem(LABELS[kind], C=1.0), rows, epochs=3, random_state=0)
    predicted, decisions = result.predict(NEW), result.decision_function(NEW)
    assert predicted.dtype == LABELS[kind].dtype
    assert_array_equal(predicted == max(LABELS[kind].tolist()), decisions > 0)
    assert (result.predict(X) == LABELS[kind]).mean() > 0.7
    for other in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert_array_equal(other.decision_function(NEW), decisions)
        assert_array_equal(other.predict(NEW), predicted)


def test_predictions_without_classes_are_signs():
    problem = Problem(SIGNS.astype(float), np.ones(SIGNS.size), 0.01)
    result = pegasos(problem, linear_rows(X), epochs=2, random_state=0)
    assert_array_equal(result.predict(NEW), np.sign(result.decision_function(NEW)))
