"""A certificate is true: the objective is the model's own, and no optimum lies below the bound.

Hard problems of the hinge loss in all forms of kernels, weights and parameters are judged by
`tests.campaigns._reference`, which brackets the optimum in long double. Those of other losses are
drawn in `tests/solvers/test_losses_runs.py`.
"""

import re
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tests.campaigns import _reference as judge
from tests.campaigns._problems import draw_case
from tests.campaigns._reference import LONG, UNIT
from tests.campaigns._remains import claims_of
from tests.campaigns.harness import check

CI_TRIALS = 50

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


def trial(rng):
    """Draw a problem, fit it and judge what the fit says."""
    case, new = draw_case(rng)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                clf = case.fit()
            except ValueError as error:
                return _judge_refusal(case, str(error))
        return f"{case.kind}: {_judge_fit(case, clf, new, caught)}"
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}\nin {case}") from error


def weight_of(case):
    """Sample weights times class weights."""
    weight = np.ones(case.y.size) if case.weight is None else case.weight
    by_class = case.options.get("class_weight") or {}
    if by_class == "balanced":
        classes = np.unique(case.y)
        totals = {c: weight[case.y == c].sum() for c in classes}
        by_class = {c: weight.sum() / (classes.size * total) for c, total in totals.items()}
    return weight * np.array([by_class.get(c, 1.0) for c in case.y])


def claims_of_case(case, clf):
    """What a fitted estimator says of each pair of classes."""
    weight = weight_of(case)
    claims = claims_of(clf, case.y, weight)
    for claim in claims:
        is_ = claim.lam
        expected = case.options.get("lam") or 1 / (case.options["C"] * weight[claim.members].sum())
        check(abs(is_ / expected - 1) < 1e-12, "lam_ is 1 / (C Σ weights)", lam=is_, of=expected)
    return claims


def resolved(case, clf):
    """The kernel, whose gamma must be that of its rule to a few units in the last place."""
    if case.gamma_rule is None:
        return case.spec
    expected = LONG(1) / case.rows.shape[1]
    if case.gamma_rule == "scale":
        expected = expected / (case.rows.astype(LONG).var() or LONG(1))
    gamma = float(clf._kernel.gamma)
    near = abs(gamma / expected - 1) < (1e-6 if case.rows.dtype == np.float32 else 1e-11)
    check(near, "gamma is what its rule says", gamma=gamma, of=expected)
    return case.spec._replace(gamma=gamma)


def _judge_refusal(case, message):
    """A refusal is one sentence that names a parameter, and has a reason."""
    check("\n" not in message and len(message) < 400, "a refusal is one sentence", said=message)
    check(_NAMED.search(message), "a refusal names a parameter", said=message)
    blamed = "semi-definite" in message
    right = case.indefinite and "tol" in case.options
    check(not blamed or right, "a definite kernel is not blamed", said=message)
    check(not case.is_mild, "a mild problem is not refused", said=message)
    return "not positive semi-definite" if blamed else "one clear sentence"


def _judge_fit(case, clf, new, caught):
    alarms = [w for w in caught if not issubclass(w.category, ConvergenceWarning)]
    first = f"{alarms[0].category.__name__}: {alarms[0].message}" if alarms else ""
    check(not alarms, "nothing but ConvergenceWarning is warned of", first=first)
    claims, spec, tol = claims_of_case(case, clf), resolved(case, clf), case.options.get("tol")
    missed = tol is not None and any(not claim.relative_gap <= tol for claim in claims)
    said = [str(w.message) for w in caught]
    check(said or not missed, "a tol that is missed is warned of")
    late = [message for message in said if "did not reach tol" in message]
    check(missed or not late, "a tol that is reached is not called missed", said=late)
    is_cut = any("stopped by max_time" in message for message in said)
    for claim in claims:
        _judge_claim(case, claim, spec, is_cut)
    for rows in (case.rows, new):
        _judge_decisions(case, clf, claims, spec, rows)
    if case.indefinite:
        return "fitted, kernel not positive semi-definite"
    return "fitted, tol not reached" if missed else "fitted"


def scaling_of(case):
    """The constant feature of the intercept."""
    return LONG(case.options["intercept_scaling"] if case.options["fit_intercept"] else 0.0)


def _explained(case, claim, problem, spec):
    """What rounding of the fit itself may do to an objective: values in the type of X, sums."""
    counted = claim.alpha * problem.weight / (claim.lam * max(1, claim.n_steps))
    passes = 1e5 if case.options.get("polish") else max(1, claim.n_steps)
    sums = _DOUBLE * (passes + claim.y.size) * np.abs(problem.kernel)
    values = _value_error(case, case.rows[claim.members], case.rows[claim.members], spec, claim)
    return problem.shift(claim.coef, values + sums) + problem.shift(10 * counted, sums)


def _value_error(case, A, B, spec, claim):
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


def values_of(case, rows, members, spec):
    """The judge's own kernel values between rows and examples, and what they may be off by."""
    if case.kind == "precomputed":
        values = case.gram(rows)[:, members].astype(LONG)
        # No more is known of a matrix that was meant.
        unit = np.finfo(case.rows.dtype).eps / 2 if case.is_rounded else 0.0
        return values, unit * np.abs(values)
    if case.kind == "callable":
        values = case.kernel()(rows, case.rows[members]).astype(LONG)
        return values, 8 * _DOUBLE * np.abs(values)
    values = judge.kernel_values(spec, rows, case.rows[members])
    return values, judge.value_error(spec, rows, case.rows[members], UNIT)


