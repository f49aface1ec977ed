"""Seconds of kernel SVMs on AVX-512: `benchmark_kernel` without its limit to AVX2.

For processors that have the wider vectors. It has the small problems, and of the large ones ours
beside intelex, which is the fastest peer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from experiments import _plots as plots
from experiments import benchmark_kernel
from experiments._meta import vectors
from experiments._run import ExperimentContext

FULL_TIME = "30 min"
QUICK_TIME = "30 s"

GROUPS = ("small", *benchmark_kernel.PROBLEMS)


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run the groups with all vectors of the processor.

    Raises
    ------
    RuntimeError
        If it has no AVX-512, unless the run is quick.
    """
    if not context.quick and "AVX-512" not in vectors():
        raise RuntimeError(
            "benchmark_kernel_avx512 needs a processor with AVX-512, this one has "
            f"{', '.join(vectors())}"
        )
    groups = GROUPS[:1] if context.quick else GROUPS
    some = replace(context, only=context.only or groups)
    return benchmark_kernel.run_groups(some, fastest_only=True)


def plot(results: dict[str, Any]) -> plots.Figure:
    """Draw what `benchmark_kernel` draws."""
    return benchmark_kernel.plot(results)
