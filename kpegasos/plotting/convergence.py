"""Convergence curves of one or several runs, with bounds of the theory beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from kpegasos.plotting.style import BESIDE, COLORS, axes_or_new
from kpegasos.solvers.history import History

Columns = History | Mapping[str, ArrayLike]
#: A bound as a function of the step T, or its values at the checkpoints.
Bound = Callable[[np.ndarray], ArrayLike] | ArrayLike

_X_LABELS = {
    "iteration": "iteration",
    "epoch": "passes over the data",
    "seconds": "time in the solver, s",
    "kernel_evaluations": "kernel evaluations",
}
_VALUES = ("objective_last", "objective_average", "dual_bound")
_EXCESSES = ("suboptimality", "suboptimality_last", "gap")
#: The same thing has the same colour in every figure.
_LOOKS = {
    "objective_last": ("last iterate", COLORS[0]),
    "objective_average": ("averaged iterate", COLORS[1]),
    "dual_bound": ("dual bound", COLORS[2]),
    "suboptimality_last": ("last iterate", COLORS[0]),
    "suboptimality": ("averaged iterate", COLORS[1]),
    "gap": ("certified gap", COLORS[4]),
}
_BOUND_COLORS = (COLORS[3], COLORS[7], COLORS[5])
_BOUND_POINTS = 400


class ConvergenceDisplay:
    """Objective, dual bound, gap or any other column of histories, on logarithmic axes.

    Several runs are shown by their median and the band between two percentiles. What is not
    positive is left out.

    Parameters
    ----------
    positions : array-like of shape (n_checkpoints,)
        Along the horizontal axis.
    curves : mapping of str to array-like of shape (n_checkpoints,) or (n_runs, n_checkpoints)
        Columns of `History`, or ``"suboptimality"`` and ``"suboptimality_last"``, the objective of
        the averaged and of the last iterate minus the optimum. They must be of one kind:
        objectives and dual bound, or suboptimality and gap, or a single other column.
    iterations : array-like of shape (n_checkpoints,), default=None
        Steps T at the checkpoints, for bounds; ``positions`` if None.
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
    bounds_ : dict of str to Line2D
        Each bound.
    vacuous_ : dict of str to Collection or None
        Where the bound says less than w = 0 does; None if it does so nowhere.
    optimum_ : Line2D or None
        The line at the optimum beside objectives.
    legend_ : Legend or None
    ax_ : Axes
    figure_ : Figure

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
    bounds_: dict[str, Line2D]
    vacuous_: dict[str, Collection | None]
    optimum_: Line2D | None
    legend_: Legend | None
    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        positions: ArrayLike,
        curves: Mapping[str, ArrayLike],
        iterations: ArrayLike | None = None,
        x: str = "iteration",
        optimum: float | None = None,
    ) -> None:
        if x not in _X_LABELS:
            raise ValueError(f"x must be one of {', '.join(map(repr, _X_LABELS))}, got {x!r}")
        self.kind = _kind(list(curves))
        self.x = x
        self.optimum = optimum
        self.positions = np.asarray(positions, dtype=float)
        self.iterations = (
            self.positions if iterations is None else np.asarray(iterations, dtype=float)
        )
        self.curves = {
            name: np.atleast_2d(np.asarray(values, dtype=float)) for name, values in curves.items()
        }
        sizes = {"iterations": self.iterations.size}
        sizes |= {name: values.shape[1] for name, values in self.curves.items()}
        for name, size in sizes.items():
            if size != self.positions.size:
                raise ValueError(
                    f"{name} must have an entry for each of the {self.positions.size} checkpoints, "
                    f"got {size}"
                )

    @classmethod
    def from_history(
        cls,
        runs: Columns | Sequence[Columns],
        *,
        x: str = "iteration",
        y: str | Sequence[str] = _VALUES,
        optimum: float | None = None,
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> ConvergenceDisplay:
        """Draw histories, or columns that were stored.

        Parameters
        ----------
        runs : History, mapping of columns, or sequence of these
            One a seed, all with the same checkpoints; the columns of a mapping may also hold
            several runs, as arrays of shape (n_runs, n_checkpoints).
        x : {"iteration", "epoch", "seconds", "kernel_evaluations"}, default="iteration"
            Column along the horizontal axis; where runs differ (in seconds), their median.
        y : str or sequence of str, default=("objective_last", "objective_average", "dual_bound")
            Columns to show.
        optimum : float, default=None
            Smallest value of the objective; needed for suboptimality.
        ax : Axes, default=None
        **plot_options
            Passed on to `plot`.

        Returns
        -------
        ConvergenceDisplay

        Raises
        ------
        ValueError
            If the optimum is needed, columns are of several kinds, or the runs have different
            checkpoints.
        KeyError
            If there is no such column.
        """
        names = [y] if isinstance(y, str) else list(y)
        _kind(names)
        curves = {}
        for name in names:
            if name.startswith("suboptimality"):
                if optimum is None:
                    raise ValueError(f"optimum must be given for y={name!r}, got None")
                last = name == "suboptimality_last"
                objective = _column(runs, "objective_last" if last else "objective_average")
                curves[name] = objective - optimum
            else:
                curves[name] = _column(runs, name)
        known = x == "iteration" or _has(runs, "iteration")
        display = cls(
            positions=np.median(_column(runs, x), axis=0),
            curves=curves,
            iterations=np.median(_column(runs, "iteration"), axis=0) if known else None,
            x=x,
            optimum=optimum,
        )
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
        pair : tuple of two class labels, default=None
            Whose history to show; needed with more than two classes.
        ax : Axes, default=None
        **options
            Passed on to `from_history` and `plot`.

        Returns
        -------
        ConvergenceDisplay

        Raises
        ------
        ValueError
            If the estimator has no history, or not this pair of classes.
        """
        history = histories(estimator)[pair_number(estimator.classes_, pair)]
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
        """Draw.

        Parameters
        ----------
        ax : Axes, default=None
        label : str or sequence of str, default=None
            Name of each curve in the legend; what it is if None.
        band : (float, float), default=(20, 80)
            Percentiles over the runs.
        bounds : mapping of str to callable or array-like of shape (n_checkpoints,), default=None
            Upper bounds on the suboptimality by the name in the legend: functions of arrays of
            steps T, or values at the checkpoints. Beside objectives the optimum is added.
        bounds_from : float, default=3
            Smallest step T that functions are asked for; most of the theorems hold from 3 on.
        trivial : float, default=1
            Objective of w = 0, which is 1 with weights of mean one. A bound is vacuous, and the
            ground shaded, where it allows for more than that. Where the optimum is not known, the
            dual bound stands for it, or 0.
        legend : bool, default=True
            Whether to add a legend, to the right of the axes and so never over the curves.
        **line_style
            Of every curve; passed on to ``Axes.plot``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are not as many labels as curves, a bound has the wrong shape, or there are
            bounds beside what they do not bound.
        """
        labels = self._labels(label)
        if bounds and self.kind == "other":
            raise ValueError(
                f"bounds must stand beside objectives or suboptimality, got y={list(self.curves)}"
            )
        if bounds and self.kind == "value" and self.optimum is None:
            raise ValueError("optimum must be given for bounds beside objectives, got None")
        ax = self.ax_ = axes_or_new(ax)
        self.figure_ = ax.get_figure(root=True)  # type: ignore[assignment]
        self.lines_, self.bands_, self.bounds_, self.vacuous_ = {}, {}, {}, {}
        for name, values in self.curves.items():
            low, median, high = np.percentile(values, [band[0], 50.0, band[1]], axis=0)
            shown = np.where(median > 0, median, np.nan)
            usual = {"color": _LOOKS[name][1]} if name in _LOOKS else {}
            style = {**usual, **line_style}
            (line,) = ax.plot(self.positions, shown, label=labels[name], **style)
            area: dict[str, Any] = {"color": line.get_color(), "alpha": 0.2, "linewidth": 0}
            self.lines_[name] = line
            self.bands_[name] = (
                ax.fill_between(self.positions, low, high, where=low > 0, **area)
                if len(values) > 1
                else None
            )
        self.optimum_ = None
        if self.kind == "value" and self.optimum is not None:
            dots: dict[str, Any] = {"color": "black", "linewidth": 1, "linestyle": "dotted"}
            self.optimum_ = ax.axhline(self.optimum, label="f*", **dots)
        ax.set(xscale="log", yscale="log", xlabel=_X_LABELS[self.x], ylabel=self._y_label())
        for number, (name, bound) in enumerate((bounds or {}).items()):
            color = _BOUND_COLORS[number % len(_BOUND_COLORS)]
            self._draw_bound(name, bound, color, bounds_from, trivial)
        self.legend_ = ax.legend(*self.legend_entries(), **BESIDE) if legend else None
        return self

    def legend_entries(self) -> tuple[list[Any], list[str]]:
        """Entries of the legend, those of other displays on the same axes included.

        Returns
        -------
        handles : list of Artist
        labels : list of str

        Raises
        ------
        AttributeError
            Before `plot`.
        """
        handles, labels = self.ax_.get_legend_handles_labels()
        if any(area is not None for area in self.vacuous_.values()):
            handles.append(Patch(color=COLORS[7], alpha=0.2, linewidth=0))
            labels.append("bound vacuous")
        return handles, labels

    def _labels(self, label: str | Sequence[str] | None) -> dict[str, str]:
        """Names of the curves in the legend."""
        if label is None:
            names = [
                _LOOKS[name][0] if name in _LOOKS else name.replace("_", " ")
                for name in self.curves
            ]
        else:
            names = [label] if isinstance(label, str) else list(label)
        if len(names) != len(self.curves):
            raise ValueError(
                f"label must name each of the {len(self.curves)} curves, got {len(names)} names"
            )
        return dict(zip(self.curves, names, strict=True))

    def _y_label(self) -> str:
        if self.kind == "value":
            return "dual bound" if list(self.curves) == ["dual_bound"] else "objective f(w)"
        if self.kind == "excess":
            if "gap" not in self.curves:
                return "suboptimality f(w) − f*"
            return "certified gap" if len(self.curves) == 1 else "f(w) − f* and its bound"
        (name,) = self.curves
        return {"relative_gap": "certified relative gap"}.get(name, name.replace("_", " "))

    def _draw_bound(
        self, name: str, bound: Bound, color: str, first: float, trivial: float
    ) -> None:
        """Add a bound, and shade where it is vacuous."""
        if callable(bound):
            last = self.iterations[-1]
            steps = np.geomspace(min(max(first, self.iterations[0]), last), last, _BOUND_POINTS)
            # Rounding must not lead outside of where the function is defined.
            steps = steps.clip(first, last) if first <= last else steps[:0]
            with np.errstate(divide="ignore"):
                known = np.log(self.iterations), np.log(self.positions)
                positions = np.exp(np.interp(np.log(steps), *known))
            values = np.asarray(bound(steps), dtype=float)
        else:
            positions, values = self.positions, np.asarray(bound, dtype=float)
        if values.shape != positions.shape:
            raise ValueError(
                f"bounds[{name!r}] must have a value for each step of shape {positions.shape}, "
                f"got shape {values.shape}"
            )
        ax = self.ax_
        offset = self.optimum if self.kind == "value" and self.optimum is not None else 0.0
        limits = ax.get_xlim()
        (line,) = ax.plot(positions, values + offset, color=color, linestyle="--", label=name)
        self.bounds_[name] = line
        vacuous = values >= trivial - self._lowest()
        self.vacuous_[name] = None
        if vacuous.any():
            self.vacuous_[name] = ax.fill_between(
                positions,
                0.0,
                1.0,
                where=vacuous,
                transform=ax.get_xaxis_transform(),
                color=color,
                alpha=0.12,
                linewidth=0,
            )
        ax.set_xlim(limits)

    def _lowest(self) -> float:
        """The optimum, or what is known to be below it."""
        if self.optimum is not None:
            return self.optimum
        known = self.curves.get("dual_bound", np.zeros(1))
        return float(np.nanmax(known)) if np.isfinite(known).any() else 0.0


def histories(estimator: Any) -> list[History]:
    """Histories of all pairs of classes of a fitted estimator."""
    found = getattr(estimator, "history_", None)
    if found is None:
        raise ValueError(
            f"estimator must have been fitted with fit and keep a history_, got "
            f"{type(estimator).__name__} without one"
        )
    return found if isinstance(found, list) else [found]


def pair_number(classes: np.ndarray, pair: tuple[Any, Any] | None) -> int:
    """Position of a pair among all pairs, in lexicographic order."""
    labels = np.asarray(classes).tolist()
    if pair is None:
        if len(labels) == 2:
            return 0
        raise ValueError(f"pair must name two of the {len(labels)} classes {labels}, got None")
    if len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(labels):
        raise ValueError(f"pair must name two of the classes {labels}, got {pair!r}")
    i, j = sorted(labels.index(label) for label in pair)
    return i * len(labels) - i * (i + 1) // 2 + j - i - 1


def _kind(names: list[str]) -> str:
    """Kind of the columns: "value", "excess" or "other"."""
    if names and all(name in _VALUES for name in names):
        return "value"
    if names and all(name in _EXCESSES for name in names):
        return "excess"
    if len(names) == 1:
        return "other"
    raise ValueError(
        f"y must name columns of one kind, some of {_VALUES} or of {_EXCESSES} or a single other, "
        f"got {names}"
    )


def _has(runs: Any, name: str) -> bool:
    one = runs if isinstance(runs, History | Mapping) else runs[0]
    return name in (one.columns if isinstance(one, History) else one)


def _column(runs: Any, name: str) -> np.ndarray:
    """Give one column of all runs, of shape (n_runs, n_checkpoints)."""
    if isinstance(runs, History | Mapping):
        return np.atleast_2d(np.asarray(runs[name], dtype=float))
    rows = [np.asarray(run[name], dtype=float) for run in runs]
    sizes = [len(row) for row in rows]
    if len(set(sizes)) != 1:
        raise ValueError(f"runs must all have the same checkpoints, got {sizes} of them")
    return np.array(rows)
