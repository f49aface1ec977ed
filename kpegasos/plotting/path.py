"""The regularisation path: score, certified gap and support size as functions of C, a panel each.

The numbers come from one γ of a search, or from a path of solutions; neither is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter, StrMethodFormatter
from numpy.typing import ArrayLike

from kpegasos.plotting import checks
from kpegasos.plotting.searches import QUANTITIES, SearchResults, log_edges, name_of, results_of
from kpegasos.plotting.style import (
    BLUE,
    GREEN,
    MISSING,
    VERMILLION,
    Panels,
    ink,
    legend_above,
    panels_or_new,
    ticks_at,
)
from kpegasos.utils.validation import as_flag, as_number, optional, shown

#: Attributes of a path of solutions, by the names of their curves.
_OF_PATH = {
    "objective": "objectives",
    "dual_bound": "dual_bounds",
    "relative_gap": "relative_gaps",
    "support_size": "n_support",
}


class RegularizationPathDisplay:
    """Score, certified gap, support size and further quantities against C, a panel each.

    The score has a band of one standard error. Two lines mark the chosen C and the smallest C whose
    score is within one standard error of the best, which the one-standard-error rule chooses.
    Values of C without a number are hatched.

    Parameters
    ----------
    Cs : array-like of shape (n_Cs,)
        Values of C, increasing.
    curves : mapping of str to array-like of shape (n_Cs,)
        Quantities by name: ``"score"`` (larger is better), ``"objective"``, ``"dual_bound"``,
        ``"relative_gap"``, ``"support_size"``, ``"seconds"`` or any other.
    standard_errors : array-like of shape (n_Cs,), default=None
        Standard errors of the scores.
    chosen : float, default=None
        The chosen C; that of the highest score if None.
    metric : str, default="score"
        What the score is called.

    Attributes
    ----------
    one_standard_error_C_ : float or None
        Smallest C whose score is within one standard error of the best; None if there is no score,
        or no standard error.
    axes_ : ndarray of Axes of shape (n_panels,)
        The axes of each panel.
    lines_ : dict of str to Line2D
        The curve of each quantity.
    bands_ : dict of str to Collection or None
        The band of each panel; None without a standard error.
    marks_ : dict of str to list of Line2D
        The vertical lines in each panel: at the chosen C, and at ``one_standard_error_C_`` where it
        is another one.
    legend_ : Legend or None
        The legend above the panels; None if there is none.
    figure_ : Figure
        The figure of the panels.

    Raises
    ------
    ValueError
        If the values of C do not increase, or shapes do not fit.

    See Also
    --------
    RegularizationPathDisplay.from_estimator : From a fitted search.
    RegularizationPathDisplay.from_path : From a path of solutions.
    ValidationSurfaceDisplay : Score over C and γ.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.svm import SVC
    >>> from kpegasos.plotting import RegularizationPathDisplay
    >>> search = GridSearchCV(SVC(), {"C": [0.1, 1, 10]}).fit(*load_iris(return_X_y=True))
    >>> display = RegularizationPathDisplay.from_estimator(search, ax=Figure().subplots())
    >>> display.Cs
    array([ 0.1,  1. , 10. ])
    >>> list(display.lines_)
    ['score']
    """

    lines_: dict[str, Line2D]
    bands_: dict[str, Collection | None]
    marks_: dict[str, list[Line2D]]
    figure_: Figure

    @checks.by_name
    def __init__(
        self,
        *,
        Cs: ArrayLike,
        curves: Mapping[str, ArrayLike],
        standard_errors: ArrayLike | None = None,
        chosen: float | None = None,
        metric: str = "score",
    ) -> None:
        self.Cs = checks.increasing("Cs", Cs, least=1)
        self.curves = {
            name: self._curve(f"curves[{name!r}]", curve)
            for name, curve in checks.mapping("curves", curves).items()
        }
        errors = optional(self._curve, "standard_errors", standard_errors)
        self.standard_errors = None if errors is None or np.isnan(errors).all() else errors
        self.metric = checks.name("metric", metric)
        self.chosen = optional(as_number, "chosen", chosen, positive=True)
        scores = self.curves.get("score", np.full(self.Cs.size, np.nan))
        best = int(np.nanargmax(scores)) if np.isfinite(scores).any() else None
        if self.chosen is None and best is not None:
            self.chosen = float(self.Cs[best])
        self.one_standard_error_C_: float | None = None
        if best is not None and self.standard_errors is not None:
            near = self.Cs[scores >= scores[best] - self.standard_errors[best]]
            self.one_standard_error_C_ = float(near[0]) if near.size else None

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        *,
        panels: str | Sequence[str] | None = None,
        ax: Panels | None = None,
        **options: Any,
    ) -> RegularizationPathDisplay:
        """Draw what a fitted search says about C.

        Parameters
        ----------
        search : object
            Fitted search over C with ``cv_results_``: `kpegasos.PegasosSVCCV`, or a search of
            scikit-learn's. C may be a parameter of a pipeline's step.
        panels : str or sequence of str, default=None
            What to show: ``"score"`` and ``"support_size"`` (means of the folds),
            ``"relative_gap"`` (the largest of the folds), ``"seconds"`` or a column of the results;
            the first three if None, where the results have them.
        ax : Axes or sequence of Axes, default=None
            Axes of the panels; those of a new figure if None.
        **options
            ``metric`` and ``where`` of `from_results`, and options of `plot`.

        Returns
        -------
        RegularizationPathDisplay
            The display, drawn.

        Raises
        ------
        NotFittedError
            If the search is not fitted.
        ValueError
            If it is no search over numbers C, or there is no such column.
        """
        results, best_index = results_of(search)
        return cls.from_results(results, best_index=best_index, panels=panels, ax=ax, **options)

    @classmethod
    def from_results(
        cls,
        cv_results: Any,
        *,
        best_index: int | None = None,
        metric: str = "score",
        where: Mapping[str, Any] | None = None,
        panels: str | Sequence[str] | None = None,
        ax: Panels | None = None,
        **plot_options: Any,
    ) -> RegularizationPathDisplay:
        """Draw what the results of a search say about C.

        Of a cell that was tried several times, as by successive halving, the last row counts.

        Parameters
        ----------
        cv_results : mapping of str to array-like, or pandas.DataFrame
            Columns as in ``GridSearchCV.cv_results_``.
        best_index : int, default=None
            Row of the chosen cell; that of the highest mean score if None.
        metric : str, default="score"
            Which score, where there are several: the end of ``mean_test_score``.
        where : mapping of str to object, default=None
            Values of other parameters that were searched, such as ``{"gamma": 0.1}``; those of the
            chosen cell where it has none.
        panels : str or sequence of str, default=None
            As for `from_estimator`.
        ax : Axes or sequence of Axes, default=None
            Axes of the panels; those of a new figure if None.
        **plot_options
            Options of `plot`.

        Returns
        -------
        RegularizationPathDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If these are no results of a search over C, or there is no such column.
        """
        named = optional(checks.names, "panels", panels)
        results = SearchResults(cv_results, metric, best_index)
        rows, best = results.along(("C",), where)
        values = results.numbers_of("C", rows)
        Cs, last = np.unique(values[::-1], return_index=True)
        rows = rows[::-1][last]
        names = {"score", *(named or ()), *(name for name in QUANTITIES if results.has(name))}
        display = cls(
            Cs=Cs,
            curves={name: results.values(name)[rows] for name in names},
            standard_errors=results.standard_errors()[rows],
            chosen=None if best is None else float(results.numbers_of("C", np.array([best]))[0]),
            metric=metric,
        )
        return display.plot(ax, panels=named, **plot_options)

    @classmethod
    def from_path(
        cls,
        path: Any,
        *,
        scores: ArrayLike | None = None,
        panels: str | Sequence[str] | None = None,
        ax: Panels | None = None,
        **plot_options: Any,
    ) -> RegularizationPathDisplay:
        """Draw a path of solutions.

        Parameters
        ----------
        path : object
            What `kpegasos.regularization_path` returns: ``Cs``, ``objectives``, ``dual_bounds``,
            ``relative_gaps`` and ``n_support``, with an entry for each C.
        scores : array-like of shape (n_Cs,) or (n_folds, n_Cs), default=None
            Scores of the solutions, in the order of ``path.Cs``; of several folds, mean and
            standard error are shown.
        panels : str or sequence of str, default=None
            What to show: ``"score"``, ``"objective"`` (with the dual bound), ``"relative_gap"``,
            ``"support_size"``; all that there is if None.
        ax : Axes or sequence of Axes, default=None
            Axes of the panels; those of a new figure if None.
        **plot_options
            Options of `plot`.

        Returns
        -------
        RegularizationPathDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the path lacks one of these, or shapes do not fit.
        """
        for name in ("Cs", *_OF_PATH.values()):
            if not hasattr(path, name):
                raise ValueError(f"path must have {name}, got {shown(path)} instead")
        Cs = checks.finite("path.Cs", path.Cs, ndim=1)
        curves = {
            name: checks.one_for_each(f"path.{its}", getattr(path, its), Cs.size, "values of C")
            for name, its in _OF_PATH.items()
        }
        order, errors = np.argsort(Cs), None
        if scores is not None:
            folds = np.atleast_2d(checks.numbers("scores", scores))
            if folds.ndim != 2 or folds.shape[1] != Cs.size:
                raise ValueError(
                    f"scores must have an entry for each of the {Cs.size} values of C, "
                    f"got shape {folds.shape}"
                )
            curves["score"] = folds.mean(axis=0)
            if len(folds) > 1:
                errors = (folds.std(axis=0, ddof=1) / np.sqrt(len(folds)))[order]
        display = cls(
            Cs=Cs[order],
            curves={name: curve[order] for name, curve in curves.items()},
            standard_errors=errors,
        )
        return display.plot(ax, panels=panels, **plot_options)

    def plot(
        self,
        ax: Panels | None = None,
        *,
        panels: str | Sequence[str] | None = None,
        legend: bool = True,
        **line_style: Any,
    ) -> RegularizationPathDisplay:
        """Draw the panels.

        Parameters
        ----------
        ax : Axes or sequence of Axes, default=None
            Axes of the panels; those of a new figure if None.
        panels : str or sequence of str, default=None
            Names of curves; the usual ones that there are if None.
        legend : bool, default=True
            Whether to add a legend, above the panels and so never over the curves.
        **line_style
            Options of ``Axes.plot`` for every curve.

        Returns
        -------
        RegularizationPathDisplay
            This display.

        Raises
        ------
        ValueError
            If there is no such curve, or there are not as many axes as panels.
        """
        if panels is None:
            usual = ("score", "objective", "relative_gap", "support_size")
            panels = [name for name in usual if name in self.curves]
        panels = checks.names("panels", panels)
        if not panels or any(name not in self.curves for name in panels):
            raise ValueError(f"panels must name some of {tuple(self.curves)}, got {shown(panels)}")
        legend = as_flag("legend", legend)
        self.axes_ = panels_or_new(ax, len(panels), (4.4, 3.6), n_columns=3)
        self.figure_ = self.axes_[0].get_figure(root=True)
        self.lines_, self.bands_, self.marks_ = {}, {}, {}
        for panel, name in zip(self.axes_, panels, strict=True):
            self._draw(panel, name, line_style)
        key: dict[str, Any] = {}
        for panel in self.axes_:
            for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
                key.setdefault(label, handle)
        if "missing" in key:  # which is drawn first, below the rest
            key["missing"] = key.pop("missing")
        self.legend_ = legend_above(self.axes_, key, own=ax is None, wanted=legend)
        return self

    def _draw(self, panel: Axes, name: str, line_style: dict[str, Any]) -> None:
        """Draw one panel."""
        curve = self.curves[name]
        panel.set(xscale="log", xlabel="C", ylabel=name_of(name, self.metric))
        self._hatch_missing(panel, curve)
        look: dict[str, Any] = {"color": BLUE, "marker": "o", "markersize": 5}
        if name == "objective" and "dual_bound" in self.curves:
            bound = {**look, "color": GREEN, "marker": "s", "label": "dual bound", **line_style}
            look["label"] = "objective"
        (self.lines_[name],) = panel.plot(self.Cs, curve, **{**look, **line_style})
        self.bands_[name] = None
        if name == "score" and self.standard_errors is not None:
            ends = curve - self.standard_errors, curve + self.standard_errors
            area: dict[str, Any] = {"color": BLUE, "alpha": 0.2, "linewidth": 0}
            self.bands_[name] = panel.fill_between(
                self.Cs, *ends, label="± one standard error", **area
            )
        if "label" in look:
            (self.lines_["dual_bound"],) = panel.plot(self.Cs, self.curves["dual_bound"], **bound)
        ticks_at(panel.xaxis, self.Cs)
        self.marks_[name] = self._draw_marks(panel)
        _scale_axis(panel, name, curve)

    def _draw_marks(self, panel: Axes) -> list[Line2D]:
        """Draw the lines at the chosen C and at the smallest one that is nearly as good."""
        lines, simplest = [], self.one_standard_error_C_
        if self.chosen is not None:
            solid: dict[str, Any] = {"color": VERMILLION, "linewidth": 1.6, "zorder": 1.0}
            lines.append(panel.axvline(self.chosen, label="chosen C", **solid))
        if simplest is not None and simplest != self.chosen:
            dashed: dict[str, Any] = {"color": ink(), "linestyle": "dashed", "zorder": 1.0}
            label = "smallest C within one standard error"
            lines.append(panel.axvline(simplest, label=label, linewidth=1.2, **dashed))
        return lines

    def _hatch_missing(self, panel: Axes, curve: np.ndarray) -> None:
        """Hatch the values of C for which there is no number."""
        missing = np.flatnonzero(~np.isfinite(curve)).tolist() if self.Cs.size > 1 else []
        for number in missing:
            low, high = log_edges(self.Cs)[number : number + 2].tolist()
            label = "missing" if number == missing[0] else "_"
            panel.axvspan(low, high, label=label, linewidth=0, zorder=0.5, **MISSING)

    def _curve(self, name: str, values: Any) -> np.ndarray:
        """Return a quantity of all C."""
        return checks.one_for_each(name, values, self.Cs.size, "values of C")


def _scale_axis(panel: Axes, name: str, curve: np.ndarray) -> None:
    """Choose the vertical axis: logarithmic for what differs much, else from zero.

    Gaps are all below one tolerance, and what counts is how far.
    """
    known = curve[np.isfinite(curve)]
    if name == "score" or not known.size:
        return
    differs = known.min() > 0 and known.max() >= 10 * known.min()
    if differs and name != "relative_gap":
        panel.set_yscale("log")
    elif known.min() >= 0:
        panel.set_ylim(0.0, 1.08 * max(float(known.max()), 1e-12))
    if name == "relative_gap":
        panel.yaxis.set_major_formatter(PercentFormatter(1.0))
    elif name == "support_size":
        panel.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
