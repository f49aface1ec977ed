"""The regularisation path: the score of a search, or the objective of solutions, against C.

The numbers come from one γ of a search, or from a path of solutions; neither is computed here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from kpegasos.plotting import checks
from kpegasos.plotting.searches import cells_of, column_of, results_of, scores_of
from kpegasos.plotting.style import BLUE, GREEN, VERMILLION, AxesDisplay, ink, log_ticks
from kpegasos.utils.validation import as_number, optional, shown


class RegularizationPathDisplay(AxesDisplay):
    """A quantity against C: score, objective, certified gap, number of support vectors.

    Scores have a band of one standard error. Two lines mark the chosen C and the smallest C whose
    score is within one standard error of the best, which the one-standard-error rule chooses.

    Parameters
    ----------
    Cs : array-like of shape (n_Cs,)
        Values of C, increasing.
    values : array-like of shape (n_Cs,)
        The quantity at each C.
    standard_errors : array-like of shape (n_Cs,), default=None
        Standard errors of scores, of which the largest is the best.
    dual_bounds : array-like of shape (n_Cs,), default=None
        Lower bounds of objectives, drawn below them.
    chosen : float, default=None
        The chosen C; no line if None.
    name : str, default="score"
        What the quantity is called.

    Attributes
    ----------
    one_standard_error_C_ : float or None
        Smallest C whose score is within one standard error of the best; None without a standard
        error.
    line_ : Line2D
        The curve.
    bound_ : Line2D or None
        The curve of the dual bounds; None without them.
    band_ : Collection or None
        The band of one standard error; None without one.
    marks_ : list of Line2D
        The vertical lines: at the chosen C, and at ``one_standard_error_C_`` where it is another.
    legend_ : Legend or None
        The legend in the axes; None if there is none.
    ax_ : Axes
        The axes that the curve was drawn on.
    figure_ : Figure
        The figure of these axes.

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
    >>> display.ax_.get_ylabel()
    'mean score'
    """

    @checks.by_name
    def __init__(
        self,
        *,
        Cs: ArrayLike,
        values: ArrayLike,
        standard_errors: ArrayLike | None = None,
        dual_bounds: ArrayLike | None = None,
        chosen: float | None = None,
        name: str = "score",
    ) -> None:
        self.Cs = checks.increasing("Cs", Cs, least=1)
        self.values = self._curve("values", values)
        self.standard_errors = optional(self._curve, "standard_errors", standard_errors)
        self.dual_bounds = optional(self._curve, "dual_bounds", dual_bounds)
        self.chosen = optional(as_number, "chosen", chosen, positive=True)
        self.name = checks.name("name", name)
        self.one_standard_error_C_: float | None = None
        if self.standard_errors is not None and np.isfinite(self.values).any():
            best = np.nanargmax(self.values)
            near = self.Cs[self.values >= self.values[best] - self.standard_errors[best]]
            self.one_standard_error_C_ = float(near[0]) if near.size else None

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        *,
        y: str = "score",
        metric: str = "score",
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> RegularizationPathDisplay:
        """Draw what a fitted search says about C.

        Other parameters that were searched have their values of the chosen cell. Of a cell that was
        tried several times, as by successive halving, the last row counts.

        Parameters
        ----------
        search : object
            Fitted search over C with ``cv_results_``, columns as those of ``GridSearchCV`` in a
            mapping or a frame of pandas. C may be a parameter of a pipeline's step. Without
            ``best_index_``, the chosen cell is that of the highest score.
        y : str, default="score"
            What to show: ``"score"``, or another column of the results, such as
            ``"mean_n_support"``, ``"max_relative_gap"`` or ``"mean_fit_time"``.
        metric : str, default="score"
            Which score, where there are several: the end of ``mean_test_score``.
        ax : Axes, default=None
            Axes to draw on; those of a new figure if None.
        **plot_options
            Options of `plot`.

        Returns
        -------
        RegularizationPathDisplay
            The display, drawn.

        Raises
        ------
        NotFittedError
            If it is no search, or not fitted.
        ValueError
            If it is no search over numbers C, or there is no such column.
        """
        results, best_index = results_of(search)
        scores, errors = scores_of(results, metric)
        rows, chosen, (C,) = cells_of(results, ("C",), scores, best_index)
        Cs, last = np.unique(C[::-1], return_index=True)
        at = rows[::-1][last]
        is_score = checks.name("y", y) == "score"
        values = scores if is_score else column_of(results, y, "y", scores.size)
        display = cls(
            Cs=Cs,
            values=values[at],
            standard_errors=errors[at] if is_score and np.isfinite(errors[at]).any() else None,
            chosen=None if chosen is None else float(C[rows == chosen][0]),
            name=f"mean {metric.replace('_', ' ')}" if is_score else y.replace("_", " "),
        )
        return display.plot(ax, **plot_options)

    @classmethod
    def from_path(
        cls, path: Any, *, y: str = "objectives", ax: Axes | None = None, **plot_options: Any
    ) -> RegularizationPathDisplay:
        """Draw a path of solutions.

        Parameters
        ----------
        path : object
            What `kpegasos.regularization_path` returns.
        y : str, default="objectives"
            What to show: ``"objectives"`` (with the dual bounds), ``"relative_gaps"``,
            ``"n_support"``, or another attribute with a number for each C.
        ax : Axes, default=None
            Axes to draw on; those of a new figure if None.
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
        bound = "dual_bounds" if checks.name("y", y) == "objectives" else None
        for name in ("Cs", y, *([bound] if bound else ())):
            if not hasattr(path, name):
                raise ValueError(f"path must have what y names, got none of {shown(name)} instead")
        Cs = checks.finite("path.Cs", path.Cs, ndim=1)
        order = np.argsort(Cs)

        def curve(name: str) -> np.ndarray:
            values = getattr(path, name)
            return checks.one_for_each(f"path.{name}", values, Cs.size, "values of C")[order]

        bounds = curve(bound) if bound else None
        display = cls(Cs=Cs[order], values=curve(y), dual_bounds=bounds, name=y.replace("_", " "))
        return display.plot(ax, **plot_options)

    def plot(
        self, ax: Axes | None = None, *, legend: bool = True, **line_style: Any
    ) -> RegularizationPathDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : Axes, default=None
            Axes to draw on; those of a new figure if None.
        legend : bool, default=True
            Whether to add a legend, of what that of no other axes of the figure says already.
        **line_style
            Options of ``Axes.plot`` for the curve.

        Returns
        -------
        RegularizationPathDisplay
            This display.
        """
        ax = self._take_axes(ax)
        look: dict[str, Any] = {"color": BLUE, "marker": "o", "markersize": 5}
        look["label"] = "_" if self.dual_bounds is None else self.name
        (self.line_,) = ax.plot(self.Cs, self.values, **{**look, **line_style})
        self.band_ = self.bound_ = None
        if self.standard_errors is not None:
            low, high = self.values - self.standard_errors, self.values + self.standard_errors
            area: dict[str, Any] = {"color": BLUE, "alpha": 0.2, "linewidth": 0}
            self.band_ = ax.fill_between(self.Cs, low, high, label="± one standard error", **area)
        if self.dual_bounds is not None:
            look |= {"color": GREEN, "marker": "s", "label": "dual bound"}
            (self.bound_,) = ax.plot(self.Cs, self.dual_bounds, **look)
        known = self.values[np.isfinite(self.values)]
        if known.size and 0 < 10 * known.min() <= known.max():
            ax.set_yscale("log")
        ax.set(xscale="log", xlabel="C", ylabel=self.name)
        log_ticks(ax)
        self._draw_marks(ax)
        self._add_legend(legend, *ax.get_legend_handles_labels())
        return self

    def _draw_marks(self, ax: Axes) -> None:
        """Draw the lines at the chosen C and at the smallest one that is nearly as good."""
        self.marks_, simplest = [], self.one_standard_error_C_
        if self.chosen is not None:
            solid: dict[str, Any] = {"color": VERMILLION, "linewidth": 1.6, "zorder": 1.0}
            self.marks_.append(ax.axvline(self.chosen, label="chosen C", **solid))
        if simplest is not None and simplest != self.chosen:
            dashed: dict[str, Any] = {"color": ink(), "linestyle": "dashed", "linewidth": 1.2}
            label = "smallest C within one standard error"
            self.marks_.append(ax.axvline(simplest, label=label, zorder=1.0, **dashed))

    def _curve(self, name: str, values: Any) -> np.ndarray:
        """Return a quantity of all C."""
        return checks.one_for_each(name, values, self.Cs.size, "values of C")
