"""What each pair of classes of a one-vs-one fit cost and reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.text import Text
from matplotlib.ticker import ScalarFormatter
from numpy.typing import ArrayLike

from kpegasos.plotting.convergence import histories
from kpegasos.solvers.history import History

_TITLES = {
    "gap": "certified gap",
    "relative_gap": "certified relative gap",
    "support_size": "support vectors",
    "seconds": "time in the solver, s",
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
    images_ : dict of str to AxesImage
    colorbars_ : dict of str to Colorbar
    texts_ : dict of str to list of Text
        The numbers in the cells, pair by pair; empty lists if there are none.
    figure_ : Figure

    Raises
    ------
    ValueError
        If a quantity has not one value a pair.

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
        self.classes = list(classes)
        self.values = {name: np.asarray(column, dtype=float) for name, column in values.items()}
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
        ax: Axes | Sequence[Axes] | np.ndarray | None = None,
        **plot_options: Any,
    ) -> OneVsOneDisplay:
        """Draw what each pair of classes of a fitted estimator reached at its last checkpoint.

        Parameters
        ----------
        estimator : PegasosSVC or LinearPegasosSVC
        metrics : sequence of str, default=("relative_gap", "support_size", "seconds")
            Columns of `History`.
        labels : sequence of length n_classes, default=None
            Names of the classes; the estimator's ``classes_`` if None.
        ax : Axes or sequence of Axes, default=None
            One for each metric.
        **plot_options
            Passed on to `plot`.

        Returns
        -------
        OneVsOneDisplay

        Raises
        ------
        ValueError
            If the estimator has no history, a metric is unknown, or there are not as many labels as
            classes, or axes as metrics.
        """
        unknown = [name for name in metrics if name not in History.columns]
        if unknown:
            raise ValueError(f"metrics must be columns of a history, got {unknown}")
        records = [history.records[-1] for history in histories(estimator)]
        classes = list(estimator.classes_)
        names = classes if labels is None else list(labels)
        if len(names) != len(classes):
            raise ValueError(
                f"labels must name each of the {len(classes)} classes, got {len(names)} names"
            )
        values = {name: [getattr(record, name) for record in records] for name in metrics}
        return cls(values=values, classes=names).plot(ax, **plot_options)

    def plot(
        self,
        ax: Axes | Sequence[Axes] | np.ndarray | None = None,
        *,
        cmap: Any = "cividis",
        annotate: bool | None = None,
        values_format: str | None = None,
    ) -> OneVsOneDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes or sequence of Axes, default=None
            One for each quantity; a new figure with a row of them if None.
        cmap : str or Colormap, default="cividis"
            Colour map; what is not finite is left blank.
        annotate : bool, default=None
            Whether to write the values into the cells; up to six classes if None.
        values_format : str, default=None
            Format of these values; whole numbers in full and two digits of others if None.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are not as many axes as quantities.
        """
        if ax is None:
            size = (4.2 * len(self.values), 4.2)
            _, ax = plt.subplots(
                1, len(self.values), figsize=size, layout="constrained", squeeze=False
            )
        self.axes_ = np.ravel(np.asarray(ax, dtype=object))
        if self.axes_.size != len(self.values):
            raise ValueError(
                f"ax must hold {len(self.values)} axes, one for each of {list(self.values)}, "
                f"got {self.axes_.size}"
            )
        self.figure_ = self.axes_[0].get_figure(root=True)
        n_classes = len(self.classes)
        if annotate is None:
            annotate = n_classes <= 6
        self.images_, self.colorbars_, self.texts_ = {}, {}, {}
        for panel, (name, column) in zip(self.axes_, self.values.items(), strict=True):
            cells = np.full((n_classes, n_classes), np.nan)
            second, first = np.tril_indices(n_classes, -1)
            order = np.lexsort((second, first))  # (0, 1), (0, 2), …, as the pairs come
            first, second = first[order], second[order]
            cells[second, first] = column
            # The first class has no row, and the last no column: no pair is below or right of it.
            image = panel.imshow(np.ma.masked_invalid(cells[1:, :-1]), cmap=cmap)
            self.images_[name] = image
            scale = ScalarFormatter()
            scale.set_powerlimits((-2, 4))
            bar = self.figure_.colorbar(image, ax=panel, shrink=0.8, format=scale)
            self.colorbars_[name] = bar
            self.texts_[name] = []
            if annotate:
                self.texts_[name] = [
                    panel.text(
                        i,
                        j - 1,
                        _text(value, values_format),
                        ha="center",
                        va="center",
                        color=_ink(image, value),
                    )
                    for i, j, value in zip(first, second, column, strict=True)
                ]
            panel.set_xticks(range(n_classes - 1), [str(label) for label in self.classes[:-1]])
            panel.set_yticks(range(n_classes - 1), [str(label) for label in self.classes[1:]])
            if max(len(str(label)) for label in self.classes) > 3:
                for tick in panel.get_xticklabels():
                    tick.set(rotation=45, ha="right", rotation_mode="anchor")
            for spine in ("top", "right"):
                panel.spines[spine].set_visible(False)
            panel.set(title=_TITLES.get(name, name.replace("_", " ")))
        return self


def _text(value: float, values_format: str | None) -> str:
    if not np.isfinite(value):
        return "–"
    if values_format is not None:
        return format(value, values_format)
    return f"{value:,.0f}" if value == np.round(value) else f"{value:.2g}"


def _ink(image: AxesImage, value: float) -> str:
    """Black or white, whichever stands out from the cell."""
    if not np.isfinite(value):
        return "black"
    red, green, blue, _ = image.cmap(image.norm(np.asarray(value)))
    return "white" if 0.3 * red + 0.59 * green + 0.11 * blue < 0.5 else "black"
