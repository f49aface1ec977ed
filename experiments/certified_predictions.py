"""What a certified gap says of predictions: how many are certain to be those of the exact solution.

Models of random parts of six sets are polished to eight relative gaps, with an RBF kernel and
linear. Counted are the test predictions that `is_certified` calls certain, and those that agree
with the exact solution, which is a model whose gap leaves nothing to be seen. Beside the radius of
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
from experiments._tables import columns, grouped, percentiles, select, shortened, summary
from experiments.gap_and_error import SETS, Draw
from kpegasos import RBF, LinearPegasosSVC, PegasosSVC

FULL_TIME = "6 min"
QUICK_TIME = "10 s"

CS = (1.0, 10.0, 100.0)
SEEDS, EXAMPLES, TESTED = 10, 500, 2000
#: Relative gaps at which models are looked at, and that of the exact solution.
TOLS = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)
EXACT = 1e-9
#: The gap that the finding is about, and the share of certain predictions that is nearly all.
TOLD, NEARLY_ALL = 1e-3, 0.99
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


def _told_shares(results: dict[str, Any], key: str, **of: Any) -> str:
    """Write the medians of a share over the sets, from the least to the largest."""
    rows = select(results["table"], **of)
    return span([row[key] for row in rows], lambda share: percent(share, _told_digits(share)))


def _told_digits(share: float) -> int:
    """Say how many decimals a share has: more where it is nearly all."""
    return 1 if share > 0.99 else 0


def finding(results: dict[str, Any]) -> str:
    """Return the finding in one sentence, as the numbers have it."""
    shares = {
        kernel: np.median(columns(select(results["table"], kernel=kernel, tol=TOLD), "certified"))
        for kernel in KERNELS
    }
    told = listed(f"{percent(share, 0)} ({KERNELS[kernel]})" for kernel, share in shares.items())
    return f"At a relative gap of {percent(TOLD)} so many predictions are certain: {told}."


def _told_gaps(results: dict[str, Any]) -> Claim:
    """Which gap makes nearly all predictions certain."""
    parts = []
    for kernel, title in KERNELS.items():
        for C in results["Cs"]:
            rows = select(results["table"], kernel=kernel, C=C)
            enough = []
            for own in grouped(rows, "data").values():
                tols = [row["tol"] for row in own if row["certified"] >= NEARLY_ALL]
                enough.append(max(tols, default=0.0))
            worst = min(enough)
            told = rounded(worst, 1) if worst else f"less than {rounded(min(TOLS), 1)}"
            parts.append(f"{told} ({title}, C = {C:g})")
    return Claim(
        "The larger C is, the smaller a gap is needed.",
        OURS,
        f"For {percent(NEARLY_ALL, 0)} certain predictions on every set it takes a relative gap "
        f"of {listed(parts)}.",
    )


def claims(results: dict[str, Any]) -> list[Claim]:
    """Say what came out."""
    runs, Cs = results["runs"], results["Cs"]
    by_C = listed(
        f"{_told_shares(results, 'certified', kernel='rbf', C=C, tol=TOLD)} at C = {C:g}"
        for C in Cs
    )
    certified, agrees, better, wider = columns(
        select(results["table"], tol=TOLD), "certified", "agrees", "better_centre", "wider"
    )
    n_false, n_outside = (int(sum(sum(run[key]) for run in runs)) for key in ("false", "outside"))
    n_tested = results["sizes"][1] * len(runs) * len(results["tols"])
    loose = select(results["table"], tol=0.1)
    return [
        Claim(
            finding(results),
            OURS,
            f"These are medians over {len(results['titles'])} sets and {len(Cs)} values of C. With "
            f"the RBF kernel it is {by_C}, by the set.",
        ),
        Claim(
            "Far more predictions agree with the exact solution than are certain to.",
            OURS,
            f"At a gap of {percent(TOLD)} at least {percent(float(agrees.min()))} agree, at a gap "
            f"of {percent(0.1, 0)} at least "
            f"{percent(float(columns(loose, 'agrees').min()))}. At {percent(TOLD)} the bound is "
            f"{span(wider)} times as wide as decisions are apart (root mean square).",
        ),
        Claim(
            "No certified prediction was another one than that of the exact solution."
            if n_false == 0
            else "Some certified predictions were other ones than those of the exact solution.",
            OURS,
            f"Of {n_tested:,} predictions, {n_false} were, and {n_outside} decisions of the exact "
            f"solution were outside their bounds.",
        ),
        _told_gaps(results),
        Claim(
            "A better centre of the ball would add little.",
            OURS,
            f"Around the best point between the model and its dual point the radius is "
            f"{rounded(BETTER_CENTRE)} of this one at the least. At a gap of {percent(TOLD)} it "
            f"would make {percent(float(np.mean(better - certified)))} more of the predictions "
            "certain, in the mean.",
        ),
    ]


# The figure


def _panel(ax: plots.Axes, results: dict[str, Any], kernel: str, C: float, *, named: bool) -> None:
    """Shares against the gap, a line for each set."""
    runs = select(results["runs"], kernel=kernel, C=C)
    for name, own in grouped(runs, "data").items():
        title, _, color, line = SETS[name]
        gaps = np.median([run["gap"] for run in own], axis=0)
        style: Any = {"color": color, "linestyle": line, "linewidth": 1.8, "alpha": 0.12}
        shares = 100 * percentiles([run["certified"] for run in own])
        plots.band(ax, gaps, shares, label=title if named else None, **style)
        agrees = 100 * np.median([run["agrees"] for run in own], axis=0)
        ax.plot(gaps, agrees, color=color, linestyle=":", linewidth=1.2)
    plots.log_x(ax, xlim=(0.5, 5e-7), ylim=(-3, 103))
    ax.set_title(f"{KERNELS[kernel]}, C = {C:g}")


def plot(results: dict[str, Any]) -> plots.Figure:
    """Shares that are certain and that agree, for both kernels and each C."""
    Cs = results["Cs"]
    figure, axes = plots.panels(len(KERNELS), len(Cs), 6.6, sharex=True, sharey=True)
    for row, kernel in zip(axes, KERNELS, strict=True):
        for ax, C in zip(row, Cs, strict=True):
            _panel(ax, results, kernel, C, named=Cs[-1] == C)
    plots.outer_labels(axes, "certified relative gap", "of test predictions, %")
    m, tested = results["sizes"]
    return plots.state(
        figure,
        finding(results).rstrip("."),
        f"{m:,} training and {tested:,} test examples; lines: certain to be those of the exact "
        f"solution, median and 20–80% of {len(results['seeds'])} runs; dotted: those that agree "
        "with it.",
    )
