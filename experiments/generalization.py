"""Test error against steps: whether it depends on the data size, and whether 100 steps are enough.

The setting of a report (W. Zhou, Analysis of Pegasos Algorithm, section 4): two Gaussian clouds all
but separable by a line, 10% of the labels wrong. It gives neither dimension nor λ nor the sizes.
Here the centres are six standard deviations apart and features are scaled to R = 1. Test error and
population objective L are exact, by the normal distribution and not by a test set.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from experiments import _plots as plots
from experiments._claims import ZHOU, Claim, exponent, listed, mark, percent, rounded, slope
from experiments._run import ExperimentContext
from experiments._runs import spaced
from experiments._tables import percentiles, select
from kpegasos import linear_rows, make_problem, pegasos
from kpegasos.datasets import make_gaussian_noise
from kpegasos.theory import mean_excess_bound

FULL_TIME = "8 min"
QUICK_TIME = "10 s"

SEEDS = 40
NOISE, SEPARATION = 0.1, 6.0
LEAST_ERROR = float(NOISE + (1 - 2 * NOISE) * norm.cdf(-SEPARATION / 2))
SIZES = (100, 1000, 10_000)
LAMS = (1e-1, 1e-2, 1e-3, 1e-4)
# The report's algorithm returns the last iterate. The theorem is about the average; permutations
# make each draw a new example while T ≤ n, which is what it asks for.
REPORT = {"sampling": "uniform", "average": None}
THEOREM = {"sampling": "permutation", "average": "uniform"}
SIX = {"decades": 6, **REPORT}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "plane": {"d": 2, "lam": 1e-2, "sizes": SIZES, **SIX},
    "high dimension": {"d": 200, "lam": 1e-3, "sizes": SIZES, **SIX},
    # One of the two is changed at a time.
    "plane, small lam": {"d": 2, "lam": 1e-3, "sizes": SIZES, **SIX},
    "high dimension, large lam": {"d": 200, "lam": 1e-2, "sizes": SIZES, **SIX},
    **{f"lam = {lam:g}": {"d": 20, "lam": lam, "sizes": SIZES[-1:], **SIX} for lam in LAMS},
    "theorem": {"d": 200, "lam": 1e-3, "sizes": SIZES, "decades": 7, **THEOREM},
}
SAME, ENOUGH = "the error does not depend on n", "100 steps are enough"
#: Configurations that the report's two claims are held against.
HELD = [name for name in CONFIGURATIONS if name.startswith(("plane", "high"))]
DELTA = 0.05
CLOSE = 0.005  # half a percentage point
NEAREST = 1e-5  # what is nearer to the end, or better, is drawn there
# Runs that stop at random, of the largest size: while T ≤ n every draw is a new example.
STOPPED = ("plane", "high dimension")
HORIZONS = (100, 1000, 10_000, 100_000)
STOPS, STOPS_OF_A_SET = 400, 10
STOPPING = {"sampling": "permutation", "average": None, "checkpoints": None}

# Runs


class Population:
    """Two Gaussian clouds with wrong labels: margins are normal, so that error and L are known."""

    def __init__(self, d: int, lam: float) -> None:
        self.lam = lam
        scale = np.sqrt(d + SEPARATION**2 / 4) + 5  # the typical norm and five deviations
        self.deviation = float(1 / scale)
        self.centre = np.full(d, SEPARATION / 2 / np.sqrt(d) / scale)

    def draw(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw features and labels -1 and +1."""
        options: Any = {"noise": NOISE, "separation": SEPARATION, "random_state": seed}
        X, y = make_gaussian_noise(n, n_features=self.centre.size, **options)
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
        options: Any = {"bounds": (1e-6, 1e3), "method": "bounded"}
        return float(minimize_scalar(lambda length: self.objective(length * along), **options).fun)


