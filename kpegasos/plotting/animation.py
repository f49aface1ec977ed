"""The decision boundary and the objective of a run, growing together over the iterations.

What is shown is recorded while an estimator is trained. Matplotlib's own writers make a GIF or a
video of it, and the player of a notebook.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.animation import FFMpegWriter, FuncAnimation
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from kpegasos.plotting import checks
from kpegasos.plotting.convergence import VALUES, ConvergenceDisplay
from kpegasos.plotting.decisions import DecisionRegionDisplay
from kpegasos.plotting.style import INSIDE
from kpegasos.solvers.result import History
from kpegasos.utils.validation import as_integer, as_number, optional, shown

#: Names of features that have none.
FEATURES = ("feature 1", "feature 2")


class _Recorder:
    """scikit-learn callback that keeps what the grid gets, counts and curves at each checkpoint.

    Of several classes the grid gets numbers of classes, and counts and columns are summed over the
    pairs: a sum of dual bounds is one for the sum of the objectives.
    """

    def __init__(self, grid: np.ndarray, n_classes: int) -> None:
        self.grid = grid
        self.binary = n_classes <= 2
        self.values: list[np.ndarray] = []
        self.alpha: list[np.ndarray] = []
        self.columns: dict[str, list[float]] = {name: [] for name in ("iteration", *VALUES)}

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to put away."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Nothing to see yet."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> None:
        """Keep what a frame shows, if a checkpoint ends."""
        if context.task_name == "checkpoint":
            self.keep(fitted_estimator, fitted_estimator.alpha_)

    def keep(self, model: Any, counts: Any) -> None:
        """Keep what a frame shows."""
        if self.binary:
            self.values.append(model.decision_function(self.grid))
            histories = [model.history_]
        else:
            self.values.append(np.searchsorted(model.classes_, model.predict(self.grid)))
            histories = model.history_
        self.alpha.append(np.ravel(counts.sum(axis=0)) if counts.ndim > 1 else counts)
        for name, column in self.columns.items():
            column.append(sum(getattr(history[-1], name) for history in histories))


class TrainingAnimation:
    """A run on points in the plane: regions on the left, objective and dual bound on the right.

    Each checkpoint is a frame. The ring round a support vector grows with the number of times that
    the example was drawn while violating the margin, on one scale for all frames. As the last
    expression of a cell in a notebook it shows a player.

    Parameters
    ----------
    xx, yy : array-like of shape (n_x,) and (n_y,)
        Coordinates of the grid.
    values : array-like of shape (n_frames, n_y, n_x)
        Decision values at each checkpoint, positive for the second class; of more classes, the
        number of the class.
    history : History or mapping of str to array-like of shape (n_frames,)
        The columns ``iteration``, ``objective_last``, ``objective_average`` and ``dual_bound``.
    X : array-like of shape (n_samples, 2)
        Training examples.
    y : array-like of shape (n_samples,)
        Class of each example.
    alpha : array-like of shape (n_frames, n_samples)
        Count of each example at each checkpoint.
    feature_names : sequence of two str, default=("feature 1", "feature 2")
        Names of the axes.

    Attributes
    ----------
    regions_ : DecisionRegionDisplay
        The regions of the frame that was drawn last.
    convergence_ : ConvergenceDisplay
        The curves up to that frame.
    axes_ : ndarray of Axes of shape (2,)
        The axes of the regions and of the curves.
    figure_ : Figure
        The figure of these axes.

    Raises
    ------
    ValueError
        If there are no two classes, or shapes do not fit together.

    See Also
    --------
    TrainingAnimation.from_estimator : Trains an estimator and records its run.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kpegasos import PegasosSVC
    >>> from kpegasos.plotting import TrainingAnimation
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = PegasosSVC(gamma=2.0, n_steps=1000, checkpoints="log", random_state=0)
    >>> animation = TrainingAnimation.from_estimator(model, X, y)
    >>> animation.values.shape
    (28, 60, 60)
    >>> animation.save("moons.gif")  # doctest: +SKIP
    """

    figure_: Figure
    _limits: Any = None

    def __init__(
        self,
        *,
        xx: ArrayLike,
        yy: ArrayLike,
        values: ArrayLike,
        history: History | Mapping[str, ArrayLike],
        X: ArrayLike,
        y: ArrayLike,
        alpha: ArrayLike,
        feature_names: Sequence[str] = FEATURES,
    ) -> None:
        self.xx = checks.finite("xx", xx, ndim=1)
        self.yy = checks.finite("yy", yy, ndim=1)
        self.values = checks.finite("values", values, ndim=3)
        self.X = checks.points("X", X)
        self.y = checks.labels("y", y)
        checks.numbers("alpha", alpha, ndim=2)
        self.alpha = np.asarray(alpha)
        self.feature_names = tuple(checks.names("feature_names", feature_names))
        curves = ConvergenceDisplay(runs=history)
        self.history = {name: values[0] for name, values in curves.curves.items()}
        self.history["iteration"] = curves.positions
        _check_shapes(self)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        grid_resolution: int = 60,
        eps: float | None = None,
    ) -> TrainingAnimation:
        """Train a clone of an estimator and record its model at each checkpoint.

        Parameters
        ----------
        estimator : PegasosSVC, LinearPegasosSVC, or Pipeline that ends in one
            Estimator whose ``checkpoints`` say which iterations become frames; with ``polish``
            those of "log" unless given, and then the polished model.
        X : array-like or DataFrame of shape (n_samples, 2)
            Training examples; the names of its features become those of the axes.
        y : array-like of shape (n_samples,)
            Class of each example. Of more than two classes the curves are sums over all pairs.
        grid_resolution : int, default=60
            Number of grid points along each axis.
        eps : float, default=None
            Distance by which the grid extends beyond the examples; a fifteenth of the range of
            each feature if None.

        Returns
        -------
        TrainingAnimation
            The recorded run, not drawn yet.

        Raises
        ------
        ValueError
            If there are no two classes or not two features.
        """
        points, labels = checks.examples("X", X), checks.labels("y", y)
        before, model = None, estimator
        if isinstance(estimator, Pipeline):
            before, model = clone(estimator)[:-1], estimator[-1] if estimator.steps else None
        has_all = all(hasattr(model, name) for name in ("checkpoints", "polish", "set_callbacks"))
        if isinstance(model, type) or not (has_all and is_classifier(model)):
            raise ValueError(
                "estimator must be a PegasosSVC or LinearPegasosSVC, or a Pipeline that ends in "
                f"one, with callbacks of scikit-learn, got {shown(estimator)} instead"
            )
        n_points = as_integer("grid_resolution", grid_resolution, least=2, most=10_000)
        eps = optional(as_number, "eps", eps, least=0.0, most=1e100)
        low, high = points.min(axis=0), points.max(axis=0)
        away = np.where(high > low, high - low, 1.0) / 15 if eps is None else eps
        xx, yy = np.linspace(low - away, high + away, n_points).T
        grid = np.column_stack([part.ravel() for part in np.meshgrid(xx, yy)])
        rows = points
        if before:
            rows, grid = before.fit_transform(points, y), before.transform(grid)
        recorder = _Recorder(grid, len(np.unique(labels)))
        model = clone(model)
        if model.polish and str(model.checkpoints) == "auto":
            model.checkpoints = "log"
        model.set_callbacks(recorder).fit(rows, y)
        if model.polish:  # whose coefficients are no counts
            largest = max((np.max(counts) for counts in recorder.alpha), default=0) or 1
            recorder.keep(model, largest * np.isin(np.arange(len(rows)), model.support_))
        return cls(
            xx=xx,
            yy=yy,
            values=np.reshape(recorder.values, (-1, yy.size, xx.size)),
            history=recorder.columns,
            X=points,
            y=y,
            alpha=recorder.alpha,
            feature_names=[str(name) for name in getattr(X, "columns", FEATURES)],
        )

    def plot(
        self, ax: Sequence[Axes] | np.ndarray | None = None, *, frame: int = -1
    ) -> TrainingAnimation:
        """Draw one frame.

        Parameters
        ----------
        ax : sequence of two Axes, default=None
            Axes for the regions and for the curves; those of a new figure if None.
        frame : int, default=-1
            Number of the frame; the last by default.

        Returns
        -------
        TrainingAnimation
            This animation.

        Raises
        ------
        ValueError
            If there are not two axes, or there is no such frame.
        """
        n_frames = len(self.values)
        frame = as_integer("frame", frame, least=-n_frames, most=n_frames - 1)
        if ax is None:
            ax = plt.subplots(1, 2, figsize=(9.0, 4.2), layout="constrained")[1]
        self.axes_ = np.ravel(np.asarray(ax, dtype=object))
        if self.axes_.size != 2:
            raise ValueError(f"ax must hold 2 axes, got {self.axes_.size}")
        for panel in self.axes_:
            checks.axes(panel)
        self.figure_ = self.axes_[0].get_figure(root=True)
        self._limits = None
        self._draw(-1)
        # Limits of the whole run, whatever part of it is shown.
        self._limits = self.axes_[1].axis()
        self._draw(frame)
        return self

    def save(
        self, path: str | PathLike[str], *, fps: int = 8, dpi: float = 89.0, hold: float = 2.0
    ) -> None:
        """Write all frames to a file.

        Parameters
        ----------
        path : path-like
            Name of the file; ends in ``.gif``, or in ``.mp4``, for which the program ffmpeg must be
            there.
        fps : int, default=8
            Number of frames per second.
        dpi : float, default=89
            Pixels per inch: by default the figure is 800 pixels wide.
        hold : float, default=2
            Seconds for which the last frame is shown before the film starts again.

        Raises
        ------
        ValueError
            If the name of the file ends in anything else.
        RuntimeError
            If there is no ffmpeg for a video.
        """
        name = fspath(path) if isinstance(path, PathLike) else path
        if not isinstance(name, str) or Path(name).suffix not in (".gif", ".mp4"):
            raise ValueError(f"path must end in .gif or .mp4, got {shown(name)}")
        if name.endswith(".mp4") and not FFMpegWriter.isAvailable():
            raise RuntimeError("path ends in .mp4, which needs the program ffmpeg: install it")
        fps = as_integer("fps", fps, least=1, most=1000)
        dpi = as_number("dpi", dpi, least=10.0, most=10_000.0)
        hold = as_number("hold", hold, least=0.0, most=60.0)
        writer = "pillow" if name.endswith(".gif") else "ffmpeg"
        self._film(fps, hold).save(name, writer=writer, dpi=dpi)

    def _repr_html_(self) -> str:
        """Return a player of all frames, for notebooks."""
        return self._film(8, 0.0).to_jshtml()

    def _film(self, fps: int, hold: float) -> FuncAnimation:
        """Return all frames, the last of them for some seconds more."""
        if not hasattr(self, "figure_"):
            self.plot()
            plt.close(self.figure_)  # or a notebook would show it once more
        # The first layout serves all frames: nothing jumps.
        self.figure_.draw_without_rendering()
        self.figure_.set_layout_engine("none")
        last = len(self.values) - 1
        frames = [*range(last), *[last] * (1 + round(hold * fps))]
        return FuncAnimation(self.figure_, self._draw, frames=frames, interval=1000 / fps)

    def _draw(self, frame: int) -> Any:
        """Show a frame in place of the one before."""
        alpha, ax = self.alpha[frame], self.axes_[0]
        support = np.flatnonzero(alpha)
        ax.clear()
        self.regions_ = DecisionRegionDisplay(
            xx=self.xx,
            yy=self.yy,
            values=self.values[frame],
            X=self.X,
            y=self.y,
            support=support,
            counts=alpha[support],
            xlabel=self.feature_names[0],
            ylabel=self.feature_names[1],
        ).plot(ax, legend=False, max_count=float(self.alpha.max()) or None)
        if self.y.dtype.kind in "UO":
            ax.legend(handles=self.regions_.points_, **INSIDE)
        words = f"{support.size} support vector{'' if support.size == 1 else 's'}"
        ax.set_title(f"T = {self.history['iteration'][frame]:,.0f}: {words}", fontsize="medium")
        self._draw_curves(frame % len(self.values) + 1)

    def _draw_curves(self, n_shown: int) -> None:
        """Draw the curves up to a frame, and the gap there."""
        ax = self.axes_[1]
        ax.clear()
        so_far = {name: column[:n_shown] for name, column in self.history.items()}
        head: dict[str, Any] = {"marker": "o", "markevery": [n_shown - 1]}
        self.convergence_ = ConvergenceDisplay(runs=so_far).plot(ax, legend=False, **head)
        ax.legend(**INSIDE | {"loc": "upper right"})
        if np.unique(self.y).size > 2:
            ax.set_ylabel("objective f(w), sum over pairs")
        if self._limits:
            ax.axis(self._limits)
        gap = so_far["objective_average"][-1] - so_far["dual_bound"][-1]
        ax.set_title(f"certified gap: {float(f'{gap:.2g}'):,g}", fontsize="medium")


def _check_shapes(run: TrainingAnimation) -> None:
    """Refuse a run whose arrays do not have as many frames, grid points or examples."""
    if len(np.unique(run.y)) < 2:
        raise ValueError(f"y must hold labels of two classes at least, got {shown(run.y)}")
    if len(run.feature_names) != 2:
        raise ValueError(f"feature_names must be two names, got {shown(run.feature_names)}")
    n_frames = len(run.values)
    expected = (n_frames, run.yy.size, run.xx.size)
    if run.values.shape != expected or not n_frames:
        raise ValueError(
            f"values must have shape (n_frames, n_y, n_x) = (n_frames, {run.yy.size}, "
            f"{run.xx.size}), as yy and xx have it, got {run.values.shape}"
        )
    checks.one_for_each("history['iteration']", run.history["iteration"], n_frames, "frames")
    if run.alpha.shape != (n_frames, len(run.X)):
        raise ValueError(
            f"alpha must have shape (n_frames, n_samples) = {n_frames, len(run.X)}, "
            f"got {run.alpha.shape}"
        )
