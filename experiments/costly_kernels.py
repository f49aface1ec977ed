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

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
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
from experiments._results import (
    OURS,
    Claim,
    Row,
    columns,
    grouped,
    listed,
    markdown,
    percent,
    select,
    shortened,
    span,
)
from experiments._run import Context
from kpegasos import RBF, LinearPegasosSVC, PairwiseKernel, PegasosSVC, PegasosSVCCV
from kpegasos.datasets import load_mnist

SEEDS = 5
#: Values asked for, as shares of the whole matrix, n² / 2: those at which methods are stopped.
SHARES = [2.0 ** (k / 2) for k in range(-16, 7)]
#: Certified relative gaps to which `polish=True` goes.
TOLS = (0.1, 0.01)
POLISH = f"polish {TOLS[-1]:g}"
#: Examples of a part, and of Nyström's, at the most: what follows is cubic in them.
MOST_LANDMARKS = 700


# Kernels


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


def alignment(width: float, a: tuple[np.ndarray, float], b: tuple[np.ndarray, float]) -> float:
    """Return the normalised global alignment kernel of two series, each with its own logarithm."""
    return float(np.exp(log_alignment(a[0], b[0], width) - (a[1] + b[1]) / 2))


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


# Sets


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
    """What a set is called, what makes it, its kernel, C, and examples to train with.

    The kernel is a function of two objects, each prepared once, or of two arrays of them.
    """

    title: str
    load: Callable[[], tuple[list[Any], np.ndarray]]
    prepare: Callable[[Any], Any]
    kernel: Callable[[Any, Any], Any]
    C: float
    n_train: int


def _with_logarithm(series: np.ndarray) -> tuple[np.ndarray, float]:
    return series, log_alignment(series, series, _WIDTH)


_WIDTH = 2.0
_series = (_with_logarithm, partial(alignment, _WIDTH))
SETS: dict[str, Set] = {
    "mutag": Set("MUTAG graphs", load_mutag, label_counts, shared, 10.0, 125),
    "gunpoint": Set("GunPoint series", partial(load_series, "GunPoint"), *_series, 10.0, 133),
    "italy": Set("Power demand", partial(load_series, "ItalyPowerDemand"), *_series, 10.0, 700),
    "strings": Set("synthetic strings", make_strings, spectrum, shared, 1.0, 1000),
    "quantum": Set("simulated qubits", load_cancer, zz_state, fidelity, 1.0, 380),
    "eights": Set("MNIST 8", load_eights, np.asarray, RBF(0.02).block, 10.0, 10_000),
}
#: Sets of a quick run, and their examples.
_QUICK, _QUICK_EXAMPLES = ("strings", "quantum"), 150


