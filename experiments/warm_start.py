"""What a warm start is worth: kernel values of a polished run, by how much Pegasos came before.

`polish` ends a fit by dual ascent over sets of examples. It can begin at zero, or where Pegasos has
got to. Counted is every kernel value until the certified relative gap is 10%, 1% and 0.1%, the
start's own among them, and divided by what the kernel rows of the support have. Fewer than these
nobody can do with who certifies the optimum and computes whole rows. The support is the smallest of
all runs to 0.1%. Values that a certificate computes again are counted apart. For comparison there
are dual ascent in random order and LIBSVM's iterations.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._claims import OURS, Claim, listed, percent, rounded, span
from experiments._plots import (
    BLACK,
    BLUE,
    DARK_GREY,
    GREEN,
    GREY,
    SKY,
    VERMILION,
    legend_above,
    look,
    name_lines,
    panels,
    state,
)
from experiments._tables import select
from experiments._warm_runs import (
    TOLERANCES,
    Kind,
    by_libsvm,
    in_random_order,
    polished,
    sample,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "4 min"
QUICK_TIME = "10 s"

KINDS = (
    Kind("moons 2,000", "Two moons", 2000),
    Kind("T-shirt or shirt", "T-shirt or shirt", 6000),
    Kind("MNIST 8", "MNIST 8", 6000),
    Kind("Adult", "Adult", 6000),
    Kind("Covertype, C = 100", "Covertype, C = 100", 6000),
)
STARTS = ("0", "1 step", "0.05", "0.2", "0.5", "1", "3", "10")
#: What ``polish=True`` does if it is told nothing.
DEFAULT = "default"
SDCA, LIBSVM = "SDCA", "LIBSVM"
#: Starts that are called short.
SHORT = ("1 step", "0.05", "0.2", "0.5", DEFAULT)
#: Seeds of the set that is made, and of those that take long.
SEEDS, FEW_SEEDS = 10, 3
#: Share of the kernel values that a start must save for it to be told as a gain.
WORTH = 0.1
#: Colour and marker of each set, in their order.
LOOKS = ((GREEN, "^"), (VERMILION, "s"), (BLUE, "o"), (SKY, "D"), (DARK_GREY, "v"))


def _columns(key: str, values: Any) -> dict[str, float]:
    """Median, and 20 and 80% of many seeds or the range of few."""
    low, high = (20, 80) if len(values) >= SEEDS else (0, 100)
    found = np.percentile(np.asarray(values, dtype=float), [low, 50, high]).tolist()
    return dict(zip((f"{key}_low", key, f"{key}_high"), found, strict=True))


def _middle(parts: list[dict[str, Any]], key: str) -> float:
    return float(np.median([part[key] for part in parts]))


def _rows_of_set(kind: Kind, size: int, C: float, runs: dict[str, list[Any]]) -> list[Any]:
    """Rows of the table: for each way and tolerance what the seeds say."""
    ascents = [way for way in runs if way not in (SDCA, LIBSVM)]
    ends = [[run["levels"][-1] for run in runs[way]] for way in ascents]
    needed = [
        size * min((end["support"] for end in of_a_seed if end), default=math.nan)
        for of_a_seed in zip(*ends, strict=True)
    ]
    table = []
    for way, found in runs.items():
        for at, tol in enumerate(TOLERANCES):
            levels = [run["levels"][at] for run in found]
            row: dict[str, Any] = {"data": kind.title, "m": size, "C": C, "way": way, "tol": tol}
            row["seeds"], reached = len(levels), None not in levels
            if reached and way != LIBSVM:
                values = np.array([level["evaluations"] for level in levels])
                none = [run["levels"][at] for run in runs["0"][: values.size]]
                row |= _columns("ratio", values / needed[: values.size])
                if None not in none:
                    row |= _columns("against_none", values / [e["evaluations"] for e in none])
                row["kernel_rows"] = float(np.median(values)) / size
                row["certificate_rows"] = _middle(levels, "of_certificates") / size
            for key in ("support", "gap", "moves", "iterations", "seconds", "tol_of_libsvm"):
                if reached and key in levels[0]:
                    row[key] = _middle(levels, key)
            if way in ascents:
                before = [run["before"] for run in found]
                row["rows_before"] = _middle(before, "evaluations") / size
                row["gap_before"] = _middle(before, "gap")
            row["whole_matrix"] = size * size / float(np.median(needed))
            table.append(row)
    return table


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run all starts on each set, with some seeds, then the two other methods."""
    kinds = KINDS[:4:3] if context.quick else KINDS
    starts = (*STARTS[:1], *STARTS[2::2], DEFAULT) if context.quick else (*STARTS, DEFAULT)
    most = 1000 if context.quick else None
    table: list[dict[str, Any]] = []
    for kind in kinds:
        many = kind is KINDS[0]
        seeds = 2 if context.quick else SEEDS if many else FEW_SEEDS
        runs: dict[str, list[Any]] = {way: [] for way in (*starts, SDCA, LIBSVM)}
        size, C = 0, 0.0
        for seed in context.progress(seeds, kind.title):
            task, y = sample(kind, seed, most)
            size, C = y.size, task.C
            for start in context.progress(starts, "starts"):
                work = partial(polished, task, y, start, seed)
                runs[start].append(context.part(f"{kind.title}, {seed}, {start}", work))
            if many or seed == 0:
                others = (
                    (SDCA, partial(in_random_order, task, y, seed)),
                    (LIBSVM, partial(by_libsvm, task)),
                )
                for way, work in others:
                    runs[way].append(context.part(f"{kind.title}, {seed}, {way}", work))
        table += _rows_of_set(kind, size, C, runs)
    return {
        "seeds": list(range(2 if context.quick else SEEDS)),
        "few_seeds": 2 if context.quick else FEW_SEEDS,
        "starts": list(starts[:-1]),
        "titles": [kind.title for kind in kinds],
        "tolerances": list(TOLERANCES),
        "table": table,
    }


