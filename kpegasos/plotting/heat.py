"""Heat maps: what pairs of classes cost and reached, and the validation surface of a search.

The surface shows which cells over C and γ are as good as the best one, so that a search can be
judged and its grid moved. The search is somebody else's; its ``cv_results_`` are all that is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps, patheffects
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PatchCollection, QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.text import Text
from matplotlib.ticker import PercentFormatter, ScalarFormatter
from numpy.typing import ArrayLike

from kpegasos.plotting import checks
from kpegasos.plotting.searches import QUANTITIES, SearchResults, log_edges, name_of, results_of
from kpegasos.plotting.style import (
    MISSING,
    VERMILLION,
    Panels,
    legend_above,
    panels_or_new,
    ticks_at,
    title_of,
)
from kpegasos.solvers.result import History
from kpegasos.utils.validation import as_flag, optional, shown

# Lines that stand out from dark cells and from light ones.
_CHOSEN: dict[str, Any] = {
    "linewidth": 2.4,
    "path_effects": [
        patheffects.Stroke(linewidth=4.5, foreground="white"),
        patheffects.Normal(),
    ],
    "clip_on": False,
}
_WITHIN: dict[str, Any] = {
    "color": "white",
    "linewidth": 1.6,
    "path_effects": [
        patheffects.Stroke(linewidth=3.2, foreground="black"),
        patheffects.Normal(),
    ],
    "clip_on": False,
}


class OneVsOneDisplay:
    """Heat maps over the pairs of classes: one panel a quantity, one cell a pair.

    Parameters
    ----------
    values : mapping of str to array-like of shape (n_pairs,)
        Quantities by name, the pairs in lexicographic order.
    classes : sequence of length n_classes
        Class labels.

    Attributes
    ----------
    axes_ : ndarray of Axes of shape (n_quantities,)
        The axes of each panel.
    images_ : dict of str to AxesImage
        The heat map of each quantity.
    colorbars_ : dict of str to Colorbar
        The colour bar of each quantity.
    texts_ : dict of str to list of Text
        The numbers in the cells of each quantity, pair by pair; an empty list if there are none.
    figure_ : Figure
        The figure of the panels.

    Raises
    ------
    ValueError
        If there is no quantity, or a quantity does not have one value for each pair.

    See Also
    --------
    OneVsOneDisplay.from_estimator : From a fitted estimator.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from kpegasos import PegasosSVC
    >>> from kpegasos.plotting import OneVsOneDisplay
    >>> model = PegasosSVC(random_state=0).fit(*load_iris(return_X_y=True))
    >>> display = OneVsOneDisplay.from_estimator(model, ax=Figure().subplots(1, 3))
    >>> list(display.images_)
    ['relative_gap', 'support_size', 'seconds']
    """

    images_: dict[str, AxesImage]
    colorbars_: dict[str, Colorbar]
    texts_: dict[str, list[Text]]
    figure_: Figure

    @checks.by_name
    def __init__(self, *, values: Mapping[str, ArrayLike], classes: Sequence[Any]) -> None:
        self.classes = _names_of(classes, "classes")
        self.values = {
            name: checks.numbers(f"values[{name!r}]", column)
            for name, column in checks.mapping("values", values).items()
        }
        n_pairs = len(self.classes) * (len(self.classes) - 1) // 2
        if not self.values:
            raise ValueError("values must hold at least one quantity, got none")
        for name, column in self.values.items():
            if column.shape != (n_pairs,):
                raise ValueError(
                    f"values[{name!r}] must have shape ({n_pairs},), one value for each pair of "
                    f"{len(self.classes)} classes, got {column.shape}"
                )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        metrics: Sequence[str] = ("relative_gap", "support_size", "seconds"),
        labels: Sequence[Any] | None = None,
        ax: Panels | None = None,
        **plot_options: Any,
    ) -> OneVsOneDisplay:
        """Draw what each pair of classes of a fitted estimator reached at its last checkpoint.

        Parameters
        ----------
        estimator : PegasosSVC or LinearPegasosSVC
            Estimator that was fitted with ``fit``.
        metrics : sequence of str, default=("relative_gap", "support_size", "seconds")
            Columns of the history, one for each panel.
        labels : sequence of length n_classes, default=None
            Names of the classes; the estimator's ``classes_`` if None.
        ax : Axes or sequence of Axes, default=None
            Axes of the panels, one for each metric; those of a new figure if None.
        **plot_options
            Options of `plot`.

        Returns
        -------
        OneVsOneDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the estimator has no history, a metric is unknown, or there are not as many labels as
            classes, or axes as metrics.
        """
        metrics = checks.names("metrics", metrics)
        unknown = [name for name in metrics if name not in History.columns]
        if unknown:
            raise ValueError(f"metrics must be columns of a history, got {shown(unknown)}")
        records = [history.records[-1] for history in checks.histories(estimator)]
        checks.check_classifier(estimator)
        classes = list(estimator.classes_)
        names = classes if labels is None else _names_of(labels, "labels")
        if len(names) != len(classes):
            raise ValueError(
                f"labels must name each of the {len(classes)} classes, got {len(names)} names"
            )
        values = {name: [getattr(record, name) for record in records] for name in metrics}
        return cls(values=values, classes=names).plot(ax, **plot_options)

    def plot(
        self,
        ax: Panels | None = None,
        *,
        cmap: Any = "cividis",
        annotate: bool | None = None,
        values_format: str | None = None,
    ) -> OneVsOneDisplay:
        """Draw the panels.

        Parameters
        ----------
        ax : Axes or sequence of Axes, default=None
            Axes of the panels, one for each quantity; those of a new figure if None.
        cmap : str, Colormap or None, default="cividis"
            Colour map, matplotlib's default if None; cells of values that are not finite are left
            blank.
        annotate : bool, default=None
            Whether to write the values into the cells; if None, up to six classes.
        values_format : str, default=None
            Format of the values in the cells; whole numbers in full and others to two digits if
            None.

        Returns
        -------
        OneVsOneDisplay
            This display.

        Raises
        ------
        ValueError
            If there are not as many axes as quantities.
        """
        annotate = optional(as_flag, "annotate", annotate)
        _check_looks(cmap, values_format)
        self.axes_ = panels_or_new(ax, len(self.values), (4.2, 4.2))
        self.figure_ = self.axes_[0].get_figure(root=True)
        if annotate is None:
            annotate = len(self.classes) <= 6
        self.images_, self.colorbars_, self.texts_ = {}, {}, {}
        for panel, (name, values) in zip(self.axes_, self.values.items(), strict=True):
            image = self.images_[name] = self._draw_cells(panel, values, cmap)
            scale = ScalarFormatter()
            scale.set_powerlimits((-2, 4))
            self.colorbars_[name] = self.figure_.colorbar(image, ax=panel, shrink=0.8, format=scale)
            first, second = np.triu_indices(len(self.classes), 1)
            places = zip(first.tolist(), second.tolist(), values, strict=True)
            self.texts_[name] = [
                _write(panel, image, (i, j - 1), value, _text_of(value, values_format))
                for i, j, value in (places if annotate else ())
            ]
            panel.set(title=title_of(name))
        return self

    def _draw_cells(self, panel: Axes, values: np.ndarray, cmap: Any) -> AxesImage:
        """Draw a heat map: a column for each first class of a pair, a row for each second one."""
        cells = np.full((len(self.classes), len(self.classes)), np.nan)
        first, second = np.triu_indices(len(cells), 1)  # (0, 1), (0, 2), …, as the pairs come
        cells[second, first] = values
        # The first class has no row and the last no column: no pair is below or right of it.
        image = panel.imshow(np.ma.masked_invalid(cells[1:, :-1]), cmap=cmap)
        names = [str(label) for label in self.classes]
        panel.set_xticks(range(len(names) - 1), names[:-1])
        panel.set_yticks(range(len(names) - 1), names[1:])
        if max(map(len, names)) > 3:
            for tick in panel.get_xticklabels():
                tick.set(rotation=45, ha="right", rotation_mode="anchor")
        panel.spines[["top", "right"]].set_visible(False)
        return image


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

    images_: dict[str, QuadMesh]
    colorbars_: dict[str, Colorbar]
    texts_: dict[str, list[Text]]
    missing_: dict[str, PatchCollection | None]
    outlines_: dict[str, LineCollection | None]
    chosen_: dict[str, Rectangle | None]
    figure_: Figure

    @checks.by_name
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
        tables = checks.mapping("quantities", {} if quantities is None else quantities)
        self.quantities = {
            name: self._table(f"quantities[{name!r}]", table) for name, table in tables.items()
        }
        self.metric = checks.name("metric", metric)
        self.within_ = self._within()
        self.chosen = self._best() if chosen is None else self._cell_at(chosen)

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        *,
        panels: str | Sequence[str] = ("score",),
        ax: Panels | None = None,
        **options: Any,
    ) -> ValidationSurfaceDisplay:
        """Draw the surface of a fitted search.

        Parameters
        ----------
        search : object
            Fitted search over C and γ with ``cv_results_``: `kpegasos.PegasosSVCCV`, or a search of
            scikit-learn's. The two may be parameters of a pipeline's step.
        panels : str or sequence of str, default=("score",)
            What to show: ``"score"``, ``"support_size"`` and ``"seconds"`` (means of the folds),
            ``"relative_gap"`` (the largest of the folds), or a column of the results.
        ax : Axes or sequence of Axes, default=None
            Axes of the panels; those of a new figure if None.
        **options
            ``metric`` and ``where`` of `from_results`, and options of `plot`.

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
        return cls.from_results(results, best_index=best_index, panels=panels, ax=ax, **options)

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
        _check_grid(rows.size, Cs.size, gammas.size)

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
        _check_looks(cmap, values_format)
        if annotate is None:
            annotate = max(self.scores.shape) <= 7
        self.axes_ = panels_or_new(ax, len(panels), (5.2, 4.2), n_columns=2)
        self.figure_ = self.axes_[0].get_figure(root=True)
        self.images_, self.colorbars_, self.texts_ = {}, {}, {}
        self.missing_, self.outlines_, self.chosen_ = {}, {}, {}
        key: dict[str, Any] = {}
        for panel, name in zip(self.axes_, panels, strict=True):
            self._draw_cells(panel, name, known[name], cmap)
            self._draw_marks(panel, name, known[name], key)
            self.texts_[name] = []
            for (i, j), value in np.ndenumerate(known[name]) if annotate else ():
                if math.isfinite(value):
                    at = float(self.Cs[j]), float(self.gammas[i])
                    text = self._text(name, float(value), values_format)
                    written = _write(panel, self.images_[name], at, value, text, fontsize="small")
                    self.texts_[name].append(written)
        self.legend_ = legend_above(self.axes_, key, own=ax is None, wanted=legend)
        return self

    def _draw_cells(self, panel: Axes, name: str, values: np.ndarray, cmap: Any) -> None:
        """Draw the cells and the colour bar of a panel."""
        panel.set(xscale="log", yscale="log", xlabel="C", ylabel="γ")
        known, norm = np.ma.masked_invalid(values), _norm(name, values)
        edges = log_edges(self.Cs), log_edges(self.gammas)
        self.images_[name] = panel.pcolormesh(*edges, known, cmap=cmap, norm=norm)
        ticks_at(panel.xaxis, self.Cs)
        ticks_at(panel.yaxis, self.gammas)
        self.colorbars_[name] = self.figure_.colorbar(
            self.images_[name],
            ax=panel,
            label=name_of(name, self.metric),
            format=PercentFormatter(1.0) if name == "relative_gap" else None,
            extend="min" if known.min() < norm.vmin else "neither",
        )

    def _draw_marks(self, panel: Axes, name: str, values: np.ndarray, key: dict[str, Any]) -> None:
        """Hatch what is missing, draw the line and the frame, and note what the marks mean."""
        x, y = log_edges(self.Cs), log_edges(self.gammas)
        self.missing_[name] = self.outlines_[name] = self.chosen_[name] = None

        def cell(row: int, column: int, **style: Any) -> Rectangle:
            width, height = np.diff(x)[column], np.diff(y)[row]
            return Rectangle((x[column], y[row]), width, height, **style)

        if self.chosen is not None:
            frame = {"fill": False, "edgecolor": VERMILLION, "zorder": 4, **_CHOSEN}
            self.chosen_[name] = mark = cell(*self.chosen, **frame)
            panel.add_patch(mark)
            key["chosen cell"] = Line2D([], [], color=VERMILLION, **_CHOSEN)
        if self.within_.any():
            lines = _outline_of(self.within_, x, y)
            line = LineCollection(lines, capstyle="projecting", zorder=3, **_WITHIN)
            self.outlines_[name] = line
            panel.add_collection(line)
            key["within one standard error of the best"] = Line2D([], [], **_WITHIN)
        if not np.isfinite(values).all():
            cells = [cell(i, j) for i, j in np.argwhere(~np.isfinite(values)).tolist()]
            self.missing_[name] = hatched = PatchCollection(cells, linewidth=0, **MISSING)
            panel.add_collection(hatched)
            key["missing"] = Patch(linewidth=0.8, **MISSING)

    def _text(self, name: str, value: float, values_format: str | None) -> str:
        """Return the number in a cell, in a form that suits the quantity."""
        if values_format is None and name == "relative_gap":
            return f"{100 * value:#.2g}".rstrip(".") + "%"
        if values_format is None and name == "support_size":
            return f"{value:,.0f}"
        if values_format is None and name == "score":
            return f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"
        return _text_of(value, values_format)

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


