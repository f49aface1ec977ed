"""Decisions of a classifier in the plane: regions, margins, rings round support vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, Normalize, to_rgba_array
from matplotlib.image import NonUniformImage
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike
from sklearn.inspection import DecisionBoundaryDisplay

from kpegasos.plotting import checks
from kpegasos.plotting.style import AxesDisplay, class_name, color_of, ink, marker_of
from kpegasos.utils.validation import as_integer, as_number, optional, shown

_RING: dict[str, Any] = {"facecolors": "none", "linewidths": 0.6, "zorder": 2.6}
#: Share of a feature's range by which the grid extends beyond the examples.
_MARGIN = 0.08
#: Decision at which a colour is at its strongest, and its opacity at the boundary and there.
_FULL_DECISION, _OPACITY = 2.0, (0.08, 0.36)
_LINES: dict[str, Any] = {
    "levels": [-1.0, 0.0, 1.0],
    "linestyles": ["dashed", "solid", "dashed"],
    "linewidths": [0.9, 1.6, 0.9],
}


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
    support : array-like of int of shape (n_support_vectors,), default=None
        Rows of ``X`` to put rings round.
    support_vectors : array-like of shape (n_support_vectors, 2), default=None
        Points to put rings round, instead of rows of ``X``.
    counts : array-like of shape (n_support_vectors,), default=None
        Count of each support vector, which its ring grows with; all rings are alike if None.
    classes : sequence, default=None
        All class labels in ascending order; those of ``y`` if None, two classes without ``y``.
    xlabel, ylabel : str, default=""
        Names of the features.

    Attributes
    ----------
    surface_ : Artist
        The regions; with two classes the stronger in colour, the larger the decision.
    lines_ : ContourSet or None
        The lines f(x) = −1, 0, 1; None with more than two classes.
    points_ : list of PathCollection
        The examples of each class.
    support_ : PathCollection or None
        The rings round the support vectors; None if there are none.
    legend_ : Legend or None
        The legend in the axes; None if there is none.
    ax_ : Axes
        The axes that the regions were drawn on.
    figure_ : Figure
        The figure of these axes.

    Raises
    ------
    ValueError
        If shapes do not fit together, a count is negative, or a label of ``y`` is no class.

    See Also
    --------
    DecisionRegionDisplay.from_estimator : From a fitted classifier.

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

    def __init__(
        self,
        *,
        xx: ArrayLike,
        yy: ArrayLike,
        values: ArrayLike,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        support: ArrayLike | None = None,
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
        if support is not None:
            self.support_vectors = self.X[checks.indices("support", support, len(self.X))]
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
        if unknown := set(self.y.tolist()) - set(self.classes.tolist()):
            raise ValueError(f"y must be among {shown(self.classes)}, got {shown(unknown)}")
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
        eps: float | None = None,
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
        eps : float, default=None
            Distance by which the grid extends beyond the examples; if None, 8% of the range of each
            feature.
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
        checks.fitted_classifier(estimator)
        points = checks.examples("X", X)
        corners = _corners(points, optional(as_number, "eps", eps, least=0.0, most=1e100))
        grid = _grid_of(
            estimator,
            type(X)(corners, columns=X.columns) if hasattr(X, "iloc") else corners,
            as_integer("grid_resolution", grid_resolution, least=2, most=10_000),
        )
        vectors, counts = _support_of(estimator, points, support)
        names: dict[str, Any] = {"classes": estimator.classes_, **grid}
        display = cls(X=points, y=y, support_vectors=vectors, counts=counts, **names)
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
            Whether to add a legend, of what that of no other axes of the figure says already.
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
        point_size = as_number("point_size", point_size, least=0.0, most=1e6)
        max_count = optional(as_number, "max_count", max_count, least=1e-100)
        ax = self._take_axes(ax)
        self._draw_regions()
        self.points_ = []
        for k, label in enumerate(self.classes if len(self.X) else []):
            x, y = self.X[self.y == label].T
            look: dict[str, Any] = {"color": color_of(k), "marker": marker_of(k)}
            look |= {"edgecolors": plt.rcParams["axes.facecolor"], "linewidths": 0.3, "zorder": 2.5}
            self.points_.append(ax.scatter(x, y, s=point_size, label=class_name(label), **look))
        self._max_count = max_count
        self.support_ = None
        if len(self.support_vectors):
            x, y = self.support_vectors.T
            areas = 36.0 if self.counts is None else self._areas(self.counts)
            look = {"label": "support vector", "edgecolors": ink(), **_RING}
            self.support_ = ax.scatter(x, y, s=areas, **look)
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
        labels = [str(points.get_label()) for points in self.points_]
        if self.support_ is not None:
            least = 36.0 if self.counts is None else float(self._areas(self.counts.min()))
            handles.append(_ring(least))
            labels.append("support vector")
        if self.support_ is not None and self.counts is not None and np.ptp(self.counts):
            most = self.counts.max()
            handles.append(_ring(float(self._areas(most))))
            labels.append(f"α = {most:,}" if self.counts.dtype.kind in "iu" else f"α = {most:.2g}")
        if self.lines_ is not None:
            handles.append(Line2D([], [], color=ink(), linestyle="--"))
            labels.append("f(x) = ±1")
        return handles, labels

    def _areas(self, counts: ArrayLike) -> np.ndarray:
        """Return the areas of rings in points²: from 20 for a count of none to 220 for the top."""
        known = np.zeros(1) if self.counts is None else self.counts
        top = float(known.max()) if self._max_count is None else self._max_count
        return np.asarray(20.0 + 200.0 * np.asarray(counts, dtype=float) / (top or 1.0))

    def _draw_regions(self) -> None:
        """Draw the regions, and with two classes the lines."""
        n_classes, regions = self.classes.size, (self.xx, self.yy, self.values)
        colors = [color_of(k) for k in range(n_classes)]
        self.lines_ = None
        self.surface_: Artist
        if n_classes == 2:
            self.surface_ = self._shaded(colors)
            self.lines_ = self.ax_.contour(*regions, colors=ink(), **_LINES)
        else:
            # Between classes 0 and 2 a contour would draw a strip of class 1; cells do not.
            style: dict[str, Any] = {"cmap": ListedColormap(colors), "zorder": -1}
            style |= {"vmin": -0.5, "vmax": n_classes - 0.5, "alpha": 0.25, "rasterized": True}
            self.surface_ = self.ax_.pcolormesh(*regions, **style)
        self.ax_.set(xlabel=self.xlabel, ylabel=self.ylabel)

    def _shaded(self, colors: list[str]) -> NonUniformImage:
        """Draw the colour of each class, the stronger the larger the decision, as the page does."""
        sizes = np.linspace(-1.0, 1.0, 256)
        opacity = np.interp(np.abs(sizes), [0.0, 1.0], _OPACITY)
        shades = to_rgba_array([colors[int(size > 0)] for size in sizes], opacity)
        scale = Normalize(-_FULL_DECISION, _FULL_DECISION)
        style: dict[str, Any] = {"cmap": ListedColormap(shades), "norm": scale}
        style["extent"] = (self.xx.min(), self.xx.max(), self.yy.min(), self.yy.max())
        image = NonUniformImage(self.ax_, interpolation="bilinear", **style)
        along, up = np.argsort(self.xx), np.argsort(self.yy)
        image.set_data(self.xx[along], self.yy[up], self.values[np.ix_(up, along)])
        self.ax_.add_image(image)
        return image


def _ring(area: float) -> Line2D:
    """Return the entry of a legend for rings of an area: a marker is as wide as such a ring."""
    look: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": np.sqrt(area)}
    look |= {"markerfacecolor": "none", "markeredgecolor": ink(), "markeredgewidth": 0.6}
    return Line2D([], [], **look)


class _Probe(DecisionBoundaryDisplay):
    """Grid and response as scikit-learn makes them, not drawn."""

    def plot(self, *_: Any, **__: Any) -> _Probe:
        return self


def _corners(points: np.ndarray, eps: float | None) -> np.ndarray:
    """Return the lowest and the highest point of a grid round some points."""
    low, high = points.min(axis=0), points.max(axis=0)
    around: Any = eps
    if eps is None:
        around = np.where(
            high > low, _MARGIN * (high - low), np.maximum(1.0, _MARGIN * np.abs(low))
        )
    return np.stack([low - around, high + around])


def _grid_of(estimator: Any, corners: Any, grid_resolution: int) -> dict[str, Any]:
    """Return the grid, the values on it and the names of the features, data frames included."""
    response = "decision_function" if len(estimator.classes_) == 2 else "predict"
    options: Any = {"response_method": response, "grid_resolution": grid_resolution, "eps": 0.0}
    probe = _Probe.from_estimator(estimator, corners, **options)
    grid = {"xx": probe.xx0[0], "yy": probe.xx1[:, 0], "values": probe.response}
    return {**grid, "xlabel": probe.xlabel, "ylabel": probe.ylabel}


def _checked_counts(counts: ArrayLike | None, n_vectors: int) -> np.ndarray | None:
    """Return counts as an array of one count for each support vector."""
    if counts is None:
        return None
    checks.one_for_each("counts", counts, n_vectors, "support vectors")
    checked = np.asarray(counts)
    if checked.size and not checked.min() >= 0:
        raise ValueError(f"counts must not be negative, got {checked.min()}")
    return checked


def _support_of(
    estimator: Any, points: np.ndarray, support: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return support vectors and their counts, summed over all pairs of classes.

    The support vectors are the rows ``support`` of the points, or else the estimator's own.
    """
    counts = getattr(estimator, "alpha_", None)  # of each pair of classes, dense or sparse
    if counts is not None and counts.ndim > 1:
        counts = np.ravel(counts.sum(axis=0))
    if support is not None:
        rows = checks.indices("support", support, len(points))
        fits = counts is not None and counts.size == len(points)
        return points[rows], counts[rows] if fits and counts is not None else None
    vectors = _dense(getattr(estimator, "support_vectors_", np.empty((0, 2))))
    if not len(vectors):
        return vectors, None
    if counts is not None:
        of_support = counts[estimator.support_]
        # A polished model is not one of counts.
        return vectors, of_support if of_support.all() else None
    if hasattr(estimator, "dual_coef_"):  # of another package
        return vectors, np.abs(_dense(estimator.dual_coef_)).sum(axis=0)
    return vectors, None


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
