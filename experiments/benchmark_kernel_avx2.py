"""Seconds of kernel SVMs on AVX2: `benchmark_kernel` with every solver limited to it.

For machines with AVX-512: numba compiles for Haswell, OpenBLAS and Intel's MKL are told to leave
the wider vectors alone. What of oneDAL is not MKL does not listen and keeps AVX-512, to the peer's
advantage. It has the small problems, and of the large ones ours beside intelex.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from experiments import _plots as plots
from experiments import benchmark_kernel
from experiments._kernel import AVX2
from experiments._run import ExperimentContext

FULL_TIME = "30 min"
QUICK_TIME = "30 s"

GROUPS = ("small", *benchmark_kernel.PROBLEMS)


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run the groups with AVX2 in all processes."""
    return benchmark_kernel.run_groups(replace(context, only=context.only or GROUPS), AVX2)


def plot(results: dict[str, Any]) -> plots.Figure:
    """Draw what `benchmark_kernel` draws."""
    return benchmark_kernel.plot(results)
