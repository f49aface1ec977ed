"""A grid of C and γ with cross-validation: `PegasosSVCCV` and `GridSearchCV` over every SVC.

Digits (10 classes), two moons, 4,000 images of T-shirt or shirt and the first 8,000 of Adult, 5 γ ×
5 C × 5 folds (T-shirt or shirt: 4 × 4 × 5), each with a final fit to all examples. γ are powers of
4 times SVC's "scale" of all data, and C are powers of 10: five of each are the default grid of
`PegasosSVCCV`. All tools have the same folds, γ, C and float32 data, two cores, and 1,024 MiB for
the kernel rows of a fit (our search has the budget that it comes with); they score by accuracy, and
refit the best cell to all examples. `SVC` runs one fit per process, two at a time; the others use
all cores in one process. Ours has a certified relative gap of 1% in each cell, peers have the
tolerance that they come with. A tool has a process of its own, a warm-up outside the clock, and up
to three searches, of which the median counts; memory is what the process and its workers take
beyond the data. Scores of all cells are held against those of `SVC`, or of intelex where `SVC` was
not measured; both have a free intercept, which makes a difference where γ and C are so small that
nearly all examples are support vectors. The dearest single fit is that of the cell that takes
`PegasosSVC` longest on all examples.

Published seconds of TorchKM stand beside ours, of other machines and other draws.

The protocol of TorchKM has one kernel width, 50 values of λ and 10 folds.

TorchKM (Zhang, Jia, Ding, Wang, arXiv 2606.06742, 2026; github.com/YikaiZhang95/torchkm) tunes λ of
a kernel SVM on a GPU from one eigendecomposition. Its simulation is described in the paper and in
``benchmarks/table2_simulation.py`` of its repository. This is what it does, in our words and code:

- Data: n = 10,000 examples in p dimensions, classes −1 and +1 with equal chances. Each class has
  five centres, drawn from N(0, I). The first half of the coordinates of the centres of −1 and the
  second half of those of +1 are 2 larger. An example is a random centre of its class plus noise
  from N(0, 9 I). Columns are standardised.
- Kernel: exp(−2σ ‖x − z‖²), in SVC's terms γ = 2σ. σ is the mean of 1/q for the quantiles 10% and
  90% of the squared distances of n/2 random pairs, as by kernlab's ``sigest``.
- Objective: the mean hinge loss plus λ ‖f‖², with a free intercept. Divided by 2λ this is
  ‖f‖²/2 + 1/(2nλ) · Σ hinge losses, the objective of SVC with C = 1/(2nλ). In a fold, the loss of
  the examples held out is zero and n stays that of all examples, so each λ has one C in all folds.
- Grids of 50 values at equal ratios: the paper states C from 10⁻³ to 10³, the script has λ from
  10⁻³ to 10³, which is C from 5·10⁻⁸ to .05. We do not know which of them the published seconds
  belong to, so both are measured.
- Seconds: kernel matrix, eigendecomposition, all fits of the folds, and a fit to all data for each
  λ; not the standardisation nor σ.

What differs here:

- The data are drawn again by numpy's generator, once; published seconds are means of 50 draws.
- The intercept is the weight of a constant feature and is regularised.
- Each fit has a certified relative gap of at most ``tol``. TorchKM stops by the size of its steps
  and its residuals, and gives no gap.
- Folds are stratified. The search is followed by one fit to all data, at the best C.
- Features and kernel rows are float32, where TorchKM computes in float64.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from experiments import _plots as plots
from experiments._data import apart, repeated, timed, touch_memory
from experiments._results import Row, duration, grouped, markdown, ranged
from experiments._run import Context, vectors
from kpegasos import PegasosSVC, PegasosSVCCV
from kpegasos.datasets import load_adult, load_fashion_mnist, make_toy

#: What searches, by the name that tables have for it.
OURS = "PegasosSVCCV"
TOOLS = (OURS, "PegasosSVC", "intelex", "SVC")
#: Each cell once on all examples, no folds; the dearest of them is what counts.
SINGLE = "single fits"
CACHE_MB = 1024
#: Certified relative gap of ours.
TOL = 1e-2
_SEARCHES, _SECONDS = 3, 60.0
#: Examples of the warm-up, and seconds after which a process is given up.
_WARM_UP, _TIMEOUT = 1000, 1800.0

# TorchKM's simulation

N_SAMPLES, N_FOLDS, N_VALUES = 10_000, 10, 50
_CENTRES, _SHIFT, _NOISE = 5, 2.0, 3.0
#: Seconds of the paper's table at n = 10,000, by the number of features: TorchKM and ThunderSVM on
#: an NVIDIA L40S.
PUBLISHED = {10: (23.3, 38.0), 100: (17.9, 63.0), 1000: (37.7, 279.0)}


def C_of_lambda(lam: np.ndarray, n_samples: int) -> np.ndarray:
    """Return SVC's C for the λ of TorchKM: 1/(2nλ), n being the number of all examples."""
    return 1.0 / (2.0 * n_samples * np.asarray(lam, dtype=float))