def _judge_claim(case, claim, spec, is_cut):
    """Compare what is said of a model with the model and with the optimum."""
    kernel, error = values_of(case, case.rows[claim.members], claim.members, spec)
    weight = weight_of(case)[claim.members]
    kernel = kernel + scaling_of(case) ** 2
    problem = judge.make_problem(kernel, error, claim.y, weight, claim.lam)
    own, rounding = problem.objective(claim.coef)
    explained = _explained(case, claim, problem, spec)
    if claim.w is not None:
        own = _linear_objective(case, claim, problem, explained)
    said = {"objective": claim.objective, "gap": claim.gap, "own": own}
    check(np.isfinite(claim.objective), "the objective is finite", **said)
    slack = explained + rounding + _LEAST * abs(own)
    is_own = abs(claim.objective - own) <= slack
    check(is_own, "the objective is the model's own", explained=slack, **said)
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
    below = claim.objective - claim.gap <= high + last_digits
    check(below, "the bound is below the optimum", **said)
    check(claim.objective >= low - slack, "nothing is better than the optimum", **said)
    check(own - high <= claim.gap + rounding + last_digits, "the model is within its gap", **said)
    bound = claim.history["dual_bound"].max()
    check(bound <= high + last_digits, "the dual bound is below the optimum", bound=bound, **said)
    if not is_cut:  # by the clock, before its best bound
        _judge_width(claim, problem, own, slack)


def _judge_width(claim, problem, own, slack):
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


def _linear_objective(case, claim, problem, explained):
    """``P`` of the primal vector; which must be the one of the coefficients."""
    scaling = scaling_of(case)
    rows, w = case.rows[claim.members].astype(LONG), claim.w.astype(LONG)
    constant = LONG(claim.intercept) / scaling if scaling else LONG(0)
    margins = rows @ w + constant * scaling
    slopes = problem.weight * np.maximum(0, 1 - problem.y * margins)
    own = problem.lam / 2 * (w @ w + constant**2) + slopes.mean()
    of_coef, _ = problem.objective(claim.coef)
    same = abs(own - of_coef) <= explained + _LEAST * own
    check(same, "coef_ and dual_coef_ are one model", of_w=own, of_coef=of_coef, slack=explained)
    return own


def _judge_history(claim):
    """The last record is the model's, costs only grow, and a bound is not given back."""
    last = claim.history.records[-1]
    recorded = [last.objective_average, last.gap, last.relative_gap]
    model = [claim.objective, claim.gap, claim.relative_gap]
    same = np.array_equal(recorded, model, equal_nan=True)
    check(same, "the last record is the model's", recorded=recorded, model=model)
    for name in ("iteration", "seconds", "kernel_evaluations", "dual_bound"):
        column = claim.history[name]
        column = column[~np.isnan(column)]
        check((np.diff(column) >= 0).all(), f"{name} never falls", column=column)


def _judge_decisions(case, clf, claims, spec, rows):
    """Decisions are those of the coefficients."""
    all_found = clf._decisions_of_pairs(case.given(rows))
    check(np.isfinite(all_found).all(), "decisions are finite")
    if len(claims) == 1:
        by_sign = clf.classes_[(all_found[:, 0] > 0) * 1]
        check((clf.predict(case.given(rows)) == by_sign).all(), "predict goes by the sign")
    for claim, found in zip(claims, all_found.T, strict=True):
        expected, slack = _decisions(case, rows, spec, claim)
        off = np.abs(found - expected) - slack
        worst = int(np.argmax(off))
        numbers = {"decision": found[worst], "is_": expected[worst], "slack": slack[worst]}
        check(off[worst] <= 0, "decisions are those of the model", **numbers)


def _decisions(case, rows, spec, claim):
    """Decisions of a model in long double, and what rounding explains."""
    if claim.w is not None:
        w, wide = claim.w.astype(LONG), rows.astype(LONG)
        slack = (w.size + 4) * _DOUBLE * (np.abs(wide) @ np.abs(w) + abs(claim.intercept))
        return wide @ w + LONG(claim.intercept), slack
    coef, size = claim.coef.astype(LONG), np.abs(claim.coef).astype(LONG)
    values, _ = values_of(case, rows, claim.members, spec)
    error = _value_error(case, rows, case.rows[claim.members], spec, claim)
    eps = np.finfo(case.rows.dtype).eps
    constant = scaling_of(case) ** 2
    slack = error @ size + (claim.y.size + 4) * eps * (np.abs(values) @ size)
    slack = slack + (claim.y.size + 4) * _DOUBLE * constant * size.sum()
    # Below the normal numbers rounding is no part of a value: a value, a product and a sum each.
    smallest = LONG(np.finfo(case.rows.dtype).smallest_subnormal)
    slack = slack + smallest * (size.sum() + 2 * claim.y.size)
    return values @ coef + constant * coef.sum(), slack
