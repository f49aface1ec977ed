"""λT is the clock: when what changes along a run, over five decades of λ and four problems.

Crossings, each for every λ and problem, from independent draws: the t-weighted average comes
within 10% of the optimum; its certified gap exceeds twice its suboptimality; it beats the last
iterate; the projection changes its suboptimality by less than 10%; batches cost less than twice
the suboptimality for the same draws. Each is the step that best divides the run into before and
after, by the median over the seeds. The map has the best of last iterate, three averages and dual
coordinate ascent (SDCA) for the same number of steps, against λT and the passes T/m.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._claims import OURS, Claim, exponent, listed, percent, rounded, span
from experiments._clock_crossings import LEVELS, _told_spreads, crossing_of, spread_of
from experiments._clock_runs import DATA, ascents, batches, optimum, others, problem_of, weighted
from experiments._plots import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    PURPLE,
    VERMILION,
    legend_above,
    log_log,
    look,
    name_lines,
    panels,
    state,
    words,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "7 min"
QUICK_TIME = "10 s"

LAMS = tuple(10.0 ** -np.arange(0.5, 6))
SEEDS = 10
#: The last λT, and the steps that may be fewer than it takes if λT is at least the other one.
MOST_LAM_T, LEAST_LAM_T, MOST_STEPS = 100.0, 10.0, 1_000_000
PER_DECADE = 6
#: Batch sizes beside 1, and λkT, their number of draws.
SIZES, LAM_DRAWS = (10, 30, 100, 300, 1000), 10.0
METHODS = ("last", "weighted", "suffix", "uniform", "SDCA")


def _steps(lam: float, most: float) -> list[int]:
    """Steps evenly spaced in their logarithm."""
    last = min(MOST_LAM_T / lam, max(most, LEAST_LAM_T / lam))
    numbers = np.arange(0, PER_DECADE * np.log10(last) + 0.5)
    return sorted({round(step) for step in 10 ** (numbers / PER_DECADE)})


def _batches(draws: int) -> tuple[list[int], list[int]]:
    """Batch sizes, the largest first, and their steps; single examples are the last."""
    sizes = [k for k in SIZES if k <= draws][::-1]
    return sizes, [*(draws // k for k in sizes), draws]


def _ratios(found: dict[str, np.ndarray], least: float) -> dict[str, np.ndarray]:
    """What is to fall below its level, a row for each seed."""
    excess = found["weighted"] - least
    return {
        "close": excess / least,
        "gap": excess / found["gap"],
        "average": excess / (found["last"] - least),
        "projection": excess / (found["projected"] - least),
    }


def _crossings(
    name: str, lam: float, steps: list[int], found: dict[str, np.ndarray], least: float
) -> list[dict[str, Any]]:
    """A row of the table for each kind of crossing."""
    m, draws, rows = problem_of(name).y.size, round(LAM_DRAWS / lam), []
    curves = {kind: (steps, ratio) for kind, ratio in _ratios(found, least).items()}
    # With the same seed, batches of one are the run itself.
    one = found["weighted"][:, [steps.index(draws)]] - least
    cost = np.hstack([(found["batches"] - least) / one, np.ones_like(one)])
    curves["batches"] = (_batches(draws)[1], cost)
    for kind, (at, ratio) in curves.items():
        row: dict[str, Any] = {"kind": kind, "data": name, "lam": lam, "m": m}
        row |= crossing_of(at, ratio, LEVELS[kind])
        T = row["T"]
        row["lam_T"], row["epochs"] = (None, None) if T is None else (lam * T, T / m)
        row["last_lam_T"] = lam * at[-1]
        rows.append(row)
    return rows


def _runs(
    context: ExperimentContext, name: str, lam: float, steps: list[int], seeds: int
) -> dict[str, np.ndarray]:
    """All that is measured for one problem and one λ, a row for each seed."""
    draws = round(LAM_DRAWS / lam)
    work: dict[str, Callable[[], Any]] = {
        "plain": partial(weighted, name, lam, steps, seeds, False),
        "projected": partial(weighted, name, lam, steps, seeds, True),
        "others": partial(others, name, lam, steps, seeds),
        "batches": partial(batches, name, lam, _batches(draws)[0], draws, seeds),
        "dual": partial(ascents, name, lam, steps, seeds),
    }
    parts = {
        what: context.part(f"{name}, lam = {lam:.3g}, {what}", one) for what, one in work.items()
    }
    found = {
        **parts["plain"],
        **parts["others"],
        "projected": parts["projected"]["weighted"],
        "batches": parts["batches"],
        "SDCA": parts["dual"],
    }
    return {what: np.array(values) for what, values in found.items()}


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run everything for each problem and λ."""
    seeds, most = (3, 3e3) if context.quick else (SEEDS, MOST_STEPS)
    names, lams = (DATA[::2], LAMS[1:3]) if context.quick else (DATA, LAMS)
    table, optima, curves = [], {}, {}
    for name, lam in context.progress(list(product(names, lams)), "problems and λ"):
        key, steps = f"{name}, {lam:.3g}", _steps(lam, most)
        bracket = context.part(f"optimum of {key}", partial(optimum, name, lam))
        found, least = _runs(context, name, lam, steps, seeds), bracket["f*"]
        table += _crossings(name, lam, steps, found, least)
        excess = {kind: np.median(found[kind], axis=0) - least for kind in METHODS}
        curves[key] = {"data": name, "lam": lam, "T": steps} | {
            kind: [float(f"{value:.4g}") for value in values] for kind, values in excess.items()
        }
        optima[key] = bracket
    kinds = {kind: [row for row in table if row["kind"] == kind] for kind in LEVELS}
    return {
        "seeds": list(range(seeds)),
        "titles": {name: problem_of(name).title for name in names},
        "sizes": {name: problem_of(name).y.size for name in names},
        "lams": list(lams),
        "lam_draws": LAM_DRAWS,
        "levels": LEVELS,
        "optima": optima,
        "spreads": {kind: spread_of(rows) for kind, rows in kinds.items()},
        "table": table,
        "curves": curves,
    }


