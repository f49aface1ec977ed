"""Certificates of regressions are true of the model as returned, wherever targets are.

Targets far from zero, and within the last digits of epsilon from it; the judge is that of
`tests.campaigns._intercepts`.
"""

import warnings

import numpy as np

from kpegasos import LinearPegasosSVR, PegasosSVR
from tests.campaigns._intercepts import judge_claim, told_by
from tests.campaigns.free_intercepts import (
    draw_kernel,
    draw_options,
    draw_rows,
    draw_weight,
    of_kernel,
    task_of,
)
from tests.campaigns.harness import pick, power, some

CI_TRIALS = 30


def _targets(rng, rows, epsilon):
    n = len(rows)
    spread = power(rng, -8, 4)
    y = spread * (rng.normal(size=n) + some(rng, 0.7) * rows[:, 0] / (np.abs(rows).max() or 1.0))
    kind = rng.random()
    if kind < 0.4:  # prices, timestamps
        y += power(rng, 0, 13) * pick(rng, [-1.0, 1.0])
    elif kind < 0.7:
        y = epsilon * (pick(rng, [-1.0, 1.0]) + power(rng, -16, -4) * rng.normal(size=n))
    return np.round(y) if some(rng, 0.2) else y


def _median(y, weight):
    """The weighted median, the least of several."""
    order = np.argsort(y, kind="stable")
    sums = np.cumsum(np.ones(len(y)) if weight is None else weight[order])
    return float(y[order[np.searchsorted(sums, 0.5 * sums[-1])]])


def trial(rng):
    """Fit one problem, and judge what the fit says."""
    n = int(rng.integers(2, 30))
    rows, weight = draw_rows(rng, n), draw_weight(rng, n)
    epsilon = 0.0 if some(rng, 0.3) else power(rng, -3, 3)
    y, spec, squared = _targets(rng, rows, epsilon), draw_kernel(rng, rows), some(rng, 0.2)
    intercept = pick(rng, [True, True, False, "free"])
    options = draw_options(rng) | {"C": power(rng, -4, 8), "fit_intercept": intercept}
    options |= {"epsilon": epsilon, "loss": "squared_" * squared + "epsilon_insensitive"}
    if spec is None:
        model = LinearPegasosSVR(**options)
    else:
        model = PegasosSVR(**options, **of_kernel(rng, spec))
    try:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                model.fit(rows, y, weight)
        except ValueError as error:
            if "intercept_scaling must be at most" in str(error):
                return "one clear sentence"
            raise
        task = task_of(
            model,
            rows,
            y,
            weight,
            spec,
            epsilon=epsilon,
            squared=squared,
            scaling=None if intercept == "free" else options["intercept_scaling"] * intercept,
            middle=_median(y, weight) if intercept else 0.0,
        )
        judge_claim(task, told_by(model, n), rows)
    except Exception as error:
        about = f"{rows.dtype}, {rows.shape}, weighted={weight is not None}, {spec}, {options}"
        raise AssertionError(f"{type(error).__name__}: {error}\nin {about}") from error
    return f"intercept={intercept}, {'near' if model.relative_gap_ < 0.1 else 'far'}"
