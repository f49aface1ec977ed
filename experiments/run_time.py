"""Run time in m, d, λ and ε: the number of steps and the cost of a step.

The papers have a run time of Õ(d/(λε)) whatever the number m of examples, and linear in m with a
kernel; Shalev-Shwartz and Srebro (2008) have the time to a test error fall with m. Four groups, by
the names that ``--only`` has for them:

- ``kernel``: steps until the objective is within ε of the optimum, and kernel values of the rows
  that they use, on growing parts of Adult;
- ``error``: linear steps to a fixed test error on growing parts of MNIST (even against odd), with
  the λ of fewest steps on a validation part for each m;
- ``timing``: nanoseconds of a linear step, with its update, against d, the non-zeros of sparse rows
  and the batch size; on a quiet machine, as these alone depend on it;
- ``accuracy``: steps to ε against ε and λ on three sets.

All runs draw independently and return the t-weighted average.
"""

from __future__ import annotations

from functools import cache, partial
from operator import itemgetter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from experiments import _plots as plots
from experiments._claims import (
    BLOG,
    ICML,
    JOURNAL,
    OURS,
    Claim,
    exponent,
    inverse_rates,
    like_inverse,
    listed,
    mark,
    percent,
    rounded,
    slope,
    span,
)
from experiments._meta import vectors
from experiments._run import ExperimentContext
from experiments._runs import first_record, first_within, setting, spaced
from experiments._tables import columns, grouped, select, spread, summary
from kpegasos import linear_rows, make_problem, make_rows, pegasos, sdca
from kpegasos.datasets import load_adult, load_mnist, load_rcv1_sample

FULL_TIME = "2 min"
QUICK_TIME = "10 s"

#: An odd number of seeds has a run in its middle.
SEEDS, TURNS = 11, 15
#: Kernel rows of Adult: sizes, width, λ, and the suboptimality to reach.
KERNEL_SIZES = (1000, 2000, 4000, 8000, 16_000, 32_000)
GAMMA, LAM, EPSILON = 0.05, 1e-3, 0.03
CACHE_MB = 4096
ERROR_SIZES = (700, 1000, 1400, 2000, 4000, 8000, 16_000)
ERROR_LAMBDAS = (1e-3, 1e-4, 1e-5, 1e-6)
TARGET, MOST_TO_ERROR = 0.13, 15_000
NAMES = {"moons": "two moons", "rcv1": "RCV1 sample", "adult": "Adult"}
LAMBDAS, EPSILONS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5), (0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4)
MOST_TO_EPSILON = 250_000
#: Examples of Adult where λ and ε are what matters.
SMALL_ADULT = 4000
#: The optimum is known to this share of the suboptimality to reach.
SHARE = 0.1
#: Kinds of steps on the clock: features of dense rows or non-zeros of sparse rows, or batch sizes.
SIZES, BATCHES = (10, 30, 100, 300, 1000, 3000), (1, 4, 16, 64, 256, 1024)
KINDS = ("dense", "dense, projected", "sparse", "batch")
#: Rows of all data; columns of sparse data, those of the papers' texts; features of the batches.
ROWS, COLUMNS, FEATURES = 2000, 47_236, 100
#: So large that every example violates its margin in every step: each has its product and update.
CLOCK_LAM = 1.0
#: Entries that a run on the clock goes through, about.
ENTRIES = 4_000_000
#: Suboptimality at which exponents of 1/λ are told.
AT = 0.01
#: A line meets the measured points if it is within this share of each.
CLOSE = 0.25
#: An exponent of 0 or 1 is met within this.
FLAT, LINEAR = 0.1, 0.15

Rows = list[dict[str, Any]]


# Nanoseconds of a step


def _clock_rows(kind: str, size: int) -> Any:
    """Rows of a length of about one."""
    rng = np.random.default_rng(0)
    if kind == "sparse":
        drawn = [np.sort(rng.choice(COLUMNS, size, replace=False)) for _ in range(ROWS)]
        entries = rng.normal(size=ROWS * size) / np.sqrt(size), np.concatenate(drawn)
        starts = np.arange(0, ROWS * size + 1, size)
        return linear_rows(sparse.csr_matrix((*entries, starts), shape=(ROWS, COLUMNS)))
    n_features = FEATURES if kind == "batch" else size
    return linear_rows(rng.normal(size=(ROWS, n_features)) / np.sqrt(n_features))


