"""Pairs of one to four examples have one model, whichever road trains them, to the gap asked for.

Compiled code trains them together, and the drivers one by one; a process that has compiled nothing
takes the same road as one that has.
"""

import warnings
from unittest import mock

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kpegasos import PegasosSVC
from kpegasos.estimators.bounds import EPS
from kpegasos.fitting import training
from kpegasos.fitting.pairs import pair_coefficients
from tests.campaigns.harness import check, pick, power, some

CI_TRIALS = 40

_ARRAYS = (
    "support_", "dual_coef_", "intercept_", "lam_", "n_steps_", "objective_", "duality_gap_",
    "relative_gap_",
)  # fmt: skip


def _problem(rng):
    """Few examples of each class, alike or far from zero now and then."""
    n_classes = int(rng.integers(2, 6))
    y = np.concatenate((np.arange(n_classes), rng.integers(n_classes, size=rng.integers(0, 3))))
    rows = rng.integers(-2, 3, size=(y.size, int(rng.integers(1, 4)))) * power(rng, -1, 1)
    if some(rng, 0.5):
        rows += np.round(rng.normal(size=rows.shape), 3)
    if some(rng, 0.4):
        rows += power(rng, 0, 3)
    weight = None if some(rng, 0.6) else rng.random(y.size) + 0.01
    order = rng.permutation(y.size)
    return rows[order], y[order], weight


def _options(rng):
    options = {
        "kernel": pick(rng, ["linear", "rbf", "poly"]),
        "degree": 2,
        "C": power(rng, -2, 5),
        "epochs": pick(rng, [1, 3, 10]),
        "sampling": pick(rng, ["permutation", "uniform"]),
        "average": pick(rng, ["weighted", "uniform", None]),
        "fit_intercept": some(rng, 0.7),
        "random_state": int(rng.integers(2**31)),
    }
    if some(rng, 0.7):
        options |= {"polish": True, "tol": power(rng, -8, -1)}
    return options


def trial(rng):
    """Fit one problem on both roads, and compare the models bit by bit."""
    (rows, y, weight), options = _problem(rng), _options(rng)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        together = PegasosSVC(**options).fit(rows, y, weight)
    with mock.patch.object(training, "small_pairs", return_value=None):
        alone = PegasosSVC(**options).fit(rows, y, weight)
    about = f"{rows.tolist()}, {y.tolist()}, weighted={weight is not None}, {options}"
    for name in _ARRAYS:
        one, other = (np.asarray(getattr(model, name)) for model in (together, alone))
        same = one.tobytes() == other.tobytes()
        check(same, "both roads have the same bits", name=name, one=one, other=other, of=about)
    gap, tol = np.max(together.relative_gap_), options.get("tol", np.inf)
    if gap <= tol:
        return "polished" if "polish" in options else "plain"
    said = " ".join(str(each.message) for each in caught)
    kernel = together._kernel.block(rows, rows) + together.intercept_scaling**2
    sizes = np.abs(pair_coefficients(together.dual_coef_, together.n_support_)).sum(axis=1)
    # Of margins, which moves of an ascent add up.
    rounding = (1000 * EPS * np.abs(kernel).max() * sizes / together.objective_).max()
    check(gap <= tol + rounding, "tol is reached", gap=gap, explained=rounding, of=about)
    check("scale the features" in said or "mostly rounding" in said, "a cure is named", said=said)
    return "as far as rounding allows"
