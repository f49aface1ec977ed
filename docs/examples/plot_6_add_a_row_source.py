"""
Add a source of rows
====================

A solver sees its examples through one interface, `kpegasos.rows.base.RowSource`. So rows may come
from anywhere, and Pegasos, dual ascent, averages and certificates work on them unchanged.

Here kernel rows lie in a file: a Gram matrix of integers, as a laboratory may have stored it. The
file is mapped into memory, and a row is read when it is first drawn. A source of kernel rows does
three things: it runs a loop over some draws, multiplies by the kernel matrix, and returns its
diagonal. One that holds rows also returns these, in ``ensure_rows``.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from kpegasos import make_problem, pegasos, sdca
from kpegasos.core.views import KernelView
from kpegasos.rows.base import KernelSource, run_loop


class QuantisedRows(KernelSource):
    """Kernel rows that are stored in 16 bits each."""

    def __init__(self, stored, scale):
        super().__init__(stored.shape[0], intercept_scaling=0.0, positive_definite=True)
        self.row_capacity = self.n_samples  # any row can be asked for
        self.stored, self.scale = stored, scale
        self.values = np.empty(stored.shape, np.float32)
        self.slots = np.full(self.n_samples, -1)
        self.ticks = np.zeros(self.n_samples, np.int64)

    def ensure_rows(self, members, t):
        missing = members[self.slots[members] < 0]
        self.values[missing] = self.stored[missing] / self.scale
        self.slots[missing] = missing
        self.evaluations += missing.size * self.n_samples
        return KernelView.of(self.values, self.slots, self.ticks, self.squared_norms(), 0.0)

    def advance(self, steps, draws, stop):
        view = self.ensure_rows(np.unique(draws[:stop]), 0)
        run_loop(steps, view, draws, stop)

    def product(self, columns):
        return self.stored @ columns / self.scale

    def squared_norms(self):
        return self.stored.diagonal() / self.scale


# %%
# The file, and a fit on it:

X, y = make_moons(400, noise=0.2, random_state=0)
path = Path(tempfile.mkdtemp()) / "gram.npy"
np.save(path, np.round(30_000 * rbf_kernel(X, gamma=2.0)).astype(np.int16))

problem = make_problem(y, lam=1e-3)
rows = QuantisedRows(np.load(path, mmap_mode="r"), 30_000.0)
run = pegasos(problem, rows, epochs=50, random_state=0)
best = sdca(problem, rows, tol=1e-4, random_state=0)
print(
    f"Pegasos {run.objective:.5f}, optimum between {best.dual_bound:.5f} and {best.objective:.5f}"
)

# %%
# Rounding to 16 bits changes the objective by far less than the distance from the optimum. A
# rounded kernel need not be positive semi-definite; had its values shown that, the certificate
# would have been refused.

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.semilogy(run.history["epoch"], run.history["objective_average"] - best.dual_bound)
ax.set(xlabel="epoch", ylabel="suboptimality", title="Pegasos on rows from a file")
plt.show()
