"""Pictures of a search: its score against C, or over C and γ.

Nothing is computed here. The columns of a search are those of
`sklearn.model_selection.GridSearchCV`, whoever has filled them, as a mapping or a frame of pandas.
Names of parameters may have a prefix, as the steps of a pipeline give them.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from kpegasos.plotting import checks
from kpegasos.plotting.style import BLUE, VERMILLION, AxesDisplay, ink, log_ticks
from kpegasos.utils.validation import as_integer, as_number, is_number, optional, shown


class RegularizationPathDisplay(AxesDisplay):
    """A quantity against C: score, certified gap, number of support vectors.

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

    def __init__(
        self,
        *,
        Cs: ArrayLike,
        values: ArrayLike,
        standard_errors: ArrayLike | None = None,
        chosen: float | None = None,
        name: str = "score",
    ) -> None:
        self.Cs = checks.increasing("Cs", Cs, least=1)
        self.values = self._curve("values", values)
        self.standard_errors = optional(self._curve, "standard_errors", standard_errors)
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
        scores, errors = scores_of(results)
        rows, chosen, (C,) = cells_of(results, ("C",), scores, best_index)
        Cs, last = np.unique(C[::-1], return_index=True)
        at = rows[::-1][last]
        is_score = checks.name("y", y) == "score"
        values = scores if is_score else column_of(results, y, scores.size)
        display = cls(
            Cs=Cs,
            values=values[at],
            standard_errors=errors[at] if is_score and np.isfinite(errors[at]).any() else None,
            chosen=None if chosen is None else float(C[rows == chosen][0]),
            name="mean score" if is_score else y.replace("_", " "),
        )
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
        look: dict[str, Any] = {"color": BLUE, "marker": "o", "markersize": 5, "label": "_"}
        (self.line_,) = ax.plot(self.Cs, self.values, **{**look, **line_style})
        self.band_ = None
        if self.standard_errors is not None:
            low, high = self.values - self.standard_errors, self.values + self.standard_errors
            area: dict[str, Any] = {"color": BLUE, "alpha": 0.2, "linewidth": 0}
            self.band_ = ax.fill_between(self.Cs, low, high, label="± one standard error", **area)
        finite = self.values[np.isfinite(self.values)]
        if finite.size and 0 < 10 * finite.min() <= finite.max():
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


#: Marks above the numbers, which stand out from dark cells and from light ones.
_MARK: dict[str, Any] = {"linestyle": "", "color": "white", "markeredgecolor": "black"}
#: Above the axes, so that no cell is hidden.
_ABOVE: dict[str, Any] = {
    "loc": "lower left",
    "bbox_to_anchor": (0.0, 1.0),
    "borderaxespad": 0.2,
    "frameon": False,
}


