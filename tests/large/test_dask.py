"""Training on partitions: what averaging states means, and what a lost worker costs."""

import copy
import os
import signal
import threading
import time

import naive_losses
import numpy as np
import pandas as pd
import pytest
from chunk_cases import (
    EACH,
    NAMES,
    by_the_book,
    cost_at_zero,
    data,
    in_chunks,
    parameter_of,
    vector,
)
from scipy import sparse

from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, linear_rows
from kpegasos.core.draws import IndexStream
from kpegasos.core.problem import Problem
from kpegasos.core.state import PegasosOptions
from kpegasos.datasets import make_text_like
from kpegasos.large.dask import _begun, fit_dask
from kpegasos.solvers.online import advance_stream, merge_states, new_stream
from kpegasos.utils.validation import draw_seed

pytestmark = pytest.mark.filterwarnings("ignore:Port 8787 is already in use")

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

AVERAGES = ["weighted", "suffix", "uniform", None]


# The mean of states


def advanced(options, integers, parts):
    """Runs over some rows each, from a state that all have in common."""
    common = new_stream(3, options, 1.0, 0, 0)

    def go_on(stream, rows):
        problem = Problem(integers.y[rows], np.ones(rows.stop - rows.start), 0.5)
        advance_stream(stream, problem, linear_rows(integers.X[rows], intercept_scaling=1.0))

    go_on(common, slice(0, 13))
    streams = [copy.deepcopy(common) for _ in parts]
    for run, rows in zip(streams, parts, strict=True):
        go_on(run, rows)
    return streams


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("projection", [False, True])
def test_the_mean_of_states_has_the_mean_of_the_iterates(integers, average, projection):
    options = PegasosOptions(average=average, projection=projection)
    streams = advanced(options, integers, [slice(13, 25), slice(25, 37)])
    merged = merge_states([s.state for s in streams], [3, 1])
    for kind in {None, average}:
        vectors = []
        for state in [*(s.state for s in streams), merged]:
            last = copy.copy(state)
            last.options = state.options._replace(average=kind)
            vectors.append(last.iterates()[-1].image(last.loop))
        first, second, mean = vectors
        np.testing.assert_allclose(mean, 0.75 * first + 0.25 * second, rtol=1e-9, atol=1e-12)
    assert merged.steps == 25
    uneven = advanced(options, integers, [slice(13, 25), slice(13, 26)])
    with pytest.raises(ValueError, match=r"equally many steps, got \[25, 26\] instead"):
        merge_states([s.state for s in uneven], [1, 1])


# A fit


def of_partition(integers, rows, number, n_steps, average):
    draws = IndexStream(rows.stop - rows.start, "permutation", draw_seed(0), (0, number))
    return by_the_book(integers, draws.take(0, n_steps), average, rows)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize(("rounds", "as_block"), [(1, np.asarray), (3, sparse.csr_matrix)])
def test_one_partition_is_pegasos(client, integers, average, rounds, as_block):
    model = LinearPegasosSVC(lam=1.0, epochs=3, average=average, random_state=0)
    X, y = in_chunks(integers.X, [37]), np.where(integers.y > 0, "yes", "no")
    fit_dask(model, X.map_blocks(as_block), in_chunks(y, [37]), rounds=rounds)
    expected = of_partition(integers, slice(0, 37), 0, 111, average)
    np.testing.assert_allclose(vector(model), expected, rtol=4e-15, atol=1e-15)
    assert (model.n_steps_, model.n_features_in_) == (111, 3)
    assert model.partial_fit(integers.X, y).n_steps_ == 111 + 37


@pytest.mark.parametrize("average", AVERAGES)
def test_one_round_is_the_mean_of_runs_by_the_sizes_of_their_partitions(client, integers, average):
    model = LinearPegasosSVC(lam=1.0, epochs=2, average=average, random_state=0)
    sizes = [30, 7]
    fit_dask(model, in_chunks(integers.X, sizes), in_chunks(integers.y, sizes), rounds=1)
    large = of_partition(integers, slice(0, 30), 0, 37, average)
    small = of_partition(integers, slice(30, 37), 1, 37, average)
    np.testing.assert_allclose(vector(model), (30 * large + 7 * small) / 37, rtol=1e-12)


