"""Linear, polynomial and RBF kernel on four toy problems: regions, margins, support vectors.

One choice of parameters for all problems. Pegasos runs until the certified relative gap is at most
`TOL`, and every example that ever violated the margin is a support vector, so that there are more
of them than at the optimum.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from experiments import _plots as plots
from experiments._claims import KARTHIK, Claim, mark, percent
from experiments._run import ExperimentContext
from experiments._runs import plane
from experiments._tables import columns, select
from kpegasos import PegasosSVC
from kpegasos.datasets import make_toy

FULL_TIME = "15 s"
QUICK_TIME = "5 s"

PROBLEMS = ("circles", "moons", "xor", "spirals")
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "polynomial": {"kernel": "poly", "degree": 3, "gamma": 1.0, "coef0": 1.0},
    "rbf": {"kernel": "rbf", "gamma": 5.0},
}
C = 10.0
TOL = 0.01
N_TRAIN, N_TEST, GRID = 200, 10_000, 70


def _fit(problem: str, kernel: str, epochs: int, tol: float) -> dict[str, Any]:
    X, y = make_toy(problem, N_TRAIN, random_state=0)
    X_test, y_test = make_toy(problem, N_TEST, random_state=1)
    model = PegasosSVC(C=C, **KERNELS[kernel], epochs=epochs, tol=tol, random_state=0).fit(X, y)
    return {
        "row": {
            "problem": problem,
            "kernel": kernel,
            "test_accuracy": model.score(X_test, y_test),
            "relative_gap": model.relative_gap_,
        },
        "panel": plane(model.decision_function, X, 0.2, GRID) | {"y": y, "support": model.support_},
    }


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Fit each kernel to each problem; keep decisions on a coarse grid."""
    epochs, tol = (500, 0.2) if context.quick else (20_000, TOL)
    fits = [
        context.part(f"{problem} {kernel}", _fit, problem, kernel, epochs, tol)
        for problem, kernel in context.progress(product(PROBLEMS, KERNELS), "fits")
    ]
    return {
        "seeds": {"train": 0, "test": 1, "fit": 0},
        "C": C,
        "table": [fit["row"] for fit in fits],
        "panels": [fit["panel"] for fit in fits],
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """The claim of the term paper's second and third figure."""
    line, curve = (
        {row["problem"]: row["test_accuracy"] for row in select(results["table"], kernel=kernel)}
        for kernel in ("linear", "rbf")
    )
    gains = [curve[problem] - line[problem] for problem in line]
    told = [f"{p} {percent(line[p])} and {percent(curve[p])}" for p in line]
    return [
        Claim(
            "A line cannot separate circles, moons, XOR and spirals; a kernel can.",
            KARTHIK,
            f"Test accuracy of the linear and of the RBF kernel: {', '.join(told)}.",
            mark(min(gains) > 0.05, max(gains) > 0.05),
            "✓ if the RBF kernel is ahead by more than five points everywhere, ~ if somewhere.",
        )
    ]


#: Names that are not those of the results.
NAMES = {"xor": "XOR", "rbf": "RBF"}


def plot(results: dict[str, Any]) -> plots.Figure:
    """One row a problem, one column a kernel; test accuracy in the corner."""
    from kpegasos.plotting import DecisionRegionDisplay

    figure, axes = plots.panels(len(PROBLEMS), len(KERNELS), 11.4)
    for ax, row, panel in zip(axes.flat, results["table"], results["panels"], strict=True):
        # Rings round nearly all points, as a line that cannot has them, would hide the points.
        many = len(panel["support"]) > len(panel["y"]) / 2
        own = {key: value for key, value in panel.items() if key != "support" or not many}
        DecisionRegionDisplay(**own).plot(ax, legend=False, point_size=14)
        problem, kernel = (NAMES.get(row[key], row[key]) for key in ("problem", "kernel"))
        ax.set_title(f"{problem}, {kernel}: {row['test_accuracy']:.1%}")
        ax.set(xticks=[], yticks=[])
    linear, rbf = (
        columns(select(results["table"], kernel=kernel), "test_accuracy")
        for kernel in ("linear", "rbf")
    )
    apart = rbf.min() > linear.max()
    claim = "A line cannot, a kernel can" if apart else "A line and a kernel"
    return plots.state(
        figure,
        f"{claim}: {linear.min():.0%} to {linear.max():.0%} right with the linear kernel, "
        f"{rbf.min():.0%} to {rbf.max():.0%} with RBF",
        f"Per cent of {N_TEST:,} test points; C = {results['C']:g}; rings are support vectors "
        "where fewer than half of the points are; dashed lines are margins.",
    )
