"""Run time in m, d, λ and ε: the number of steps and the cost of a step.

The papers have a run time of Õ(d/(λε)) whatever the number m of examples, and linear in m with a
kernel. Three groups of rows:

- ``kernel``: steps until the objective is within ε of the optimum, and kernel values of the rows
  that they use, on growing parts of Adult;
- ``timing``: nanoseconds of a linear step, with its update, against d, the features of dense rows
  or the non-zeros of sparse ones; on a quiet machine, as these alone depend on it;
- ``accuracy``: steps to ε against ε and λ on three sets.

All runs draw independently and return the t-weighted average.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from experiments import _plots as plots
from experiments._data import setting, spaced
from experiments._results import (
    ICML,
    JOURNAL,
    Claim,
    Row,
    columns,
    exponent,
    grouped,
    listed,
    mark,
    percent,
    rounded,
    select,
    slope,
    span,
    spread,
    summary,
)
from experiments._run import Context
from kpegasos import linear_rows, make_problem, make_rows, pegasos, sdca
from kpegasos.datasets import load_adult, load_rcv1_sample

#: An odd number of seeds has a run in its middle.
SEEDS, TURNS = 11, 15
#: Kernel rows of Adult: sizes, width, λ, and the suboptimality to reach.
KERNEL_SIZES = (1000, 2000, 4000, 8000, 16_000, 32_000)
GAMMA, LAM, EPSILON = 0.05, 1e-3, 0.03
NAMES = {"moons": "two moons", "rcv1": "RCV1 sample", "adult": "Adult"}
LAMBDAS, EPSILONS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5), (0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4)
MOST_TO_EPSILON = 250_000
#: Examples of Adult where λ and ε are what matters.
SMALL_ADULT = 4000
#: The optimum is known to this share of the suboptimality to reach.
SHARE = 0.1
#: Kinds of steps on the clock, and features of dense rows or non-zeros of sparse rows.
KINDS, SIZES = ("dense", "dense, projected", "sparse"), (10, 30, 100, 300, 1000, 3000)
#: Rows of all data, and columns of sparse data, those of the papers' texts.
ROWS, COLUMNS = 2000, 47_236
#: So large that every example violates its margin in every step: each has its product and update.
CLOCK_LAM = 1.0
#: Entries that a run on the clock goes through, about.
ENTRIES = 4_000_000

#: Percentiles of runs, of which some may be infinite, are values of single runs.
_of_runs = partial(summary, method="higher")


def _clock_rows(kind: str, size: int) -> Any:
    """Rows of a length of about one."""
    rng = np.random.default_rng(0)
    if kind != "sparse":
        return linear_rows(rng.normal(size=(ROWS, size)) / np.sqrt(size))
    drawn = [np.sort(rng.choice(COLUMNS, size, replace=False)) for _ in range(ROWS)]
    entries = rng.normal(size=ROWS * size) / np.sqrt(size), np.concatenate(drawn)
    starts = np.arange(0, ROWS * size + 1, size)
    return linear_rows(sparse.csr_matrix((*entries, starts), shape=(ROWS, COLUMNS)))


def _nanoseconds(kind: str, size: int, rows: Any, seed: int, entries: int) -> float:
    """Nanoseconds a step of one run."""
    y = np.where(np.random.default_rng(1).random(ROWS) < 0.5, 1, -1)
    n_steps = max(50, entries // (size + 100))
    result = pegasos(
        make_problem(y, CLOCK_LAM),
        rows,
        n_steps=n_steps,
        projection=kind == "dense, projected",
        sampling="uniform",
        checkpoints=None,
        random_state=seed,
    )
    return 1e9 * result.history[-1].seconds / n_steps


def _timing(turns: int, sizes: tuple[int, ...], entries: int) -> list[Row]:
    """Time steps of all kinds in turns, so that a busy moment meets all of them."""
    data = {key: _clock_rows(*key) for key in product(KINDS, sizes)}
    for key, rows in data.items():  # which compiles
        _nanoseconds(*key, rows, 0, entries // 100)
    times = [
        [_nanoseconds(*key, rows, turn, entries) for key, rows in data.items()]
        for turn in range(turns)
    ]
    return [
        {"kind": kind, "d": size, **summary("nanoseconds", column)}
        for (kind, size), column in zip(data, np.array(times).T, strict=True)
    ]


@cache
def _adult() -> tuple[np.ndarray, np.ndarray]:
    """Adult in a random order, dense."""
    data = load_adult()
    order = np.random.default_rng(0).permutation(data.y_train.size)
    return data.X_train[order].toarray().astype(np.float32), data.y_train[order]


def _by_size(m: int, seeds: int) -> Row:
    """Steps and kernel values until the average is within ε of the optimum, on m examples.

    The values are those of the rows of all violators, each row once. The package computes some more
    ahead of need, which a longer run would use.
    """
    X, y = (part[:m] for part in _adult())
    problem, kernel = make_problem(y, LAM), Row(gamma=GAMMA, cache_mb=4096)
    limits: Any = {"tol": SHARE * EPSILON / 0.4, "max_epochs": 200}  # of an objective of about 0.4
    goal = sdca(problem, make_rows(X, **kernel), random_state=0, **limits).dual_bound + EPSILON
    points, found = spaced(9.5e5, 24, 300), []
    for seed in range(seeds):
        history = pegasos(
            problem,
            make_rows(X, cache="cached", **kernel),
            n_steps=points[-1],
            sampling="uniform",
            checkpoints=points,
            monitor=lambda run: run.history[-1].objective_average <= goal,
            random_state=seed,
        ).history
        last = history[-1]
        counts = (last.iteration, m * last.support_size, last.kernel_evaluations)
        found.append(counts if last.objective_average <= goal else (np.inf,) * 3)
    row: Row = {"m": m}
    keys = ("steps", "kernel_values", "computed")
    for key, values in zip(keys, np.transpose(found), strict=True):
        row |= _of_runs(key, values)
    return row


@cache
def _gram(name: str) -> tuple[np.ndarray, Any]:
    """Labels, and rows with all kernel values at hand: steps are what counts here."""
    if name == "moons":
        return setting(name)[1:]
    if name == "rcv1":
        data = load_rcv1_sample()
        X, y = data.X_train, data.y_train
    else:
        X, y = (part[:SMALL_ADULT] for part in _adult())
        X = normalize(X)
    return y, make_rows(X, "linear", cache="precomputed")


def _to_epsilon(name: str, lam: float, seeds: int, most: int) -> list[Row]:
    """Steps until the average is within each ε of an optimum that is known well enough for it."""
    y, rows = _gram(name)
    problem, points = make_problem(y, lam), spaced(most, 10)
    optimum = sdca(problem, rows, tol=1e-5, max_epochs=3000, random_state=0)
    known = [epsilon for epsilon in EPSILONS if optimum.gap <= SHARE * epsilon]
    reached = []
    for seed in range(seeds if known else 0):
        history = pegasos(
            problem,
            rows,
            n_steps=points[-1],
            sampling="uniform",
            checkpoints=points,
            monitor=lambda run: run.history[-1].objective_average - optimum.dual_bound <= known[-1],
            random_state=seed,
        ).history
        excess = history["objective_average"] - optimum.dual_bound
        reached.append([_crossing(history["iteration"], excess, epsilon) for epsilon in known])
    return [
        {"data": name, "lam": lam, "epsilon": epsilon, **_of_runs("steps", column)}
        for epsilon, column in zip(known, np.array(reached).T, strict=True)
    ]


def _crossing(steps: np.ndarray, excess: np.ndarray, epsilon: float) -> float:
    """Step at which a curve is down to ε for the first time, on a line between its points."""
    below = np.flatnonzero(excess <= epsilon)
    if not below.size:
        return np.inf
    if below[0] == 0:
        return float(steps[0])
    part = slice(below[0] - 1, below[0] + 1)
    log_excess = np.log(np.maximum(excess[part], 1e-300))[::-1]
    return float(np.exp(np.interp(np.log(epsilon), log_excess, np.log(steps[part])[::-1])))


def compute(context: Context) -> dict[str, Any]:
    """Measure the three groups."""
    quick, seeds = context.quick, 2 if context.quick else SEEDS
    clock = (3, SIZES[::2], 200_000) if quick else (TURNS, SIZES, ENTRIES)
    names, lambdas = (["moons"], LAMBDAS[:3]) if quick else (list(NAMES), LAMBDAS)
    most = 20_000 if quick else MOST_TO_EPSILON
    rows = {
        "timing": context.part("timing", _timing, *clock),
        "kernel": [
            context.part(f"kernel {m}", _by_size, m, seeds)
            for m in ((500, 1000) if quick else KERNEL_SIZES)
        ],
        "accuracy": [
            row
            for name, lam in product(names, lambdas)
            for row in context.part(f"{name}, {lam:g}", _to_epsilon, name, lam, seeds, most)
        ],
    }
    table = [{"group": group, **row} for group, own in rows.items() for row in own]
    return {"seeds": list(range(seeds)), "table": table}


def claims(results: dict[str, Any]) -> list[Claim]:
    """Judge the claims on d, m, ε and λ."""
    m, steps, values, computed = columns(
        _reached(results, "kernel"), "m", "steps", "kernel_values", "computed"
    )
    flat, late = slope(m, steps), m >= np.median(steps)
    of_values, ahead = (slope(m[late], counts[late]) for counts in (values, computed))
    lines = _lines(results)
    told = listed(f"{rounded(a)} + {rounded(b)} d ({kind})" for kind, (a, b, _) in lines.items())
    worst = max(off for _, _, off in lines.values())
    in_epsilon, in_lam = _rates(results)
    by_lam = [rate for rates in in_lam.values() for rate in rates]
    bound = max(*in_epsilon, *by_lam) <= 1.15
    rates = "; ".join(f"{NAMES[n]} {', '.join(map(exponent, own))}" for n, own in in_lam.items())
    return [
        Claim(
            "The run time is Õ(d/(λε)), where d bounds the non-zero features of an example.",
            ICML,
            f"Nanoseconds of a step with d non-zeros, on this machine: {told}. Each median is "
            f"within {percent(worst, 0)} of its line. The steps needed have exponents of "
            f"{span(in_epsilon, exponent)} in 1/ε over the last decade reached ({len(in_epsilon)} "
            f"pairs of set and λ), and of {span(by_lam, exponent)} in 1/λ.",
            mark(worst <= 0.25 and bound, bound),
            "✓ if the time of a step is within 25% of a line in d, and no exponent is above 1.15; "
            "~ if only the second holds.",
        ),
        Claim(
            "The number of steps does not depend on the size of the training set.",
            ICML,
            f"Adult, RBF kernel: {span(steps)} steps lead to ε = {EPSILON:g} for m from "
            f"{m[0]:,.0f} to {m[-1]:,.0f}, with an exponent of m of {exponent(flat)}. They are up "
            f"to {rounded((steps / m).max())} times m, so examples are drawn repeatedly.",
            mark(abs(flat) <= 0.15),
            "✓ if the exponent is within ±0.15 of 0, ✗ if not.",
        ),
        Claim(
            "With a kernel the run time does depend linearly on the training set's size.",
            JOURNAL,
            f"In the same runs kernel values grow like m^{exponent(of_values)} once m exceeds the "
            f"steps, and like m^{exponent(ahead)} with the rows that the package computes ahead.",
            mark(abs(of_values - 1) <= 0.15),
            "✓ if the exponent is within ±0.15 of 1, ✗ if not.",
        ),
        Claim(
            "The number of steps scales linearly with 1/λ.",
            ICML,
            f"Exponents of 1/λ at ε = 0.01, by decade from λ = {LAMBDAS[0]:g} down: {rates}.",
            mark(all(abs(rate - 1) <= 0.15 for rate in by_lam), max(by_lam) <= 1.15),
            "✓ if every exponent of 1/λ is within ±0.15 of 1, ~ if none is larger, so that 1/λ is "
            "a bound.",
        ),
    ]


def _reached(results: dict[str, Any], group: str) -> list[Row]:
    return [row for row in select(results["table"], group=group) if row["steps"] is not None]


def _lines(results: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Fit a + b d to the nanoseconds of each kind; with the largest error, a share."""
    lines = {}
    for kind in KINDS:
        d, y = columns(select(results["table"], group="timing", kind=kind), "d", "nanoseconds")
        basis = np.stack([np.ones_like(d), d], axis=1)
        (a, b), *_ = np.linalg.lstsq(basis / y[:, None], np.ones_like(y), rcond=None)
        lines[kind] = float(a), float(b), float(np.abs((a + b * d) / y - 1).max())
    return lines


