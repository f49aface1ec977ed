"""The bias by the four treatments of the journal paper, section 6, on one objective.

All are judged by f(w, b) = λ/2 ‖w‖² + mean hinge of y(⟨w, x⟩ + b), in which b is free, and by the
distance of b from the optimal one, which LIBSVM finds. The treatments, by mini-batches of k
independent draws and t-weighted averages of w and b:

- constant feature: b is penalised by b²; the package's own;
- unregularised: b by the same steps as w, without shrinking; "loses the rate";
- in each batch: the loss of a batch is minimised over b, then w makes its step; the final b is the
  best for the final w, by one pass over the data;
- outer search: golden section over b, with Pegasos for w inside; the steps of all runs are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.svm import SVC

from experiments import _plots as plots
from experiments._data import hinge_objective
from experiments._results import (
    JOURNAL,
    Claim,
    columns,
    mark,
    rounded,
    select,
    span,
    spread,
    summary,
)
from experiments._run import Context
from kpegasos import linear_rows, make_problem, pegasos
from kpegasos.datasets import load_usps, make_gaussian_noise

LAM, BATCH, SMALL_BATCH = 1e-3, 64, 8
STEPS = (30, 100, 300, 1000, 3000, 10_000, 30_000)
SEEDS = 10
EVALUATIONS = 12  # of the outer search
TITLES = {"clouds": "two clouds off the origin, d = 2", "usps": "USPS 8 against the rest, d = 256"}
TREATMENTS = ("constant 1", "unregularised", "batch", "small batch", "search")


def _data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of length up to one, labels ±1."""
    if name == "clouds":
        X, y = make_gaussian_noise(2000, separation=4.0, random_state=0)
        X = X + 3.0
        labels = np.where(y == 1, 1.0, -1.0)
    else:
        data = load_usps()
        X, labels = data.X_train.astype(float), np.where(data.y_train == 8, 1.0, -1.0)
    return X / np.linalg.norm(X, axis=1).max(), labels


def _best_bias(f: np.ndarray, y: np.ndarray) -> float:
    """Minimise the hinge loss over b: its slope, −n₊ at first, rises by one at each y_i − f_i."""
    kinks, n_positive = np.sort(y - f), int(np.sum(y > 0))
    if n_positive in (0, y.size):
        return float(kinks[0] if n_positive == 0 else kinks[-1])
    return float(kinks[n_positive - 1] + kinks[n_positive]) / 2


def _objective(X: np.ndarray, y: np.ndarray, w: np.ndarray, b: float) -> float:
    return hinge_objective(y, X @ w + b, w @ w, LAM)


def _optimum(name: str) -> dict[str, float]:
    """Bound the optimum of f by LIBSVM, and find its b."""
    X, y = _data(name)
    model = SVC(kernel="linear", C=1 / (LAM * y.size), tol=1e-7).fit(X, y)
    w, alpha = model.coef_[0], np.abs(model.dual_coef_).sum()
    return {"f*": LAM * (alpha - w @ w / 2), "b*": _best_bias(X @ w, y)}


def _constant(
    X: np.ndarray, y: np.ndarray, steps: list[int], seed: int
) -> list[tuple[float, float]]:
    found = []

    def note(run: Any) -> None:
        result = run.result()
        found.append((_objective(X, y, result.w, result.intercept), result.intercept))

    options: Any = {"sampling": "uniform", "batch_size": BATCH, "random_state": seed}
    options |= {"n_steps": steps[-1], "checkpoints": steps, "monitor": note}
    pegasos(make_problem(y, LAM), linear_rows(X, intercept_scaling=1.0), **options)
    return found


def _averages(
    X: np.ndarray, y: np.ndarray, k: int, n_steps: int, seed: int, treatment: str, b: float = 0.0
) -> Iterator[tuple[int, np.ndarray, float]]:
    """Yield t and the t-weighted averages of w and b after each step."""
    rng = np.random.default_rng(seed)
    w, w_mean, b_mean = np.zeros(X.shape[1]), np.zeros(X.shape[1]), b
    for t in range(1, n_steps + 1):
        drawn = rng.integers(y.size, size=k)
        labels, features = y[drawn], X[drawn]
        f = features @ w
        if treatment == "batch":
            b = _best_bias(f, labels)
        push = np.where(labels * (f + b) < 1, labels, 0.0) / (LAM * t * k)
        w = (1 - 1 / t) * w + push @ features
        if treatment == "unregularised":
            b += push.sum()
        w_mean += 2 / (t + 1) * (w - w_mean)
        b_mean += 2 / (t + 1) * (b - b_mean)
        yield t, w_mean, b_mean


def _along(
    X: np.ndarray, y: np.ndarray, k: int, steps: list[int], seed: int, treatment: str
) -> list[tuple[float, float]]:
    found = []
    for t, w, b_mean in _averages(X, y, k, steps[-1], seed, treatment):
        if t in steps:
            b = _best_bias(X @ w, y) if treatment == "batch" else b_mean
            found.append((_objective(X, y, w, b), b))
    return found