_DECADES = np.logspace(-3.0, 3.0, N_VALUES)
#: Values of C, increasing, by whose grid they are.
GRIDS = {"paper": _DECADES, "script": C_of_lambda(_DECADES, N_SAMPLES)[::-1]}


def make_mixture(
    n_samples: int, n_features: int, random_state: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the two mixtures of Gaussians, columns standardised.

    Parameters
    ----------
    n_samples : int
        Number of examples.
    n_features : int
        Number of features p.
    random_state : int, default 0
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), float32
    y : ndarray of shape (n_samples,), int
        Labels −1 and 1.
    """
    rng = np.random.default_rng(random_state)
    half = n_features // 2
    centres = rng.standard_normal((2, _CENTRES, n_features))
    centres[0, :, :half] += _SHIFT
    centres[1, :, half:] += _SHIFT
    label = rng.integers(2, size=n_samples)
    X = centres[label, rng.integers(_CENTRES, size=n_samples)]
    X += _NOISE * rng.standard_normal(X.shape)
    X -= X.mean(axis=0)
    X /= X.std(axis=0, ddof=1)
    return X.astype(np.float32), 2 * label - 1


def kernel_gamma(X: np.ndarray, random_state: int = 0) -> float:
    """Return γ = 2σ for the σ that half as many random pairs as there are examples suggest.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Examples.
    random_state : int, default 0
        Seed of the pairs.

    Returns
    -------
    float
    """
    rng = np.random.default_rng(random_state)
    first, second = rng.integers(X.shape[0], size=(2, X.shape[0] // 2))
    distances = ((X[first].astype(float) - X[second]) ** 2).sum(axis=1)
    low, high = np.quantile(distances[distances > 0], (0.1, 0.9))
    return float(1.0 / low + 1.0 / high)


# Problems


class Search(NamedTuple):
    """A search as every tool is given it: examples, grid, and indices of each fold."""

    X: np.ndarray
    y: np.ndarray
    gammas: np.ndarray
    Cs: np.ndarray
    splits: list[tuple[np.ndarray, np.ndarray]]


class Problem(NamedTuple):
    """What makes at most so many examples, γ for the examples, C, and the number of folds."""

    make: Callable[[int | None], tuple[np.ndarray, np.ndarray]]
    gammas: Callable[[np.ndarray], np.ndarray]
    Cs: np.ndarray
    n_splits: int = 5


def _digits(n_samples: int | None) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return X[:n_samples], y[:n_samples]


def _two_garments(n_samples: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Take the first T-shirts (0) and shirts (6)."""
    data = load_fashion_mnist()
    chosen = np.flatnonzero(np.isin(data.y_train, (0, 6)))[: n_samples or 4000]
    return data.X_train[chosen], data.y_train[chosen]


def _adult(n_samples: int | None) -> tuple[np.ndarray, np.ndarray]:
    data = load_adult()
    first = slice(n_samples or 8000)
    return data.X_train[first].toarray(), data.y_train[first]


def _around_scale(exponents: range, X: np.ndarray) -> np.ndarray:
    scale = 1.0 / (X.shape[1] * X.var(dtype=np.float64))
    return scale * 4.0 ** np.array(exponents)


_FIVE = (partial(_around_scale, range(-2, 3)), np.logspace(-1, 3, 5))
_FOUR = (partial(_around_scale, range(-1, 3)), np.logspace(-1, 2, 4))

#: With peers.
COMPARED: dict[str, Problem] = {
    "digits": Problem(_digits, *_FIVE),
    "moons 2,000": Problem(
        lambda n: make_toy("moons", n or 2000, noise=0.3, random_state=0), *_FIVE
    ),
    "T-shirt or shirt 4,000": Problem(_two_garments, *_FOUR),
    "Adult 8,000": Problem(_adult, *_FIVE),
}
#: Number of features of each problem of TorchKM, and its grid.
SIMULATED = {
    f"{n_features:,} features, grid of the {grid}": (n_features, grid)
    for n_features, grid in product(PUBLISHED, GRIDS)
}
PROBLEMS: dict[str, Problem] = COMPARED | {
    name: Problem(
        lambda n, p=n_features: make_mixture(n or N_SAMPLES, p),  # type: ignore[misc]
        lambda X: np.array([kernel_gamma(X)]),
        GRIDS[grid],
        N_FOLDS,
    )
    for name, (n_features, grid) in SIMULATED.items()
}


