"""Test error against steps: whether it depends on the data size, and whether 100 steps are enough.

The setting of a report (W. Zhou, Analysis of Pegasos Algorithm, section 4): two Gaussian clouds all
but separable by a line, 10% of the labels wrong. It gives neither dimension nor λ nor the sizes.
Here the centres are six standard deviations apart and features are scaled to R = 1. Test error and
population objective L are exact, by the normal distribution and not by a test set.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._claims import ZHOU, Claim, exponent, listed, mark, percent, rounded
from experiments._clouds import (
    DELTA,
    LEAST_ERROR,
    NOISE,
    SEPARATION,
    Population,
    run_curves,
    run_stops,
)
from experiments._plots import band, log_log
from experiments._tables import select
from kpegasos.theory import mean_excess_bound, median_excess_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "6 min"
QUICK_TIME = "10 s"

SEEDS = 40
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
# Runs that stop at random, of the largest size: while T ≤ n every draw is a new example.
STOPPED = ("plane", "high dimension")
HORIZONS = (100, 1000, 10_000, 100_000)
STOPS = 400


def _stop_row(
    name: str, where: tuple[int, float, int], horizon: int, found: dict[str, Any], end: float
) -> dict[str, Any]:
    """Say which share of the stops is as good as the end, to half a point."""
    d, lam, n = where
    errors = np.array(found["errors"])
    bound = float(median_excess_bound(horizon, lam, 1.0, DELTA))
    return {
        "configuration": name,
        "d": d,
        "lam": lam,
        "n": n,
        "T": horizon,
        "stops": errors.size,
        "share_as_good_as_the_end": float(np.mean(errors <= end + CLOSE)),
        "median_error": float(np.median(errors)),
        "error_at_end": end,
        "median_excess": float(np.median(found["excess"])),
        "bound_of_half_the_stops": bound,
        "share_within_bound": float(np.mean(np.array(found["excess"]) <= bound)),
    }


def _random_stops(
    context: ExperimentContext, table: list[dict[str, Any]], stops: int
) -> dict[str, Any]:
    """Stop at random: the report's headline, Corollary 3.6.3, and what section 5 adds to it."""
    rows, errors = [], {}
    for name, horizon in context.progress(list(product(STOPPED, HORIZONS)), "random stops"):
        where = (CONFIGURATIONS[name]["d"], CONFIGURATIONS[name]["lam"], SIZES[-1])
        work = partial(run_stops, *where, horizon, stops)
        found = context.part(f"{name}, random stops to {horizon}", work)
        (row,) = select(table, configuration=name, n=SIZES[-1])
        rows.append(_stop_row(name, where, horizon, found, row["error_at_end"]))
        if horizon == SIZES[-1]:
            errors[name] = found["errors"]
    return {"table": rows, "errors": errors}


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
        curve = context.part(f"{name}, n = {n}", partial(run_curves, *where, steps, seeds, options))
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
        "random_stops": _random_stops(context, table, 100 if context.quick else STOPS),
        "table": table,
        "curves": curves,
    }


def _told_errors(rows: list[dict[str, Any]], column: str) -> str:
    sizes = listed(f"{row['n']:,}" for row in rows)
    errors = listed(percent(row[column]) for row in rows)
    return f"d = {rows[0]['d']}, λ = {rows[0]['lam']:g}: {errors} for n = {sizes}"


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
        "In practice, to stop at random almost ensures a low error.",
        ZHOU,
        f"Stops that err no more than half a point above the end: {told}.",
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
    return [*told, _told_rate(results), _told_stops(results), _told_theorem(results)]


def plot(results: dict[str, Any]) -> Figure:
    """Error in the plane and in many dimensions, for several λ, the theorem, random stops."""
    import matplotlib.pyplot as plt

    curves, table, bound = results["curves"], results["table"], results["theorem"]
    figure, axes = plt.subplots(3, 2, figsize=(9, 12))
    plane, high, scales, theorem, stops, shares = axes.flat

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
    _draw_stops(stops, shares, results)
    for ax in axes.flat[:4]:
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


def _draw_stops(stops: Axes, shares: Axes, results: dict[str, Any]) -> None:
    """Errors of runs that stop at random, and the share of them that is as good as the end."""
    least, found = results["least_possible_error"], results["random_stops"]
    good = []
    bins = np.logspace(-3, np.log10(50), 40).tolist()
    for (name, errors), color in zip(found["errors"].items(), ("C0", "C1"), strict=True):
        rows = select(found["table"], configuration=name)
        label = f"d = {rows[0]['d']}, λ = {rows[0]['lam']:g}"
        above = np.maximum(100 * (np.array(errors) - least), bins[0])
        weights = np.full(above.size, 100 / above.size)
        stops.hist(above, bins=bins, weights=weights, color=color, alpha=0.6, label=label)
        end = 100 * (rows[0]["error_at_end"] - least)
        stops.axvline(end + 100 * CLOSE, color=color, linestyle="dashed", linewidth=1)
        share = [100 * row["share_as_good_as_the_end"] for row in rows]
        good += [f"{v:.0f}%" for v, row in zip(share, rows, strict=True) if row["T"] == row["n"]]
        shares.plot([row["T"] for row in rows], share, "o-", color=color, label=label)
    n = rows[0]["n"]
    stops.set(
        xscale="log",
        xlabel="test error above the least possible, points",
        ylabel="random stops, %",
        title=f"Stops on 1 … T = n = {n:,}; dashed: the end + {100 * CLOSE:g}",
    )
    shares.axhline(50, color="black", linestyle="dotted", label="probability ½")
    shares.set(
        xscale="log",
        ylim=(0, 102),
        xlabel="T, of which the stop is drawn",
        ylabel=f"stops within {100 * CLOSE:g} points of the end, %",
        title=f"At T = {n:,}, {' and '.join(good)} of the stops are good",
    )
    for ax in (stops, shares):
        ax.title.set_fontsize(11)
        ax.legend(frameon=False, fontsize=10)
