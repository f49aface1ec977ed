"""
Kernels that cost: graphs, time series, quantum states
======================================================

To compare two graphs, two series or two states of a quantum computer may take a millisecond, or a
second. `kpegasos.PairwiseKernel` takes a function of two objects. It evaluates each pair once, and
only the pairs that a fit needs: the fewer support vectors, the fewer pairs.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import hadamard
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale

from kpegasos import PairwiseKernel, PegasosSVC

rng = np.random.default_rng(0)

# %%
# Graphs
# ------
#
# Rings with chords, short ones in one class and long ones in the other. A graph is the list of its
# nodes' neighbours. Weisfeiler and Lehman's labels describe a node by its neighbours, those by
# theirs, and so on; the kernel compares how often two graphs have each label. ``prepare`` finds the
# labels once for each graph.


def ring(label, size=20, chords=4):
    near = [{(k - 1) % size, (k + 1) % size} for k in range(size)]
    for start in rng.integers(size, size=chords):
        end = (start + (2 if label else rng.integers(3, size // 2))) % size
        near[start].add(int(end))
        near[end].add(int(start))
    return near


def label_counts(near, rounds=2):
    labels = [str(len(each)) for each in near]
    counts = Counter(labels)
    for _ in range(rounds):
        labels = [
            f"{labels[k]}({','.join(sorted(labels[j] for j in near[k]))})" for k in range(len(near))
        ]
        counts.update(labels)
    norm = sum(n**2 for n in counts.values()) ** 0.5
    return {label: n / norm for label, n in counts.items()}


def shared(a, b):
    return sum(n * b.get(label, 0.0) for label, n in a.items())


y_graphs = np.arange(200) % 2
graphs = [ring(label) for label in y_graphs]
of_graphs = PairwiseKernel(shared, prepare=label_counts, diagonal=1.0)

# %%
# Time series
# -----------
#
# One hump or two, somewhere, in series of different lengths. The global alignment kernel (Cuturi
# 2011) sums over all ways to align two series. ``prepare`` finds a series' kernel with itself,
# which normalises it. In plain Python that takes a while: a costly kernel.


def alignment(a, b, width=1.0):
    near = np.exp(-0.5 * ((a[:, None] - b) / width) ** 2)
    near /= 2.0 - near
    row = np.zeros(b.size + 1)
    row[0], scale = 1.0, 0.0
    for local in near.tolist():
        new = [0.0]
        for j, value in enumerate(local):
            new.append((row[j] + row[j + 1] + new[j]) * value)
        top = max(new)
        row, scale = [each / top for each in new], scale + np.log(top)
    return scale + np.log(row[-1])


def humps(label):
    at = np.linspace(0, 1, rng.integers(20, 30)) + 0.1 * rng.normal()
    centres = (0.25, 0.75) if label else (0.5,)
    clean = sum(np.exp(-(((at - centre) / 0.1) ** 2)) for centre in centres)
    return clean + 0.2 * rng.normal(size=at.size)


y_series = np.arange(120) % 2
series = [humps(label) for label in y_series]
of_series = PairwiseKernel(
    lambda a, b: float(np.exp(alignment(a[0], b[0]) - (a[1] + b[1]) / 2)),
    prepare=lambda x: (x, alignment(x, x)),
    diagonal=1.0,
)

# %%
# Quantum states
# --------------
#
# Four features rotate the state of four qubits, by the ZZ feature map (Havlíček et al. 2019), and
# the kernel is the fidelity of two states. Here ``prepare`` simulates the state, and the kernel is
# exact. On hardware a value is an estimate from shots: pass ``positive_definite=False``, and there
# is no certificate. With Qiskit it is ``PairwiseKernel(quantum_kernel.evaluate, blocks=True)``, and
# the C of its `PegasosQSVC` is ``lam=1 / C`` here.


def state(x):
    bits = np.arange(1 << x.size)[:, None] >> np.arange(x.size) & 1
    phases = bits @ (2 * x)
    for j in range(x.size):
        for i in range(j):
            phases += (bits[:, i] ^ bits[:, j]) * 2 * (np.pi - x[i]) * (np.pi - x[j])
    turn, walls = np.exp(1j * phases), hadamard(1 << x.size) / 2 ** (x.size / 2)
    return turn * (walls @ (turn * walls[0]))


cancer, y_states = load_breast_cancer(return_X_y=True)
angles = list(minmax_scale(cancer[:300, :4]))
y_states = y_states[:300]
of_states = PairwiseKernel(
    lambda A, B: np.abs(A.conj() @ B.T) ** 2, blocks=True, prepare=state, diagonal=1.0
)

# %%
# What they cost
# --------------
#
# Kernel values in rows and columns of the support are coloured; examples are sorted by class. A
# certified gap takes these, each pair once, and a fit few of the white ones.

problems = {
    "graphs": (graphs, y_graphs, of_graphs),
    "series": (series, y_series, of_series),
    "states": (angles, y_states, of_states),
}
_, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for ax, (name, (objects, y, kernel)) in zip(axes, problems.items(), strict=True):
    X_train, X_test, y_train, y_test = train_test_split(objects, y, test_size=0.3, random_state=0)
    order = np.argsort(y_train, kind="stable")
    X_train, y_train = [X_train[k] for k in order], y_train[order]
    model = PegasosSVC(C=10.0, kernel=kernel, polish=True, random_state=0).fit(X_train, y_train)
    n, support = len(X_train), model.support_
    share = model.kernel_evaluations_ / (n * (n + 1) / 2)
    accuracy = model.score(X_test, y_test)
    print(f"{name}: {model.kernel_evaluations_:,} values, {support.size} support vectors of {n}")
    values = kernel.block(X_train, X_train)  # all of them, for the picture
    rest = np.setdiff1d(np.arange(n), support)
    values[np.ix_(rest, rest)] = np.nan
    ax.imshow(values, cmap="cividis", interpolation="nearest")
    ax.set(title=f"{name}: {share:.0%} asked, {accuracy:.0%} right", xticks=[], yticks=[])
plt.show()