def _told_share(value: float) -> str:
    return percent(value, 1 if value < 0.01 else 0)


def _told_pick(results: dict[str, Any], ways: Any, key: str = "ratio", **where: Any) -> list[float]:
    """Return a column of the rows of some ways."""
    rows = select(results["table"], **where)
    return [row[key] for row in rows if row["way"] in ways and row.get(key) is not None]


def _told_times(results: dict[str, Any], ways: Any) -> str:
    """Say how many times the kernel values of an ascent from zero some starts take."""
    return span(_told_pick(results, ways, "against_none"), "{:.2f}".format)


def _told_levels(results: dict[str, Any]) -> str:
    """Say how many times the kernel values of the support each gap takes, from zero."""
    first, *others = results["tolerances"]
    parts = [
        f"{span(_told_pick(results, ('0',), tol=tol))} to {_told_share(tol)}" for tol in others
    ]
    start = f"{span(_told_pick(results, ('0',), tol=first))} times"
    return f"{start} to a gap of {_told_share(first)}, {listed(parts)}"


def _told_title(results: dict[str, Any]) -> str:
    """The finding in a sentence, by what starts save at the best."""
    starts = [way for way in (*results["starts"], DEFAULT) if way != "0"]
    saved = 1 - min(_told_pick(results, starts, "against_none"))
    if saved < WORTH:
        return "A Pegasos start saves dual ascent next to nothing."
    return f"A Pegasos start saves dual ascent up to {percent(saved, 0)} of its kernel values."


def _told_finding(results: dict[str, Any]) -> Claim:
    short = [way for way in SHORT if way in results["starts"] or way == DEFAULT]
    longest = results["starts"][-1]
    return Claim(
        _told_title(results),
        OURS,
        f"After at most half an epoch of Pegasos, dual ascent to a certified gap takes "
        f"{_told_times(results, short)} times the kernel values that it takes from zero, those of "
        f"the start included ({len(results['titles'])} data sets). After {longest} epochs it "
        f"takes {_told_times(results, (longest,))} times as many.",
    )


def _told_sets(results: dict[str, Any]) -> Claim:
    """How near to the lower bound each set comes with a short start, at the tightest tolerance."""
    last = results["tolerances"][-1]
    short = [way for way in ("0", *SHORT) if way in (*results["starts"], DEFAULT)]
    parts = [
        f"{title} {span(_told_pick(results, short, data=title, tol=last))}"
        for title in results["titles"]
    ]
    ends = _told_pick(results, short, tol=last)
    most, where = max(_told_certificates(results, short))
    note = f" A certificate adds up to {rounded(most)} ({where})." if most > 0 else ""
    return Claim(
        f"Polishing computes {span(ends)} times the kernel values of the support's rows, the least "
        "for a solver that computes whole rows.",
        OURS,
        f"With starts of at most half an epoch, to a gap of {_told_share(last)}: {listed(parts)}. "
        f"From zero, over all sets: {_told_levels(results)}.{note}",
    )


