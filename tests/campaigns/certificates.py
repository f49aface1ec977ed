"""A certificate is true: the objective is the model's own, and no optimum lies below the bound.

Hard problems of the hinge loss in all forms of kernels, weights and parameters are judged by
`tests.campaigns._reference`, which brackets the optimum in long double, and whose solution must
decide within the bounds of decisions, and as predicted where that is certified. Problems of other
losses are drawn in `tests/solvers/test_losses_runs.py`.
"""

import re
import time
import warnings
from contextlib import nullcontext
from unittest import mock

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kpegasos.core.certificate import _SHARE, _SHARE_WITH_TOL
from kpegasos.estimators.bounds import bounds_of_pairs
from kpegasos.utils import tuning
from tests import naive
from tests.campaigns import _reference as judge
from tests.campaigns._problems import draw_case
from tests.campaigns._reference import LONG, UNIT
from tests.campaigns._remains import claims_of, decisions_of_pairs
from tests.campaigns.harness import SMALL, check, some

CI_TRIALS = 50

#: What a refusal must name.
_NAMED = re.compile(
    r"\b(X|y|sample_weight|kernel|gamma|C|lam|intercept_scaling|batch_size|tol|polish|cache_mb|"
    r"degree|coef0|class_weight)\b"
)
#: Warnings of columns that stand in the way of a model, which say nothing of its certificate.
_OF_COLUMNS = re.compile("sees little but column|has learnt little, since column")
_DOUBLE = np.finfo(float).eps
#: Relative error of an objective that needs no explanation.
_LEAST = 1e-9
#: How much wider than necessary a gap may be, relative to the objective.
_WIDER = 1e-4


def trial(rng):
    """Draw a problem, fit it and judge what the fit says."""
    case, new = draw_case(rng)
    small = mock.patch.multiple(tuning, **SMALL) if some(rng, 0.5) else nullcontext()
    try:
        with warnings.catch_warnings(record=True) as caught, small:
            warnings.simplefilter("always")
            begin = time.perf_counter()
            try:
                clf = case.fit()
            except ValueError as error:
                return _judge_refusal(case, str(error))
            # By the clock, or without the last look, for which there was no time left.
            late = time.perf_counter() - begin > 0.5 * case.options.get("max_time", np.inf)
        return f"{case.kind}: {_judge_fit(case, clf, new, caught, late)}"
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}\nin {case}") from error


def _judge_refusal(case, message):
    """A refusal is one sentence that names a parameter, and has a reason."""
    check("\n" not in message and len(message) < 400, "a refusal is one sentence", said=message)
    check(_NAMED.search(message), "a refusal names a parameter", said=message)
    blamed = "semi-definite" in message
    right = case.indefinite and "tol" in case.options
    check(not blamed or right, "a definite kernel is not blamed", said=message)
    return "not positive semi-definite" if blamed else "one clear sentence"


def _judge_fit(case, clf, new, caught, late):
    said = [str(w.message) for w in caught]
    alarms = [w for w in caught if not issubclass(w.category, ConvergenceWarning)]
    alarms = [w for w in alarms if not _OF_COLUMNS.search(str(w.message))]
    check(not alarms, "nothing but ConvergenceWarning is warned of", said=said)
    weight, spec, tol = weight_of(case), resolved(case, clf), case.options.get("tol")
    claims = claims_of(clf, case.y, weight)
    missed = tol is not None and any(not claim.relative_gap <= tol for claim in claims)
    check(said or not missed, "a tol that is missed is warned of")
    blamed = [message for message in said if "did not reach tol" in message]
    check(missed or not blamed, "a tol that is reached is not called missed", said=blamed)
    is_cut = late or any("stopped by max_time" in message for message in said)
    rows = np.concatenate([case.rows, new])
    pairs = [Pair(case, claim, spec, rows, weight) for claim in claims]
    solved = [pair.judge_claim(is_cut) for pair in pairs]
    _judge_decisions(case, clf, pairs, rows)
    if case.indefinite:
        return "fitted, kernel not positive semi-definite"
    _judge_bounds(case, clf, pairs, solved, spec, rows)
    return "fitted, tol not reached" if missed else "fitted"


