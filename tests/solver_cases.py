"""Problem, rows and oracle of the solvers' tests: whatever serves the rows, the run is the same."""

from functools import cache
from unittest import mock

import naive
import numpy as np
import pytest
from conftest import make_integers, stream
from kernel_cases import exact
from numpy.testing import assert_array_equal
from scipy import sparse

from kpegasos import KernelMatrix, Linear, Polynomial, linear_rows, losses, make_problem, pegasos
from kpegasos.core.state import PegasosOptions
from kpegasos.rows.budget import cached_mb_needed
from kpegasos.rows.cached import CachedRows
from kpegasos.rows.gram import GramRows
from kpegasos.solvers.pegasos import make_run
from kpegasos.solvers.polish import ascent_after, polished
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils import tuning


class Countdown(Stopper):
    """A deadline that comes when it is asked about for the n-th time."""

    def __init__(self, questions):
        super().__init__()
        self.questions = questions

    def reason(self):
        self.questions -= 1
        return "max_time" if self.questions < 0 else None


DATA = make_integers()
M = DATA.y.size
#: Kernels that are integers on integers.
KERNELS = {"linear": Linear(), "poly": Polynomial(1.0, 2, 1.0)}
#: Each loss once, and a test of all of them.
LOSSES = [
    losses.Hinge(),
    losses.SquaredHinge(),
    losses.SmoothedHinge(),
    losses.Logistic(),
    losses.EpsilonInsensitive(),
    losses.SquaredEpsilonInsensitive(),
    losses.Huber(),
]
EACH_LOSS = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
#: What compiles loops of its own for a loss: the rest of the losses are slow.
TWO_LOSSES = pytest.mark.parametrize(
    "loss",
    [LOSSES[0], LOSSES[-1], *(pytest.param(loss, marks=pytest.mark.slow) for loss in LOSSES[1:-1])],
    ids=lambda loss: type(loss).__name__,
)


def smallest_cache(values, **kwargs):
    return CachedRows(values, cache_mb=cached_mb_needed(values), **kwargs)


def with_tiles(values, *, TILE_ROWS=tuning.TILE_ROWS, TILE_DRAWS=tuning.TILE_DRAWS, **kwargs):
    with mock.patch.multiple(tuning, TILE_ROWS=TILE_ROWS, TILE_DRAWS=TILE_DRAWS):
        return CachedRows(values, **kwargs)


#: Every way to come by kernel rows; ``evicting`` holds 16 rows of 37.
SOURCES = {
    "precomputed": lambda values, **kw: GramRows.from_values(values, **kw),
    "cached": CachedRows,
    "cached_one_by_one": lambda values, **kw: with_tiles(values, TILE_ROWS=1, **kw),
    "cached_tiles": lambda values, **kw: with_tiles(values, TILE_DRAWS=4, **kw),
    "evicting": smallest_cache,
}
#: And of the linear kernel's, rows of features.
ALL_SOURCES = [*SOURCES, "dense", "csr"]
each_source = pytest.mark.parametrize("source", SOURCES)
every_rows = pytest.mark.parametrize("source", ALL_SOURCES)


def make_kernel_rows(source, kernel="linear", X=DATA.X, **kwargs):
    return SOURCES[source](KernelMatrix(KERNELS[kernel], X), **kwargs)


def make_any_rows(source, X=DATA.X, **kwargs):
    """Rows of the linear kernel by name of the source, feature rows among them."""
    if source in ("dense", "csr"):
        return linear_rows(X if source == "dense" else sparse.csr_matrix(X), **kwargs)
    return make_kernel_rows(source, X=X, **kwargs)


def make_task(weighted=False):
    return make_problem(DATA.y, DATA.lam, DATA.weight if weighted else None)


def steps_for(batch_size):
    """More than four epochs, and no whole number of them."""
    return 4 * M // batch_size + 3


@cache
def exact_gram(kernel):
    return exact(KERNELS[kernel], DATA.X).astype(float)


@cache
def by_the_book(kernel="linear", sampling="permutation", batch_size=1, weighted=False, **options):
    draws = stream(M, steps_for(batch_size) * batch_size, sampling=sampling)
    options |= {"batch_size": batch_size, "weight": DATA.omega if weighted else None}
    return naive.pegasos(exact_gram(kernel), DATA.y, draws, DATA.lam, **options)


@cache
def true_optimum(weighted, offset=0.0):
    weight = DATA.omega if weighted else None
    return naive.optimum(exact_gram("linear"), DATA.y, DATA.lam, weight, offset=offset)[0]


def run_pegasos(rows, batch_size=1, weighted=False, **options):
    options = {"n_steps": steps_for(batch_size), "checkpoints": None, "random_state": 0} | options
    return pegasos(make_task(weighted), rows, batch_size=batch_size, **options)


def finished_run(task, rows, *, n_steps=None, epochs=None, seed=0, **options):
    """A `PegasosRun` at its end, evaluated there only."""
    limits = {"n_steps": n_steps, "epochs": epochs, "checkpoints": None, "tol": None}
    running = make_run(task, rows, PegasosOptions(**options), seed=seed, **limits)
    while not running.finished:
        running.advance(Stopper())
    return running


def polish(run, *, tol=1e-2, max_epochs=1000, stopper=None, on_round=lambda ascent: None):
    """The result of the ascent after a run; the run's own where there is none."""
    stopper = stopper or Stopper()
    ascent = ascent_after(run, tol=tol, max_epochs=max_epochs, stopper=stopper)
    if ascent is None:
        return run.result()
    while not ascent.finished:
        ascent.advance(stopper, tol)
        on_round(ascent)
    return polished(run, ascent)


def noisy(n_samples=120, seed=0):
    """Normal points of three features, labelled by a noisy line."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 3))
    return X, np.where(X[:, 0] + X[:, 1] + rng.normal(size=n_samples) > 0.3, 1, -1)


def untimed(history):
    """The records of a history but for their seconds."""
    return [record._replace(seconds=0.0) for record in history]


def assert_same_result(a, b):
    assert_array_equal(a.alpha, b.alpha)
    assert_array_equal(a.coef, b.coef)
    assert_array_equal(a.margins, b.margins)
    assert (a.objective, a.intercept, a.n_steps) == (b.objective, b.intercept, b.n_steps)
