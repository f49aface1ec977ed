"""Certified predictions: how many are certain to be those of the exact solution, at which gap.

Models of random parts of six sets are polished to eight relative gaps, with an RBF kernel and
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
    grouped,
    listed,
    percent,
    rounded,
    select,
    shortened,
    span,
)
from experiments._run import Context
from kpegasos import RBF, LinearPegasosSVC, PegasosSVC
from kpegasos.datasets import load_adult, load_covtype, load_fashion_mnist, load_mnist, load_usps

CS = (1.0, 10.0, 100.0)
SEEDS, EXAMPLES, TESTED = 10, 500, 2000
#: Relative gaps at which models are looked at, and that of the exact solution.
TOLS = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)
EXACT = 1e-9
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
        agrees, certified = (decisions > 0) == (exact > 0), model.is_certified(*self.given)
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
        found = [models.look(models.fit(C, tol), exact) for tol in TOLS]
        lists = {key: shortened([one[key] for one in found], 4) for key in found[0]}
        own = {"exact_gap": shortened(solution.relative_gap_, 2)}
        runs.append({"kernel": kernel, "data": name, "C": C, "seed": seed, **own, **lists})
    return runs


def compute(context: Context) -> dict[str, Any]:
    """Fit and count on every set with every seed and C."""
    seeds, sizes = (2, (200, 500)) if context.quick else (SEEDS, (EXAMPLES, TESTED))
    names, Cs = (["moons", "usps"], CS[:2]) if context.quick else (list(SETS), CS)
    runs = []
    for kernel, name, seed in product(KERNELS, names, range(seeds)):
        key = f"{kernel}, {name}, seed {seed}"
        runs += context.part(key, _runs, kernel, name, seed, sizes, Cs)
    return {"seeds": list(range(seeds)), "sizes": sizes, "Cs": Cs, "runs": runs}


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say how many predictions are certain, by gap and C, and how many agree."""
    (m, tested), runs, Cs = results["sizes"], results["runs"], results["Cs"]
    some = (1e-2, 1e-3, 1e-4, 1e-5)
    by_kernel = "; ".join(
        f"{title} {', '.join(_share(np.median(_shares(runs, tol, kernel=k))) for tol in some)}"
        for k, title in KERNELS.items()
    )
    by_C = {C: _shares(runs, 1e-3, kernel="rbf", C=C) for C in Cs}
    told = listed(
        f"{_share(np.median(shares))} at C = {C:g} ({span(shares, _share)} across sets)"
        for C, shares in by_C.items()
    )
    agree = listed(
        f"{_share(min(_shares(runs, tol, 'agrees')))} with tol = {tol:g}"
        for tol in (0.1, *some[:2])
    )
    wider = _shares(runs, 1e-3, "wider", kernel="rbf")
    n_false, n_outside = (int(sum(sum(run[key]) for run in runs)) for key in ("false", "outside"))
    return [
        Claim(
            f"With {m} examples and tol = {some[2]:g}, "
            f"{_share(np.median(_shares(runs, some[2])))} of the predictions are certain to be "
            "those of the exact solution.",
            OURS,
            f"Medians over {len(grouped(runs, 'data'))} sets and {len(Cs)} values of C, with "
            f"tol = {', '.join(f'{tol:g}' for tol in some)}: {by_kernel}.",
        ),
        Claim(
            "The larger C is, the fewer predictions are certain with the same tol.",
            OURS,
            f"Certain with the RBF kernel and tol = 0.001 are {told}.",
        ),
        Claim(
            "Far more predictions agree with the exact solution than are certain to.",
            OURS,
            f"Agreement on the worst set and C is {agree}. With the RBF kernel and tol = 0.001 the "
            f"bound is {rounded(float(np.median(wider)))} times the actual difference of decisions "
            f"(median of root mean squares; at least {rounded(min(wider))} times).",
        ),
        Claim(
            "No certified prediction differed from that of the exact solution.",
            OURS,
            f"Of {tested * len(runs) * len(TOLS):,} predictions {n_false} differed, and "
            f"{n_outside} decisions of the exact solution were outside their bounds. Its relative "
            f"gap is at most {rounded(max(run['exact_gap'] for run in runs))}.",
        ),
    ]


def _shares(runs: list[Row], tol: float, key: str = "certified", **where: Any) -> list[float]:
    """Return the medians over seeds of a column at a tol, for each set, C and kernel."""
    at = TOLS.index(tol)
    groups = grouped(select(runs, **where), "kernel", "data", "C").values()
    return [float(np.median([run[key][at] for run in own])) for own in groups]


def _share(share: float) -> str:
    """Write a share, with a decimal where it is nearly all."""
    return percent(share, 1 if share > 0.99 else 0)


def plot(results: dict[str, Any]) -> plots.Figure:
    """Shares that are certain and that agree, for both kernels and each C."""
    (m, tested), Cs = results["sizes"], results["Cs"]
    figure, axes = plots.panels(len(KERNELS), len(Cs), 5.8, sharex=True, sharey=True)
    for ax, (kernel, C) in zip(axes.flat, product(KERNELS, Cs), strict=True):
        gaps = np.geomspace(0.1, 1e-6, 60)
        for key, color in (("agrees", plots.GREY), ("certified", plots.GREEN)):
            curves = []
            for own in grouped(select(results["runs"], kernel=kernel, C=C), "data").values():
                at, shares = (
                    np.median([run[name] for run in own], axis=0) for name in ("gap", key)
                )
                order = np.argsort(at)
                known: Any = {"left": np.nan, "right": np.nan}
                shown = np.interp(np.log(gaps), np.log(at[order]), 100 * shares[order], **known)
                curves.append(shown)
            values = np.nanpercentile(curves, [0, 50, 100], axis=0)
            values[:, np.isnan(curves).sum(axis=0) > len(curves) / 2] = np.nan
            label = {"agrees": "agree", "certified": "certain"}[key]
            plots.band(ax, gaps, values, color=color, label=label, linewidth=2)
        ax.axvline(1e-4, color=plots.BLACK, linewidth=1, linestyle=":")
        plots.log_x(ax, xlim=(0.1, 1e-6), ylim=(-3, 103), title=f"{KERNELS[kernel]}, C = {C:g}")
    plots.outer_labels(axes, "certified relative gap", "of test predictions, %")
    names = listed(SETS[name][0] for name in grouped(results["runs"], "data"))
    return plots.state(
        figure,
        "A small gap makes most predictions certain",
        f"The median of {names}, in a band from the least to the most; {m:,} training and "
        f"{tested:,} test examples, medians of {len(results['seeds'])} runs. Certain, or in "
        "agreement: with the exact solution. Dotted: a gap of 0.01%; runs with tol = 0.0001 end to "
        "its right.",
    )