def _names_of(values: Any, name: str) -> list[Any]:
    """Return class labels as a list.

    Raises
    ------
    ValueError
        If they are not labels of two classes or more.
    """
    found = checks.labels(name, list(values) if isinstance(values, str) else values)
    if name == "classes" and found.size < 2:
        raise ValueError(f"{name} must be labels of two classes or more, got {shown(values)}")
    return list(found)


def _check_looks(cmap: Any, values_format: Any) -> None:
    """Check a colour map, or its name or None, and a format of numbers.

    Raises
    ------
    ValueError
        If one is none.
    """
    try:
        format(0.5, "" if values_format is None else values_format)
    except (TypeError, ValueError):
        raise ValueError(
            f"values_format must be a format of numbers, got {shown(values_format)} instead"
        ) from None
    named = isinstance(cmap, str) and cmap in colormaps
    if not (cmap is None or named or isinstance(cmap, Colormap)):
        raise ValueError(f"cmap must be a colour map of matplotlib's, got {shown(cmap)} instead")


def _text_of(value: float, values_format: str | None) -> str:
    """Return the number in a cell: whole numbers in full and others to two digits by default."""
    if not np.isfinite(value):
        return "–"
    if values_format is not None:
        return format(value, values_format)
    return f"{value:,.0f}" if value == np.round(value) else f"{value:.2g}"


