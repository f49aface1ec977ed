"""The algorithms: pure functions of arrays. Internal: what they take and return may change.

Lives here: the compiled loops with what they ask of rows, their state, the problem with its
objective and dual bound, averages of the iterates, the order of the draws.
May import: numpy, numba with llvmlite, and `kpegasos.utils`. Knows neither kernels nor clocks.
"""
