"""scikit-learn estimators: validation, fitted attributes, votes; no arithmetic.

Lives here: `PegasosSVC`, `LinearPegasosSVC`, `PegasosSVR`, `LinearPegasosSVR`, one-vs-one, warm
start, the progress bar.
May import: `kpegasos.solvers` and the rooms below it.
"""

from kpegasos.estimators.kernel import PegasosSVC
from kpegasos.estimators.kernel_regression import PegasosSVR
from kpegasos.estimators.linear import LinearPegasosSVC
from kpegasos.estimators.linear_regression import LinearPegasosSVR

__all__ = [
    "LinearPegasosSVC",
    "LinearPegasosSVR",
    "PegasosSVC",
    "PegasosSVR",
]
