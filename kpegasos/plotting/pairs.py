"""Heat maps over the pairs of classes of a one-vs-one fit: what each cost and reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.text import Text
from matplotlib.ticker import ScalarFormatter
from numpy.typing import ArrayLike

from kpegasos.plotting import checks
from kpegasos.plotting.columns import title_of
from kpegasos.plotting.fitted import check_classifier, histories
from kpegasos.plotting.heat import check_format, color_map, ink_on, text_of
from kpegasos.plotting.style import Panels, panels_or_new
from kpegasos.solvers.history import History
from kpegasos.utils.validation import as_flag, optional, shown


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

    axes_: np.ndarray
    images_: dict[str, AxesImage]
    colorbars_: dict[str, Colorbar]
    texts_: dict[str, list[Text]]
    figure_: Figure

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
        records = [history.records[-1] for history in histories(estimator)]
        check_classifier(estimator)
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
        check_format(values_format)
        cmap = color_map(cmap)
        self.axes_ = panels_or_new(ax, len(self.values), (4.2, 4.2))
        self.figure_ = self.axes_[0].get_figure(root=True)
        if annotate is None:
            annotate = len(self.classes) <= 6
        self.images_, self.colorbars_, self.texts_ = {}, {}, {}
        for panel, (name, values) in zip(self.axes_, self.values.items(), strict=True):
            image = _draw_cells(panel, values, self.classes, cmap)
            scale = ScalarFormatter()
            scale.set_powerlimits((-2, 4))
            bar = self.figure_.colorbar(image, ax=panel, shrink=0.8, format=scale)
            self.images_[name], self.colorbars_[name] = image, bar
            self.texts_[name] = []
            if annotate:
                self.texts_[name] = _write_values(panel, image, values, values_format)
            panel.set(title=title_of(name))
        return self


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


def _draw_cells(panel: Axes, values: np.ndarray, classes: list[Any], cmap: Any) -> AxesImage:
    """Draw a heat map: a column for each first class of a pair, a row for each second one."""
    cells = np.full((len(classes), len(classes)), np.nan)
    first, second = np.triu_indices(len(classes), 1)  # (0, 1), (0, 2), …, as the pairs come
    cells[second, first] = values
    # The first class has no row and the last no column: no pair is below or right of it.
    image = panel.imshow(np.ma.masked_invalid(cells[1:, :-1]), cmap=cmap)
    names = [str(label) for label in classes]
    panel.set_xticks(range(len(names) - 1), names[:-1])
    panel.set_yticks(range(len(names) - 1), names[1:])
    if max(map(len, names)) > 3:
        for tick in panel.get_xticklabels():
            tick.set(rotation=45, ha="right", rotation_mode="anchor")
    for spine in ("top", "right"):
        panel.spines[spine].set_visible(False)
    return image


def _write_values(
    panel: Axes, image: AxesImage, values: np.ndarray, values_format: str | None
) -> list[Text]:
    """Write the value of each pair into its cell."""
    first, second = np.triu_indices(image.get_size()[0] + 1, 1)
    return [
        panel.text(
            i,
            j - 1,
            text_of(value, values_format),
            ha="center",
            va="center",
            color=ink_on(image, value),
        )
        for i, j, value in zip(first.tolist(), second.tolist(), values, strict=True)
    ]