def _curves(
    d: int, lam: float, n: int, steps: list[int], seeds: int, options: dict[str, Any]
) -> dict[str, Any]:
    """Test error (20%, 50%, 80% of the runs) and excess of L (50%, 1 − δ) after each T."""
    population = Population(d, lam)
    optimum = population.optimum()
    errors, excess = np.empty((2, seeds, len(steps)))
    for seed in range(seeds):
        X, y = population.draw(n, seed)
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
    }


def _row(name: str, d: int, lam: float, n: int, curve: dict[str, Any]) -> dict[str, Any]:
    steps, median = np.array(curve["steps"]), np.array(curve["error"][1])
    # The exponent of the error above the least possible, from T = 1/lam to n; None of less.
    usable = (steps >= 1 / lam) & (steps <= n) & (median > LEAST_ERROR)
    rate = slope(steps[usable], median[usable] - LEAST_ERROR) if usable.sum() >= 4 else None
    row = {"configuration": name, "d": d, "lam": lam, "n": n, "exponent_of_T": rate}
    return {**row, "error_T_100": median[steps == 100][0], "error_at_end": median[-1]}


def _stops(d: int, lam: float, n: int, horizon: int, stops: int) -> list[float]:
    """Test error of runs that stop after 1 to T steps, each as likely."""
    population, rng, errors = Population(d, lam), np.random.default_rng(horizon), []
    for first in range(0, stops, STOPS_OF_A_SET):
        X, y = population.draw(n, first)
        problem, rows = make_problem(y, lam), linear_rows(X)
        for seed in range(first, first + STOPS_OF_A_SET):
            steps = int(rng.integers(1, horizon + 1))
            options: Any = {**STOPPING, "random_state": seed}
            w = np.asarray(pegasos(problem, rows, n_steps=steps, **options).w)
            errors.append(population.error(w))
    return errors


def _random_stops(context: ExperimentContext, table: list[dict[str, Any]]) -> dict[str, Any]:
    """Stop at random: the report promises that this is good with probability 1/2 (Corollary 3.6.3).

    In section 5 it finds that in practice it almost always is.
    """
    rows, errors = [], {}
    stops, horizons = (100, HORIZONS[:-1]) if context.quick else (STOPS, HORIZONS)
    for name, horizon in context.progress(product(STOPPED, horizons), "random stops"):
        (own,) = select(table, configuration=name, n=SIZES[-1])
        d, lam, n, end = (own[key] for key in ("d", "lam", "n", "error_at_end"))
        key = f"{name}, random stops to {horizon}"
        found = context.part(key, _stops, d, lam, n, horizon, stops)
        row = {"configuration": name, "d": d, "lam": lam, "n": n, "T": horizon, "error_at_end": end}
        rows.append({**row, "share_as_good_as_the_end": np.mean(np.array(found) <= end + CLOSE)})
        if horizon == n:
            errors[name] = found
    return {"table": rows, "errors": errors}


