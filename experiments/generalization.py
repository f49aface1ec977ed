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

from experiments._claims import ZHOU, Claim, exponent, listed, mark, percent, rounded
from experiments._plots import BLACK, GREY, band, log_log, name_lines, panels, shades, state, words
from experiments._population import LEAST_ERROR, NOISE, SEPARATION, Population
from experiments._random_stops import CLOSE, DELTA, draw_stops, random_stops
from experiments._tables import percentiles, select
from kpegasos import linear_rows, make_problem, pegasos
from kpegasos.theory import data_radius, mean_excess_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "8 min"
QUICK_TIME = "10 s"

SEEDS = 40
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


def _slope(steps: np.ndarray, errors: np.ndarray, lam: float, n: int) -> float | None:
    """Exponent of T in the error above the least possible, from T = 1/lam to n; None of less."""
    above = errors - LEAST_ERROR
    usable = (steps >= 1 / lam) & (steps <= n) & (above > 0)
    if usable.sum() < 4:
        return None
    return float(np.polyfit(np.log(steps[usable]), np.log(above[usable]), 1)[0])


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
        "exponent_of_T": _slope(steps, median, lam, n),
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
    seeds, fewer = (4, 2) if context.quick else (SEEDS, 0)
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
        "least_possible_error": LEAST_ERROR,
        "largest_norm": max(c["largest_norm"] for own in curves.values() for c in own.values()),
        "verdicts": _verdicts(table),
        "theorem": {
            "steps": steps,
            "bound": mean_excess_bound(steps, setting["lam"], 1.0, DELTA),
            # That of w = 0, where L is 1.
            "trivial": 1 - Population(setting["d"], setting["lam"]).optimum(),
            "comparison": _theorem(curves["theorem"]),
        },
        "random_stops": random_stops(context, CONFIGURATIONS, table),
        "table": table,
        "curves": curves,
    }


def _told_differences(results: dict[str, Any], claim: str) -> str:
    """The largest difference in points of each configuration."""
    settings = {row["configuration"]: (row["d"], row["lam"]) for row in results["table"]}
    told = []
    for verdict in results["verdicts"]:
        if verdict["claim"] == claim:
            d, lam = settings[verdict["configuration"]]
            points = 100 * verdict["largest_difference"]
            told.append(f"{points:.1f} (d = {d}, λ = {lam:g})")
    return listed(told)


