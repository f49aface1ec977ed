"""The decision boundary and the objective of a run, growing together over the iterations.

What is shown is recorded while an estimator is trained. It becomes a GIF, a video, or a page with a
player that needs no network: matplotlib's page loads the signs on its buttons from another site,
gives its elements random names, and holds frames in full colour. Here the signs are characters, the
same frames make the same page, and frames have a palette.
"""

from __future__ import annotations

import hashlib
import os
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from functools import partial
from io import BytesIO
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib import rc_context
from matplotlib.animation import FFMpegWriter, HTMLWriter, PillowWriter
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox, TransformedBbox
from numpy.typing import ArrayLike
from PIL import Image
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from kpegasos.plotting import checks
from kpegasos.plotting.convergence import VALUES, ConvergenceDisplay
from kpegasos.plotting.decisions import DecisionRegionDisplay
from kpegasos.plotting.style import panels_or_new
from kpegasos.solvers.result import History
from kpegasos.utils.validation import as_integer, as_number, optional, shown

#: MiB of frames in a page; beyond 20 matplotlib would leave the last ones out.
_EMBED_MB = 1024.0
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
        self.alpha.append(
            np.asarray(counts.sum(axis=0)).ravel() if sparse.issparse(counts) else counts
        )
        for name, column in self.columns.items():
            column.append(sum(getattr(history[-1], name) for history in histories))


#: Signs on the buttons, by the names of the icons that they stand for, as HTML.
_SIGNS = {
    "fa-minus": "&#8722;",
    "fa-fast-backward": "&#124;&#9664;&#xFE0E;",
    "fa-step-backward": "&#8249;",
    "fa-play fa-flip-horizontal": "&#9664;&#xFE0E;",
    "fa-pause": "&#10074;&#10074;",
    "fa-play": "&#9654;&#xFE0E;",
    "fa-step-forward": "&#8250;",
    "fa-fast-forward": "&#9654;&#xFE0E;&#124;",
    "fa-plus": "+",
}
_LINK = re.compile(r"<link\b[^>]*>\s*")
_ICON = re.compile(r'<i class="fa ([^"]*)"></i>')
_FRAME = re.compile(r'(?<="data:image/png;base64,)[^"]+')
_NAME = re.compile(r"_anim_img([0-9a-f]{32})")


class PageWriter(HTMLWriter):
    """Writer of a page with a player, which works without a network."""

    def finish(self) -> None:
        """Write the page, and put characters in the place of icons."""
        super().finish()
        page = Path(self.outfile)
        page.write_text(self_contained(page.read_text(encoding="utf-8")), encoding="utf-8")


class GifWriter(PillowWriter):
    """Writer of a GIF whose last frame may stay for longer."""

    _frames: list[Image.Image]

    def finish(self) -> None:
        """Write the frames, if there are any: an interrupt may come before the first."""
        if self._frames:
            super().finish()

    def hold(self, n_frames: int) -> None:
        """Show the frame that was grabbed last for so many frames more, without drawing it."""
        self._frames += self._frames[-1:] * n_frames


def self_contained(page: str) -> str:
    """Return matplotlib's page of an animation without what it loads, its names made of itself.

    Parameters
    ----------
    page : str
        HTML that `matplotlib.animation.HTMLWriter` wrote, its frames embedded.

    Returns
    -------
    str
        The page that needs nothing else.
    """
    page = _FRAME.sub(lambda frame: _smaller(frame[0]), _LINK.sub("", page))
    page = _ICON.sub(lambda icon: _SIGNS.get(icon[1], icon[1].removeprefix("fa-")), page)
    found = _NAME.search(page)
    if found:
        bare = page.replace(found[1], "")
        page = page.replace(found[1], hashlib.sha256(bare.encode()).hexdigest()[:32])
    return page


