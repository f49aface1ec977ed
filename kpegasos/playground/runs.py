"""Models over all their steps, what a page draws of them, and other algorithms beside them.

A `PaneRun` is what `PegasosSVC` with ``checkpoints="log"`` would be for every number of steps. It
evaluates at the checkpoints once, keeps the state there, and goes on from the nearest one. A loop
that is cut elsewhere makes the same iterates to the last bit, so where it begins does not show.

A frame is told in the numbers of the page: points by their place in the state, classes 0 to 3, and
decisions of a pair positive for its second class, as those of two classes are in `PegasosSVC`.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.svm import SVC

from kpegasos.core.draws import IndexStream
from kpegasos.core.problem import primal
from kpegasos.core.state import SCALE, LoopState, State
from kpegasos.core.steps import Constant, DelayedInverse, InverseSquareRoot
from kpegasos.estimators import PegasosSVC
from kpegasos.estimators.base import plan_fit
from kpegasos.fitting.model import set_model
from kpegasos.fitting.pairs import Pair, pair_coefficients, vote
from kpegasos.fitting.training import FitPlan
from kpegasos.kernels.decision import kernel_decision
from kpegasos.losses import is_hinge
from kpegasos.losses.base import pulls, values
from kpegasos.playground.messages import MOST_STEPS, MessageError, Pane, Scene, StepRule
from kpegasos.solvers.driver import Evaluation
from kpegasos.solvers.pegasos import PegasosRun
from kpegasos.solvers.result import History, Result, Results
from kpegasos.solvers.stopping import Stopper

_DEFAULTS = PegasosSVC().get_params()


def parameters_of(pane: Pane, settings: dict[str, Any]) -> dict[str, Any]:
    """List parameters of the pane's `PegasosSVC` that are not its defaults."""
    cost = "C" if settings["lam"] is None else "lam"
    own: dict[str, Any] = {"kernel": pane.kernel}
    if pane.kernel != "linear":
        own["gamma"] = pane.gamma
    if pane.kernel == "poly":
        own["degree"] = pane.degree
    if pane.kernel in ("poly", "sigmoid"):
        own["coef0"] = pane.coef0
    names = "loss", "fit_intercept", "batch_size", "sampling", "projection", "average"
    changed = {name: settings[name] for name in names if settings[name] != _DEFAULTS[name]}
    if settings["step"] is not None:
        changed["step"] = _step_of(settings["step"])
    return {**own, cost: settings[cost], **changed, "random_state": settings["seed"]}


def _step_of(step: StepRule) -> Any:
    """Make the step rule of the package."""
    if step.rule == "inverse_sqrt":
        return InverseSquareRoot(step.scale)
    return Constant(step.scale) if step.rule == "constant" else DelayedInverse()


class Draws(NamedTuple):
    """The draws of step t, and their margins.

    Attributes
    ----------
    examples : ndarray of shape (batch_size,), int64
        Among the examples of the pair.
    decisions : ndarray of shape (batch_size,)
        Of the iterate before the step.
    pulls : ndarray of shape (batch_size,)
        By which the step size is multiplied; 0 where the loss is flat.
    step_size : float
    """

    examples: np.ndarray
    decisions: np.ndarray
    pulls: np.ndarray
    step_size: float


class Moment(NamedTuple):
    """A pair of classes at a step."""

    result: Result
    draws: Draws


def _copied(state: State) -> State:
    """Copy a state to go on from; sums that are set aside are never written to again."""
    loop = LoopState(*(array.copy() for array in state.loop))
    return replace(state, loop=loop, suffix_snapshots=dict(state.suffix_snapshots))


