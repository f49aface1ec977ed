"""Certified predictions: the gap at which 90% are certain, by the number of examples and C.

Models of random parts of six sets are polished to seven relative gaps, with an RBF kernel and
linear. Counted are the test predictions that `is_certified` calls certain, and those that agree
with the exact solution, a model with as small a gap as float64 allows.
"""

from __future__ import annotations

import warnings
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments import _plots as plots
from experiments._data import Split, moons
from experiments._results import (
    OURS,
    Claim,
    Row,
    exponent,
    grouped,
    listed,
    percent,
    rounded,
    select,
    shortened,
    slope,
    span,
)
from experiments._run import Context
from kpegasos import RBF, LinearPegasosSVC, PegasosSVC
from kpegasos.datasets import load_adult, load_covtype, load_fashion_mnist, load_mnist, load_usps

CS = (1.0, 10.0, 100.0)
SEEDS, EXAMPLES, TESTED = 3, (500, 1000, 2000, 4000), 2000
#: Relative gaps at which models are looked at, and that of the exact solution.
TOLS = (0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
EXACT = 1e-9
#: The share whose gap is looked for.
SHARE = 0.9
KERNELS = {"rbf": "RBF kernel", "linear": "linear"}


#: Sets that are split at random: what they are called, and the width of the RBF kernel, about the
#: best of a few for each.
SETS: dict[str, tuple[str, float]] = {
    "moons": ("two moons", 2.0),
    "mnist": ("MNIST 4/9", 0.02),
    "usps": ("USPS odd/even", 2 / 256),
    "fashion": ("T-shirt/shirt", 0.03),
    "adult": ("Adult", 0.05),
    "covtype": ("Covertype", 10.0),
}


@cache
def _pool(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Make or load all examples of one of the `SETS`, of training and test, with labels ±1."""
    if name == "moons":
        X, y = moons(8000, noise=0.3)
        return X.astype(np.float32), y
    if name == "adult":
        data = load_adult()
        return data.X_train.toarray().astype(np.float32), data.y_train
    if name == "covtype":
        data = load_covtype()
        return np.array(data.X_train[:20_000]), data.y_train[:20_000]
    data = {"mnist": load_mnist, "usps": load_usps, "fashion": load_fashion_mnist}[name]()
    X, y = np.concatenate([data.X_train, data.X_test]), np.concatenate([data.y_train, data.y_test])
    if name == "usps":
        return X, np.where(y % 2 == 0, 1, -1)
    first, second = (4, 9) if name == "mnist" else (0, 6)
    chosen = np.isin(y, (first, second))
    return X[chosen], np.where(y[chosen] == first, 1, -1)


def random_split(name: str, seed: int, n_train: int, n_test: int) -> Split:
    """Split one of the `SETS` at random."""
    X, y = _pool(name)
    order = np.random.default_rng(seed).permutation(y.size)
    train, test = order[:n_train], order[n_train : n_train + n_test]
    return Split(X[train], y[train], X[test], y[test])


class Models:
    """Fits on one random part of a set, from one kernel matrix or from features."""

    def __init__(self, kernel: str, name: str, seed: int, sizes: tuple[int, int]) -> None:
        X, self.y, X_test, _ = random_split(name, seed, *sizes)
        self.options: dict[str, Any] = {"polish": True, "random_state": seed}
        self.X, self.X_test = (part.astype(np.float64) for part in (X, X_test))
        self.given: tuple[Any, ...] = (self.X_test,)
        self.is_linear = kernel == "linear"
        if not self.is_linear:
            values = RBF(SETS[name][1])
            self.given = values.block(self.X_test, self.X), values.diag(self.X_test)
            self.X = values.block(self.X, self.X)

    def fit(self, C: float, tol: float) -> Any:
        """Fit to a relative gap, or as near to it as float64 comes."""
        options: dict[str, Any] = {"C": C, "tol": tol, **self.options}
        if self.is_linear:
            model: Any = LinearPegasosSVC(**options)
        else:
            model = PegasosSVC(kernel="precomputed", **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(self.X, self.y)

    def look(self, model: Any, exact: np.ndarray) -> Row:
        """Compare a model with the decisions of the exact solution."""
        decisions = model.decision_function(self.given[0])
        lower, upper = model.decision_bounds(*self.given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # where few are certain
            certified = model.is_certified(*self.given)
        agrees = (decisions > 0) == (exact > 0)
        width, apart = 0.5 * (upper - lower), float(np.sqrt(np.mean((decisions - exact) ** 2)))
        return {
            "gap": model.relative_gap_,
            "certified": float(np.mean(certified)),
            "agrees": float(np.mean(agrees)),
            "false": int(np.sum(certified & ~agrees)),
            "outside": int(np.sum((exact < lower) | (exact > upper))),
            "wider": float(np.mean(width)) / max(apart, 1e-300),
        }


def _runs(kernel: str, name: str, seed: int, sizes: tuple[int, int], Cs: Any) -> list[Row]:
    """All that is measured on one random part of a set: lists over the gaps that were asked for."""
    models, runs = Models(kernel, name, seed, sizes), []
    for C in Cs:
        solution = models.fit(C, EXACT)
        exact = solution.decision_function(models.given[0])
        looks = [models.look(models.fit(C, tol), exact) for tol in TOLS]
        lists = {key: shortened([look[key] for look in looks], 4) for key in looks[0]}
        own = {
            "optimum": shortened(solution.objective_, 4),
            "exact_gap": shortened(solution.relative_gap_, 2),
        }
        case = {"kernel": kernel, "data": name, "m": sizes[0], "C": C, "seed": seed}
        runs.append({**case, **own, **lists})
    return runs


def compute(context: Context) -> dict[str, Any]:
    """Fit and count on every set with every size, seed and C."""
    seeds, examples = (2, (100, 200)) if context.quick else (SEEDS, EXAMPLES)
    names, Cs = (["moons", "usps"], CS[:2]) if context.quick else (list(SETS), CS)
    tested = 500 if context.quick else TESTED
    runs = []
    for m, kernel, name, seed in product(examples, KERNELS, names, range(seeds)):
        key = f"{m}, {kernel}, {name}, seed {seed}"
        runs += context.part(key, _runs, kernel, name, seed, (m, tested), Cs)
    return {"seeds": list(range(seeds)), "examples": examples, "tested": tested, "runs": runs}


def _needed_gap(run: Row) -> float:
    """Return the gap at which the share is certain, between those looked at; NaN beyond them."""
    order = np.argsort(run["certified"])
    shares, gaps = np.array(run["certified"])[order], np.array(run["gap"])[order]
    last = int(np.searchsorted(shares, SHARE))
    if last in (0, len(shares)):
        return float("nan")
    ends = slice(last - 1, last + 1)
    return float(np.exp(np.interp(SHARE, shares[ends], np.log(gaps[ends]))))


def _needed(results: dict[str, Any]) -> list[Row]:
    """Return the needed gap of each kernel, set, size and C, as a median over seeds."""
    rows = []
    for (kernel, data, m, C), runs in grouped(results["runs"], "kernel", "data", "m", "C").items():
        gaps = [_needed_gap(run) for run in runs]
        optimum = float(np.median([run["optimum"] for run in runs]))
        row = {"kernel": kernel, "data": data, "m": m, "C": C, "scale": m * C * optimum}
        rows.append(row | {"gap": float(np.median(gaps))})
    return rows


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say which gap is needed, by m and C, and how many predictions agree."""
    runs, tested, (first, *_, last) = results["runs"], results["tested"], results["examples"]
    rows = [row for row in _needed(results) if np.isfinite(row["gap"])]
    lines = grouped(rows, "kernel", "data", "C").values()
    of_m = [
        slope([row["m"] for row in own], [row["gap"] for row in own])
        for own in lines
        if len(own) == len(results["examples"])
    ]
    scaled = [row["gap"] * row["scale"] for row in rows]
    at = {
        C: [float(np.median([row["gap"] for row in select(rows, m=m, C=C)])) for m in (first, last)]
        for C in sorted({row["C"] for row in rows})
    }
    by_C = "; ".join(
        f"C = {C:g}: {rounded(few)} with {first:,} examples, {rounded(many)} with {last:,}"
        for C, (few, many) in at.items()
        if CS[1] != C
    )
    agree = listed(
        f"{_share(min(_shares(runs, tol, 'agrees')))} with tol = {tol:g}"
        for tol in (0.1, 0.01, 1e-3)
    )
    wider = _shares(runs, 1e-3, "wider", kernel="rbf")
    n_false, n_outside = (int(sum(sum(run[key]) for run in runs)) for key in ("false", "outside"))
    few, many = at[CS[1]]
    return [
        Claim(
            f"At C = {CS[1]:g}, in the median of {len(SETS)} sets and both kernels, a relative gap "
            f"of {rounded(few)} makes 90% of the predictions certain with {first:,} examples, and "
            f"{rounded(many)} with {last:,}.",
            OURS,
            f"{by_C}.",
        ),
        Claim(
            f"Times m C f* the gap that is needed is {rounded(np.median(scaled))} in the median, "
            f"and {span(np.percentile(scaled, (10, 90)))} in 80% of the cases.",
            OURS,
            f"By itself it ranges from {span([row['gap'] for row in rows])}. Its exponent in m is "
            f"{exponent(float(np.median(of_m)))} in the median over kernels, sets and C "
            f"({span(np.percentile(of_m, (10, 90)), exponent)} in 80% of them).",
        ),
        Claim(
            "Far more predictions agree with the exact solution than are certain to.",
            OURS,
            f"Agreement on the worst set, size and C is {agree}. With the RBF kernel and "
            f"tol = 0.001 the bound is {rounded(float(np.median(wider)))} times the actual "
            f"difference of decisions (median of root mean squares; at least "
            f"{rounded(min(wider))} times).",
        ),
        Claim(
            f"Of {tested * len(runs) * len(TOLS):,} predictions {n_false} were certain and "
            "differed from the exact solution's.",
            OURS,
            f"{n_outside} of its decisions were outside their bounds. Its relative gap is up to "
            f"{rounded(max(run['exact_gap'] for run in runs))}.",
        ),
    ]


def _shares(runs: list[Row], tol: float, key: str = "certified", **where: Any) -> list[float]:
    """Return the medians over seeds of a column at a tol, for each set, size, C and kernel."""
    at = TOLS.index(tol)
    groups = grouped(select(runs, **where), "kernel", "data", "m", "C").values()
    return [float(np.median([run[key][at] for run in own])) for own in groups]


def _share(share: float) -> str:
    """Write a share, with a decimal where it is nearly all."""
    return percent(share, 1 if share > 0.99 else 0)


def plot(results: dict[str, Any]) -> plots.Figure:
    """Shares that are certain against the gap, by m, and the needed gap against m C f*."""
    runs, examples = results["runs"], results["examples"]
    figure, axes = plots.panels(1, 2, 4.4)
    left, right = axes[0]
    gaps = np.geomspace(0.05, 1e-7, 60)
    for m, color in zip(examples, plots.shades(len(examples)), strict=True):
        curves = []
        for run in select(runs, kernel="rbf", m=m, C=CS[1]):
            order = np.argsort(run["gap"])
            at, shares = np.log(np.array(run["gap"])[order]), np.array(run["certified"])[order]
            curves.append(100 * np.interp(np.log(gaps), at, shares))
        left.plot(gaps, np.median(curves, axis=0), color=color, linewidth=2, label=f"m = {m:,}")
    left.legend(loc="lower right")
    left.axhline(100 * SHARE, color=plots.BLACK, linewidth=1, linestyle=":")
    plots.log_x(left, xlim=(0.05, 1e-7), ylim=(-3, 103), xlabel="certified relative gap")
    left.set(ylabel="certain, % of test predictions", title=f"RBF kernel, C = {CS[1]:g}")
    rows = _needed(results)
    for (name, (title, _)), color in zip(SETS.items(), plots.PALETTE, strict=False):
        for kernel, filled in (("rbf", color), ("linear", "none")):
            own = select(rows, data=name, kernel=kernel)
            label = title if kernel == "rbf" else None
            right.plot(
                *([row[key] for row in own] for key in ("scale", "gap")),
                **{"color": color, "markerfacecolor": filled, "label": label},
                **{"marker": "o", "linestyle": "none", "markersize": 5},
            )
    scales = np.array([row["scale"] for row in rows])
    middle = float(np.nanmedian([row["gap"] * row["scale"] for row in rows]))
    ends = np.array([scales.min(), scales.max()])
    right.plot(ends, middle / ends, color=plots.GREY, zorder=0, label="1/(m C f*)")
    plots.log_log(right, xlabel="m C f*", ylabel="relative gap that is needed")
    right.set_title("for 90% of the predictions to be certain")
    return plots.state(
        figure,
        "The more examples and the larger C, the smaller the gap that certifies",
        f"Left: medians of {len(SETS)} sets. Right: a dot for each set, m, C = 1, 10, 100; hollow: "
        f"linear. {results['tested']:,} test examples, medians of {len(results['seeds'])} runs. "
        "Certain: to be predicted by the exact solution as well.",
    )
