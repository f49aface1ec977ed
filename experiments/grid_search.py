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
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from experiments import _plots as plots
from experiments._claims import AHEAD, bold, span
from experiments._measure import in_a_process, repeated, timed, touch_memory
from experiments._meta import vectors
from experiments._run import ExperimentContext
from experiments._tables import Row, grouped, ranged, select
from kpegasos import PegasosSVC, PegasosSVCCV
from kpegasos.datasets import load_adult, load_fashion_mnist, make_toy

FULL_TIME = "20 min"
QUICK_TIME = "10 s"

Job = dict[str, Any]

#: What searches, by the name that tables have for it.
OURS = "PegasosSVCCV"
TOOLS = (OURS, "PegasosSVC", "intelex", "SVC")
#: Each cell once on all examples, no folds; the dearest of them is what counts.
SINGLE = "single fits"
CACHE_MB = 1024
#: Certified relative gap of ours.
TOL = 1e-2
_SEARCHES, _SECONDS = 3, 60.0
#: Examples of the warm-up, and memory that has been touched before a search.
_WARM_UP, _TOUCHED_MB = 1000, 2048
#: Seconds after which ours returns what it has, and after which a process is given up.
_MAX_TIME, _TIMEOUT, _SLOW_TIMEOUT = 900.0, 1800.0, 6 * 3600.0
_SLOW = "slow"
#: Peers that say what the scores should be, the first that was measured; LIBSVM's solver in both.
_REFERENCES = ("SVC", "intelex")


# TorchKM's simulation

N_SAMPLES, N_FOLDS, N_VALUES = 10_000, 10, 50
_CENTRES, _SHIFT, _NOISE = 5, 2.0, 3.0