def _verdicts(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Hold the two claims of the report against the medians, to half a point."""
    verdicts = []
    for name in HELD:
        rows = select(table, configuration=name)
        ends = [row["error_at_end"] for row in rows]
        late = max(row["error_T_100"] - row["error_at_end"] for row in rows)
        for claim, difference in ((SAME, max(ends) - min(ends)), (ENOUGH, late)):
            row = {"configuration": name, "claim": claim, "largest_difference": difference}
            verdict = "reproduced" if difference <= CLOSE else "differs"
            verdicts.append({**row, "verdict": verdict})
    return verdicts


def _theorem(curves: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Compare the excess of all but δ of the runs with its bound, where it asks for T ≤ n or not.

    The bound counts from T = 3 on.
    """
    d, lam, rows = CONFIGURATIONS["theorem"]["d"], CONFIGURATIONS["theorem"]["lam"], []
    for n, curve in curves.items():
        steps, excess = np.array(curve["steps"][2:]), np.array(curve["excess"][1][2:])
        bound = mean_excess_bound(steps, lam, 1.0, DELTA)
        ratio = excess / bound
        new, broken = ratio[steps <= int(n)].max(), next(iter(steps[ratio > 1]), None)
        row = {"n": int(n), "largest_excess_over_bound_new_draws": new, "T_violated_from": broken}
        rows.append({**row, "excess_over_bound_at_end": ratio[-1]})
    # That of w = 0, where L is 1.
    trivial = 1 - Population(d, lam).optimum()
    return {"steps": steps, "bound": bound, "trivial": trivial, "comparison": rows}


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run every configuration with every size, and hold Theorem 3.6 next to the last one."""
    seeds, fewer = (4, 2) if context.quick else (SEEDS, 0)
    curves: dict[str, dict[str, Any]] = {name: {} for name in CONFIGURATIONS}
    table = []
    parts = [(name, n) for name, setting in CONFIGURATIONS.items() for n in setting["sizes"]]
    for name, n in context.progress(parts, "configurations and sizes"):
        setting = CONFIGURATIONS[name]
        options = {key: setting[key] for key in REPORT}
        where = (setting["d"], setting["lam"], n)
        steps = spaced(10 ** (setting["decades"] - fewer), 4)
        curve = context.part(f"{name}, n = {n}", _curves, *where, steps, seeds, options)
        curves[name][str(n)] = curve
        table.append(_row(name, *where, curve))
    return {
        "seeds": list(range(seeds)),
        "noise": NOISE,
        "least_possible_error": LEAST_ERROR,
        "verdicts": _verdicts(table),
        "theorem": _theorem(curves["theorem"]),
        "random_stops": _random_stops(context, table),
        "table": table,
        "curves": curves,
    }


# What came out


def _told_differences(results: dict[str, Any], claim: str) -> str:
    """The largest difference in points of each configuration."""
    settings = {row["configuration"]: (row["d"], row["lam"]) for row in results["table"]}
    told = []
    for verdict in select(results["verdicts"], claim=claim):
        d, lam = settings[verdict["configuration"]]
        told.append((d, lam, f"{100 * verdict['largest_difference']:.1f}"))
    return "; ".join(
        f"{points} in {d} dimensions at λ = {lam:g}" for d, lam, points in sorted(told)
    )


def _told_claims(results: dict[str, Any]) -> list[Claim]:
    """The report's two claims on the error."""
    sizes = sorted({row["n"] for row in results["table"] if row["configuration"] in HELD})
    among = f"n = {listed(f'{n:,}' for n in sizes)}, in points"
    told = []
    criterion = "✓ if errors differ by at most half a point in every configuration, ~ if in some."
    at_end = "Largest differences of the final test error between"
    early = "Largest excess of the test error after 100 steps over the final one, for"
    for claim, found, what in (
        ("The test error does not depend on the size of the training set.", SAME, at_end),
        ("A hundred steps are enough.", ENOUGH, early),
    ):
        holds = [v["verdict"] == "reproduced" for v in select(results["verdicts"], claim=found)]
        told_here = f"{what} {among}: {_told_differences(results, found)}."
        told.append(Claim(claim, ZHOU, told_here, mark(all(holds), any(holds)), criterion))
    return told


def _told_rate(results: dict[str, Any]) -> Claim:
    """Judge how the error above the least possible falls with the steps, with the most examples."""
    rates = {
        f"d = {row['d']}, λ = {row['lam']:g}": row["exponent_of_T"]
        for row in select(results["table"], n=SIZES[-1])
        if row["exponent_of_T"] is not None
    }
    told = "; ".join(f"{where}: {exponent(rate)}" for where, rate in rates.items())
    off = [abs(rate + 1) for rate in rates.values()]
    return Claim(
        "The error is inversely proportional to the number of steps.",
        ZHOU,
        f"Exponents of T in the error above the least possible, from T = 1/λ to n: {told}.",
        mark(max(off) <= 0.25, min(off) <= 0.25),
        "✓ if every exponent is within 0.25 of −1, ~ if some are.",
    )


def _told_stops(results: dict[str, Any]) -> Claim:
    """Judge random stops, by λT."""
    shares = [
        (row["d"], row["lam"] * row["T"], row["share_as_good_as_the_end"])
        for row in results["random_stops"]["table"]
    ]
    told = "; ".join(f"d = {d}, λT = {lam_T:g}: {percent(share, 0)}" for d, lam_T, share in shares)
    late = [share for _, lam_T, share in shares if lam_T >= 10]
    return Claim(
        "In practice, stopping at a random step almost ensures a low error.",
        ZHOU,
        f"Share of stops whose error is at most half a point above the final one: {told}.",
        mark(min(share for *_, share in shares) >= 0.9, bool(late) and min(late) >= 0.9),
        "✓ if nine stops in ten are as good for every T, ~ if for every λT of 10 or more.",
    )


def _told_theorem(results: dict[str, Any]) -> Claim:
    """Say whether the bound holds where draws are new, and where they are not."""
    compared = results["theorem"]["comparison"]
    beyond = max(compared, key=lambda row: float(row["excess_over_bound_at_end"]))
    held = max(row["largest_excess_over_bound_new_draws"] for row in compared)
    return Claim(
        "The bound on the risk does not depend on the size of the training set.",
        ZHOU,
        f"While every draw is a new example the excess is at most {rounded(held)} times the bound. "
        f"With repeated draws from a training set of n = {beyond['n']:,} it is "
        f"{rounded(beyond['excess_over_bound_at_end'])} times the bound.",
        mark(beyond["excess_over_bound_at_end"] <= 1, held <= 1),
        "✓ if the bound is never exceeded, ~ if not while every draw is a new example.",
    )


def claims(results: dict[str, Any]) -> list[Claim]:
    """The report's claims on generalisation."""
    others = [tell(results) for tell in (_told_rate, _told_stops, _told_theorem)]
    return [*_told_claims(results), *others]


# The figure


def _errors(ax: plots.Axes, results: dict[str, Any], curves: dict[str, dict[str, Any]]) -> None:
    """Test error above the least possible, for each of some curves by their names."""
    for (name, curve), color in zip(curves.items(), plots.shades(len(curves)), strict=True):
        above = 100 * (np.array(curve["error"]) - results["least_possible_error"])
        plots.band(ax, curve["steps"], above, color=color, linewidth=1.6, label=name)
    ax.axvline(100, color=plots.BLACK, linewidth=1, linestyle=":")
    plots.log_log(ax, xlabel=plots.WORDS["steps"], ylim=(1e-5, 100))


def _bound(ax: plots.Axes, results: dict[str, Any]) -> None:
    """Excess of the average, and the theorem's bound on it; dotted where draws repeat."""
    bound, curves = results["theorem"], results["curves"]["theorem"]
    for (n, curve), color in zip(curves.items(), plots.shades(len(curves)), strict=True):
        steps, excess = np.array(curve["steps"]), np.array(curve["excess"][1])
        new = int(np.sum(steps <= int(n)))
        ax.plot(steps[:new], excess[:new], color=color, linewidth=1.6)
        again: Any = {"linestyle": ":", "linewidth": 1.6, "label": f"n = {int(n):,}"}
        ax.plot(steps[new - 1 :], excess[new - 1 :], color=color, **again)
    ax.plot(bound["steps"], bound["bound"], "--", color=plots.BLACK, label="bound")
    violated = [row for row in bound["comparison"] if row["T_violated_from"]]
    for row in sorted(violated, key=lambda row: int(row["T_violated_from"]))[:1]:
        ax.axvline(row["T_violated_from"], color=plots.GREY, linewidth=1)
        place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "ha": "right"}
        text = f"n = {row['n']:,} violates \nthe bound from here "
        ax.annotate(text, (row["T_violated_from"], 0.02), va="bottom", fontsize=9, **place)
    ax.axhspan(bound["trivial"], 1e6, color="0.92", zorder=0)
    plots.log_log(ax, xlabel=plots.WORDS["steps"], ylim=(2e-4, 1e5))


