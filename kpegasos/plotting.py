"""Figures: decision boundaries, convergence curves, confusion matrices.

Every function draws on the axes that it is given (or on new ones) and returns what it has drawn.
Each also takes stored numbers, so that a figure can be made again without training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PathCollection
from matplotlib.contour import ContourSet
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.metrics import ConfusionMatrixDisplay

from kpegasos.history import History

#: Okabe and Ito's palette, told apart by the colour-blind too; class 0 first.
COLORS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#666666")
_MARKERS = "os^DvP"

_LABELS = {
    "epoch": "passes over the data",
    "suboptimality": "suboptimality f(w) − f*",
    "objective": "objective f(w)",
    "gap": "certified gap",
    "relative_gap": "certified relative gap",
}


class DecisionArtists(NamedTuple):
    """Regions; lines at −1, 0, 1 (two classes); points of each class; rings of support vectors."""

    regions: Collection
    lines: ContourSet | None
    points: list[PathCollection]
    support: PathCollection | None


class ConvergenceArtists(NamedTuple):
    """A curve and its band, which is None for a single run."""

    line: Line2D
    band: Collection | None


def _axes(ax: Axes | None) -> Axes:
    return plt.subplots()[1] if ax is None else ax


def plot_decision_boundary(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    ax: Axes | None = None,
    *,
    support: ArrayLike | None = None,
    grid_resolution: int = 200,
    pad: float = 0.2,
) -> DecisionArtists:
    """Plot the decision regions of a fitted classifier of points in the plane.

    Parameters
    ----------
    estimator : object
        A fitted classifier with ``predict``, and ``decision_function`` in the case of two classes.
    X : array-like or DataFrame of shape (n_samples, 2)
        Points to show; with two feature names they become the labels of the axes.
    y : array-like of shape (n_samples,)
    ax : Axes, default=None
    support : array-like of int, default=None
        Rows of ``X`` to ring; the estimator's ``support_vectors_``, if it has any, if None.
    grid_resolution : int, default=200
        Grid points along each axis.
    pad : float, default=0.2
        How far the plot extends beyond the points.

    Returns
    -------
    DecisionArtists

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kpegasos import PegasosSVC
    >>> from kpegasos.plotting import plot_decision_boundary
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> artists = plot_decision_boundary(PegasosSVC(random_state=0).fit(X, y), X, y)
    >>> artists.lines.levels.tolist()
    [-1.0, 0.0, 1.0]
    """
    classes = np.asarray(estimator.classes_)
    points = np.asarray(X, dtype=float)
    display = DecisionBoundaryDisplay.from_estimator(
        estimator,
        X,
        response_method="decision_function" if classes.size == 2 else "predict",
        grid_resolution=grid_resolution,
        eps=pad,
        ax=_axes(ax),
        **_region_style(classes.size),
    )
    rings = getattr(estimator, "support_vectors_", np.empty((0, 2)))
    rings = rings.toarray() if hasattr(rings, "toarray") else rings
    if support is not None:
        rings = points[np.asarray(support, dtype=int)]
    return _complete(display, points, np.asarray(y), classes, rings)


def plot_decision_grid(
    xx: ArrayLike,
    yy: ArrayLike,
    values: ArrayLike,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    support: ArrayLike | None = None,
    ax: Axes | None = None,
    *,
    classes: Sequence[Any] | None = None,
) -> DecisionArtists:
    """Plot decision regions from stored values on a grid.

    Parameters
    ----------
    xx, yy : array-like of shape (n_x,) and (n_y,)
        Coordinates of the grid.
    values : array-like of shape (n_y, n_x)
        Decision values, positive for the second class; with more than two classes, the number of
        the predicted class, from 0.
    X : array-like of shape (n_samples, 2), default=None
        Points to show.
    y : array-like of shape (n_samples,), default=None
    support : array-like of int, default=None
        Rows of ``X`` to ring.
    ax : Axes, default=None
    classes : sequence, default=None
        All class labels in ascending order; those of ``y`` if None, two classes without ``y``.

    Returns
    -------
    DecisionArtists
    """
    points = np.empty((0, 2)) if X is None else np.asarray(X, dtype=float)
    labels = np.empty(0) if y is None else np.asarray(y)
    names = ([0, 1] if y is None else np.unique(labels)) if classes is None else classes
    grid = np.asarray(values, dtype=float)
    xs, ys = np.meshgrid(np.asarray(xx, dtype=float), np.asarray(yy, dtype=float))
    if grid.shape != xs.shape:
        raise ValueError(f"values must have shape (n_y, n_x) = {xs.shape}, got {grid.shape}")
    style = _region_style(len(names))
    colors = style.pop("multiclass_colors", None)
    display = DecisionBoundaryDisplay(
        xx0=xs, xx1=ys, n_classes=len(names), response=grid, multiclass_colors=colors
    )
    display.plot(ax=_axes(ax), **style)
    rings = points[np.asarray([] if support is None else support, dtype=int)]
    return _complete(display, points, labels, np.asarray(names), rings)


def _color(number: int) -> str:
    return COLORS[number % len(COLORS)]


def _region_style(n_classes: int) -> dict[str, Any]:
    if n_classes == 2:
        halves = {"levels": [-np.inf, 0.0, np.inf], "colors": COLORS[:2]}
        return {"plot_method": "contourf", "alpha": 0.25, **halves}
    # Cells and not contours: between classes 0 and 2 a contour would draw a strip of class 1.
    return {
        "plot_method": "pcolormesh",
        "multiclass_colors": [_color(number) for number in range(n_classes)],
        "vmin": -0.5,
        "vmax": n_classes - 0.5,
        "alpha": 0.25,
        "rasterized": True,
    }


def _complete(
    display: Any, points: np.ndarray, labels: np.ndarray, classes: np.ndarray, rings: np.ndarray
) -> DecisionArtists:
    """Add lines, points and rings to the regions."""
    ax, lines, support = display.ax_, None, None
    if classes.size == 2:
        grid = display.xx0, display.xx1, display.response
        style = {"linestyles": ["dashed", "solid", "dashed"], "linewidths": [0.9, 1.6, 0.9]}
        lines = ax.contour(*grid, levels=[-1.0, 0.0, 1.0], colors="black", **style)
    dots = {"s": 14, "edgecolors": "white", "linewidths": 0.3, "zorder": 2.5}
    scatters = []
    for number, label in enumerate(classes if len(points) else []):
        look = {"color": _color(number), "marker": _MARKERS[number % len(_MARKERS)]}
        scatters.append(ax.scatter(*points[labels == label].T, label=str(label), **look, **dots))
    if len(rings):
        circles = {"s": 36, "facecolors": "none", "edgecolors": "black", "linewidths": 0.6}
        support = ax.scatter(*np.asarray(rings).T, label="support vectors", zorder=2.6, **circles)
    ax.axis((display.xx0.min(), display.xx0.max(), display.xx1.min(), display.xx1.max()))
    return DecisionArtists(display.surface_, lines, scatters, support)


def plot_convergence(
    runs: History | Mapping[str, ArrayLike] | Sequence[History | Mapping[str, ArrayLike]],
    ax: Axes | None = None,
    *,
    x: str = "iteration",
    y: str = "suboptimality",
    optimum: float | None = None,
    band: tuple[float, float] = (20.0, 80.0),
    label: str | None = None,
    **line_style: Any,
) -> ConvergenceArtists:
    """Plot the median of several runs and the band between two percentiles, on log axes.

    Parameters
    ----------
    runs : History, mapping of columns, or sequence of these
        One a seed, all with the same checkpoints; the columns of a mapping may also hold several
        runs, as arrays of shape (n_runs, n_checkpoints).
    ax : Axes, default=None
    x : {"iteration", "epoch", "seconds", "kernel_evaluations"}, default="iteration"
        Column along the horizontal axis; where runs differ (in seconds), their median.
    y : str, default="suboptimality"
        A column of `History`, or ``"suboptimality"`` or ``"suboptimality_last"``: the objective of
        the returned or of the last iterate minus ``optimum``. What is not positive is left out.
    optimum : float, default=None
        Smallest value of the objective.
    band : (float, float), default=(20, 80)
        Percentiles.
    label : str, default=None
        Name of the curve in a legend.
    **line_style
        Passed on to ``Axes.plot``.

    Returns
    -------
    ConvergenceArtists
    """
    ax = _axes(ax)
    if y.startswith("suboptimality"):
        if optimum is None:
            raise ValueError(f"optimum must be given for y={y!r}")
        column = "objective_last" if y == "suboptimality_last" else "objective_average"
        values = _column(runs, column) - optimum
    else:
        values = _column(runs, y)
    positions = np.median(_column(runs, x), axis=0)
    low, median, high = np.percentile(values, [band[0], 50.0, band[1]], axis=0)
    shown = np.where(median > 0, median, np.nan)
    (line,) = ax.plot(positions, shown, label=label, **line_style)
    area = None
    if len(values) > 1:
        area = ax.fill_between(
            positions, low, high, where=low > 0, color=line.get_color(), alpha=0.2, linewidth=0
        )
    names = (x, y.removesuffix("_average").removesuffix("_last"))
    xlabel, ylabel = (_LABELS.get(name, name.replace("_", " ")) for name in names)
    ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    return ConvergenceArtists(line, area)


def _column(runs: Any, name: str) -> np.ndarray:
    """Give one column of all runs, of shape (n_runs, n_checkpoints)."""
    if isinstance(runs, History | Mapping):
        return np.atleast_2d(np.asarray(runs[name], dtype=float))
    rows = [np.asarray(run[name], dtype=float) for run in runs]
    sizes = [len(row) for row in rows]
    if len(set(sizes)) != 1:
        raise ValueError(f"runs must all have the same checkpoints, got {sizes} of them")
    return np.array(rows)


def plot_confusion(
    matrix: ArrayLike, labels: Sequence[Any], ax: Axes | None = None
) -> ConfusionMatrixDisplay:
    """Plot a confusion matrix.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        Counts; rows are the true classes.
    labels : sequence of length n_classes
        Names of the classes.
    ax : Axes, default=None

    Returns
    -------
    ConfusionMatrixDisplay
    """
    display = ConfusionMatrixDisplay(np.asarray(matrix), display_labels=list(labels))
    display.plot(ax=_axes(ax), cmap="Blues", colorbar=False, values_format=".4g")
    if max(len(str(label)) for label in labels) > 3:
        for tick in display.ax_.get_xticklabels():
            tick.set(rotation=45, ha="right", rotation_mode="anchor")
    return display