def _told_rate(results: dict[str, Any]) -> Claim:
    """How the error above the least possible goes with the steps, with the most examples."""
    rates = {
        f"d = {row['d']}, λ = {row['lam']:g}": row["exponent_of_T"]
        for row in results["table"]
        if row["n"] == SIZES[-1] and row["exponent_of_T"] is not None
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
    """How good it is to stop at random, by λT."""
    rows = results["random_stops"]["table"]
    told = "; ".join(
        f"d = {row['d']}, λT = {row['lam'] * row['T']:g}: "
        f"{percent(row['share_as_good_as_the_end'], 0)}"
        for row in rows
    )
    late = [row["share_as_good_as_the_end"] for row in rows if row["lam"] * row["T"] >= 10]
    every = [row["share_as_good_as_the_end"] for row in rows]
    return Claim(
        "In practice, stopping at a random step almost ensures a low error.",
        ZHOU,
        f"Share of stops whose error is at most half a point above that at the end: {told}.",
        mark(min(every) >= 0.9, bool(late) and min(late) >= 0.9),
        "✓ if nine stops in ten do for every T, ~ if for those with λT of 10 or more.",
    )


def _told_theorem(results: dict[str, Any]) -> Claim:
    """Whether the bound holds where draws are new, and where they are not."""
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
    sizes = sorted({row["n"] for row in results["table"] if row["configuration"] in HELD})
    among = f"n = {listed(f'{n:,}' for n in sizes)}, in percentage points"
    told = []
    for claim, found, what in (
        (
            "The test error does not depend on the size of the training set.",
            SAME,
            f"The largest difference of the test error at the end between {among}",
        ),
        (
            "A hundred steps are enough.",
            ENOUGH,
            "The most by which the test error after 100 steps exceeds that at the end, "
            f"over {among}",
        ),
    ):
        holds = [v["verdict"] == "reproduced" for v in results["verdicts"] if v["claim"] == found]
        told.append(
            Claim(
                claim,
                ZHOU,
                f"{what}: {_told_differences(results, found)}.",
                mark(all(holds), any(holds)),
                "✓ if errors differ by no more than half a point in every configuration, ~ if in "
                "some.",
            )
        )
    return [*told, _told_rate(results), _told_stops(results), _told_theorem(results)]


def _errors(ax: Axes, results: dict[str, Any], curves: dict[str, dict[str, Any]]) -> None:
    """Test error above the least possible, for each of some curves by their names."""
    names: dict[str, Any] = {}
    for (name, curve), color in zip(curves.items(), shades(len(curves)), strict=True):
        above = 100 * (np.array(curve["error"]) - results["least_possible_error"])
        band(ax, curve["steps"], above, color=color, linewidth=1.6)
        names[name] = (curve["steps"], above[1], color)
    ax.axvline(100, color=BLACK, linewidth=1, linestyle=":")
    log_log(ax, xlabel=words("steps"), ylim=(1e-5, 100))
    name_lines(ax, names)


def _bound(ax: Axes, results: dict[str, Any]) -> None:
    """Excess of the average, and the theorem's bound on it; dotted where draws repeat."""
    bound, curves = results["theorem"], results["curves"]["theorem"]
    names: dict[str, Any] = {}
    for (n, curve), color in zip(curves.items(), shades(len(curves)), strict=True):
        steps, excess = np.array(curve["steps"]), np.array(curve["excess"][1])
        new = int(np.sum(steps <= int(n)))
        ax.plot(steps[:new], excess[:new], color=color, linewidth=1.6)
        ax.plot(steps[new - 1 :], excess[new - 1 :], color=color, linestyle=":", linewidth=1.6)
        names[f"n = {int(n):,}"] = (steps, excess, color)
    ax.plot(bound["steps"], bound["bound"], color=BLACK, linestyle="--")
    names["bound"] = (bound["steps"], bound["bound"], BLACK)
    violated = [row for row in bound["comparison"] if row["T_violated_from"]]
    for row in sorted(violated, key=lambda row: int(row["T_violated_from"]))[:1]:
        ax.axvline(row["T_violated_from"], color=GREY, linewidth=1)
        place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "ha": "right"}
        text = f"n = {row['n']:,} violates \nthe bound from here "
        ax.annotate(text, (row["T_violated_from"], 0.02), va="bottom", fontsize=9, **place)
    ax.axhspan(bound["trivial"], 1e6, color="0.92", zorder=0)
    log_log(ax, xlabel=words("steps"), ylim=(2e-4, 1e5))
    name_lines(ax, names)


def _verdict(results: dict[str, Any]) -> str:
    found = []
    for name in ("plane", "high dimension"):
        verdicts = {v["verdict"] for v in results["verdicts"] if v["configuration"] == name}
        agreed = "true" if verdicts == {"reproduced"} else "false"
        setting = CONFIGURATIONS[name]
        found.append(f"{agreed} for d = {setting['d']}, λ = {setting['lam']:g}")
    return ", ".join(found)


def plot(results: dict[str, Any]) -> Figure:
    """Error in the plane and in many dimensions, for several λ, the theorem, random stops."""
    curves, table = results["curves"], results["table"]
    figure, axes = panels(3, 2, 11.0)
    plane, high, scales, theorem, stops, shares = axes.flat
    for ax, name in ((plane, "plane"), (high, "high dimension")):
        _errors(ax, results, {f"n = {int(n):,}": curve for n, curve in curves[name].items()})
        rows = select(table, configuration=name)
        ends = ", ".join(f"{100 * row['error_at_end']:.1f}" for row in rows)
        ax.set_title(f"d = {rows[0]['d']}, λ = {rows[0]['lam']:g}\nends at {ends}%")
    names = [name for name in curves if name.startswith("lam = ")]
    ((n, _),) = curves[names[0]].items()
    by_lam = {f"λ = {name.removeprefix('lam = ')}": curves[name][n] for name in names}
    _errors(scales, results, by_lam)
    scales.set_title(f"d = 20, n = {int(n):,}: several λ")
    for ax in (plane, scales):
        ax.set_ylabel("points above the least error")
    _bound(theorem, results)
    theorem.set_ylabel(f"excess of L, {1 - DELTA:.0%} of runs")
    theorem.set_title("d = 200, λ = 0.001; dotted: draws repeat")
    draw_stops(stops, shares, results)
    state(
        figure,
        f"“The error does not depend on n, 100 steps are enough”: {_verdict(results)}",
        f"Two Gaussian clouds, {results['noise']:.0%} of the labels wrong; test error and "
        f"population objective L are exact; median and 20–80% of {len(results['seeds'])} runs. "
        "Bound: Corollary 3.6.2 of Zhou's report; grey: w = 0 is as good.",
    )
    return figure
