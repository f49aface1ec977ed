"""The decision boundary and the objective of a run, growing together over the iterations."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib import rc_context
from matplotlib.animation import HTMLWriter, PillowWriter
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from PIL import Image
from sklearn.base import clone

from kpegasos.plotting import ConvergenceDisplay, DecisionRegionDisplay
from kpegasos.solvers.history import History

#: Of a frame in a page; a GIF has at most 256 as well.
_COLORS = 128
_SHOWN = ("objective_last", "objective_average", "dual_bound")


class TrainingAnimation:
    """A run on points in the plane: regions on the left, objective and dual bound on the right.

    One frame a checkpoint. The ring round a support vector grows with the number of times that the
    example was drawn while violating the margin, on the scale of the last frame.

    Parameters
    ----------
    xx, yy : array-like of shape (n_x,) and (n_y,)
        Coordinates of the grid.
    values : array-like of shape (n_frames, n_y, n_x)
        Decision values at each checkpoint, positive for the second class.
    history : History or mapping of str to array-like of shape (n_frames,)
        The columns ``iteration``, ``objective_last``, ``objective_average`` and ``dual_bound``.
    X : array-like of shape (n_samples, 2)
        Training examples.
    y : array-like of shape (n_samples,)
        Two classes.
    alpha : array-like of shape (n_frames, n_samples)
        Counts of each example at each checkpoint.

    Attributes
    ----------
    regions_ : DecisionRegionDisplay
        Of the frame that was drawn last.
    convergence_ : ConvergenceDisplay
    axes_ : ndarray of Axes of shape (2,)
    figure_ : Figure

    Raises
    ------
    ValueError
        If there are not two classes, or not as many frames of each kind.

    See Also
    --------
    TrainingAnimation.from_estimator : Trains and records.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kpegasos import PegasosSVC
    >>> from kpegasos.plotting.animation import TrainingAnimation
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = PegasosSVC(gamma=2.0, n_steps=1000, checkpoints="log", random_state=0)
    >>> animation = TrainingAnimation.from_estimator(model, X, y)
    >>> animation.values.shape
    (28, 60, 60)
    >>> animation.save("moons.gif")  # doctest: +SKIP
    """

    regions_: DecisionRegionDisplay
    convergence_: ConvergenceDisplay
    axes_: np.ndarray
    figure_: Figure

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
    ) -> None:
        self.xx = np.asarray(xx, dtype=float)
        self.yy = np.asarray(yy, dtype=float)
        self.values = np.asarray(values, dtype=float)
        columns = ("iteration", *_SHOWN)
        self.history = {name: np.asarray(history[name], dtype=float) for name in columns}
        self.X = np.asarray(X, dtype=float)
        self.y = np.asarray(y)
        self.alpha = np.asarray(alpha)
        _check_two_classes(self.y)
        expected = (len(self.values), self.yy.size, self.xx.size)
        if self.values.shape != expected or not len(self.values):
            raise ValueError(
                f"values must have shape (n_frames, n_y, n_x) = (n_frames, {self.yy.size}, "
                f"{self.xx.size}), got {self.values.shape}"
            )
        if self.alpha.shape != (len(self.values), len(self.X)):
            raise ValueError(
                f"alpha must have shape (n_frames, n_samples) = {len(self.values), len(self.X)}, "
                f"got {self.alpha.shape}"
            )
        for name, column in self.history.items():
            if column.shape != (len(self.values),):
                raise ValueError(
                    f"history[{name!r}] must have an entry for each of the {len(self.values)} "
                    f"frames, got shape {column.shape}"
                )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        grid_resolution: int = 60,
        eps: float = 0.2,
    ) -> TrainingAnimation:
        """Train a clone of an estimator and record its model at each checkpoint.

        Parameters
        ----------
        estimator : PegasosSVC or LinearPegasosSVC
            Its ``checkpoints`` says which iterations become frames.
        X : array-like of shape (n_samples, 2)
        y : array-like of shape (n_samples,)
            Two classes.
        grid_resolution : int, default=60
            Grid points along each axis.
        eps : float, default=0.2
            How far the grid extends beyond the examples.

        Returns
        -------
        TrainingAnimation

        Raises
        ------
        ValueError
            If there are not two classes or two features.
        """
        points = np.asarray(X, dtype=float)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"X must have shape (n_samples, 2), got {points.shape}")
        _check_two_classes(y)
        low, high = points.min(axis=0) - eps, points.max(axis=0) + eps
        xx, yy = np.linspace(low, high, grid_resolution).T
        recorder = _Recorder(np.column_stack([part.ravel() for part in np.meshgrid(xx, yy)]))
        clone(estimator).set_callbacks(recorder).fit(points, y)
        return cls(
            xx=xx,
            yy=yy,
            values=np.reshape(recorder.values, (-1, yy.size, xx.size)),
            history=recorder.history,
            X=points,
            y=y,
            alpha=recorder.alpha,
        )

    def plot(
        self, ax: Sequence[Axes] | np.ndarray | None = None, *, frame: int = -1
    ) -> TrainingAnimation:
        """Draw one frame.

        Parameters
        ----------
        ax : sequence of two Axes, default=None
            For the regions and for the curves; a new figure if None.
        frame : int, default=-1
            Number of the frame; the last by default.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are not two axes.
        IndexError
            If there is no such frame.
        """
        if ax is None:
            _, ax = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
        self.axes_ = np.ravel(np.asarray(ax, dtype=object))
        if self.axes_.size != 2:
            raise ValueError(f"ax must hold two axes, got {self.axes_.size}")
        left, right = self.axes_
        self.figure_ = left.get_figure(root=True)
        self.convergence_ = ConvergenceDisplay.from_history(self.history, ax=right, legend=False)
        right.legend(loc="upper right", frameon=False)
        right.set_title("objective and its lower bound", loc="left", fontsize="medium")
        # Limits of the whole run, whatever part of it is shown.
        right.autoscale(False)
        self._draw(frame)
        return self

    def save(self, path: str | Path, *, fps: int = 8, dpi: float = 89.0, hold: float = 2.0) -> None:
        """Write all frames to a file.

        Parameters
        ----------
        path : str or Path
            Ends in ``.gif``, or in ``.html`` for a page with a player.
        fps : int, default=8
            Frames a second.
        dpi : float, default=89
            Pixels an inch: by default the figure is 800 pixels wide.
        hold : float, default=2
            Seconds for which a GIF shows the last frame before it starts again.

        Raises
        ------
        ValueError
            If the name ends in anything else.
        """
        path = Path(path)
        if path.suffix not in (".gif", ".html"):
            raise ValueError(f"path must end in .gif or .html, got {path.name!r}")
        if not hasattr(self, "figure_"):
            self.plot()
        # The first layout serves all frames: nothing jumps.
        self.figure_.draw_without_rendering()
        self.figure_.set_layout_engine("none")
        frames = list(range(len(self.values)))
        writer: PillowWriter | HTMLWriter
        if path.suffix == ".gif":
            writer = PillowWriter(fps=fps)
            frames += frames[-1:] * round(hold * fps)
        else:
            writer = HTMLWriter(fps=fps, embed_frames=True)
        # As FuncAnimation.save and to_jshtml do, which draw each frame three times.
        with writer.saving(self.figure_, str(path), dpi), rc_context({"savefig.bbox": None}):
            for frame in frames:
                self._draw(frame)
                writer.grab_frame()
        if path.suffix == ".html":
            page = path.read_text(encoding="utf-8")
            path.write_text(_tidy(page, path.stem), encoding="utf-8", newline="\n")

    def _draw(self, frame: int) -> None:
        """Show a frame in place of the one before."""
        left = self.axes_[0]
        alpha = self.alpha[frame]
        support = np.flatnonzero(alpha)
        left.clear()
        self.regions_ = DecisionRegionDisplay(
            xx=self.xx,
            yy=self.yy,
            values=self.values[frame],
            X=self.X,
            y=self.y,
            support_vectors=self.X[support],
            counts=alpha[support],
            xlabel="feature 1",
            ylabel="feature 2",
        ).plot(left, legend=False, max_count=float(self.alpha.max()))
        step = int(self.history["iteration"][frame])
        title = f"T = {step:,}: {support.size} support vectors"
        left.set_title(title, loc="left", fontsize="medium")
        stop = frame % len(self.values) + 1
        for name, line in self.convergence_.lines_.items():
            shown = self.convergence_.curves[name][0, :stop]
            line.set_data(self.history["iteration"][:stop], np.where(shown > 0, shown, np.nan))


def _tidy(page: str, name: str) -> str:
    """Make matplotlib's fragment a page that is a third of the size and the same each time."""

    def shrink(match: re.Match[str]) -> str:
        frame = Image.open(BytesIO(b64decode(match[1].replace("\\", ""))))
        small = BytesIO()
        frame.convert("RGB").quantize(_COLORS).save(small, "PNG", optimize=True)
        return f'"data:image/png;base64,{b64encode(small.getvalue()).decode("ascii")}"'

    page = re.sub(r'"data:image/png;base64,([^"]*)"', shrink, page)
    chance = re.search(r'id="_anim_img([0-9a-f]{32})"', page)
    if chance is not None:
        page = page.replace(chance[1], re.sub(r"\W", "_", name))
    return f'<!DOCTYPE html>\n<meta charset="utf-8">\n<title>{name}</title>\n{page}'


def _check_two_classes(y: ArrayLike) -> None:
    classes = np.unique(y)
    if classes.size != 2:
        raise ValueError(f"y must hold labels of two classes, got {classes.tolist()}")


class _Recorder:
    """scikit-learn callback that keeps decisions, counts and record of each checkpoint."""

    def __init__(self, grid: np.ndarray) -> None:
        self.grid = grid
        self.values: list[np.ndarray] = []
        self.alpha: list[np.ndarray] = []
        self.history = History()

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to put away."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Nothing to see yet."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> None:
        """Keep what a checkpoint shows."""
        if context.task_name != "checkpoint":
            return
        self.values.append(fitted_estimator.decision_function(self.grid))
        self.alpha.append(fitted_estimator.alpha_)
        self.history.append(fitted_estimator.history_.records[-1])
