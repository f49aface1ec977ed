"""Decision regions in the plane, with margins and support vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PathCollection
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.utils.validation import check_is_fitted

from kpegasos.plotting.style import BESIDE, axes_or_new, class_name, color_of, marker_of

_LINES: dict[str, Any] = {
    "levels": [-1.0, 0.0, 1.0],
    "colors": "black",
    "linestyles": ["dashed", "solid", "dashed"],
    "linewidths": [0.9, 1.6, 0.9],
}
_DOT: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.3, "zorder": 2.5}
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


class DecisionRegionDisplay:
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
        Their classes; needed with ``X``.
    support_vectors : array-like of shape (n_support_vectors, 2), default=None
        Points to ring.
    counts : array-like of shape (n_support_vectors,), default=None
        Size of each ring; all rings are alike if None.
    classes : sequence, default=None
        All class labels in ascending order; those of ``y`` if None, two classes without ``y``.
    xlabel, ylabel : str, default=""
        Names of the features.

    Attributes
    ----------
    surface_ : Collection
        The regions.
    lines_ : ContourSet or None
        The lines at −1, 0 and 1; None with more than two classes.
    points_ : list of PathCollection
        The examples of each class.
    support_ : PathCollection or None
        The rings.
    legend_ : Legend or None
    ax_ : Axes
    figure_ : Figure

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
    legend_: Legend | None
    ax_: Axes
    figure_: Figure

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
        self.xx = np.asarray(xx, dtype=float)
        self.yy = np.asarray(yy, dtype=float)
        self.values = np.asarray(values, dtype=float)
        self.X = _points("X", X)
        self.y = np.empty(0) if y is None else np.asarray(y)
        self.support_vectors = _points("support_vectors", support_vectors)
        self.counts = None if counts is None else np.asarray(counts)
        if classes is None:
            classes = [0, 1] if y is None else np.unique(self.y)
        self.classes = np.asarray(classes)
        self.xlabel = xlabel
        self.ylabel = ylabel
        expected = (self.yy.size, self.xx.size)
        if self.values.shape != expected:
            raise ValueError(
                f"values must have shape (n_y, n_x) = {expected}, got {self.values.shape}"
            )
        if self.y.shape != (len(self.X),):
            raise ValueError(
                f"y must have a label for each of the {len(self.X)} rows of X, "
                f"got shape {self.y.shape}"
            )
        if self.counts is not None:
            if self.counts.shape != (len(self.support_vectors),):
                raise ValueError(
                    f"counts must have an entry for each of the {len(self.support_vectors)} "
                    f"support vectors, got shape {self.counts.shape}"
                )
            if self.counts.size and not self.counts.min() >= 0:
                raise ValueError(f"counts must not be negative, got {self.counts.min()}")

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
            A fitted classifier with ``predict``, and ``decision_function`` in the case of two
            classes.
        X : array-like or DataFrame of shape (n_samples, 2)
            Examples to show; the names of its features become the labels of the axes.
        y : array-like of shape (n_samples,)
        support : array-like of int, default=None
            Rows of ``X`` to ring, which then are the training examples; the estimator's
            ``support_vectors_``, if it has any, if None.
        grid_resolution : int, default=200
            Grid points along each axis.
        eps : float, default=0.2
            How far the grid extends beyond the examples.
        ax : Axes, default=None
        **plot_options
            Passed on to `plot`.

        Returns
        -------
        DecisionRegionDisplay

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If ``X`` has not two features, or ``y`` not as many labels.
        """
        check_is_fitted(estimator)
        # scikit-learn's display makes grid and response, data frames included; ours draws them.
        probe = _Probe.from_estimator(
            estimator,
            X,
            response_method="decision_function" if len(estimator.classes_) == 2 else "predict",
            grid_resolution=grid_resolution,
            eps=eps,
        )
        points = np.asarray(X, dtype=float)
        vectors, counts = _support(estimator, points, support)
        display = cls(
            xx=probe.xx0[0],
            yy=probe.xx1[:, 0],
            values=probe.response,
            X=points,
            y=y,
            support_vectors=vectors,
            counts=counts,
            classes=estimator.classes_,
            xlabel=probe.xlabel,
            ylabel=probe.ylabel,
        )
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
        X : array-like of shape (n_samples, 2), default=None
            Examples to show.
        y : array-like of shape (n_samples,), default=None
        support : array-like of int of shape (n_support_vectors,), default=None
            Rows of ``X`` to ring.
        counts : array-like of shape (n_support_vectors,), default=None
            Size of each ring.
        classes : sequence, default=None
            All class labels in ascending order; those of ``y`` if None, two classes without ``y``.
        xlabel, ylabel : str, default=""
        ax : Axes, default=None
        **plot_options
            Passed on to `plot`.

        Returns
        -------
        DecisionRegionDisplay

        Raises
        ------
        ValueError
            If shapes do not fit together, or a count is negative.
        """
        rows = np.asarray([] if support is None else support, dtype=int)
        display = cls(
            xx=xx,
            yy=yy,
            values=values,
            X=X,
            y=y,
            support_vectors=_points("X", X)[rows],
            counts=counts,
            classes=classes,
            xlabel=xlabel,
            ylabel=ylabel,
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
        """Draw.

        Parameters
        ----------
        ax : Axes, default=None
        legend : bool, default=True
            Whether to add a legend, to the right of the axes and so never over the data.
        max_count : float, default=None
            Count of the largest ring, the same for figures to be compared; the largest of
            ``counts`` if None.
        point_size : float, default=14
            Area of an example's marker in points².

        Returns
        -------
        self
        """
        ax = self.ax_ = axes_or_new(ax)
        self.figure_ = ax.get_figure(root=True)  # type: ignore[assignment]
        n_classes = self.classes.size
        style = _region_style(n_classes)
        grid = np.meshgrid(self.xx, self.yy)
        boundary = DecisionBoundaryDisplay(
            xx0=grid[0],
            xx1=grid[1],
            n_classes=n_classes,
            response=self.values,
            multiclass_colors=style.pop("multiclass_colors", None),
            xlabel=self.xlabel,
            ylabel=self.ylabel,
        )
        self.surface_ = boundary.plot(ax=ax, **style).surface_
        self.lines_ = None
        if n_classes == 2:
            self.lines_ = ax.contour(*grid, self.values, **_LINES)
        self.points_ = []
        for number, label in enumerate(self.classes if len(self.X) else []):
            x, y = self.X[self.y == label].T
            look = {"color": color_of(number), "marker": marker_of(number), "s": point_size, **_DOT}
            self.points_.append(ax.scatter(x, y, label=class_name(label), **look))
        self._max_count = max_count
        self.support_ = None
        if len(self.support_vectors):
            x, y = self.support_vectors.T
            areas = _AREA if self.counts is None else self._areas(self.counts)
            self.support_ = ax.scatter(x, y, s=areas, label="support vector", **_RING)
        ax.axis((self.xx.min(), self.xx.max(), self.yy.min(), self.yy.max()))
        self.legend_ = ax.legend(*self.legend_entries(), **BESIDE) if legend else None
        return self

    def legend_entries(self) -> tuple[list[Artist], list[str]]:
        """Entries of the legend, for one that serves a whole figure.

        Returns
        -------
        handles : list of Artist
        labels : list of str

        Raises
        ------
        AttributeError
            Before `plot`.
        """
        handles: list[Artist] = [*self.points_]
        if self.support_ is not None and self.counts is None:
            handles.append(self.support_)
        labels = [str(handle.get_label()) for handle in handles]
        if self.support_ is not None and self.counts is not None:
            for count, area in self._count_examples():
                # The marker of a line is as wide as the ring of the same area.
                handles.append(Line2D([], [], markersize=np.sqrt(area), **_RING_MARKER))
                labels.append(f"support vector, α = {count}")
        if self.lines_ is not None:
            handles += [Line2D([], [], color="black"), Line2D([], [], color="black", ls="dashed")]
            labels += ["f(x) = 0", "f(x) = ±1"]
        return handles, labels

    def _areas(self, counts: ArrayLike) -> np.ndarray:
        """Areas of rings."""
        assert self.counts is not None
        top = float(self.counts.max()) if self._max_count is None else self._max_count
        share = np.asarray(counts, dtype=float) / (top or 1.0)
        return np.asarray(_MIN_AREA + (_MAX_AREA - _MIN_AREA) * share)

    def _count_examples(self) -> list[tuple[str, float]]:
        """The smallest and the largest count, in words, and the areas of their rings."""
        assert self.counts is not None
        ends = np.unique([self.counts.min(), self.counts.max()])
        texts = [f"{end:,}" if ends.dtype.kind in "iu" else f"{end:.2g}" for end in ends]
        return list(dict(zip(texts, self._areas(ends).tolist(), strict=True)).items())


class _Probe(DecisionBoundaryDisplay):
    """Grid and response as scikit-learn makes them, not drawn."""

    def plot(self, *_: Any, **__: Any) -> _Probe:
        return self


def _points(name: str, value: ArrayLike | None) -> np.ndarray:
    """Points as an array of shape (n, 2)."""
    points = np.empty((0, 2)) if value is None else np.asarray(value, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"{name} must have shape (n, 2), got {points.shape}")
    return points


def _support(
    estimator: Any, points: np.ndarray, support: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Support vectors and their counts, of all pairs of classes together."""
    counts: Any = getattr(estimator, "alpha_", None)
    if counts is not None:
        counts = counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    if support is not None:
        rows = np.asarray(support, dtype=int)
        known = counts is not None and counts.size == len(points)
        return points[rows], counts[rows] if known else None
    vectors: Any = getattr(estimator, "support_vectors_", np.empty((0, 2)))
    vectors = vectors.toarray() if hasattr(vectors, "toarray") else vectors
    if not len(vectors):
        return vectors, None
    if counts is not None:
        counts = counts[estimator.support_]
    elif hasattr(estimator, "dual_coef_"):  # of another package
        coef = estimator.dual_coef_
        coef = coef.toarray() if hasattr(coef, "toarray") else coef
        counts = np.abs(coef).sum(axis=0)
    return vectors, counts


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