def load(name: str, n_samples: int | None = None, n_values: int | None = None) -> Search:
    """Make a search, of fewer examples, and of fewer γ and C about the middle of the grid."""
    problem = PROBLEMS[name]
    X, y = problem.make(n_samples)
    X, y = np.ascontiguousarray(X, dtype=np.float32), np.asarray(y)

    def middle(values: np.ndarray) -> np.ndarray:
        surplus = 0 if n_values is None else max(0, values.size - n_values)
        return values[surplus // 2 : values.size - (surplus - surplus // 2)]

    folds = StratifiedKFold(problem.n_splits, shuffle=True, random_state=0)
    splits: Any = list(folds.split(X, y))
    return Search(X, y, middle(problem.gammas(X)), middle(problem.Cs), splits)


# Measurements


def _single_fit(**parameters: Any) -> PegasosSVC:
    return PegasosSVC(polish=True, tol=TOL, cache_mb=CACHE_MB, random_state=0, **parameters)


def _make(tool: str, search: Search) -> Any:
    """Make the estimator that searches."""
    if tool == OURS:
        grid: Any = {"gammas": search.gammas, "cv": search.splits}
        return PegasosSVCCV(search.Cs, **grid, tol=TOL, cache_mb="auto", random_state=0)
    estimator: Any = SVC(cache_size=CACHE_MB)
    if tool == "intelex":
        from sklearnex.svm import SVC as fast_SVC

        estimator = fast_SVC(cache_size=CACHE_MB)
    elif tool == "PegasosSVC":
        estimator = _single_fit()
    cells = {"gamma": search.gammas.tolist(), "C": search.Cs.tolist()}
    n_jobs = 2 if tool == "SVC" else None
    return GridSearchCV(estimator, cells, cv=search.splits, n_jobs=n_jobs)


def _few(search: Search) -> Search:
    """The first examples, with two folds and two C."""
    size = min(_WARM_UP, search.y.size)
    halves = np.arange(size) % 2 == 0
    splits = [(np.flatnonzero(half), np.flatnonzero(~half)) for half in (halves, ~halves)]
    return Search(search.X[:size], search.y[:size], search.gammas[:1], search.Cs[-2:], splits)


def _scores(model: Any, search: Search) -> np.ndarray:
    """Return the mean scores as an array of shape (n_gammas, n_Cs)."""
    values = np.full((search.gammas.size, search.Cs.size), np.nan)
    found = model.cv_results_
    for params, value in zip(found["params"], found["mean_test_score"], strict=True):
        row = np.abs(search.gammas - params["gamma"]).argmin()
        values[row, np.abs(search.Cs - params["C"]).argmin()] = value
    return values


def _dearest_fit(search: Search) -> PegasosSVC:
    """The model of the cell whose fit takes longest."""
    models = [_single_fit(gamma=gamma, C=C) for gamma, C in product(search.gammas, search.Cs)]
    seconds = [timed(model.fit, search.X, search.y)[0] for model in models]
    return models[int(np.argmax(seconds))]


def measure(job: Row) -> Row:
    """Search after a warm-up, or fit the dearest cell, in memory that has been touched.

    Parameters
    ----------
    job : dict
        ``problem``, ``tool`` (one of `TOOLS`, or `SINGLE`), optionally ``n_samples``, and
        ``n_values`` of γ and C.

    Returns
    -------
    dict
        Seconds (median, least, most), memory in MiB, and of searches the mean scores of all cells.
    """
    search = load(job["problem"], job.get("n_samples"), job.get("n_values"))
    tool, few, quick = job["tool"], _few(search), "n_samples" in job
    warnings.simplefilter("ignore")
    touch_memory(0 if quick else 2048)
    if tool == SINGLE:
        _dearest_fit(few)
        dearest = _dearest_fit(search)
        make: Callable[[], Any] = partial(_single_fit, gamma=dearest.gamma, C=dearest.C)
    else:
        make = partial(_make, tool, search)
        _make(tool, few).fit(few.X, few.y)
    seconds, model, memory = repeated(
        lambda: make().fit(search.X, search.y), 1 if quick else _SEARCHES, _SECONDS, weighed=True
    )
    row: Row = {**ranged("seconds", seconds), **memory, "vectors": vectors()}
    if tool == OURS:
        row["max_relative_gap"] = float(np.nanmax(model.relative_gaps_))
    return row if tool == SINGLE else row | {"scores": _scores(model, search)}


def compute(context: Context) -> dict[str, Any]:
    """Run every search."""
    tools = [tool for tool in TOOLS if tool != "intelex" or find_spec("sklearnex") is not None]
    names, few = (["digits", "moons 2,000"], {"n_samples": 200, "n_values": 2})
    jobs = [(name, tool) for name in COMPARED for tool in (*tools, SINGLE)]
    jobs += [(name, OURS) for name in SIMULATED]
    table = []
    for name, tool in jobs:
        # `SVC` takes an hour there.
        if (context.quick and name not in names) or (name, tool) == ("Adult 8,000", "SVC"):
            continue
        job: Row = {"problem": name, "tool": tool, "timeout": _TIMEOUT}
        if context.quick:
            found = context.part(f"{name}, {tool}", measure, {**job, **few})
        else:
            found = context.part(f"{name}, {tool}", apart, measure, job)
        table += [{"problem": name, "tool": tool, **found}] * bool(found)
    used = [row.pop("vectors") for row in table]
    return {"vectors": used[0], "table": table}


#: What each tool is called, and its look.
LOOKS = {
    OURS: plots.Look(OURS, plots.BLACK, "o"),
    "PegasosSVC": plots.Look("GridSearchCV,\nPegasosSVC", plots.BLUE, "s"),
    "intelex": plots.Look("GridSearchCV,\nintelex", plots.GREEN, "^"),
    "SVC": plots.Look("GridSearchCV, SVC", plots.ORANGE, "v"),
    SINGLE: plots.Look("slowest single fit", plots.GREY, "|"),
}


def plot(results: Row) -> plots.Figure:
    """Seconds of each tool on each problem, and TorchKM's protocol."""
    figure, ((compared, simulated),) = plots.panels(1, 2, 4.6)
    by_problem = grouped(results["table"], "problem")
    names = [name for name in COMPARED if name in by_problem]
    ratios = []
    for height, name in enumerate(names):
        for row in by_problem[name]:
            style = LOOKS[row["tool"]].style(linestyle="none", markersize=8, mew=1.5)
            compared.plot(row["seconds"], height, **style)
        seconds = {row["tool"]: row["seconds"] for row in by_problem[name]}
        ratios.append(seconds[OURS] / seconds[SINGLE])
    plots.rows_down(compared, names, fontsize=9.5)
    compared.set_title("search over γ and C")
    own = [name for name in SIMULATED if name in by_problem]
    for height, name in enumerate(own):
        torchkm, thundersvm = PUBLISHED[SIMULATED[name][0]]
        style = LOOKS[OURS].style(linestyle="none", markersize=8)
        simulated.plot(by_problem[name][0]["seconds"], height, **style)
        gpu: Any = {"linestyle": "none", "markersize": 8}
        simulated.plot(torchkm, height, "P", color=plots.PURPLE, label="TorchKM, GPU", **gpu)
        simulated.plot(thundersvm, height, "D", color=plots.SKY, label="ThunderSVM, GPU", **gpu)
    plots.rows_down(simulated, [name.replace(", ", "\n") for name in own], fontsize=9)
    simulated.set_title("TorchKM's protocol")
    for ax in (compared, simulated):
        plots.log_x(ax, xlabel="seconds of the search")
    return plots.state(
        figure,
        f"A search costs {min(ratios):.0f} to {max(ratios):.0f} times its slowest fit",
        "Bars: the slowest single fit. Right: 50 λ, 10 folds; seconds of the others as published, "
        "on a GPU; ours on these cores, and longer in the first row.",
    )


def tables(results: Row) -> str:
    """Return the tables of searches with peers and of TorchKM's protocol."""
    by_problem = grouped(results["table"], "problem")
    peers = {"intelex": "intelex", "SVC": "`SVC`, two jobs", "PegasosSVC": "`PegasosSVC`, polished"}
    rows, simulated = [], []
    for name, own in by_problem.items():
        of = {row["tool"]: row for row in own}
        seconds = of[OURS]["seconds"]
        if name in SIMULATED:
            published = PUBLISHED[SIMULATED[name][0]]
            simulated.append([name, duration(seconds), *map(duration, published)])
            continue
        cells = [_cell(of.get(tool), seconds) for tool in peers]
        rows.append([name, duration(seconds), *cells, f"{_largest_difference(of):.2g}"])
    head = ["problem", f"`{OURS}`", *peers.values(), "largest difference"]
    heads = ["TorchKM's protocol, 500 fits", "here", "TorchKM, L40S", "ThunderSVM, L40S"]
    return f"{markdown(head, rows)}\n\n{markdown(heads, simulated)}"


def _cell(row: Row | None, ours: float) -> str:
    """Seconds of a search and their ratio to ours, bold where ours is ahead by a twentieth."""
    if row is None:
        return "not measured"
    ratio = f"{row['seconds'] / ours:.1f}"
    ratio = f"**{ratio}**" if row["seconds"] >= 1.05 * ours else ratio
    return f"{duration(row['seconds'])} ({ratio} times)"


def _largest_difference(of: dict[str, Row]) -> float:
    """Compare our mean scores of all cells with those of `SVC`, or of intelex without these."""
    reference = of.get("SVC") or of["intelex"]
    scores, truth = (np.array(row["scores"], dtype=float) for row in (of[OURS], reference))
    return float(np.nanmax(np.abs(scores - truth)))
