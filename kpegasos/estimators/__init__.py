"""scikit-learn estimators: parameters, fitted attributes, votes, exports; no arithmetic.

Lives here: `PegasosSVC`, `LinearPegasosSVC`, `PegasosSVR`, `LinearPegasosSVR`.
May import: `kpegasos.fitting`, `kpegasos.exports` and the rooms below them.
"""

from kpegasos.estimators.kernel import PegasosSVC, PegasosSVR
from kpegasos.estimators.linear import LinearPegasosSVC, LinearPegasosSVR

__all__ = [
    "LinearPegasosSVC",
    "LinearPegasosSVR",
    "PegasosSVC",
    "PegasosSVR",
]
