"""Pictures of models and runs, as displays in the manner of scikit-learn.

Lives here: displays, made from a fitted estimator or from stored numbers; ``plot`` draws on the
axes that it is given and keeps the artists in attributes that end in ``_``. A figure that nobody
has laid out gets matplotlib's constrained layout, so that its labels stay within it.
May import: `kpegasos.solvers.result`, `kpegasos.utils.validation`, scikit-learn and matplotlib.
Confusion matrices are scikit-learn's own `sklearn.metrics.ConfusionMatrixDisplay`.
"""

from kpegasos.plotting.animation import TrainingAnimation
from kpegasos.plotting.convergence import ConvergenceDisplay
from kpegasos.plotting.decisions import DecisionRegionDisplay
from kpegasos.plotting.searches import RegularizationPathDisplay, ValidationSurfaceDisplay
from kpegasos.plotting.style import COLORS

__all__ = [
    "COLORS",
    "ConvergenceDisplay",
    "DecisionRegionDisplay",
    "RegularizationPathDisplay",
    "TrainingAnimation",
    "ValidationSurfaceDisplay",
]