def weight_of(case):
    """Sample weights times class weights."""
    weight = np.ones(case.y.size) if case.weight is None else case.weight
    by_class = case.options.get("class_weight") or {}
    if by_class == "balanced":
        classes = np.unique(case.y)
        totals = {c: weight[case.y == c].sum() for c in classes}
        by_class = {c: weight.sum() / (classes.size * total) for c, total in totals.items()}
    return weight * np.array([by_class.get(c, 1.0) for c in case.y])


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


class Pair:
    """What is claimed of a pair of classes, and what the judge finds of it by itself.

    ``values`` are kernel values between some rows, the examples first, and the pair's examples.
    ``error`` is what these may be off by, ``of_fit`` those of the fit, in the type of X or a wider
    one; ``of_run`` those of its run, which keeps rows of many examples in float32 where no gap is
    asked for.
    """

    def __init__(self, case, claim, spec, rows, weight):
        self.case, self.claim, self.spec, self.rows = case, claim, spec, rows
        self.scaling = LONG(case.options["intercept_scaling"] * case.options["fit_intercept"])
        members, limits = case.rows[claim.members], np.finfo(case.rows.dtype)
        if case.kind == "precomputed":
            self.values = case.gram(rows)[:, claim.members].astype(LONG)
            # No more is known of a matrix that was meant.
            self.error = np.abs(self.values) * (limits.eps / 2 if case.is_rounded else 0.0)
        elif case.kind == "callable":
            self.values = case.kernel()(rows, members).astype(LONG)
            self.error = 8 * _DOUBLE * np.abs(self.values)
        else:
            self.values = judge.kernel_values(spec, rows, members)
            self.error = judge.value_error(spec, rows, members, UNIT)
        self.of_fit = self.of_run = self._error_of(spec, members, weight, limits)
        self.asks = bool(case.options.get("polish")) or "tol" in case.options
        if case.kind in ("named", "object") and case.y.size > 1000 and not self.asks:
            self.of_run = self._error_of(spec, members, weight, np.finfo(np.float32))
        kernel = self.values[claim.members] + self.scaling**2
        weight = weight[claim.members]
        lam = case.options.get("lam") or 1 / (case.options["C"] * weight.sum())
        check(abs(claim.lam / lam - 1) < 1e-12, "lam_ is 1 / (C Σ weights)", lam=claim.lam, of=lam)
        error = self.error[claim.members]
        if case.is_rounded and _is_definite(kernel):  # a matrix that is given is the problem itself
            error = np.zeros_like(error)
        self.problem = judge.make_problem(kernel, error, claim.y, weight, claim.lam)

    def _error_of(self, spec, members, weight, limits):
        """What kernel values that are computed in a type may be off by.

        The weights say whose values they are: of examples, or of support vectors alone.
        """
        case, rows = self.case, self.rows
        found = limits.eps * np.abs(self.values) + float(limits.smallest_subnormal)
        if self.claim.w is None and case.kind not in ("callable", "precomputed"):
            used = case.rows[weight > 0].astype(LONG)
            centre = 0 if case.is_sparse or not used.size else used.mean(axis=0)
            among = judge.value_error(spec, used, used, limits.eps, centre=centre)
            most = (rows.shape[1] + 8) * 4e-4
            is_rough = among.size > 0 and among.max() > most and among.mean() > most / 10
            eps = _DOUBLE if is_rough and spec.name in ("rbf", "cauchy") else limits.eps
            found += judge.value_error(spec, rows, members, eps, centre=centre)
            found += rows.shape[1] * float(limits.tiny) * abs(spec.gamma)
        return found

    def explained(self):
        """What rounding of the run may do to an objective: that of kernel values, and of sums."""
        claim, problem = self.claim, self.problem
        counted = claim.alpha * problem.weight / (claim.lam * max(1, claim.n_steps))
        passes = 1e5 if self.case.options.get("polish") else max(1, claim.n_steps)
        sums = _DOUBLE * (passes + claim.y.size) * np.abs(problem.kernel)
        moved = problem.shift(claim.coef, self.of_run[claim.members] + sums)
        return moved + problem.shift(10 * counted, sums)

    def judge_claim(self, is_cut):
        """Compare what is said of a model with the model and with the optimum.

        Returns
        -------
        coef : ndarray of shape (n_members,)
            Of the exact solution, nearly.
        above : float
            How far above the minimum that may be.
        """
        claim, problem, explained = self.claim, self.problem, self.explained()
        own, rounding = problem.objective(claim.coef)
        if claim.w is not None:
            own = self.linear_objective(explained)
        said = {"objective": claim.objective, "gap": claim.gap, "own": own}
        check(np.isfinite(claim.objective), "the objective is finite", **said)
        slack = explained + rounding + _LEAST * abs(own)
        is_own = abs(claim.objective - own) <= slack
        check(is_own, "the objective is the model's own", explained=slack, **said)
        _judge_history(claim)
        if self.case.indefinite and np.isnan(claim.gap):
            check(np.isnan(claim.relative_gap), "no gap, no relative gap")
            return None
        check(0 <= claim.gap < np.inf, "a gap is finite and not negative", **said)
        relative = claim.gap / claim.objective
        check(abs(claim.relative_gap - relative) <= 1e-12 * relative, "gap / objective")
        if self.case.indefinite:
            return None
        low, high, coef = judge.solve(problem, [claim.coef])
        check(low <= high, "the judge contradicts itself", low=low, high=high)
        said |= {"low": low, "high": high}
        last_digits = 4 * _DOUBLE * abs(claim.objective)
        # What is promised is promised of definite matrices. One that rounding made indefinite has
        # dual values that exceed those of the one that was meant, by so much.
        last_digits += problem.dual(problem.variables(claim.coef))[1] if self.case.is_rounded else 0
        below = claim.objective - claim.gap <= high + last_digits
        check(below, "the bound is below the optimum", **said)
        check(claim.objective >= low - slack, "nothing is better than the optimum", **said)
        within = own - high <= claim.gap + rounding + last_digits
        check(within, "the model is within its gap", **said)
        bound = claim.history["dual_bound"].max()
        check(bound <= high + last_digits, "the dual bound is below it", bound=bound, **said)
        if not is_cut:  # by the clock, before its best bound
            self.judge_width(own, slack)
        return coef, high - low

    def judge_width(self, own, slack):
        """A gap is no wider than the model's own dual point and rounding explain."""
        claim, problem = self.claim, self.problem
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
        of_rounding = _SHARE_WITH_TOL if self.asks else _SHARE  # accepted, as to look again costs
        widest = (own - max(dual, 0)) / (1 - of_rounding) + 100 * slack + 100 * _WIDER * own
        check(claim.gap <= widest, "the gap is no wider than it must be", is_=claim.gap, of=widest)

    def linear_objective(self, explained):
        """``P`` of the primal vector; which must be the one of the coefficients."""
        claim, problem = self.claim, self.problem
        rows, w = self.case.rows[claim.members].astype(LONG), claim.w.astype(LONG)
        constant = LONG(claim.intercept) / self.scaling if self.scaling else LONG(0)
        margins = rows @ w + constant * self.scaling
        slopes = problem.weight * np.maximum(0, 1 - problem.y * margins)
        own = problem.lam / 2 * (w @ w + constant**2) + slopes.mean()
        of_coef, _ = problem.objective(claim.coef)
        same = abs(own - of_coef) <= explained + _LEAST * own
        check(same, "coef_ and dual_coef_ are one model", of_w=own, of_coef=of_coef)
        return own

    def decisions(self):
        """Decisions of the model in long double, and what rounding explains."""
        claim, limits = self.claim, np.finfo(self.case.rows.dtype)
        if claim.w is not None:
            w, wide = claim.w.astype(LONG), self.rows.astype(LONG)
            slack = (w.size + 4) * _DOUBLE * (np.abs(wide) @ np.abs(w) + abs(claim.intercept))
            return wide @ w + LONG(claim.intercept), slack
        coef, n = claim.coef.astype(LONG), claim.y.size
        members = self.case.rows[claim.members]
        size, constant = np.abs(coef), self.scaling**2
        used = np.zeros(self.case.y.size)
        used[claim.members] = size
        error = np.maximum(self.of_fit, self._error_of(self.spec, members, used, limits))
        slack = error @ size + (n + 4) * limits.eps * (np.abs(self.values) @ size)
        slack = slack + (n + 4) * _DOUBLE * constant * size.sum()
        # Below the normal numbers rounding is no part of a value: a value, a product and a sum.
        slack = slack + LONG(limits.smallest_subnormal) * (size.sum() + 2 * n)
        return self.values @ coef + constant * coef.sum(), slack