def _search(X: np.ndarray, y: np.ndarray, n_steps: int, seed: int) -> tuple[float, float]:
    """Golden section over |b| < 1 + 1/√λ, which holds the optimum as ‖w*‖ ≤ 1/√λ."""
    largest = 1 + LAM**-0.5

    @cache
    def least(b: float) -> float:
        if abs(b) >= largest:
            return np.inf
        *_, (_, w, _) = _averages(X, y, BATCH, n_steps // EVALUATIONS, seed, "fixed", b)
        return _objective(X, y, w, b)

    # The first two evaluations are at the golden points, each iteration adds one.
    bracket, options = (-largest, (2 - np.sqrt(5)) * largest, largest), {"maxiter": EVALUATIONS - 2}
    found = minimize_scalar(least, bracket=bracket, method="golden", options=options)
    return float(found.fun), float(found.x)


def _runs(name: str, treatment: str, steps: list[int], seeds: int) -> np.ndarray:
    """Objective and b after each number of steps, for each seed."""
    X, y = _data(name)
    values = []
    for seed in range(seeds):
        if treatment.startswith("constant"):
            values.append(_constant(X, y, steps, seed))
        elif treatment == "search":
            values.append([_search(X, y, n_steps, seed) for n_steps in steps])
        else:
            k = SMALL_BATCH if treatment == "small batch" else BATCH
            values.append(_along(X, y, k, steps, seed, treatment.removeprefix("small ")))
    return np.array(values)


def compute(context: Context) -> dict[str, Any]:
    """Run every treatment on each set with every seed."""
    seeds, steps = (2, list(STEPS[:3])) if context.quick else (SEEDS, list(STEPS))
    table = []
    for name, treatment in product(TITLES, TREATMENTS):
        optimum = context.part(f"optimum of {name}", _optimum, name)
        found = context.part(f"{name}, {treatment}", _runs, name, treatment, steps, seeds)
        values = np.array(found)
        excess, off = values[:, :, 0] - optimum["f*"], np.abs(values[:, :, 1] - optimum["b*"])
        for i, n_steps in enumerate(steps):
            row = {"data": name, "treatment": treatment, "T": n_steps}
            row |= summary("suboptimality", excess[:, i]) | summary("b_off", off[:, i])
            table.append(row)
    return {"seeds": list(range(seeds)), "table": table}


def claims(results: dict[str, Any]) -> list[Claim]:
    """Judge the paper's claims on the four treatments."""
    table, early, most = results["table"], STEPS[2], STEPS[-1]
    loose = select(table, treatment="unregularised", T=most)
    off = columns(loose, "b_off")[0]
    late = _rates(table, "unregularised", most // 10, most)
    first = _rates(table, "batch", STEPS[0], early)
    ends = {
        treatment: columns(select(table, treatment=treatment, T=most), "suboptimality")[0]
        for treatment in ("batch", "small batch")
    }
    leads = [
        min(row["suboptimality"] for row in rows if "batch" not in row["treatment"])
        / select(rows, treatment="batch")[0]["suboptimality"]
        for rows in (select(table, data=name, T=T) for name, T in product(TITLES, STEPS[:3]))
    ]
    return [
        Claim(
            "A bias that is not regularised loses the rate.",
            JOURNAL,
            f"From {most // 10:,} to {most:,} steps the exponent of T in the suboptimality is "
            f"{rounded(late[0])} on {TITLES['clouds']}, and {rounded(late[1])} on "
            f"{TITLES['usps']}; in the end the bias is off by {rounded(off[0])} and "
            f"{rounded(off[1])}.",
            mark(min(late) > -0.75, max(late) > -0.75),
            "✓ if the exponent is nearer to −0.5 (1/√T) than to −1 (1/T) on every set, ~ if on "
            "some.",
        ),
        Claim(
            "Minimised inside each batch, the bias costs no rate, but batches limit it.",
            JOURNAL,
            f"From {STEPS[0]} to {early} steps the exponent is {span(first)} for k = {BATCH}, and "
            f"the best other treatment is {span(leads)} times as far from the optimum. After "
            f"{most:,} steps the suboptimality is {span(ends['batch'])} for k = {BATCH} and "
            f"{span(ends['small batch'])} for k = {SMALL_BATCH}.",
            mark(
                max(first) < -0.75 and bool((ends["batch"] < ends["small batch"]).all()),
                max(first) < -0.75,
            ),
            "✓ if the exponent is at first nearer to −1 than to −0.5, or below, and the larger "
            "batch ends nearer to the optimum on every set, ~ if only the first holds.",
        ),
    ]


def _rates(table: list[dict[str, Any]], treatment: str, start: int, end: int) -> np.ndarray:
    """Return the exponent of T in the suboptimality over a decade of steps, for each set."""
    ends = (select(table, treatment=treatment, T=T) for T in (start, end))
    before, after = (columns(rows, "suboptimality")[0] for rows in ends)
    return np.log10(after / before)


LOOKS = {
    "batch": plots.Look(f"best in each\nbatch, k = {BATCH}", plots.BLUE, "s"),
    "small batch": plots.Look(f"best in each\nbatch, k = {SMALL_BATCH}", plots.SKY, "D", "--"),
    "constant 1": plots.Look("constant feature", plots.BLACK, "o"),
    "unregularised": plots.Look("steps on b", plots.VERMILION, "v"),
    "search": plots.Look("outer search", plots.GREEN, "^"),
}


def plot(results: dict[str, Any]) -> plots.Figure:
    """Suboptimality against steps, a panel for each set."""
    figure, axes = plots.panels(1, len(TITLES), 4.4, sharey=True)
    for ax, (name, title) in zip(axes[0], TITLES.items(), strict=True):
        for treatment, look in LOOKS.items():
            own = select(results["table"], data=name, treatment=treatment)
            (steps,) = columns(own, "T")
            plots.band(ax, steps, spread(own, "suboptimality"), **look.style())
        plots.log_log(ax, ylim=(1e-6, 100), title=title.replace(", ", "\n"))
    plots.outer_labels(axes, plots.STEPS, "suboptimality f(w, b) − f*")
    return plots.state(
        figure,
        "Minimising the bias inside each batch is best early",
        f"λ = {LAM:g}, k = {BATCH} but where it says otherwise; t-weighted averages; median and "
        f"20–80% of {len(results['seeds'])} runs. The constant feature has an optimum of its own.",
    )