#: Seconds of the paper's table at n = 10,000, by the number of features. TorchKM and ThunderSVM ran
#: on an NVIDIA L40S, scikit-learn on the AMD EPYC 9334 beside it.
PUBLISHED: dict[int, dict[str, float]] = {
    10: {"torchkm": 23.3, "thundersvm": 38.0, "scikit_learn": 1131.0},
    100: {"torchkm": 17.9, "thundersvm": 63.0, "scikit_learn": 1975.0},
    1000: {"torchkm": 37.7, "thundersvm": 279.0, "scikit_learn": 14323.0},
}


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
    """How a search is made.

    Attributes
    ----------
    make : callable
        Makes at most as many examples as it is told, all of them if None.
    gammas : callable
        Makes the values of γ for the examples.
    Cs : ndarray of shape (n_Cs,)
        Values of C, increasing.
    n_splits : int
        Number of folds.
    slow : tuple of str
        Tools that take more than ten minutes or so, which are run only when they are asked for.
    """

    make: Callable[[int | None], tuple[np.ndarray, np.ndarray]]
    gammas: Callable[[np.ndarray], np.ndarray]
    Cs: np.ndarray
    n_splits: int = 5
    slow: tuple[str, ...] = ()


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
    "Adult 8,000": Problem(_adult, *_FIVE, slow=("SVC",)),
}
#: Number of features of each problem of TorchKM, and its grid.
SIMULATED: dict[str, tuple[int, str]] = {
    f"TorchKM {n_features:,} features, grid of the {grid}": (n_features, grid)
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
    """Make a search.

    Parameters
    ----------
    name : str
        A key of `PROBLEMS`.
    n_samples : int or None, default None
        How many examples; all of them if None.
    n_values : int or None, default None
        How many γ and C at most, about the middle of the grid; all of them if None.

    Returns
    -------
    Search
    """
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


def make_search(tool: str, search: Search, parameters: dict[str, Any]) -> Any:
    """Make the estimator that searches.

    Parameters
    ----------
    tool : str
        One of `TOOLS`.
    search : Search
        Folds, γ and C.
    parameters : dict
        More of what `PegasosSVCCV` takes; of no use to the others.

    Returns
    -------
    estimator
    """
    if tool == OURS:
        ours: dict[str, Any] = {"tol": TOL, "cache_mb": "auto", "random_state": 0}
        ours |= parameters
        return PegasosSVCCV(search.Cs, gammas=search.gammas, cv=search.splits, **ours)
    estimator: Any = SVC(cache_size=CACHE_MB)
    if tool == "intelex":
        from sklearnex.svm import SVC as fast_SVC

        estimator = fast_SVC(cache_size=CACHE_MB)
    elif tool == "PegasosSVC":
        estimator = _single_fit()
    grid = {"gamma": search.gammas.tolist(), "C": search.Cs.tolist()}
    n_jobs = 2 if tool == "SVC" else None
    return GridSearchCV(estimator, grid, cv=search.splits, n_jobs=n_jobs)


def _few(search: Search) -> Search:
    """The first examples, with two folds and two C."""
    size = min(_WARM_UP, search.y.size)
    halves = np.arange(size) % 2 == 0
    splits = [(np.flatnonzero(half), np.flatnonzero(~half)) for half in (halves, ~halves)]
    return Search(search.X[:size], search.y[:size], search.gammas[:1], search.Cs[-2:], splits)


def _surface(model: Any, search: Search) -> np.ndarray:
    """Return the mean scores as an array of shape (n_gammas, n_Cs)."""
    values = np.full((search.gammas.size, search.Cs.size), np.nan)
    found = model.cv_results_
    for params, value in zip(found["params"], found["mean_test_score"], strict=True):
        row = np.abs(search.gammas - params["gamma"]).argmin()
        values[row, np.abs(search.Cs - params["C"]).argmin()] = value
    return values


def _describe(model: Any, search: Search) -> dict[str, Any]:
    """What a search found, and its certificates if it is ours."""
    row: dict[str, Any] = {"n_fits": search.gammas.size * search.Cs.size * len(search.splits)}
    if hasattr(model, "best_params_"):  # not where time was up before any cell was complete
        row |= {
            "best_gamma": float(model.best_params_["gamma"]),
            "best_C": float(model.best_params_["C"]),
            "best_score": float(model.best_score_),
        }
    surface = {"gammas": search.gammas, "Cs": search.Cs, "scores": _surface(model, search)}
    if hasattr(model, "relative_gaps_"):
        gaps = np.asarray(model.relative_gaps_, dtype=float)
        row |= {
            "missing": len(model.missing_),
            "max_relative_gap": float(np.nanmax(gaps)),
            "fits_above_tol": int(np.sum(gaps > TOL)),
            "kernel_evaluations": int(model.kernel_evaluations_),
        }
    return {"row": row, "surface": surface}


def _describe_fit(model: PegasosSVC) -> dict[str, Any]:
    """The cell of a single fit, and its certificate."""
    gap = float(np.max(model.relative_gap_))
    cell = {"best_gamma": model.gamma, "best_C": model.C, "max_relative_gap": gap}
    return {"row": {"n_fits": 1, **cell}}


def _dearest_fit(search: Search) -> PegasosSVC:
    """The model of the cell whose fit takes longest."""
    cells = product(search.gammas, search.Cs)
    models = [_single_fit(gamma=gamma, C=C) for gamma, C in cells]
    seconds = [timed(model.fit, search.X, search.y)[0] for model in models]
    return models[int(np.argmax(seconds))]


def measure(job: Job) -> dict[str, Any]:
    """Search after a warm-up, or fit the dearest cell, in memory that has been touched.

    Parameters
    ----------
    job : dict
        ``problem``, ``tool`` (one of `TOOLS`, or `SINGLE`), optionally ``parameters`` of
        `PegasosSVCCV`, ``n_samples``, ``n_values`` of γ and C, and ``repeats`` (at most, 3 by
        default).

    Returns
    -------
    dict
        ``row``: seconds (median, least, most), memory in MiB, chosen cell, and for ours
        certificates and kernel values; ``surface`` of a search: γ, C, and mean scores of all cells;
        ``vectors`` that our code has.
    """
    search = load(job["problem"], job.get("n_samples"), job.get("n_values"))
    tool, few, more = job["tool"], _few(search), job.get("parameters", {})
    warnings.simplefilter("ignore")
    if "n_samples" not in job:
        touch_memory(_TOUCHED_MB)
    if tool == SINGLE:
        _dearest_fit(few)
        dearest = _dearest_fit(search)
        make: Callable[[], Any] = partial(_single_fit, gamma=dearest.gamma, C=dearest.C)
    else:
        make = partial(make_search, tool, search, more)
        make_search(tool, few, more).fit(few.X, few.y)

    def fit() -> Any:
        return make().fit(search.X, search.y)

    most = job.get("repeats", _SEARCHES)
    seconds, model, memory = repeated(fit, most, _SECONDS, weighed=True)
    found = _describe_fit(model) if tool == SINGLE else _describe(model, search)
    found["row"] |= {"n_samples": search.y.size, **ranged("seconds", seconds)}
    found["row"] |= {"repeats": len(seconds), **memory}
    return found | {"vectors": vectors()}


def _apart(job: Job) -> dict[str, Any]:
    found, _ = in_a_process(measure, job)
    return found[0] if found else {}


# What searches say beside each other


def find(rows: list[Row], problem: str, tool: str) -> Row:
    """Return the row of a problem and tool, an empty one if it was not measured."""
    return next(iter(select(rows, problem=problem, tool=tool)), {})


def _against(surface: Row, reference: Row) -> Row:
    """Compare the scores of two searches over the same cells."""
    scores, truth = (np.array(each["scores"], dtype=float) for each in (surface, reference))
    if np.isnan(scores).all():
        return {}
    difference = float(np.nanmax(np.abs(scores - truth)))
    return {"reference": reference["tool"], "largest_difference": difference}


def judge(rows: list[Row], surfaces: list[Row]) -> list[Row]:
    """Say how the scores of searches differ from a peer's.

    Parameters
    ----------
    rows : list of dict
        One for each search or fit.
    surfaces : list of dict
        Scores of the searches, by ``problem`` and ``tool``.

    Returns
    -------
    list of dict
        The rows; where there are peers with the ``reference``, and the ``largest_difference`` of
        the mean scores over all cells.
    """
    judged = []
    for row in rows:
        row = {k: v for k, v in row.items() if k not in ("reference", "largest_difference")}
        surface = find(surfaces, row["problem"], row["tool"])
        references = [find(surfaces, row["problem"], name) for name in _REFERENCES]
        others = [found for found in references if found and found["tool"] != row["tool"]]
        judged.append(row | _against(surface, others[0]) if surface and others else row)
    return judged


# Groups


def _installed() -> list[str]:
    return [tool for tool in TOOLS if tool != "intelex" or find_spec("sklearnex") is not None]


def _groups() -> dict[str, list[Job]]:
    """Return the jobs by the name that ``--only`` has for them."""
    groups: dict[str, list[Job]] = {}
    slow: list[Job] = []
    last = {"repeats": 1, "timeout": _SLOW_TIMEOUT}
    for name, problem in COMPARED.items():
        jobs = [{"problem": name, "tool": tool} for tool in (OURS, SINGLE, *_installed()[1:])]
        groups[name] = [job for job in jobs if job["tool"] not in problem.slow]
        slow += [{**job, **last} for job in jobs if job["tool"] in problem.slow]
    ours = {"tool": OURS, "parameters": {"max_time": _MAX_TIME}}
    groups |= {name: [{"problem": name, **ours}] for name in SIMULATED}
    return groups | {_SLOW: slow}


def _quick_groups() -> dict[str, list[Job]]:
    """Return the jobs that need no data files, on few examples, γ and C."""
    groups = _groups()
    few = {"n_samples": 200, "n_values": 2, "repeats": 1}
    chosen = {name: groups[name] for name in ("moons 2,000", next(iter(SIMULATED)))}
    chosen["digits"] = [job for job in groups["digits"] if job["tool"] in (OURS, "SVC")]
    return {name: [{**job, **few} for job in jobs] for name, jobs in chosen.items()}


def _measured(context: ExperimentContext, group: str, jobs: list[Job]) -> dict[str, list[Row]]:
    """Run the jobs of a group; return their rows, and the surfaces of the searches."""
    table, surfaces = [], []
    for job in context.progress(jobs, group):
        full = {"timeout": _TIMEOUT, **job}
        found = context.job(group, full, measure if context.quick else _apart)
        head = {"problem": job["problem"], "tool": job["tool"], "group": group}
        if not found:
            table.append({**head, "gave_up_after": full["timeout"]})
            continue
        table.append({**head, **found["row"], "vectors": found["vectors"]})
        if "surface" in found:
            surfaces.append({**head, **found["surface"]})
    return {"table": table, "surfaces": surfaces}


def compute(context: ExperimentContext) -> dict[str, Any]:
    """Run every search of the groups that are asked for, and judge all of them."""
    groups = _quick_groups() if context.quick else _groups()
    work = {group: partial(_measured, context, group, jobs) for group, jobs in groups.items()}
    found = context.groups(work, on_request=_SLOW)
    measured = {name for row in found["table"] for name in row.pop("vectors", [])}
    table = judge(found["table"], found["surfaces"])
    problems = {row["problem"] for row in table}
    return {
        "seeds": [0],
        "vectors": sorted(measured) or context.previous.get("vectors"),
        "groups": found["groups"],
        "not_measured": [
            {"problem": job["problem"], "tool": job["tool"]}
            for job in chain.from_iterable(groups.values())
            if job["problem"] in problems and not find(table, job["problem"], job["tool"])
        ],
        "published": [
            {"problem": problem, "tool": tool, "seconds": seconds}
            for problem, (n_features, _) in SIMULATED.items()
            for tool, seconds in PUBLISHED[n_features].items()
        ],
        "surfaces": found["surfaces"],
        "table": table,
    }


#: Columns of peers in the table: heading, tool.
_HEADS = {
    "scikit-learn-intelex": "intelex",
    "`SVC`, two jobs": "SVC",
    "`PegasosSVC`, polished": "PegasosSVC",
}


def _cell(row: Row, ours: Row) -> str:
    """Seconds of a search and their ratio to ours, bold where ours is ahead by a twentieth."""
    if not row:
        return "not measured"
    if "seconds" not in row:
        return f"given up after {row['gave_up_after']:.0f} s"
    ratio = row["seconds"] / ours["seconds"]
    return f"{row['seconds']:.3g} s ({bold(f'{ratio:.1f}', when=ratio >= AHEAD)} times)"


def tables(results: dict[str, Any]) -> str:
    """Return the tables of searches with peers and of TorchKM's protocol, in Markdown."""
    table = results["table"]
    heads = ["problem", f"`{OURS}`", *_HEADS, "largest difference"]
    lines = [heads, []]
    simulated = [["TorchKM's protocol, 500 fits", "here", "TorchKM, L40S", "ThunderSVM, L40S"], []]
    for row in select(table, tool=OURS):
        name, seconds = row["problem"], f"{row.get('seconds', 0):.3g} s"
        published = {one["tool"]: one for one in select(results["published"], problem=name)}
        if "seconds" not in row:
            continue
        if published:
            left = row["missing"] + row["fits_above_tol"]
            here = seconds + (f", {left} above 1%" if left else "")
            others = [f"{published[tool]['seconds']:g} s" for tool in ("torchkm", "thundersvm")]
            simulated.append([name.removeprefix("TorchKM "), here, *others])
        else:
            peers = [_cell(find(table, name, tool), row) for tool in _HEADS.values()]
            difference = row.get("largest_difference")
            last = "" if difference is None else f"{difference:.2g}"
            lines.append([name, seconds, *peers, last])
    return "\n\n".join(
        "\n".join(
            f"| {' | '.join(cells)} |" if cells else "|---" * len(part[0]) + "|" for cells in part
        )
        for part in (lines, simulated)
    )


#: What each tool is called, and its look, that of its method if figures have one for it.
_LOOKS = {
    OURS: replace(plots.METHODS["polished"], name=OURS),
    "PegasosSVC": replace(plots.METHODS["Pegasos"], name="GridSearchCV, PegasosSVC"),
    "intelex": replace(plots.METHODS["intelex"], name="GridSearchCV, intelex"),
    "SVC": replace(plots.METHODS["SVC"], name="GridSearchCV, SVC"),
    SINGLE: plots.Look("dearest single fit", plots.GREY, "|"),
    "torchkm": plots.Look("TorchKM, GPU, published", plots.PURPLE, "P"),
    "thundersvm": plots.Look("ThunderSVM, same GPU, published", plots.SKY, "D"),
    "scikit_learn": plots.Look("scikit-learn, published", plots.ORANGE, "X"),
}


def _style(tool: str) -> dict[str, Any]:
    return _LOOKS[tool].options(markersize=8, markeredgewidth=1.5, linestyle="none")


def _seconds(ax: plots.Axes, lines: dict[str, list[Row]]) -> None:
    """A line for each name, and a dot at it for each row."""
    for height, rows in enumerate(lines.values()):
        measured = [row["seconds"] for row in rows]
        ends = [min(measured), max(measured)]
        ax.plot(ends, [height] * 2, color=plots.SILVER, linewidth=1, zorder=1)
        for row in rows:
            above = 3 if row["tool"] == OURS else 2
            ax.plot(row["seconds"], height, zorder=above, **_style(row["tool"]))
    ax.set_yticks(range(len(lines)), list(lines), fontsize=9.5)
    ax.set_ylim(len(lines) - 0.4, -0.6)
    plots.log_x(ax, xlabel="seconds of the search")
    ax.margins(x=0.1)
    ax.tick_params(axis="y", length=0)
    plots.apart(ax, 0.2)


def _by_problem(rows: list[Row]) -> dict[str, list[Row]]:
    return grouped([row for row in rows if row.get("seconds")], "problem")


def _missing(results: Row, problem: str) -> list[str]:
    """Say which tools have no seconds for a problem."""
    gave_up = [
        f"{row['tool']} given up after {row['gave_up_after']:,.0f} s"
        for row in select(results["table"], problem=problem)
        if row.get("gave_up_after")
    ]
    rows = select(results["not_measured"], problem=problem)
    return gave_up + [f"{row['tool']} not measured" for row in rows]


def _simulated(results: Row) -> dict[str, list[Row]]:
    """Rows of TorchKM's protocol, ours and published ones, by what they are called."""
    labelled = {}
    for problem, published in _by_problem(results["published"]).items():
        ours = find(results["table"], problem, OURS)
        if ours:
            words = [problem.removeprefix("TorchKM ").replace(", ", "\n")]
            words += [f"{ours['missing']} fits missing"] * bool(ours.get("missing"))
            words += _missing(results, problem)
            labelled["\n".join(words)] = [row for row in [ours] if row.get("seconds")] + published
    return labelled


def _ratios(table: list[Row], tools: tuple[str, ...]) -> list[float]:
    """How many times ours the fastest of some tools takes, on each problem that has both."""
    ratios = []
    for rows in _by_problem(table).values():
        seconds = {row["tool"]: row["seconds"] for row in rows}
        theirs = [seconds[tool] for tool in tools if tool in seconds]
        if theirs and OURS in seconds:
            ratios.append(min(theirs) / seconds[OURS])
    return ratios


def _finding(table: list[Row]) -> str:
    """What a search costs, in single fits and beside the peers."""
    found = []
    if single := _ratios(table, (SINGLE,)):
        costs = span([1 / ratio for ratio in single], plots.times)
        found.append(f"costs {costs} times its dearest fit")
    if peers := _ratios(table, ("intelex", "SVC")):
        longer = span(peers, plots.times)
        found.append(f"GridSearchCV with the faster peer takes {longer} times as long")
    return "A search by PegasosSVCCV " + "; ".join(found) if found else "Seconds of a search"


def plot(results: Row) -> plots.Figure:
    """Seconds of each tool on each problem, and TorchKM's protocol."""
    figure, ((compared, simulated),) = plots.panels(1, 2, 5.6)
    protocol = {row["problem"] for row in results["published"]}
    table = [row for row in results["table"] if row["problem"] not in protocol]
    lines = {
        "\n".join([problem.replace(" or", "\nor"), *_missing(results, problem)]): rows
        for problem, rows in _by_problem(table).items()
    }
    _seconds(compared, lines)
    compared.set_title("search over γ and C")
    _seconds(simulated, _simulated(results))
    simulated.set_title("TorchKM's protocol: 50 λ, 10 folds")
    place: dict[str, Any] = {"ncols": 2, "bbox_to_anchor": (-0.42, 1.0), "fontsize": 9}
    ours = select(results["table"], tool=OURS)
    for ax, rows in ((compared, table), (simulated, [*ours, *results["published"]])):
        used = {row["tool"] for row in rows}
        looks = {_LOOKS[tool].name: _style(tool) for tool in _LOOKS if tool in used}
        looks = {name.removesuffix(", published"): style for name, style in looks.items()}
        plots.legend_above(ax, looks, over_title=True, **place)
    few = max((1 / ratio for ratio in _ratios(table, (SINGLE,))), default=np.inf) < 10
    return plots.state(
        figure,
        f"A whole search costs {'a few' if few else 'many'} single fits: {_finding(table)}",
        "Bars: the dearest single fit. Right: seconds of the others as published, on a GPU but for "
        "scikit-learn's; ours on these cores.",
    )
