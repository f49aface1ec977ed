"""The problem of the reference's tests, and the compiled run beside it."""

import numpy as np
from solver_cases import noisy

from kpegasos import make_problem, pegasos

X, Y = noisy()
#: An RBF kernel with γ = 0.5.
K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
LAM, N_STEPS = 0.02, 500


def compiled(rows, y=Y, lam=LAM, n_steps=N_STEPS, **options):
    """The compiled run: the last iterate, and the average."""
    options = {"n_steps": n_steps, "random_state": 0, "checkpoints": None} | options
    return [
        pegasos(make_problem(y, lam), rows, average=average, **options)
        for average in (None, "weighted")
    ]