def _told_kinds() -> dict[str, tuple[str, str, str, str]]:
    """What crosses: in the figure, in a sentence, its colour and its line."""
    return {
        "close": ("near the optimum", "the average is within 10% of the optimum", BLACK, "-"),
        "gap": ("gap twice the truth", "its certified gap is over twice its f − f*", GREEN, "-."),
        "batches": ("batches are cheap", "batches cost less than twice as much", PURPLE, ":"),
        "average": ("average beats last", "the average beats the last iterate", BLUE, "-"),
        "projection": ("projection is over", "the projection is over", VERMILION, "--"),
    }


def _told_timed(results: dict[str, Any]) -> list[str]:
    """The kinds whose λT spans at most a third of the decades that their T spans."""
    spreads = {kind: _told_spreads(results)[kind] for kind in _told_kinds()}
    several = {kind: spread for kind, spread in spreads.items() if spread["crossings"] > 1}
    return [kind for kind, s in several.items() if 3 * s["decades_lam_T"] <= s["decades_T"]]


def _told_number(number: int) -> str:
    return ("none", "one", "two", "three", "four", "five")[number]


def _told_title(results: dict[str, Any]) -> str:
    """The finding in one sentence."""
    timed, spreads = _told_timed(results), _told_spreads(results)
    number = f"{_told_number(len(timed))} of {_told_number(len(spreads))} changes along a run"
    if not timed:
        return f"λT is not the clock: {number} keep its time"
    widest = rounded(max(spreads[kind]["decades_lam_T"] for kind in timed))
    steps = [spreads[kind]["decades_T"] for kind in timed]
    within = "a decade" if widest in ("1.0", "0.9") else f"{widest} decades"
    return (
        f"λT is the clock of {number}: they come within {within} of λT, where T spans "
        f"{span(steps)} decades"
    )


