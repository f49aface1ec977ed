"""Rows: the examples as a solver sees them.

Lives here: `RowSource`, the one interface that solvers see, and its kinds: feature rows, a whole
Gram matrix, cached kernel rows.
May import: `kpegasos.core`, `kpegasos.kernels`, `kpegasos.utils`. Knows no solver.
"""
