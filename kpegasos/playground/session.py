"""A session: answers the messages of one page, whatever carries them."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import kpegasos
from kpegasos.estimators import PegasosSVC
from kpegasos.losses import CLASSIFICATION
from kpegasos.playground import messages, runs
from kpegasos.playground.files import file_message
from kpegasos.playground.messages import MessageError, Scene
from kpegasos.playground.runs import Data, PaneRun
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils.bases import HAS_CALLBACKS
from kpegasos.utils.threads import turn

#: Seconds that the steps of one answer may take.
MOST_SECONDS = 20.0
#: Runs that are kept, and their kernel values at the most, beside those of the present state: for
#: undo, and for switches that are tried out.
_KEPT_RUNS, _KEPT_VALUES = 6, 6 * 10**6


class Session:
    """Answers requests about the state that a page sent last.

    It keeps runs of the last states, so that time can go back and forth, and nothing that could not
    be computed again. Threads that share it take turns.

    Parameters
    ----------
    state : dict, default=None
        What the page is to begin with; its own choice if None.

    Attributes
    ----------
    state : dict or None
        As it came last.
    scene : Scene or None
        The same, checked.
    revision : int
        Number of the state.
    """

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        self.state = state
        self.scene: Scene | None = None
        self.revision = -1
        self._data: Data | None = None
        self._refusal: MessageError | None = None
        self._runs: OrderedDict[Any, PaneRun] = OrderedDict()
        self._stopper = Stopper()

    def hello(self) -> dict[str, Any]:
        """Make the first message to a page."""
        return {
            "kind": "hello",
            "engine": "python",
            "version": kpegasos.__version__,
            "classes_limit": messages.MOST_CLASSES,
            "points_limit": messages.MOST_POINTS,
            "steps_limit": messages.MOST_STEPS,
            "losses": list(CLASSIFICATION),
            "steps": list(messages.STEP_RULES),
            "samplings": list(messages.SAMPLINGS),
            "kernels": list(messages.KERNELS),
            "exports": [what for what in messages.EXPORTS if what != "gif" or HAS_CALLBACKS],
            "algorithms": list(messages.ALGORITHMS),
            "state": self.state,
        }

    def handle(self, message: Any) -> list[dict[str, Any]]:
        """Answer a message.

        Parameters
        ----------
        message : dict
            As JSON has it, not checked yet.

        Returns
        -------
        list of dict
            None or more answers. Whatever is wrong is told in one of kind "error".
        """
        with turn(self, "session"):
            try:
                self._note_revision(message)
                request = messages.request_of(message)
                answer = ANSWERS[request["kind"]](self, request)
            except MessageError as error:
                return [self.told(message, error)]
            except Exception as error:  # whatever a page sends, the session goes on
                return [self.told(message, _named(error))]
            return [] if answer is None else [answer]

    def models(self, t: int) -> list[PegasosSVC]:
        """Make the fitted estimator of each pane after ``t`` steps; none without two classes."""
        with turn(self, "session"):
            return self._models(t)

    def _models(self, t: int) -> list[PegasosSVC]:
        if not t or self._data is None or self._data.status != "ok":
            return []
        stopper = self._new_stopper()
        return [run.model(t, run.at(t, stopper)) for run in self._pane_runs()]

    def interrupt(self) -> None:
        """Give up the answer in work, from any thread; nobody waits for it."""
        self._stopper.interrupt()

    # --- one for each kind of request ---

    def _take_state(self, request: dict[str, Any]) -> None:
        self.scene, self._refusal = request["state"], None
        self._data = Data.of(request["state"])

    def _show(self, request: dict[str, Any]) -> dict[str, Any]:
        t = request["t"]
        frame, data = self._frame(request, "pegasos")
        frame["t"] = t
        if data.status == "ok":
            stopper = self._new_stopper()
            frame["explain"] = [] if request["explain"] and t else None
            for run in self._pane_runs():
                moments = run.at(t, stopper) if t else []
                pane = runs.pane_frame(run, data, t, moments)
                if request["history"]:
                    pane["history"] = runs.history_frame(run, data, moments, pane["test_error"])
                frame["panes"].append(pane)
                if frame["explain"] is not None:
                    frame["explain"].append(runs.explanation(run, data, t, moments))
            frame["drawn"] = runs.drawn(run, data, t)
            frame["epoch"] = moments[0].result.history[-1].epoch if t else 0.0
        return frame

    def _by_another(self, request: dict[str, Any], algorithm: str) -> dict[str, Any]:
        """Make a frame of models by another algorithm, which the runs keep for exports."""
        frame, data = self._frame(request, algorithm)
        if data.status == "ok":
            fit = {"polish": runs.polished, "SVC": runs.compared}[algorithm]
            frame["panes"] = [
                fit(run, data, f"panes[{number}].kernel")
                for number, run in enumerate(self._pane_runs())
            ]
        return frame

    def _export(self, request: dict[str, Any]) -> dict[str, Any]:
        scene, data = self._current(request)
        algorithm = request["algorithm"]
        if algorithm == "pegasos" or request["what"] == "gif" or data.status != "ok":
            return file_message(request, scene, self._models(request["t"]))
        found = self._pane_runs()
        if any(algorithm not in run.others for run in found):
            self._by_another(request, algorithm)
        return file_message(request, scene, [run.others[algorithm] for run in found])

    # --- what they share ---

    def _new_stopper(self) -> Stopper:
        self._stopper = Stopper(MOST_SECONDS)
        return self._stopper

    def _frame(self, request: dict[str, Any], algorithm: str) -> tuple[dict[str, Any], Data]:
        """Begin the frame of a request, without panes; returns it and the data."""
        _, data = self._current(request)
        frame = {
            "kind": "frame",
            "id": request["id"],
            "revision": request["revision"],
            "t": None,
            "epoch": None,
            "status": data.status,
            "algorithm": algorithm,
            "drawn": [],
            "panes": [],
            "explain": None,
        }
        return frame, data

    def _current(self, request: dict[str, Any]) -> tuple[Scene, Data]:
        """Look up the state that a request is about.

        Raises
        ------
        MessageError
            If it is not the last, or was refused.
        """
        if request["revision"] == self.revision and self._refusal is not None:
            raise self._refusal
        if request["revision"] != self.revision or self.scene is None or self._data is None:
            raise MessageError(
                f"revision must be that of the last state, {self.revision}, "
                f"got {request['revision']} instead",
            )
        return self.scene, self._data

    def _pane_runs(self) -> list[PaneRun]:
        """Look up or make the run of each pane."""
        assert self.scene is not None
        assert self._data is not None
        scene, data = self.scene, self._data
        settings = tuple(scene.settings.items())
        content = settings, data.X.tobytes(), data.y.tobytes(), data.X_test.tobytes()
        found = []
        for pane in scene.panes:
            key = pane, *content
            run = self._runs.pop(key, None) or PaneRun(pane, scene.settings, data.X, data.y)
            self._runs[key] = run
            found.append(run)
        kept, values = len(self._runs), sum(len(run.y) ** 2 for run in self._runs.values())
        while kept > len(found) and (kept > _KEPT_RUNS or values > _KEPT_VALUES):
            _, oldest = self._runs.popitem(last=False)
            kept, values = kept - 1, values - len(oldest.y) ** 2
        return found

    def _note_revision(self, message: Any) -> None:
        """Know the number of a state even if the state will be refused."""
        if isinstance(message, dict) and message.get("kind") == "state":
            revision = message.get("revision")
            if type(revision) is int:
                self.revision = revision
                self._refusal = MessageError("state must be accepted before it is shown")

    def told(self, message: Any, error: MessageError) -> dict[str, Any]:
        """Make a message of an error that a message led to."""
        if isinstance(message, dict) and message.get("kind") == "state":
            self._refusal = error
        return {
            "kind": "error",
            "id": messages.id_of(message),
            "parameter": error.parameter,
            "message": str(error),
        }


#: What answers each kind of request. No session has it, and so none refers to itself: the kernel
#: values of a page that is gone are freed at once.
ANSWERS: dict[str, Callable[[Session, dict[str, Any]], dict[str, Any] | None]] = {
    "hello": lambda session, request: session.hello(),
    "state": Session._take_state,
    "show": Session._show,
    "polish": lambda session, request: session._by_another(request, "polish"),
    "compare": lambda session, request: session._by_another(request, "SVC"),
    "export": Session._export,
}


def _named(error: Exception) -> MessageError:
    """Make an answer of an error of the package, whose sentence begins with the parameter."""
    text = " ".join(str(error).split())[:400]
    names = re.match(r"(?:\w+ and )?(\w+) must", text)
    if isinstance(error, ValueError | TypeError) and names:
        return MessageError(text, names[1])
    return MessageError(f"message led to {type(error).__name__}: {text}")