def test_weights_and_several_classes(client):
    X, y = make_text_like(3000, 100, 0.1, noise=0.0, random_state=0)
    X = X.toarray()
    y = np.where(y == 1, 2, np.arange(3000) % 2)  # 0 and 1 cannot be told apart, but by weight
    weight = np.where(y == 0, 5.0, 1.0)
    sizes = [1400, 1400, 200]
    parameters = {"epochs": 10, "class_weight": {2: 2.0}, "random_state": 0}
    model = LinearPegasosSVC(lam=0.1, **parameters)
    fit_dask(model, *(in_chunks(a, sizes) for a in (X, y, weight)), rounds=20)
    assert model.coef_.shape == (3, 100)
    for pair, classes in enumerate(((0, 1), (0, 2), (1, 2))):
        own = np.isin(y, classes)
        mean = np.mean(weight[own] * np.where(y[own] == 2, 2.0, 1.0))
        # Weights of `fit` have mean one.
        one = LinearPegasosSVC(lam=0.1 / mean, **parameters | {"class_weight": None})
        one.fit(X[own], y[own] == classes[0], weight[own] * np.where(y[own] == 2, 2.0, 1.0))
        np.testing.assert_allclose(model.coef_[pair], one.coef_[0], atol=0.1)
        np.testing.assert_allclose(model.intercept_[pair], one.intercept_[0], atol=0.05)


def test_partitions_without_a_class_or_without_rows(client):
    X, y = make_text_like(600, 100, 0.1, noise=0.0, random_state=0)
    X, y = X.toarray(), np.where(y == 1, 2, np.arange(600) % 2)
    order = np.argsort(y == 2, kind="stable")  # the last partition knows class 2 only
    X, y = X[order], y[order]
    sizes = [200, 0, 200, 200]
    model = LinearPegasosSVC(lam=4e-3, random_state=4)
    fit_dask(model, in_chunks(X, sizes), in_chunks(y, sizes), rounds=20)
    # Over six seeds 0.895 to 0.905, where one fit has 0.945: its partitions differ as they can.
    assert np.mean((model.predict(X) == 2) == (y == 2)) > 0.88


def test_collections_that_do_not_fit_together_are_refused(client, integers):
    X, sizes = integers.X, [30, 7]
    rows, labels = in_chunks(X, sizes), in_chunks(integers.y, sizes)

    def fails(match, X=rows, y=labels, *, model=None, error=ValueError, **arguments):
        model = LinearPegasosSVC(lam=0.1) if model is None else model
        with pytest.raises(error, match=match):
            fit_dask(model, X, y, **arguments)
        assert not hasattr(model, "coef_")

    fails("X must be a Dask array of 2 dimensions, got ndarray", X=X)
    frame = pytest.importorskip("dask.dataframe").from_pandas(pd.DataFrame(X), npartitions=2)
    fails(r"X must be a Dask array .*got DataFrame instead: pass .to_dask_array\(lengths", X=frame)
    fails(r"y must be chunked like the rows of X, \(30, 7\)", y=in_chunks(integers.y, [37]))
    fails("X must be chunked along the rows only, got 2", X=rows.rechunk(((30, 7), (2, 1))))
    fails("sample_weight must have a positive entry", sample_weight=0.0 * rows[:, 0])
    wider = rows.map_blocks(lambda block: np.hstack([block, block]), dtype=float)
    fails("X must have 3 columns in every block, got 6 in block", X=wider)
    fails("estimator must be a LinearPegasosSVC or a Linear", model=PegasosSVC(), error=TypeError)
    fails("client must be a Dask client, got str", client="tcp://nowhere", error=TypeError)


