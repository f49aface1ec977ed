"""Seconds to equal suboptimality, from the runs of a kernel benchmark.

A row of results is a run; runs of one solver on one problem that differ in how far they go make a
series. The seconds of a series at a level are those of its cheapest run that reaches it, brought
up to the level on the line, in logarithms, to the tightest of the cheaper runs that do not: so a
run that overshoots is not charged for what nobody asked for. Nothing is extrapolated: looser than
the loosest run costs as much as that, and tighter than the tightest is not reached. Where a peer's
loosest run overshoots a level, ours is compared with it at the suboptimality that it has.
"""

from __future__ import annotations

import math
from typing import Any

LEVELS = (1e-2, 1e-3, 1e-4)
#: Series, in the order of tables and legends; the first is ours for comparisons.
SERIES = {
    "polished": "PegasosSVC(polish=True)",
    "plain": "PegasosSVC()",
    "intelex": "intelex SVC",
    "SVC": "scikit-learn SVC",
}
PEERS = ("intelex", "SVC")
#: Below this, rounding decides.
FLOOR = 1e-7

Row = dict[str, Any]


def series_of(solver: str, parameters: dict[str, Any]) -> str:
    """Name the series that a run of a solver belongs to."""
    if solver == "kpegasos":
        return "polished" if parameters.get("polish") else "plain"
    return "SVC" if solver == "scikit-learn" else "intelex"


def judge_all(rows: list[Row]) -> None:
    """Add to each row how far it is from the best bound of its problem, relative to that.

    Parameters
    ----------
    rows : list of dict
        Runs with ``problem``, ``series``, and, if judged, ``objective``, ``dual_bound`` and
        ``our_objective``; they get ``suboptimality`` and ``our_suboptimality``, the latter by our
        objective for all.
    """
    bounds: dict[tuple[str, bool], float] = {}
    for row in rows:
        key = (row["problem"], row["series"] in PEERS)
        bounds[key] = max(bounds.get(key, -math.inf), row.get("dual_bound") or -math.inf)
    for row in rows:
        if row.get("objective") is None:
            continue
        bound = bounds[row["problem"], row["series"] in PEERS]
        row["suboptimality"] = (row["objective"] - bound) / bound
        bound = bounds.get((row["problem"], False), math.nan)
        row["our_suboptimality"] = (row["our_objective"] - bound) / bound


def at_level(rows: list[Row], level: float) -> Row | None:
    """Return seconds of a series at a level of suboptimality, and the run that reaches it.

    Parameters
    ----------
    rows : list of dict
        Runs with ``fit_seconds`` and ``suboptimality``.
    level : float
        Suboptimality asked for.

    Returns
    -------
    dict or None
        ``seconds``, the ``suboptimality`` that they buy (the level, or what the loosest run has if
        that is less), ``run_seconds`` and ``setting``; None if no run reaches the level.
    """
    judged = [row for row in rows if row.get("suboptimality") is not None]
    reaching = [row for row in judged if row["suboptimality"] <= level]
    if not reaching:
        return None
    best = min(reaching, key=lambda row: float(row["fit_seconds"]))
    seconds = float(best["fit_seconds"])
    cheaper = [
        row
        for row in judged
        if row["suboptimality"] > level and row["fit_seconds"] < best["fit_seconds"]
    ]
    bought = min(level, max(best["suboptimality"], FLOOR))
    if cheaper:
        bought = level
        near = min(cheaper, key=lambda row: float(row["suboptimality"]))
        reached = max(best["suboptimality"], FLOOR)
        share = math.log(near["suboptimality"] / level) / math.log(near["suboptimality"] / reached)
        seconds = near["fit_seconds"] * (best["fit_seconds"] / near["fit_seconds"]) ** share
    return {
        "seconds": seconds,
        "suboptimality": bought,
        "run_seconds": best["fit_seconds"],
        "setting": best["setting"],
    }


def curves(rows: list[Row]) -> dict[tuple[str, str], dict[str, list[Row]]]:
    """Sort the runs that make curves by problem and dtype, and by series within."""
    found: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        if not row.get("ablation"):
            series = found.setdefault((row["problem"], row["dtype"]), {})
            series.setdefault(row["series"], []).append(row)
    return found


def seconds_at_levels(rows: list[Row]) -> list[Row]:
    """Return seconds of every series of every problem at every level that it reaches."""
    found = []
    for (problem, dtype), all_series in curves(rows).items():
        for level in LEVELS:
            reached = {
                name: at for name, runs in all_series.items() if (at := at_level(runs, level))
            }
            for name, at in reached.items():
                row = {"problem": problem, "dtype": dtype, "level": level, "series": name, **at}
                ours = at_level(all_series.get("polished", []), at["suboptimality"])
                if name in PEERS and ours is not None:
                    row["ours_times_faster"] = at["seconds"] / ours["seconds"]
                found.append(row)
    return found


def representative(rows: list[Row], level: float = 1e-3) -> Row:
    """Return the run of a series that prediction and memory are told of: the one at a level.

    It is the cheapest that reaches the level, or else the tightest.
    """
    at = at_level(rows, level)
    if at is not None:
        return next(row for row in rows if row["setting"] == at["setting"])
    return min(rows, key=lambda row: float(row.get("suboptimality") or math.inf))


def modern(results: dict[str, Any]) -> dict[str, Any]:
    """Bring results into today's form: those of before the levels, and levels by today's rule."""
    rows = [dict(row) for row in results["table"]]
    for row in rows:
        if "series" in row:
            continue
        polished = row["setting"].startswith("polished")
        row["series"] = series_of(row["solver"], {"polish": polished})
        row["dtype"] = "float32"
        row["ablation"] = "," in row["setting"]
    return {**results, "table": rows, "levels": seconds_at_levels(rows)}
