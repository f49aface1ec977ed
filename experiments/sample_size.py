"""The run time does not depend on the number of examples: steps to an accuracy against m and λ.

The claim of ICML 2007 and MPB 2011: the steps to reach an accuracy are O(1/(λ ε)), whatever m;
Shalev-Shwartz and Srebro (2008), whom the thesis on convergence cites, go further: with more data
the time to a test error may fall. Documents of CCAT's shape, λ = 1e-4; the accuracy is a test error
of 1.1 times the optimum of the largest m. The dependence on λ is that of the steps to f* + ε.
Medians over seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments import _plots as plots
from experiments._claims import ICML, Claim, exponent, like_inverse, mark, slope
from experiments._run import ExperimentContext
from experiments._runs import Split, documents, first_record, first_within
from experiments._tables import columns
from kpegasos import linear_rows, make_problem, sdca

FULL_TIME = "6 min"
QUICK_TIME = "15 s"

LAM = 1e-4
LAMS = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
EPSILON = 0.005
_TEST = 23_149
_LARGEST = 800_000


def _sizes(quick: bool) -> tuple[int, ...]:
    return (5_000, 20_000) if quick else (50_000, 100_000, 200_000, 400_000, _LARGEST)


def _data(quick: bool) -> Split:
    return documents(_sizes(quick)[-1], 4_000 if quick else _TEST, random_state=1)


def _to_accuracy(n_samples: int, target: float, quick: bool, seed: int) -> float:
    """Steps until the test error is at most the target."""
    data = _data(quick)
    X, y = data.X[:n_samples], data.y[:n_samples]
    record = first_record(
        make_problem(y, LAM),
        linear_rows(X),
        np.unique(np.geomspace(2000, 3e6, 90).astype(int)).tolist(),
        lambda run: data.error(run.result().w) <= target,
        sampling="contiguous",
        random_state=seed,
    )
    return np.nan if record is None else record.iteration


def _to_epsilon(lam: float, quick: bool, seed: int) -> float:
    """Steps until the objective is within ε of its optimum."""
    X, y = _data(quick)[:2]
    n_samples = min(100_000, y.size)
    rows, problem = linear_rows(X[:n_samples]), make_problem(y[:n_samples], lam)
    f_star = sdca(problem, rows, tol=5e-4, max_epochs=200).dual_bound
    points = np.unique(np.geomspace(500, 2e7, 120).astype(int)).tolist()
    options: Any = {"sampling": "contiguous", "max_time": 60, "random_state": seed}
    record = first_within(problem, rows, points, f_star + EPSILON, **options)
    return np.nan if record is None else record.iteration


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Measure against m at one λ, and against λ at one m."""
    seeds = range(2 if context.quick else 9)
    best = context.part("best", _data(context.quick).optimum, LAM, tol=1e-3)
    target = 1.1 * best["test_error"]

    def median_steps(key: str, seeds: range, work: Any, *where: Any) -> float:
        runs = [context.part(f"{key}, {seed}", work, *where, context.quick, seed) for seed in seeds]
        return float(np.median(np.array(runs, dtype=float)))

    by_size = [
        {"m": m, "steps": median_steps(f"m {m}", seeds, _to_accuracy, m, target)}
        for m in context.progress(_sizes(context.quick), "examples")
    ]
    by_lam = [
        {"lam": lam, "steps": median_steps(f"lam {lam:g}", seeds[:3], _to_epsilon, lam)}
        for lam in context.progress(LAMS[:2] if context.quick else LAMS, "λ")
    ]
    return {
        "seeds": list(seeds),
        "table": by_size + by_lam,
        "by_size": by_size,
        "by_lam": by_lam,
        "exponents": {"steps": slope(*_columns(by_size, "m", "steps"))},
        "target_error": target,
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """Both dependences of the paper's abstract, on synthetic documents."""
    sizes, steps = _columns(results["by_size"], "m", "steps")
    lams, needed = _columns(results["by_lam"], "lam", "steps")
    if min(sizes.size, lams.size) < 2:  # a small version may reach too few of its goals
        return []
    growth, repeats = slope(sizes, steps), (steps / sizes).max()
    seen = (
        f"T is at most {repeats:.2f} m: no run sees the set even once, so m could hardly matter."
        if repeats < 1
        else f"T is up to {repeats:.1f} times m."
    )
    half = max(2, (lams.size + 1) // 2)
    large, small = (-slope(lams[part], needed[part]) for part in (slice(half), slice(-half, None)))
    return [
        Claim(
            "The run time does not depend on the size of the training set.",
            ICML,
            "Synthetic documents: steps to 1.1 times the optimal test error have an exponent of m "
            f"of {exponent(growth)} for m from {sizes[0]:,.0f} to {sizes[-1]:,.0f}. {seen}",
            mark(abs(growth) <= 0.1 and repeats > 1, abs(growth) <= 0.1),
            "✓ if the exponent is within ±0.1 and T exceeds m somewhere, ~ if T never does.",
        ),
        Claim(
            "The run time scales linearly with 1/λ.",
            ICML,
            f"Synthetic documents: steps to f* + {EPSILON:g} have an exponent of 1/λ of "
            f"{exponent(large)} for λ from {lams[0]:g} to {lams[half - 1]:g}, and of "
            f"{exponent(small)} from {lams[-half]:g} to {lams[-1]:g}.",
            *like_inverse([large, small]),
        ),
    ]


def _columns(rows: list[dict[str, Any]], *keys: str) -> list[np.ndarray]:
    """Columns of the rows whose runs all reached their goal."""
    table = columns(rows, *keys)
    return list(table[:, np.isfinite(table).all(axis=0)])


def _against(ax: Any, x: np.ndarray, steps: np.ndarray, at: int, name: str) -> None:
    """Steps, and a line in proportion to x through one of them."""
    if not steps.size:
        return
    style, reference = plots.METHODS["weighted"], steps[at] * x / x[at]
    ax.plot(x, steps, **style.options(linewidth=1.8, label="measured"))
    ax.plot(x, reference, color=plots.GREY, linestyle=":", linewidth=1.5, label=name)
    plots.log_log(ax)
    low, high = min(steps.min(), reference.min()), max(steps.max(), reference.max())
    ax.set_ylim(low / 3, high * 3)


def plot(results: dict[str, Any]) -> plots.Figure:
    """Steps against the number of examples, and against 1/λ."""
    figure, ((left, right),) = plots.panels(1, 2, 4.4)
    exponents = results["exponents"]
    exponent = np.nan if exponents["steps"] is None else exponents["steps"]
    sizes, steps = _columns(results["by_size"], "m", "steps")
    _against(left, sizes, steps, 0, "if proportional to m")
    left.set(
        xlabel=plots.WORDS["examples"],
        ylabel=f"steps to a test error of {100 * results['target_error']:.2f}%",
        title=f"steps go like {plots.power('m', exponent)}",
    )
    left.set_xticks(sizes, [f"{size // 1000:,}k" for size in sizes.astype(int)])
    lams, steps = _columns(results["by_lam"], "lam", "steps")
    order = np.argsort(-lams)
    inverse, steps = 1 / lams[order], steps[order]
    _against(right, inverse, steps, -1, "proportional to 1/λ")
    late = float(np.polyfit(np.log(inverse[-2:]), np.log(steps[-2:]), 1)[0])
    right.set(
        xlabel="1/λ",
        ylabel=f"steps to f* + {EPSILON:g}",
        title=f"at the small end like {plots.power('(1/λ)', late)}",
    )
    flat = abs(exponent) < 0.1
    return plots.state(
        figure,
        f"Steps {'do not ' * flat}grow with the number of examples: towards small λ they grow like "
        f"{plots.power('(1/λ)', late)}",
        "Synthetic documents of CCAT's shape, labels flipped at random; left "
        f"λ = {LAM:g}; {plots.METHODS['weighted'].name} over contiguous blocks, median of "
        f"{len(results['seeds'])} runs on the left. Left, every m is so large that no run sees an "
        "example twice."
        if sizes.size and np.all(_columns(results["by_size"], "steps")[0] < sizes.min())
        else f"Left λ = {LAM:g}; median of {len(results['seeds'])} runs.",
    )
