"""Linear, polynomial and RBF kernel on four toy problems: regions, margins, support vectors.

One choice of parameters for all problems. Pegasos runs until the certified relative gap is at most
`TOL`, and every example that ever violated the margin is a support vector, so that there are more
of them than at the optimum.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from experiments import _plots as plots
from experiments._data import plane
from experiments._results import KARTHIK, Claim, mark, percent, select
from experiments._run import Context
from kpegasos import PegasosSVC
from kpegasos.datasets import make_toy
from kpegasos.plotting import DecisionRegionDisplay

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
    own = {"test_accuracy": model.score(X_test, y_test), "relative_gap": model.relative_gap_}
    return {
        "row": {"problem": problem, "kernel": kernel, **own},
        "panel": plane(model.decision_function, X, 0.2, GRID) | {"y": y, "support": model.support_},
    }


def compute(context: Context) -> dict[str, Any]:
    """Fit each kernel to each problem; keep decisions on a coarse grid."""
    epochs, tol = (500, 0.2) if context.quick else (20_000, TOL)
    fits = [
        context.part(f"{problem} {kernel}", _fit, problem, kernel, epochs, tol)
        for problem, kernel in product(PROBLEMS, KERNELS)
    ]
    table, panels = ([fit[key] for fit in fits] for key in ("row", "panel"))
    return {"C": C, "table": table, "panels": panels}


def claims(results: dict[str, Any]) -> list[Claim]:
    """The claim of the term paper's second and third figure."""
    line, curve = (
        {row["problem"]: row["test_accuracy"] for row in select(results["table"], kernel=kernel)}
        for kernel in ("linear", "rbf")
    )
    ratios = [(1 - curve[problem]) / (1 - line[problem]) for problem in line]
    told = [f"{p} {percent(line[p])} and {percent(curve[p])}" for p in line]
    return [
        Claim(
            "Where a linear SVM is inaccurate, one with an RBF kernel is accurate.",
            KARTHIK,
            f"Test accuracy of the linear and of the RBF kernel: {', '.join(told)}.",
            mark(max(ratios) < 0.5, min(ratios) < 0.5),
            "✓ if the RBF kernel errs less than half as often on every problem, ~ if on some.",
        )
    ]


def plot(results: dict[str, Any]) -> plots.Figure:
    """One row a problem, one column a kernel; test accuracy in the title."""
    figure, axes = plots.panels(len(PROBLEMS), len(KERNELS), 11.4)
    names = {"xor": "XOR", "rbf": "RBF"}
    for ax, row, panel in zip(axes.flat, results["table"], results["panels"], strict=True):
        # Rings round nearly all points, as a line that cannot has them, would hide the points.
        many = len(panel["support"]) > len(panel["y"]) / 2
        own = {key: value for key, value in panel.items() if key != "support" or not many}
        DecisionRegionDisplay(**own).plot(ax, legend=False, point_size=14)
        problem, kernel = (names.get(row[key], row[key]) for key in ("problem", "kernel"))
        ax.set(title=f"{problem}, {kernel}: {row['test_accuracy']:.1%}", xticks=[], yticks=[])
    return plots.state(
        figure,
        "What a line cannot separate, a kernel can",
        f"Per cent of {N_TEST:,} test points; C = {results['C']:g}; rings are support vectors "
        "where fewer than half of the points are; dashed lines are margins.",
    )
