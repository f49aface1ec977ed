"""Kernel SVMs against the clock on AVX2: `benchmark_kernel` with every solver held to it.

For machines with AVX-512: numba compiles for Haswell, OpenBLAS and Intel's MKL are told to leave
the wider vectors alone. What of oneDAL is not MKL does not listen and keeps AVX-512, to the peer's
advantage. Options and groups are those of `benchmark_kernel`; ``python -m
experiments._kernel_markdown benchmark_kernel_avx2`` prints the tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments._kernel_figure import draw
from experiments._kernel_peers import AVX2
from experiments._kernel_suite import run_groups

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments._run import ExperimentContext

FULL_TIME = "35 min"
QUICK_TIME = "30 s"


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run the groups with AVX2 in all processes."""
    return run_groups(context, AVX2)


def plot(results: dict[str, Any]) -> Figure:
    """Draw what `benchmark_kernel` draws."""
    return draw(results)
