"""What a state carries on: doubt about the kernel, counts of draws, kinds of rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_moons

from kpegasos import make_problem, make_rows, pegasos, sdca
from kpegasos.core.state import PegasosOptions
from kpegasos.rows.features import linear_rows
from kpegasos.solvers.pegasos import growing_steps, make_run
from kpegasos.solvers.polish import polish
from kpegasos.solvers.stopping import Stopper

X, Y = make_moons(120, noise=0.2, random_state=0)
SIGNS = 2.0 * Y - 1.0


def indefinite_gram():
    """A symmetric matrix that a few epochs show not to be a kernel matrix."""
    values = np.random.default_rng(0).normal(size=(X.shape[0], X.shape[0]))
    return values + values.T


def finished(rows, problem, options=None, **arguments):
    run = make_run(
        problem,
        rows,
        options or PegasosOptions(),
        n_steps=None,
        epochs=5,
        checkpoints="epoch",
        tol=None,
        seed=0,
        **arguments,
    )
    while not run.finished:
        run.advance(Stopper())
    return run


def test_polish_refuses_a_kernel_that_the_run_has_found_indefinite():
    problem = make_problem(SIGNS, 1e-3)
    run = finished(make_rows(indefinite_gram(), "precomputed"), problem)
    assert np.isnan(run.result().gap)
    with pytest.raises(ValueError, match="positive semi-definite"):
        polish(run, tol=0.5)


def test_resumed_run_keeps_its_doubt_about_the_kernel():
    problem, gram = make_problem(SIGNS, 1e-3), indefinite_gram()
    first = pegasos(problem, make_rows(gram, "precomputed"), epochs=5, random_state=0)
    assert np.isnan(first.gap)
    again = pegasos(
        problem, make_rows(gram, "precomputed"), epochs=1, state=first.state, random_state=0
    )
    assert np.isnan(again.gap)
    assert np.isnan(again.history["dual_bound"]).all()


@pytest.mark.parametrize("average", ["weighted", "suffix", "uniform"])
def test_run_counts_every_kernel_value_of_its_rows(average):
    """Those too that a snapshot of the suffix average asks for in the warm-up."""
    many, labels = make_moons(1500, noise=0.2, random_state=0)
    rows = make_rows(many, "rbf", gamma=2.0, cache="cached", cache_mb=64)
    problem = make_problem(2 * labels - 1, 1e-4)
    result = pegasos(problem, rows, epochs=2, average=average, random_state=0)
    assert result.history["kernel_evaluations"][-1] == rows.evaluations


@pytest.mark.parametrize("batch_size", [1, 16])
def test_history_of_a_polished_run_goes_on_in_time(batch_size):
    problem = make_problem(SIGNS, 1e-4)
    options = PegasosOptions(batch_size=batch_size)
    run = finished(make_rows(X, "rbf", gamma=2.0), problem, options)
    n_before = len(run.history)
    result = polish(run, tol=1e-6)
    assert len(result.history) > n_before
    for column in ("epoch", "iteration", "seconds"):
        assert (np.diff(result.history[column]) >= 0).all()


@pytest.mark.parametrize("n_labels", [119, 121])
def test_sdca_refuses_labels_of_other_rows(n_labels):
    labels = np.resize(SIGNS, n_labels)
    with pytest.raises(ValueError, match=f"rows must belong to the {n_labels} examples"):
        sdca(make_problem(labels, 1e-2), make_rows(X, "rbf"))


def test_state_of_features_is_refused_by_kernel_rows_of_the_same_length():
    wide = np.random.default_rng(0).normal(size=(20, 19))
    problem = make_problem(np.resize([1.0, -1.0], 20), 1e-2)
    linear = pegasos(problem, linear_rows(wide), epochs=2, random_state=0)
    assert linear.state.loop.image.size == 20
    for rows in (make_rows(wide, "linear"), make_rows(wide, "linear", cache="streamed")):
        with pytest.raises(ValueError, match="same kind of rows"):
            pegasos(problem, rows, epochs=1, state=linear.state)
    kernel = pegasos(problem, make_rows(wide, "linear"), epochs=2, random_state=0)
    with pytest.raises(ValueError, match="same kind of rows"):
        pegasos(problem, linear_rows(wide), epochs=1, state=kernel.state)


def test_growing_steps_begin_at_an_eighth_of_an_epoch_of_batches():
    assert growing_steps(0, 100, 10_000 / 100)[0] == 12
    assert growing_steps(5, 10**5, 8000.0)[:2] == [1005, 1505]


def test_sampling_function_may_use_its_array_again():
    order = np.arange(X.shape[0])

    def shuffled(rng, n_samples):
        rng.shuffle(order)
        return order

    def fresh(rng, n_samples):
        if not hasattr(fresh, "order"):
            fresh.order = np.arange(n_samples)
        fresh.order = fresh.order.copy()
        rng.shuffle(fresh.order)
        return fresh.order

    problem = make_problem(SIGNS, 1e-3)
    rows = make_rows(X, "rbf", gamma=2.0)
    counts = [
        pegasos(problem, rows, epochs=4, sampling=f, random_state=0).alpha
        for f in (shuffled, fresh)
    ]
    assert_array_equal(*counts)