def _nanoseconds(kind: str, size: int, rows: Any, seed: int, entries: int) -> float:
    """Nanoseconds a step of one run."""
    y = np.where(np.random.default_rng(1).random(ROWS) < 0.5, 1, -1)
    n_steps = max(50, entries // ((size if kind != "batch" else size * FEATURES) + 100))
    result = pegasos(
        make_problem(y, CLOCK_LAM),
        rows,
        n_steps=n_steps,
        batch_size=size if kind == "batch" else 1,
        projection=kind == "dense, projected",
        sampling="uniform",
        checkpoints=None,
        random_state=seed,
    )
    return 1e9 * result.history[-1].seconds / n_steps


def steps_on_the_clock(
    turns: int,
    sizes: tuple[int, ...] = SIZES,
    batches: tuple[int, ...] = BATCHES,
    entries: int = ENTRIES,
) -> Rows:
    """Time steps of all kinds in turns, so that a busy moment meets all of them."""
    kinds = [(kind, size) for kind in KINDS for size in (batches if kind == "batch" else sizes)]
    data = {(kind, size): _clock_rows(kind, size) for kind, size in kinds}
    for key, rows in data.items():  # which compiles
        _nanoseconds(*key, rows, 0, entries // 100)
    times = [
        [_nanoseconds(*key, data[key], turn, entries) for key in kinds] for turn in range(turns)
    ]
    return [
        {
            "kind": kind,
            "d": FEATURES if kind == "batch" else size,
            "k": size if kind == "batch" else 1,
            **summary("nanoseconds", column),
        }
        for (kind, size), column in zip(kinds, np.array(times).T, strict=True)
    ]


# Steps to a goal


#: Percentiles of runs, of which some may be infinite, are values of single runs.
_of_runs = partial(summary, method="higher")


@cache
def _adult() -> tuple[np.ndarray, np.ndarray]:
    """Adult in a random order, dense."""
    data = load_adult()
    order = np.random.default_rng(0).permutation(data.y_train.size)
    return data.X_train[order].toarray().astype(np.float32), data.y_train[order]


def by_size(m: int, seeds: int) -> dict[str, Any]:
    """Steps and kernel values until the average is within ε of the optimum, on m examples.

    The values are those of the rows of all violators, each row once. The package computes some more
    ahead of need, which a longer run would use.
    """
    X, y = (part[:m] for part in _adult())
    problem = make_problem(y, LAM)
    options: dict[str, Any] = {"gamma": GAMMA, "cache_mb": CACHE_MB}
    optimum = sdca(
        problem,
        make_rows(X, **options),
        tol=SHARE * EPSILON / 0.4,  # relative to an objective of about that size
        max_epochs=200,
        random_state=0,
    )
    goal, found = optimum.dual_bound + EPSILON, []
    for seed in range(seeds):
        rows, points = make_rows(X, cache="cached", **options), spaced(9.5e5, 24, 300)
        record = first_within(problem, rows, points, goal, sampling="uniform", random_state=seed)
        counts = (np.inf,) * 3
        if record is not None:
            counts = (record.iteration, m * record.support_size, record.kernel_evaluations)
        found.append(counts)
    row = {"m": m, "optimum": optimum.dual_bound, "gap": optimum.gap}
    for key, values in zip(
        ("steps", "kernel_values", "computed"), np.transpose(found), strict=True
    ):
        row |= _of_runs(key, values)
    return row


@cache
def _digits() -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Even against odd digits, rows of length one: training, validation and test part.

    The test set, of other writers, is halved at random: λ is chosen where the error is as high.
    """
    data = load_mnist()
    X, X_test = (normalize(part.astype(np.float32)) for part in (data.X_train, data.X_test))
    y, y_test = (np.where(part % 2 == 0, 1, -1) for part in (data.y_train, data.y_test))
    halves = np.array_split(np.random.default_rng(0).permutation(y_test.size), 2)
    return (X, y), *((X_test[half], y_test[half]) for half in halves)


def to_error(m: int, seed: int, lambdas: tuple[float, ...], target: float) -> list[list[float]]:
    """Steps until the validation and the test error are at most a target, for each λ."""
    (X, y), *parts = _digits()
    chosen = np.random.default_rng(seed).permutation(y.size)[:m]
    rows, found = linear_rows(X[chosen]), []
    for lam in lambdas:
        reached = [np.inf, np.inf]

        def test(run: Any, reached: list[float] = reached) -> bool:
            w = run.result().w.astype(np.float32)  # as the images
            for at, (X_part, y_part) in enumerate(parts):
                if np.isinf(reached[at]) and np.mean((X_part @ w) * y_part <= 0) <= target:
                    reached[at] = run.history[-1].iteration
            return bool(np.isfinite(reached).all())

        options: dict[str, Any] = {"sampling": "uniform", "random_state": seed}
        first_record(
            make_problem(y[chosen], lam), rows, spaced(MOST_TO_ERROR, 12, 300), test, **options
        )
        found.append(reached)
    return found


def tuned(m: int, lambdas: tuple[float, ...], runs: list[Any], target: float) -> Rows:
    """Return a row for each λ; the one of fewest validation steps is chosen."""
    table, order = [], []
    # A file has nothing for infinity.
    steps = np.nan_to_num(np.array(runs, dtype=float), nan=np.inf)
    for number, lam in enumerate(lambdas):
        validation, test = steps[:, number].T
        found = _of_runs("validation", validation)
        table.append({"target": target, "m": m, "lam": lam, **_of_runs("steps", test)})
        order.append((found["validation"], found["validation_80"], number))
    median, _, best = min(order)
    return [
        {**row, "chosen": bool(i == best and np.isfinite(median))} for i, row in enumerate(table)
    ]


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


def to_epsilon(name: str, lam: float, seeds: int, most: int) -> Rows:
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
    head = {"data": name, "lam": lam, "gap": optimum.gap}
    return [
        {**head, "epsilon": epsilon, **_of_runs("steps", column)}
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


# Groups


def _timing(context: ExperimentContext, _: int) -> Rows:
    clock = (3, (10, 100, 1000), (1, 16, 64), 200_000) if context.quick else (TURNS,)
    return list(context.part("timing", steps_on_the_clock, *clock))


def _kernel(context: ExperimentContext, seeds: int) -> Rows:
    sizes = (500, 1000) if context.quick else KERNEL_SIZES
    return [
        context.part(f"kernel {m}", by_size, m, seeds) for m in context.progress(sizes, "kernel")
    ]


def _error(context: ExperimentContext, seeds: int) -> Rows:
    sizes: tuple[int, ...] = (1000, 4000) if context.quick else ERROR_SIZES
    lambdas = ERROR_LAMBDAS[:2] if context.quick else ERROR_LAMBDAS
    target = 0.16 if context.quick else TARGET
    table = []
    for m in context.progress(sizes, "test error"):
        runs = [
            context.part(f"error {m}, {seed}", to_error, m, seed, lambdas, target)
            for seed in range(seeds)
        ]
        table += tuned(m, lambdas, runs, target)
    return table


def _accuracy(context: ExperimentContext, seeds: int) -> Rows:
    names, lambdas = (["moons"], LAMBDAS[:3]) if context.quick else (list(NAMES), LAMBDAS)
    most = 20_000 if context.quick else MOST_TO_EPSILON
    return [
        row
        for name in names
        for lam in context.progress(lambdas, NAMES[name])
        for row in context.part(f"accuracy {name}, {lam:g}", to_epsilon, name, lam, seeds, most)
    ]


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run the groups that are asked for, and take the others from the results at hand."""
    seeds = 2 if context.quick else SEEDS
    measures = {"timing": _timing, "kernel": _kernel, "error": _error, "accuracy": _accuracy}

    def group(name: str) -> dict[str, Rows]:
        return {"table": [{"group": name, **row} for row in measures[name](context, seeds)]}

    found = context.groups({name: partial(group, name) for name in measures})
    # LLVM answers once something is compiled.
    return {"seeds": list(range(seeds)), "vectors": vectors(), **found}


# What the numbers say


def _told_line(rows: Rows, key: str) -> tuple[float, float, float]:
    """Fit a + b·x in proportion to the measured; a, b and the largest error, a share."""
    x, y = columns(rows, key, "nanoseconds")
    basis = np.stack([np.ones_like(x), x], axis=1)
    (a, b), *_ = np.linalg.lstsq(basis / y[:, None], np.ones_like(y), rcond=None)
    return float(a), float(b), float(np.abs((a + b * x) / y - 1).max())


def _told_kernel(results: dict[str, Any]) -> dict[str, Any]:
    """Exponents of m of the steps, and of the kernel values where m exceeds the steps."""
    rows = [row for row in select(results["table"], group="kernel") if row["steps"] is not None]
    m, steps, values, computed = columns(rows, "m", "steps", "kernel_values", "computed")
    late = m >= min(np.median(steps), m[-2])
    rate = slope(m, steps)
    return {
        "m": m,
        "steps": steps,
        "steps_exponent": rate,
        "flat": abs(rate) <= FLAT,
        "late": m[late],
        "values_exponent": slope(m[late], values[late]),
        "computed_exponent": slope(m[late], computed[late]),
        "each": (values / m)[late],
        "most_seen": float((steps / m).max()),
    }


def _told_like_m(kernel: dict[str, Any]) -> bool:
    """Say whether the kernel values that the algorithm needs grow in proportion to m."""
    return bool(abs(kernel["values_exponent"] - 1) <= LINEAR)


def _told_error(results: dict[str, Any]) -> dict[str, Any]:
    """Sizes that reach the test error with their λ, and by how much the steps fall."""
    rows = select(results["table"], group="error")
    chosen = [row for row in rows if row["chosen"] and row["steps"] is not None]
    steps = np.array([row["steps"] for row in chosen])
    flat = next(i for i in range(len(steps)) if steps[i:].max() <= 1.25 * steps[i:].min())
    return {
        "rows": chosen,
        "steps": steps,
        "fall": float(steps[0] / steps[-1]),
        "flat_from": chosen[flat]["m"],
        "too_small": sorted({row["m"] for row in rows} - {row["m"] for row in chosen}),
    }


def _told_accuracy(results: dict[str, Any]) -> dict[str, Any]:
    """Exponents of 1/ε at each λ, and of 1/λ by decade at one ε, for each set and of all."""
    rows = [row for row in select(results["table"], group="accuracy") if row["steps"] is not None]
    in_epsilon, in_lam, constants = [], {}, {}
    for name, own in grouped(rows, "data").items():
        for of_lam in grouped(own, "lam").values():
            x, y = columns(sorted(of_lam, key=itemgetter("epsilon"))[:3], "epsilon", "steps")
            if x[-1] > 9 * x[0]:
                in_epsilon.append(-slope(x, y))
        lams, steps = columns(select(own, epsilon=AT), "lam", "steps")
        in_lam[name] = inverse_rates(lams, steps)
        constants[name] = (lams * steps * AT).tolist()
    return {
        "in_epsilon": in_epsilon,
        "by_lam": [rate for rates in in_lam.values() for rate in rates],
        "median": float(np.median(in_epsilon)),
        "in_lam": in_lam,
        "constants": constants,
    }


def _told_clock(results: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Lines through the nanoseconds of each kind of step."""
    kinds = grouped(select(results["table"], group="timing"), "kind")
    return {kind: _told_line(rows, "k" if kind == "batch" else "d") for kind, rows in kinds.items()}


def _told_found(results: dict[str, Any]) -> Claim:
    """The finding: which of m, d, λ and ε the run time depends on."""
    kernel, accuracy = _told_kernel(results), _told_accuracy(results)
    by_lam, like_epsilon = accuracy["by_lam"], abs(accuracy["median"] - 1) <= LINEAR
    weaker = np.median(by_lam) < 1 - LINEAR
    return Claim(
        f"Steps to an accuracy {'do not depend' if kernel['flat'] else 'depend'} on the number m "
        f"of examples; kernel values "
        f"{'grow in proportion to' if _told_like_m(kernel) else 'grow with'} m. Steps "
        f"grow {'more slowly than' if weaker else 'like'} 1/λ.",
        OURS,
        f"With a kernel and m from {kernel['m'][0]:,.0f} to {kernel['m'][-1]:,.0f}, steps have an "
        f"exponent of m of {exponent(kernel['steps_exponent'])}; kernel values have one of "
        f"{exponent(kernel['values_exponent'])} once m exceeds the steps, and of "
        f"{exponent(kernel['computed_exponent'])} with the rows that the package computes ahead. "
        f"Exponents of 1/λ are "
        f"{span(by_lam, exponent)}, depending on data and decade. Steps grow "
        f"{'like' if like_epsilon else 'otherwise than'} 1/ε, with a median exponent of "
        f"{exponent(accuracy['median'])}.",
    )


def _told_of_d(results: dict[str, Any]) -> list[Claim]:
    """The cost of a step."""
    clock, accuracy = _told_clock(results), _told_accuracy(results)
    start, each, off = clock.pop("batch")
    told = listed(f"{rounded(a)} + {rounded(b)} d ({kind})" for kind, (a, b, _) in clock.items())
    worst = max(error for _, _, error in clock.values())
    by_epsilon, by_lam = max(accuracy["in_epsilon"]), max(accuracy["by_lam"])
    bound = max(by_epsilon, by_lam) <= 1 + LINEAR
    return [
        Claim(
            "The run time is Õ(d/(λε)), where d bounds the non-zero features of an example.",
            ICML,
            f"Nanoseconds of a step with d non-zeros, on this machine: {told}. Each median is "
            f"within {percent(worst, 0)} of its line. The steps needed have exponents of at most "
            f"{exponent(by_epsilon)} in 1/ε and of at most {exponent(by_lam)} in 1/λ.",
            mark(worst <= CLOSE and bound, worst <= 2 * CLOSE and bound),
            f"✓ if the time of a step is within {percent(CLOSE, 0)} of a line in d for dense rows, "
            "with the projection too, and for sparse rows, and no exponent is above "
            f"{1 + LINEAR:g}; ~ if the time is within {percent(2 * CLOSE, 0)}. "
            "Seconds depend on the machine.",
        ),
        Claim(
            "The run time depends only on the batch size k and the number of steps.",
            BLOG,
            f"A step of k examples of 100 dense features takes {rounded(start, 3)} + "
            f"{rounded(each, 3)} k ns, within {percent(off, 0)} of each median. It also depends on "
            "d, and the number of steps to an accuracy depends on λ.",
            mark(False, off <= 2 * CLOSE),
            f"✗ if the time is not within {percent(2 * CLOSE, 0)} of a line in k; ~ at best, as "
            "the statement leaves out λ and d.",
        ),
    ]


def _told_of_m(results: dict[str, Any]) -> list[Claim]:
    """Judge the claims on the number of examples."""
    kernel, error = _told_kernel(results), _told_error(results)
    flat, rate = kernel["flat"], exponent(kernel["steps_exponent"])
    steps, sizes = error["steps"], [row["m"] for row in error["rows"]]
    small = ""
    if error["too_small"]:
        small = f" m = {listed(f'{m:,}' for m in error['too_small'])} does not reach it."
    return [
        Claim(
            "With a kernel the run time does depend linearly on the training set's size.",
            JOURNAL,
            f"Adult, RBF kernel: {span(kernel['steps'])} steps lead to ε = {EPSILON:g} (exponent "
            f"of m {rate}). From m = {kernel['late'][0]:,.0f} on kernel values grow like "
            f"m^{exponent(kernel['values_exponent'])}; so many steps could hardly give anything "
            f"else. The package, which computes rows ahead, has an exponent of "
            f"{exponent(kernel['computed_exponent'])}.",
            mark(_told_like_m(kernel) and flat, flat),
            f"✓ if exponents of m are within ±{FLAT:g} of 0 for steps and, where m exceeds these, "
            f"within ±{LINEAR:g} of 1 for the kernel values of the algorithm; ~ if only the first "
            "holds.",
        ),
        Claim(
            "The number of steps does not depend on the size of the training set.",
            ICML,
            f"In the same runs steps have an exponent of m of {rate}. They are up to "
            f"{rounded(kernel['most_seen'])} times m, so examples are drawn repeatedly.",
            mark(flat and kernel["most_seen"] > 1, flat),
            f"✓ if the exponent is within ±{FLAT:g} and steps exceed m somewhere, ~ if they never "
            "do.",
        ),
        Claim(
            "The time to a test error falls as the training set grows.",
            "Shalev-Shwartz, Srebro 2008",
            f"MNIST, even against odd, λ chosen for each m: steps to a test error of "
            f"{percent(error['rows'][0]['target'], 0)} are {rounded(steps[0])} for "
            f"m = {sizes[0]:,} and {rounded(steps[-1])} for m = {sizes[-1]:,}, "
            f"{error['fall']:.2f} times fewer; from "
            f"m = {error['flat_from']:,} on they are within 1.25 times of each other.{small}",
            mark(
                error["fall"] >= 1.5 and bool((np.diff(steps) < 0).all()),
                error["fall"] >= 1.5 or bool(error["too_small"]),
            ),
            "✓ if steps fall from each size to the next, by a factor of 1.5 in all; ~ if only the "
            "factor holds, or if sizes too small do not reach the error.",
        ),
    ]


def _told_of_accuracy(results: dict[str, Any]) -> list[Claim]:
    """Judge the claims on λ and ε."""
    found = _told_accuracy(results)
    in_epsilon, by_lam = found["in_epsilon"], found["by_lam"]
    rates = "; ".join(
        f"{NAMES[name]} {', '.join(map(exponent, rates))}"
        for name, rates in found["in_lam"].items()
    )
    constants = "; ".join(
        f"{NAMES[name]} {rounded(values[0])} to {rounded(values[-1])}"
        for name, values in found["constants"].items()
    )
    return [
        Claim(
            "The number of steps to an accuracy ε is Õ(1/ε).",
            ICML,
            f"Exponents of 1/ε over the last decade of ε reached: "
            f"{span(in_epsilon, exponent)} over {len(in_epsilon)} pairs of set and λ, median "
            f"{exponent(found['median'])}.",
            mark(max(in_epsilon) <= 1 + LINEAR, found["median"] <= 1 + LINEAR),
            f"✓ if no exponent is above {1 + LINEAR:g}, ~ if the median is not.",
        ),
        Claim(
            "The number of steps scales linearly with 1/λ.",
            ICML,
            f"Exponents of 1/λ at ε = {AT:g}, by decade from λ = {max(LAMBDAS):g} down: "
            f"{rates}. λTε at the largest and at the smallest λ: "
            f"{constants}.",
            *like_inverse(by_lam),
        ),
    ]


def claims(results: dict[str, Any]) -> list[Claim]:
    """Judge the claims on d, m, ε and λ; nothing until all is measured."""
    rows = [row for row in results["table"] if row.get("steps", row.get("nanoseconds")) is not None]
    if not {"kernel", "error", "timing", "accuracy"} <= {row["group"] for row in rows}:
        return []
    of_d, of_batch = _told_of_d(results)
    of_data = [*_told_of_m(results), *_told_of_accuracy(results)]
    return [_told_found(results), of_d, *of_data, of_batch]


# The figure

DOTTED: dict[str, Any] = {"color": plots.GREY, "linestyle": ":", "linewidth": 1.5}
DOTS: dict[str, Any] = {"marker": "o", "markersize": 4, "linewidth": 1.8}
#: Colour, line and name of each kind of step.
CLOCK = {
    "sparse": (plots.VERMILION, "-", "sparse"),
    "dense, projected": (plots.SKY, "--", "projected"),
    "dense": (plots.BLUE, "-", "dense"),
}


def _widen(ax: plots.Axes, below: float, above: float) -> None:
    low, high = ax.get_ylim()
    ax.set_ylim(low / below, high * above)


def _of_kernel(ax: plots.Axes, results: dict[str, Any]) -> None:
    rows, told = select(results["table"], group="kernel"), _told_kernel(results)
    m = told["m"]
    for key, color in (("kernel_values", plots.VERMILION), ("steps", plots.BLUE)):
        label = key.replace("_", "\n")
        plots.band(ax, m, spread(rows, key), color=color, label=label, **DOTS)
    ax.plot(m, rows[-1]["kernel_values"] * m / m[-1], **DOTTED)
    plots.log_log(ax, xlabel=plots.WORDS["examples"], ylabel=f"until f − f* = {EPSILON:g}")
    _widen(ax, 3, 2)
    like = abs(told["values_exponent"] - 1) <= LINEAR
    ax.set_title(
        f"Kernel: steps {'do not depend' if told['flat'] else 'depend'} on m,\n"
        f"their kernel values grow {'like m' if like else 'otherwise'}"
    )


def _of_error(ax: plots.Axes, results: dict[str, Any]) -> None:
    told = _told_error(results)
    (m,), steps = columns(told["rows"], "m"), spread(told["rows"], "steps")
    plots.band(ax, m, steps, color=plots.BLUE, **DOTS)
    label = f"steps to a test error of {100 * told['rows'][0]['target']:g}%"
    plots.log_log(ax, xlabel=plots.WORDS["examples"], ylabel=label)
    shown = steps[np.isfinite(steps)]
    ax.set_ylim(shown.min() / 2, shown.max() * 2)
    if told["too_small"]:
        left, largest = min(told["too_small"]) / 1.3, max(told["too_small"])
        ax.axvspan(left, largest, color=plots.GREY, alpha=0.15, linewidth=0)
        ax.set_xlim(left, m[-1] * 1.3)
        place: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "ha": "center"}
        place |= {"va": "center", "rotation": 90, "color": plots.text_color(plots.GREY)}
        ax.text(float(np.sqrt(left * largest)), 0.5, "too few", fontsize=9.5, **place)
    ax.set_title(
        f"Linear: steps fall {told['fall']:.2f} times with m,\nand no more from "
        f"m = {told['flat_from']:,}"
    )


def _of_clock(ax: plots.Axes, results: dict[str, Any]) -> None:
    rows, lines = select(results["table"], group="timing"), _told_clock(results)
    for kind, (color, line, name) in CLOCK.items():
        own = select(rows, kind=kind)
        (d,), values = columns(own, "d"), spread(own, "nanoseconds")
        plots.band(ax, d, values, color=color, linestyle=line, label=name, **DOTS)
        fine = np.geomspace(d[0], d[-1], 50)
        ax.plot(fine, lines[kind][0] + lines[kind][1] * fine, **DOTTED)
    plots.log_log(ax, xlabel="non-zero features d", ylabel="ns a step")
    a, b, _ = lines["dense"]
    ax.set_title(
        f"A step costs a + b d: dense {a:.0f} + {b:.1f} d ns,\n"
        f"sparse {lines['sparse'][1]:.0f} ns a non-zero"
    )


def _of_accuracy(ax: plots.Axes, results: dict[str, Any]) -> None:
    rows = select(results["table"], group="accuracy", data="moons")
    rows = [row for row in rows if row["steps"] is not None]
    lambdas, least = grouped(rows, "lam"), min(row["epsilon"] for row in rows)
    colors = plots.shades(len(lambdas))[::-1]
    for (lam, own), color in zip(lambdas.items(), colors, strict=True):
        name, x = f"λ = {plots.power_of_ten(lam)}", 1 / columns(own, "epsilon")[0]
        values, to_the_end = spread(own, "steps"), x[-1] >= 0.99 / least
        plots.band(ax, x, values, color=color, label=name if to_the_end else None, **DOTS)
        last = x >= x[-1] / 12
        ax.plot(x[last], values[1][-1] * x[last] / x[-1], **DOTTED)
        if not to_the_end:
            at = (x[-1], values[1][-1])
            plots.beside(ax, name, at, (4, 7), of=color, ha="right", va="baseline")
    plots.log_log(ax, xlabel="1/ε", ylabel=plots.WORDS["steps"])
    _widen(ax, 1, 2.5)
    rates = _told_accuracy(results)["in_lam"]["moons"]
    ax.set_title(
        f"Steps grow like 1/ε; with 1/λ to the power\nof {min(rates):.1f} to {max(rates):.1f}"
    )


def plot(results: dict[str, Any]) -> plots.Figure:
    """Four panels: m with a kernel, m without, d, and ε at each λ."""
    figure, axes = plots.panels(2, 2, 7.4)
    for draw, ax in zip((_of_kernel, _of_error, _of_clock, _of_accuracy), axes.flat, strict=True):
        draw(ax, results)
    chosen = sorted({row["lam"] for row in _told_error(results)["rows"]}, reverse=True)
    return plots.state(
        figure,
        f"More examples need {'no' if _told_kernel(results)['flat'] else 'some'} more steps to an "
        "accuracy: what a step costs grows with its features, and with a kernel with the number of "
        "examples",
        f"Kernel: Adult, RBF, λ = {LAM:g}. Linear: MNIST, even against odd, "
        f"λ = {' or '.join(map(plots.power_of_ten, chosen))}, chosen on other images. Step: "
        f"seconds depend on the machine. Last: {NAMES['moons']}, RBF. Dotted: in proportion; for "
        "the step, lines that were fitted. "
        f"t-weighted average; median and 20–80% of {len(results['seeds'])} runs.",
    )