def _told_certificates(results: dict[str, Any], ways: Any) -> list[tuple[float, str]]:
    """Kernel values of single certificates over those of the support's rows, and on which set."""
    found = []
    for row in results["table"]:
        if row["way"] in ways:
            same = select(results["table"], data=row["data"], way=row["way"])
            earlier = [other["certificate_rows"] for other in same if other["tol"] > row["tol"]]
            own = row["certificate_rows"] - max(earlier, default=0.0)
            found.append((own * row["whole_matrix"] / row["m"], row["data"]))
    return found


def _told_default(results: dict[str, Any]) -> Claim:
    values = _told_pick(results, (DEFAULT,), "against_none")
    gaps = _told_pick(results, (DEFAULT,), "gap_before", tol=results["tolerances"][-1])
    middle = float(np.median(values))
    what = (
        "costs nothing and saves nothing"
        if abs(middle - 1) < 0.05
        else "costs a little"
        if middle > 1
        else "saves a little"
    )
    return Claim(
        f"The start that `polish=True` makes by itself {what}.",
        OURS,
        f"Kernel values with it are {_told_times(results, (DEFAULT,))} times those from zero, "
        f"{middle:.2f} times in the median over sets and tolerances. The start itself, 512 draws "
        f"or half an epoch, comes to a certified gap of {span(gaps, _told_share)}.",
    )


def _told_sdca(results: dict[str, Any]) -> Claim:
    rows = [row for row in select(results["table"], way=SDCA) if row.get("ratio") is not None]
    shares = [row["kernel_rows"] / row["m"] for row in rows]
    missed = sorted({row["data"] for row in select(results["table"], way=SDCA)
                     if row.get("ratio") is None})  # fmt: skip
    note = f" It did not reach every gap on {listed(missed)}." if missed else ""
    if not rows:
        return Claim("In random order, dual ascent does not reach these gaps.", OURS, note.strip())
    much = "the whole kernel matrix" if min(shares) >= 0.9 else "a large part of the kernel matrix"
    return Claim(
        f"In random order, dual ascent computes {much}, where it gets there.",
        OURS,
        f"SDCA computes {span(shares)} times the matrix, as a value may be computed twice. That is "
        f"{span([row['ratio'] for row in rows])} times the support's rows, and "
        f"{span([row['against_none'] for row in rows])} times what ascent over sets takes.{note}",
    )


def _told_libsvm(results: dict[str, Any]) -> Claim:
    middle = results["tolerances"][1]
    rows = select(results["table"], way=LIBSVM, tol=middle)
    rows = [row for row in rows if row.get("iterations") is not None]
    parts = [f"{row['data']} {row['iterations']:,.0f} ({row['support']:,.0f})" for row in rows]
    theirs = {row["data"]: 2 * row["iterations"] for row in rows}
    ratios = [
        row["moves"] / theirs[row["data"]]
        for row in select(results["table"], way="0", tol=middle)
        if row["data"] in theirs
    ]
    fewer = "fewer" if ratios and min(ratios) > 1.1 else "about as many"
    return Claim(
        f"LIBSVM makes {fewer} moves; how many kernel values it computes is not known.",
        OURS,
        f"An iteration of `SVC` moves two examples and uses their rows; it does not tell which of "
        f"them its cache held. Iterations to a gap of {_told_share(middle)} or less of its own "
        f"problem (support in brackets): {listed(parts)}. Ascent over sets moved single examples "
        f"{span(ratios)} times as often as these iterations did.",
    )


def claims(results: dict[str, Any]) -> list[Claim]:
    """The finding, and what it looks like set by set, by default, and beside other methods."""
    return [
        _told_finding(results),
        _told_sets(results),
        _told_default(results),
        _told_sdca(results),
        _told_libsvm(results),
    ]


def _told_name(title: str) -> str:
    return title.replace(" or ", "/").partition(",")[0]


