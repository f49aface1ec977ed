"""What an animation shows, recorded while an estimator is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone, is_classifier

from kpegasos.plotting import checks
from kpegasos.plotting.columns import VALUES
from kpegasos.utils.validation import as_number, optional, shown

#: Names of features that have none.
FEATURES = ("feature 1", "feature 2")
#: Share of a feature's range by which a grid extends beyond the examples.
_MARGIN = 1 / 15


def recorded(
    estimator: Any, X: Any, y: ArrayLike, grid_resolution: int, eps: float | None
) -> dict[str, Any]:
    """Train a clone and return the arguments of a `TrainingAnimation`.

    Raises
    ------
    ValueError
        If there are no two classes or not two features, or the estimator has no callbacks.
    """
    points = checks.points("X", X)
    if not points.size:
        raise ValueError(f"X must have examples, got {shown(X)} instead")
    labels = checks.labels("y", y)
    is_instance = not isinstance(estimator, type) and hasattr(estimator, "set_callbacks")
    if not (is_instance and is_classifier(estimator)):
        raise ValueError(
            f"estimator must be a PegasosSVC or LinearPegasosSVC, got {shown(estimator)} instead"
        )
    grid_resolution = checks.resolution(grid_resolution)
    eps = optional(as_number, "eps", eps, least=0.0)
    low, high = points.min(axis=0), points.max(axis=0)
    away = _MARGIN * np.where(high > low, high - low, 1.0) if eps is None else eps
    xx, yy = np.linspace(low - away, high + away, grid_resolution).T
    grid = np.column_stack([part.ravel() for part in np.meshgrid(xx, yy)])
    recorder = _Recorder(grid, len(np.unique(labels)))
    clone(estimator).set_callbacks(recorder).fit(points, y)
    return {
        "xx": xx,
        "yy": yy,
        "values": np.reshape(recorder.values, (-1, yy.size, xx.size)),
        "history": {name: np.array(column) for name, column in recorder.columns.items()},
        "X": points,
        "y": y,
        "alpha": recorder.alpha,
        "feature_names": [str(name) for name in getattr(X, "columns", FEATURES)],
    }


class _Recorder:
    """scikit-learn callback that keeps what the grid gets, counts and curves at each checkpoint.

    Of several classes the grid gets numbers of classes, and counts and columns are summed over the
    pairs: a sum of dual bounds is one for the sum of the objectives.
    """

    def __init__(self, grid: np.ndarray, n_classes: int) -> None:
        self.grid = grid
        self.binary = n_classes <= 2
        self.values: list[np.ndarray] = []
        self.alpha: list[np.ndarray] = []
        self.columns: dict[str, list[float]] = {name: [] for name in ("iteration", *VALUES)}

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to put away."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Nothing to see yet."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> None:
        """Keep what a frame shows, if a checkpoint ends."""
        if context.task_name != "checkpoint":
            return
        model = fitted_estimator
        if self.binary:
            self.values.append(model.decision_function(self.grid))
            histories = [model.history_]
        else:
            self.values.append(np.searchsorted(model.classes_, model.predict(self.grid)))
            histories = model.history_
        counts = model.alpha_
        self.alpha.append(
            np.asarray(counts.sum(axis=0)).ravel() if sparse.issparse(counts) else counts
        )
        for name, column in self.columns.items():
            column.append(sum(getattr(history[-1], name) for history in histories))
