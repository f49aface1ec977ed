"""The page as a notebook widget, whose points go both ways.

It answers the same messages as the server does, by the same `Session`. Points, labels and settings
are traits: what somebody draws is in them, and what is assigned to them is drawn.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from inspect import Signature, signature
from typing import Any

import numpy as np

from kpegasos.playground.assets import bundled, text_of
from kpegasos.playground.messages import DEFAULTS, MOST_CLASSES, MOST_STEPS, Pane
from kpegasos.playground.session import Session
from kpegasos.utils.validation import as_array, as_integer, plain_labels, shown, sorted_labels

try:
    import anywidget
    import traitlets
except ModuleNotFoundError as error:
    raise ImportError("Playground needs anywidget: pip install 'kpegasos[playground]'") from error

#: Views of a widget that have a session each; of more, the one that was silent longest loses it.
_MOST_VIEWS = 4
_LONGEST_VIEW = 40
_FIRST_STEPS = 1000
_GLUE = """
export default {
  render({ model, el }) {
    const page = mount(el, new ModelTransport(model), { link: false });
    return () => page.destroy();
  },
};
"""
_TRAITS = ("points", "labels", "test", "settings", "t")


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
        ``loss``), ``seed``, and ``panes``, a list of one or two dicts with ``kernel`` and, where
        they matter, ``gamma``, ``degree`` and ``coef0``. These four by themselves make one pane.

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

    _esm = bundled(("playground.js", "transport.js"), _GLUE)
    _css = text_of("style.css")

    points = traitlets.Any()
    labels = traitlets.Any()
    test = traitlets.Any()
    settings = traitlets.Dict()
    t = traitlets.Int(_FIRST_STEPS)
    estimator = traitlets.Any(None, allow_none=True, read_only=True)
    estimators: traitlets.List = traitlets.List(read_only=True)

    def __init__(
        self, X: Any = None, y: Any = None, *, t: int = _FIRST_STEPS, **settings: Any
    ) -> None:
        if (X is None) != (y is None):
            raise ValueError("y must be given with X, and not without")
        self._sessions: OrderedDict[str | None, Session] = OrderedDict()
        self._accepted: dict[str, Any] = {}
        self._quiet = True
        super().__init__()
        self.settings = _all_settings(settings)
        self.t = as_integer("t", t, least=1, most=MOST_STEPS)
        self.set_points([] if X is None else X, [] if y is None else y)
        self._adopt()
        self.on_msg(lambda widget, content, buffers: self._receive(content))
        self.observe(lambda change: self._assigned(), names=list(_TRAITS))
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
        # Nobody is told of points whose classes are still to come.
        with self._or_taken_back(), self._without_notice(), self.hold_trait_notifications():
            self.points, self.labels = X, labels
            self.test = np.zeros(len(labels), dtype=bool) if test is None else test
        self._assigned()
        self.classes = classes

    # --- what is assigned ---

    @traitlets.validate("points")
    def _as_points(self, proposal: Any) -> np.ndarray:
        points = as_array("points", proposal["value"])
        if not points.size:
            return np.empty((0, 2))
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(
                f"points must have shape (n_points, 2), got shape {points.shape} instead"
            )
        return points

    @traitlets.validate("labels")
    def _as_labels(self, proposal: Any) -> np.ndarray:
        return _as_column("labels", proposal["value"], "iu", "whole numbers").astype(np.int64)

    @traitlets.validate("test")
    def _as_test(self, proposal: Any) -> np.ndarray:
        return _as_column("test", proposal["value"], "b", "True or False")

    def _assigned(self) -> None:
        """Fit what was assigned and show it; what will not do is taken back."""
        if self._quiet:
            return
        with self._or_taken_back():
            self._adopt()
        for view, session in self._sessions.items():
            session.state = self._state()
            self._reply({"kind": "state", "state": session.state, "t": self.t}, view)

    def _adopt(self) -> None:
        """Take the traits for the state, if a session does."""
        state = self._state()
        own = Session()
        for error in own.handle({"kind": "state", "revision": 0, "state": state}):
            raise ValueError(error["message"])
        as_integer("t", self.t, least=1, most=MOST_STEPS)
        self._show_models(own)
        self._accepted = {name: getattr(self, name) for name in _TRAITS}

    def _state(self) -> dict[str, Any]:
        """Return the traits as the state of a page."""
        columns = {name: getattr(self, name).tolist() for name in ("points", "labels", "test")}
        return {**columns, **self.settings}

    def _show_models(self, session: Session) -> None:
        models = session.models(self.t)
        self.set_trait("estimators", models)
        self.set_trait("estimator", models[-1] if models else None)

    # --- what a page sends ---

    def _receive(self, content: Any) -> None:
        """Answer a message of a page, and take over what it edited."""
        view = content.get("view") if isinstance(content, dict) else None
        if isinstance(view, str) and len(view) <= _LONGEST_VIEW:
            content = {name: value for name, value in content.items() if name != "view"}
        else:
            view = None
        session = self._session_of(view)
        before = session.scene
        for answer in session.handle(content):
            if answer["kind"] == "hello":
                answer = {**answer, "t": self.t}
            self._reply(answer, view)
            if answer["kind"] == "frame" and answer["algorithm"] == "pegasos" and answer["t"]:
                with self._without_notice():
                    self.t = answer["t"]
                self._show_models(session)
        if session.scene is not before:
            self._take_over(content["state"], view)

    def _take_over(self, state: dict[str, Any], view: str | None) -> None:
        """Make the state of a page that of the traits and of the other views."""
        if state == self._state():
            return
        with self._without_notice(), self.hold_trait_notifications():
            self.points, self.labels = state["points"], state["labels"]
            self.test = np.array(state["test"], dtype=bool)
            self.settings = {name: state[name] for name in DEFAULTS}
        self._accepted = {name: getattr(self, name) for name in _TRAITS}
        for other, session in self._sessions.items():
            session.state = state
            if other != view:
                self._reply({"kind": "state", "state": state}, other)

    def _session_of(self, view: str | None) -> Session:
        session = self._sessions.pop(view, None) or Session(self._state())
        self._sessions[view] = session
        while len(self._sessions) > _MOST_VIEWS:
            self._sessions.popitem(last=False)
        return session

    def _reply(self, message: dict[str, Any], view: str | None) -> None:
        self.send(message if view is None else {**message, "view": view})

    @contextmanager
    def _or_taken_back(self) -> Iterator[None]:
        """Assign what was accepted last, if anything goes wrong."""
        try:
            yield
        except BaseException:
            with self._without_notice(), self.hold_trait_notifications():
                for name, value in self._accepted.items():
                    setattr(self, name, value)
            raise

    @contextmanager
    def _without_notice(self) -> Iterator[None]:
        """Assign without acting on it."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before


