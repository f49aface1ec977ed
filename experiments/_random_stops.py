"""Runs that stop at random, and the share of them that is as good as the end.

Zhou's report promises that a random stop is good with probability 1/2 (Corollary 3.6.3), and finds
that in practice it almost always is (section 5).
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._plots import BLACK, BLUE, VERMILION, log_x, name_lines
from experiments._population import Population
from experiments._tables import select
from kpegasos import linear_rows, make_problem, pegasos
from kpegasos.theory import median_excess_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments._run import ExperimentContext

DELTA = 0.05
CLOSE = 0.005  # half a percentage point
NEAREST = 1e-5  # what is nearer to the end, or better, is drawn there
# Runs that stop at random, of the largest size: while T ≤ n every draw is a new example.
STOPPED = ("plane", "high dimension")
HORIZONS = (100, 1000, 10_000, 100_000)
STOPS, STOPS_OF_A_SET = 400, 10


def _stops(d: int, lam: float, n: int, horizon: int, stops: int) -> dict[str, Any]:
    """Test error and excess of L of runs that stop after 1 to T steps, each as likely."""
    population = Population(d, lam)
    optimum, rng = population.optimum(), np.random.default_rng(horizon)
    errors, excess = [], []
    for first in range(0, stops, STOPS_OF_A_SET):
        X, y = population.draw(n, first)
        problem, rows = make_problem(y, lam), linear_rows(X)
        for seed in range(first, first + STOPS_OF_A_SET):
            steps = int(rng.integers(1, horizon + 1))
            options: dict[str, Any] = {"sampling": "permutation", "average": None}
            options |= {"checkpoints": None, "random_state": seed}
            run = pegasos(problem, rows, n_steps=steps, **options)
            w = np.asarray(run.w)
            errors.append(population.error(w))
            excess.append(population.objective(w) - optimum)
    return {"errors": errors, "excess": excess}


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


def random_stops(
    context: ExperimentContext, settings: dict[str, dict[str, Any]], table: list[dict[str, Any]]
) -> dict[str, Any]:
    """Stop at random: the report's headline, Corollary 3.6.3, and what section 5 adds to it."""
    rows, errors = [], {}
    stops, horizons = (100, HORIZONS[:-1]) if context.quick else (STOPS, HORIZONS)
    for name, horizon in context.progress(list(product(STOPPED, horizons)), "random stops"):
        n = settings[name]["sizes"][-1]
        where = (settings[name]["d"], settings[name]["lam"], n)
        work = partial(_stops, *where, horizon, stops)
        found = context.part(f"{name}, random stops to {horizon}", work)
        (row,) = select(table, configuration=name, n=n)
        rows.append(_stop_row(name, where, horizon, found, row["error_at_end"]))
        if horizon == n:
            errors[name] = found["errors"]
    return {"table": rows, "errors": errors}


def draw_stops(stops: Axes, shares: Axes, results: dict[str, Any]) -> None:
    """How far from the end runs stop at random, and which share is as good as the end."""
    found, good = results["random_stops"], []
    of_errors, of_shares = {}, {}
    for (name, errors), color in zip(found["errors"].items(), (BLUE, VERMILION), strict=True):
        rows = select(found["table"], configuration=name)
        label = f"d = {rows[0]['d']}, λ = {rows[0]['lam']:g}"
        above = np.sort(100 * np.maximum(np.array(errors) - rows[0]["error_at_end"], NEAREST))
        below = 100 * np.arange(1, above.size + 1) / above.size
        stops.step(above, below, where="post", color=color)
        of_errors[label] = (above, below, color)
        reached = [row["T"] for row in rows]
        share = [100 * row["share_as_good_as_the_end"] for row in rows]
        good += [f"{v:.0f}%" for v, row in zip(share, rows, strict=True) if row["T"] == row["n"]]
        shares.plot(reached, share, "o-", color=color)
        of_shares[label] = (reached, share, color)
    n = rows[0]["n"]
    stops.axvline(100 * CLOSE, color=BLACK, linestyle="dotted")
    log_x(
        stops,
        ylim=(0, 102),
        xlabel="test error above that at the end, points",
        ylabel="runs that stop at random, %",
        title=f"random stops up to T = n = {n:,}\ndotted: {100 * CLOSE:g} points",
    )
    shares.axhline(50, color=BLACK, linestyle="dotted")
    log_x(
        shares,
        ylim=(0, 102),
        xlabel="T, of which the stop is drawn",
        ylabel=f"stops within {100 * CLOSE:g} of the end, %",
        title=f"{' and '.join(good)} are good at T = {n:,}\ndotted: probability ½",
    )
    name_lines(stops, of_errors)
    name_lines(shares, of_shares)
