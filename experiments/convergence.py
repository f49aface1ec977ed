"""Objective and suboptimality against iterations: averages, sampling, projection, mini-batches.

Two noisy moons, RBF kernel, no intercept. Every curve is the median of `SEEDS` runs with a band
from the 20th to the 80th percentile. The optimum f* is bracketed by dual coordinate ascent.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments._claims import JOURNAL, Claim, exponent, mark, medians, slope
from kpegasos import make_problem, make_rows, pegasos, sdca
from kpegasos.datasets import make_toy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "30 s"
QUICK_TIME = "10 s"

N_SAMPLES, NOISE, C, GAMMA = 1000, 0.2, 10.0, 2.0
SEEDS = 15
# Without a word: one example a step, fresh permutations, no projection, weighted average.
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "uniform average": {"average": "uniform"},
    "suffix average": {"average": "suffix"},
    "uniform sampling": {"sampling": "uniform"},
    "projection": {"projection": True},
    "k = 16": {"batch_size": 16},
    "k = 256": {"batch_size": 256},
}
COLUMNS = ("objective_last", "objective_average", "gap", "dual_bound")


def _setting() -> tuple[Any, Any]:
    X, y = make_toy("moons", N_SAMPLES, noise=NOISE, random_state=0)
    problem = make_problem(np.where(y == 1, 1, -1), lam=1 / (C * N_SAMPLES))
    return problem, make_rows(X, "rbf", gamma=GAMMA, cache="precomputed")


def _bracket() -> dict[str, Any]:
    result = sdca(*_setting(), tol=1e-9, max_epochs=20_000, random_state=0)
    return {
        "objective": result.objective,
        "dual_bound": result.dual_bound,
        "relative_gap": result.relative_gap,
        "epochs": result.n_steps / N_SAMPLES,
        "status": result.status,
    }


def _histories(name: str, n_draws: int, seeds: int) -> dict[str, Any]:
    options = CONFIGURATIONS[name]
    n_steps = n_draws // options.get("batch_size", 1)
    problem, rows = _setting()
    histories = [
        pegasos(
            problem, rows, n_steps=n_steps, checkpoints="log", random_state=seed, **options
        ).history
        for seed in range(seeds)
    ]
    kept = COLUMNS if name == "default" else COLUMNS[:2]
    return {
        "iteration": histories[0]["iteration"],
        "epoch": histories[0]["epoch"],
        **{column: np.array([history[column] for history in histories]) for column in kept},
    }


def _rows(name: str, curves: dict[str, Any], optimum: float, steps: int) -> list[dict[str, Any]]:
    """Summarise a configuration at four moments: median suboptimality of both iterates.

    The last iterate is at its best at the end of an epoch, when all examples have had equal weight,
    hence a moment within an epoch too.
    """
    iteration, epoch = (np.asarray(curves[column]) for column in ("iteration", "epoch"))
    moments = {
        "same number of steps": int(np.abs(iteration - steps).argmin()),
        "early, within an epoch": int(np.abs(epoch - 12.6).argmin()),
        "late, within an epoch": -2,
        "end of the last epoch": -1,
    }

    def median(iterate: str, index: int) -> float:
        values = np.asarray(curves[f"objective_{iterate}"])[:, index]
        return float(np.median(values) - optimum)

    return [
        {
            "configuration": name,
            "moment": moment,
            "iteration": iteration[index],
            "passes": epoch[index],
            "suboptimality_average": median("average", index),
            "suboptimality_last": median("last", index),
        }
        for moment, index in moments.items()
    ]


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Bracket the optimum, then run every configuration with every seed."""
    n_draws, seeds = (32_000, 10) if context.quick else (1_000_000, SEEDS)
    bracket = context.part("optimum", _bracket)
    curves = {
        name: context.part(name, partial(_histories, name, n_draws, seeds))
        for name in context.progress(CONFIGURATIONS, "configurations")
    }
    return {
        "seeds": list(range(seeds)),
        "n_samples": N_SAMPLES,
        "C": C,
        "gamma": GAMMA,
        "optimum": bracket,
        "table": [
            row
            for name in curves
            for row in _rows(name, curves[name], bracket["dual_bound"], n_draws // 256)
        ],
        "curves": curves,
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """The rate of the papers' bounds."""
    curve, optimum = results["curves"]["default"], results["optimum"]["dual_bound"]
    steps = np.array(curve["iteration"])
    excess = medians(curve["objective_average"]) - optimum
    late, before = steps >= steps[-1] / 10, (steps >= steps[-1] / 100) & (steps <= steps[-1] / 10)
    last, earlier = (slope(steps[part], excess[part]) for part in (late, before))
    return [
        Claim(
            "The suboptimality falls like 1/T.",
            JOURNAL,
            f"Exponent of T in the suboptimality of the t-weighted average: {exponent(earlier)} "
            f"from {steps[-1] // 100:,} to {steps[-1] // 10:,} steps, {exponent(last)} from there "
            f"to {steps[-1]:,}.",
            mark(last <= -0.9, last <= -0.7),
            "✓ if the exponent of the last decade is at most −0.9, ~ if at most −0.7.",
        )
    ]


def _draw_panels(axes: np.ndarray, curves: dict[str, Any], optimum: float) -> None:
    """Draw the six panels of the figure."""
    from kpegasos.plotting import ConvergenceDisplay

    default = curves["default"]

    def draw(ax: Axes, name: str, label: str, y: str = "suboptimality", **options: Any) -> None:
        options |= {"optimum": optimum, "label": label, "legend": False}
        ConvergenceDisplay.from_history(curves[name], ax=ax, y=y, **options)

    objective, averages, certificate, sampling, projection, batches = axes.flat
    names = ["last iterate", "weighted average", "dual bound"]
    ConvergenceDisplay.from_history(default, ax=objective, optimum=optimum, label=names)
    objective.set(title="Objective", ylabel="objective", ylim=(optimum / 20, None))

    draw(averages, "default", "last iterate", "suboptimality_last", color="C1")
    draw(averages, "uniform average", "uniform average", color="C2")
    draw(averages, "suffix average", "suffix average", color="C3")
    draw(averages, "default", "weighted average", color="C0")
    averages.set_title("Averages")

    draw(certificate, "default", "certified gap", "gap", color="C4")
    draw(certificate, "default", "suboptimality", color="C0")
    steps = np.array(default["iteration"][len(default["iteration"]) // 2 :], dtype=float)
    level = float(np.median(default["objective_average"], axis=0)[-1]) - optimum
    certificate.plot(
        steps, 0.3 * level * steps[-1] / steps, "k:", linewidth=1, label="slope of 1/T"
    )
    certificate.set(title="Certificate", ylabel="f(w) − f* and its bound")

    for name, label, color in (
        ("uniform sampling", "independent draws", "C1"),
        ("default", "permutations", "C0"),
    ):
        draw(sampling, name, f"{label}, last", "suboptimality_last", color=color, linestyle="--")
        draw(sampling, name, f"{label}, average", color=color)
    sampling.set_title("Sampling")

    draw(projection, "projection", "with projection", color="C1")
    draw(projection, "default", "without projection", color="C0")
    projection.set_title("Projection")

    for name, label, color in (
        ("default", "k = 1", "C0"),
        ("k = 16", "k = 16", "C1"),
        ("k = 256", "k = 256", "C2"),
    ):
        draw(batches, name, label, x="epoch", color=color)
    batches.set(title="Mini-batches of k, for the same work", xlabel="passes over the data, kT / m")

    # The panels of small differences: without the first steps, where all curves are alike.
    for ax, start in ((averages, 300), (sampling, 300), (batches, 0.3)):
        in_view = [line.get_ydata()[line.get_xdata() >= start] for line in ax.lines]
        ax.set_xlim(left=start)
        ax.set_ylim(top=1.5 * max(np.nanmax(values) for values in in_view))


def plot(results: dict[str, Any]) -> Figure:
    """Six panels that share the default configuration, in blue."""
    import matplotlib.pyplot as plt

    curves, optimum = results["curves"], results["optimum"]["dual_bound"]
    figure, axes = plt.subplots(3, 2, figsize=(9, 11))

    _draw_panels(axes, curves, optimum)
    figure.suptitle(
        f"Pegasos on two moons: m = {results['n_samples']}, RBF kernel, C = {results['C']:g}; "
        f"median of {len(results['seeds'])} runs, 20–80% band",
        fontsize=12,
    )
    for ax in axes.flat:
        ax.legend(frameon=False, fontsize=10)
        ax.grid(alpha=0.25)
    return figure
