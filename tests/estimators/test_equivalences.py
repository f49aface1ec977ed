"""The same model by other ways: formats of X, threads, caches."""

import numpy as np
import pytest
from models import BOTH, EXACT, counts_of, integers, two_classes

from kpegasos import LinearPegasosSVC, PegasosSVC, linear_rows, make_problem, make_rows
from kpegasos.solvers.pegasos import PegasosOptions, make_run
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils.validation import draw_seed


@BOTH
@pytest.mark.parametrize(
    "options",
    [
        {"average": "suffix", "sampling": "uniform"},
        {"average": None, "batch_size": 4, "projection": True},
        {"average": "uniform"},
    ],
    ids=str,
)
def test_run_is_that_of_the_solver(Estimator, options):
    """Every parameter gets to where it counts; a pair has draws of its own."""
    X, y = two_classes()
    if Estimator is PegasosSVC:
        own, rows = {"gamma": 2.0}, make_rows(X, "rbf", gamma=2.0, intercept_scaling=0.5)
    else:
        own, rows = {}, linear_rows(X, intercept_scaling=0.5)
    steps = {"n_steps": 400, "checkpoints": [100]}
    clf = Estimator(lam=0.02, intercept_scaling=0.5, random_state=5, **own, **steps, **options)
    run = make_run(
        make_problem(2.0 * y - 1.0, 0.02), rows, PegasosOptions(**options), **steps,
        epochs=None, tol=None, seed=draw_seed(5), spawn_key=(0,),
    )  # fmt: skip
    while not run.finished:
        run.advance(Stopper())
    np.testing.assert_allclose(clf.fit(X, y).objective_, run.result().objective, rtol=1e-12)
    np.testing.assert_array_equal(clf.alpha_, run.result().alpha)