def _draw_stops(stops: plots.Axes, shares: plots.Axes, results: dict[str, Any]) -> None:
    """How far from the end runs stop at random, and which share is as good as the end."""
    found, good = results["random_stops"], []
    colors = (plots.BLUE, plots.VERMILION)
    for (name, errors), color in zip(found["errors"].items(), colors, strict=True):
        rows = select(found["table"], configuration=name)
        label = f"d = {rows[0]['d']}, λ = {rows[0]['lam']:g}"
        above = np.sort(100 * np.maximum(np.array(errors) - rows[0]["error_at_end"], NEAREST))
        below = 100 * np.arange(1, above.size + 1) / above.size
        stops.step(above, below, where="post", color=color, label=label)
        share = {row["T"]: 100 * row["share_as_good_as_the_end"] for row in rows}
        good.append(f"{share[rows[0]['n']]:.0f}%")
        shares.plot(list(share), list(share.values()), "o-", color=color, label=label)
    n = rows[0]["n"]
    stops.axvline(100 * CLOSE, color=plots.BLACK, linestyle="dotted")
    shares.axhline(50, color=plots.BLACK, linestyle="dotted")
    off = ("test error above that at the end, points", "runs that stop at random, %")
    drawn = ("T, of which the stop is drawn", f"stops within {100 * CLOSE:g} of the end, %")
    for ax, (x, y) in ((stops, off), (shares, drawn)):
        plots.log_x(ax, ylim=(0, 102), xlabel=x, ylabel=y)
    stops.set_title(f"random stops up to T = n = {n:,}\ndotted: {100 * CLOSE:g} points")
    shares.set_title(f"{' and '.join(good)} are good at T = {n:,}\ndotted: probability ½")


