"""
A first fit and its certificate
===============================

Two noisy moons, the RBF kernel, and what a fit says about itself.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from kpegasos import PegasosSVC
from kpegasos.plotting import ConvergenceDisplay, DecisionRegionDisplay

X, y = make_moons(500, noise=0.2, random_state=0)
clf = PegasosSVC(kernel="rbf", gamma=2.0, C=10.0, epochs=100, random_state=0).fit(X, y)

print(f"accuracy {clf.score(X, y):.3f}, {clf.support_.size} support vectors")
print(f"objective {clf.objective_:.4f}")
print(f"its minimum is at least {clf.objective_ - clf.duality_gap_:.4f}")
print(f"certified relative gap {clf.relative_gap_:.1%}")

# %%
# Weak duality proves this bracket; it is no estimate. The decision regions show the examples with
# rings around the support vectors. A ring grows with the number of times that its example was drawn
# while it violated the margin.

DecisionRegionDisplay.from_estimator(clf, X, y)
plt.show()

# %%
# ``history_`` has a record for each checkpoint. The objective falls from above and the dual bound
# rises from below; the minimum is in between.

ConvergenceDisplay.from_estimator(clf, x="epoch")
plt.show()

# %%
# The remaining gap is mostly due to the dual bound, and much of the rest changes no prediction. For
# the optimum itself, ``polish`` continues by dual ascent until the certified gap is small.

exact = PegasosSVC(gamma=2.0, C=10.0, polish=True, tol=1e-3, random_state=0).fit(X, y)
print(f"objective {exact.objective_:.4f}, certified relative gap {exact.relative_gap_:.2%}")
print(f"predictions that differ: {(clf.predict(X) != exact.predict(X)).mean():.1%}")
