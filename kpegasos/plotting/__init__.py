"""Pictures of models and runs, as displays in the manner of scikit-learn.

Lives here: displays, made from a fitted estimator or from stored numbers; ``plot`` draws on the
axes that it is given and keeps the artists in attributes that end in ``_``.
May import: `kpegasos.solvers.result`, `kpegasos.utils.validation`, scikit-learn and matplotlib.
Confusion matrices are scikit-learn's own `sklearn.metrics.ConfusionMatrixDisplay`.
"""

from kpegasos.plotting.animation import TrainingAnimation
from kpegasos.plotting.convergence import ConvergenceDisplay
from kpegasos.plotting.decisions import DecisionRegionDisplay, MarginHistogramDisplay
from kpegasos.plotting.heat import OneVsOneDisplay, ValidationSurfaceDisplay
from kpegasos.plotting.path import RegularizationPathDisplay
from kpegasos.plotting.style import COLORS

__all__ = [
    "COLORS",
    "ConvergenceDisplay",
    "DecisionRegionDisplay",
    "MarginHistogramDisplay",
    "OneVsOneDisplay",
    "RegularizationPathDisplay",
    "TrainingAnimation",
    "ValidationSurfaceDisplay",
]