class PairRun:
    """A pair of classes over all its steps.

    Parameters
    ----------
    plan : FitPlan
    pair : Pair
    """

    def __init__(self, plan: FitPlan, pair: Pair) -> None:
        self.pair = pair
        front = self._front = plan.make_run(pair, 1, Stopper())
        front.keeps_state = False
        sampling = plan.settings.options.sampling
        self._stream = IndexStream(pair.members.size, sampling, plan.seed, front.state.spawn_key)
        self._ahead: Iterator[int] = iter(front.points)
        self._next = next(self._ahead)
        #: Steps of the checkpoints passed, states to go on from there, and averaged iterates.
        self._passed: list[int] = []
        self._states = [_copied(front.state)]
        self._averages: list[Evaluation] = []
        self._cursor = self._states[0]

    def drawn(self, t: int) -> np.ndarray:
        """Look up the examples of step t, among those of the pair."""
        k = self._front.parameters.batch_size
        return self._stream.take((t - 1) * k, t * k)

    def at(self, t: int, stopper: Stopper) -> Moment:
        """Go to the pair after ``t`` steps, at least one.

        Raises
        ------
        MessageError
            If the stopper's time is over before; what was done is kept for the next call.
        """
        front = self._front
        while self._next < t:
            _advance(front, self._next, t, stopper)
            front.record()
            self._averages.append(front.evaluate()[1])
            self._passed.append(self._next)
            self._states.append(_copied(front.state))
            self._next = next(self._ahead)
        n_passed = bisect_left(self._passed, t)
        state = self._states[n_passed]
        if state.steps < self._cursor.steps < t:
            state = self._cursor
        run = PegasosRun(front.problem, front.rows, _copied(state), front.points)
        run.keeps_state = False
        _advance(run, t - 1, t, stopper)
        draws = self._look(run, t)
        _advance(run, t, t, stopper)
        self._cursor = _copied(run.state)
        run.status = "completed"
        run.record()
        run.history.records[:0] = front.history.records[:n_passed]
        return Moment(run.result(), draws)

    def models(self, first: int, stop: int) -> list[tuple[np.ndarray, float]]:
        """Make coefficients and intercepts at some of the checkpoints that are passed."""
        rows, examples = self._front.rows, self._front.examples
        return [
            (average.coef * examples.signed, rows.primal(average.evaluated, examples)[1])
            for average in self._averages[first:stop]
        ]

    def _look(self, run: PegasosRun, t: int) -> Draws:
        """Tell what the next step, the one to t, is going to do."""
        examples = self.drawn(t)
        parameters, loop = run.parameters, run.state.loop
        unit = parameters.lam * parameters.batch_size * max(1, t - 1)
        decisions = loop.image[examples] * (loop.scalars[SCALE] / unit)
        pulled = pulls(run.problem.loss, decisions, run.examples.label[examples])
        step = run.state.options.step
        size = 1.0 / (parameters.lam * t)
        if step is not None:
            size = float(step(np.array([t]), parameters.lam)[0])
        return Draws(examples, decisions, pulled, size)


def _advance(run: PegasosRun, target: int, t: int, stopper: Stopper) -> None:
    if run.take_steps(target, stopper) is not None and run.state.steps < target:
        raise MessageError(
            f"t must be less, or asked for again, as time was up at step {run.state.steps:,}, "
            f"got {t:,} instead",
        )


class PaneRun:
    """The model of a pane over all its steps.

    Parameters
    ----------
    pane : Pane
    settings : dict
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,), int64
        Two or more classes.

    Raises
    ------
    ValueError
        As `PegasosSVC` raises it.
    """

    def __init__(self, pane: Pane, settings: dict[str, Any], X: np.ndarray, y: np.ndarray) -> None:
        self.parameters = parameters_of(pane, settings)
        estimator = self._estimator(MOST_STEPS)
        # The estimator's own validation would find nothing: a scene is checked, and of float64.
        self.plan = plan_fit(estimator, X, y)
        self.plan.prepare(Stopper())
        self.X, self.y = X, y
        self.pairs = [PairRun(self.plan, pair) for pair in self.plan.pairs]
        #: Models of other algorithms, by their names in messages.
        self.others: dict[str, PegasosSVC] = {}
        #: Of the model at each checkpoint, as far as somebody has asked.
        self.test_errors: list[float] = []
        self._last: tuple[int, list[Moment]] = (0, [])

    @property
    def kernel(self) -> Any:
        """The kernel, with its parameters as numbers."""
        return self.plan.known["_kernel"]

    @property
    def counts(self) -> bool:
        """Whether coefficients are numbers of violations."""
        return self.plan.settings.counts

    def at(self, t: int, stopper: Stopper) -> list[Moment]:
        """Go to all pairs after ``t`` steps, at least one; the last answer is kept."""
        if self._last[0] != t:
            self._last = t, [pair.at(t, stopper) for pair in self.pairs]
        return self._last[1]

    def model(self, t: int, moments: list[Moment]) -> PegasosSVC:
        """Make the estimator as it would be fitted by so many steps."""
        model = self._estimator(t)
        results = Results([moment.result for moment in moments])
        model.n_features_in_ = self.X.shape[1]
        set_model(model, {**self.plan.attributes(results), "_states": None})
        return model

    def with_coefficients(self, models: list[tuple[np.ndarray, float]]) -> PegasosSVC:
        """Make an estimator that decides by another algorithm's coefficients and intercepts."""
        moments = [
            moment._replace(
                result=replace(
                    moment.result,
                    alpha=np.zeros(coef.size),
                    coef=coef,
                    intercept=intercept,
                    history=History(),
                )
            )
            for moment, (coef, intercept) in zip(self.at(1, Stopper()), models, strict=True)
        ]
        return self.model(1, moments)

    def _estimator(self, n_steps: int) -> PegasosSVC:
        return PegasosSVC(**self.parameters, n_steps=n_steps, checkpoints="log")


