"""Numbers part by part: the mean of the runs on the parts."""

import naive_losses
import numpy as np
from chunk_cases import (
    EACH,
    NAMES,
    cost_at_zero,
    data,
    in_chunks,
    parameter_of,
    vector,
)
from numpy.testing import assert_allclose

from kpegasos import LinearPegasosSVR
from kpegasos.core.draws import IndexStream
from kpegasos.large.dask import fit_dask
from kpegasos.utils.validation import draw_seed


def by_the_book(loss, X, y, lam, draws, weight, radius):
    """Vector of the weighted average, intercept last; ``lam`` for weights of mean one."""
    extended = np.column_stack((X, np.ones(len(y))))
    projected = loss.startswith("squared")
    options = {"weight": weight, "radius": radius if projected else None, **parameter_of(loss)}
    return naive_losses.run(NAMES[loss], extended, y, lam, draws, "weighted", **options)


def of_partition(loss, X, y, weight, rows, number, n_steps):
    """The vector after a round on one partition alone, the ball being that of all data."""
    lam, offset = 0.5, np.average(y, weights=weight)
    draws = IndexStream(rows.stop - rows.start, "permutation", draw_seed(0), (0, number))
    found = by_the_book(
        loss, X[rows], y[rows] - offset,
        # Weights are as they are, and those of a run by the book have mean one.
        lam / weight[rows].mean(), draws.take(0, n_steps), weight[rows],
        np.sqrt(cost_at_zero(loss, y - offset, weight).mean() / lam),
    )  # fmt: skip
    return found + np.array([0.0] * X.shape[1] + [offset])


@EACH
def test_one_round_is_the_mean_of_runs_by_the_sizes_of_their_partitions(client, loss):
    X, y, weight = data(100)
    y[80:] = 3.0 + (y[80:] - 3.0) / 50.0  # whose own ball would be too small
    model = LinearPegasosSVR(lam=0.5, loss=loss, epochs=2, random_state=0)
    sizes = [80, 20]
    fit_dask(model, *(in_chunks(array, sizes) for array in (X, y, weight)), rounds=1)
    large = of_partition(loss, X, y, weight, slice(0, 80), 0, 100)
    small = of_partition(loss, X, y, weight, slice(80, 100), 1, 100)
    assert_allclose(vector(model), 0.8 * large + 0.2 * small, rtol=1e-8)
