"""Small problems with their optimum, and runs on them seen at every step."""

import numpy as np
from hypothesis import strategies as st

from kpegasos import linear_rows, make_problem, pegasos, sdca
from kpegasos.theory import data_radius


class Bench:
    """A small linear problem, its optimum, and runs of it seen at every step."""

    def __init__(self, X, y, lam):
        self.X, self.y, self.lam = np.asarray(X, float), np.asarray(y, float), lam
        self.problem, self.rows = make_problem(self.y, lam), linear_rows(self.X)
        self.radius = data_radius(self.X)
        best = sdca(self.problem, self.rows, tol=1e-9, max_epochs=2000, random_state=0)
        self.optimum, self.w_star = best.dual_bound, best.w  # no more than f*
        # f is lam-strongly convex.
        self.distance = np.sqrt(2 * max(0, best.gap) / lam)  # of w_star from the optimum, at most

    def run(self, n_steps, **options):
        """The last iterate and the average after each step."""
        seen = []
        pegasos(
            self.problem,
            self.rows,
            n_steps=n_steps,
            checkpoints=range(1, n_steps + 1),
            monitor=lambda run: seen.append(run.evaluate()),
            **options,
        )
        return seen

    def objective(self, margins, squared_norm, batch=slice(None)):
        slack = np.maximum(0, 1 - self.y[batch] * margins[batch])
        return self.lam / 2 * squared_norm + slack.mean()


@st.composite
def benches(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_samples = draw(st.integers(2, 12))
    X = rng.normal(size=(n_samples, 2)) * draw(st.sampled_from([0.3, 1.0, 5.0]))
    y = rng.choice([-1, 1], size=n_samples)
    return Bench(X, y, draw(st.sampled_from([0.01, 0.1, 1.0, 20.0])))