def _write(
    panel: Axes,
    image: ScalarMappable,
    at: tuple[float, float],
    value: float,
    text: str,
    **style: Any,
) -> Text:
    """Write into a cell, in black or white, whichever stands out from it."""
    red, green, blue, _ = image.cmap(image.norm(np.asarray(value)))
    dark = np.isfinite(value) and 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
    color = "white" if dark else "black"
    return panel.text(*at, text, ha="center", va="center", color=color, **style)


def _norm(name: str, values: np.ndarray) -> Normalize:
    """Return the scale of the colours.

    That of scores has their median in the middle: cells far from the optimum are many times
    worse than the good ones differ, and would leave these one colour.
    """
    known = values[np.isfinite(values)]
    if not known.size:
        return Normalize(0.0, 1.0)
    low, high = float(known.min()), float(known.max())
    if name == "score":
        middle = float(np.median(known))
        return Normalize(max(low, 2 * middle - high) if middle < high else low, high)
    if name != "relative_gap" and low > 0.0 and high >= 10 * low:
        return LogNorm(low, high)
    return Normalize(low, high)


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


def _outline_of(inside: np.ndarray, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """Return the line segments between cells that are inside a set and cells that are not.

    Parameters
    ----------
    inside : ndarray of shape (n_rows, n_columns), bool
    x : ndarray of shape (n_columns + 1,)
        Edges of the columns.
    y : ndarray of shape (n_rows + 1,)
        Edges of the rows.

    Returns
    -------
    list of ndarray of shape (2, 2)
    """
    framed = np.pad(inside, 1)
    upright = np.argwhere(framed[1:-1, 1:] != framed[1:-1, :-1])
    level = np.argwhere(framed[1:, 1:-1] != framed[:-1, 1:-1])
    segments = [np.array([[x[j], y[i]], [x[j], y[i + 1]]]) for i, j in upright]
    return segments + [np.array([[x[j], y[i]], [x[j + 1], y[i]]]) for i, j in level]
