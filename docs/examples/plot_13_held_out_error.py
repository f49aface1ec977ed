"""
Held-out error along a run
==========================

How long does Pegasos have to run? The objective says one thing, held-out examples another. Here are
two ways to follow the error on them.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from kpegasos import PegasosSVC
from kpegasos.plotting import COLORS, ConvergenceDisplay

X, y = make_moons(1000, noise=0.3, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# One epoch at a time
# -------------------
#
# With ``warm_start=True`` each ``fit`` continues the same sequence of iterates: twenty fits of one
# epoch are one run of twenty, with a usable model after each. This works with every version of
# scikit-learn.

stepwise = PegasosSVC(gamma=2.0, C=10.0, epochs=1, warm_start=True, random_state=0)
errors = []
for _ in range(20):
    stepwise.fit(X_train, y_train)
    errors.append(1 - stepwise.score(X_test, y_test))

# %%
# A callback
# ----------
#
# scikit-learn 1.9 and later have callbacks. The estimator passes them a fitted model at each
# checkpoint, here ten a decade, as ``fitted_estimator``. If ``on_fit_task_end`` returns True,
# the fit ends with that model.


class HeldOutError:
    """Notes the error on some examples at each checkpoint."""

    def __init__(self, X, y):
        self.X, self.y = X, y
        self.steps, self.errors = [], []

    def setup(self, estimator, context):
        """Nothing to prepare."""

    def teardown(self, estimator, context):
        """Nothing to put away."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to see yet."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        """Look at the model, if it is a checkpoint that ends, and not the whole fit."""
        if context.task_name == "checkpoint":
            self.steps.append(fitted_estimator.n_steps_)
            self.errors.append(1 - fitted_estimator.score(self.X, self.y))


held_out = HeldOutError(X_test, y_test)
run = PegasosSVC(gamma=2.0, C=10.0, epochs=20, checkpoints="log", random_state=0)
run.set_callbacks(held_out).fit(X_train, y_train)
assert held_out.errors[-1] == errors[-1]  # the same run
for step, error in list(zip(held_out.steps, held_out.errors, strict=True))[::10]:
    print(f"after {step:6,} steps {error:.1%} wrong")
print(f"after {held_out.steps[-1]:6,} steps {errors[-1]:.1%} wrong")

# %%
# The error settles before the objective does, and the objective before the certified gap.

figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 6), sharex=True, layout="constrained")
ConvergenceDisplay.from_estimator(run, ax=top)
bottom.plot(held_out.steps, held_out.errors, color=COLORS[0], label="at ten checkpoints a decade")
epochs = [len(X_train) * epoch for epoch in range(1, 21)]
bottom.plot(epochs, errors, "o", color=COLORS[1], label="at the ends of epochs")
bottom.set(xlabel="steps T", ylabel="error on held-out examples", ylim=(0, None))
bottom.legend(frameon=False)
top.set_xlabel("")
plt.show()