def test_class_without_weight_is_absent(client):
    X, y = make_text_like(600, 50, 0.1, noise=0.0, random_state=0)
    labels, sizes = np.where(np.arange(600) < 400, y, 7), [200, 200, 200]
    weight = 1.0 * (labels != 7)
    model = LinearPegasosSVC(lam=3e-3, epochs=3, random_state=0)
    fit_dask(model, *(in_chunks(array, sizes) for array in (X.toarray(), labels, weight)))
    assert model.classes_.tolist() == [-1, 1]
    without = LinearPegasosSVC(lam=3e-3, epochs=3, random_state=0)
    fit_dask(without, *(in_chunks(array[:400], sizes[:2]) for array in (X.toarray(), labels)))
    np.testing.assert_array_equal(model.coef_, without.coef_)


# Numbers


def of_numbers(loss, X, y, weight, rows, number):
    """The vector after a round on one partition alone, the ball being that of all data."""
    lam, offset, radius = 0.5, np.average(y, weights=weight), None
    if loss.startswith("squared"):
        radius = np.sqrt(cost_at_zero(loss, y - offset, weight).mean() / lam)
    draws = IndexStream(rows.stop - rows.start, "permutation", draw_seed(0), (0, number))
    found = naive_losses.run(
        NAMES[loss], np.column_stack((X, np.ones(len(y))))[rows], y[rows] - offset,
        # Weights are as they are, and those of a run by the book have mean one.
        lam / weight[rows].mean(), draws.take(0, 100), "weighted", weight=weight[rows],
        radius=radius, **parameter_of(loss),
    )  # fmt: skip
    return found + np.array([0.0] * X.shape[1] + [offset])


@EACH
def test_one_round_of_numbers_is_the_mean_of_runs_by_the_sizes_of_their_partitions(client, loss):
    X, y, weight = data(100)
    y[80:] = 3.0 + (y[80:] - 3.0) / 50.0  # whose own ball would be too small
    model = LinearPegasosSVR(lam=0.5, loss=loss, epochs=2, random_state=0)
    sizes = [80, 20]
    fit_dask(model, *(in_chunks(array, sizes) for array in (X, y, weight)), rounds=1)
    large = of_numbers(loss, X, y, weight, slice(0, 80), 0)
    small = of_numbers(loss, X, y, weight, slice(80, 100), 1)
    np.testing.assert_allclose(vector(model), 0.8 * large + 0.2 * small, rtol=1e-8)


# Worker processes


def kill_one_of_two(client, killed):
    """Kill a worker while it takes steps, in the second round or later."""
    pids = client.run(os.getpid)
    seen = set()
    while not killed:
        for address, keys in client.processing().items():
            steps = {str(key) for key in keys if str(key).startswith("states_after")}
            seen |= steps
            if steps and len(seen) > 2 and address in pids:
                os.kill(pids[address], signal.SIGKILL)
                killed.append(pids[address])
                return
        time.sleep(0.01)


@pytest.fixture(scope="module")
def two_processes():
    options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": "CRITICAL"}
    with (
        distributed.LocalCluster(n_workers=2, processes=True, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
def test_a_worker_that_dies_costs_its_round_and_nothing_else(two_processes, client):
    X, y = make_text_like(4000, 200, 0.05, random_state=0)
    rows, labels = in_chunks(X.toarray(), [2000, 2000]), in_chunks(y, [2000, 2000])

    def fitted(client):
        model = LinearPegasosSVC(lam=1e-3, epochs=1000, random_state=0)
        return fit_dask(model, rows, labels, rounds=4, client=client)

    killed = []
    killer = threading.Thread(target=kill_one_of_two, args=(two_processes, killed))
    killer.start()
    try:
        model = fitted(two_processes)
    finally:
        unharmed = not killed
        killed.append(None)
        killer.join()
    assert not unharmed, "the fit was over before a worker could be killed"
    assert killed[0] not in two_processes.run(os.getpid).values()
    # As if nothing had happened, with two processes or with one worker.
    np.testing.assert_array_equal(model.coef_, fitted(client).coef_)
    two_processes.wait_for_workers(2, timeout=30)


def test_classes_of_partitions_are_of_one_kind():
    """One array of numbers and strings would be strings, which are never equal to the numbers."""
    with pytest.raises(
        ValueError, match=r"^y must be numbers in all partitions, or strings, got b"
    ):
        _begun(LinearPegasosSVC(lam=0.1), [np.array([1, 2]), np.array(["a"])])
