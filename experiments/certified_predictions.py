"""Certified predictions: how many are certain to be those of the exact solution, at which gap.

Models of random parts of six sets are polished to eight relative gaps, with an RBF kernel and
linear. Counted are the test predictions that `is_certified` calls certain, and those that agree
with the exact solution, a model with as small a gap as float64 allows. Beside the radius of
the ball that holds the exact solution stands what a ball around a better centre would have at best.
"""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments import _plots as plots
from experiments._claims import OURS, Claim, listed, percent, rounded, span
from experiments._run import ExperimentContext
from experiments._runs import SETS, Draw
from experiments._tables import columns, grouped, select, shortened, summary
from kpegasos import RBF, LinearPegasosSVC, PegasosSVC

FULL_TIME = "7 min"
QUICK_TIME = "10 s"

CS = (1.0, 10.0, 100.0)
SEEDS, EXAMPLES, TESTED = 10, 500, 2000
#: Relative gaps at which models are looked at, and that of the exact solution.
TOLS = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)
EXACT = 1e-9
#: The gap that the finding is about, and those that are told of.
TOLD, SOME = 1e-4, (1e-2, 1e-3, 1e-4, 1e-5)
KERNELS = {"rbf": "RBF kernel", "linear": "linear"}
#: What a ball around the best point between w and the dual point has of the radius.
BETTER_CENTRE = 0.5**0.5


# Models


class Models:
    """Fits on one random part of a set, from one kernel matrix or from features."""

    def __init__(self, kernel: str, name: str, seed: int, n_train: int, n_test: int) -> None:
        draw = Draw(name, seed, n_train, n_test)
        self.y, self.options = draw.y, {"polish": True, "random_state": seed}
        self.X, self.X_test = (X.astype(np.float64) for X in (draw.X, draw.X_test))
        self.given: tuple[Any, ...] = (self.X_test,)
        self.is_linear = kernel == "linear"
        if not self.is_linear:
            values = RBF(draw.gamma)
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

    def look(self, model: Any, exact: np.ndarray) -> dict[str, float]:
        """Compare a model with the decisions of the exact solution."""
        decisions, (lower, upper) = model.decision_function(self.given[0]), self.bounds(model)
        agrees, certified = (decisions > 0) == (exact > 0), model.is_certified(*self.given)
        width, apart = 0.5 * (upper - lower), float(np.sqrt(np.mean((decisions - exact) ** 2)))
        return {
            "gap": model.relative_gap_,
            "certified": float(np.mean(certified)),
            "agrees": float(np.mean(agrees)),
            "false": int(np.sum(certified & ~agrees)),
            "outside": int(np.sum((exact < lower) | (exact > upper))),
            "better_centre": float(np.mean(np.abs(decisions) > BETTER_CENTRE * width)),
            "wider": float(np.mean(width)) / max(apart, 1e-300),
        }

    def bounds(self, model: Any) -> Any:
        """Ends of the decisions of the exact solution on the test examples."""
        return model.decision_bounds(*self.given)


def _runs(kernel: str, name: str, seed: int, sizes: tuple[int, int], Cs: Any) -> dict[str, Any]:
    """All that is measured on one random part of a set."""
    models, runs = Models(kernel, name, seed, *sizes), []
    for C in Cs:
        solution = models.fit(C, EXACT)
        exact = solution.decision_function(models.given[0])
        found = [models.look(models.fit(C, tol), exact) for tol in TOLS]
        lists = {key: shortened([one[key] for one in found], 4) for key in found[0]}
        own = {"exact_gap": shortened(solution.relative_gap_, 2)}
        runs.append({"kernel": kernel, "data": name, "C": C, "seed": seed, **own, **lists})
    return {"runs": runs}


