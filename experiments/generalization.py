"""Test error against steps: whether it depends on the data size, and whether 100 steps are enough.

The setting of a report (W. Zhou, Analysis of Pegasos Algorithm, section 4): two Gaussian clouds all
but separable by a line, 10% of the labels wrong. It gives neither dimension nor λ nor the sizes.
Here the centres are six standard deviations apart and features are scaled to R = 1. Test error and
population objective L are exact, by the normal distribution and not by a test set.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from experiments._claims import ZHOU, Claim, exponent, listed, mark, percent, rounded, slope
from experiments._plots import band, log_log
from experiments._tables import percentiles, select
from kpegasos import linear_rows, make_problem, pegasos
from kpegasos.datasets import make_gaussian_noise
from kpegasos.theory import data_radius, mean_excess_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "6 min"
QUICK_TIME = "10 s"

NOISE, SEPARATION = 0.1, 6.0
SEEDS = 40
DELTA = 0.05
CLOSE = 0.005  # half a percentage point
SIZES = (100, 1000, 10_000)
LAMS = (1e-1, 1e-2, 1e-3, 1e-4)
# The report's algorithm returns the last iterate. The theorem is about the average; permutations
# make each draw a new example while T ≤ n, which is what it asks for.
REPORT = {"sampling": "uniform", "average": None}
THEOREM = {"sampling": "permutation", "average": "uniform"}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "plane": {"d": 2, "lam": 1e-2, "sizes": SIZES, "decades": 6, **REPORT},
    "high dimension": {"d": 200, "lam": 1e-3, "sizes": SIZES, "decades": 6, **REPORT},
    # One of the two is changed at a time.
    "plane, small lam": {"d": 2, "lam": 1e-3, "sizes": SIZES, "decades": 6, **REPORT},
    "high dimension, large lam": {"d": 200, "lam": 1e-2, "sizes": SIZES, "decades": 6, **REPORT},
    **{
        f"lam = {lam:g}": {"d": 20, "lam": lam, "sizes": SIZES[-1:], "decades": 6, **REPORT}
        for lam in LAMS
    },
    "theorem": {"d": 200, "lam": 1e-3, "sizes": SIZES, "decades": 7, **THEOREM},
}
SAME, ENOUGH = "the error does not depend on n", "100 steps are enough"
#: Configurations that the report's two claims are held against.
HELD = [name for name in CONFIGURATIONS if name.startswith(("plane", "high"))]


class Population:
    """The two clouds: margins are normal, so that error and mean hinge loss are known."""

    def __init__(self, d: int, lam: float) -> None:
        self.lam = lam
        scale = np.sqrt(d + SEPARATION**2 / 4) + 5  # the typical norm and five deviations
        self.deviation = float(1 / scale)
        self.centre = np.full(d, SEPARATION / 2 / np.sqrt(d) / scale)

    def draw(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw features and labels -1 and +1."""
        X, y = make_gaussian_noise(
            n,
            n_features=self.centre.size,
            noise=NOISE,
            separation=SEPARATION,
            random_state=seed,
        )
        return X * self.deviation, 2 * y - 1

    def error(self, w: np.ndarray) -> float:
        """Probability that w is wrong."""
        wrong = norm.cdf(-w @ self.centre / (np.linalg.norm(w) * self.deviation))
        return float(NOISE + (1 - 2 * NOISE) * wrong)

    def objective(self, w: np.ndarray) -> float:
        """Value of L at w."""
        length = np.linalg.norm(w)
        margin, spread = w @ self.centre, length * self.deviation

        def hinge(mean: float) -> float:
            gap = 1 - mean
            return float(gap * norm.cdf(gap / spread) + spread * norm.pdf(gap / spread))

        loss = (1 - NOISE) * hinge(margin) + NOISE * hinge(-margin)
        return self.lam / 2 * float(length**2) + loss

    def optimum(self) -> float:
        """Least L: by symmetry its minimiser points along the centre."""
        along = self.centre / np.linalg.norm(self.centre)
        found = minimize_scalar(
            lambda length: self.objective(length * along), bounds=(1e-6, 1e3), method="bounded"
        )
        return float(found.fun)


