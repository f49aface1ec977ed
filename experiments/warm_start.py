"""The worth of a warm start: kernel values of a polished run after more or less Pegasos.

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
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from experiments import _plots as plots
from experiments._claims import OURS, Claim, listed, percent, rounded, span
from experiments._kernel import PROBLEMS, Task, judge, load
from experiments._run import ExperimentContext
from experiments._tables import Row, columns, select
from kpegasos import RBF, make_problem, make_rows
from kpegasos.core.state import PegasosOptions, new_state
from kpegasos.fitting.inputs import POLISH_DRAWS, POLISH_EPOCHS
from kpegasos.solvers.dual_ascent import DualAscent
from kpegasos.solvers.pegasos import make_run
from kpegasos.solvers.polish import WorkingSetAscent
from kpegasos.solvers.stopping import Stopper

FULL_TIME = "4 min"
QUICK_TIME = "10 s"


class Kind(NamedTuple):
    """A set of data: the problem of the kernel benchmark that it is taken from, and a name."""

    problem: str
    title: str
    size: int


KINDS = (
    Kind("moons 2,000", "Two moons", 2000),
    Kind("T-shirt or shirt", "T-shirt or shirt", 6000),
    Kind("MNIST 8", "MNIST 8", 6000),
    Kind("Adult", "Adult", 6000),
    Kind("Covertype, C = 100", "Covertype, C = 100", 6000),
)
#: Certified relative gaps, the loosest first.
TOLERANCES = (0.1, 0.01, 0.001)
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
LOOKS = (
    *((plots.GREEN, "^"), (plots.VERMILION, "s"), (plots.BLUE, "o")),
    *((plots.SKY, "D"), (plots.DARK_GREY, "v")),
)
_CACHE_MB = 3000
#: Passes of an ascent at the most.
_MOST_EPOCHS = 250
#: The first tolerance of LIBSVM, and the least factor of a next one.
_FIRST_TOL, _LEAST_FACTOR = 1.0, 0.02


# Runs. Ascents go on from level to level of the gap, so that one run serves all of them.


def sample(kind: Kind, seed: int, most: int | None) -> tuple[Task, np.ndarray]:
    """Take float64 examples of a set by a seed, new ones where they are made; and labels ±1."""
    size = min(kind.size, most or kind.size)
    task = load(kind.problem, None, "float64")
    if kind.problem.startswith("moons"):
        X, y = make_moons(size, noise=0.25, random_state=seed)
        gamma = 1.0 / (X.shape[1] * X.var())
        task = task._replace(X=X, y=y, gamma=gamma, C=PROBLEMS[kind.problem].C)
    else:
        members = np.random.default_rng(seed).choice(len(task.y), size, replace=False)
        task = task._replace(X=np.ascontiguousarray(task.X[members]), y=task.y[members])
    return task, np.where(task.y == task.y.max(), 1.0, -1.0)


def draws_of(start: str, n_samples: int) -> int:
    """Return the draws of a start by its name: "0", "1 step", "default", or a number of epochs."""
    if start == "1 step":
        return 1
    if start == DEFAULT:
        return min(math.ceil(POLISH_EPOCHS * n_samples), POLISH_DRAWS)
    return math.ceil(float(start) * n_samples)


class Climber:
    """An ascent that counts the kernel values of its certificates apart.

    Parameters
    ----------
    task : Task
    y : ndarray of shape (n_samples,)
        Labels ±1.
    draws : int
        Draws of Pegasos before; without any the ascent begins at zero.
    seed : int
        Of the draws.
    kind : type of DualAscent, default WorkingSetAscent
        What ascends, from zero.
    """

    def __init__(
        self,
        task: Task,
        y: np.ndarray,
        draws: int,
        seed: int,
        kind: type[DualAscent] = WorkingSetAscent,
    ) -> None:
        options: Row = {"cache": "cached", "cache_mb": _CACHE_MB}
        rows: Any = make_rows(task.X, "rbf", gamma=task.gamma, intercept_scaling=1.0, **options)
        self.of_certificates, settle = 0, rows.settle

        def counted(*arguments: Any, **more: Any) -> Any:
            before = rows.evaluations
            found = settle(*arguments, **more)
            self.of_certificates += rows.evaluations - before
            return found

        rows.settle = counted
        problem = make_problem(y, C=task.C)
        if draws:
            once: Row = {"epochs": None, "checkpoints": None, "tol": None, "seed": seed}
            run = make_run(problem, rows, PegasosOptions(), n_steps=draws, **once)
            while not run.finished:
                run.advance(Stopper())
            self.ascent: DualAscent = WorkingSetAscent.after(run, max_epochs=_MOST_EPOCHS)
        else:
            state = new_state(
                rows.n_samples, rows.image_size, PegasosOptions(average=None), problem.lam, seed
            )
            state.loss = problem.loss
            self.ascent = kind(problem, rows, state, max_epochs=_MOST_EPOCHS)

    def now(self) -> Row:
        """Return kernel values of the ascent, those of certificates, and the best iterate's gap."""
        evaluations = self.ascent.state.evaluations - self.of_certificates
        _, best = self.ascent.evaluate()
        return {
            "evaluations": evaluations,
            "of_certificates": self.of_certificates,
            "support": int(np.count_nonzero(best.coef)),
            "gap": 1.0 - self.ascent.state.best_dual / best.objective,
            "moves": self.ascent.state.steps,
        }

    def climb(self) -> list[Row | None]:
        """Go to each of `TOLERANCES`; those that are not reached are None."""
        stopper = Stopper()
        levels: list[Row | None] = []
        for tol in TOLERANCES:
            if not self.ascent.reaches(tol, stopper):
                self.ascent.status = "running"
                while not self.ascent.finished:
                    self.ascent.advance(stopper, tol)
            if not self.ascent.reaches(tol, stopper):
                return levels + [None] * (len(TOLERANCES) - len(levels))
            levels.append(self.now())
        return levels