def _table(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Shares of each set and C at each gap that was asked for: percentiles over the seeds."""
    rows = []
    for (kernel, name, C), own in grouped(runs, "kernel", "data", "C").items():
        for at, tol in enumerate(TOLS):
            row: dict[str, Any] = {"kernel": kernel, "data": name, "C": C, "tol": tol}
            for key in ("gap", "certified", "agrees", "better_centre", "wider"):
                row |= summary(key, [run[key][at] for run in own])
            rows.append(row)
    return rows


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Fit and count on every set with every seed and C."""
    seeds, sizes = (2, (200, 500)) if context.quick else (SEEDS, (EXAMPLES, TESTED))
    names = ["moons", "usps"] if context.quick else list(SETS)
    Cs, runs = CS[:2] if context.quick else CS, []
    work = list(product(KERNELS, names, range(seeds)))
    for kernel, name, seed in context.progress(work, "kernels, sets and seeds"):
        key = f"{kernel}, {name}, seed {seed}"
        runs += context.part(key, _runs, kernel, name, seed, sizes, Cs)["runs"]
    return {
        "seeds": list(range(seeds)),
        "sizes": list(sizes),
        "Cs": list(Cs),
        "tols": list(TOLS),
        "titles": {name: SETS[name][0] for name in names},
        "table": _table(runs),
        "runs": runs,
    }


# What came out


def _told_share(share: float) -> str:
    """Write a share, with a decimal where it is nearly all."""
    return percent(share, 1 if share > 0.99 else 0)


def _told_gap(gap: float) -> str:
    """Write a relative gap without needless zeros."""
    return f"{100 * gap:g}%"


def _told_medians(results: dict[str, Any], key: str, tol: float, **of: Any) -> str:
    """Write the median of a share over sets and values of C."""
    rows = select(results["table"], tol=tol, **of)
    return _told_share(float(np.median([row[key] for row in rows])))


def _told_finding(results: dict[str, Any]) -> str:
    """Return the finding in one sentence, as the numbers have it."""
    share = _told_medians(results, "certified", TOLD)
    return (
        f"With tol = {TOLD:g}, {share} of the predictions are certain to be those of the exact "
        "solution."
    )


def _told_kernels(results: dict[str, Any]) -> str:
    """Say how many are certain with some tolerances, and either kernel."""
    parts = []
    for kernel, title in KERNELS.items():
        shares = [_told_medians(results, "certified", tol, kernel=kernel) for tol in SOME]
        parts.append(f"{title} {', '.join(shares)}")
    tolerances = ", ".join(f"{tol:g}" for tol in SOME)
    return (
        f"Medians over {len(results['titles'])} sets and {len(results['Cs'])} values of C, with "
        f"tol = {tolerances}: {'; '.join(parts)}."
    )


def _told_Cs(results: dict[str, Any]) -> Claim:
    """Compare values of C, and sets."""
    by_C = {
        C: columns(select(results["table"], kernel="rbf", C=C, tol=SOME[1]), "certified")[0]
        for C in results["Cs"]
    }
    fewer = bool(np.all(np.diff([np.median(shares) for shares in by_C.values()]) < 0))
    told = listed(
        f"{_told_share(float(np.median(shares)))} at C = {C:g} ({span(shares, _told_share)} "
        f"across sets)"
        for C, shares in by_C.items()
    )
    return Claim(
        "The larger C is, the fewer predictions are certain with the same tol."
        if fewer
        else "How many predictions a tol makes certain depends on the set more than on C.",
        OURS,
        f"Certain with the RBF kernel and tol = {SOME[1]:g} are {told}.",
    )


def _told_agreement(results: dict[str, Any]) -> Claim:
    """Say how many agree, whether certain or not."""
    least = {
        tol: columns(select(results["table"], tol=tol), "agrees").min() for tol in (0.1, *SOME[:2])
    }
    wider = columns(select(results["table"], kernel="rbf", tol=SOME[1]), "wider")
    told = listed(f"{_told_share(share)} with tol = {tol:g}" for tol, share in least.items())
    return Claim(
        "Far more predictions agree with the exact solution than are certain to.",
        OURS,
        f"Agreement on the worst set and C is {told}. With the RBF kernel and "
        f"tol = {SOME[1]:g} the bound is {rounded(float(np.median(wider)))} times the actual "
        f"difference of decisions (median of root mean squares; at least "
        f"{rounded(float(wider.min()))} times).",
    )


def _told_false(results: dict[str, Any]) -> Claim:
    """Say whether anything was certified that is not so."""
    runs = results["runs"]
    n_false, n_outside = (int(sum(sum(run[key]) for run in runs)) for key in ("false", "outside"))
    n_tested = results["sizes"][1] * len(runs) * len(results["tols"])
    exact = max(run["exact_gap"] for run in runs)
    return Claim(
        "No certified prediction differed from that of the exact solution."
        if n_false == 0
        else "Some certified predictions differed from those of the exact solution.",
        OURS,
        f"Of {n_tested:,} predictions {n_false} differed, and {n_outside} decisions of the exact "
        f"solution were outside their bounds. Its relative gap is at most {rounded(exact)}.",
    )


def _told_centre(results: dict[str, Any]) -> Claim:
    """Say what an interval around a better centre could be worth."""
    parts = []
    for tol in SOME[:3]:
        shares = columns(select(results["table"], tol=tol), "certified", "better_centre")
        own, better = (_told_share(float(share)) for share in shares.mean(axis=1))
        parts.append(f"{better} instead of {own} with tol = {tol:g}")
    return Claim(
        "An interval around another centre would be worth half the gap.",
        OURS,
        f"Around the middle of model and dual point, the interval would be at least "
        f"{rounded(BETTER_CENTRE)} times as wide. Then {listed(parts)} would be certain (means).",
    )


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say what came out."""
    return [
        Claim(_told_finding(results), OURS, _told_kernels(results)),
        _told_Cs(results),
        _told_agreement(results),
        _told_false(results),
        _told_centre(results),
    ]


# The figure


def _told_panel(ax: plots.Axes, runs: list[dict[str, Any]]) -> None:
    """Draw shares against the gap, of the median set and in a band from the least to the most."""
    gaps = np.geomspace(0.1, 1e-6, 60)
    shares: dict[str, list[np.ndarray]] = {"certified": [], "agrees": []}
    for own in grouped(runs, "data").values():
        at = np.log(np.median([run["gap"] for run in own], axis=0))[::-1]
        for key, curves in shares.items():
            middle = 100 * np.median([run[key] for run in own], axis=0)[::-1]
            curves.append(np.interp(np.log(gaps), at, middle, left=np.nan, right=np.nan))
    for key, color, name in (
        ("agrees", plots.GREY, "agree"),
        ("certified", plots.METHODS["gap"].color, "certain"),
    ):
        known = np.isfinite(shares[key]).sum(axis=0) >= len(shares[key]) / 2
        values = np.nanpercentile(np.array(shares[key])[:, known], [0, 50, 100], axis=0)
        plots.band(ax, gaps[known], values, color=color, label=name, linewidth=2)
    ax.axvline(TOLD, color=plots.BLACK, linewidth=1, linestyle=":")
    plots.log_x(ax, xlim=(0.1, 1e-6), ylim=(-3, 103))


def plot(results: dict[str, Any]) -> plots.Figure:
    """Shares that are certain and that agree, for both kernels and each C."""
    Cs = results["Cs"]
    figure, axes = plots.panels(len(KERNELS), len(Cs), 6.0, sharex=True, sharey=True)
    for row, kernel in zip(axes, KERNELS, strict=True):
        for ax, C in zip(row, Cs, strict=True):
            _told_panel(ax, select(results["runs"], kernel=kernel, C=C))
            ax.set_title(f"{KERNELS[kernel]}, C = {C:g}")
    plots.outer_labels(axes, "certified relative gap", "of test predictions, %")
    m, tested = results["sizes"]
    share = float(np.median([row["certified"] for row in select(results["table"], tol=TOLD)]))
    most = "nearly all" if share > 0.95 else "most" if share > 0.5 else "few"
    names = listed(SETS[name][0] for name in grouped(results["runs"], "data"))
    return plots.state(
        figure,
        f"A small gap makes {most} predictions certain: {_told_finding(results).rstrip('.')}",
        f"The median of {names}, in a band from the least to the most; {m:,} training and "
        f"{tested:,} test examples, medians of {len(results['seeds'])} runs. Certain, or in "
        f"agreement: with the exact solution. Dotted: a gap of {_told_gap(TOLD)}; runs with "
        f"tol = {TOLD:g} end to its right.",
    )