class ValidationSurfaceDisplay(AxesDisplay):
    """Heat map of the score of a search over C and γ.

    A star marks the chosen cell, a dot each cell whose score is within one standard error of the
    best: the folds do not tell them from it. The worse half of the cells has one colour, since they
    are often many times worse than the good ones differ. Cells without a score are blank.

    Parameters
    ----------
    Cs : array-like of shape (n_Cs,)
        Values of C, increasing.
    gammas : array-like of shape (n_gammas,)
        Values of γ, increasing.
    scores : array-like of shape (n_gammas, n_Cs)
        Mean scores, larger is better; NaN where there is none.
    standard_errors : array-like of shape (n_gammas, n_Cs), default=None
        Their standard errors; without that of the best cell there are no dots.
    chosen : int, default=None
        Number of the chosen cell, counted along the rows; that of the highest score if None.

    Attributes
    ----------
    within_ : ndarray of shape (n_gammas, n_Cs), bool
        Cells within one standard error of the best.
    image_ : AxesImage
        The heat map.
    colorbar_ : Colorbar
        Its colour bar.
    texts_ : list of Text
        The numbers in the cells, row by row; an empty list if there are none.
    dots_ : Line2D or None
        The dots in the cells within one standard error; None if the error is not known.
    star_ : Line2D or None
        The star in the chosen cell; None if no cell has a score.
    legend_ : Legend or None
        The legend above the axes; None if there is none.
    ax_ : Axes
        The axes that the surface was drawn on.
    figure_ : Figure
        The figure of these axes.

    Raises
    ------
    ValueError
        If there are not two values along each axis, in increasing order, or shapes do not fit.

    See Also
    --------
    ValidationSurfaceDisplay.from_estimator : From a fitted search.
    RegularizationPathDisplay : One γ, or none.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.svm import SVC
    >>> from kpegasos.plotting import ValidationSurfaceDisplay
    >>> search = GridSearchCV(SVC(), {"C": [0.1, 1, 10], "gamma": [0.01, 0.1]})
    >>> search = search.fit(*load_iris(return_X_y=True))
    >>> display = ValidationSurfaceDisplay.from_estimator(search, ax=Figure().subplots())
    >>> display.scores.shape
    (2, 3)
    >>> [text.get_text() for text in display.legend_.get_texts()]
    ['within one standard error of the best', 'chosen cell']
    """

    def __init__(
        self,
        *,
        Cs: ArrayLike,
        gammas: ArrayLike,
        scores: ArrayLike,
        standard_errors: ArrayLike | None = None,
        chosen: int | None = None,
    ) -> None:
        self.Cs, self.gammas = checks.increasing("Cs", Cs), checks.increasing("gammas", gammas)
        self.scores = self._table("scores", scores)
        errors = np.full(self.scores.shape, np.nan) if standard_errors is None else standard_errors
        self.standard_errors = self._table("standard_errors", errors)
        self.chosen = optional(as_integer, "chosen", chosen, least=0, most=self.scores.size - 1)
        self.within_ = np.zeros(self.scores.shape, dtype=bool)
        if np.isfinite(self.scores).any():
            best = int(np.nanargmax(self.scores))
            limit = self.scores.flat[best] - self.standard_errors.flat[best]
            self.within_ = self.scores >= limit
            self.chosen = best if chosen is None else self.chosen

    @classmethod
    def from_estimator(
        cls, search: Any, *, ax: Axes | None = None, **plot_options: Any
    ) -> ValidationSurfaceDisplay:
        """Draw the surface of a fitted search.

        Other parameters that were searched have their values of the chosen cell. Of a cell that was
        tried several times, as by successive halving, the last row counts.

        Parameters
        ----------
        search : object
            Fitted search over C and γ with ``cv_results_``, columns as those of ``GridSearchCV`` in
            a mapping or a frame of pandas. The two may be parameters of a pipeline's step. Without
            ``best_index_``, the chosen cell is that of the highest score.
        ax : Axes, default=None
            Axes to draw on; those of a new figure if None.
        **plot_options
            Options of `plot`.

        Returns
        -------
        ValidationSurfaceDisplay
            The display, drawn.

        Raises
        ------
        NotFittedError
            If it is no search, or not fitted.
        ValueError
            If it is no search over a grid of numbers C and γ, or there is no such score.
        """
        results, best_index = results_of(search)
        scores, errors = scores_of(results)
        rows, chosen, (C, gamma) = cells_of(results, ("C", "gamma"), scores, best_index)
        Cs, column = np.unique(C, return_inverse=True)
        gammas, line = np.unique(gamma, return_inverse=True)
        _check_grid(rows.size, Cs.size, gammas.size)
        tables = np.full((2, gammas.size, Cs.size), np.nan)
        tables[:, line, column] = scores[rows], errors[rows]
        at = (line * Cs.size + column)[rows == chosen]
        display = cls(
            Cs=Cs,
            gammas=gammas,
            scores=tables[0],
            standard_errors=tables[1],
            chosen=int(at[0]) if at.size else None,
        )
        return display.plot(ax, **plot_options)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> ValidationSurfaceDisplay:
        """Draw the surface, with numbers in the cells up to seven along each axis.

        Parameters
        ----------
        ax : Axes, default=None
            Axes to draw on; those of a new figure if None.
        legend : bool, default=True
            Whether to add a legend, of what that of no other axes of the figure says already.

        Returns
        -------
        ValidationSurfaceDisplay
            This display.
        """
        ax = self._take_axes(ax)
        finite = self.scores[np.isfinite(self.scores)]
        options: dict[str, Any] = {"origin": "lower", "aspect": "auto", "cmap": "cividis"}
        options["vmin"] = np.median(finite) if finite.size else None
        self.image_ = ax.imshow(self.scores, **options)
        ax.set(xlabel="C", ylabel="γ")
        for axis, values in ((ax.xaxis, self.Cs), (ax.yaxis, self.gammas)):
            some = range(0, values.size, -(-values.size // 10))
            axis.set_ticks(list(some), [f"{float(f'{values[at]:.3g}'):g}" for at in some])
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, label="mean score", extend="min")
        self._draw_marks(ax)
        self._add_legend(legend, *ax.get_legend_handles_labels(), **_ABOVE)
        return self

    def _draw_marks(self, ax: Axes) -> None:
        """Write the scores, and mark the chosen cell and those that are as good."""
        self.texts_, self.dots_, self.star_ = [], None, None
        if self.within_.any():
            rows, columns = np.nonzero(self.within_)
            label = "within one standard error of the best"
            (self.dots_,) = ax.plot(columns, rows + 0.3, marker="o", label=label, **_MARK)
        if self.chosen is not None:
            row, column = divmod(self.chosen, self.Cs.size)
            star: dict[str, Any] = {"marker": "*", "markersize": 13}
            (self.star_,) = ax.plot(column, row + 0.3, label="chosen cell", **star, **_MARK)
        few, middle = max(self.scores.shape) <= 7, np.mean(self.image_.get_clim())
        # Those of squared errors have any size, and would overlap or all be 0.000.
        largest = np.nanmax(np.abs(self.scores), initial=0.0)
        form, size = (".3f", "small") if 0.1 <= largest < 100 else (".3g", "x-small")
        for (row, column), score in np.ndenumerate(self.scores) if few else ():
            if np.isfinite(score):
                color = "black" if score > middle else "white"
                style: dict[str, Any] = {"ha": "center", "va": "center", "color": color}
                self.texts_.append(ax.text(column, row, f"{score:{form}}", fontsize=size, **style))

    def _table(self, name: str, values: Any) -> np.ndarray:
        """Return a quantity of all cells.

        Raises
        ------
        ValueError
            If it has another shape.
        """
        table = checks.numbers(name, values)
        if table.shape != (self.gammas.size, self.Cs.size):
            raise ValueError(
                f"{name} must have shape ({self.gammas.size}, {self.Cs.size}), a row for each γ "
                f"and a column for each C, got {table.shape}"
            )
        return table


def _check_grid(n_cells: int, n_Cs: int, n_gammas: int) -> None:
    """Check that cells lie on a grid.

    Raises
    ------
    ValueError
        If they are on a line, or as scattered as a random search leaves them.
    """
    if min(n_Cs, n_gammas) < 2:
        raise ValueError(
            f"cv_results must have two values or more of C and of gamma, got {n_Cs} and "
            f"{n_gammas}; RegularizationPathDisplay shows one gamma"
        )
    if n_cells < n_Cs + n_gammas - 1:
        raise ValueError(
            f"cv_results must have a grid of C and gamma, got {n_cells} cells of {n_Cs} and "
            f"{n_gammas} values"
        )


# --- what searches have found ---


def results_of(search: Any) -> tuple[Any, int | None]:
    """Return the results of a fitted search, and the index of its chosen cell if it has one.

    Raises
    ------
    NotFittedError
        If it has none.
    """
    results = getattr(search, "cv_results_", None)
    if not (isinstance(results, Mapping) or hasattr(results, "columns")):
        raise NotFittedError(
            f"search must be a fitted search with cv_results_, got {shown(search)}"
        )
    return results, getattr(search, "best_index_", None)


def column_of(cv_results: Any, name: str, size: int | None = None) -> np.ndarray:
    """Return a column of numbers, one for each cell.

    Raises
    ------
    ValueError
        If there is no such column, or it has another length.
    """
    if name not in cv_results:
        raise ValueError(f"cv_results must have a column {name!r}, got none")
    column = checks.numbers(f"cv_results[{name!r}]", cv_results[name], ndim=1)
    if size is not None:
        checks.one_for_each(f"cv_results[{name!r}]", column, size, "cells")
    elif not column.size:
        raise ValueError("cv_results must have cells, got none")
    return column


def scores_of(cv_results: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean score of each cell, and its standard error, NaN of a single split.

    ``std_test_score`` is divided by the square root of one less than the number of splits:
    scikit-learn's deviation is that of the splits themselves, not of what they are drawn from.
    """
    scores = column_of(cv_results, "mean_test_score")
    n_splits = 0
    while f"split{n_splits}_test_score" in cv_results:
        n_splits += 1
    if n_splits < 2:
        return scores, np.full(scores.size, np.nan)
    deviations = column_of(cv_results, "std_test_score", scores.size)
    return scores, deviations / np.sqrt(n_splits - 1)


def cells_of(
    cv_results: Any, names: tuple[str, ...], scores: np.ndarray, best_index: Any
) -> tuple[np.ndarray, int | None, list[np.ndarray]]:
    """Return the cells that differ from the chosen one in some parameters only.

    Parameters
    ----------
    cv_results : mapping of str to array-like, or pandas.DataFrame
        Columns as in ``GridSearchCV.cv_results_``.
    names : tuple of str
        Parameters that may differ, whose values are positive numbers.
    scores : ndarray of shape (n_cells,)
        Mean scores.
    best_index : int or None
        Row of the chosen cell; that of the highest mean score if None.

    Returns
    -------
    rows : ndarray of int
    chosen : int or None
        Row of the chosen cell; None if no cell has a score.
    values : list of ndarray of shape (n_rows,)
        Values of each parameter.
    """
    parameters = {
        str(name): list(cv_results[name]) for name in cv_results if str(name).startswith("param_")
    }
    for name, values in parameters.items():
        if len(values) != scores.size:
            raise ValueError(
                f"cv_results[{name!r}] must have an entry for each of the {scores.size} cells, "
                f"got {len(values)}"
            )
    varying = [_name_of(name, list(parameters)) for name in names]
    chosen = optional(as_integer, "best_index", best_index, least=0, most=scores.size - 1)
    if chosen is None and np.isfinite(scores).any():
        chosen = int(np.nanargmax(scores))
    rows = np.arange(scores.size)
    for name, values in parameters.items():
        if name not in varying:
            # Values may be anything, estimators too; what is missing reads alike as well.
            texts = np.array([str(value) for value in values])
            rows = rows[texts[rows] == texts[chosen or 0]]
    return rows, chosen, [_positive(name, parameters[name], rows) for name in varying]


def _name_of(parameter: str, columns: list[str]) -> str:
    """Return the column of a parameter, whichever step it belongs to."""
    fits = [name for name in columns if name.split("__")[-1] == parameter]
    fits += [name for name in columns if name == f"param_{parameter}"]
    if len(fits) != 1:
        other = "; RegularizationPathDisplay needs C only" if parameter == "gamma" else ""
        raise ValueError(
            f"cv_results must have one parameter {parameter}, got {shown(fits or columns)}{other}"
        )
    return fits[0]


def _positive(name: str, values: list[Any], rows: np.ndarray) -> np.ndarray:
    """Return the values of a parameter as positive numbers."""
    kept = [values[row] for row in rows]
    for value in kept:
        if not (is_number(value, Real) and 0.0 < float(value) < np.inf):
            raise ValueError(
                f"cv_results must have a positive number for {name} in each cell that is shown, "
                f"got {shown(value)}"
            )
    return np.array(kept, dtype=float)
