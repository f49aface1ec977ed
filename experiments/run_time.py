"""Run time in m, d, λ and ε: steps and what a step costs, each where it can be counted.

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

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._claims import (
    BLOG,
    ICML,
    JOURNAL,
    OURS,
    Claim,
    exponent,
    listed,
    mark,
    percent,
    rounded,
    slope,
    span,
)
from experiments._meta import commit, package_fingerprint, vectors
from experiments._run_time_clock import steps_on_the_clock
from experiments._run_time_steps import EPSILON, by_size, to_epsilon, to_error, tuned
from experiments._tables import select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "2 min"
QUICK_TIME = "10 s"

#: An odd number of seeds has a run in its middle.
SEEDS, TURNS = 11, 15
KERNEL_SIZES = (1000, 2000, 4000, 8000, 16_000, 32_000)
ERROR_SIZES = (700, 1000, 1400, 2000, 4000, 8000, 16_000)
ERROR_LAMBDAS = (1e-3, 1e-4, 1e-5, 1e-6)
TARGET, MOST_TO_ERROR = 0.13, 15_000
NAMES = {"moons": "two moons", "rcv1": "RCV1 sample", "adult": "Adult"}
LAMBDAS, EPSILONS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5), (0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4)
MOST_TO_EPSILON = 300_000
#: Suboptimality at which exponents of 1/λ are told.
AT = 0.01
#: A line meets the measured points if it is within this share of each.
CLOSE = 0.25
#: An exponent of 0 or 1 is met within this.
FLAT, LINEAR = 0.1, 0.15

Rows = list[dict[str, Any]]


def _kernel(context: ExperimentContext, seeds: int) -> Rows:
    sizes = (500, 1000) if context.quick else KERNEL_SIZES
    return [
        context.part(f"kernel {m}", partial(by_size, m, seeds))
        for m in context.progress(sizes, "kernel")
    ]


def _error(context: ExperimentContext, seeds: int) -> Rows:
    sizes = (1000, 4000) if context.quick else ERROR_SIZES
    lambdas = (1e-3, 1e-4) if context.quick else ERROR_LAMBDAS
    target = 0.16 if context.quick else TARGET
    table = []
    for m in context.progress(sizes, "test error"):
        runs = [
            context.part(
                f"error {m}, {seed}", partial(to_error, m, seed, lambdas, target, MOST_TO_ERROR)
            )
            for seed in range(seeds)
        ]
        table += tuned(m, lambdas, runs)
    return [{"target": target, **row} for row in table]


def _accuracy(context: ExperimentContext, seeds: int) -> Rows:
    names, lambdas = (["moons"], LAMBDAS[:3]) if context.quick else (list(NAMES), LAMBDAS)
    most = 20_000 if context.quick else MOST_TO_EPSILON
    table = []
    for name in names:
        for lam in context.progress(lambdas, NAMES[name]):
            work = partial(to_epsilon, name, lam, EPSILONS, seeds, most)
            table += context.part(f"accuracy {name}, {lam:g}", work)
    return table


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run the groups that are asked for, and take the others from the results at hand."""
    seeds = 2 if context.quick else SEEDS
    clock = (3, (10, 100, 1000), (1, 16, 64), 200_000) if context.quick else (TURNS,)
    timed: dict[str, Any] = {}

    def timing() -> Rows:
        timed.update(context.part("timing", partial(steps_on_the_clock, *clock)))
        return list(timed["rows"])

    groups: dict[str, Callable[[], Rows]] = {
        "timing": timing,
        "kernel": partial(_kernel, context, seeds),
        "error": partial(_error, context, seeds),
        "accuracy": partial(_accuracy, context, seeds),
    }
    table: Rows = []
    origins: dict[str, Any] = {}
    today = datetime.now(UTC).date().isoformat()
    for name, measure in groups.items():
        if context.wants(name):
            table += [{"group": name, **row} for row in measure()]
            origins[name] = {"date": today, "commit": commit(), "package": package_fingerprint()}
            if name == "timing":
                origins[name]["load"] = timed["load"]
        elif name in context.previous.get("groups", {}):
            table += select(context.previous["table"], group=name)
            origins[name] = context.previous["groups"][name]
    return {
        "seeds": list(range(seeds)),
        "vectors": vectors(),  # LLVM answers once something is compiled
        "groups": origins,
        "table": table,
    }


# What the numbers say


def _told_line(rows: Rows, key: str) -> tuple[float, float, float]:
    """Fit a + b·x in proportion to the measured; a, b and the largest error, a share."""
    x, y = (np.array([row[name] for row in rows], dtype=float) for name in (key, "nanoseconds"))
    basis = np.stack([np.ones_like(x), x], axis=1)
    (a, b), *_ = np.linalg.lstsq(basis / y[:, None], np.ones_like(y), rcond=None)
    return float(a), float(b), float(np.abs((a + b * x) / y - 1).max())


