"""
Write your own kernel: strings
==============================

A function of two strings is all it takes, with X a list of strings. Each pair is evaluated once,
and only if a fit needs it; the gap is certified as with any other kernel.
"""

from collections import Counter
from tempfile import TemporaryDirectory
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from joblib import Memory
from sklearn.model_selection import train_test_split

from kpegasos import PairwiseKernel, PegasosSVC

# Four letters, as frequent in either class; what differs is which follows which.
rng = np.random.default_rng(0)
y, steps = np.repeat([0, 1], 150), [(0.4, 0.2, 0.2, 0.2), (0.2, 0.2, 0.2, 0.4)]
strings = [
    "".join("ACGT"[k] for k in np.cumsum(rng.choice(4, size=40, p=steps[label])) % 4) for label in y
]

# %%
# The p-spectrum kernel counts the substrings of length p that two strings share. It is an inner
# product of counts, and so positive semi-definite. ``prepare`` counts once for each string, and the
# function gets the counts. They are normalised, so ``diagonal`` is known.


def shared(a, b):
    """Inner product of counts."""
    return sum(n * b.get(part, 0.0) for part, n in a.items())


def spectrum(p):
    """Kernel of strings by their substrings of length p."""

    def counts(string):
        found = Counter(string[k : k + p] for k in range(len(string) - p + 1))
        norm = sum(n**2 for n in found.values()) ** 0.5
        return {part: n / norm for part, n in found.items()}

    return PairwiseKernel(shared, prepare=counts, diagonal=1.0)


# %%
# Of the n (n + 1) / 2 values of the symmetric kernel matrix, a fit computes those of the support
# and of a few other examples.

X_train, X_test, y_train, y_test = train_test_split(strings, y, random_state=0)
n = len(X_train)
_, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for ax, p in zip(axes, (1, 2, 3), strict=True):
    kernel = spectrum(p)
    model = PegasosSVC(C=10.0, kernel=kernel, polish=True, random_state=0).fit(X_train, y_train)
    share = model.kernel_evaluations_ / (n * (n + 1) / 2)
    accuracy = model.score(X_test, y_test)
    print(f"p = {p}: {share:.0%} of the matrix, {model.support_.size} support vectors of {n}")
    print(f"       accuracy {accuracy:.1%}, certified gap {model.relative_gap_:.2%}")
    ax.imshow(kernel.block(strings, strings), cmap="cividis")
    ax.set(title=f"p = {p}: test accuracy {accuracy:.1%}", xticks=[], yticks=[])
plt.show()

# %%
# Copies of a kernel share its values: another C computes only missing ones, and the folds of a
# search nothing twice:

kernel = spectrum(2)
for C in (10.0, 1.0, 0.1):
    PegasosSVC(C=C, kernel=kernel, polish=True, random_state=0).fit(X_train, y_train)
    print(f"C = {C}: {kernel.evaluations:,} of {n * (n + 1) // 2:,} values so far")

# %%
# Values go with the kernel, or by ``kernel.clear()``. Where one takes seconds, `joblib.Memory`
# keeps what the function returns in a folder, for later processes as well. (It takes a millisecond
# itself, so for this kernel it does not pay.)

with TemporaryDirectory() as folder:
    remembered = Memory(folder, verbose=0).cache(shared)
    for process in ("first", "later"):
        begin = perf_counter()
        kernel = PairwiseKernel(remembered, prepare=spectrum(2).prepare, diagonal=1.0)
        PegasosSVC(kernel=kernel, random_state=0).fit(strings[::15], y[::15])
        print(f"{process}: {kernel.evaluations} values, {perf_counter() - begin:.2f} s")
