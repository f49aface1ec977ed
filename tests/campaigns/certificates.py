"""A certificate is true: the objective is the model's own, and no optimum lies below the bound.

Judged by `tests.campaigns._reference`, which brackets the optimum in long double. The problems are
those of `tests.campaigns._problems`.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos import linear_rows, make_kernel, make_problem, make_rows, pegasos, sdca
from tests.campaigns import _reference as judge
from tests.campaigns._problems import Case, Cauchy, Function, draw_case
from tests.campaigns._reference import LONG, UNIT, KernelSpec

CI_TRIALS = 60

#: What a refusal must name.
_NAMED = re.compile(
    r"\b(X|y|sample_weight|kernel|gamma|C|lam|intercept_scaling|batch_size|tol|polish|cache_mb|"
    r"degree|coef0|class_weight)\b"
)
_DOUBLE = np.finfo(float).eps
#: Relative error of an objective that needs no explanation.
_LEAST = 1e-9


class Claim(NamedTuple):
    """What a fit says of one binary problem."""

    members: np.ndarray
    y: np.ndarray
    coef: np.ndarray
    intercept: float
    w: np.ndarray | None
    objective: float
    gap: float
    relative_gap: float
    lam: float
    alpha: np.ndarray
    n_steps: int
    history: Any


def trial(rng: np.random.Generator) -> dict[str, int]:
    """Draw a problem, fit it and judge what the fit says."""
    case = draw_case(rng)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit = _fit_function if " " in case.kind or case.kind in _FUNCTIONS else _fit_estimator
            claims, spec = fit(case)
        except ValueError as error:
            return {**_judge_refusal(case, str(error)), f"kind {case.kind}": 1}
    try:
        outcome = _judge_fit(case, claims, spec, caught)
    except AssertionError as error:
        raise AssertionError(f"{error}\nin {_describe(case)}") from None
    return {f"{outcome}, {case.label}": 1, f"kind {case.kind}": 1}


_FUNCTIONS = ("pegasos", "sdca")


def _describe(case: Case) -> str:
    weighted = case.weight is not None
    return (
        f"{case.kind}, {case.label}, {case.rows.shape}, sparse={case.is_sparse}, "
        f"offset={case.is_offset}, weighted={weighted}, gamma={case.gamma_rule}, {case.spec}, "
        f"{case.options}"
    )


def check(condition: Any, promise: str, **numbers: Any) -> None:
    """Raise an AssertionError that says which promise is broken, and by what numbers."""
    if not condition:
        found = ", ".join(f"{name}={value!s}" for name, value in numbers.items())
        raise AssertionError(f"{promise} ({found})")


# --- fits -----------------------------------------------------------------------------------------


def _kernel_argument(case: Case) -> dict[str, Any]:
    """The kernel as an estimator takes it."""
    spec = case.spec
    if case.kind == "callable":
        return {"kernel": Function(spec.gamma, -1.0 if case.indefinite else 1.0)}
    if case.kind == "object":
        return {"kernel": Cauchy(spec.gamma)}
    if case.kind == "precomputed":
        return {"kernel": "precomputed"}
    gamma = case.gamma_rule or spec.gamma
    return {"kernel": case.kind, "gamma": gamma, "degree": spec.degree, "coef0": spec.coef0}


def _fit_estimator(case: Case) -> tuple[list[Claim], KernelSpec]:
    """Fit the estimator; also checks its decisions."""
    if case.kind == "primal":
        clf: Any = LinearPegasosSVC(**case.options)
    else:
        clf = PegasosSVC(**_kernel_argument(case), **case.options)
    X = case.gram() if case.kind == "precomputed" else case.as_given(case.rows)
    clf.fit(X, case.y, case.weight)
    spec = case.spec
    if case.gamma_rule is not None:
        spec = spec._replace(gamma=_resolved_gamma(case, clf))
    weight = _weight_of(case)
    coefs = np.zeros((clf.classes_.size - 1, case.y.size))
    coefs[:, clf.support_] = clf.dual_coef_
    pairs = list(combinations(range(clf.classes_.size), 2))
    histories = [clf.history_] if len(pairs) == 1 else clf.history_
    alphas = clf.alpha_[None] if len(pairs) == 1 else clf.alpha_.toarray()
    columns = [
        np.atleast_1d(getattr(clf, name))
        for name in ("objective_", "duality_gap_", "relative_gap_", "lam_", "n_steps_")
    ]
    claims = []
    for number, (i, j) in enumerate(pairs):
        first, second = (case.y == clf.classes_[k] for k in (i, j))
        members = np.flatnonzero((first | second) & (weight > 0))
        positive = second if len(pairs) == 1 else first
        objective, gap, relative_gap, lam, n_steps = (column[number] for column in columns)
        claims.append(
            Claim(
                members,
                np.where(positive, 1.0, -1.0)[members],
                np.where(first, coefs[j - 1], coefs[i])[members],
                clf.intercept_[number],
                clf.coef_[number] if case.kind == "primal" else None,
                objective,
                gap,
                relative_gap,
                lam,
                alphas[number][members],
                n_steps,
                histories[number],
            )
        )
        expected = case.options.get("lam") or 1 / (case.options["C"] * weight[members].sum())
        check(abs(lam / expected - 1) < 1e-12, "lam_ is 1 / (C Σ weights)", lam=lam, is_=expected)
    _judge_decisions(case, spec, clf, claims)
    return claims, spec


def _fit_function(case: Case) -> tuple[list[Claim], KernelSpec]:
    """Call `pegasos` or `sdca` on the first two classes."""
    options, weight = dict(case.options), _weight_of(case)
    members = np.flatnonzero((case.y < 2) & (weight > 0))
    y = np.where(case.y == 1, 1.0, -1.0)[members]
    lam = options.get("lam") or 1 / (options["C"] * weight[members].sum())
    problem = make_problem(y, lam, weight[members])
    X = case.as_given(case.rows[members])
    scaling = options["intercept_scaling"] if options["fit_intercept"] else 0.0
    if "linear" in case.kind:
        rows: Any = linear_rows(X, intercept_scaling=scaling)
    else:
        spec = case.spec
        kernel = make_kernel(spec.name, gamma=spec.gamma, degree=spec.degree, coef0=spec.coef0)
        rows = make_rows(X, kernel, cache=options["cache"], intercept_scaling=scaling)
    common = {key: options[key] for key in ("max_time", "random_state")}
    if case.kind.startswith("sdca"):
        result = sdca(problem, rows, tol=options["tol"], max_epochs=300, **common)
    else:
        names = ("epochs", "average", "sampling", "projection", "checkpoints", "batch_size", "tol")
        given = {key: options[key] for key in names if key in options}
        result = pegasos(problem, rows, **given, **common)
    reached = options.get("tol") is not None and result.relative_gap <= options["tol"]
    check((result.status == "tolerance") == reached, "status says whether tol is reached")
    case.options["status"] = result.status
    claim = Claim(
        members, y, result.coef, result.intercept, result.w, result.objective, result.gap,
        result.relative_gap, lam, result.alpha, result.n_steps, result.history,
    )  # fmt: skip
    check(
        np.isnan(result.gap)
        or abs(result.objective - result.dual_bound - result.gap) <= result.gap + 1e-9,
        "the bound of a result belongs to its gap",
    )
    return [claim], case.spec


def _weight_of(case: Case) -> np.ndarray:
    """Sample weights times class weights."""
    weight = np.ones(case.y.size) if case.weight is None else case.weight
    by_class = case.options.get("class_weight")
    if by_class is None or case.kind in _FUNCTIONS or " " in case.kind:
        return weight
    if by_class == "balanced":
        classes = np.unique(case.y)
        totals = {c: weight[case.y == c].sum() for c in classes}
        by_class = {c: weight.sum() / (classes.size * total) for c, total in totals.items()}
    return weight * np.array([by_class.get(c, 1.0) for c in case.y])


def _resolved_gamma(case: Case, clf: Any) -> float:
    """The gamma of the kernel, which must be that of the rule to a few units in the last place."""
    rows = case.rows.astype(LONG)
    expected = LONG(1) / rows.shape[1]
    if case.gamma_rule == "scale":
        variance = rows.var()
        expected = expected / variance if variance > 0 else LONG(1)
    gamma = float(clf._kernel.gamma)
    check(abs(gamma / expected - 1) < 1e-11, "gamma is what its rule says", gamma=gamma, is_=expected)
    return gamma


# --- judgements -----------------------------------------------------------------------------------


def _judge_refusal(case: Case, message: str) -> dict[str, int]:
    """A refusal is one sentence that names a parameter, and has a reason."""
    described = _describe(case)
    check("\n" not in message and len(message) < 400, "a refusal is one sentence", said=message)
    check(_NAMED.search(message), "a refusal names a parameter", said=message, of=described)
    asked = "tol" in case.options
    blamed = "semi-definite" in message
    check(not blamed or (case.indefinite and asked), "a definite kernel is not blamed",
          said=message, of=described)  # fmt: skip
    check(not case.is_mild, "a mild problem is not refused", said=message, of=described)
    reason = "not positive semi-definite" if blamed else "one clear sentence"
    return {f"{reason}, {case.label}": 1}


def _judge_fit(
    case: Case, claims: list[Claim], spec: KernelSpec, caught: list[warnings.WarningMessage]
) -> str:
    alarms = [w for w in caught if not issubclass(w.category, ConvergenceWarning)]
    check(not alarms, "nothing but ConvergenceWarning is warned of", first=alarms[:1])
    tol = case.options.get("tol")
    missed = tol is not None and any(not claim.relative_gap <= tol for claim in claims)
    said = [str(w.message) for w in caught]
    if case.kind not in _FUNCTIONS and " " not in case.kind:
        check(bool(said) or not missed, "a tol that is missed is warned of")
        late = [message for message in said if "did not reach tol" in message]
        check(missed or not late, "a tol that is reached is not called missed", said=late)
    for claim in claims:
        _judge_claim(case, claim, spec)
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
    centre = 0 if case.is_sparse else case.rows[_weight_of(case) > 0].astype(LONG).mean(axis=0)
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
        kernel = Function(spec.gamma, -1.0 if case.indefinite else 1.0)(rows, rows).astype(LONG)
        error = 8 * _DOUBLE * np.abs(kernel)
    else:
        kernel = judge.kernel_values(spec, rows, rows)
        error = judge.value_error(spec, rows, rows, UNIT)
    scaling = options["intercept_scaling"] if options["fit_intercept"] else 0.0
    weight = _weight_of(case)[claim.members]
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
    check(abs(claim.objective - own) <= slack, "the objective is the model's own",
          explained=slack, **said)  # fmt: skip
    _judge_history(claim)
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
    check(claim.objective - claim.gap <= high + last_digits, "the bound is below the optimum", **said)
    check(claim.objective >= low - slack, "nothing is better than the optimum", **said)
    check(own - high <= claim.gap + rounding + last_digits, "the model is within its gap", **said)
    bound = claim.history["dual_bound"][-1]
    check(bound <= high + last_digits, "the dual bound is below the optimum", bound=bound, **said)
    _judge_width(claim, problem, own, slack)


def _judge_width(claim: Claim, problem: judge.Problem, own: Any, slack: Any) -> None:
    """A gap is no wider than the model's own dual point and rounding explain."""
    beta = claim.coef * claim.y * claim.lam * claim.y.size / problem.weight
    if not beta.max() > 0:
        return
    beta = beta / beta.max()
    linear = (problem.weight * beta).mean()
    coef = problem.coefficients(beta)
    quadratic = problem.lam * (coef @ problem.kernel @ coef)
    theta = min(LONG(1), linear / quadratic) if quadratic > 0 else LONG(1)
    dual = theta * linear - 0.5 * theta**2 * quadratic
    check(claim.gap <= own - max(dual, 0) + 100 * slack + 1e-9 * own, "the gap is no wider than it must be",
          gap=claim.gap, own=own, dual=dual, slack=slack)  # fmt: skip


