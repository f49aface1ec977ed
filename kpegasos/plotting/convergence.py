"""Convergence curves of one or several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from kpegasos.plotting import checks
from kpegasos.plotting.style import (
    BLUE,
    GREEN,
    VERMILLION,
    AxesDisplay,
    ink,
    log_ticks,
    title_of,
)
from kpegasos.solvers.result import History
from kpegasos.utils.validation import as_choice, as_number, optional, shown

Columns = History | Mapping[str, ArrayLike]

_X_LABELS = {
    "iteration": "steps T",
    "epoch": "epochs",
    "seconds": title_of("seconds"),
    "kernel_evaluations": "kernel values",
}
VALUES = ("objective_last", "objective_average", "dual_bound")
#: Objectives of which suboptimality is what they have beyond the optimum.
_OBJECTIVES = {"suboptimality": "objective_average", "suboptimality_last": "objective_last"}
_EXCESSES = (*_OBJECTIVES, "gap")
#: Name in the legend and colour of a curve.
_LOOKS = {
    "objective_last": ("last iterate", VERMILLION),
    "objective_average": ("averaged iterate", BLUE),
    "dual_bound": ("dual bound", GREEN),
    "suboptimality_last": ("last iterate", VERMILLION),
    "suboptimality": ("averaged iterate", BLUE),
    "gap": (title_of("gap"), GREEN),
}
#: Percentiles over the runs between which the band lies, with the median between.
_BAND = (20.0, 50.0, 80.0)


# Long, since more than half of it are docstrings of its four public methods.
class ConvergenceDisplay(AxesDisplay):
    """Objective, dual bound, gap or any other column of histories, on logarithmic axes.

    Several runs are shown by their median and the band between the 20th and the 80th percentile.
    Values that are not positive are left out.

    Parameters
    ----------
    runs : History, mapping of str to array-like, or sequence of these
        One run for each seed, all with the same checkpoints; the columns of a mapping may also hold
        several runs, as arrays of shape (n_runs, n_checkpoints).
    x : {"iteration", "epoch", "seconds", "kernel_evaluations"}, default="iteration"
        Column along the horizontal axis; the median of the runs where they differ in it.
    y : str or sequence of str, default=("objective_last", "objective_average", "dual_bound")
        Columns along the vertical axis, or ``"suboptimality"`` and ``"suboptimality_last"``, the
        objective of the averaged and of the last iterate minus the optimum. All must be of one
        kind: objectives and dual bound, or suboptimality and gap, or a single other column.
    optimum : float, default=None
        Smallest value of the objective; needed for suboptimality.

    Attributes
    ----------
    lines_ : dict of str to Line2D
        The curve of each column.
    bands_ : dict of str to Collection or None
        The band of each column; None for a single run.
    gap_ : Collection or None
        The ground between dual bound and averaged iterate, which holds the optimum; None unless
        both are shown.
    optimum_ : Line2D or None
        The line at the optimum beside objectives.
    legend_ : Legend or None
        The legend in the axes; None if there is none.
    ax_ : Axes
        The axes that the curves were drawn on.
    figure_ : Figure
        The figure of these axes.

    Raises
    ------
    ValueError
        If columns are unknown or of several kinds, the optimum is needed, or the runs have
        different checkpoints.

    See Also
    --------
    ConvergenceDisplay.from_estimator : From a fitted estimator.
    ConvergenceDisplay.from_history : From histories or stored columns.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import make_moons
    >>> from kpegasos import PegasosSVC
    >>> from kpegasos.plotting import ConvergenceDisplay
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = PegasosSVC(random_state=0).fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(model, ax=Figure().subplots())
    >>> list(display.lines_)
    ['objective_last', 'objective_average', 'dual_bound']
    """

    def __init__(
        self,
        *,
        runs: Columns | Sequence[Columns],
        x: str = "iteration",
        y: str | Sequence[str] = VALUES,
        optimum: float | None = None,
    ) -> None:
        names = checks.names("y", y)
        self.kind = _kind_of(names)
        self.x = as_choice("x", x, _X_LABELS)
        self.optimum = optional(as_number, "optimum", optimum, least=-1e100, most=1e100)
        several = _as_list(runs)
        self.positions = np.median(_column(several, self.x), axis=0)
        self.curves = {name: self._curve(several, name) for name in names}

    @classmethod
    def from_history(
        cls,
        runs: Columns | Sequence[Columns],
        *,
        x: str = "iteration",
        y: str | Sequence[str] = VALUES,
        optimum: float | None = None,
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> ConvergenceDisplay:
        """Draw histories, or columns that were stored.

        Parameters
        ----------
        runs : History, mapping of str to array-like, or sequence of these
            As for the class.
        x, y, optimum
            As for the class.
        ax : Axes, default=None
            Axes to draw on; those of a new figure if None.
        **plot_options
            Options of `plot`.

        Returns
        -------
        ConvergenceDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            As for the class, or if no value is positive.
        """
        display = cls(runs=runs, x=x, y=y, optimum=optimum)
        if not any((np.median(each, axis=0) > 0).any() for each in display.curves.values()):
            raise ValueError(f"y must have positive values for logarithmic axes, got none of {y!r}")
        return display.plot(ax, **plot_options)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Axes | None = None, **options: Any
    ) -> ConvergenceDisplay:
        """Draw the history of a fitted estimator.

        Parameters
        ----------
        estimator : PegasosSVC, LinearPegasosSVC, PegasosSVR or LinearPegasosSVR
            Estimator that was fitted with ``fit``, to two classes or to numbers. Of several
            classes, ``history_`` is a list, of which `from_history` takes each.
        ax : Axes, default=None
            Axes to draw on; those of a new figure if None.
        **options
            Options of `from_history` and `plot`.

        Returns
        -------
        ConvergenceDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the estimator has no history, or one for each pair of classes.
        """
        history = getattr(estimator, "history_", None)
        if not isinstance(history, History):
            raise ValueError(
                "estimator must have been fitted with fit and have one history_, of several "
                f"classes from_history takes each, got {type(estimator).__name__} without it"
            )
        return cls.from_history(history, ax=ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        label: str | Sequence[str] | None = None,
        legend: bool = True,
        **line_style: Any,
    ) -> ConvergenceDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : Axes, default=None
            Axes to draw on; those of a new figure if None.
        label : str or sequence of str, default=None
            Name of each curve in the legend; what the curve shows if None.
        legend : bool, default=True
            Whether to add a legend, of what that of no other axes of the figure says already.
        **line_style
            Options of ``Axes.plot`` for every curve.

        Returns
        -------
        ConvergenceDisplay
            This display.

        Raises
        ------
        ValueError
            If there are not as many labels as curves.
        """
        labels = self._labels(label)
        ax = self._take_axes(ax)
        self._draw_curves(labels, line_style)
        ax.set(xscale="log", yscale="log", xlabel=_X_LABELS[self.x], ylabel=self._y_label())
        log_ticks(ax)
        self._add_legend(legend, *ax.get_legend_handles_labels())
        return self

    def _curve(self, runs: list[Columns], name: str) -> np.ndarray:
        """Return a column, or the suboptimality that follows from one and the optimum."""
        column = _OBJECTIVES.get(name, name)
        values = _column(runs, column)
        if values.shape[1] != self.positions.size:
            raise ValueError(
                f"runs must have an entry of {column!r} for each of the {self.positions.size} "
                f"checkpoints, got {values.shape[1]}"
            )
        if name not in _OBJECTIVES:
            return values
        if self.optimum is None:
            raise ValueError(f"optimum must be given for y={name!r}, got None")
        return values - self.optimum

    def _labels(self, label: str | Sequence[str] | None) -> dict[str, str]:
        """Return the names of the curves in the legend."""
        defaults = [
            _LOOKS[name][0] if name in _LOOKS else name.replace("_", " ") for name in self.curves
        ]
        labels = defaults if label is None else checks.names("label", label)
        if len(labels) != len(defaults):
            raise ValueError(
                f"label must name each of the {len(defaults)} curves, got {len(labels)} names"
            )
        return dict(zip(self.curves, labels, strict=True))

    def _y_label(self) -> str:
        """Return the label of the axis along which the curves are shown."""
        names = list(self.curves)
        if len(names) > 1 and "gap" in names:
            return "f(w) − f* and its bound"
        if names in (["dual_bound"], ["gap"]) or self.kind == "other":
            return title_of(names[0])
        return "objective f(w)" if self.kind == "value" else "suboptimality f(w) − f*"

    def _draw_curves(self, labels: dict[str, str], line_style: dict[str, Any]) -> None:
        """Draw medians, bands and the optimum."""
        self.lines_: dict[str, Any] = {}
        self.bands_: dict[str, Any] = {}
        self.optimum_ = self.gap_ = None
        for name, values in self.curves.items():
            low, median, high = np.percentile(values, _BAND, axis=0)
            shown = np.where(median > 0, median, np.nan)
            style = {"color": _LOOKS[name][1]} if name in _LOOKS else {}
            style |= {"marker": "o"} if self.positions.size == 1 else {}
            (line,) = self.ax_.plot(self.positions, shown, label=labels[name], **style | line_style)
            self.lines_[name], self.bands_[name] = line, None
            if len(values) > 1:
                area: dict[str, Any] = {"color": line.get_color(), "alpha": 0.2, "linewidth": 0}
                self.bands_[name] = self.ax_.fill_between(
                    self.positions, low, high, where=low > 0, **area
                )
        if {"dual_bound", "objective_average"} <= set(self.curves):
            both = (self.curves[name] for name in ("dual_bound", "objective_average"))
            low, high = (np.median(values, axis=0) for values in both)
            ground: dict[str, Any] = {"color": GREEN, "alpha": 0.12, "linewidth": 0}
            self.gap_ = self.ax_.fill_between(self.positions, low, high, where=low > 0, **ground)
        if self.kind == "value" and self.optimum is not None:
            dots: dict[str, Any] = {"color": ink(), "linewidth": 1, "linestyle": "dotted"}
            self.optimum_ = self.ax_.axhline(self.optimum, label="f*", **dots)