def _told_wins(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Every moment of every run from λT = 0.01 on, and how far each method is from the best."""
    moments = []
    for curve in results["curves"].values():
        m = results["sizes"][curve["data"]]
        excess = np.array([curve[kind] for kind in METHODS], dtype=float)
        behind = np.log(np.maximum(excess, 1e-300) / np.maximum(excess.min(axis=0), 1e-300))
        for T, column in zip(curve["T"], behind.T, strict=True):
            if (lam_T := curve["lam"] * T) > 0.0105:
                place = {"lam_T": lam_T, "epochs": T / m, "lam_m": curve["lam"] * m}
                moments.append({**place, "behind": column, "data": curve["data"]})
    return moments


def _told_cells(results: dict[str, Any]) -> list[tuple[float, float, str, float]]:
    """Cells of half a decade: their corner, the best method and how far ahead it is."""
    cells: dict[tuple[int, int], list[np.ndarray]] = {}
    for moment in _told_wins(results):
        place = [int(np.floor(2 * np.log10(moment[key]) - 0.01)) for key in ("lam_T", "epochs")]
        cells.setdefault((place[0], place[1]), []).append(moment["behind"])
    found = []
    for (x, y), columns in cells.items():
        mean = np.mean(columns, axis=0)
        first, second = np.sort(mean)[:2]
        best = METHODS[int(mean.argmin())]
        found.append((10 ** (x / 2), 10 ** (y / 2), best, float(np.exp(second - first))))
    return found


def _told_crossings(ax: Any, results: dict[str, Any], chosen: list[str], joined: bool) -> None:
    """Draw λT at some crossings against λ: markers for problems, lines for medians or problems."""
    markers = dict(zip(results["titles"], "os^D", strict=False))
    crossed = [row for row in results["table"] if row["state"] == "crossed"]
    names: dict[str, Any] = {}
    for kind, (name, _, color, line) in _told_kinds().items():
        rows = [row for row in crossed if row["kind"] == kind]
        lams = sorted({row["lam"] for row in rows}, reverse=True)
        if kind not in chosen or not lams:
            continue
        for data, marker in markers.items():
            own = [(row["lam"], row["lam_T"]) for row in rows if row["data"] == data]
            style = {"color": color, "lw": 0 if joined else 1.3, "ls": line, "alpha": 0.6}
            if own:
                ax.plot(*np.transpose(own), **style, marker=marker, ms=4)
        medians = [np.median([r["lam_T"] for r in rows if r["lam"] == lam]) for lam in lams]
        if joined:
            ax.plot(lams, medians, color=color, linestyle=line, linewidth=2)
        names[name] = (lams[-1:], medians[-1:], color)
    log_log(ax)
    ax.set(xlim=(2 * max(results["lams"]), min(results["lams"]) / 2), ylabel="λT of the change")
    ax.axhline(1, color=BLACK, linewidth=0.8, linestyle=":")
    name_lines(ax, names)


def _told_data(results: dict[str, Any], name: str) -> str:
    """The name of a problem without its kernel."""
    return str(results["titles"][name]).partition(",")[0].partition(" ")[0]


def _told_legend(ax: Any, handles: list[Any]) -> None:
    """Put a legend over the title of a panel."""
    place = {"bbox_to_anchor": (-0.12, 1.0), "columnspacing": 0.7, "handletextpad": 0.0}
    legend_above(ax, handles, over_title=True, fontsize=9, **place)


def _told_map(ax: Any, results: dict[str, Any]) -> None:
    """Draw the best method over λT and passes; pale where it is hardly ahead of the next."""
    from matplotlib.patches import Rectangle

    cells, step = _told_cells(results), 10**0.5
    for x, y, best, ahead in cells:
        size, alpha = (x * (step - 1), y * (step - 1)), 0.75 if ahead > 1.1 else 0.3
        ax.add_patch(Rectangle((x, y), *size, lw=0, color=look(best).color, alpha=alpha))
        ax.plot(x * step**0.5, y * step**0.5, look(best).marker, color="white", ms=4)
    handles = [
        ax.plot([], [], look(kind).marker, color=look(kind).color, label=name)[0]
        for kind in [kind for kind in METHODS if kind in {best for _, _, best, _ in cells}]
        for name in [look(kind).name.removesuffix(" iterate").removesuffix(" average")]
    ]
    log_log(ax, xlabel=words("lam_T"), ylabel="passes T/m")
    for which, column in (("xlim", 0), ("ylim", 1)):
        corners = [cell[:2][column] for cell in cells]
        ax.set(**{which: (min(corners), max(corners) * step)})
    ax.axvline(1, color=BLACK, linewidth=0.8, linestyle=":")
    ax.axhline(1, color=BLACK, linewidth=0.8, linestyle=":", zorder=3)
    ax.set_title("the best after T steps")
    _told_legend(ax, handles)


def _told_clock(results: dict[str, Any]) -> Claim:
    """The finding: how many changes keep the time of λT."""
    spreads, timed, lams = _told_spreads(results), _told_timed(results), results["lams"]
    if not timed:
        return Claim(f"{_told_title(results)}.", OURS, f"λ goes from {span(lams)}.")
    widest = rounded(max(spreads[kind]["decades_lam_T"] for kind in timed))
    found = (
        f"These ({', '.join(_told_kinds()[k][0] for k in timed)}) span at most {widest} decades of "
        f"λT over {len(results['titles'])} problems and λ from {span(lams)}, and "
        f"{span(spreads[k]['decades_T'] for k in timed)} decades of T."
    )
    if "close" in timed:
        at = _told_span(spreads["close"], "lam_T")
        found += f" The average comes within 10% of the optimum at λT = {at}."
    claim = f"{_told_number(len(timed)).capitalize()} of {_told_number(len(spreads))} changes"
    return Claim(f"{claim} along a run come at a certain λT, not at a certain T.", OURS, found)


def _told_changes(results: dict[str, Any]) -> Claim:
    """At which λT each change comes."""
    spreads, kinds, timed = _told_spreads(results), _told_kinds(), _told_timed(results)
    told = [
        f"{kinds[kind][1]} from λT = {_told_span(spreads[kind], 'lam_T')} on "
        f"({spreads[kind]['crossings']} of {spreads[kind]['of']} cases)"
        for kind in timed
    ]
    other = [
        f"{kinds[kind][1]} from λT = {_told_span(spreads[kind], 'lam_T')} on, "
        f"T ∝ λ^{exponent(-spreads[kind]['exponent'])} ({spreads[kind]['crossings']} cases, "
        f"{spreads[kind]['beyond']} later)"
        for kind in kinds
        if kind not in timed and spreads[kind].get("exponent") is not None
    ]
    found = f"These keep the time of λT: {'; '.join(told)}." if told else ""
    if other:
        found += f" These do not: {'; '.join(other)}."
    return Claim("The λT at which each change comes.", OURS, found.strip())


def _told_span(spread: dict[str, Any], key: str) -> str:
    return span([spread[f"{key}_from"], spread[f"{key}_to"]])


def _told_best(results: dict[str, Any]) -> Claim:
    """What the map shows."""
    moments, dual = _told_wins(results), METHODS.index("SDCA")
    inside = np.array([m["lam_T"] >= 1 and m["epochs"] <= 1 for m in moments])
    behind = np.array([m["behind"] for m in moments])
    pegasos = behind.argmin(axis=1) != dual
    factor = np.exp(behind[:, dual] - behind[:, :dual].min(axis=1))
    shares = [float(pegasos[which].mean()) for which in (inside, ~inside)]
    clear = shares[0] > 0.5 > 2 * shares[1]
    where = "only where λT exceeds 1 within the first pass" if clear else "here and there"
    return Claim(
        f"After the same number of steps, Pegasos is ahead of dual ascent {where}.",
        OURS,
        f"Where λT ≥ 1 and T ≤ m, one of the four iterates of Pegasos is the best in "
        f"{percent(shares[0], 0)} of the moments, and elsewhere in {percent(shares[1], 0)}. SDCA "
        f"is {rounded(float(np.median(factor[inside])))} times as far from the optimum as the best "
        f"of these four there, and {rounded(float(np.median(factor[~inside])))} times elsewhere "
        "(medians; Pegasos draws independently, SDCA by permutations).",
    )


def _told_averages(results: dict[str, Any]) -> Claim:
    """Where the average overtakes the last iterate at all."""
    told, numbers = [], []
    for name in results["titles"]:
        rows = [r for r in results["table"] if (r["kind"], r["data"]) == ("average", name)]
        found = [row["lam_T"] for row in rows if row["state"] == "crossed"]
        at = f" (λT = {span(found)})" if found else ""
        told.append(f"{len(found)} of {len(rows)} λ on {_told_data(results, name)}{at}")
        numbers.append(len(found))
    apart = max(numbers) - min(numbers) >= 2
    return Claim(
        "Whether the t-weighted average overtakes the last iterate at all depends on the "
        f"{'problem, and not on λT alone' if apart else 'λ, and hardly on the problem'}.",
        OURS,
        f"With independent draws it does so for {listed(told)}. Elsewhere the last iterate is as "
        "good or better to the end of the run, or the two are too close to tell.",
    )


def claims(results: dict[str, Any]) -> list[Claim]:
    """The clock, the map, and where averaging pays."""
    return [tell(results) for tell in (_told_clock, _told_changes, _told_best, _told_averages)]


def plot(results: dict[str, Any]) -> Figure:
    """Crossings in λT against λ, and a map of the best method."""
    figure, axes = panels(2, 2, 6.0, sharex="col", sharey="col")
    grid = axes[0, 0].get_gridspec()
    for ax in axes[:, 1]:
        ax.remove()
    timed = _told_timed(results)
    _told_crossings(axes[0, 0], results, timed, True)
    _told_crossings(axes[1, 0], results, [k for k in _told_kinds() if k not in timed], False)
    axes[0, 0].set_title("these keep the time of λT")
    axes[1, 0].set(title="these do not", xlabel=f"{words('lam')}  (falls to the right)")
    handles = [
        axes[0, 0].plot([], [], marker, color=GREY, label=_told_data(results, name))[0]
        for name, marker in zip(results["titles"], "os^D", strict=False)
    ]
    _told_legend(axes[0, 0], handles)
    _told_map(figure.add_subplot(grid[:, 1]), results)
    state(
        figure,
        _told_title(results),
        "Left: markers are problems, the upper lines medians; what never came counts and is not "
        "drawn. Right: the least f − f* in the mean, pale if the next is within 10%. "
        f"{len(results['seeds'])} seeds.",
    )
    return figure
