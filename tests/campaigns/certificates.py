"""A certificate is true: the objective is the model's own, and no optimum lies below the bound.

Judged by `tests.campaigns._reference`, which brackets the optimum in long double. The problems are
those of `tests.campaigns._problems`, the fits those of `tests.campaigns._fits`.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tests.campaigns import _reference as judge
from tests.campaigns._fits import (
    Claim,
    Fit,
    check,
    fit_estimator,
    fit_function,
    kernel_function,
    weight_of,
)
from tests.campaigns._problems import Case, draw_case
from tests.campaigns._reference import LONG, UNIT, KernelSpec

CI_TRIALS = 40

#: What a refusal must name.
_NAMED = re.compile(
    r"\b(X|y|sample_weight|kernel|gamma|C|lam|intercept_scaling|batch_size|tol|polish|cache_mb|"
    r"degree|coef0|class_weight)\b"
)
_DOUBLE = np.finfo(float).eps
#: Relative error of an objective that needs no explanation.
_LEAST = 1e-9
#: How much wider than necessary a gap may be, relative to the objective.
_WIDER = 1e-4


def trial(rng: np.random.Generator) -> dict[str, int]:
    """Draw a problem, fit it and judge what the fit says."""
    case = draw_case(rng)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                fit = fit_function(case) if case.is_function else fit_estimator(case)
            except ValueError as error:
                outcome = _judge_refusal(case, str(error))
                fit = None
        if fit is not None:
            outcome = _judge_fit(case, fit, caught)
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}\nin {case}") from error
    return {f"{outcome}, {case.label}": 1, f"kind {case.kind}": 1}


# --- judgements -----------------------------------------------------------------------------------


def _judge_refusal(case: Case, message: str) -> str:
    """A refusal is one sentence that names a parameter, and has a reason."""
    check("\n" not in message and len(message) < 400, "a refusal is one sentence", said=message)
    check(_NAMED.search(message), "a refusal names a parameter", said=message)
    blamed = "semi-definite" in message
    right = case.indefinite and "tol" in case.options
    check(not blamed or right, "a definite kernel is not blamed", said=message)
    check(not case.is_mild, "a mild problem is not refused", said=message)
    return "not positive semi-definite" if blamed else "one clear sentence"


def _judge_fit(case: Case, fit: Fit, caught: list[warnings.WarningMessage]) -> str:
    alarms = [w for w in caught if not issubclass(w.category, ConvergenceWarning)]
    first = f"{alarms[0].category.__name__}: {alarms[0].message}" if alarms else ""
    check(not alarms, "nothing but ConvergenceWarning is warned of", first=first)
    tol = case.options.get("tol")
    missed = tol is not None and any(not claim.relative_gap <= tol for claim in fit.claims)
    said = [str(w.message) for w in caught]
    if not case.is_function:
        check(bool(said) or not missed, "a tol that is missed is warned of")
        late = [message for message in said if "did not reach tol" in message]
        check(missed or not late, "a tol that is reached is not called missed", said=late)
    for number, claim in enumerate(fit.claims):
        _judge_claim(case, claim, fit.spec)
        _judge_decisions(case, fit, number)
    if case.indefinite:
        return "fitted, kernel not positive semi-definite"
    return "fitted, tol not reached" if missed else "fitted"


def _explained(case: Case, claim: Claim, problem: judge.Problem, spec: KernelSpec) -> Any:
    """What rounding of the fit itself may do to an objective: values in the type of X, sums."""
    size = np.abs(claim.coef)
    counted = claim.alpha * problem.weight / (claim.lam * max(1, claim.n_steps))
    if case.kind.startswith("sdca"):
        counted = counted * 0
    passes = 1e5 if case.options.get("polish") else max(1, claim.n_steps)
    sums = _DOUBLE * (passes + claim.y.size) * np.abs(problem.kernel)
    values = _value_error(case, case.rows[claim.members], case.rows[claim.members], spec, claim)
    return problem.shift(size, values + sums) + problem.shift(10 * counted, sums)


def _value_error(
    case: Case, A: np.ndarray, B: np.ndarray, spec: KernelSpec, claim: Claim
) -> np.ndarray:
    """What kernel values may be off by, computed in the type of X or in a wider one."""
    limits = np.finfo(case.rows.dtype)
    kept = limits.eps * np.abs(judge.kernel_values(spec, A, B)) + float(limits.smallest_subnormal)
    if claim.w is not None or case.kind in ("callable", "precomputed"):
        return kept
    rows = np.concatenate((A, B)).astype(LONG)
    centre = 0 if case.is_sparse else case.rows[weight_of(case) > 0].astype(LONG).mean(axis=0)
    radius = float(np.sqrt(((rows - centre) ** 2).sum(axis=1).max()))
    error = judge.value_error(spec, A, B, limits.eps, radius=radius)
    if error.max() > (A.shape[1] + 8) * 4e-4 and spec.name in ("rbf", "cauchy"):
        error = judge.value_error(spec, A, B, _DOUBLE, radius=radius)
    return error + kept + A.shape[1] * float(limits.tiny) * abs(spec.gamma)


def _problem_of(case: Case, claim: Claim, spec: KernelSpec) -> judge.Problem:
    """The problem as documented, with the judge's own values."""
    rows = case.rows[claim.members]
    options = case.options
    if case.kind == "precomputed":
        kernel = case.gram()[np.ix_(claim.members, claim.members)].astype(LONG)
        error = kernel * 0
        if case.is_rounded:  # no more is known of the matrix that was meant
            error = np.finfo(rows.dtype).eps / 2 * np.abs(kernel)
    elif case.kind == "callable":
        kernel = kernel_function(case, spec.gamma)(rows, rows).astype(LONG)
        error = 8 * _DOUBLE * np.abs(kernel)
    else:
        kernel = judge.kernel_values(spec, rows, rows)
        error = judge.value_error(spec, rows, rows, UNIT)
    scaling = options["intercept_scaling"] if options["fit_intercept"] else 0.0
    weight = weight_of(case)[claim.members]
    return judge.make_problem(kernel + LONG(scaling) ** 2, error, claim.y, weight, claim.lam)