def polished(task: Task, y: np.ndarray, start: str, seed: int) -> Row:
    """Go from a start, as `draws_of` takes it, to each of `TOLERANCES`."""
    climber = Climber(task, y, draws_of(start, y.size), seed)
    return {"before": climber.now(), "levels": climber.climb()}


def in_random_order(task: Task, y: np.ndarray, seed: int) -> Row:
    """Ascend one example at a time, in random order, as `sdca` does."""
    return {"levels": Climber(task, y, 0, seed, DualAscent).climb()}


def by_libsvm(task: Task) -> Row:
    """Find tolerances at which the models of `SVC` have the gaps, and its iterations.

    The problem of `SVC` has an intercept that is free and ours one that is penalised. So its
    models are held to the same relative gap, that of its own problem and own dual. It is given the
    kernel matrix, which makes no difference to its iterations.
    """
    matrix = RBF(task.gamma).block(task.X, task.X)
    tol, levels = _FIRST_TOL, []
    found: Row = {"gap": math.inf}
    for level in TOLERANCES:
        while found["gap"] > level:
            if math.isfinite(found["gap"]):
                tol *= max(_LEAST_FACTOR, min(0.7, 0.8 * level / found["gap"]))
            model = SVC(C=task.C, kernel="precomputed", tol=tol).fit(matrix, task.y)
            judged = judge(model, task)
            found = {
                "iterations": int(model.n_iter_[0]),
                "support": int(model.support_.size),
                "gap": 1.0 - judged["dual_bound"] / judged["objective"],
            }
        levels.append(found)
    return {"levels": levels}


def _columns(key: str, values: Any) -> dict[str, float]:
    """Median, and 20 and 80% of many seeds or the range of few."""
    low, high = (20, 80) if len(values) >= SEEDS else (0, 100)
    found = np.percentile(values, [low, 50, high]).tolist()
    return dict(zip((f"{key}_low", key, f"{key}_high"), found, strict=True))


def _middle(parts: list[Row], key: str) -> float:
    return float(np.median(columns(parts, key)))


def _rows_of_set(kind: Kind, size: int, runs: dict[str, list[Any]]) -> list[Row]:
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
            row: Row = {"data": kind.title, "m": size, "way": way, "tol": tol}
            reached = None not in levels
            if reached and way != LIBSVM:
                (values,) = columns(levels, "evaluations")
                none = [run["levels"][at] for run in runs["0"][: values.size]]
                row |= _columns("ratio", values / needed[: values.size])
                if None not in none:
                    ratios = values / columns(none, "evaluations")[0]
                    row["against_none"] = float(np.median(ratios))
                row["kernel_rows"] = float(np.median(values)) / size
                row["certificate_rows"] = _middle(levels, "of_certificates") / size
            for key in ("support", "moves", "iterations"):
                if reached and key in levels[0]:
                    row[key] = _middle(levels, key)
            if way in ascents:
                row["gap_before"] = _middle([run["before"] for run in found], "gap")
            row["whole_matrix"] = size * size / float(np.median(needed))
            table.append(row)
    return table