# --- frames ---


_NO_CERTIFICATE = "the {} kernel is not positive semi-definite, so no duality gap is certified"


class Data(NamedTuple):
    """The points of a scene, divided.

    Attributes
    ----------
    train : ndarray of int64
        Places of the points to train on in the state.
    X, y, X_test, y_test : ndarray
    everything, targets : ndarray
        Points and classes of both, those to train on first.
    classes : list of int
        Those that are trained, sorted.
    """

    train: np.ndarray
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
        order, n = np.argsort(scene.test, kind="stable"), np.count_nonzero(~scene.test)
        X, y = scene.points[order], scene.labels[order]
        return cls(order[:n], X[:n], y[:n], X[n:], y[n:], X, y, np.unique(y[:n]).tolist())

    @property
    def status(self) -> str:
        """``"ok"``, or why there is nothing to train."""
        return "ok" if len(self.classes) > 1 else "one_class" if self.classes else "empty"


def _number(value: Any) -> float | None:
    """Make a number for JSON, which has no NaN."""
    return float(value) if math.isfinite(value) else None


def _numbers(found: np.ndarray) -> list[float | None]:
    return [_number(value) for value in found.tolist()]


def _sign(run: PaneRun) -> float:
    """Sign that makes decisions of a pair positive for its second class."""
    return 1.0 if len(run.pairs) == 1 else -1.0


def _classes_of(data: Data, each: PairRun) -> list[int]:
    return [data.classes[place] for place in each.pair.classes]


def _model_frame(
    run: PaneRun, data: Data, models: list[tuple[np.ndarray, float]], model: PegasosSVC | None
) -> dict[str, Any]:
    """Describe a model by coefficients and intercept of each pair, and by its errors.

    Parameters
    ----------
    run : PaneRun
    data : Data
    models : list of tuple
        Coefficients of the members of each pair, and the intercept.
    model : PegasosSVC or None
        The same as an estimator; None before the first step.
    """
    sign, pairs = _sign(run), []
    for each, (coef, intercept) in zip(run.pairs, models, strict=True):
        support = np.flatnonzero(coef)
        pairs.append(
            {
                "classes": _classes_of(data, each),
                "support": data.train[each.pair.members[support]].tolist(),
                "dual_coef": _numbers(sign * coef[support]),
                "intercept": _number(sign * intercept),
            }
        )
    frame: dict[str, Any] = {
        "classes": data.classes,
        "pairs": pairs,
        "gamma": getattr(run.kernel, "gamma", None),
        "counts": None,
        "averaged": None,
        "bound": None,
        "gap": None,
        "certificate": None,
        "support": 0,
        "train_error": None,
        "test_error": None,
    }
    if model is not None:
        frame["support"] = int(model.support_.size)
        wrong, n_train = model.predict(data.everything) != data.targets, len(data.y)
        frame["train_error"] = float(wrong[:n_train].mean())
        frame["test_error"] = float(wrong[n_train:].mean()) if wrong[n_train:].size else None
    return frame