def _told_kernel(results: dict[str, Any]) -> dict[str, Any]:
    """Exponents of m of the steps, and of the kernel values where m exceeds the steps."""
    rows = [row for row in select(results["table"], group="kernel") if row["steps"] is not None]
    keys = ("m", "steps", "kernel_values", "computed")
    m, steps, values, computed = (np.array([row[key] for row in rows]) for key in keys)
    late = m >= min(np.median(steps), m[-2])
    return {
        "m": m,
        "steps": steps,
        "steps_exponent": slope(m, steps),
        "late": m[late],
        "values_exponent": slope(m[late], values[late]),
        "computed_exponent": slope(m[late], computed[late]),
        "each": (values / m)[late],
        "most_seen": float((steps / m).max()),
    }


def _told_like_m(kernel: dict[str, Any]) -> bool:
    """Whether kernel values, those needed and those computed, grow in proportion to m."""
    rates = (kernel["values_exponent"], kernel["computed_exponent"])
    return max(abs(rate - 1) for rate in rates) <= LINEAR


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
    """Exponents of 1/ε at each λ, and of 1/λ by decade at one ε, for each set."""
    rows = [row for row in select(results["table"], group="accuracy") if row["steps"] is not None]
    in_epsilon, in_lam, constants = [], {}, {}
    for name in dict.fromkeys(row["data"] for row in rows):
        own = select(rows, data=name)
        for lam in dict.fromkeys(row["lam"] for row in own):
            ends = sorted(select(own, lam=lam), key=lambda row: float(row["epsilon"]))[:3]
            if ends[-1]["epsilon"] > 9 * ends[0]["epsilon"]:
                x, y = ([row[key] for row in ends] for key in ("epsilon", "steps"))
                in_epsilon.append(-slope(x, y))
        at = select(own, epsilon=AT)
        lams, steps = (np.array([row[key] for row in at]) for key in ("lam", "steps"))
        in_lam[name] = (-np.diff(np.log(steps)) / np.diff(np.log(lams))).tolist()
        constants[name] = (lams * steps * AT).tolist()
    return {"in_epsilon": in_epsilon, "in_lam": in_lam, "constants": constants}