def _as_column(name: str, values: Any, kinds: str, expected: str) -> np.ndarray:
    with suppress(TypeError, ValueError):
        array = np.asarray(values)
        if array.ndim == 1 and (array.dtype.kind in kinds or not array.size):
            return array
    raise ValueError(f"{name} must hold {expected} for each point, got {shown(values)} instead")


def _numbered(y: Any) -> tuple[list[Any], np.ndarray]:
    """Return classes by name, and the number of each point's."""
    names = np.asarray(y)
    if names.ndim != 1:
        raise ValueError(f"y must be a vector of class labels, got {shown(y)} instead")
    names = plain_labels(names)
    classes = sorted_labels("y", names)
    if len(classes) > MOST_CLASSES:
        raise ValueError(f"y must be of at most {MOST_CLASSES} classes, got {len(classes)} instead")
    return classes.tolist(), np.searchsorted(classes, names).astype(np.int64)


def _all_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Settings of a state: those given and the defaults of the others."""
    pane = {name: given[name] for name in Pane._fields if name in given}
    others = {name: value for name, value in given.items() if name not in pane}
    if pane:
        if "panes" in others:
            raise ValueError(
                f"panes must hold the kernels where they are given, got {', '.join(pane)} as well"
            )
        others["panes"] = [{"kernel": "rbf", **pane}]
    for name in others:
        if name not in DEFAULTS:
            raise TypeError(f"settings must be among {', '.join(DEFAULTS)}, got {name!r}")
    if others.get("lam") is not None and "C" not in others:
        others["C"] = None
    return {**deepcopy(DEFAULTS), **others}