def pane_frame(run: PaneRun, data: Data, t: int, moments: list[Moment]) -> dict[str, Any]:
    """Describe a pane at a step, but for its history."""
    options = run.plan.settings.options
    certificate = _NO_CERTIFICATE.format(run.parameters["kernel"])
    if t == 0:
        nothing = [(np.zeros(pair.pair.members.size), 0.0) for pair in run.pairs]
        frame = _model_frame(run, data, nothing, None)
        problems = [each.pair.problem for each in run.pairs]
        losses = [values(each.loss, np.zeros_like(each.y), each.y).mean() for each in problems]
        objective = averaged = float(sum(losses))
        certified = run.kernel.positive_definite
    else:
        results = [moment.result for moment in moments]
        models = [(result.coef, result.intercept) for result in results]
        frame = _model_frame(run, data, models, run.model(t, moments))
        objective = sum(result.history[-1].objective_last for result in results)
        averaged = sum(result.objective for result in results)
        gap = sum(result.gap for result in results)
        frame["bound"] = _number(sum(result.dual_bound for result in results))
        frame["gap"] = _relative_gap(gap, averaged)
        certified = not math.isnan(gap)
    return {
        **frame,
        "counts": _counts(run, data, moments),
        "objective": _number(objective),
        "averaged": None if options.average is None else _number(averaged),
        "certificate": None if certified else certificate,
    }


def _relative_gap(gap: float, objective: float) -> float | None:
    """Make a gap a part of the objective, for JSON."""
    return _number(gap / objective) if objective > 0.0 else None


def _counts(run: PaneRun, data: Data, moments: list[Moment]) -> list[int | None] | None:
    """Count violations of each point, in the pair with the most; None for points held out."""
    if not run.counts:
        return None
    most = np.zeros(len(data.y))
    for each, moment in zip(run.pairs, moments, strict=False):  # no moments before the first step
        members = each.pair.members
        most[members] = np.maximum(most[members], moment.result.alpha)
    counts = np.full(len(data.targets), None)
    counts[data.train] = most.astype(np.int64)
    return counts.tolist()


def history_frame(
    run: PaneRun, data: Data, moments: list[Moment], test_error: float | None
) -> dict[str, Any]:
    """List objective, bound and test error at the checkpoints up to a step, summed over pairs."""
    averaged = run.plan.settings.options.average is not None
    history: dict[str, Any] = {name: [] for name in ("t", "objective", "averaged", "bound")}
    history["test_error"] = None
    if moments:
        rows = [moment.result.history.records for moment in moments]

        def sums(name: str) -> list[float | None]:
            return _numbers(
                np.sum([[getattr(record, name) for record in row] for row in rows], axis=0)
            )

        history["t"] = [record.iteration for record in rows[0]]
        history["objective"] = sums("objective_last")
        history["bound"] = sums("dual_bound")
        history["averaged"] = sums("objective_average") if averaged else None
        if test_error is not None:
            history["test_error"] = [*_test_errors(run, data, len(rows[0]) - 1), test_error]
    return history


def _test_errors(run: PaneRun, data: Data, n_checkpoints: int) -> list[float]:
    """Find the errors of the first models on the points held out."""
    known, n_pairs = run.test_errors, len(run.pairs)
    first = len(known)
    if first < n_checkpoints:
        coefs = np.zeros((n_checkpoints - first, n_pairs, len(data.y)))
        intercepts = np.zeros((n_checkpoints - first, n_pairs))
        for column, each in enumerate(run.pairs):
            for row, (coef, intercept) in enumerate(each.models(first, n_checkpoints)):
                coefs[row, column, each.pair.members] = coef
                intercepts[row, column] = intercept
        flat = coefs.reshape(-1, len(data.y))
        decisions = kernel_decision(run.kernel, data.X_test, run.X, flat) + intercepts.ravel()
        for of_model in decisions.reshape(len(data.y_test), -1, n_pairs).swapaxes(0, 1):
            # Classes by the signs of `PegasosSVC`.
            positive = of_model[:, 0] > 0
            chosen = positive.astype(np.intp) if n_pairs == 1 else vote(of_model, len(data.classes))
            known.append(float(np.mean(np.array(data.classes)[chosen] != data.y_test)))
    return known[:n_checkpoints]


def drawn(run: PaneRun, data: Data, t: int) -> list[int]:
    """List the points that step t drew, in the first pair."""
    if t == 0:
        return []
    first = run.pairs[0]
    places: list[int] = data.train[first.pair.members[first.drawn(t)]].tolist()
    return places


