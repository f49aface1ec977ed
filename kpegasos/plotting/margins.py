"""Histograms of the margins y f(x)."""

from __future__ import annotations

import copy
from numbers import Integral
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from kpegasos.plotting import checks
from kpegasos.plotting.fitted import check_classifier, pair_number, two_classes
from kpegasos.plotting.style import AxesDisplay, class_name, color_of
from kpegasos.utils.validation import as_integer, is_number, shown


class MarginHistogramDisplay(AxesDisplay):
    """Histogram of the margins y f(x), with the shares of examples below 0 and below 1.

    Below 0 an example is misclassified; below 1 its hinge loss is positive.

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
        Margin y f(x) of each example.
    y : array-like of shape (n_samples,)
        Class of each example.

    Attributes
    ----------
    bars_ : list of BarContainer
        Stacked bars of each class.
    lines_ : list of Line2D
        The lines at 0 and at 1.
    legend_ : Legend or None
        The legend beside the axes; None if there is none.
    ax_ : Axes
        The axes that the histogram was drawn on.
    figure_ : Figure
        The figure of these axes.

    Raises
    ------
    ValueError
        If there is not one finite margin for each label.

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

    def __init__(self, *, margins: ArrayLike, y: ArrayLike) -> None:
        self.margins = checks.numbers("margins", margins)
        self.y = checks.labels("y", y)
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
            Fitted classifier with ``decision_function``; with more than two classes, a one-vs-one
            classifier with ``decision_function_shape``.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Examples whose margins to show.
        y : array-like of shape (n_samples,)
            Class of each example.
        pair : tuple of two class labels, default=None
            Pair of classes whose examples to show; needed with more than two classes.
        ax : Axes, default=None
            Axes to draw on; those of a new figure if None.
        **plot_options
            Options of `plot`.

        Returns
        -------
        MarginHistogramDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the estimator does not have this pair of classes.
        """
        check_classifier(estimator, "decision_function")
        number = pair_number(estimator.classes_, pair)
        labels = checks.labels("y", y)
        if len(estimator.classes_) == 2:
            decisions = estimator.decision_function(X)
        else:
            of_pairs = getattr(estimator, "_decisions_of_pairs", None)
            if of_pairs is None:
                voters = copy.copy(estimator)  # whose parameter can be set
                voters.decision_function_shape = "ovo"
                of_pairs = voters.decision_function
            kept = np.isin(labels, list(pair or ()))
            labels = labels[kept]
            X = X[kept] if not hasattr(X, "iloc") else X.iloc[kept]
            # With more than two classes, a positive decision is for the first of a pair.
            decisions = -of_pairs(X)[:, number]
        return cls.from_predictions(labels, decisions, ax=ax, **plot_options)

    @classmethod
    def from_predictions(
        cls, y: ArrayLike, decisions: ArrayLike, *, ax: Axes | None = None, **plot_options: Any
    ) -> MarginHistogramDisplay:
        """Draw the margins that follow from decision values.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Class of each example, one of two.
        decisions : array-like of shape (n_samples,)
            Decision values, positive for the second class in ascending order.
        ax : Axes, default=None
            Axes to draw on; those of a new figure if None.
        **plot_options
            Options of `plot`.

        Returns
        -------
        MarginHistogramDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If there are not two classes, or not one finite decision value for each label.
        """
        labels = checks.labels("y", y)
        _, second = two_classes(labels)
        values = checks.numbers("decisions", decisions)
        if values.shape != labels.shape:
            raise ValueError(f"decisions must have shape {labels.shape} like y, got {values.shape}")
        display = cls(margins=np.where(labels == second, values, -values), y=labels)
        return display.plot(ax, **plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        bins: Any = "auto",
        legend: bool = True,
        **bar_style: Any,
    ) -> MarginHistogramDisplay:
        """Draw the histogram.

        Parameters
        ----------
        ax : Axes, default=None
            Axes to draw on; those of a new figure if None.
        bins : int, sequence or str, default="auto"
            Bins as `numpy.histogram_bin_edges` takes them.
        legend : bool, default=True
            Whether to add a legend, to the right of the axes and so never over the bars.
        **bar_style
            Options of ``Axes.hist``.

        Returns
        -------
        MarginHistogramDisplay
            This display.
        """
        edges = _edges(self.margins, bins)
        ax = self._take_axes(ax)
        classes = np.unique(self.y)
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
        self._add_legend(legend, handles, [str(handle.get_label()) for handle in handles])
        return self


def _edges(margins: np.ndarray, bins: Any) -> np.ndarray:
    """Return the edges of the bins.

    Raises
    ------
    ValueError
        If `numpy.histogram_bin_edges` does not take them.
    """
    if is_number(bins, Integral):
        bins = as_integer("bins", bins, least=1, most=100_000)
    elif not isinstance(bins, str):
        bins = checks.finite("bins", bins, ndim=1)
    try:
        return np.histogram_bin_edges(margins, bins)
    except (TypeError, ValueError, OverflowError, MemoryError):
        raise ValueError(
            f"bins must be what numpy.histogram_bin_edges takes, got {shown(bins)} instead"
        ) from None