def _curves(
    d: int, lam: float, n: int, steps: list[int], seeds: int, options: dict[str, Any]
) -> dict[str, Any]:
    """Test error (20%, 50%, 80% of the runs) and excess of L (50%, 1 − δ) after each T."""
    population = Population(d, lam)
    optimum = population.optimum()
    errors, excess, longest = np.empty((seeds, len(steps))), np.empty((seeds, len(steps))), 0.0
    for seed in range(seeds):
        X, y = population.draw(n, seed)
        longest = max(longest, data_radius(X))
        problem, rows = make_problem(y, lam), linear_rows(X)
        options = {**options, "checkpoints": None, "random_state": seed}
        state, done = None, 0
        for i, step in enumerate(steps):
            result = pegasos(problem, rows, n_steps=step - done, state=state, **options)
            state, done = result.state, step
            w = np.asarray(result.w)
            errors[seed, i] = population.error(w)
            excess[seed, i] = population.objective(w) - optimum
    return {
        "steps": steps,
        "error": percentiles(errors),
        "excess": np.percentile(excess, [50, 100 * (1 - DELTA)], axis=0),
        "largest_norm": longest,
    }


def _row(name: str, d: int, lam: float, n: int, curve: dict[str, Any]) -> dict[str, Any]:
    steps, median = np.array(curve["steps"]), np.array(curve["error"][1])
    unsettled = np.flatnonzero(np.abs(median - median[-1]) > CLOSE)
    return {
        "configuration": name,
        "d": d,
        "lam": lam,
        "n": n,
        "error_T_100": median[steps == 100][0],
        "error_at_end": median[-1],
        "T_at_end": steps[-1],
        "T_within_half_a_point_of_end": steps[unsettled[-1] + 1] if unsettled.size else steps[0],
        "least_error": median.min(),
        "T_least_error": steps[median.argmin()],
    }


