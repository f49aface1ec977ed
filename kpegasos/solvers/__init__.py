"""Drivers: what happens between two slices of a compiled loop.

Lives here: clock, checkpoints, Ctrl-C, history and certificate of a run; Pegasos, dual ascent,
paths along C, runs over few examples and Pegasos over a stream of chunks.
May import: `kpegasos.rows`, `kpegasos.core`, `kpegasos.losses`, `kpegasos.utils`. Knows no
estimator and no plot.
"""
