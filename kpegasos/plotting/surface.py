"""The validation surface of a search over C and γ.

The surface shows which cells are as good as the best one, so that a search can be judged and its
grid moved. The search is somebody else's: nothing but its results is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from kpegasos.plotting import checks
from kpegasos.plotting.searches import cells_of, results_of, scores_of
from kpegasos.plotting.style import AxesDisplay
from kpegasos.utils.validation import as_integer, optional

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
    metric : str, default="score"
        What the score is called.

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

    @checks.by_name
    def __init__(
        self,
        *,
        Cs: ArrayLike,
        gammas: ArrayLike,
        scores: ArrayLike,
        standard_errors: ArrayLike | None = None,
        chosen: int | None = None,
        metric: str = "score",
    ) -> None:
        self.Cs, self.gammas = checks.increasing("Cs", Cs), checks.increasing("gammas", gammas)
        self.scores = self._table("scores", scores)
        errors = np.full(self.scores.shape, np.nan) if standard_errors is None else standard_errors
        self.standard_errors = self._table("standard_errors", errors)
        self.metric = checks.name("metric", metric)
        self.chosen = optional(as_integer, "chosen", chosen, least=0, most=self.scores.size - 1)
        self.within_ = np.zeros(self.scores.shape, dtype=bool)
        if np.isfinite(self.scores).any():
            best = int(np.nanargmax(self.scores))
            limit = self.scores.flat[best] - self.standard_errors.flat[best]
            self.within_ = self.scores >= limit
            self.chosen = best if chosen is None else self.chosen

    @classmethod
    def from_estimator(
        cls, search: Any, *, metric: str = "score", ax: Axes | None = None, **plot_options: Any
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
        metric : str, default="score"
            Which score, where there are several: the end of ``mean_test_score``.
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
        scores, errors = scores_of(results, metric)
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
            metric=metric,
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
        known = self.scores[np.isfinite(self.scores)]
        options: dict[str, Any] = {"origin": "lower", "aspect": "auto", "cmap": "cividis"}
        options["vmin"] = np.median(known) if known.size else None
        self.image_ = ax.imshow(self.scores, **options)
        ax.set(xlabel="C", ylabel="γ")
        for axis, values in ((ax.xaxis, self.Cs), (ax.yaxis, self.gammas)):
            some = range(0, values.size, -(-values.size // 10))
            axis.set_ticks(list(some), [f"{float(f'{values[at]:.3g}'):g}" for at in some])
        name = "mean score" if self.metric == "score" else f"mean {self.metric.replace('_', ' ')}"
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, label=name, extend="min")
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
            size: dict[str, Any] = {"marker": "*", "markersize": 13}
            (self.star_,) = ax.plot(column, row + 0.3, label="chosen cell", **size, **_MARK)
        few, middle = max(self.scores.shape) <= 7, np.mean(self.image_.get_clim())
        for (row, column), score in np.ndenumerate(self.scores) if few else ():
            if np.isfinite(score):
                color = "black" if score > middle else "white"
                style: dict[str, Any] = {"ha": "center", "va": "center", "color": color}
                text = ax.text(column, row, f"{score:.3f}", fontsize="small", **style)
                self.texts_.append(text)

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
