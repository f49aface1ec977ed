"""The validation surface of a search: its score over C and γ, and what each cell cost.

It shows which cells are as good as the best one, so that a search can be judged and its grid moved.
The search itself is somebody else's; its ``cv_results_`` are all that is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PatchCollection, QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from numpy.typing import ArrayLike

from kpegasos.plotting import checks
from kpegasos.plotting.heat import HeatMap, check_format, color_map, key_of
from kpegasos.plotting.searches import (
    QUANTITIES,
    SearchResults,
    check_grid,
    results_of,
    title_of,
)
from kpegasos.plotting.style import Panels, legend_above, panels_or_new
from kpegasos.utils.validation import as_flag, optional, shown

#: Up to so many values along an axis have their numbers in the cells.
_MOST_NUMBERS = 7


class ValidationSurfaceDisplay:
    """Heat maps over C and γ: the score of a search, and further quantities, a panel each.

    The chosen cell is marked. A line surrounds the cells whose score is within one standard error
    of the best: the folds do not tell them from it. Cells without a value are hatched.

    Parameters
    ----------
    Cs : array-like of shape (n_Cs,)
        Values of C, increasing.
    gammas : array-like of shape (n_gammas,)
        Values of γ, increasing.
    scores : array-like of shape (n_gammas, n_Cs)
        Mean scores, larger is better; NaN where there is none.
    standard_errors : array-like of shape (n_gammas, n_Cs), default=None
        Their standard errors; without that of the best cell there is no line.
    quantities : mapping of str to array-like of shape (n_gammas, n_Cs), default=None
        Further quantities, such as ``"support_size"``, ``"relative_gap"`` and ``"seconds"``.
    chosen : tuple of float, default=None
        C and γ of the chosen cell; those of the highest score if None.
    metric : str, default="score"
        What the score is called.

    Attributes
    ----------
    within_ : ndarray of shape (n_gammas, n_Cs), bool
        Cells within one standard error of the best.
    axes_ : ndarray of Axes of shape (n_panels,)
        The axes of each panel.
    images_ : dict of str to QuadMesh
        The heat map of each panel.
    colorbars_ : dict of str to Colorbar
        The colour bar of each panel.
    texts_ : dict of str to list of Text
        The numbers in the cells of each panel, row by row; an empty list if there are none.
    missing_ : dict of str to PatchCollection or None
        The hatched cells of each panel; None if there are none.
    outlines_ : dict of str to LineCollection or None
        The line around the cells within one standard error; None if the error is not known.
    chosen_ : dict of str to Rectangle or None
        The frame of the chosen cell; None if no cell has a score.
    legend_ : Legend or None
        The legend above the panels; None if there is none.
    figure_ : Figure
        The figure of the panels.

    Raises
    ------
    ValueError
        If there are not two values along each axis, in increasing order, or shapes do not fit.

    See Also
    --------
    ValidationSurfaceDisplay.from_estimator : From a fitted search.
    ValidationSurfaceDisplay.from_results : From the results of a search.
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
    ['chosen cell', 'within one standard error of the best']
    """

    within_: np.ndarray
    axes_: np.ndarray
    images_: dict[str, QuadMesh]
    colorbars_: dict[str, Colorbar]
    texts_: dict[str, list[Text]]
    missing_: dict[str, PatchCollection | None]
    outlines_: dict[str, LineCollection | None]
    chosen_: dict[str, Rectangle | None]
    legend_: Legend | None
    figure_: Figure

    def __init__(
        self,
        *,
        Cs: ArrayLike,
        gammas: ArrayLike,
        scores: ArrayLike,
        standard_errors: ArrayLike | None = None,
        quantities: Mapping[str, ArrayLike] | None = None,
        chosen: tuple[float, float] | None = None,
        metric: str = "score",
    ) -> None:
        self.Cs, self.gammas = checks.increasing("Cs", Cs), checks.increasing("gammas", gammas)
        self.scores = self._table("scores", scores)
        errors = np.full(self.scores.shape, np.nan) if standard_errors is None else standard_errors
        self.standard_errors = self._table("standard_errors", errors)
        self.quantities = {
            name: self._table(f"quantities[{name!r}]", table)
            for name, table in checks.mapping(
                "quantities", {} if quantities is None else quantities
            ).items()
        }
        self.metric = checks.name("metric", metric)
        self.within_ = self._within()
        self.chosen = self._best() if chosen is None else self._cell_at(chosen)

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        *,
        metric: str = "score",
        where: Mapping[str, Any] | None = None,
        panels: str | Sequence[str] = ("score",),
        ax: Panels | None = None,
        **plot_options: Any,
    ) -> ValidationSurfaceDisplay:
        """Draw the surface of a fitted search.

        Parameters
        ----------
        search : object
            Fitted search over C and γ with ``cv_results_``: `kpegasos.PegasosSVCCV`, or a search of
            scikit-learn's. The two may be parameters of a pipeline's step.
        metric : str, default="score"
            Which score, where the search has several.
        where : mapping of str to object, default=None
            Values of other parameters that were searched; those of the chosen cell where it has
            none.
        panels : str or sequence of str, default=("score",)
            What to show: ``"score"``, ``"support_size"`` and ``"seconds"`` (means of the folds),
            ``"relative_gap"`` (the largest of the folds), or a column of the results.
        ax : Axes or sequence of Axes, default=None
            Axes of the panels; those of a new figure if None.
        **plot_options
            Options of `plot`.

        Returns
        -------
        ValidationSurfaceDisplay
            The display, drawn.

        Raises
        ------
        NotFittedError
            If the search is not fitted.
        ValueError
            If it is no search over numbers C and γ, or there is no such column.
        """
        results, best_index = results_of(search)
        return cls.from_results(
            results,
            best_index=best_index,
            metric=metric,
            where=where,
            panels=panels,
            ax=ax,
            **plot_options,
        )

    @classmethod
    def from_results(
        cls,
        cv_results: Any,
        *,
        best_index: int | None = None,
        metric: str = "score",
        where: Mapping[str, Any] | None = None,
        panels: str | Sequence[str] = ("score",),
        ax: Panels | None = None,
        **plot_options: Any,
    ) -> ValidationSurfaceDisplay:
        """Draw the surface from the results of a search.

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
            Values of other parameters that were searched; those of the chosen cell where it has
            none.
        panels : str or sequence of str, default=("score",)
            What to show: ``"score"``, ``"support_size"`` and ``"seconds"`` (means of the folds),
            ``"relative_gap"`` (the largest of the folds), or a column of the results.
        ax : Axes or sequence of Axes, default=None
            Axes of the panels; those of a new figure if None.
        **plot_options
            Options of `plot`.

        Returns
        -------
        ValidationSurfaceDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If these are no results of a grid of C and γ, or there is no such column.
        """
        panels = checks.names("panels", panels)
        results = SearchResults(cv_results, metric, best_index)
        rows, best = results.along(("C", "gamma"), where)
        Cs, column = np.unique(results.numbers_of("C", rows), return_inverse=True)
        gammas, line = np.unique(results.numbers_of("gamma", rows), return_inverse=True)
        check_grid(rows.size, Cs.size, gammas.size)

        def table(values: np.ndarray) -> np.ndarray:
            cells = np.full((gammas.size, Cs.size), np.nan)
            cells[line, column] = values[rows]
            return cells

        at = None if best is None else int(np.flatnonzero(rows == best)[0])
        display = cls(
            Cs=Cs,
            gammas=gammas,
            scores=table(results.scores),
            standard_errors=table(results.standard_errors()),
            quantities={
                name: table(results.values(name))
                for name in {*panels, *QUANTITIES}
                if name != "score" and (name in panels or results.has(name))
            },
            chosen=None if at is None else (Cs[column[at]], gammas[line[at]]),
            metric=metric,
        )
        return display.plot(ax, panels=panels, **plot_options)

    def plot(
        self,
        ax: Panels | None = None,
        *,
        panels: str | Sequence[str] = ("score",),
        cmap: Any = "cividis",
        annotate: bool | None = None,
        values_format: str | None = None,
        legend: bool = True,
    ) -> ValidationSurfaceDisplay:
        """Draw the panels.

        Parameters
        ----------
        ax : Axes or sequence of Axes, default=None
            Axes of the panels; those of a new figure if None.
        panels : str or sequence of str, default=("score",)
            What to show: ``"score"`` or names of quantities.
        cmap : str, Colormap or None, default="cividis"
            Colour map, matplotlib's default if None. The median of the scores has the colour in
            the middle, so that the good ones can be told apart. Colours are logarithmic for
            positive quantities that differ by a factor of 10 or more, but for gaps.
        annotate : bool, default=None
            Whether to write the values into the cells; if None, up to seven along each axis.
        values_format : str, default=None
            Format of the values in the cells; one that suits each quantity if None.
        legend : bool, default=True
            Whether to add a legend, above the panels and so never over the cells.

        Returns
        -------
        ValidationSurfaceDisplay
            This display.

        Raises
        ------
        ValueError
            If there is no such quantity, or there are not as many axes as panels.
        """
        panels = checks.names("panels", panels)
        known = {"score": self.scores, **self.quantities}
        if not panels or any(name not in known for name in panels):
            raise ValueError(f"panels must name some of {tuple(known)}, got {shown(panels)}")
        annotate, legend = optional(as_flag, "annotate", annotate), as_flag("legend", legend)
        check_format(values_format)
        cmap = color_map(cmap)
        if annotate is None:
            annotate = max(self.scores.shape) <= _MOST_NUMBERS
        self.axes_ = panels_or_new(ax, len(panels), (5.2, 4.2), n_columns=2)
        self.figure_ = self.axes_[0].get_figure(root=True)
        self.images_, self.colorbars_, self.texts_ = {}, {}, {}
        self.missing_, self.outlines_, self.chosen_ = {}, {}, {}
        maps = []
        for panel, name in zip(self.axes_, panels, strict=True):
            heat_map = HeatMap(panel, self.Cs, self.gammas, name, known[name])
            title = title_of(name, self.metric)
            self.images_[name], self.colorbars_[name] = heat_map.draw(cmap, title)
            heat_map.mark(self.within_ if self.within_.any() else None, self.chosen)
            self.texts_[name] = []
            if annotate:
                self.texts_[name] = heat_map.write(self.images_[name], values_format)
            self.missing_[name], self.outlines_[name] = heat_map.missing, heat_map.outline
            self.chosen_[name] = heat_map.chosen
            maps.append(heat_map)
        key = key_of(maps)
        self.legend_ = legend_above(self.axes_, key, own=ax is None, wanted=legend)
        return self

    def _within(self) -> np.ndarray:
        """Return which cells are within one standard error of the best."""
        best = self._best()
        limit = np.nan if best is None else self.scores[best] - self.standard_errors[best]
        return self.scores >= limit

    def _best(self) -> tuple[int, int] | None:
        """Return the position of the highest score."""
        if not np.isfinite(self.scores).any():
            return None
        row, column = np.unravel_index(np.nanargmax(self.scores), self.scores.shape)
        return int(row), int(column)

    def _cell_at(self, chosen: Any) -> tuple[int, int]:
        """Return the position of the cell of some C and γ.

        Raises
        ------
        ValueError
            If there is no such cell.
        """
        at = checks.numbers("chosen", chosen, ndim=1)
        if at.size == 2:
            row, column = np.isclose(self.gammas, at[1]), np.isclose(self.Cs, at[0])
            if row.any() and column.any():
                return int(np.flatnonzero(row)[0]), int(np.flatnonzero(column)[0])
        raise ValueError(f"chosen must be a C and a γ of the surface, got {shown(chosen)} instead")

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