def _smaller(frame: str) -> str:
    """Return an embedded picture with a palette, which takes a quarter of the room."""
    picture = Image.open(BytesIO(b64decode(frame.replace("\\\n", "")))).convert("RGB")
    file = BytesIO()
    picture.quantize(dither=Image.Dither.NONE).save(file, "png", optimize=True)
    return b64encode(file.getvalue()).decode("ascii")


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

    @checks.by_name
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
        names = ("iteration", *VALUES)
        if not isinstance(history, History):
            checks.mapping("history", history)
            missing = [name for name in names if name not in history]
            if missing:
                raise ValueError(f"history must have the columns {names}, got none of {missing}")
        self.X = checks.points("X", X)
        self.y = checks.labels("y", y)
        checks.numbers("alpha", alpha, ndim=2)
        self.alpha = np.asarray(alpha)
        self.feature_names = tuple(checks.names("feature_names", feature_names))
        _check_shapes(self)
        self.history = {
            name: checks.one_for_each(
                f"history[{name!r}]", history[name], len(self.values), "frames"
            )
            for name in names
        }

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
        frame, n_frames = as_integer("frame", frame), len(self.values)
        if not -n_frames <= frame < n_frames:
            raise ValueError(
                f"frame must be from {-n_frames} to {n_frames - 1}, got {frame} instead"
            )
        self.axes_ = panels_or_new(ax, 2, (4.5, 4.2))
        left, right = self.axes_
        self.figure_ = left.get_figure(root=True)
        self.convergence_ = ConvergenceDisplay.from_history(self.history, ax=right, legend=False)
        right.legend(loc="upper right", frameon=False)
        if np.unique(self.y).size > 2:
            right.set_ylabel("objective f(w), sum over pairs")
        # Limits of the whole run, whatever part of it is shown.
        right.autoscale(False)
        self._draw(frame)
        return self

    def save(
        self, path: str | PathLike[str], *, fps: int = 8, dpi: float = 89.0, hold: float = 2.0
    ) -> None:
        """Write all frames to a file.

        Parameters
        ----------
        path : path-like
            Name of the file; ends in ``.gif``, in ``.html`` for a page with a player, or in
            ``.mp4``, for which the program ffmpeg must be there.
        fps : int, default=8
            Number of frames per second.
        dpi : float, default=89
            Pixels per inch: by default the figure is 800 pixels wide.
        hold : float, default=2
            Seconds for which a GIF or a video shows the last frame before it starts again.

        Raises
        ------
        ValueError
            If the name of the file ends in anything else.
        RuntimeError
            If there is no ffmpeg for a video.
        """
        path = _file(path)
        if path.suffix == ".mp4" and not FFMpegWriter.isAvailable():
            raise RuntimeError("path ends in .mp4, which needs the program ffmpeg: install it")
        fps = as_integer("fps", fps, least=1, most=1000)
        dpi = as_number("dpi", dpi, least=10.0, most=10_000.0)
        hold = as_number("hold", hold, least=0.0, most=60.0)
        if not hasattr(self, "figure_"):
            self.plot()
            plt.close(self.figure_)  # or a notebook would show it once more
        # The first layout serves all frames: nothing jumps.
        self.figure_.draw_without_rendering()
        self.figure_.set_layout_engine("none")
        page = partial(PageWriter, embed_frames=True, embed_limit=_EMBED_MB)
        writer: Any = {".gif": GifWriter, ".mp4": FFMpegWriter}.get(path.suffix, page)(fps=fps)
        # Whole or not at all: a writer that is interrupted writes the frames that it has.
        with TemporaryDirectory(prefix=".", dir=path.parent) as folder:
            draft = Path(folder) / path.name
            # What FuncAnimation.save does, which draws each frame three times.
            with writer.saving(self.figure_, str(draft), dpi), rc_context({"savefig.bbox": None}):
                for frame in range(len(self.values)):
                    self._draw(frame)
                    writer.grab_frame()
                if isinstance(writer, GifWriter):
                    writer.hold(round(hold * fps))
                elif path.suffix == ".mp4":
                    for _ in range(round(hold * fps)):
                        writer.grab_frame()
            draft.replace(path)

    def _repr_html_(self) -> str:
        """Return a player of all frames, for notebooks."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "run.html"
            self.save(path)
            return path.read_text(encoding="utf-8")

    def _draw(self, frame: int) -> None:
        """Show a frame in place of the one before."""
        alpha, ax = self.alpha[frame], self.axes_[0]
        support = np.flatnonzero(alpha)
        ax.clear()
        self.regions_ = DecisionRegionDisplay.from_predictions(
            self.xx,
            self.yy,
            self.values[frame],
            self.X,
            self.y,
            support=support,
            counts=alpha[support],
            xlabel=self.feature_names[0],
            ylabel=self.feature_names[1],
            ax=ax,
            legend=False,
            max_count=float(self.alpha.max()) or None,
        )
        # A band between the margins of less area is hidden by a boundary as thick as usual.
        thin = np.mean(np.abs(self.values[frame]) < 1) < 0.05
        if thin and self.regions_.lines_ is not None:
            self.regions_.lines_.set_linewidth((0.7, 0.6, 0.7))
        if self.y.dtype.kind in "UO":
            ax.legend(handles=self.regions_.points_, loc="best", fontsize="small", framealpha=0.7)
        words = f"{support.size} support vector{'' if support.size == 1 else 's'}"
        steps = int(self.history["iteration"][frame])
        ax.set_title(f"T = {steps:,}: {words}", loc="left", fontsize="medium")
        stop = frame % len(self.values) + 1
        for name, line in self.convergence_.lines_.items():
            shown = self.history[name][:stop]
            line.set_data(self.history["iteration"][:stop], np.where(shown > 0, shown, np.nan))
            # Where the run is; in the first frame there is nothing else.
            line.set(marker="o", markersize=6, markevery=[stop - 1])
        if self.convergence_.gap_ is not None:
            right = self.axes_[1]
            so_far = Bbox.from_extents(right.get_xlim()[0], 0.0, steps, 1.0)
            box = TransformedBbox(so_far, right.get_xaxis_transform())
            self.convergence_.gap_.set_clip_box(box)
        gap = self.history["objective_average"][stop - 1] - self.history["dual_bound"][stop - 1]
        self.axes_[1].set_title(
            f"certified gap: {float(f'{gap:.2g}'):,g}", loc="left", fontsize="medium"
        )


def _file(path: Any) -> Path:
    """Return the path of a file that can be written.

    Raises
    ------
    ValueError
        If its name ends in anything else, or it is no path.
    """
    # The path of a directory entry, say, is text; that of others may be bytes.
    name = os.fspath(path) if isinstance(path, PathLike) else path
    if not isinstance(name, str) or Path(name).suffix not in (".gif", ".html", ".mp4"):
        name = Path(name).name if isinstance(name, str) and name is not path else name
        raise ValueError(f"path must end in .gif, .html or .mp4, got {shown(name)}")
    return Path(name)


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
    if run.alpha.shape != (n_frames, len(run.X)):
        raise ValueError(
            f"alpha must have shape (n_frames, n_samples) = {n_frames, len(run.X)}, "
            f"got {run.alpha.shape}"
        )
