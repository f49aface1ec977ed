"""When five changes along a run come, over five decades of λ and four problems.

Crossings, each for every λ and problem, from independent draws: the t-weighted average comes
within 10% of the optimum; its certified gap exceeds twice its suboptimality; it beats the last
iterate; the projection changes its suboptimality by less than 10%; batches cost less than twice
the suboptimality for the same draws. Each is the step that best divides the run into before and
after, by the median over the seeds. The map has the best of last iterate, three averages and dual
coordinate ascent (SDCA) for the same number of steps, against λT and the passes T/m.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from experiments import _plots as plots
from experiments._claims import OURS, Claim, exponent, listed, percent, rounded, span
from experiments._run import ExperimentContext
from experiments._runs import Setting, hinge_objective, histories, setting, spaced
from experiments._tables import Row, columns, grouped, select, shortened
from kpegasos import make_problem, make_rows, pegasos
from kpegasos.core.state import PegasosOptions, new_state
from kpegasos.datasets import load_adult, load_covtype, load_usps
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.solvers.pegasos import PegasosRun, make_run
from kpegasos.solvers.polish import polish
from kpegasos.solvers.stopping import Stopper

FULL_TIME = "7 min"
QUICK_TIME = "10 s"

DATA = ("moons", "usps", "adult", "covtype")
LAMS = tuple(10.0 ** -np.arange(0.5, 6))
SEEDS = 10
#: The last λT, and the steps that may be fewer than it takes if λT is at least the other one.
MOST_LAM_T, LEAST_LAM_T, MOST_STEPS = 100.0, 10.0, 1_000_000
PER_DECADE = 6
#: Batch sizes beside 1, and λkT, their number of draws.
SIZES, LAM_DRAWS = (10, 30, 100, 300, 1000), 10.0
METHODS = ("last", "weighted", "suffix", "uniform", "SDCA")
TOL = 1e-8
#: What crosses: a ratio, and the level below which it is to stay.
LEVELS = {"close": 0.1, "gap": 0.5, "average": 1.0, "projection": 1.1, "batches": 2.0}
REPLICATES = 200


# Runs. Rows have at most length one in all four problems: 1/λ is what the theory measures T by.


@cache
def problem_of(name: str) -> Setting:
    """Make labels and rows; kernel matrices are held, of the linear kernel too."""
    if name == "moons":
        return setting(name)
    data: Any = {"usps": load_usps, "adult": load_adult}.get(name, load_covtype)
    data = data(positive=1) if name == "covtype" else data()
    chosen = np.random.default_rng(0).permutation(data.y_train.size)
    chosen = chosen[: 2000 if name == "usps" else 1000]
    X, y = data.X_train[chosen].astype(float), data.y_train[chosen]
    if name == "usps":
        rows = make_rows(X, "rbf", gamma=2 / 256, cache="precomputed")
        return Setting("USPS even/odd, RBF", np.where(y % 2 == 0, 1, -1), rows)
    title = {"adult": "Adult, linear", "covtype": "Covertype, linear"}[name]
    return Setting(title, y, make_rows(normalize(X), "linear", cache="precomputed"))


def _problem(name: str, lam: float) -> tuple[Any, Any]:
    _, y, rows = problem_of(name)
    return make_problem(y, lam), rows


def optimum(name: str, lam: float) -> Row:
    """Bracket the optimum by polishing an epoch of Pegasos; ``"f*"`` is the lower end."""
    options: Any = {"n_steps": None, "epochs": 1, "checkpoints": None, "tol": None, "seed": 0}
    run, stopper = make_run(*_problem(name, lam), PegasosOptions(), **options), Stopper()
    while not run.finished:
        run.advance(stopper)
    found = polish(run, tol=TOL, max_epochs=100_000, stopper=stopper)
    return {"f*": found.dual_bound, "objective": found.objective, "gap": found.gap}


def weighted(name: str, lam: float, steps: list[int], seeds: int, projection: bool) -> Row:
    """Objective of the last and of the t-weighted iterate, and the gap, a row for each seed."""
    columns = {"last": "objective_last", "weighted": "objective_average", "gap": "gap"}
    options: Any = {"n_steps": steps[-1], "checkpoints": steps, "projection": projection}
    return histories(*_problem(name, lam), seeds, columns, sampling="uniform", **options)


def others(name: str, lam: float, steps: list[int], seeds: int) -> Row:
    """Objective of the suffix and of the uniform average of the same iterates."""
    found: Row = {"suffix": [], "uniform": []}
    for seed in range(seeds):
        uniform: list[float] = []

        def note(run: PegasosRun, values: list[float] = uniform) -> None:
            # Both averages are made from the same sums.
            iterate = run.state.iterate("uniform")
            (model,) = run.rows.evaluate([iterate], run.state.loop, run.examples)
            values.append(
                hinge_objective(problem_of(name).y, model.margins, model.squared_norm, lam)
            )

        options: Any = {"sampling": "uniform", "average": "suffix", "monitor": note}
        options |= {"n_steps": steps[-1], "checkpoints": steps, "random_state": seed}
        history = pegasos(*_problem(name, lam), **options).history
        found["suffix"].append(history["objective_average"])
        found["uniform"].append(uniform)
    return found


def batches(name: str, lam: float, sizes: list[int], draws: int, seeds: int) -> np.ndarray:
    """Objective of the t-weighted average after so many draws, for each size and each seed."""
    problem, rows = _problem(name, lam)
    options: Any = {"sampling": "uniform", "checkpoints": None}
    runs = [
        pegasos(problem, rows, n_steps=draws // k, batch_size=k, random_state=seed, **options)
        for seed in range(seeds)
        for k in sizes
    ]
    return np.reshape([run.objective for run in runs], (seeds, len(sizes)))


def ascents(name: str, lam: float, steps: list[int], seeds: int) -> np.ndarray:
    """Objective of dual coordinate ascent after each number of its steps, a row for each seed."""
    (problem, rows), values = _problem(name, lam), []
    for seed in range(seeds):
        state = new_state(rows.n_samples, rows.image_size, PegasosOptions(average=None), lam, seed)
        state.loss = problem.loss
        ascent = DualAscent(problem, rows, state, max_epochs=1 + steps[-1] // rows.n_samples)
        for step in steps:
            ascent.take_steps(step, Stopper())
            values.append(ascent.evaluate()[0].objective)
    return np.reshape(values, (seeds, len(steps)))


def _batches(draws: int) -> tuple[list[int], list[int]]:
    """Batch sizes, the largest first, and their steps; single examples are the last."""
    sizes = [k for k in SIZES if k <= draws][::-1]
    return sizes, [*(draws // k for k in sizes), draws]


def _runs(
    context: ExperimentContext, name: str, lam: float, steps: list[int], seeds: int
) -> dict[str, np.ndarray]:
    """All that is measured for one problem and one λ, a row for each seed."""
    draws = round(LAM_DRAWS / lam)
    key, where = f"{name}, lam = {lam:.3g}", (name, lam, steps, seeds)
    sizes = (_batches(draws)[0], draws, seeds)
    found = {
        **context.part(f"{key}, plain", weighted, *where, False),
        "projected": context.part(f"{key}, projected", weighted, *where, True)["weighted"],
        **context.part(f"{key}, others", others, *where),
        "batches": context.part(f"{key}, batches", batches, name, lam, *sizes),
        "SDCA": context.part(f"{key}, dual", ascents, *where),
    }
    return {what: np.array(values) for what, values in found.items()}


# Crossings: the step that divides a run into before and after


def crossing(steps: Sequence[int], ratio: np.ndarray, level: float) -> float | None:
    """Return the step that best divides a run into above and below a level; None if none does.

    It is the one up to which the logarithms of ratio over level have the largest sum, so that a
    swing back to the level, as noise makes them, does not count. Between two steps the logarithms
    are joined by a line.
    """
    height, at = np.log(np.asarray(ratio) / level), np.log(np.asarray(steps, dtype=float))
    i = int(np.argmax(np.concatenate(([0.0], np.cumsum(height))))) - 1
    if i == at.size - 1:
        return None
    if i < 0:
        return float(steps[0])
    share = height[i] / (height[i] - height[i + 1])
    return float(np.exp(at[i] + share * (at[i + 1] - at[i])))


def crossing_of(steps: Sequence[int], ratios: np.ndarray, level: float) -> Row:
    """Return the crossing of the median over the seeds, and 20–80% over resampled seeds.

    Its ``"state"`` is "crossed", "always" if the ratio is below the level from the first step on,
    "never" if it ends above, or "unclear" if resampling moves it by more than a decade.
    """
    rng, found = np.random.default_rng(0), []
    for _ in range(REPLICATES):
        rows = ratios[rng.integers(len(ratios), size=len(ratios))]
        at = crossing(steps, np.median(rows, axis=0), level)
        found.append(np.inf if at is None else at)
    low, high = np.sort(found)[[REPLICATES // 5, 4 * REPLICATES // 5]]
    T = crossing(steps, np.median(ratios, axis=0), level)
    state = "crossed" if high <= 10 * low else "unclear"
    if T is None:
        state = "never"
    elif steps[0] >= T:
        state = "always"
    return {"T": T, "T_20": low, "T_80": high, "state": state}


def _crossings(
    name: str, lam: float, steps: list[int], found: dict[str, np.ndarray], least: float
) -> list[Row]:
    """A row of the table for each kind of crossing."""
    draws = round(LAM_DRAWS / lam)
    excess = found["weighted"] - least
    # With the same seed, batches of one are the run itself.
    one = excess[:, [steps.index(draws)]]
    # What is to fall below its level, a row for each seed.
    ratios = {
        "close": excess / least,
        "gap": excess / found["gap"],
        "average": excess / (found["last"] - least),
        "projection": excess / (found["projected"] - least),
        "batches": np.hstack([(found["batches"] - least) / one, np.ones_like(one)]),
    }
    rows = []
    for kind, ratio in ratios.items():
        at = _batches(draws)[1] if kind == "batches" else steps
        row: Row = {"kind": kind, "data": name, "lam": lam, "last_lam_T": lam * at[-1]}
        row |= crossing_of(at, ratio, LEVELS[kind])
        rows.append({**row, "lam_T": None if row["T"] is None else lam * row["T"]})
    return rows


def decades(values: Sequence[float]) -> float:
    """Return the decades that some values span."""
    return float(np.log10(max(values) / min(values)))


def exponent_of(rows: Sequence[Row]) -> float:
    """Fit p of T ~ λ^−p, with a constant for each problem."""
    x, y = [], []
    for own in grouped(rows, "data").values():
        lam, T = np.log(columns(own, "lam", "T"))
        x += (lam - lam.mean()).tolist()
        y += (T - T.mean()).tolist()
    return float(-np.dot(x, y) / np.dot(x, x)) if np.dot(x, x) else float("nan")


def spread_of(rows: Sequence[Row]) -> Row:
    """Say how far the crossings of a kind lie apart, by T and by λT.

    One that did not come counts where its run ended.
    """
    known = select(rows, state="crossed")
    found: Row = {"crossings": len(known), "of": len(rows), "beyond": 0}
    if known:
        T, lam_T = columns(known, "T", "lam_T")
        lam, ended = columns(select(rows, state="never"), "lam", "last_lam_T")
        for key, values, ends in (("T", T, ended / lam), ("lam_T", lam_T, ended)):
            found[f"decades_{key}"] = decades([values.min(), max([values.max(), *ends])])
        found |= {"lam_T_from": lam_T.min(), "lam_T_to": lam_T.max()}
        found |= {"exponent": exponent_of(known), "beyond": int((ended > lam_T.max()).sum())}
    return found


def compute(context: ExperimentContext) -> Row:
    """Run everything for each problem and λ."""
    seeds, most = (3, 3e3) if context.quick else (SEEDS, MOST_STEPS)
    names, lams = (DATA[::2], LAMS[1:3]) if context.quick else (DATA, LAMS)
    table, optima, curves = [], {}, {}
    for name, lam in context.progress(product(names, lams), "problems and λ"):
        key = f"{name}, {lam:.3g}"
        steps = spaced(min(MOST_LAM_T / lam, max(most, LEAST_LAM_T / lam)), PER_DECADE)
        optima[key] = context.part(f"optimum of {key}", optimum, name, lam)
        found, least = _runs(context, name, lam, steps, seeds), optima[key]["f*"]
        table += _crossings(name, lam, steps, found, least)
        excess = {kind: np.median(found[kind], axis=0) - least for kind in METHODS}
        curves[key] = {"data": name, "lam": lam, "T": steps} | {
            kind: shortened(values, 4) for kind, values in excess.items()
        }
    return {
        "seeds": list(range(seeds)),
        "titles": {name: problem_of(name).title for name in names},
        "sizes": {name: problem_of(name).y.size for name in names},
        "lams": list(lams),
        "optima": optima,
        "table": table,
        "curves": curves,
    }


# What came out

#: What crosses: in the figure, in a sentence, its colour and its line.
KINDS = {
    "close": ("near the optimum", "the average is within 10% of the optimum", plots.BLACK, "-"),
    "gap": ("gap twice the truth", "its certified gap is over twice its f − f*", plots.GREEN, "-."),
    "batches": ("batches are cheap", "batches cost less than twice as much", plots.PURPLE, ":"),
    "average": ("average beats last", "the average beats the last iterate", plots.BLUE, "-"),
    "projection": ("projection is over", "the projection is over", plots.VERMILION, "--"),
}
MARKERS = "os^D"


def _told_spreads(results: Row) -> dict[str, Row]:
    """Return how far the crossings of each kind lie apart."""
    return {kind: spread_of(select(results["table"], kind=kind)) for kind in KINDS}


def _told_timed(results: Row) -> list[str]:
    """The kinds whose λT spans at most a third of the decades of their T, or a fifth less."""
    several = {kind: s for kind, s in _told_spreads(results).items() if s["crossings"] > 1}
    return [kind for kind, s in several.items() if s["decades_T"] >= 3.6 * s["decades_lam_T"]]


def _told_title(results: Row) -> str:
    """The finding in one sentence."""
    timed = "close" in _told_timed(results)
    return (
        f"λT{', not T,' if timed else ' alone does not'} tell{'s' * timed} how far a run has come"
    )


def _told_wins(results: Row) -> list[Row]:
    """Every moment of every run from λT = 0.01 on, and how far each method is from the best."""
    moments = []
    for curve in results["curves"].values():
        m = results["sizes"][curve["data"]]
        excess = np.array([curve[kind] for kind in METHODS], dtype=float)
        behind = np.log(np.maximum(excess, 1e-300) / np.maximum(excess.min(axis=0), 1e-300))
        for T, column in zip(curve["T"], behind.T, strict=True):
            if (lam_T := curve["lam"] * T) > 0.0105:
                moments.append({"lam_T": lam_T, "epochs": T / m, "behind": column})
    return moments


def _told_cells(results: Row) -> list[tuple[float, float, str, float]]:
    """Cells of half a decade: their corner, the best method and how far ahead it is."""
    cells: dict[tuple[int, ...], list[np.ndarray]] = {}
    for moment in _told_wins(results):
        place = (np.floor(2 * np.log10(moment[key]) - 0.01) for key in ("lam_T", "epochs"))
        cells.setdefault(tuple(map(int, place)), []).append(moment["behind"])
    found = []
    for (x, y), behind in cells.items():
        mean = np.mean(behind, axis=0)
        first, second = np.sort(mean)[:2]
        best = METHODS[int(mean.argmin())]
        found.append((10 ** (x / 2), 10 ** (y / 2), best, float(np.exp(second - first))))
    return found


def _told_clock(results: Row) -> Claim:
    """The finding: what says how near a run is to the optimum."""
    near = _told_spreads(results)["close"]
    found = f"{len(results['titles'])} problems and λ from {span(results['lams'])}"
    if near["crossings"] > 1:
        found = (
            f"Over {found}, the average comes within 10% of the optimum at λT = {_told_span(near)}:"
            f" {rounded(near['decades_lam_T'])} decades of λT, and {rounded(near['decades_T'])} of "
            f"T. A bound of 1/(λT) says so."
        )
    else:
        found = f"Over {found}, hardly any run comes within 10% of the optimum."
    return Claim(f"{_told_title(results)}.", OURS, found)


def _told_changes(results: Row) -> Claim:
    """At which λT each change comes, and how its step depends on λ."""
    told = []
    for kind, spread in _told_spreads(results).items():
        if np.isfinite(spread.get("exponent", np.nan)):
            later = f", {spread['beyond']} after the end" if spread["beyond"] else ""
            told.append(
                f"{KINDS[kind][1]} from λT = {_told_span(spread)} on, T ∝ "
                f"λ^{exponent(-spread['exponent'])} ({_told_exponents(results, kind)} by the "
                f"problem; {spread['crossings']} of {spread['of']} cases{later})"
            )
    return Claim(
        f"{len(_told_timed(results))} of {len(KINDS)} changes along a run come at nearly the same "
        "λT, whatever λ is.",
        OURS,
        f"They are: {'; '.join(told)}. Where λT is the clock the exponent is −1.",
    )


def _told_exponents(results: Row, kind: str) -> str:
    """The exponents of λ in the step of a change, from the least to the most."""
    crossed = select(results["table"], kind=kind, state="crossed")
    found = [exponent_of(rows) for rows in grouped(crossed, "data").values() if len(rows) > 2]
    ends = (max(found), min(found)) if found else ()
    return " to ".join(dict.fromkeys(exponent(-end) for end in ends)) or "too few"


def _told_span(spread: Row) -> str:
    return span([spread["lam_T_from"], spread["lam_T_to"]])


def _told_best(results: Row) -> Claim:
    """Say what the map shows."""
    moments, dual = _told_wins(results), METHODS.index("SDCA")
    inside = np.array([m["lam_T"] >= 1 and m["epochs"] <= 1 for m in moments])
    behind = np.array([m["behind"] for m in moments])
    ahead = behind.argmin(axis=1) != dual
    factor = np.exp(behind[:, dual] - behind[:, :dual].min(axis=1))
    (share, rest), (near, far) = (
        [float(f(values[which])) for which in (inside, ~inside)]
        for f, values in ((np.mean, ahead), (np.median, factor))
    )
    where = "here and there"
    if share > 0.5 > 2 * rest:
        where = "only where λT exceeds 1 within the first pass"
    return Claim(
        f"After the same number of steps, Pegasos is ahead of dual ascent {where}.",
        OURS,
        f"Where λT ≥ 1 and T ≤ m, one of the four iterates of Pegasos is the best at "
        f"{percent(share, 0)} of the moments, elsewhere at {percent(rest, 0)}. SDCA "
        f"is {rounded(near)} times as far from the optimum as the best "
        f"of these four there, {rounded(far)} times elsewhere "
        "(medians; Pegasos draws independently, SDCA by permutations).",
    )


def _told_averages(results: Row) -> Claim:
    """Say where the average overtakes the last iterate at all."""
    told, numbers = [], []
    for name, rows in grouped(select(results["table"], kind="average"), "data").items():
        found = [row["lam_T"] for row in select(rows, state="crossed")]
        at = f" (λT = {span(found)})" if found else ""
        told.append(f"{len(found)} of {len(rows)} λ on {_told_data(results, name)}{at}")
        numbers.append(len(found))
    apart = max(numbers) - min(numbers) >= 2
    return Claim(
        "Whether the t-weighted average overtakes the last iterate at all depends on the "
        f"{'problem, and not on λT alone' if apart else 'λ, and hardly on the problem'}.",
        OURS,
        f"With independent draws it does so for {listed(told)}. Elsewhere the last iterate is as "
        "good or better until the end, or the two are too close to tell.",
    )


def claims(results: Row) -> list[Claim]:
    """The clock, the map, and where averaging pays."""
    return [tell(results) for tell in (_told_clock, _told_changes, _told_best, _told_averages)]


def _told_crossings(ax: plots.Axes, results: Row, kind: str) -> None:
    """Draw λT at a change against λ: a line for each problem, and the median."""
    name, _, color, _ = KINDS[kind]
    rows, spread = (
        select(results["table"], kind=kind, state="crossed"),
        _told_spreads(results)[kind],
    )
    for data, marker in zip(results["titles"], MARKERS, strict=False):
        own = [(row["lam"], row["lam_T"]) for row in select(rows, data=data)]
        if own:
            ax.plot(*np.transpose(own), color=color, marker=marker, ms=4, lw=0.8, alpha=0.5)
    lams = sorted({row["lam"] for row in rows}, reverse=True)
    medians = [np.median([row["lam_T"] for row in select(rows, lam=lam)]) for lam in lams]
    ax.plot(lams, medians, color=color, linewidth=2.5)
    plots.log_log(ax)
    ax.axhline(1, color=plots.BLACK, linewidth=0.8, linestyle=":")
    parts = [f"{spread[f'decades_{key}']:.1f}" for key in ("lam_T", "T") if rows]
    ax.set_title(f"{name}\ndecades: λT {', T '.join(parts)}", fontsize=10.5)


def _told_data(results: Row, name: str) -> str:
    """The name of a problem without its kernel."""
    return str(results["titles"][name]).partition(",")[0].partition(" ")[0]


def _told_map(ax: plots.Axes, results: Row) -> None:
    """Draw the best method over λT and passes; pale where it is hardly ahead of the next."""
    from matplotlib.patches import Rectangle

    cells, step = _told_cells(results), 10**0.5
    for x, y, best, ahead in cells:
        size, alpha = (x * (step - 1), y * (step - 1)), 0.75 if ahead > 1.1 else 0.3
        ax.add_patch(Rectangle((x, y), *size, lw=0, color=plots.METHODS[best].color, alpha=alpha))
        ax.plot(x * step**0.5, y * step**0.5, plots.METHODS[best].marker, color="white", ms=4)
    for look in [plots.METHODS[kind] for kind in METHODS if kind in {cell[2] for cell in cells}]:
        name = look.name.removesuffix(" iterate").removesuffix(" average")
        ax.plot([], [], look.marker, color=look.color, label=name)
    tight = {"columnspacing": 0.6, "handletextpad": -0.2}
    plots.log_log(ax, xlabel=plots.WORDS["lam_T"], ylabel="passes T/m")
    xs, ys, *_ = zip(*cells, strict=True)
    ax.set(xlim=(min(xs), max(xs) * step), ylim=(min(ys), max(ys) * step))
    ax.axvline(1, color=plots.BLACK, linewidth=0.8, linestyle=":")
    ax.axhline(1, color=plots.BLACK, linewidth=0.8, linestyle=":", zorder=3)
    ax.set_title("\nthe best after T steps", fontsize=10.5)
    ax.legend(loc="lower left", bbox_to_anchor=(-0.35, 1.13), ncols=4, fontsize=9, **tight)


def plot(results: Row) -> plots.Figure:
    """Crossings in λT against λ, a panel for each change, and a map of the best method."""
    timed = _told_timed(results)
    kinds = [*timed, *(kind for kind in KINDS if kind not in timed)]
    figure = plots.empty(6.6)
    axes = figure.subplots(2, 3)
    *changes, best = axes.flat
    for ax, kind in zip(changes, kinds, strict=True):
        ax.sharex(changes[0])
        ax.sharey(changes[0])
        _told_crossings(ax, results, kind)
        ax.set(facecolor="#F0F4F8" if kind in timed else "white")
    changes[0].set_xlim(2 * max(results["lams"]), min(results["lams"]) / 2)
    for ax in axes[:, 0]:
        ax.set_ylabel("λT of the change")
    for ax in axes[1, :2]:
        ax.set_xlabel(f"{plots.WORDS['lam']}  (falls to the right)")
    names = {
        _told_data(results, name): {"marker": marker, "color": plots.GREY, "linestyle": "none"}
        for name, marker in zip(results["titles"], MARKERS, strict=False)
    }
    handles = [plots.handle(name, **style) for name, style in names.items()]
    changes[0].legend(handles=handles, loc="lower left", ncols=2, fontsize=9, columnspacing=0.5)
    for ax in axes[:, 1:].flat[:-1]:
        ax.tick_params(labelleft=False)
    _told_map(best, results)
    return plots.state(
        figure,
        f"λT{', not T, tells' if 'close' in timed else ' alone does not tell'} nearness to the "
        "optimum",
        "Decades that λT and T span over all problems and λ; what never came counts and is not "
        "drawn. Tinted: λT spans at most 1/3.6 of the decades. Thick: medians. Map: the least "
        f"f − f* in the mean, pale if the next is within 10%. {len(results['seeds'])} seeds.",
    )
