"""The page as a notebook widget, whose points go both ways.

The page trains by itself. Points, labels and settings are traits: what somebody draws is in them,
and what is assigned to them is drawn. Models are fitted here when they are asked for.
"""

from __future__ import annotations

import re
from contextlib import suppress
from copy import deepcopy
from graphlib import TopologicalSorter
from inspect import Signature, signature
from typing import Any

import numpy as np

from kpegasos.core.steps import Constant, DelayedInverse, InverseSquareRoot
from kpegasos.estimators import PegasosSVC
from kpegasos.fitting.inputs import settings_of
from kpegasos.playground import STATIC
from kpegasos.utils.validation import (
    as_array,
    as_choice,
    as_flag,
    as_integer,
    as_number,
    plain_labels,
    shown,
    sorted_labels,
)

try:
    import anywidget
    import traitlets
except ModuleNotFoundError as error:
    raise ImportError("Playground needs anywidget: pip install 'kpegasos[playground]'") from error

_GLUE = "export default { render: ({ model, el }) => renderWidget(model, el) };\n"
#: Limits of the page's engine.
_MOST_POINTS, _MOST_CLASSES, _MOST_STEPS, _FARTHEST = 2000, 4, 10_000_000, 1e6
_FIRST_STEPS = 1000
_TRAITS = ["points", "labels", "test", "settings", "t"]
_KERNELS = ("linear", "rbf", "poly", "laplacian", "sigmoid")
_RULES = {"inverse_sqrt": InverseSquareRoot, "constant": Constant, "delayed": DelayedInverse}
#: A kernel, unless it is given, and what all panes share.
_PANE: dict[str, Any] = {"kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 0.0}
_SHARED: dict[str, Any] = {
    "fit_intercept": True,
    "batch_size": 1,
    "sampling": "permutation",
    "projection": False,
    "average": "weighted",
    "loss": "hinge",
}
_SETTINGS: dict[str, Any] = {
    "panes": [{**_PANE, "kernel": "linear"}, _PANE],
    "C": 10.0,
    "lam": None,
    **_SHARED,
    "step": None,
    "seed": 0,
}


# --- the page as one module ---
#
# Its files are plain ES modules with named exports and no two top-level names alike, and an import
# is a line ``import { a, b } from "./file.js";``. So they can be put behind each other, those that
# are imported first, without the words that make them modules and without comments.

_IMPORT = re.compile(r'^import \{[^}\n]*\} from "\./([\w.]+)";\n', re.M)
#: Comments that have lines of their own, which a widget sends for nothing.
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*.*?\*/|//[^\n]*)[ \t]*\n", re.M | re.S)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const|let)\b)", re.M)


def text_of(name: str) -> str:
    """Read the text of a file."""
    return (STATIC / name).read_text(encoding="utf-8")


def files_behind(root: str) -> list[str]:
    """List a module and all that it imports, each behind those that it imports itself."""
    imported: dict[str, list[str]] = {}
    left = [root]
    while left:
        if (name := left.pop()) not in imported:
            imported[name] = _IMPORT.findall(text_of(name))
            left += imported[name]
    return [*TopologicalSorter(imported).static_order()]


def bundled(root: str, end: str) -> str:
    """Join a module of the page and all that it imports; behind them comes ``end``."""
    return "\n".join([*map(_stripped, files_behind(root)), end])


def _stripped(name: str) -> str:
    """Strip a module of what makes it one, and of its comments."""
    module = text_of(name)
    for words in (_IMPORT, _EXPORT, _COMMENT):
        module = words.sub("", module)
    return module


# --- the widget ---


class Playground(anywidget.AnyWidget):
    """The playground in a notebook: points drawn by hand, and Pegasos at every step.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2), default=None
        Points to begin with.
    y : array-like of shape (n_samples,), default=None
        Their classes, four at the most, by any names; needed with X.
    t : int, default=1000
        Step to show at first.
    **settings
        What is to differ from the defaults: parameters of `PegasosSVC` that the page has (``C``,
        ``lam``, ``fit_intercept``, ``batch_size``, ``sampling``, ``projection``, ``average``,
        ``loss``), ``step``, ``seed``, and ``panes``, a list of one or two dicts with ``kernel``
        and, where they matter, ``gamma``, ``degree`` and ``coef0``.

    Attributes
    ----------
    points : ndarray of shape (n_points, 2)
        What is drawn. As many others can be assigned; for another number see `set_points`.
    labels : ndarray of shape (n_points,)
        Classes 0 to 3.
    test : ndarray of shape (n_points,)
        Whether a point is held out.
    settings : dict
        All settings, as the page has them.
    t : int
        The step that is shown.
    estimator : PegasosSVC or None
        The fitted model of the last pane at that step, of classes 0 to 3; None while there are not
        two classes.
    estimators : list of PegasosSVC
        Those of all panes.
    classes : list
        What the classes were called in y.

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kpegasos import Playground  # doctest: +SKIP
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> playground = Playground(X, y, C=10.0)  # doctest: +SKIP
    >>> playground  # as the last line of a cell it is shown  # doctest: +SKIP
    >>> playground.estimator.score(X, y)  # doctest: +SKIP
    """

    _esm = bundled("widget.js", _GLUE)
    _css = text_of("style.css")

    points = traitlets.Any()
    labels = traitlets.Any()
    test = traitlets.Any()
    settings = traitlets.Dict()
    t = traitlets.Int(_FIRST_STEPS)
    #: All of these as the page has them.
    _page = traitlets.Dict().tag(sync=True)

    def __init__(
        self, X: Any = None, y: Any = None, *, t: int = _FIRST_STEPS, **settings: Any
    ) -> None:
        if (X is None) != (y is None):
            raise ValueError("y must be given with X, and not without")
        self._quiet = True
        self._accepted: dict[str, Any] = {}
        self._fitted: tuple[Any, list[PegasosSVC]] = {}, []
        super().__init__()
        if settings.get("lam") is not None:
            settings.setdefault("C", None)
        self.settings, self.t = settings, as_integer("t", t)
        self.set_points([] if X is None else X, [] if y is None else y)
        self.observe(lambda change: self._assigned(), names=_TRAITS)
        self.observe(lambda change: self._edited(), names=["_page"])
        self._quiet = False

    # That of HasTraits says nothing.
    __signature__ = Signature(list(signature(__init__).parameters.values())[1:])

    def set_points(self, X: Any, y: Any, test: Any = None) -> None:
        """Draw other points.

        Parameters
        ----------
        X : array-like of shape (n_samples, 2)
        y : array-like of shape (n_samples,)
            Their classes, four at the most, by any names.
        test : array-like of bool of shape (n_samples,), default=None
            Which are held out; none if None.

        Raises
        ------
        ValueError
            Naming the parameter, what was expected and what came.
        """
        classes, labels = _numbered(y)
        test = np.zeros(len(labels), dtype=bool) if test is None else test
        self._take({"points": X, "labels": labels, "test": test})
        self.classes = classes

    @property
    def estimators(self) -> list[PegasosSVC]:
        """The fitted model of each pane at the step shown; none while there are not two classes."""
        if self._fitted[0] is not self._accepted:
            self._fitted = self._accepted, _fitted_models(**self._accepted)
        return list(self._fitted[1])

    @property
    def estimator(self) -> PegasosSVC | None:
        """The fitted model of the last pane at the step shown, if there is one."""
        return self.estimators[-1] if self.estimators else None

    def _assigned(self) -> None:
        """Show what was assigned; what will not do is taken back."""
        if not self._quiet:
            self._take({})

    def _edited(self) -> None:
        """Take over what a page has edited, if it is a state of this widget."""
        if not self._quiet:
            state = dict(self._page["state"])
            columns = {name: state.pop(name) for name in ("points", "labels", "test")}
            self._take({**columns, "settings": state, "t": self._page["t"]})

    def _take(self, changes: dict[str, Any]) -> None:
        """Check the traits with some changes, and make them those of the page."""
        try:
            state = _checked_traits(**{name: getattr(self, name) for name in _TRAITS} | changes)
        except (TypeError, ValueError):
            self._write(self._accepted)
            raise
        self._accepted = state
        self._write(state)

    def _write(self, state: dict[str, Any]) -> None:
        """Write the traits without acting on it; those that are the same stay as they are."""
        before, self._quiet = self._quiet, True
        with self.hold_trait_notifications():
            for name, value in state.items():
                if not np.array_equal(getattr(self, name), value):
                    setattr(self, name, value)
            if state:
                columns = {name: state[name].tolist() for name in ("points", "labels", "test")}
                self._page = {"state": {**columns, **state["settings"]}, "t": state["t"]}
        self._quiet = before


# --- what may be assigned ---


def _completed(name: str, values: Any, defaults: dict[str, Any]) -> dict[str, Any]:
    """Return values with the defaults of those that are missing; no name may be another."""
    if not isinstance(values, dict) or not values.keys() <= defaults.keys():
        raise ValueError(f"{name} must be a dict of {', '.join(defaults)}, got {shown(values)}")
    return deepcopy({**defaults, **values})


def _checked_settings(settings: Any) -> dict[str, Any]:
    """Check settings as `PegasosSVC` does, and complete them; finer limits are told by the page."""
    settings = _completed("settings", settings, _SETTINGS)
    panes, step = settings["panes"], settings["step"]
    if (settings["C"] is None) == (settings["lam"] is None):
        raise ValueError(
            f"C or lam must be a number and the other None, got {settings['C']} and "
            f"{settings['lam']} instead"
        )
    if not isinstance(panes, list) or not 1 <= len(panes) <= 2:
        raise ValueError(f"panes must be a list of one or two kernels, got {shown(panes)} instead")
    panes = settings["panes"] = [_completed("panes", pane, _PANE) for pane in panes]
    if step is not None:
        step = settings["step"] = _completed("step", step, {"rule": None, "scale": 1.0})
        as_choice("rule", step["rule"], tuple(_RULES))
        step["scale"] = as_number("scale", step["scale"], positive=True)
    settings["seed"] = as_integer("seed", settings["seed"], least=0, most=2**32 - 1)
    as_flag("fit_intercept", settings["fit_intercept"])
    as_choice("sampling", settings["sampling"], ("permutation", "uniform"))
    for pane in panes:
        as_choice("kernel", pane["kernel"], _KERNELS)
    # The estimators check the rest, and make numbers of NumPy plain.
    cost = "C" if settings["lam"] is None else "lam"
    for pane, model in zip(panes, _models(settings, 1), strict=True):
        plain = settings_of(model).own
        pane.update({name: plain[name] for name in _PANE})
        settings.update({name: plain[name] for name in (cost, *_SHARED)})
    return settings


def _checked_traits(points: Any, labels: Any, test: Any, settings: Any, t: Any) -> dict[str, Any]:
    """Check what the traits hold, and make arrays of the columns."""
    points = as_array("points", points)
    points = points if points.size else np.empty((0, 2))
    if points.ndim != 2 or points.shape[1] != 2 or len(points) > _MOST_POINTS:
        raise ValueError(
            f"points must have shape (n_points, 2), n_points at most {_MOST_POINTS:,}, "
            f"got shape {points.shape} instead"
        )
    if not (np.abs(points) <= _FARTHEST).all():
        raise ValueError(
            f"points must be numbers of at most {_FARTHEST:,.0f} in size, got {shown(points)}"
        )
    expected = f"whole numbers from 0 to {_MOST_CLASSES - 1}"
    labels = _column("labels", labels, "iu", expected, len(points)).astype(np.int64)
    if not ((labels >= 0) & (labels < _MOST_CLASSES)).all():
        raise ValueError(f"labels must hold {expected}, got {shown(labels)} instead")
    test = _column("test", test, "b", "True or False", len(points)).astype(bool)
    settings = _checked_settings(settings)
    t = as_integer("t", t, least=0, most=_MOST_STEPS)
    return {"points": points, "labels": labels, "test": test, "settings": settings, "t": t}


def _column(name: str, values: Any, kinds: str, expected: str, n_points: int) -> np.ndarray:
    with suppress(TypeError, ValueError):
        array = np.asarray(values)
        if array.ndim == 1 and (array.dtype.kind in kinds or not array.size):
            if len(array) == n_points:
                return array
            expected = f"an entry for each of {n_points} points"
    raise ValueError(f"{name} must hold {expected}, got {shown(values)} instead")


def _numbered(y: Any) -> tuple[list[Any], np.ndarray]:
    """Return classes by name, and the index of each point's."""
    names = plain_labels(np.asarray(y))
    if names.ndim != 1 or (names.dtype.kind == "f" and np.isnan(names).any()):
        raise ValueError(f"y must be a vector of class labels, got {shown(y)} instead")
    classes = sorted_labels("y", names)
    if len(classes) > _MOST_CLASSES:
        raise ValueError(
            f"y must be of at most {_MOST_CLASSES} classes, got {len(classes)} instead"
        )
    return classes.tolist(), np.searchsorted(classes, names).astype(np.int64)


# --- models ---


def _models(settings: dict[str, Any], t: int) -> list[PegasosSVC]:
    """Make the estimator of each pane."""
    cost = "C" if settings["lam"] is None else "lam"
    shared = {name: settings[name] for name in (cost, *_SHARED)}
    if settings["step"] is not None:
        rule, scale = settings["step"].values()
        shared["step"] = _RULES[rule](*(() if rule == "delayed" else (scale,)))
    shared |= {"random_state": settings["seed"], "n_steps": t, "checkpoints": "log"}
    return [PegasosSVC(**pane, **shared) for pane in settings["panes"]]


def _fitted_models(
    points: np.ndarray, labels: np.ndarray, test: np.ndarray, settings: dict[str, Any], t: int
) -> list[PegasosSVC]:
    """Fit the estimators; there are none before the first step and without two classes."""
    if t == 0 or len(np.unique(labels[~test])) < 2:
        return []
    return [model.fit(points[~test], labels[~test]) for model in _models(settings, t)]
