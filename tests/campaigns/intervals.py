"""Decisions of the exact solution are within the bounds, and certified predictions are its own.

Problems of the hinge loss are those of the campaign of certificates, solved by
`tests.campaigns._reference` in long double; those of each other loss by `tests.naive_losses`. What
a reference is certain of is a ball, too: bounds must meet what it leaves.
"""

import warnings

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVR, losses
from kpegasos.estimators.bounds import bounds_of_pairs
from tests import naive, naive_losses
from tests.campaigns import _reference as judge
from tests.campaigns import certificates as of_certificates
from tests.campaigns._problems import draw_case
from tests.campaigns._reference import LONG
from tests.campaigns.harness import check, pick, power, some

CI_TRIALS = 50

#: How far off `naive_losses` may be, relative to the objective at w = 0.
_OTHER_ROAD = 1e-8


def trial(rng):
    """Draw a problem of either kind."""
    return _any_loss(rng) if some(rng, 0.3) else hinge(rng)


def _judge(lower, upper, own, exact, slack, certified, winner, predicted):
    """Hold bounds against decisions that are known to within ``slack``; count what was found."""
    said = {"of": "the exact solution"}
    for values, off, of in ((own, 0.0, "the model"), (exact, slack, "the exact solution")):
        for outside in (lower - values - off, values - off - upper):
            worst = np.unravel_index(int(np.argmax(outside)), outside.shape)
            numbers = {"lower": lower[worst], "upper": upper[worst], "is_": values[worst]}
            said = {**numbers, "outside": outside[worst]}
            check(outside[worst] <= 0.0, f"decisions of {of} are within the bounds", **said)
    known = certified & (np.abs(exact) > slack).all(axis=1)
    other = known & (winner != predicted)
    check(not other.any(), "what is certified the exact solution predicts", rows=other.nonzero())
    return {"problems": 1, "intervals": own.size, "certified predictions": int(known.sum())}


# --- the hinge loss -------------------------------------------------------------------------------


def hinge(rng):
    """Draw a problem, fit it, solve it and compare."""
    case, new = draw_case(rng)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                clf = case.fit()
                clf.predict(case.given(np.concatenate([case.rows, new])))
            except ValueError:
                return "refused"
        return _judge_fit(case, clf, new)
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}\nin {case}") from error


def _judge_fit(case, clf, new):
    claims, spec = of_certificates.claims_of_case(case, clf), of_certificates.resolved(case, clf)
    if case.indefinite:
        if case.kind != "precomputed" and np.isnan(clf.duality_gap_).all():
            ends = clf.decision_bounds(case.given(new))
            check(np.isinf(ends).all() or clf.classes_.size > 2, "nothing is known without a gap")
            check(not clf.is_certified(case.given(new)).any(), "nothing is certain without a gap")
        return "kernel not positive semi-definite"
    solved = [_solved(case, claim, spec) for claim in claims]
    rows = np.concatenate([case.rows, new, *_tightest(case, claims, solved, spec)])
    given, squares = case.given(rows), _squared_norms(spec, rows)
    diagonal = squares.astype(float) if case.kind == "precomputed" else None
    (lower, upper), *others = bounds_of_pairs(clf, given, diagonal)
    assert not others
    exact, slack = np.empty((2, *lower.shape))
    squares = squares + of_certificates.scaling_of(case) ** 2
    for number, (claim, (coef, gap)) in enumerate(zip(claims, solved, strict=True)):
        values, error = of_certificates.values_of(case, rows, claim.members, spec)
        values = values + of_certificates.scaling_of(case) ** 2
        sizes = np.abs(coef) + np.abs(claim.coef)
        known = (error + 4 * coef.size * judge.UNIT * np.abs(values)) @ sizes
        exact[:, number] = values @ coef
        slack[:, number] = np.sqrt(2 * gap / LONG(claim.lam) * squares) + known
    certified, predicted = clf.is_certified(given, diagonal), clf.predict(given)
    if len(claims) == 1:
        winner = clf.classes_[(exact[:, 0] > 0).astype(int)]
    else:
        winner = clf.classes_[naive.ovo_vote(exact, clf.classes_.size)]
    own = clf._decisions_of_pairs(given)
    slack *= 1 + 1e-12
    return _judge(lower, upper, own, exact, slack, certified, winner, predicted)


