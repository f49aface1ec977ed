"""Kernel SVMs against the clock at equal suboptimality: PegasosSVC and every other SVC.

Every solver runs a ladder of tolerances (pure Pegasos: of epochs) on each problem, with the same
budget for kernel rows. A run has a process of its own, a warm-up outside the clock, and up to three
fits, of which the median counts; runs of different solvers alternate. On small problems the
solvers take turns in one process, many times. Predictions are repeated on one model, and their
median counts: what a model keeps for the next one, as ours does its packed vectors, is not in it
where there are three or more. Each model is judged by the objective that its solver
minimises, against the best dual bound of that (`experiments._kernel_judge` says how the intercept
is treated), and seconds are compared where the relative suboptimality is equal
(`experiments._kernel_levels` says how).

`SVC` works in float64 whatever it is given, so it is run on one dtype of the larger problems. On
Fashion-MNIST it takes five minutes and is run only when asked for, by ``--only slow``.

``--only NAME`` runs a group alone and keeps the rest of the results at hand; the groups are the
names of the problems, ``small``, ``cache``, ``start`` and ``slow``. ``python -m
experiments._kernel_markdown`` prints the results as tables. ``benchmark_kernel_avx2`` is the same
for processors without AVX-512. Install the peers with ``pip install kpegasos[bench]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments._kernel_figure import draw
from experiments._kernel_suite import run_groups

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "50 min"
QUICK_TIME = "30 s"


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run every solver on every problem, in groups."""
    return run_groups(context)


def plot(results: dict[str, Any]) -> Figure:
    """Suboptimality against seconds for each problem; small ones, predictions and budgets."""
    return draw(results)