@lru_cache(maxsize=1)
def whole(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the kernel matrix of all objects of a set, and their classes."""
    given = SETS[name]
    X, y = given.load()
    objects = [given.prepare(x) for x in X]
    if isinstance(objects[0], np.ndarray):
        A = np.stack(objects)
        return np.asarray(given.kernel(A, A)), y
    values = np.empty((y.size, y.size))
    for i, a in enumerate(objects):
        values[i, : i + 1] = values[: i + 1, i] = [given.kernel(a, b) for b in objects[: i + 1]]
    return values, y


class Split:
    """A random split of a set, and its kernel between places, whose values are counted."""

    def __init__(self, name: str, seed: int, n_train: int) -> None:
        values, y = whole(name)
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


# What is compared


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


def _once(name: str, n_train: int) -> Row:
    """Return what a fit, a second one with ten times the C, and a search ask for."""
    split = Split(name, 0, n_train)
    kernel = split.kernel()
    options: dict[str, Any] = {"kernel": kernel, "polish": True, "random_state": 0}
    PegasosSVC(split.C, **options).fit(split.places, split.y)
    row: Row = {"data": name, "n": split.n, "first": kernel.evaluations}
    PegasosSVC(10 * split.C, **options).fit(split.places, split.y)
    row["both"] = kernel.evaluations
    kernel = split.kernel()
    PegasosSVCCV(5, kernel=kernel, cv=5, random_state=0).fit(split.places, split.y)
    return row | {"search": kernel.evaluations}


def compute(context: Context) -> dict[str, Any]:
    """Run everything on every set."""
    names, seeds = (_QUICK, 2) if context.quick else (tuple(SETS), SEEDS)
    sizes = {name: _QUICK_EXAMPLES if context.quick else SETS[name].n_train for name in names}
    table: list[Row] = []
    for name, n in sizes.items():
        for seed in range(seeds):
            table += context.part(f"{name}, {seed}", _compared, name, seed, n)
    again = [context.part(f"{name}, again", _once, name, n) for name, n in sizes.items()]
    return {"seeds": list(range(seeds)), "sizes": sizes, "table": table, "again": again}


#: How the figure draws the methods.
LOOKS = {
    "plain": plots.METHODS["Pegasos"],
    POLISH: plots.METHODS["polished"],
    "part": plots.Look("SVC on a part", plots.ORANGE, "v"),
    "nystroem": plots.Look("Nyström features", plots.PURPLE, "P"),
    "uniform": plots.Look("PegasosQSVC", plots.VERMILION, "X"),
}


def claims(results: Row) -> list[Claim]:
    """Say how many values costly kernels compute."""
    sizes, again = results["sizes"], results["again"]
    whole_runs = {name: _ended(results, name, POLISH) for name in sizes}
    over = [asked / _least(results, name) for name, (asked, *_) in whole_runs.items()]
    shares = [support / sizes[name] for name, (_, support, _) in whole_runs.items()]
    saved = [
        1 - _ended(results, name, f"polish {TOLS[0]:g}")[0] / asked
        for name, (asked, *_) in whole_runs.items()
    ]
    needed = {key: [_needed(results, name, key) for name in sizes] for key in LOOKS}
    told = listed(f"{_share(np.median(own))} ({LOOKS[key].name})" for key, own in needed.items())
    plain = np.array([_ended(results, name, "plain") for name in sizes])
    n = np.array(list(sizes.values()))
    more = [row["both"] / row["first"] - 1 for row in again]
    search = [row["search"] / (row["n"] * (row["n"] + 1) / 2) for row in again]
    return [
        Claim(
            f"On {len(sizes)} sets a certificate takes {span(over)} times the kernel values that "
            "it must.",
            OURS,
            "It needs the margin of every example, and so the kernel values between the s support "
            f"vectors and all: n·s − s²/2. Here s is {span(shares, _share)} of n, and the "
            "certificate a gap of 1% by `polish=True`; a gap of 10% saves "
            f"{span(saved, _share)} of the values.",
        ),
        Claim(
            "A low error alone is cheaper from a part of the examples.",
            OURS,
            "Shares of the n²/2 values after which the mean test error stays within a point of "
            f"the error of `SVC` on all of them, medians over the sets: {told}. Across sets it is "
            f"{span(needed[POLISH], _share)} with `polish=True`. A run stopped early has a poor "
            "model; `SVC` on a part has solved its own problem.",
        ),
        Claim(
            "A plain fit computes the rows of violating examples, and each pair once.",
            OURS,
            f"With default options it takes {span(plain[:, 0] / (n * plain[:, 1]))} times n·s for "
            f"its own s support vectors, and {span(plain[:, 0] / (n * (n + 1) / 2), _share)} of "
            f"the whole matrix. Its certified gap is then {span(plain[:, 2], _share)}.",
        ),
        Claim(
            "Known values are not computed again.",
            OURS,
            f"A second fit with ten times the C computes {span(more, _share)} of the values of the "
            f"first. A search over 5 C and 5 folds computes {span(search, _share)} of the whole "
            "matrix in all.",
        ),
    ]


def _curve(results: Row, name: str, method: str, key: str = "error") -> np.ndarray:
    """Return means over the splits at each share of the whole matrix; runs stay where they end."""
    found = []
    for rows in grouped(select(results["table"], data=name, method=method), "seed").values():
        asked, values = columns(rows, "evaluations", key)
        at = np.searchsorted(asked, np.array(SHARES) * results["sizes"][name] ** 2 / 2, "right")
        found.append(np.where(at > 0, values[at - 1], np.nan))
    return np.mean(found, axis=0)


def _needed(results: Row, name: str, method: str) -> float:
    """Return the share of the whole matrix from which on the error is that of `SVC`, or inf."""
    reference = columns(select(results["table"], data=name, method="SVC"), "error").mean()
    late = np.flatnonzero(~(_curve(results, name, method) <= reference + 0.01 + 1e-9))
    first = int(late[-1]) + 1 if late.size else 0
    return SHARES[first] if first < len(SHARES) else np.inf


def _ended(results: Row, name: str, method: str) -> np.ndarray:
    """Return values asked for, support and gap of whole runs, as medians over the splits."""
    rows = [row for row in select(results["table"], data=name, method=method) if row.get("ended")]
    return np.median(columns(rows, "evaluations", "support", "gap"), axis=1)


def _least(results: Row, name: str) -> float:
    """Return the least values that a certificate takes: those between the support and all."""
    n, (_, support, _) = results["sizes"][name], _ended(results, name, POLISH)
    return float(n * support - support**2 / 2)


def _share(share: float) -> str:
    return percent(share, 0) if np.isfinite(share) else "not reached"


def tables(results: Row) -> str:
    """Return what each set takes, as a table of the guide."""
    head = [
        *("set", "n", "support", "`SVC(kernel=f)`", "whole matrix, each pair once", "plain fit"),
        *("`polish=True`", "... to SVC's error", "PegasosQSVC, to SVC's error"),
    ]
    rows = []
    for name, n in results["sizes"].items():
        plain, (polished, support, _) = (
            _ended(results, name, "plain")[0],
            _ended(results, name, POLISH),
        )
        to_error = [_needed(results, name, method) for method in (POLISH, "uniform")]
        asked = [f"{n**2 / 2 * share:,.0f}" if np.isfinite(share) else "–" for share in to_error]
        counts = [n, support, n**2, n * (n + 1) / 2, plain, polished]
        rows.append([SETS[name].title, *(f"{value:,.0f}" for value in counts), *asked])
    return markdown(head, rows)


def plot(results: Row) -> plots.Figure:
    """Certified gaps, and the share of the matrix at which each method has the error of `SVC`."""
    figure, ((left, right),) = plots.panels(1, 2, 4.2)
    at = np.linspace(0, 2.5, 251)
    for method in ("plain", POLISH):
        found = []
        for name, n in results["sizes"].items():
            least = _least(results, name)
            shares = np.array(SHARES) * n**2 / 2 / least
            end, _, gap = _ended(results, name, method)
            before = shares < end / least
            gaps = np.append(_curve(results, name, method, "gap")[before], gap)
            known, x = np.isfinite(gaps), np.append(shares[before], end / least)
            found.append(np.exp(np.interp(at, x[known], np.log(gaps[known]))))
        look, values = LOOKS[method], np.percentile(found, [0, 50, 100], axis=0)
        plots.band(left, at, values, color=look.color, label=look.name, linewidth=1.8)
    left.axvline(1, color=plots.GREY, linewidth=1, linestyle=":")
    left.set(yscale="log", xlim=(0, 2.5), xlabel="kernel values / least for a certificate")
    left.set(ylabel="certified relative gap", title="median and range of the sets")
    left.legend(fontsize=9, loc="lower right", bbox_to_anchor=(1.0, 0.14))
    beyond = 2 * SHARES[-1]
    for height, (method, look) in enumerate(LOOKS.items()):
        shares = np.minimum([_needed(results, name, method) for name in results["sizes"]], beyond)
        right.plot(shares, [height] * shares.size, "o", color=look.color, alpha=0.45)
        right.plot(np.median(shares), height, "|", color=look.color, markersize=20, mew=2.5)
    plots.log_x(
        right, xlabel="share of the kernel matrix", title="to within a point of SVC's error"
    )
    right.set_xticks((0.01, 0.1, 1, beyond), ("1%", "10%", "100%", "not\nreached"))
    right.minorticks_off()
    plots.rows_down(right, [look.name for look in LOOKS.values()])
    return plots.state(
        figure,
        "A certificate takes hardly more values than it must",
        f"Medians and means of {len(results['seeds'])} random splits of {len(results['sizes'])} "
        "sets. 100% are n²/2 values; SVC asks for them with a symmetric kernel, for twice as many "
        "with a callable. Right: a dot for each set, bars are medians.",
    )