def _solved(case, claim, spec):
    """Coefficients of the exact solution of a pair, and how far above the minimum these may be."""
    kernel, error = of_certificates.values_of(case, case.rows[claim.members], claim.members, spec)
    kernel = kernel + of_certificates.scaling_of(case) ** 2
    weight = of_certificates.weight_of(case)[claim.members]
    low, high, coef = judge.solve(judge.make_problem(kernel, error, claim.y, weight, claim.lam))
    return coef, high - low


def _squared_norms(spec, rows):
    """``k(x, x)`` in long double."""
    each = [judge.kernel_values(spec, row[None], row[None])[0, 0] for row in rows]
    return np.array(each, dtype=LONG)


def _tightest(case, claims, solved, spec):
    """Rows along ``w* - w`` of a linear model, where no decision can be farther off."""
    if spec.name != "linear":
        return []
    found = []
    for claim, (coef, _) in zip(claims, solved, strict=True):
        rows = case.rows[claim.members]
        apart = (coef - claim.coef) @ rows.astype(LONG)
        size = np.sqrt((apart**2).sum())
        if size > 0 and np.isfinite(size):
            longest = np.sqrt((rows.astype(LONG) ** 2).sum(axis=1).max())
            found.append((apart / size * longest).astype(case.rows.dtype)[None])
    return found


# --- any loss -------------------------------------------------------------------------------------

_LOSSES = (*losses.CLASSIFICATION.values(), *losses.REGRESSION.values())


def _any_loss(rng):
    """Fit an estimator to a small problem of any loss, solve it on another road and compare."""
    kind = pick(rng, _LOSSES)
    loss, regression = kind(*rng.uniform(0.05, 1.5, len(kind._fields))), kind.regression
    n_samples, n_features = int(rng.integers(2, 25)), int(rng.integers(1, 5))
    X = rng.normal(size=(n_samples + 5, n_features)) * power(rng, -1, 1)
    X = X.astype(pick(rng, [np.float32, np.float64]))
    y = rng.normal(size=n_samples) * power(rng, -1, 1)
    if not regression:
        y = np.where(y > 0, 1.0, -1.0)
        y[:2] = -1.0, 1.0
    is_linear, weight = some(rng, 0.5), rng.uniform(0.2, 3.0, n_samples)
    options = {"lam": power(rng, -3, 0.5), "fit_intercept": some(rng, 0.5), "loss": loss}
    options |= {"intercept_scaling": power(rng, -1, 1), "random_state": int(rng.integers(1000))}
    options |= {"n_steps": int(power(rng, 0, 3)), "polish": some(rng, 0.4)}
    if is_linear:
        model = (LinearPegasosSVR if regression else LinearPegasosSVC)(**options)
    else:
        model = (PegasosSVR if regression else PegasosSVC)(gamma=0.3, **options)
    model.fit(X[:n_samples], y, weight)
    wide = X.astype(np.float64)
    constant = options["intercept_scaling"] ** 2 if options["fit_intercept"] else 0.0
    K = (wide @ wide.T if is_linear else rbf_kernel(wide, gamma=0.3)) + constant
    offset = 0.0
    if regression:  # what targets are centred on is part of the problem
        offset = float(model.intercept_[0] - constant * model.dual_coef_.sum())
    task = K[:n_samples, :n_samples], y - offset, options["lam"]
    parameters = {"weight": weight, **loss._asdict()}
    least, coef = naive_losses.solution(kind.__name__, *task, **parameters)
    at = [naive_losses.objective(kind.__name__, *task, c, **parameters) for c in (coef, 0 * coef)]
    gap = max(0.0, at[0] - least) + _OTHER_ROAD * at[1]
    exact = (K[:, :n_samples] @ coef + offset)[:, None]
    slack = np.sqrt(2 * gap / options["lam"] * K.diagonal())[:, None]
    lower, upper = model.decision_bounds(X)
    own, none = model._decide(X), np.zeros(len(X), bool)
    certified = none if regression else model.is_certified(X)
    winner, predicted = np.where(exact[:, 0] > 0, 1.0, -1.0), model.predict(X)
    ends = lower[:, None], upper[:, None]
    return _judge(*ends, own, exact, slack, certified, winner, predicted)