def _verdicts(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Hold the two claims of the report against the medians, to half a point."""
    verdicts = []
    for name in HELD:
        rows = select(table, configuration=name)
        ends = [row["error_at_end"] for row in rows]
        late = max(row["error_T_100"] - row["error_at_end"] for row in rows)
        for claim, difference in (
            (SAME, max(ends) - min(ends)),
            (ENOUGH, late),
        ):
            verdict = "reproduced" if difference <= CLOSE else "differs"
            row = {"configuration": name, "claim": claim, "largest_difference": difference}
            verdicts.append({**row, "verdict": verdict})
    return verdicts


def _theorem(curves: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare the excess of all but δ of the runs with its bound, where it asks for T ≤ n or not.

    The bound counts from T = 3 on.
    """
    setting, rows = CONFIGURATIONS["theorem"], []
    for n, curve in curves.items():
        steps, excess = np.array(curve["steps"][2:]), np.array(curve["excess"][1][2:])
        ratio = excess / mean_excess_bound(steps, setting["lam"], 1.0, DELTA)
        new = steps <= int(n)
        rows.append(
            {
                "n": int(n),
                "largest_excess_over_bound_new_draws": ratio[new].max(),
                "excess_over_bound_at_end": ratio[-1],
                "T_violated_from": next(iter(steps[ratio > 1]), None),
            }
        )
    return rows


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run every configuration with every size, and hold Theorem 3.6 next to the last one."""
    seeds, fewer = (10, 2) if context.quick else (SEEDS, 0)
    curves: dict[str, dict[str, Any]] = {name: {} for name in CONFIGURATIONS}
    table = []
    parts = [(name, n) for name, setting in CONFIGURATIONS.items() for n in setting["sizes"]]
    for name, n in context.progress(parts, "configurations and sizes"):
        setting = CONFIGURATIONS[name]
        options = {key: setting[key] for key in ("sampling", "average")}
        quarters = np.arange(4 * (setting["decades"] - fewer) + 1) / 4
        steps = [round(step) for step in 10**quarters]
        where = (setting["d"], setting["lam"], n)
        curve = context.part(f"{name}, n = {n}", partial(_curves, *where, steps, seeds, options))
        curves[name][str(n)] = curve
        table.append(_row(name, *where, curve))
    setting = CONFIGURATIONS["theorem"]
    steps = curves["theorem"][str(SIZES[0])]["steps"][2:]  # from 3 on
    return {
        "seeds": list(range(seeds)),
        "noise": NOISE,
        "separation": SEPARATION,
        "delta": DELTA,
        "least_possible_error": NOISE + (1 - 2 * NOISE) * norm.cdf(-SEPARATION / 2),
        "largest_norm": max(c["largest_norm"] for own in curves.values() for c in own.values()),
        "verdicts": _verdicts(table),
        "theorem": {
            "steps": steps,
            "bound": mean_excess_bound(steps, setting["lam"], 1.0, DELTA),
            # That of w = 0, where L is 1.
            "trivial": 1 - Population(setting["d"], setting["lam"]).optimum(),
            "comparison": _theorem(curves["theorem"]),
        },
        "table": table,
        "curves": curves,
    }


def _told_errors(rows: list[dict[str, Any]], column: str) -> str:
    sizes = listed(f"{row['n']:,}" for row in rows)
    errors = listed(percent(row[column]) for row in rows)
    return f"d = {rows[0]['d']}, λ = {rows[0]['lam']:g}: {errors} for n = {sizes}"


def _told_rate(results: dict[str, Any]) -> Claim:
    """How the excess error goes with the steps, in many dimensions and with the most examples."""
    row = max(select(results["table"], configuration="high dimension"), key=lambda r: int(r["n"]))
    curve = results["curves"]["high dimension"][str(row["n"])]
    excess = np.array(curve["error"][1]) - results["least_possible_error"]
    steps = np.array(curve["steps"])
    part = (steps >= 10) & (excess > CLOSE)
    rate = slope(steps[part], excess[part])
    return Claim(
        "The excess error is inversely proportional to the number of steps.",
        ZHOU,
        f"d = {row['d']}, λ = {row['lam']:g}, n = {row['n']:,}: an exponent of {exponent(rate)} "
        "from 10 steps on until it is below half a point.",
        mark(abs(rate + 1) <= 0.2, rate < -0.3),
        "✓ if the exponent is within 0.2 of −1, ~ if it is below −0.3.",
    )


def _told_theorem(results: dict[str, Any]) -> Claim:
    """Whether the bound holds where draws are new, and where they are not."""
    compared = results["theorem"]["comparison"]
    beyond = max(compared, key=lambda row: float(row["excess_over_bound_at_end"]))
    held = max(row["largest_excess_over_bound_new_draws"] for row in compared)
    return Claim(
        "The bound on the risk does not depend on the size of the training set.",
        ZHOU,
        f"While draws are new examples the excess is at most {rounded(held)} of the bound. Read "
        f"for a training set of n = {beyond['n']:,} that is drawn from again and again, it is "
        f"{rounded(beyond['excess_over_bound_at_end'])} times the bound.",
        mark(beyond["excess_over_bound_at_end"] <= 1, held <= 1),
        "✓ if the bound is never exceeded, ~ if not while every draw is a new example.",
    )


def claims(results: dict[str, Any]) -> list[Claim]:
    """The report's claims on generalisation."""
    told = []
    for claim, found, column in (
        ("The test error does not depend on the size of the training set.", SAME, "error_at_end"),
        ("A hundred steps are enough.", ENOUGH, "error_T_100"),
    ):
        verdicts = {
            v["configuration"]: v["verdict"] == "reproduced"
            for v in results["verdicts"]
            if v["claim"] == found
        }
        rows = [select(results["table"], configuration=name) for name in verdicts]
        when = "At the end" if column == "error_at_end" else "After 100 steps"
        told.append(
            Claim(
                claim,
                ZHOU,
                f"{when}, {'; '.join(_told_errors(own, column) for own in rows)}.",
                mark(all(verdicts.values()), any(verdicts.values())),
                "✓ if errors differ by no more than half a point in every configuration, ~ if in "
                "some.",
            )
        )
    return [*told, _told_rate(results), _told_theorem(results)]


def plot(results: dict[str, Any]) -> Figure:
    """Error in the plane and in many dimensions, error for several λ, the theorem."""
    import matplotlib.pyplot as plt

    curves, table, bound = results["curves"], results["table"], results["theorem"]
    figure, axes = plt.subplots(2, 2, figsize=(9, 8.2))
    plane, high, scales, theorem = axes.flat

    def draw(ax: Axes, curve: dict[str, Any], label: str, color: str) -> None:
        above = 100 * (np.array(curve["error"]) - results["least_possible_error"])
        band(ax, curve["steps"], above, color=color, label=label)

    for ax, name in ((plane, "plane"), (high, "high dimension")):
        for i, (n, curve) in enumerate(curves[name].items()):
            draw(ax, curve, f"n = {int(n):,}", f"C{i}")
        rows = select(table, configuration=name)
        ends = ", ".join(f"{100 * row['error_at_end']:.1f}" for row in rows)
        ax.set_title(f"d = {rows[0]['d']}, λ = {rows[0]['lam']:g}: ends at {ends}%", fontsize=11)
    names = [name for name in curves if name.startswith("lam = ")]
    for name, color in zip(names, ("C6", "C4", "C3", "C5"), strict=True):
        ((n, curve),) = curves[name].items()
        draw(scales, curve, f"λ = {name.removeprefix('lam = ')}", color)
    scales.set_title(f"d = 20, n = {int(n):,}: several λ", fontsize=11)
    for ax in (plane, high, scales):
        ax.axvline(100, color="black", linewidth=1, linestyle="dotted")
        ax.text(120, 1.5e-5, "T = 100", fontsize=10)
        ax.set(ylim=(1e-5, 100), ylabel="test error above the least possible, points")

    for i, (n, curve) in enumerate(curves["theorem"].items()):
        steps, excess = np.array(curve["steps"]), np.array(curve["excess"][1])
        new = int(np.sum(steps <= int(n)))
        theorem.plot(steps[:new], excess[:new], color=f"C{i}")
        theorem.plot(steps[new - 1 :], excess[new - 1 :], color=f"C{i}", linestyle="dotted")
        theorem.text(2e4, excess[-1] / 1.2, f"n = {int(n):,}", color=f"C{i}", fontsize=10, va="top")
    theorem.plot(bound["steps"], bound["bound"], "k--", label="bound, Corollary 3.6.2")
    grey = {"facecolor": "0.9", "edgecolor": "0.6", "zorder": 0}
    theorem.axhspan(bound["trivial"], 1e6, **grey, label="vacuous: w = 0 is as good")
    theorem.set(ylim=(1e-3, 1e5), ylabel="excess L(w̄) − L(w*), 95% of runs")
    theorem.set_title("d = 200, λ = 0.001; dotted: draws repeat", fontsize=11)
    for ax in axes.flat:
        log_log(ax, xlabel="steps T")
        ax.legend(frameon=False, fontsize=10, loc="lower right" if ax is high else "upper right")
    found = []
    for name in ("plane", "high dimension"):
        verdicts = {v["verdict"] for v in results["verdicts"] if v["configuration"] == name}
        agreed = "reproduced" if verdicts == {"reproduced"} else "not"
        found.append(f"{agreed} for d = {CONFIGURATIONS[name]['d']}")
    figure.suptitle(
        f"“The error does not depend on n, 100 steps are enough”: {', '.join(found)}\n"
        f"(median and 20–80% band of {len(results['seeds'])} runs)",
        fontsize=12,
    )
    return figure
