"""Convergence curves of one or several runs, with bounds of the theory beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from kpegasos.plotting import checks
from kpegasos.plotting.style import (
    BLUE,
    GREEN,
    GREY,
    PURPLE,
    SKY,
    VERMILLION,
    AxesDisplay,
    ink,
    log_ticks,
    title_of,
)
from kpegasos.solvers.result import History
from kpegasos.utils.validation import as_choice, as_number, optional, shown

#: A bound as a function of the step T, or its values at the checkpoints.
Bound = Callable[[np.ndarray], ArrayLike] | ArrayLike
Columns = History | Mapping[str, ArrayLike]

_X_LABELS = {
    "iteration": "steps T",
    "epoch": "epochs",
    "seconds": title_of("seconds"),
    "kernel_evaluations": "kernel values",
}
VALUES = ("objective_last", "objective_average", "dual_bound")
_EXCESSES = ("suboptimality", "suboptimality_last", "gap")
#: Name in the legend and colour of a curve.
_LOOKS = {
    "objective_last": ("last iterate", VERMILLION),
    "objective_average": ("averaged iterate", BLUE),
    "dual_bound": ("dual bound", GREEN),
    "suboptimality_last": ("last iterate", VERMILLION),
    "suboptimality": ("averaged iterate", BLUE),
    "gap": (title_of("gap"), GREEN),
}
#: The ground where bounds are vacuous, grey whatever the bound.
_VACUOUS: dict[str, Any] = {"color": GREY, "alpha": 0.15, "linewidth": 0}


# Long, since more than half of it are docstrings of its four public methods.
class ConvergenceDisplay(AxesDisplay):
    """Objective, dual bound, gap or any other column of histories, on logarithmic axes.

    Several runs are shown by their median and the band between two percentiles. Values that are not
    positive are left out.

    Parameters
    ----------
    positions : array-like of shape (n_checkpoints,)
        Positions of the checkpoints along the horizontal axis.
    curves : mapping of str to array-like of shape (n_checkpoints,) or (n_runs, n_checkpoints)
        Columns of `History`, or ``"suboptimality"`` and ``"suboptimality_last"``, the objective of
        the averaged and of the last iterate minus the optimum. All must be of one kind: objectives
        and dual bound, or suboptimality and gap, or a single other column.
    iterations : array-like of shape (n_checkpoints,), default=None
        Steps T at the checkpoints, of which bounds are functions; ``positions`` if None.
    x : {"iteration", "epoch", "seconds", "kernel_evaluations"}, default="iteration"
        What the horizontal axis shows.
    optimum : float, default=None
        Smallest value of the objective.

    Attributes
    ----------
    lines_ : dict of str to Line2D
        The curve of each column.
    bands_ : dict of str to Collection or None
        The band of each column; None for a single run.
    gap_ : Collection or None
        The ground between dual bound and averaged iterate, which holds the optimum; None unless
        both are shown.
    bounds_ : dict of str to Line2D
        The curve of each bound.
    vacuous_ : dict of str to Collection or None
        The shaded ground where a bound says less than w = 0 does; None if there is none.
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
        If columns are unknown or of several kinds, or shapes do not fit together.

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

    lines_: dict[str, Line2D]
    bands_: dict[str, Collection | None]
    gap_: Collection | None
    bounds_: dict[str, Line2D]
    vacuous_: dict[str, Collection | None]
    optimum_: Line2D | None

    @checks.by_name
    def __init__(
        self,
        *,
        positions: ArrayLike,
        curves: Mapping[str, ArrayLike],
        iterations: ArrayLike | None = None,
        x: str = "iteration",
        optimum: float | None = None,
    ) -> None:
        self.x = as_choice("x", x, _X_LABELS)
        self.kind = _kind_of(list(checks.mapping("curves", curves)))
        self.optimum = optional(as_number, "optimum", optimum, least=-1e100, most=1e100)
        self.positions = checks.numbers("positions", positions, ndim=1)
        self.iterations = self.positions
        if iterations is not None:
            self.iterations = checks.numbers("iterations", iterations, ndim=1)
        self.curves = {name: _as_runs(name, values) for name, values in curves.items()}
        sizes = {"iterations": self.iterations.size}
        sizes |= {name: values.shape[1] for name, values in self.curves.items()}
        for name, size in sizes.items():
            if size != self.positions.size:
                raise ValueError(
                    f"{name} must have an entry for each of the {self.positions.size} checkpoints, "
                    f"got {size} of curves or iterations beside positions of that many"
                )

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
            One run for each seed, all with the same checkpoints; the columns of a mapping may also
            hold several runs, as arrays of shape (n_runs, n_checkpoints).
        x : {"iteration", "epoch", "seconds", "kernel_evaluations"}, default="iteration"
            Column along the horizontal axis; the median of the runs where they differ in it.
        y : str or sequence of str, default=("objective_last", "objective_average", "dual_bound")
            Columns along the vertical axis, all of one kind.
        optimum : float, default=None
            Smallest value of the objective; needed for suboptimality.
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
            If the optimum is needed, columns are of several kinds, or the runs have different
            checkpoints, or there is no such column.
        """
        names = checks.names("y", y)
        _kind_of(names)
        as_choice("x", x, _X_LABELS)
        optimum = optional(as_number, "optimum", optimum, least=-1e100, most=1e100)
        several = _as_list(runs)
        curves = {name: _curve(several, name, optimum) for name in names}
        steps = None
        if "iteration" in _known_in(several[0]):
            steps = np.median(_column(several, "iteration"), axis=0)
        positions = np.median(_column(several, x), axis=0)
        display = cls(positions=positions, curves=curves, iterations=steps, x=x, optimum=optimum)
        return display.plot(ax, **plot_options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        pair: tuple[Any, Any] | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> ConvergenceDisplay:
        """Draw the history of a fitted estimator.

        Parameters
        ----------
        estimator : PegasosSVC or LinearPegasosSVC
            Estimator that was fitted with ``fit``.
        pair : tuple of two class labels, default=None
            Pair of classes whose history to show; needed with more than two classes.
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
            If the estimator has no history, or not this pair of classes.
        """
        found = checks.histories(estimator)
        checks.check_classifier(estimator)
        history = found[checks.pair_number(estimator.classes_, pair)]
        return cls.from_history(history, ax=ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        label: str | Sequence[str] | None = None,
        band: tuple[float, float] = (20.0, 80.0),
        bounds: Mapping[str, Bound] | None = None,
        bounds_from: float = 3.0,
        trivial: float = 1.0,
        legend: bool = True,
        **line_style: Any,
    ) -> ConvergenceDisplay:
        """Draw the curves, and bounds beside them.

        Parameters
        ----------
        ax : Axes, default=None
            Axes to draw on; those of a new figure if None.
        label : str or sequence of str, default=None
            Name of each curve in the legend; what the curve shows if None.
        band : (float, float), default=(20, 80)
            Percentiles over the runs between which the band lies.
        bounds : mapping of str to callable or array-like of shape (n_checkpoints,), default=None
            Upper bounds on the suboptimality by their names in the legend: functions of arrays of
            steps T, or values at the checkpoints. Beside objectives the optimum is added.
        bounds_from : float, default=3
            Smallest step T at which a bound is evaluated; most of the theorems hold from 3 on.
        trivial : float, default=1
            Objective of w = 0, which is 1 with weights of mean one. A bound is vacuous, and the
            ground shaded, where it allows for more than that. Where the optimum is not known, the
            dual bound stands for it, or 0.
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
            If there are not as many labels as curves, a bound has the wrong shape, or there are
            bounds beside what they do not bound.
        """
        labels = self._labels(label)
        self._check_bounds(bounds)
        low, high = _percentiles(band)
        bounds_from = as_number("bounds_from", bounds_from, positive=True)
        trivial = as_number("trivial", trivial)
        ax = self._take_axes(ax)
        self._draw_curves(labels, (low, high), line_style)
        y_label = self._y_label()
        ax.set(xscale="log", yscale="log", xlabel=_X_LABELS[self.x], ylabel=y_label)
        log_ticks(ax)
        self._draw_bounds(bounds or {}, bounds_from, trivial)
        self._add_legend(legend, *self.legend_entries())
        return self

    def legend_entries(self) -> tuple[list[Any], list[str]]:
        """Entries of the legend, those of other displays on the same axes included.

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
        handles, labels = self.ax_.get_legend_handles_labels()
        if any(area is not None for area in self.vacuous_.values()):
            handles.append(Patch(**_VACUOUS))
            labels.append("bound vacuous")
        return handles, labels

    def _labels(self, label: str | Sequence[str] | None) -> dict[str, str]:
        """Return the names of the curves in the legend."""
        own = [
            _LOOKS[name][0] if name in _LOOKS else name.replace("_", " ") for name in self.curves
        ]
        labels = own if label is None else checks.names("label", label)
        if len(labels) != len(own):
            raise ValueError(
                f"label must name each of the {len(own)} curves, got {len(labels)} names"
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

    def _check_bounds(self, bounds: Mapping[str, Bound] | None) -> None:
        optional(checks.mapping, "bounds", bounds)
        if bounds and self.kind == "other":
            raise ValueError(
                f"bounds must stand beside objectives or suboptimality, got y={list(self.curves)}"
            )
        if bounds and self.kind == "value" and self.optimum is None:
            raise ValueError("optimum must be given for bounds beside objectives, got None")

    def _draw_curves(
        self, labels: dict[str, str], band: tuple[float, float], line_style: dict[str, Any]
    ) -> None:
        """Draw medians, bands and the optimum."""
        self.lines_, self.bands_, self.optimum_ = {}, {}, None
        for name, values in self.curves.items():
            low, median, high = np.percentile(values, [band[0], 50.0, band[1]], axis=0)
            shown = np.where(median > 0, median, np.nan)
            own = {"color": _LOOKS[name][1]} if name in _LOOKS else {}
            style: dict[str, Any] = {**own, **line_style}
            (line,) = self.ax_.plot(self.positions, shown, label=labels[name], **style)
            self.lines_[name], self.bands_[name] = line, None
            if len(values) > 1:
                area: dict[str, Any] = {"color": line.get_color(), "alpha": 0.2, "linewidth": 0}
                self.bands_[name] = self.ax_.fill_between(
                    self.positions, low, high, where=low > 0, **area
                )
        self.gap_ = None
        if {"dual_bound", "objective_average"} <= set(self.curves):
            both = (self.curves[name] for name in ("dual_bound", "objective_average"))
            low, high = (np.median(values, axis=0) for values in both)
            ground: dict[str, Any] = {"color": GREEN, "alpha": 0.12, "linewidth": 0}
            self.gap_ = self.ax_.fill_between(self.positions, low, high, where=low > 0, **ground)
        if self.kind == "value" and self.optimum is not None:
            dots: dict[str, Any] = {"color": ink(), "linewidth": 1, "linestyle": "dotted"}
            self.optimum_ = self.ax_.axhline(self.optimum, label="f*", **dots)

    def _draw_bounds(self, bounds: Mapping[str, Bound], first: float, trivial: float) -> None:
        """Draw bounds above the optimum, and shade where they are vacuous."""
        self.bounds_, self.vacuous_ = {}, {}
        offset = self.optimum if self.kind == "value" and self.optimum is not None else 0.0
        limit, limits = trivial - self._lowest(), self.ax_.get_xlim()
        for color, (name, bound) in zip(cycle((PURPLE, GREY, SKY)), bounds.items(), strict=False):
            x, values = self._bound_curve(name, bound, first)
            style: dict[str, Any] = {"color": color, "linestyle": "--", "label": name}
            (self.bounds_[name],) = self.ax_.plot(x, values + offset, **style)
            self.vacuous_[name] = None
            if (values >= limit).any():
                ground = {"transform": self.ax_.get_xaxis_transform(), **_VACUOUS}
                self.vacuous_[name] = self.ax_.fill_between(
                    x, 0.0, 1.0, where=values >= limit, **ground
                )
            self.ax_.set_xlim(limits)

    def _bound_curve(self, name: str, bound: Bound, first: float) -> tuple[np.ndarray, np.ndarray]:
        """Return where a bound is drawn, and its values there.

        A function is asked for steps T from ``first`` to the last iteration, which are mapped to
        positions on the axis as the iterations of the checkpoints are.
        """
        positions = self.positions
        if callable(bound):
            last = self.iterations[-1]
            steps = np.geomspace(min(max(first, self.iterations[0]), last), last, 400)
            # Rounding must not lead outside of where the function is defined.
            steps = steps.clip(first, last) if first <= last else steps[:0]
            with np.errstate(divide="ignore"):
                known = np.log(self.iterations), np.log(positions)
                positions = np.exp(np.interp(np.log(steps), *known))
            bound = bound(steps)
        values = checks.numbers(f"bounds[{name!r}]", bound)
        if values.shape != positions.shape:
            raise ValueError(
                f"bounds[{name!r}] must have a value for each step of shape {positions.shape}, "
                f"got shape {values.shape}"
            )
        return positions, values

    def _lowest(self) -> float:
        """Return the optimum, or what is known to be below it."""
        if self.optimum is not None:
            return self.optimum
        known = self.curves.get("dual_bound", np.zeros(1))
        return float(np.nanmax(known)) if np.isfinite(known).any() else 0.0


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
    known = isinstance(several, Sequence) and [
        isinstance(run, History | Mapping) for run in several
    ]
    if known and all(known):
        return list(several)
    raise ValueError(
        f"runs must be a history, a mapping of columns or a sequence of these, got {shown(runs)}"
    )


def _known_in(run: Columns) -> Any:
    return run.columns if isinstance(run, History) else run


def _column(runs: list[Columns], name: str) -> np.ndarray:
    """Return one column of all runs, of shape (n_runs, n_checkpoints)."""
    rows = []
    for run in runs:
        known = _known_in(run)
        if name not in known:
            came = shown(list(known))
            raise ValueError(f"runs must have the column {name!r} for x or y, got {came}")
        rows.append(checks.numbers(f"runs[{name!r}]", run[name]))
    if len(rows) == 1:
        return np.atleast_2d(rows[0])
    if any(row.ndim != 1 for row in rows):
        raise ValueError(f"runs must have one value of {name} for each checkpoint")
    sizes = [len(row) for row in rows]
    if len(set(sizes)) != 1:
        raise ValueError(f"runs must all have the same checkpoints, got {sizes} of them")
    return np.array(rows)


def _curve(runs: list[Columns], name: str, optimum: float | None) -> np.ndarray:
    """Return a column, or the suboptimality that follows from one and the optimum."""
    if not name.startswith("suboptimality"):
        return _column(runs, name)
    if optimum is None:
        raise ValueError(f"optimum must be given for y={name!r}, got None")
    last = name == "suboptimality_last"
    return _column(runs, "objective_last" if last else "objective_average") - optimum


def _as_runs(name: str, values: ArrayLike) -> np.ndarray:
    """Return a curve as an array of shape (n_runs, n_checkpoints).

    Raises
    ------
    ValueError
        If it is none.
    """
    runs = np.atleast_2d(checks.numbers(f"curves[{name!r}]", values))
    if runs.ndim != 2 or not runs.size:
        raise ValueError(
            f"curves[{name!r}] must have shape (n_checkpoints,) or (n_runs, n_checkpoints), got "
            f"{runs.shape}"
        )
    return runs


def _percentiles(band: Any) -> tuple[float, float]:
    """Return the percentiles between which a band lies.

    Raises
    ------
    ValueError
        If they are not two, from 0 to 100.
    """
    ends = checks.finite("band", band, ndim=1)
    if ends.size != 2 or not 0 <= ends[0] <= ends[1] <= 100:
        raise ValueError(f"band must be two percentiles in ascending order, got {shown(band)}")
    return float(ends[0]), float(ends[1])