def _is_definite(kernel):
    """Whether a matrix is positive semi-definite, whatever rounding does to its eigenvalues."""
    values = np.linalg.eigvalsh(kernel.astype(float))
    return bool(values[0] > values.size * _DOUBLE * values[-1])


def _judge_history(claim):
    """The last record is the model's, costs only grow, and a bound is not given back."""
    last = claim.history.records[-1]
    recorded = [last.objective_average, last.gap, last.relative_gap]
    model = [claim.objective, claim.gap, claim.relative_gap]
    same = np.array_equal(recorded, model, equal_nan=True)
    check(same, "the last record is the model's", recorded=recorded, model=model)
    for name in ("iteration", "seconds", "kernel_evaluations", "dual_bound"):
        column = claim.history[name]
        falls = np.diff(column[~np.isnan(column)]) < 0
        check(not falls.any(), f"{name} never falls", column=column)


def _judge_decisions(case, clf, pairs, rows):
    """Decisions are those of the coefficients."""
    all_found = decisions_of_pairs(clf, case.given(rows))
    check(np.isfinite(all_found).all(), "decisions are finite")
    if len(pairs) == 1:
        by_sign = clf.classes_[(all_found[:, 0] > 0) * 1]
        check((clf.predict(case.given(rows)) == by_sign).all(), "predict goes by the sign")
    for pair, found in zip(pairs, all_found.T, strict=True):
        expected, slack = pair.decisions()
        off = np.abs(found - expected) - slack
        worst = int(np.argmax(off))
        numbers = {"decision": found[worst], "is_": expected[worst], "slack": slack[worst]}
        check(off[worst] <= 0, "decisions are those of the model", **numbers)


