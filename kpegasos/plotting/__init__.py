"""Figures of models and runs, as displays in the manner of scikit-learn.

A display holds what it shows, so it can be made from a fitted estimator (``from_estimator``) or
from stored numbers without training (``from_predictions``, ``from_history``). ``plot`` draws on the
axes that it is given, or on new ones, and leaves the artists in attributes that end in ``_``.

Confusion matrices are scikit-learn's own `sklearn.metrics.ConfusionMatrixDisplay`.
"""

from kpegasos.plotting.convergence import ConvergenceDisplay
from kpegasos.plotting.margins import MarginHistogramDisplay
from kpegasos.plotting.pairs import OneVsOneDisplay
from kpegasos.plotting.regions import DecisionRegionDisplay
from kpegasos.plotting.style import COLORS

__all__ = [
    "COLORS",
    "ConvergenceDisplay",
    "DecisionRegionDisplay",
    "MarginHistogramDisplay",
    "OneVsOneDisplay",
]
