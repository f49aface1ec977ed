"""Tables in Markdown from the results of a kernel benchmark, for README and documentation.

``python -m experiments._kernel_markdown [NAME or FILE] [--level 0.001]`` prints them. Ours is bold
where it is ahead of every peer at equal suboptimality, and a ratio where ours is ahead of that
peer, by a twentieth at least; nothing else is.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments._catalog import HERE
from experiments._claims import duration
from experiments._kernel_levels import LEVELS, PEERS, SERIES, Row, curves, modern, representative
from experiments._store import read
from experiments._tables import select

#: Times faster from which ours counts as ahead; less is lost in the noise.
AHEAD = 1.05


def _ratio(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _bold(text: str, *, when: bool) -> str:
    return f"**{text}**" if when else text


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown; nothing without rows."""
    lines = [head, ["---"] * len(head), *rows]
    if len(lines) == 2:
        return ""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _problems(results: dict[str, Any]) -> list[tuple[str, str]]:
    return list(curves(results["table"]))


def fit_rows(
    results: dict[str, Any], levels: Sequence[float] = LEVELS, *, show_level: bool = True
) -> tuple[list[str], list[list[str]]]:
    """Return seconds to each level, and how many times faster polished runs are than each peer.

    Where the loosest run of a peer has less than the level, the ratio is that at what it has.

    Parameters
    ----------
    results : dict
        Results of `benchmark_kernel`.
    levels : sequence of float, default `LEVELS`
        The levels of suboptimality.
    show_level : bool, default True
        Whether a column names the level.

    Returns
    -------
    tuple of (list of str, list of list of str)
        The headings, and the cells of each row.
    """
    rows = []
    for problem, dtype in _problems(results):
        for level in levels:
            at = select(results["levels"], problem=problem, dtype=dtype, level=level)
            seconds = {row["series"]: row["seconds"] for row in at}
            ratios = {
                row["series"]: row["ours_times_faster"] for row in at if "ours_times_faster" in row
            }
            ahead = bool(ratios) and min(ratios.values()) >= AHEAD
            cells = [duration(seconds.get(name)) for name in SERIES]
            cells[0] = _bold(cells[0], when=ahead)
            for peer in PEERS:
                ratio = ratios.get(peer)
                cells.append(_bold(_ratio(ratio), when=ratio is not None and ratio >= AHEAD))
            shown = [f"{level:g}"] if show_level else []
            rows.append([problem, dtype, *shown, *cells])
    columns = ["suboptimality"] if show_level else []
    faster = [f"times faster than {SERIES[peer]}" for peer in PEERS]
    return ["problem", "dtype", *columns, *SERIES.values(), *faster], rows


def fit_table(results: dict[str, Any], levels: Sequence[float] = LEVELS) -> str:
    """Return what `fit_rows` finds as a table in Markdown."""
    return markdown(*fit_rows(results, levels))


def dtype_table(results: dict[str, Any], level: float = 1e-3) -> str:
    """Return the time that float64 takes at a level, in that of float32, for each series."""
    at = {
        (row["problem"], row["dtype"], row["series"]): row["seconds"]
        for row in results["levels"]
        if row["level"] == level
    }
    rows = []
    for problem in dict.fromkeys(problem for problem, _, _ in at):
        pairs = [[at.get((problem, f"float{bits}", name)) for bits in (64, 32)] for name in SERIES]
        ratios = [a / b if a and b else None for a, b in pairs]
        if any(ratios):
            rows.append([problem, *map(_ratio, ratios)])
    return markdown(["problem: time in float64 / float32", *SERIES.values()], rows)


def run_table(results: dict[str, Any], level: float = 1e-3) -> str:
    """Return prediction, accuracy, memory and support of each series' run at a level."""
    rows = []
    for (problem, dtype), all_series in curves(results["table"]).items():
        chosen = {
            name: representative(all_series[name], level) for name in SERIES if name in all_series
        }
        peers = [chosen[peer]["predict_seconds"] for peer in PEERS if peer in chosen]
        for name, row in chosen.items():
            ahead = name == "polished" and bool(peers) and row["predict_seconds"] < min(peers)
            rows.append(
                [
                    problem,
                    dtype,
                    f"{SERIES[name]}, {row['setting']}",
                    duration(row["fit_seconds"]),
                    _suboptimality(row),
                    _bold(duration(row["predict_seconds"]), when=ahead),
                    "–" if row.get("test_accuracy") is None else f"{row['test_accuracy']:.4f}",
                    f"{row['support_vectors']:,}",
                    "–" if row.get("extra_mb") is None else f"{row['extra_mb']:,.0f}",
                ]
            )
    head = ["problem", "dtype", "run", "fit", "suboptimality", "predict", "test accuracy"]
    return markdown([*head, "support vectors", "memory of the fit, MiB"], rows)


def _suboptimality(row: Row) -> str:
    value = row.get("suboptimality")
    return "–" if value is None else f"{max(value, 0.0):.2g}"


def ablation_table(results: dict[str, Any], name: str) -> str:
    """Return seconds, kernel values and memory of the runs with other starts or budgets."""
    rows = [
        [
            row["setting"],
            duration(row["fit_seconds"]),
            f"{row['kernel_evaluations'] / 1e6:,.1f}",
            f"{row['needed_evaluations'] / 1e6:,.1f}",
            _suboptimality(row),
            f"{row['extra_mb']:,.0f}",
        ]
        for row in results["table"]
        if row.get("ablation") == name
    ]
    head = ["start" if name == "start" else "run, budget in MiB", "fit", "kernel values, million"]
    return markdown([*head, "needed, million", "suboptimality", "memory of the fit, MiB"], rows)


def document(results: dict[str, Any], level: float | None = None) -> str:
    """Return all tables, the first at one level or at all."""
    results = modern(results)
    levels = LEVELS if level is None else (level,)
    common = (results, level or 1e-3)
    parts = [fit_table(results, levels), dtype_table(*common), run_table(*common)]
    present = {row.get("ablation") for row in results["table"]}
    parts += [ablation_table(results, name) for name in ("start", "cache") if name in present]
    return "\n\n".join(filter(None, parts))


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables of a results file."""
    parser = argparse.ArgumentParser(prog="python -m experiments._kernel_markdown")
    parser.add_argument("results", nargs="?", default="benchmark_kernel")
    parser.add_argument("--level", type=float, default=None)
    arguments = parser.parse_args(argv)
    path = Path(arguments.results)
    if path.suffix != ".json":
        path = HERE / "results" / f"{arguments.results}.json"
    print(document(read(path)["results"], arguments.level))


if __name__ == "__main__":
    main()