def compute(context: ExperimentContext) -> Row:
    """Run all starts on each set, with some seeds, then the two other methods."""
    kinds = KINDS[:4:3] if context.quick else KINDS
    starts = (*STARTS[:1], *STARTS[2::2], DEFAULT) if context.quick else (*STARTS, DEFAULT)
    many, few = (2, 2) if context.quick else (SEEDS, FEW_SEEDS)
    table: list[Row] = []
    for kind in kinds:
        runs: dict[str, list[Any]] = {way: [] for way in (*starts, SDCA, LIBSVM)}
        for seed in context.progress(many if kind is KINDS[0] else few, kind.title):
            task, y = sample(kind, seed, 1000 if context.quick else None)
            ways: Row = {way: partial(polished, task, y, way, seed) for way in starts}
            if kind is KINDS[0] or seed == 0:
                ways[SDCA] = partial(in_random_order, task, y, seed)
                ways[LIBSVM] = partial(by_libsvm, task)
            for way, work in context.progress(ways.items(), "starts"):
                runs[way].append(context.part(f"{kind.title}, {seed}, {way}", work))
        table += _rows_of_set(kind, y.size, runs)
    return {
        "seeds": list(range(many)),
        "few_seeds": few,
        "starts": list(starts[:-1]),
        "titles": [kind.title for kind in kinds],
        "tolerances": list(TOLERANCES),
        "table": table,
    }


# What came out


def _told_share(value: float) -> str:
    return percent(value, 1 if value < 0.01 else 0)


def _told_pick(results: Row, ways: Any, key: str = "ratio", **where: Any) -> list[float]:
    """Return a column of the rows of some ways."""
    rows = select(results["table"], **where)
    return [row[key] for row in rows if row["way"] in ways and row.get(key) is not None]


def _told_times(results: Row, *ways: str) -> str:
    """Say how many times the kernel values of an ascent from zero some starts take."""
    return span(_told_pick(results, ways, "against_none"), "{:.2f}".format)


def _told_short(results: Row) -> list[str]:
    """Return the starts of at most half an epoch that were run."""
    return [way for way in SHORT if way in (*results["starts"], DEFAULT)]


def _told_title(results: Row) -> str:
    """The finding in a sentence, by what starts save at the best."""
    starts = [*results["starts"][1:], DEFAULT]
    saved = 1 - min(_told_pick(results, starts, "against_none"))
    if saved < WORTH:
        return "Starting dual ascent from Pegasos saves almost nothing."
    return f"Starting dual ascent from Pegasos saves {percent(saved, 0)} of the values at best."


def _told_finding(results: Row) -> Claim:
    longest = results["starts"][-1]
    return Claim(
        _told_title(results),
        OURS,
        f"From at most half an epoch of Pegasos, dual ascent to a certified gap takes "
        f"{_told_times(results, *_told_short(results))} times the kernel values of an ascent from "
        f"zero, including those of the start ({len(results['titles'])} data sets); from {longest} "
        f"epochs, {_told_times(results, longest)} times.",
    )


def _told_sets(results: Row) -> Claim:
    """Say how near to the lower bound each set comes with a short start, at the least tolerance."""
    first, *others = results["tolerances"]
    short = ["0", *_told_short(results)]
    parts = [
        f"{title} {span(_told_pick(results, short, data=title, tol=others[-1]))}"
        for title in results["titles"]
    ]
    by_gap = {tol: span(_told_pick(results, ["0"], tol=tol)) for tol in results["tolerances"]}
    levels = listed(f"{by_gap[tol]} to {_told_share(tol)}" for tol in others)
    most, where = max(_told_certificates(results, short))
    note = ""
    if most > 0:
        note = (
            " Margins that a certificate takes again in float64 come on top: up to "
            f"{rounded(most)} times those values ({where})."
        )
    return Claim(
        f"Polishing computes {span(_told_pick(results, short, tol=others[-1]))} times the kernel "
        "values of the support's rows, the least for a solver that computes whole rows.",
        OURS,
        f"With starts of at most half an epoch, to a gap of {_told_share(others[-1])}: "
        f"{listed(parts)}. From zero, over all sets: {by_gap[first]} times to a gap of "
        f"{_told_share(first)}, {levels}.{note}",
    )