# --- the exact solution's decisions ---------------------------------------------------------------


def _judge_bounds(case, clf, pairs, solved, spec, rows):
    """Bounds hold what the exact solution decides, which is a ball around what the judge found."""
    given = case.given(rows)
    squares = [judge.kernel_values(spec, row[None], row[None])[0, 0] for row in rows]
    diagonal = np.array(squares, float) if case.kind == "precomputed" else None
    ((lower, upper),) = bounds_of_pairs(clf, given, diagonal)
    exact, slack = np.empty((2, *lower.shape))
    for number, (pair, (coef, above)) in enumerate(zip(pairs, solved, strict=True)):
        values = pair.values + pair.scaling**2
        known = pair.error + 4 * coef.size * UNIT * np.abs(values)
        exact[:, number] = values @ coef
        slack[:, number] = known @ (np.abs(coef) + np.abs(pair.claim.coef))
        slack[:, number] += np.sqrt(2 * above / pair.problem.lam * (squares + pair.scaling**2))
    if len(pairs) == 1:
        winner = clf.classes_[(exact[:, 0] > 0).astype(int)]
    else:
        winner = clf.classes_[naive.ovo_vote(exact, clf.classes_.size)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of little that is certain
        certified, predicted = clf.is_certified(given, diagonal), clf.predict(given)
    own, slack = decisions_of_pairs(clf, given), slack * (1 + 1e-12)
    for values, off, of in ((own, 0.0, "the model"), (exact, slack, "the exact solution")):
        outside = np.maximum(lower - values, values - upper) - off
        worst = np.unravel_index(int(np.argmax(outside)), outside.shape)
        numbers = {"lower": lower[worst], "upper": upper[worst], "is_": values[worst]}
        check(outside[worst] <= 0.0, f"decisions of {of} are within the bounds", **numbers)
    known = certified & (np.abs(exact) > slack).all(axis=1)
    other = known & (winner != predicted)
    check(not other.any(), "what is certified the exact solution predicts", rows=other.nonzero())