def _linear_objective(case: Case, claim: Claim, problem: judge.Problem, explained: Any) -> Any:
    """``P`` of the primal vector; which must be the one of the coefficients."""
    scaling = case.options["intercept_scaling"] if case.options["fit_intercept"] else 0.0
    rows, w = case.rows[claim.members].astype(LONG), claim.w.astype(LONG)
    constant = LONG(claim.intercept) / scaling if scaling else LONG(0)
    margins = rows @ w + constant * scaling
    losses = problem.weight * np.maximum(0, 1 - problem.y * margins)
    own = problem.lam / 2 * (w @ w + constant**2) + losses.mean()
    of_coef, _ = problem.objective(claim.coef)
    check(abs(own - of_coef) <= explained + _LEAST * own, "coef_ and dual_coef_ are one model",
          of_w=own, of_coef=of_coef, explained=explained)  # fmt: skip
    return own


def _judge_history(claim: Claim) -> None:
    """The last record is the model's, and bounds never fall."""
    history, last = claim.history, claim.history.records[-1]
    for name, value in (
        ("objective_average", claim.objective),
        ("gap", claim.gap),
        ("relative_gap", claim.relative_gap),
    ):
        recorded = getattr(last, name)
        check(np.array_equal(recorded, value, equal_nan=True), f"the last {name} is the model's",
              recorded=recorded, model=value)  # fmt: skip
    for name in ("iteration", "seconds", "kernel_evaluations", "dual_bound"):
        column = history[name]
        column = column[~np.isnan(column)]
        check((np.diff(column) >= 0).all(), f"{name} never falls", column=column)