def _rates(results: dict[str, Any]) -> tuple[list[float], dict[str, list[float]]]:
    """Return exponents of 1/ε at each λ, and of 1/λ by decade at one ε, for each set."""
    in_epsilon, in_lam = [], {}
    for name, own in grouped(_reached(results, "accuracy"), "data").items():
        for of_lam in grouped(own, "lam").values():
            x, y = columns(sorted(of_lam, key=itemgetter("epsilon"))[:3], "epsilon", "steps")
            if x[-1] > 9 * x[0]:
                in_epsilon.append(-slope(x, y))
        lams, steps = columns(select(own, epsilon=0.01), "lam", "steps")
        in_lam[name] = (-np.diff(np.log(steps)) / np.diff(np.log(lams))).tolist()
    return in_epsilon, in_lam


def plot(results: dict[str, Any]) -> plots.Figure:
    """Three panels: m with a kernel, d, and ε at each λ."""
    figure, ((kernel, clock, accuracy),) = plots.panels(1, 3, 4.2)
    dots: dict[str, Any] = {"marker": "o", "markersize": 4}
    rows = _reached(results, "kernel")
    (m,) = columns(rows, "m")
    for key, color in (("kernel_values", plots.VERMILION), ("steps", plots.BLUE)):
        label = key.replace("_", " ")
        plots.band(kernel, m, spread(rows, key), color=color, label=label, **dots)
    plots.log_log(kernel, xlabel="examples m", title=f"Adult, RBF: until f − f* = {EPSILON:g}")
    colors = (plots.BLUE, plots.SKY, plots.VERMILION)
    for (kind, (a, b, _)), color in zip(_lines(results).items(), colors, strict=True):
        own = select(results["table"], group="timing", kind=kind)
        (d,) = columns(own, "d")
        plots.band(clock, d, spread(own, "nanoseconds"), color=color, label=kind, **dots)
        clock.plot(d, a + b * d, ":", color=plots.GREY)
    plots.log_log(clock, xlabel="non-zero features d", title="nanoseconds of a linear step")
    lambdas = grouped(select(_reached(results, "accuracy"), data="moons"), "lam")
    for (lam, own), color in zip(lambdas.items(), plots.shades(len(lambdas)), strict=True):
        x = 1 / columns(own, "epsilon")[0]
        plots.band(accuracy, x, spread(own, "steps"), color=color, label=f"λ = {lam:g}", **dots)
    plots.log_log(accuracy, xlabel="1/ε", title="two moons: steps to ε")
    for ax in (kernel, clock, accuracy):
        ax.legend(fontsize=9)
    return plots.state(
        figure,
        "More examples need no more steps to an accuracy",
        f"Kernel: γ = {GAMMA:g}, λ = {LAM:g}. Dotted: lines a + b d. Medians and 20–80% of "
        f"{len(results['seeds'])} runs; on the clock, of {TURNS} turns.",
    )
