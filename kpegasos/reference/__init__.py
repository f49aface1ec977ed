"""Pegasos as the papers print it: a few lines of numpy, to read, to copy and to change.

Lives here: the steps, linear and kernel, on draws that are given; the compiled solver's draws;
histories of any linear iterates, in the form that displays draw. The step size, the slope of
the loss and the average are one line each.
May import: `kpegasos.solvers`, `kpegasos.core`, `kpegasos.utils`, numpy. Knows no rows and no plot.

Left to the compiled solver: speed, weights, a constant feature (a column of X, or a constant added
to K, does the same), rows that do not fit in memory, and rounding, which no gap here accounts for.
"""

from kpegasos.reference.measure import linear_history
from kpegasos.reference.steps import (
    Iterates,
    index_stream,
    kernel_iterates,
    linear_iterates,
    pegasos_kernel,
    pegasos_linear,
)

__all__ = [
    "Iterates",
    "index_stream",
    "kernel_iterates",
    "linear_history",
    "linear_iterates",
    "pegasos_kernel",
    "pegasos_linear",
]