def explanation(run: PaneRun, data: Data, t: int, moments: list[Moment]) -> dict[str, Any]:
    """Tell what step t, at least the first, did in the first pair, and why."""
    first, sign = run.pairs[0], _sign(run)
    examples, decisions, pulled, step_size = moments[0].draws
    labels = first.pair.problem.y[examples]
    columns = {
        "i": data.train[first.pair.members[examples]].tolist(),
        "label": (sign * labels).astype(np.int64).tolist(),
        "decision": _numbers(sign * decisions),
        "margin": _numbers(labels * decisions),
        "pull": _numbers(pulled),
    }
    return {
        "pair": _classes_of(data, first),
        "t": t,
        "step_size": _number(step_size),
        "lam": first.pair.problem.lam,
        "examples": [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ],
    }


# --- other algorithms ---

#: Seconds that a polished fit may take.
_MOST_SECONDS = 10.0
#: Of SVC, whose data may be such that it never ends.
_MOST_ITERATIONS = 200_000


def polished(run: PaneRun, data: Data, parameter: str) -> dict[str, Any]:
    """Describe a pane by ``PegasosSVC(polish=True)``: dual ascent to a certified gap.

    Parameters
    ----------
    run : PaneRun
    data : Data
    parameter : str
        What the kernel is called in the state.

    Raises
    ------
    MessageError
        If the kernel has no certificate.
    """
    if not run.kernel.positive_definite:
        kernel = run.parameters["kernel"]
        raise MessageError(f"{parameter} must be positive semi-definite to polish, got {kernel!r}")
    model = PegasosSVC(**run.parameters, polish=True, max_time=_MOST_SECONDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the gap is on the page
        model.fit(data.X, data.y)
    run.others["polish"] = model
    coefs = np.zeros((len(run.pairs), len(data.y)))
    coefs[:, model.support_] = pair_coefficients(model.dual_coef_, model.n_support_)
    models = [
        (row[each.pair.members], float(intercept))
        for row, each, intercept in zip(coefs, run.pairs, model.intercept_, strict=True)
    ]
    histories = model.history_ if isinstance(model.history_, list) else [model.history_]
    objective, gap = float(np.sum(model.objective_)), float(np.sum(model.duality_gap_))
    return {
        **_model_frame(run, data, models, model),
        "objective": _number(objective),
        "bound": _number(sum(history[-1].dual_bound for history in histories)),
        "gap": _relative_gap(gap, objective),
    }


def compared(run: PaneRun, data: Data, parameter: str) -> dict[str, Any]:
    """Describe a pane by scikit-learn's `SVC`, judged by the objective of Pegasos.

    Each pair has the C that its λ stands for. SVC does not regularise its intercept, so it solves
    a problem that differs by that; the objective told counts the intercept as ours does.

    Raises
    ------
    MessageError
        If SVC has no such problem.
    """
    settings = run.plan.settings
    if not is_hinge(settings.loss):
        loss = run.parameters["loss"]
        raise MessageError(f"loss must be 'hinge' to compare with SVC, got {loss!r}")
    if not settings.intercept_scaling:
        raise MessageError(
            "fit_intercept must be on to compare with SVC, which always has one, got off",
        )
    models, objective = [], 0.0
    for pair in run.plan.pairs:
        problem, rows = pair.problem, run.X[pair.members]
        gram = run.kernel.block(rows, rows)
        C = 1.0 / (problem.lam * problem.y.size)
        model = SVC(C=C, kernel="precomputed", max_iter=_MOST_ITERATIONS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where it has not converged, its objective says so
            model.fit(gram, problem.y)
        coef = np.zeros(problem.y.size)
        coef[model.support_] = model.dual_coef_[0]
        intercept = float(model.intercept_[0])
        image = gram @ coef
        squared_norm = float(coef @ image) + intercept**2
        objective += primal(image + intercept, squared_norm, problem)
        models.append((coef, intercept))
    model = run.others["SVC"] = run.with_coefficients(models)
    return {
        **_model_frame(run, data, models, model),
        "objective": _number(objective),
        "certificate": "SVC tells no dual bound",
    }