def _told_certificates(results: Row, ways: Any) -> list[tuple[float, str]]:
    """Kernel values of single certificates over those of the support's rows, and on which set."""
    found = []
    for row in results["table"]:
        if row["way"] in ways:
            same = select(results["table"], data=row["data"], way=row["way"])
            earlier = [other["certificate_rows"] for other in same if other["tol"] > row["tol"]]
            own = row["certificate_rows"] - max(earlier, default=0.0)
            found.append((own * row["whole_matrix"] / row["m"], row["data"]))
    return found


def _told_default(results: Row) -> Claim:
    gaps = _told_pick(results, (DEFAULT,), "gap_before", tol=results["tolerances"][-1])
    middle = float(np.median(_told_pick(results, (DEFAULT,), "against_none")))
    what = "costs a little" if middle > 1 else "saves a little"
    if abs(middle - 1) < 0.05:
        what = "costs nothing and saves nothing"
    return Claim(
        f"The start that `polish=True` makes by itself {what}.",
        OURS,
        f"It takes {_told_times(results, DEFAULT)} times the kernel values from zero, with a "
        f"median of {middle:.2f} over sets and tolerances. The start itself, 512 draws or half an "
        f"epoch, reaches a certified gap of {span(gaps, _told_share)}.",
    )


def _told_lost(rows: list[Row]) -> list[str]:
    """Return the sets on which some gap was not reached."""
    return sorted({row["data"] for row in rows if row.get("ratio") is None})


def _told_sdca(results: Row) -> Claim:
    every = select(results["table"], way=SDCA)
    rows, missed = [row for row in every if row.get("ratio") is not None], _told_lost(every)
    note = f" It missed some gaps on {listed(missed)}." if missed else ""
    if not rows:
        return Claim("In random order, dual ascent does not reach these gaps.", OURS, note.strip())
    shares = [row["kernel_rows"] / row["m"] for row in rows]
    much = "the whole kernel matrix" if min(shares) >= 0.9 else "a large part of the kernel matrix"
    ratios, against = columns(rows, "ratio", "against_none")
    return Claim(
        f"In random order, dual ascent computes {much}.",
        OURS,
        f"SDCA computes {span(shares)} times the matrix, some values twice: {span(ratios)} times "
        f"the support's rows, and {span(against)} times the values of ascent over sets.{note}",
    )


def _told_libsvm(results: Row) -> Claim:
    middle = results["tolerances"][1]
    rows = select(results["table"], way=LIBSVM, tol=middle)
    known = {row["data"]: row for row in rows if row.get("iterations") is not None}
    parts = [
        f"{data} {row['iterations']:,.0f} ({row['support']:,.0f})" for data, row in known.items()
    ]
    ratios = [
        row["moves"] / (2 * known[row["data"]]["iterations"])
        for row in select(results["table"], way="0", tol=middle)
        if row["data"] in known
    ]
    fewer = "fewer" if ratios and min(ratios) > 1.1 else "about as many"
    return Claim(
        f"LIBSVM makes {fewer} moves, with an unknown number of kernel values.",
        OURS,
        f"An iteration of `SVC` moves two examples and uses their rows; it does not say which "
        f"were in its cache. Iterations to a gap of at most {_told_share(middle)} of its own "
        f"problem (support in brackets): {listed(parts)}. Ascent over sets moved single examples "
        f"{span(ratios)} times as often.",
    )


def claims(results: Row) -> list[Claim]:
    """The finding, and what it looks like set by set, by default, and beside other methods."""
    parts = (_told_finding, _told_sets, _told_default, _told_sdca, _told_libsvm)
    return [tell(results) for tell in parts]


def _told_name(title: str) -> str:
    return title.replace(" or ", "/").partition(",")[0]