def _judge_decisions(case: Case, spec: KernelSpec, clf: Any, claims: list[Claim]) -> None:
    """Decisions on old and new rows are those of the coefficients."""
    clf.set_params(decision_function_shape="ovo")
    for rows in (case.rows, case.new):
        given = case.gram(rows) if case.kind == "precomputed" else case.as_given(rows)
        found = clf.decision_function(given).reshape(rows.shape[0], -1)
        check(np.isfinite(found).all(), "decisions are finite")
        predicted = clf.predict(given)
        if len(claims) == 1:
            check((predicted == clf.classes_[(found[:, 0] > 0) * 1]).all(), "predict by the sign")
        for column, claim in zip(found.T, claims, strict=True):
            expected, slack = _decisions(case, rows, spec, claim)
            worst = int(np.argmax(np.abs(column - expected) - slack))
            check((np.abs(column - expected) <= slack).all(), "decisions are those of the model",
                  decision=column[worst], expected=expected[worst], explained=slack[worst])  # fmt: skip


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
        values = Function(spec.gamma, -1.0 if case.indefinite else 1.0)(rows, vectors).astype(LONG)
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


def summary(outcomes: Counter[str]) -> dict[str, float]:
    """Shares of problems in float32, and away from the mean."""
    tried = sum(count for name, count in outcomes.items() if name.startswith("kind "))
    parts = ("float32", "away from the mean")
    return {
        part: sum(count for name, count in outcomes.items() if part in name) / tried
        for part in parts
    }
