"""
Write your own kernel: strings
==============================

Rows of X may be places in a list: of strings, of graphs, of whatever has a kernel. The rest is as
with any other kernel: Gram rows are computed when first needed and kept, and the gap is certified.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from kpegasos import PegasosSVC
from kpegasos.kernels import CallableKernel

# Four letters, as frequent in either class; what differs is which follows which.
rng = np.random.default_rng(0)
y, steps = np.repeat([0, 1], 150), [(0.4, 0.2, 0.2, 0.2), (0.2, 0.2, 0.2, 0.4)]
strings = [
    "".join("ACGT"[k] for k in np.cumsum(rng.choice(4, size=40, p=steps[label])) % 4) for label in y
]

# %%
# The p-spectrum kernel counts the substrings of length p that two strings share. It is an inner
# product of counts, and so positive semi-definite.


def spectrum(p):
    """Shared substrings of length p, of strings that are normalised."""
    counts = [Counter(s[k : k + p] for k in range(len(s) - p + 1)) for s in strings]
    norms = [sum(n**2 for n in count.values()) ** 0.5 for count in counts]

    def value(i, j):
        return sum(n * counts[j][part] for part, n in counts[i].items()) / (norms[i] * norms[j])

    def kernel(A, B):
        left, right = A[:, 0].astype(int), B[:, 0].astype(int)
        return np.array([[value(i, j) for j in right] for i in left])

    return CallableKernel(kernel)


# %%
# X is a column of places. Kernels can be added; triples have little to add here, as a letter
# depends on the one before it alone.

X = np.arange(300)[:, None]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
kernels = {"letters": spectrum(1), "pairs": spectrum(2), "both": spectrum(2) + 0.5 * spectrum(3)}
_, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
    model = PegasosSVC(kernel=kernel, cache="cached", polish=True, tol=1e-3, random_state=0)
    accuracy = model.fit(X_train, y_train).score(X_test, y_test)
    print(f"{name}: accuracy {accuracy:.1%}, certified gap {model.relative_gap_:.2%}")
    ax.imshow(kernel.block(X, X), cmap="cividis")
    ax.set(title=f"{name}: test accuracy {accuracy:.1%}", xticks=[], yticks=[])
plt.show()
