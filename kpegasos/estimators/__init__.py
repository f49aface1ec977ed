"""scikit-learn estimators: validation, fitted attributes, votes; no arithmetic.

Lives here: `PegasosSVC`, `LinearPegasosSVC`, one-vs-one, warm start, the progress bar.
May import: `kpegasos.solvers` and the rooms below it.
"""

from kpegasos.estimators.kernel import PegasosSVC
from kpegasos.estimators.linear import LinearPegasosSVC

__all__ = ["LinearPegasosSVC", "PegasosSVC"]
