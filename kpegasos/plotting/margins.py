"""Histograms of the margins y f(x)."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from kpegasos.plotting.convergence import pair_number
from kpegasos.plotting.style import BESIDE, axes_or_new, class_name, color_of


class MarginHistogramDisplay:
    """How many examples have which margin y f(x), and the shares below 0 and below 1.

    Below 0 an example is misclassified; below 1 it has a hinge loss.

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
    y : array-like of shape (n_samples,)
        Classes of the examples.

    Attributes
    ----------
    bars_ : list of BarContainer
        Stacked bars of each class.
    lines_ : list of Line2D
        The lines at 0 and at 1.
    legend_ : Legend or None
    ax_ : Axes
    figure_ : Figure

    Raises
    ------
    ValueError
        If there is not a finite margin for each label.

    See Also
    --------
    MarginHistogramDisplay.from_estimator : From a fitted classifier.
    MarginHistogramDisplay.from_predictions : From decision values.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from kpegasos.plotting import MarginHistogramDisplay
    >>> display = MarginHistogramDisplay.from_predictions(
    ...     ["a", "a", "b", "b"], [-2.0, 0.5, 0.5, 1.0], ax=Figure().subplots()
    ... )
    >>> display.margins
    array([ 2. , -0.5,  0.5,  1. ])
    >>> [line.get_label() for line in display.lines_]
    ['margin 0: 25.0% below', 'margin 1: 50.0% below']
    """

    bars_: list[BarContainer]
    lines_: list[Line2D]
    legend_: Legend | None
    ax_: Axes
    figure_: Figure

    def __init__(self, *, margins: ArrayLike, y: ArrayLike) -> None:
        self.margins = np.asarray(margins, dtype=float)
        self.y = np.asarray(y)
        if self.margins.ndim != 1 or self.margins.shape != self.y.shape or not self.y.size:
            raise ValueError(
                f"margins must have an entry for each of the {self.y.size} labels, "
                f"got shape {self.margins.shape}"
            )
        if not np.isfinite(self.margins).all():
            number = int((~np.isfinite(self.margins)).sum())
            raise ValueError(f"margins must be finite, got {number} that are not")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        pair: tuple[Any, Any] | None = None,
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> MarginHistogramDisplay:
        """Draw the margins of examples under a fitted classifier.

        Parameters
        ----------
        estimator : object
            A fitted classifier with ``decision_function``; of several classes, one-vs-one with
            ``decision_function_shape``.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        pair : tuple of two class labels, default=None
            Whose examples to show; needed with more than two classes.
        ax : Axes, default=None
        **plot_options
            Passed on to `plot`.

        Returns
        -------
        MarginHistogramDisplay

        Raises
        ------
        ValueError
            If the estimator has not this pair of classes.
        """
        number = pair_number(estimator.classes_, pair)
        labels = np.asarray(y)
        if len(estimator.classes_) == 2:
            decisions = estimator.decision_function(X)
        else:
            voters = copy.copy(estimator)  # the estimator itself keeps its parameters
            voters.decision_function_shape = "ovo"
            kept = np.isin(labels, list(pair or ()))
            labels = labels[kept]
            X = X[kept] if not hasattr(X, "iloc") else X.iloc[kept]
            # Of several classes, a positive decision is for the first.
            decisions = -voters.decision_function(X)[:, number]
        return cls.from_predictions(labels, decisions, ax=ax, **plot_options)

    @classmethod
    def from_predictions(
        cls, y: ArrayLike, decisions: ArrayLike, *, ax: Axes | None = None, **plot_options: Any
    ) -> MarginHistogramDisplay:
        """Draw the margins that decision values make.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels of two classes.
        decisions : array-like of shape (n_samples,)
            Decision values, positive for the second class in ascending order.
        ax : Axes, default=None
        **plot_options
            Passed on to `plot`.

        Returns
        -------
        MarginHistogramDisplay

        Raises
        ------
        ValueError
            If there are not two classes and a finite decision for each label.
        """
        labels = np.asarray(y)
        classes = np.unique(labels)
        if classes.size != 2:
            raise ValueError(f"y must hold labels of two classes, got {classes.tolist()}")
        values = np.asarray(decisions, dtype=float)
        if values.shape != labels.shape:
            raise ValueError(f"decisions must have shape {labels.shape} like y, got {values.shape}")
        display = cls(margins=np.where(labels == classes[1], values, -values), y=labels)
        return display.plot(ax, **plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        bins: Any = "auto",
        legend: bool = True,
        **bar_style: Any,
    ) -> MarginHistogramDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes, default=None
        bins : int, sequence or str, default="auto"
            As in `numpy.histogram_bin_edges`.
        legend : bool, default=True
            Whether to add a legend, to the right of the axes and so never over the bars.
        **bar_style
            Passed on to ``Axes.hist``.

        Returns
        -------
        self
        """
        ax = self.ax_ = axes_or_new(ax)
        self.figure_ = ax.get_figure(root=True)  # type: ignore[assignment]
        classes = np.unique(self.y)
        edges = np.histogram_bin_edges(self.margins, bins)
        bars: Any
        _, _, bars = ax.hist(
            [self.margins[self.y == label] for label in classes],
            bins=edges.tolist(),
            color=[color_of(number) for number in range(classes.size)],
            **{"edgecolor": "white", "linewidth": 0.4, "stacked": True, **bar_style},
        )
        self.bars_ = list(bars) if classes.size > 1 else [bars]
        self.lines_ = []
        strokes: Any = ((0, "solid"), (1, "dashed"))
        for level, stroke in strokes:
            share = float(np.mean(self.margins < level))
            label = f"margin {level}: {share:.1%} below"
            self.lines_.append(ax.axvline(level, color="black", linestyle=stroke, label=label))
        ax.set(xlabel="margin y f(x)", ylabel="examples")
        for container, label in zip(self.bars_, classes, strict=True):
            container.set_label(class_name(label))
        handles: list[Any] = [*self.bars_, *self.lines_]
        self.legend_ = ax.legend(handles=handles, **BESIDE) if legend else None
        return self