def _verdict(results: dict[str, Any], name: str) -> str:
    verdicts = {v["verdict"] for v in select(results["verdicts"], configuration=name)}
    agreed = "true" if verdicts == {"reproduced"} else "false"
    setting = CONFIGURATIONS[name]
    return f"{agreed} for d = {setting['d']}, λ = {setting['lam']:g}"


def plot(results: dict[str, Any]) -> plots.Figure:
    """Error in the plane and in many dimensions, for several λ, the theorem, random stops."""
    curves, table = results["curves"], results["table"]
    figure, axes = plots.panels(3, 2, 11.0)
    plane, high, scales, theorem, stops, shares = axes.flat
    for ax, name in ((plane, "plane"), (high, "high dimension")):
        _errors(ax, results, {f"n = {int(n):,}": curve for n, curve in curves[name].items()})
        rows = select(table, configuration=name)
        ends = ", ".join(f"{100 * row['error_at_end']:.1f}" for row in rows)
        ax.set_title(f"d = {rows[0]['d']}, λ = {rows[0]['lam']:g}\nfinal error {ends}%")
    names = [name for name in curves if name.startswith("lam = ")]
    (n,) = curves[names[0]]
    _errors(scales, results, {f"λ = {name[len('lam = ') :]}": curves[name][n] for name in names})
    scales.set_title(f"d = 20, n = {int(n):,}: several λ")
    for ax in (plane, scales):
        ax.set_ylabel("points above the least error")
    _bound(theorem, results)
    theorem.set_ylabel(f"excess of L, {1 - DELTA:.0%} of runs")
    theorem.set_title("d = 200, λ = 0.001; dotted: draws repeat")
    _draw_stops(stops, shares, results)
    told = [_verdict(results, name) for name in STOPPED]
    found = "Where a hundred steps suffice"
    if [words.split()[0] for words in told] == ["true", "false"]:
        found = "A hundred steps suffice in the plane only"
    return plots.state(
        figure,
        f"{found}: “The error does not depend on n, 100 steps are enough” is {', '.join(told)}",
        f"Two Gaussian clouds, {results['noise']:.0%} of the labels wrong; test error and "
        f"population objective L are exact; median and 20–80% of {len(results['seeds'])} runs. "
        "Bound: Corollary 3.6.2 of Zhou's report; grey: w = 0 is as good.",
    )