def _told_starts(ax: plots.Axes, results: Row, title: str) -> None:
    """Draw kernel values against the start on one set, a line for each gap."""
    starts, tolerances = results["starts"], results["tolerances"]
    x = np.arange(len(starts))
    for tol, color in zip(tolerances, plots.shades(len(tolerances)), strict=True):
        rows = {row["way"]: row for row in select(results["table"], data=title, tol=tol)}
        keys = ("ratio_low", "ratio", "ratio_high")
        ratios: Any = [[rows[way].get(key) for way in starts] for key in keys]
        style: Any = {"marker": "o", "markersize": 4, "linewidth": 1.6}
        plots.band(ax, x, ratios, color=color, label=f"gap of {_told_share(tol)}", **style)
    ax.axhline(1, color=plots.BLACK, linewidth=1.2)
    # On two heights in turn, as all would not go beside each other.
    ax.set_xticks(x, ["\n" * (at % 2) + start for at, start in enumerate(starts)], fontsize=9)
    most = max(_told_pick(results, starts))
    ax.set(yscale="log", ylim=(0.9, 1.2 * most), title=_told_name(title))
    ticks = [tick for tick in (1, 1.5, 2, 3, 4, 6) if tick <= 1.2 * most]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.grid(alpha=0.25)


def _told_others(ax: plots.Axes, results: Row) -> None:
    """Draw kernel values of other ways, a line for each set, at the tightest tolerance."""
    tol, longest = results["tolerances"][-1], results["starts"][-1]
    titles = results["titles"]
    for way, name, method in (
        (DEFAULT, "default", "polished"),
        (longest, f"{longest} epochs", "Pegasos"),
        (SDCA, SDCA, "SDCA"),
    ):
        rows = select(results["table"], way=way, tol=tol)
        found = {row["data"]: row.get("ratio") for row in rows}
        known = [(found[title], at) for at, title in enumerate(titles) if found[title]]
        style = plots.METHODS[method].options(linestyle="", markersize=6)
        ax.plot(*zip(*known, strict=True), label=name, **style)
    whole = [select(results["table"], data=title, tol=tol)[0]["whole_matrix"] for title in titles]
    ax.plot(whole, range(len(titles)), "|", color=plots.GREY, markersize=14, markeredgewidth=2)
    ax.axvline(1, color=plots.BLACK, linewidth=1.2)
    ax.set(xscale="log", xlim=(0.9, 9))
    ax.set_xticks((1, 2, 3, 5, 8), ("1", "2", "3", "5", "8"))
    ax.minorticks_off()
    plots.rows_down(ax, [_told_name(title) for title in titles])
    ax.grid(alpha=0.25, axis="x")
    ax.set(title=f"others, to a gap of {_told_share(tol)}", xlabel="the same ratio")
    place: Any = {"bbox_to_anchor": (-0.5, 1.0), "columnspacing": 0.8}
    plots.legend_above(ax, over_title=True, fontsize=9.5, **place)


def _told_note(results: Row) -> str:
    lost = _told_lost(select(results["table"], way=SDCA, tol=results["tolerances"][-1]))
    missed = f" It does not get there on {listed(lost)}." if lost else ""
    first, *others = list(dict.fromkeys(row["m"] for row in results["table"]))
    sizes = f"{first:,} moons, {span(others or [first], '{:,}'.format)}"
    return (
        f"{sizes} examples of the others; C = 100 for Covertype. Grey bars: every row once. Median "
        f"of {len(results['seeds'])} samples of the moons and {results['few_seeds']} of the rest; "
        f"bands are 20–80% and the range. SDCA: one sample but for the moons.{missed}"
    )


def plot(results: Row) -> plots.Figure:
    """Kernel values against the start on each set, and beside other methods."""
    figure, axes = plots.panels(2, 3, 6.4)
    *sets, others = axes.flat
    for ax, title in zip(sets, results["titles"], strict=False):
        _told_starts(ax, results, title)
    _told_others(others, results)
    for ax in axes[:, 0]:
        ax.set_ylabel("kernel values / those of\nthe support's rows")
    for ax in axes[1, :2]:
        ax.set_xlabel("start: epochs of Pegasos")
    short = [way for way in _told_short(results) if way != DEFAULT]
    longest, told = results["starts"][-1], _told_title(results)
    found = "next to nothing" if "nothing" in told else "some kernel values"
    return plots.state(
        figure,
        f"A Pegasos start saves dual ascent {found}: {_told_times(results, *short)} times the "
        f"kernel values with up to half an epoch, {_told_times(results, longest)} with {longest}",
        f"Black: every row of the support once. {_told_note(results)}",
    )
