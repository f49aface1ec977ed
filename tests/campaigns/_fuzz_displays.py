"""How a display is made whose methods the fuzz campaign calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kpegasos import plotting
from tests.campaigns import _fuzz_checks as checks

MADE: dict[str, Callable[[], Any]] = {
    "ConvergenceDisplay": lambda: plotting.ConvergenceDisplay(
        positions=[1, 2, 3], curves={"gap": [0.5, 0.2, 0.1]}
    ),
    "DecisionRegionDisplay": lambda: plotting.DecisionRegionDisplay(
        xx=[0, 1, 2], yy=[0, 1], values=[[-1, 0, 2], [1, -1, 0.5]]
    ),
    "MarginHistogramDisplay": lambda: plotting.MarginHistogramDisplay(
        margins=[-1.0, 0.5, 2.0], y=[0, 1, 1]
    ),
    "OneVsOneDisplay": lambda: plotting.OneVsOneDisplay(
        values={"gap": [0.1, 0.2, 0.3]}, classes=["a", "b", "c"]
    ),
    "RegularizationPathDisplay": lambda: plotting.RegularizationPathDisplay(
        Cs=[0.1, 1, 10], curves={"score": [0.5, 0.7, 0.6]}
    ),
    "TrainingAnimation": lambda: checks.animation(),
    "ValidationSurfaceDisplay": lambda: plotting.ValidationSurfaceDisplay(
        Cs=[0.1, 1, 10], gammas=[0.5, 2.0], scores=[[0.5, 0.7, 0.6], [0.4, 0.5, 0.8]]
    ),
}