def _judge_claim(case: Case, claim: Claim, spec: KernelSpec) -> None:
    """Compare what is said of a model with the model and with the optimum."""
    problem = _problem_of(case, claim, spec)
    own, rounding = problem.objective(claim.coef)
    explained = _explained(case, claim, problem, spec)
    if claim.w is not None:
        own = _linear_objective(case, claim, problem, explained)
    said = {"objective": claim.objective, "gap": claim.gap, "own": own}
    check(np.isfinite(claim.objective), "the objective is finite", **said)
    slack = explained + rounding + _LEAST * abs(own)
    is_own = abs(claim.objective - own) <= slack
    check(is_own, "the objective is the model's own", explained=slack, **said)
    _judge_last_record(claim)
    if np.isnan(claim.gap):
        check(case.indefinite, "a definite kernel has a gap", **said)
        check(np.isnan(claim.relative_gap), "no gap, no relative gap")
        return
    check(0 <= claim.gap < np.inf, "a gap is finite and not negative", **said)
    relative = claim.gap / claim.objective
    check(abs(claim.relative_gap - relative) <= 1e-12 * relative, "gap / objective")
    if case.indefinite:
        return
    low, high = judge.bracket(problem, [claim.coef])
    check(low <= high, "the judge contradicts itself", low=low, high=high)
    said |= {"low": low, "high": high}
    last_digits = 4 * _DOUBLE * abs(claim.objective)
    below = claim.objective - claim.gap <= high + last_digits
    check(below, "the bound is below the optimum", **said)
    check(claim.objective >= low - slack, "nothing is better than the optimum", **said)
    check(own - high <= claim.gap + rounding + last_digits, "the model is within its gap", **said)
    bound = claim.history["dual_bound"].max()
    check(bound <= high + last_digits, "the dual bound is below the optimum", bound=bound, **said)
    _judge_width(claim, problem, own, slack)
    _judge_columns(claim)


def _judge_width(claim: Claim, problem: judge.Problem, own: Any, slack: Any) -> None:
    """A gap is no wider than the model's own dual point and rounding explain."""
    beta = claim.coef * claim.y * claim.lam * claim.y.size / problem.weight
    additions = claim.y.size + claim.n_steps
    worst = _DOUBLE * additions * np.abs(problem.kernel).max() * np.abs(claim.coef).sum()
    if not beta.max() > 0 or worst > _WIDER * own:  # bounds of sums may show then
        return
    beta = beta / beta.max()
    linear = (problem.weight * beta).mean()
    coef = problem.coefficients(beta)
    quadratic = problem.lam * (coef @ problem.kernel @ coef)
    theta = min(LONG(1), linear / quadratic) if quadratic > 0 else LONG(1)
    dual = theta * linear - 0.5 * theta**2 * quadratic
    widest = own - max(dual, 0) + 100 * slack + 100 * _WIDER * own
    check(claim.gap <= widest, "the gap is no wider than it must be", gap=claim.gap, widest=widest)


