"""
Add a solver on the same rows
=============================

A solver derives from `kpegasos.solvers.driver.SolverRun`, or from one that does. It says how to get
to the next checkpoint; clock, history, certificate, deadlines and the result come from the driver.

Here dual ascent takes the steepest coordinate in each step instead of a random one. It needs far
fewer kernel rows, and a look at all margins before every step.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kpegasos import PegasosSVC, make_problem, make_rows, sdca
from kpegasos.core.state import STEPS, PegasosOptions, new_state
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.solvers.stopping import Stopper


class SteepestAscent(DualAscent):
    """Dual ascent in the coordinate that raises the dual most, on rows that are held."""

    def advance_to_checkpoint(self, stopper):
        loop, examples = self.state.loop, self.examples
        to_margin = 1.0 / (self.problem.lam * self.problem.y.size)
        curvature = np.abs(examples.signed) * self.rows.squared_norms() * to_margin
        for _ in range(50):  # steps between two checkpoints
            with self.on_account():
                slack = 1.0 - examples.label * loop.image * to_margin
                move = np.clip(loop.alpha + slack / curvature, 0.0, 1.0) - loop.alpha
                i = int(np.argmax(move * (slack - 0.5 * curvature * move)))
                view = self.rows.ensure_rows(np.array([i]), int(loop.counters[STEPS]))
                row = view.values[view.slots[i]] + view.kernel_offset
                loop.alpha[i] += move[i]
                loop.image[:] += move[i] * examples.signed[i] * row
                loop.counters[STEPS] += 1
        return stopper.reason()


# %%
# Both solvers on the same problem, each with a cache of its own, to count the rows it needs:

X, y = make_moons(3000, noise=0.2, random_state=0)
problem = make_problem(y, lam=1e-4)


def new_rows():
    return make_rows(X, "rbf", gamma=2.0, cache="cached")


rows = new_rows()
state = new_state(rows.n_samples, rows.image_size, PegasosOptions(average=None), problem.lam, 0)
steepest = SteepestAscent(problem, rows, state, max_epochs=100)
while not steepest.finished:
    steepest.advance(Stopper(), tol=1e-3)
random = sdca(problem, new_rows(), tol=1e-3, random_state=0)

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, history in {"random": random.history, "steepest": steepest.history}.items():
    ax.loglog(history["kernel_evaluations"] / 3000, history["relative_gap"], label=name)
ax.set(xlabel="kernel rows computed", ylabel="certified relative gap")
ax.legend(title="coordinate")
plt.show()
print(steepest.result().history)

# %%
# An estimator takes the solver in place of its own, with any rows that it may choose, so that it
# works wherever estimators do:

model = PegasosSVC(C=10.0, polish=SteepestAscent, random_state=0)
pipeline = make_pipeline(StandardScaler(), model)
print(cross_val_score(pipeline, X, y, cv=3))
print(pipeline.fit(X, y)[-1].relative_gap_)
