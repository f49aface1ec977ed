"""Other algorithms on the problem of a pane: what its picture is compared with."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.svm import SVC

from kpegasos.core.problem import primal
from kpegasos.estimators import PegasosSVC
from kpegasos.estimators._one_vs_one import pair_coefficients
from kpegasos.kernels.decision import kernel_decision
from kpegasos.losses import Hinge
from kpegasos.playground.checks import MessageError
from kpegasos.playground.frames import (
    Data,
    errors,
    model_frame,
    number,
    predicted,
    relative_gap,
)
from kpegasos.playground.runs import PaneRun

#: Seconds that a polished fit may take.
_MOST_SECONDS = 10.0
#: Of SVC, whose data may be such that it never ends.
_MOST_ITERATIONS = 200_000


def polished(run: PaneRun, data: Data, parameter: str) -> dict[str, Any]:
    """A pane by ``PegasosSVC(polish=True)``: dual ascent to a certified gap.

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
        raise MessageError(
            parameter, f"{parameter} must be positive semi-definite to polish, got {kernel!r}"
        )
    model = PegasosSVC(**run.parameters, polish=True, max_time=_MOST_SECONDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the gap is on the page
        model.fit(data.X, data.y)
    run.others["polish"] = model
    return _polished_frame(run, data, model)


def compared(run: PaneRun, data: Data, parameter: str) -> dict[str, Any]:
    """A pane by scikit-learn's `SVC`, judged by the objective of Pegasos.

    Each pair has the C that its λ stands for. SVC does not regularise its intercept, so it solves
    a problem that differs by that; the objective told counts the intercept as ours does.

    Raises
    ------
    MessageError
        If SVC has no such problem.
    """
    settings = run.plan.settings
    if type(settings.loss) is not Hinge:
        loss = run.parameters["loss"]
        raise MessageError("loss", f"loss must be 'hinge' to compare with SVC, got {loss!r}")
    if not settings.intercept_scaling:
        raise MessageError(
            "fit_intercept",
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
    run.others["SVC"] = run.with_coefficients(models)
    return {
        **_frame(run, data, models),
        "objective": number(objective),
        "averaged": None,
        "bound": None,
        "gap": None,
        "certificate": "SVC tells no dual bound",
    }


def _polished_frame(run: PaneRun, data: Data, model: PegasosSVC) -> dict[str, Any]:
    coefs = pair_coefficients(model.dual_coef_, model.n_support_)
    models = []
    for pair, row, intercept in zip(run.plan.pairs, coefs, model.intercept_, strict=True):
        coef = np.zeros(len(data.y))
        coef[model.support_] = row
        models.append((coef[pair.members], float(intercept)))
    histories = [model.history_] if len(models) == 1 else model.history_
    objective, gap = float(np.sum(model.objective_)), float(np.sum(model.duality_gap_))
    return {
        **_frame(run, data, models),
        "objective": number(objective),
        "averaged": None,
        "bound": number(sum(history[-1].dual_bound for history in histories)),
        "gap": relative_gap(gap, objective),
        "certificate": None,
    }


def _frame(run: PaneRun, data: Data, models: list[tuple[np.ndarray, float]]) -> dict[str, Any]:
    """What a model says whoever has made it."""
    coefs = np.zeros((len(models), len(data.y)))
    for row, pair, (coef, _) in zip(coefs, run.plan.pairs, models, strict=True):
        row[pair.members] = coef
    intercepts = np.array([intercept for _, intercept in models])

    decisions = kernel_decision(run.kernel, data.everything, run.X, coefs) + intercepts
    return {
        **model_frame(run, data, models),
        "counts": None,
        "support": int(np.count_nonzero(coefs.any(axis=0))),
        **errors(data, predicted(data, decisions)),
    }
