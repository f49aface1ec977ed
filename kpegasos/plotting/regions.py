"""Decision regions in the plane, with margins, and rings round support vectors by their counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PathCollection
from matplotlib.contour import ContourSet
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike
from sklearn.inspection import DecisionBoundaryDisplay

from kpegasos.plotting import checks
from kpegasos.plotting.fitted import check_classifier, support_of
from kpegasos.plotting.style import AxesDisplay, class_name, color_of, marker_of
from kpegasos.utils.validation import as_number, optional

_RING: dict[str, Any] = {
    "facecolors": "none",
    "edgecolors": "black",
    "linewidths": 0.6,
    "zorder": 2.6,
}
_RING_MARKER: dict[str, Any] = {
    "marker": "o",
    "markerfacecolor": "none",
    "markeredgecolor": "black",
    "markeredgewidth": 0.6,
    "linestyle": "none",
}
#: Areas in points²: of a ring without a count, of the smallest and of the largest count.
_AREA, _MIN_AREA, _MAX_AREA = 36.0, 20.0, 220.0


def draw_rings(
    ax: Axes, vectors: np.ndarray, counts: np.ndarray | None, max_count: float | None
) -> PathCollection | None:
    """Draw a ring round each support vector; return None if there are none."""
    if not len(vectors):
        return None
    x, y = vectors.T
    areas = _AREA if counts is None else _areas(counts, _top(counts, max_count))
    return ax.scatter(x, y, s=areas, label="support vector", **_RING)


def ring_entries(
    rings: PathCollection | None, counts: np.ndarray | None, max_count: float | None
) -> tuple[list[Artist], list[str]]:
    """Return entries of a legend: the rings, or those of the smallest and the largest count."""
    if rings is None:
        return [], []
    if counts is None:
        return [rings], [str(rings.get_label())]
    ends = np.unique([counts.min(), counts.max()])
    texts = [f"{end:,}" if ends.dtype.kind in "iu" else f"{end:.2g}" for end in ends]
    areas = _areas(ends, _top(counts, max_count))
    by_text = dict(zip(texts, areas, strict=True))  # two ends may read alike
    # The marker of a line is as wide as the ring of the same area.
    handles: list[Artist] = [
        Line2D([], [], markersize=np.sqrt(area), **_RING_MARKER) for area in by_text.values()
    ]
    return handles, [f"support vector, α = {text}" for text in by_text]


def _top(counts: np.ndarray, max_count: float | None) -> float:
    """Return the count of the largest ring."""
    return float(counts.max()) if max_count is None else max_count


def _areas(counts: np.ndarray, top: float) -> np.ndarray:
    share = np.asarray(counts, dtype=float) / (top or 1.0)
    return np.asarray(_MIN_AREA + (_MAX_AREA - _MIN_AREA) * share)


#: Square points; more than any figure has.
_LARGEST_POINT = 1e6
_LINES: dict[str, Any] = {
    "levels": [-1.0, 0.0, 1.0],
    "colors": "black",
    "linestyles": ["dashed", "solid", "dashed"],
    "linewidths": [0.9, 1.6, 0.9],
}
_DOT: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.3, "zorder": 2.5}


# Long, since more than half of it are docstrings of its four public methods.
class DecisionRegionDisplay(AxesDisplay):
    """Decision regions, the lines f(x) = −1, 0, 1, the examples and the support vectors.

    The ring round a support vector grows with its count: its area beyond that of the smallest ring
    is proportional to how often the example was drawn while violating the margin.

    Parameters
    ----------
    xx, yy : array-like of shape (n_x,) and (n_y,)
        Coordinates of the grid.
    values : array-like of shape (n_y, n_x)
        Decision values, positive for the second class; with more than two classes, the number of
        the predicted class, from 0.
    X : array-like of shape (n_samples, 2), default=None
        Examples to show.
    y : array-like of shape (n_samples,), default=None
        Class of each example; needed with ``X``.
    support_vectors : array-like of shape (n_support_vectors, 2), default=None
        Points to put rings round.
    counts : array-like of shape (n_support_vectors,), default=None
        Count of each support vector, which its ring grows with; all rings are alike if None.
    classes : sequence, default=None
        All class labels in ascending order; those of ``y`` if None, two classes without ``y``.
    xlabel, ylabel : str, default=""
        Names of the features.

    Attributes
    ----------
    surface_ : Collection
        The regions.
    lines_ : ContourSet or None
        The lines f(x) = −1, 0, 1; None with more than two classes.
    points_ : list of PathCollection
        The examples of each class.
    support_ : PathCollection or None
        The rings round the support vectors; None if there are none.
    legend_ : Legend or None
        The legend beside the axes; None if there is none.
    ax_ : Axes
        The axes that the regions were drawn on.
    figure_ : Figure
        The figure of these axes.

    Raises
    ------
    ValueError
        If shapes do not fit together, or a count is negative.

    See Also
    --------
    DecisionRegionDisplay.from_estimator : From a fitted classifier.
    DecisionRegionDisplay.from_predictions : From stored decision values.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import make_moons
    >>> from kpegasos import PegasosSVC
    >>> from kpegasos.plotting import DecisionRegionDisplay
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = PegasosSVC(random_state=0).fit(X, y)
    >>> display = DecisionRegionDisplay.from_estimator(model, X, y, ax=Figure().subplots())
    >>> display.lines_.levels.tolist()
    [-1.0, 0.0, 1.0]
    """

    surface_: Collection
    lines_: ContourSet | None
    points_: list[PathCollection]
    support_: PathCollection | None

    def __init__(
        self,
        *,
        xx: ArrayLike,
        yy: ArrayLike,
        values: ArrayLike,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        support_vectors: ArrayLike | None = None,
        counts: ArrayLike | None = None,
        classes: Sequence[Any] | np.ndarray | None = None,
        xlabel: str = "",
        ylabel: str = "",
    ) -> None:
        self.xx = checks.finite("xx", xx, ndim=1)
        self.yy = checks.finite("yy", yy, ndim=1)
        self.values = checks.finite("values", values, ndim=2)
        self.X = checks.points("X", X)
        self.y = np.empty(0) if y is None else checks.labels("y", y)
        self.support_vectors = checks.points("support_vectors", support_vectors)
        self.counts = _checked_counts(counts, len(self.support_vectors))
        if classes is None:
            classes = [0, 1] if y is None else np.unique(self.y)
        self.classes = checks.labels("classes", classes)
        self.xlabel = xlabel
        self.ylabel = ylabel
        expected = (self.yy.size, self.xx.size)
        if self.values.shape != expected:
            raise ValueError(
                f"values must have the shape of yy and xx, (n_y, n_x) = {expected}, "
                f"got {self.values.shape}"
            )
        if self.y.shape != (len(self.X),):
            raise ValueError(
                f"y must have a label for each of the {len(self.X)} rows of X, "
                f"got shape {self.y.shape}"
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        support: ArrayLike | None = None,
        grid_resolution: int = 200,
        eps: float = 0.2,
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> DecisionRegionDisplay:
        """Draw the regions of a fitted classifier of points in the plane.

        Parameters
        ----------
        estimator : object
            Fitted classifier with ``predict``; with two classes, also ``decision_function``.
        X : array-like or DataFrame of shape (n_samples, 2)
            Examples to show; the names of its features become the labels of the axes.
        y : array-like of shape (n_samples,)
            Class of each example.
        support : array-like of int, default=None
            Rows of ``X``, the training examples, to put rings round; if None, the estimator's
            ``support_vectors_``, if it has any.
        grid_resolution : int, default=200
            Number of grid points along each axis.
        eps : float, default=0.2
            Distance by which the grid extends beyond the examples.
        ax : Axes, default=None
            Axes to draw on; those of a new figure if None.
        **plot_options
            Options of `plot`.

        Returns
        -------
        DecisionRegionDisplay
            The display, drawn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If ``X`` does not have two features, or ``y`` not as many labels as ``X`` rows.
        """
        check_classifier(estimator, "predict")
        points = checks.points("X", X)
        grid = _grid_of(
            estimator,
            X if hasattr(X, "iloc") else points,
            grid_resolution=checks.resolution(grid_resolution),
            eps=as_number("eps", eps, least=0.0),
        )
        vectors, counts = support_of(estimator, points, support)
        rings: dict[str, Any] = {"support_vectors": vectors, "counts": counts}
        display = cls(X=points, y=y, classes=estimator.classes_, **rings, **grid)
        return display.plot(ax, **plot_options)

    @classmethod
    def from_predictions(
        cls,
        xx: ArrayLike,
        yy: ArrayLike,
        values: ArrayLike,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        support: ArrayLike | None = None,
        counts: ArrayLike | None = None,
        classes: Sequence[Any] | np.ndarray | None = None,
        xlabel: str = "",
        ylabel: str = "",
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> DecisionRegionDisplay:
        """Draw regions from stored values on a grid.

        Parameters
        ----------
        xx, yy : array-like of shape (n_x,) and (n_y,)
            Coordinates of the grid.
        values : array-like of shape (n_y, n_x)
            Decision values, positive for the second class; with more than two classes, the number
            of the predicted class, from 0.
        X, y : array-like of shape (n_samples, 2) and (n_samples,), default=None
            Examples to show, and their classes.
        support : array-like of int of shape (n_support_vectors,), default=None
            Rows of ``X`` to put rings round.
        counts : array-like of shape (n_support_vectors,), default=None
            Count of each support vector, which its ring grows with; all rings are alike if None.
        classes : sequence, default=None
            All class labels in ascending order; those of ``y`` if None, two classes without ``y``.
        xlabel, ylabel : str, default=""
            Names of the features.
        ax : Axes, default=None
            Axes to draw on; those of a new figure if None.
        **plot_options
            Options of `plot`.

        Returns
        -------
        DecisionRegionDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If shapes do not fit together, or a count is negative.
        """
        points = checks.points("X", X)
        vectors = points[checks.indices("support", [] if support is None else support, len(points))]
        names: dict[str, Any] = {"classes": classes, "xlabel": xlabel, "ylabel": ylabel}
        display = cls(
            xx=xx, yy=yy, values=values, X=X, y=y, support_vectors=vectors, counts=counts, **names
        )
        return display.plot(ax, **plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        legend: bool = True,
        max_count: float | None = None,
        point_size: float = 14.0,
    ) -> DecisionRegionDisplay:
        """Draw regions, lines, examples and rings.

        Parameters
        ----------
        ax : Axes, default=None
            Axes to draw on; those of a new figure if None.
        legend : bool, default=True
            Whether to add a legend, to the right of the axes and so never over the data.
        max_count : float, default=None
            Count of the largest ring, the same for figures to be compared; the largest of
            ``counts`` if None.
        point_size : float, default=14
            Area of an example's marker in points².

        Returns
        -------
        DecisionRegionDisplay
            This display.
        """
        point_size = as_number("point_size", point_size, least=0.0, most=_LARGEST_POINT)
        max_count = optional(as_number, "max_count", max_count, least=0.0)
        ax = self._take_axes(ax)
        self._draw_regions()
        self.points_ = []
        for number, label in enumerate(self.classes if len(self.X) else []):
            x, y = self.X[self.y == label].T
            look = {"color": color_of(number), "marker": marker_of(number), "s": point_size, **_DOT}
            self.points_.append(ax.scatter(x, y, label=class_name(label), **look))
        self._max_count = max_count
        self.support_ = draw_rings(ax, self.support_vectors, self.counts, max_count)
        ax.axis((self.xx.min(), self.xx.max(), self.yy.min(), self.yy.max()))
        self._add_legend(legend, *self.legend_entries())
        return self

    def legend_entries(self) -> tuple[list[Artist], list[str]]:
        """Entries of the legend, for one that serves a whole figure.

        Returns
        -------
        handles : list of Artist
            Artists that the legend explains.
        labels : list of str
            Texts beside the artists.

        Raises
        ------
        AttributeError
            If called before `plot`.
        """
        handles: list[Artist] = [*self.points_]
        labels = [str(handle.get_label()) for handle in handles]
        rings, texts = ring_entries(self.support_, self.counts, self._max_count)
        handles, labels = handles + rings, labels + texts
        if self.lines_ is not None:
            handles += [Line2D([], [], color="black"), Line2D([], [], color="black", ls="dashed")]
            labels += ["f(x) = 0", "f(x) = ±1"]
        return handles, labels

    def _draw_regions(self) -> None:
        """Draw the regions, and with two classes the lines."""
        n_classes = self.classes.size
        style = _region_style(n_classes)
        xx, yy = np.meshgrid(self.xx, self.yy)
        boundary = DecisionBoundaryDisplay(
            xx0=xx,
            xx1=yy,
            n_classes=n_classes,
            response=self.values,
            multiclass_colors=style.pop("multiclass_colors", None),
            xlabel=self.xlabel,
            ylabel=self.ylabel,
        )
        self.surface_ = boundary.plot(ax=self.ax_, **style).surface_
        self.lines_ = None
        if n_classes == 2:
            self.lines_ = self.ax_.contour(xx, yy, self.values, **_LINES)


class _Probe(DecisionBoundaryDisplay):
    """Grid and response as scikit-learn makes them, not drawn."""

    def plot(self, *_: Any, **__: Any) -> _Probe:
        return self


def _grid_of(estimator: Any, X: Any, **options: Any) -> dict[str, Any]:
    """Return the grid, the values on it and the names of the features, data frames included."""
    response = "decision_function" if len(estimator.classes_) == 2 else "predict"
    probe = _Probe.from_estimator(estimator, X, response_method=response, **options)
    grid = {"xx": probe.xx0[0], "yy": probe.xx1[:, 0], "values": probe.response}
    return {**grid, "xlabel": probe.xlabel, "ylabel": probe.ylabel}


def _checked_counts(counts: ArrayLike | None, n_vectors: int) -> np.ndarray | None:
    """Return counts as an array of one count for each support vector."""
    if counts is None:
        return None
    checks.numbers("counts", counts)
    checked = np.asarray(counts)
    if checked.shape != (n_vectors,):
        raise ValueError(
            f"counts must have an entry for each of the {n_vectors} support vectors, "
            f"got shape {checked.shape}"
        )
    if checked.size and not checked.min() >= 0:
        raise ValueError(f"counts must not be negative, got {checked.min()}")
    return checked


def _region_style(n_classes: int) -> dict[str, Any]:
    if n_classes == 2:
        halves = {"levels": [-np.inf, 0.0, np.inf], "colors": [color_of(0), color_of(1)]}
        return {"plot_method": "contourf", "alpha": 0.25, **halves}
    # Cells and not contours: between classes 0 and 2 a contour would draw a strip of class 1.
    return {
        "plot_method": "pcolormesh",
        "multiclass_colors": [color_of(number) for number in range(n_classes)],
        "vmin": -0.5,
        "vmax": n_classes - 0.5,
        "alpha": 0.25,
        "rasterized": True,
    }
