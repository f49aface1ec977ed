"""The fits that the judge looks at: what estimators and functions claim of their models."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from kpegasos import (
    LinearPegasosSVC,
    PegasosSVC,
    linear_rows,
    make_kernel,
    make_problem,
    make_rows,
    pegasos,
    sdca,
)
from tests.campaigns._problems import Case, Cauchy, Function
from tests.campaigns._reference import LONG, KernelSpec


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


class Decided(NamedTuple):
    """Decisions for some rows, of shape (n_rows, n_pairs), and the classes predicted."""

    rows: np.ndarray
    decisions: np.ndarray
    predicted: np.ndarray


class Fit(NamedTuple):
    """Claims of all binary problems, the kernel as the fit resolved it, and decisions."""

    claims: list[Claim]
    spec: KernelSpec
    classes: np.ndarray
    decided: list[Decided]


def check(condition: Any, promise: str, **numbers: Any) -> None:
    """Raise an AssertionError that says which promise is broken, and by what numbers."""
    if not condition:
        found = ", ".join(f"{name}={value!s}" for name, value in numbers.items())
        raise AssertionError(f"{promise} ({found})")


def weight_of(case: Case) -> np.ndarray:
    """Sample weights times class weights."""
    weight = np.ones(case.y.size) if case.weight is None else case.weight
    by_class = case.options.get("class_weight")
    if by_class is None or case.is_function:
        return weight
    if by_class == "balanced":
        classes = np.unique(case.y)
        totals = {c: weight[case.y == c].sum() for c in classes}
        by_class = {c: weight.sum() / (classes.size * total) for c, total in totals.items()}
    return weight * np.array([by_class.get(c, 1.0) for c in case.y])


def kernel_function(case: Case, gamma: float) -> Function:
    """The callable of a case."""
    return Function(gamma, -1.0 if case.indefinite else 1.0)


def _kernel_argument(case: Case) -> dict[str, Any]:
    """The kernel as an estimator takes it."""
    spec = case.spec
    if case.kind == "callable":
        return {"kernel": kernel_function(case, spec.gamma)}
    if case.kind == "object":
        return {"kernel": Cauchy(spec.gamma)}
    if case.kind == "precomputed":
        return {"kernel": "precomputed"}
    gamma = case.gamma_rule or spec.gamma
    return {"kernel": case.kind, "gamma": gamma, "degree": spec.degree, "coef0": spec.coef0}


def fit_estimator(case: Case) -> Fit:
    """Fit the estimator, and let it decide on its own rows and on new ones."""
    if case.kind == "primal":
        clf: Any = LinearPegasosSVC(**case.options)
    else:
        clf = PegasosSVC(**_kernel_argument(case), **case.options)

    def given(rows: np.ndarray) -> Any:
        return case.gram(rows) if case.kind == "precomputed" else case.as_given(rows)

    clf.fit(given(case.rows), case.y, case.weight)
    decided = []
    for rows in (case.rows, case.new):
        decisions = clf._decisions_of_pairs(given(rows))
        decided.append(Decided(rows, decisions, clf.predict(given(rows))))
    spec = case.spec
    if case.gamma_rule is not None:
        spec = spec._replace(gamma=_resolved_gamma(case, clf))
    return Fit(_claims(case, clf), spec, clf.classes_, decided)


def _claims(case: Case, clf: Any) -> list[Claim]:
    """What a fitted estimator says of each pair of classes."""
    weight = weight_of(case)
    coefs = np.zeros((clf.classes_.size - 1, case.y.size))
    coefs[:, clf.support_] = clf.dual_coef_
    pairs = list(combinations(range(clf.classes_.size), 2))
    histories = [clf.history_] if len(pairs) == 1 else clf.history_
    alphas = clf.alpha_[None] if len(pairs) == 1 else clf.alpha_.toarray()
    names = ("objective_", "duality_gap_", "relative_gap_", "lam_", "n_steps_")
    columns = [np.atleast_1d(getattr(clf, name)) for name in names]
    claims = []
    for number, (i, j) in enumerate(pairs):
        first, second = (case.y == clf.classes_[k] for k in (i, j))
        members = np.flatnonzero((first | second) & (weight > 0))
        objective, gap, relative_gap, lam, n_steps = (column[number] for column in columns)
        claim = Claim(
            members,
            np.where(second if len(pairs) == 1 else first, 1.0, -1.0)[members],
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
        expected = case.options.get("lam") or 1 / (case.options["C"] * weight[members].sum())
        check(abs(lam / expected - 1) < 1e-12, "lam_ is 1 / (C Σ weights)", lam=lam, is_=expected)
        claims.append(claim)
    return claims


def fit_function(case: Case) -> Fit:
    """Call `pegasos` or `sdca` on the first two classes."""
    options, weight = case.options, weight_of(case)
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
    bound = result.objective - result.gap
    last_digits = 4 * np.finfo(float).eps * abs(result.objective)
    below = np.isnan(result.gap) or bound <= result.dual_bound + last_digits
    check(below, "a gap reaches down to the bound", bound=result.dual_bound, reached=bound)
    claim = Claim(
        members,
        y,
        result.coef,
        result.intercept,
        result.w,
        result.objective,
        result.gap,
        result.relative_gap,
        lam,
        result.alpha,
        result.n_steps,
        result.history,
    )
    return Fit([claim], case.spec, np.arange(2), [])


def _resolved_gamma(case: Case, clf: Any) -> float:
    """The gamma of the kernel, which must be that of the rule to a few units in the last place."""
    rows = case.rows
    expected = LONG(1) / rows.shape[1]
    if case.gamma_rule == "scale":
        variance = rows.astype(LONG).var()
        expected = expected / variance if variance > 0 else LONG(1)
    gamma = float(clf._kernel.gamma)
    near = abs(gamma / expected - 1) < (1e-6 if rows.dtype == np.float32 else 1e-11)
    check(near, "gamma is what its rule says", gamma=gamma, is_=expected, of=case.label)
    return gamma