def _told_starts(ax: Axes, results: dict[str, Any], tol: float) -> None:
    """Kernel values against the start, a line for each set."""
    starts = results["starts"]
    x = np.arange(len(starts))
    names: dict[str, Any] = {}
    for title, (color, marker) in zip(results["titles"], LOOKS, strict=False):
        rows = select(results["table"], data=title, tol=tol)
        line = [next(row for row in rows if row["way"] == start) for start in starts]
        low, middle, high = np.array(
            [[row.get(f"ratio{end}") for row in line] for end in ("_low", "", "_high")], dtype=float
        )
        ax.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)
        ax.plot(x, middle, color=color, marker=marker, markersize=4.5, linewidth=1.6)
        names[_told_name(title)] = (x, middle, color)
    ax.axhline(1, color=BLACK, linewidth=1.2)
    ax.set_xticks(x, [start.replace(" ", "\n") for start in starts], fontsize=9)
    ax.set_title(f"to a gap of {_told_share(tol)}")
    most = max(_told_pick(results, starts))
    ax.set_yscale("log")
    ax.set_ylim(0.82, 1.2 * most)
    ax.text(x[-1], 0.98, "every row of the support once", ha="right", va="top", fontsize=8.5)
    ticks = [tick for tick in (1, 1.5, 2, 3, 4, 6) if tick <= 1.2 * most]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.grid(alpha=0.25)
    name_lines(ax, names)


def _told_others(ax: Axes, results: dict[str, Any]) -> None:
    """Kernel values of other ways, a line for each set, at the tightest tolerance."""
    tol, longest = results["tolerances"][-1], results["starts"][-1]
    ways = {
        DEFAULT: ("default", look("polished")),
        longest: (f"{longest} epochs", look("Pegasos")),
        SDCA: (SDCA, look("SDCA")),
    }
    titles = results["titles"]
    handles = []
    for way, (name, drawn) in ways.items():
        found = {row["data"]: row.get("ratio") for row in
                 select(results["table"], way=way, tol=tol)}  # fmt: skip
        known = [(found[title], at) for at, title in enumerate(titles) if found[title]]
        handles += ax.plot(*zip(*known, strict=True), label=name, linestyle="",
                           color=drawn.color, marker=drawn.marker, markersize=6)  # fmt: skip
    whole = [select(results["table"], data=title, tol=tol)[0]["whole_matrix"] for title in titles]
    ax.plot(whole, range(len(titles)), "|", color=GREY, markersize=14, markeredgewidth=2)
    ax.axvline(1, color=BLACK, linewidth=1.2)
    ax.set_xscale("log")
    ax.set_xlim(0.9, 9)
    ax.set_xticks((1, 2, 3, 5, 8), ("1", "2", "3", "5", "8"))
    ax.minorticks_off()
    ax.set_yticks(range(len(titles)), [_told_name(title) for title in titles])
    ax.set_ylim(len(titles) - 0.5, -0.5)
    ax.grid(alpha=0.25, axis="x")
    ax.set_title(f"to a gap of {_told_share(tol)}: starts and SDCA")
    legend_above(ax, handles, over_title=True)


def _told_note(results: dict[str, Any]) -> str:
    rows = select(results["table"], way=SDCA, tol=results["tolerances"][-1])
    lost = [row["data"] for row in rows if row.get("ratio") is None]
    missed = f" It does not get there on {listed(lost)}." if lost else ""
    first, *others = list(dict.fromkeys(row["m"] for row in results["table"]))
    sizes = f"{first:,} moons, {span(others or [first], '{:,}'.format)}"
    return (
        f"{sizes} examples of the others; C = 100 for Covertype. Grey bars: every row once. Median "
        f"of {len(results['seeds'])} samples of the moons and {results['few_seeds']} of the rest; "
        f"bands are 20–80% and the range. SDCA: one sample but for the moons.{missed}"
    )


def plot(results: dict[str, Any]) -> Figure:
    """Kernel values against the start for each tolerance, and beside other methods."""
    figure, axes = panels(2, 2, 7.4)
    for ax, tol in zip(axes.flat, results["tolerances"], strict=False):
        _told_starts(ax, results, tol)
    _told_others(axes[1, 1], results)
    for ax in axes[:, 0]:
        ax.set_ylabel("kernel values / those of\nthe support's rows")
    axes[1, 0].set_xlabel("start: epochs of Pegasos")
    axes[0, 1].set_xlabel("start: epochs of Pegasos")
    axes[1, 1].set_xlabel("kernel values / those of the support's rows")
    short = [way for way in SHORT if way in results["starts"]]
    longest = results["starts"][-1]
    state(
        figure,
        f"{_told_title(results).rstrip('.')}: {_told_times(results, short)} times the kernel "
        f"values with up to half an epoch, {_told_times(results, (longest,))} with {longest}",
        _told_note(results),
    )
    return figure