def _kind_of(names: Sequence[str]) -> str:
    """Return the kind of columns: "value", "excess" or "other"."""
    if names and all(name in VALUES for name in names):
        return "value"
    if names and all(name in _EXCESSES for name in names):
        return "excess"
    if len(names) == 1:
        return "other"
    raise ValueError(
        f"y must name columns of one kind, some of {VALUES} or of {_EXCESSES} or a single other, "
        f"got {shown(list(names))}"
    )


def _as_list(runs: Any) -> list[Columns]:
    """Return histories or columns as a list if they are.

    Raises
    ------
    ValueError
        If they are neither, nor a sequence of these.
    """
    several = [runs] if isinstance(runs, History | Mapping) else runs
    is_filled = isinstance(several, Sequence) and len(several) > 0
    if is_filled and all(isinstance(run, History | Mapping) for run in several):
        return list(several)
    raise ValueError(
        f"runs must be a history, a mapping of columns or a sequence of these, got {shown(runs)}"
    )


def _column(runs: list[Columns], name: str) -> np.ndarray:
    """Return one column of all runs, of shape (n_runs, n_checkpoints)."""
    rows = []
    for run in runs:
        columns = run.columns if isinstance(run, History) else run
        if name not in columns:
            came = shown(list(columns))
            raise ValueError(f"runs must have the column {name!r} for x or y, got {came}")
        rows.append(np.atleast_2d(checks.numbers(f"runs[{name!r}]", run[name])))
    sizes = [row.shape[1:] for row in rows]
    if len(set(sizes)) != 1 or len(sizes[0]) != 1 or not rows[0].size:
        raise ValueError(f"runs must have the same checkpoints in {name!r}, got {sizes} of them")
    return np.concatenate(rows)