def _linear_objective(case: Case, claim: Claim, problem: judge.Problem, explained: Any) -> Any:
    """``P`` of the primal vector; which must be the one of the coefficients."""
    scaling = case.options["intercept_scaling"] if case.options["fit_intercept"] else 0.0
    rows, w = case.rows[claim.members].astype(LONG), claim.w.astype(LONG)
    constant = LONG(claim.intercept) / scaling if scaling else LONG(0)
    margins = rows @ w + constant * scaling
    losses = problem.weight * np.maximum(0, 1 - problem.y * margins)
    own = problem.lam / 2 * (w @ w + constant**2) + losses.mean()
    of_coef, _ = problem.objective(claim.coef)
    same = abs(own - of_coef) <= explained + _LEAST * own
    check(same, "coef_ and dual_coef_ are one model", of_w=own, of_coef=of_coef, slack=explained)
    return own


def _judge_last_record(claim: Claim) -> None:
    """The last record is the model's."""
    last = claim.history.records[-1]
    for name, value in (
        ("objective_average", claim.objective),
        ("gap", claim.gap),
        ("relative_gap", claim.relative_gap),
    ):
        recorded = getattr(last, name)
        same = np.array_equal(recorded, value, equal_nan=True)
        check(same, f"the last {name} is the model's", recorded=recorded, model=value)


def _judge_columns(claim: Claim) -> None:
    """Costs only grow, and a bound once proved is not given back."""
    for name in ("iteration", "seconds", "kernel_evaluations", "dual_bound"):
        column = claim.history[name]
        column = column[~np.isnan(column)]
        check((np.diff(column) >= 0).all(), f"{name} never falls", column=column)


def _judge_decisions(case: Case, fit: Fit, number: int) -> None:
    """Decisions of a pair on old and new rows are those of the coefficients."""
    claim = fit.claims[number]
    for rows, decisions, predicted in fit.decided:
        found = decisions[:, number]
        check(np.isfinite(found).all(), "decisions are finite")
        if len(fit.claims) == 1:
            check((predicted == fit.classes[(found > 0) * 1]).all(), "predict goes by the sign")
        expected, slack = _decisions(case, rows, fit.spec, claim)
        off = np.abs(found - expected) - slack
        worst = int(np.argmax(off))
        numbers = {"decision": found[worst], "is_": expected[worst], "slack": slack[worst]}
        check(off[worst] <= 0, "decisions are those of the model", **numbers)


def _decisions(
    case: Case, rows: np.ndarray, spec: KernelSpec, claim: Claim
) -> tuple[np.ndarray, np.ndarray]:
    """Decisions of a model in long double, and what rounding explains."""
    eps = np.finfo(case.rows.dtype).eps
    if claim.w is not None:
        w, wide = claim.w.astype(LONG), rows.astype(LONG)
        slack = (w.size + 4) * _DOUBLE * (np.abs(wide) @ np.abs(w) + abs(claim.intercept))
        return wide @ w + LONG(claim.intercept), slack
    vectors, size = case.rows[claim.members], np.abs(claim.coef).astype(LONG)
    if case.kind == "callable":
        values = kernel_function(case, spec.gamma)(rows, vectors).astype(LONG)
    elif case.kind == "precomputed":
        values = case.gram(rows)[:, claim.members].astype(LONG)
    else:
        values = judge.kernel_values(spec, rows, vectors)
    error = _value_error(case, rows, vectors, spec, claim)
    slack = error @ size + (claim.y.size + 4) * eps * (np.abs(values) @ size)
    scaling = case.options["intercept_scaling"] if case.options["fit_intercept"] else 0.0
    total = claim.coef.astype(LONG).sum()
    constant = LONG(scaling) ** 2 * total
    slack = slack + (claim.y.size + 4) * _DOUBLE * LONG(scaling) ** 2 * size.sum()
    return values @ claim.coef.astype(LONG) + constant, slack
