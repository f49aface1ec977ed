"""Frames: what a page draws of models at a step, as plain values for JSON.

Everything is told in the numbers of the page: points by their place in the state, classes 0 to 3,
and decisions of a pair positive for its second class, as those of two classes are in `PegasosSVC`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kpegasos.estimators._one_vs_one import vote
from kpegasos.kernels.decision import kernel_decision
from kpegasos.losses.base import values
from kpegasos.playground.runs import Draws, Moment, PairRun, PaneRun
from kpegasos.playground.scenes import Scene
from kpegasos.solvers.history import Record

NO_CERTIFICATE = "the {} kernel is not positive semi-definite, so no duality gap is certified"


class Data(NamedTuple):
    """The points of a scene, divided.

    Attributes
    ----------
    train, test : ndarray of int64
        Places of the points in the state.
    X, y, X_test, y_test : ndarray
    everything, targets : ndarray
        Points and classes of both, those to train on first.
    classes : list of int
        Those that are trained, sorted.
    """

    train: np.ndarray
    test: np.ndarray
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    everything: np.ndarray
    targets: np.ndarray
    classes: list[int]

    @classmethod
    def of(cls, scene: Scene) -> Data:
        """Divide the points."""
        train, test = np.flatnonzero(~scene.test), np.flatnonzero(scene.test)
        order = np.concatenate((train, test))
        X, y = scene.points[order], scene.labels[order]
        n = len(train)
        return cls(train, test, X[:n], y[:n], X[n:], y[n:], X, y, np.unique(y[:n]).tolist())

    @property
    def status(self) -> str:
        """``"ok"``, or why there is nothing to train."""
        return "ok" if len(self.classes) > 1 else "one_class" if self.classes else "empty"


def number(value: Any) -> float | None:
    """A number for JSON, which has no NaN."""
    return float(value) if math.isfinite(value) else None


def numbers(found: Any) -> list[float | None]:
    """Numbers for JSON."""
    array = np.asarray(found, dtype=np.float64)
    if np.isfinite(array).all():
        return array.tolist()
    return [number(value) for value in array.tolist()]


def errors(data: Data, predicted: np.ndarray) -> dict[str, float | None]:
    """Shares of wrong predictions for `Data.everything`; None without points."""
    wrong, n_train = predicted != data.targets, len(data.y)
    parts = {"train_error": wrong[:n_train], "test_error": wrong[n_train:]}
    return {
        name: float(np.count_nonzero(part) / part.size) if part.size else None
        for name, part in parts.items()
    }


def _sign(run: PaneRun) -> float:
    """What makes decisions of a pair positive for its second class."""
    return 1.0 if len(run.pairs) == 1 else -1.0


def pane_frame(run: PaneRun, data: Data, t: int, moments: list[Moment]) -> dict[str, Any]:
    """A pane at a step, but for its history."""
    if t == 0:
        return _before(run, data)
    model = run.model(t, moments)
    results = [moment.result for moment in moments]
    frame = model_frame(run, data, [(r.coef, r.intercept) for r in results])
    objective = sum(result.objective for result in results)
    certified = not math.isnan(sum(result.gap for result in results))
    averaged = run.plan.settings.options.average is not None
    return {
        **frame,
        "counts": _counts(run, data, moments),
        "objective": number(sum(moment.result.history[-1].objective_last for moment in moments)),
        "averaged": number(objective) if averaged else None,
        "bound": number(sum(result.dual_bound for result in results)),
        "gap": relative_gap(sum(result.gap for result in results), objective),
        "certificate": None if certified else NO_CERTIFICATE.format(run.parameters["kernel"]),
        "support": int(model.support_.size),
        **errors(data, model._by_blocks(data.everything, model._vote)),
    }


def relative_gap(gap: float, objective: float) -> float | None:
    """A gap as a part of the objective, for JSON."""
    return number(gap / objective) if objective > 0.0 else None


def _before(run: PaneRun, data: Data) -> dict[str, Any]:
    """A pane before its first step."""
    loss = sum(
        float(values(run.plan.settings.loss, np.zeros(len(y)), y).mean())
        for y in (pair.pair.problem.y for pair in run.pairs)
    )
    certified = run.kernel.positive_definite
    nothing = [(np.zeros(pair.pair.members.size), 0.0) for pair in run.pairs]
    return {
        **model_frame(run, data, nothing),
        "counts": _spread(data, np.zeros(len(data.y))) if run.counts else None,
        "objective": loss,
        "averaged": loss if run.plan.settings.options.average is not None else None,
        "bound": None,
        "gap": None,
        "certificate": None if certified else NO_CERTIFICATE.format(run.parameters["kernel"]),
        "support": 0,
        "train_error": None,
        "test_error": None,
    }


def model_frame(run: PaneRun, data: Data, models: list[tuple[np.ndarray, float]]) -> dict[str, Any]:
    """Coefficients and intercept of each pair."""
    sign = _sign(run)
    pairs = []
    for each, (coef, intercept) in zip(run.pairs, models, strict=True):
        support = np.flatnonzero(coef)
        pairs.append(
            {
                "classes": _classes_of(data, each),
                "support": data.train[each.pair.members[support]].tolist(),
                "dual_coef": numbers(sign * coef[support]),
                "intercept": number(sign * intercept),
            }
        )
    gamma = getattr(run.kernel, "gamma", None)
    return {"classes": data.classes, "pairs": pairs, "gamma": gamma}


def _classes_of(data: Data, each: PairRun) -> list[int]:
    return [data.classes[place] for place in each.pair.classes]


def _counts(run: PaneRun, data: Data, moments: list[Moment]) -> list[int | None] | None:
    """Violations of each point, those of the pair with the most; None for points held out."""
    if not run.counts:
        return None
    most = np.zeros(len(data.y))
    for each, moment in zip(run.pairs, moments, strict=True):
        members = each.pair.members
        most[members] = np.maximum(most[members], moment.result.alpha)
    return _spread(data, most)


def _spread(data: Data, counts: np.ndarray) -> list[int | None]:
    spread: list[int | None] = [None] * (len(data.train) + len(data.test))
    for place, count in zip(data.train.tolist(), counts.astype(np.int64).tolist(), strict=True):
        spread[place] = count
    return spread


def history_frame(
    run: PaneRun, data: Data, moments: list[Moment], test_error: float | None
) -> dict[str, Any]:
    """Objective, bound and test error at the checkpoints up to a step; sums over the pairs."""
    averaged = run.plan.settings.options.average is not None
    history: dict[str, Any] = {name: [] for name in ("t", "objective", "averaged", "bound")}
    history["test_error"] = None
    if moments:
        rows = [moment.result.history.records for moment in moments]
        history["t"] = [record.iteration for record in rows[0]]
        history["objective"] = _sums(rows, "objective_last")
        history["bound"] = _sums(rows, "dual_bound")
        history["averaged"] = _sums(rows, "objective_average") if averaged else None
        if test_error is not None:
            history["test_error"] = [*_test_errors(run, data, len(rows[0]) - 1), test_error]
    return history


def _sums(rows: list[list[Record]], name: str) -> list[float | None]:
    return numbers(np.sum([[getattr(record, name) for record in row] for row in rows], axis=0))


def _test_errors(run: PaneRun, data: Data, n_checkpoints: int) -> list[float]:
    """Errors of the first models on the points held out."""
    known = run.test_errors
    first = len(known)
    if first < n_checkpoints:
        stop = n_checkpoints
        coefs = np.zeros((stop - first, len(run.pairs), len(data.y)))
        intercepts = np.zeros((stop - first, len(run.pairs)))
        for column, each in enumerate(run.pairs):
            for row, (coef, intercept) in enumerate(each.models(first, stop)):
                coefs[row, column, each.pair.members] = coef
                intercepts[row, column] = intercept
        flat = coefs.reshape(-1, len(data.y))
        decisions = kernel_decision(run.kernel, data.X_test, run.X, flat) + intercepts.ravel()
        decisions = decisions.reshape(len(data.y_test), stop - first, len(run.pairs))
        for row in range(stop - first):
            wrong = predicted(data, decisions[:, row]) != data.y_test
            known.append(float(np.count_nonzero(wrong) / len(data.y_test)))
    return known[:n_checkpoints]


def predicted(data: Data, decisions: np.ndarray) -> np.ndarray:
    """Classes by the decisions of all pairs, with the signs of `PegasosSVC`."""
    if len(data.classes) == 2:
        return np.array(data.classes)[(decisions[:, 0] > 0).astype(np.intp)]
    return np.array(data.classes)[vote(decisions, len(data.classes))]


def drawn(run: PaneRun, data: Data, t: int) -> list[int]:
    """Points that step t drew, in the first pair."""
    if t == 0:
        return []
    first = run.pairs[0]
    places: list[int] = data.train[first.pair.members[first.drawn(t)]].tolist()
    return places


def explanation(run: PaneRun, data: Data, t: int, moments: list[Moment]) -> dict[str, Any]:
    """What step t, at least the first, did in the first pair, and why."""
    first, draws = run.pairs[0], moments[0].draws
    sign = _sign(run)
    return {
        "pair": _classes_of(data, first),
        "t": t,
        "step_size": number(draws.step_size),
        "lam": first.pair.problem.lam,
        "examples": [_example(first, data, draws, row, sign) for row in range(len(draws.examples))],
    }


def _example(first: PairRun, data: Data, draws: Draws, row: int, sign: float) -> dict[str, Any]:
    member = draws.examples[row]
    label, decision = first.pair.problem.y[member], draws.decisions[row]
    return {
        "i": int(data.train[first.pair.members[member]]),
        "label": int(sign * label),
        "decision": number(sign * decision),
        "margin": number(label * decision),
        "violated": bool(draws.violated[row]),
    }