def _told_clock(results: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Lines through the nanoseconds of each kind of step."""
    rows = select(results["table"], group="timing")
    return {
        kind: _told_line(select(rows, kind=kind), "k" if kind == "batch" else "d")
        for kind in dict.fromkeys(row["kind"] for row in rows)
    }


def _told_found(results: dict[str, Any]) -> Claim:
    """The finding: which of m, d, λ and ε the run time depends on."""
    kernel, accuracy = _told_kernel(results), _told_accuracy(results)
    in_epsilon = accuracy["in_epsilon"]
    by_lam = [rate for rates in accuracy["in_lam"].values() for rate in rates]
    flat = abs(kernel["steps_exponent"]) <= FLAT
    like_m = _told_like_m(kernel)
    like_epsilon = abs(np.median(in_epsilon) - 1) <= LINEAR
    weaker = np.median(by_lam) < 1 - LINEAR
    return Claim(
        f"Steps to an accuracy {'do not depend' if flat else 'depend'} on the number m of "
        f"examples; kernel values {'grow in proportion to' if like_m else 'grow with'} m. Steps "
        f"grow {'more slowly than' if weaker else 'like'} 1/λ.",
        OURS,
        f"With a kernel and m from {kernel['m'][0]:,} to {kernel['m'][-1]:,}, steps have an "
        f"exponent of m of {exponent(kernel['steps_exponent'])}; kernel values have one of "
        f"{exponent(kernel['computed_exponent'])} once m exceeds the steps. Exponents of 1/λ are "
        f"{span(by_lam, exponent)}, by the decade of λ and the data. Steps grow "
        f"{'like' if like_epsilon else 'otherwise than'} 1/ε, with a median exponent of "
        f"{exponent(float(np.median(in_epsilon)))}.",
    )


def _told_lines(clock: dict[str, tuple[float, float, float]]) -> str:
    """Write the lines through the nanoseconds."""
    told = [
        f"{rounded(a)} + {rounded(b)} d ({kind})"
        for kind, (a, b, _) in clock.items()
        if kind != "batch"
    ]
    return f"Nanoseconds of a step with d non-zeros, on this machine: {listed(told)}."


def _told_of_d(results: dict[str, Any]) -> list[Claim]:
    """The cost of a step."""
    clock = _told_clock(results)
    errors = {kind: error for kind, (_, _, error) in clock.items()}
    worst = max(error for kind, error in errors.items() if kind != "batch")
    start, each, off = clock["batch"]
    accuracy = _told_accuracy(results)
    by_lam = [rate for rates in accuracy["in_lam"].values() for rate in rates]
    bound = max(*accuracy["in_epsilon"], *by_lam) <= 1 + LINEAR
    return [
        Claim(
            "The run time is Õ(d/(λε)), where d bounds the non-zero features of an example.",
            ICML,
            f"{_told_lines(clock)} Each median is within {percent(worst, 0)} of its line. "
            f"The steps needed have exponents of at most {exponent(max(accuracy['in_epsilon']))} "
            f"in 1/ε and of at most {exponent(max(by_lam))} in 1/λ.",
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
            f"~ if the time is within {percent(2 * CLOSE, 0)} of a line in k; never ✓, as λ and d "
            "are left out of the statement.",
        ),
    ]


def _told_of_m(results: dict[str, Any]) -> list[Claim]:
    """What the number of examples does."""
    kernel, error = _told_kernel(results), _told_error(results)
    flat = abs(kernel["steps_exponent"]) <= FLAT
    steps, sizes = error["steps"], [row["m"] for row in error["rows"]]
    small = ""
    if error["too_small"]:
        small = f" m = {listed(f'{m:,}' for m in error['too_small'])} does not reach it."
    return [
        Claim(
            "With a kernel the run time does depend linearly on the training set's size.",
            JOURNAL,
            f"Adult, RBF kernel: {span(kernel['steps'])} steps lead to ε = {EPSILON:g} (exponent "
            f"of m {exponent(kernel['steps_exponent'])}). From m = {kernel['late'][0]:,} on the "
            f"rows of examples that violate have {span(kernel['each'])} values an example "
            f"(exponent {exponent(kernel['values_exponent'])}, hardly otherwise for so many "
            "steps). The values that the package computed, rows ahead of need included, have an "
            f"exponent of {exponent(kernel['computed_exponent'])}.",
            mark(_told_like_m(kernel) and flat, flat),
            f"✓ if exponents of m are within ±{LINEAR:g} of 1 for both counts of kernel values "
            f"where m exceeds the steps and within ±{FLAT:g} of 0 for steps, ~ if the second "
            "holds alone.",
        ),
        Claim(
            "The number of steps does not depend on the size of the training set.",
            ICML,
            f"In the same runs steps have an exponent of m of "
            f"{exponent(kernel['steps_exponent'])}. They are up to "
            f"{rounded(kernel['most_seen'])} times m, so that examples are met again.",
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
            "✓ if steps fall from each size to the next, 1.5 times in all, ~ if they fall 1.5 "
            "times and then no more, or if sizes too small to reach the error are all that falls.",
        ),
    ]


def _told_of_accuracy(results: dict[str, Any]) -> list[Claim]:
    """What λ and ε do."""
    found = _told_accuracy(results)
    in_epsilon = found["in_epsilon"]
    by_lam = [rate for rates in found["in_lam"].values() for rate in rates]
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
            f"Exponents of 1/ε over the last decade of ε that is reached: "
            f"{span(in_epsilon, exponent)} over {len(in_epsilon)} pairs of set and λ, median "
            f"{exponent(float(np.median(in_epsilon)))}.",
            mark(max(in_epsilon) <= 1 + LINEAR, float(np.median(in_epsilon)) <= 1 + LINEAR),
            f"✓ if no exponent is above {1 + LINEAR:g}, ~ if the median is not.",
        ),
        Claim(
            "The number of steps scales linearly with 1/λ.",
            ICML,
            f"Exponents of 1/λ at ε = {AT:g}, by decade from λ = {max(LAMBDAS):g} down: "
            f"{rates}. λTε at the largest λ and at the smallest: "
            f"{constants}. The exponent depends on the range of λ.",
            mark(
                min(by_lam) >= 1 - LINEAR and max(by_lam) <= 1 + LINEAR, max(by_lam) <= 1 + LINEAR
            ),
            f"✓ if every exponent is within ±{LINEAR:g} of 1, ~ if none is larger, so that 1/λ is "
            "a bound.",
        ),
    ]


def claims(results: dict[str, Any]) -> list[Claim]:
    """What came out, and what the sources say of d, m, ε and λ; nothing until all is measured."""
    rows = [row for row in results["table"] if row.get("steps", row.get("nanoseconds")) is not None]
    if not {"kernel", "error", "timing", "accuracy"} <= {row["group"] for row in rows}:
        return []
    of_d, of_batch = _told_of_d(results)
    return [
        _told_found(results),
        of_d,
        *_told_of_m(results),
        *_told_of_accuracy(results),
        of_batch,
    ]


def plot(results: dict[str, Any]) -> Figure:
    """Four panels: m with a kernel, m without, d, and ε at each λ."""
    from experiments._run_time_figure import draw  # which no result depends on

    return draw(results)
