"""Equal seconds: the least test error that each kernel method reaches within 1, 3, 10 and 30 s.

Every method has the same data (float32), the same C and the same width of the Gaussian kernel, none
of them tuned here, and climbs a ladder of runs until the next one would take longer than 30 s:

- `PegasosSVC` on the whole set, told to stop in time (``max_time``), plain or with
  ``polish=True``;
- `PegasosSVC` with ``polish=True``, scikit-learn-intelex's `SVC` and LIBSVM's (scikit-learn's
  `SVC`), each at two tolerances, on random samples of 1,000 examples, 2,000, 4,000 and so on, up
  to the whole set;
- `LinearPegasosSVC`, 10 epochs, on 64, 128, ... 4,096 features that stand for the kernel, by
  Nyström's method (scikit-learn's `Nystroem`) or from random frequencies (`RBFSampler`), on the
  whole set;
- LASVM, an online solver, of Vowpal Wabbit, on as many examples as it gets through; it knows two
  classes only.

Each ladder has a process of its own, warmed up on a part of the data. Seconds are those of
``fit``: copying the sample's rows and making the features included; imports, compiling, reading and
predicting excluded. Short runs are repeated with up to 10 seeds, of samples and solvers alike, and
medians count. The front of a method is the least error of its runs that took no longer. It is
chosen on the test set, for all methods alike. Methods count as level if they are within one
standard error of the best, that of a share on the test set. On Covertype, 100,000 examples are the
whole set.

``--only NAME`` runs one problem alone and keeps the other results at hand. Install the peers with
``pip install scikit-learn-intelex vowpalwabbit``; without them their ladders are left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from experiments import _plots as plots
from experiments._claims import OURS, Claim, listed, percent, span
from experiments._kernel import PROBLEMS, Task, expansion, load, pairs_of
from experiments._measure import in_a_process, timed, touch_memory
from experiments._run import ExperimentContext
from experiments._tables import Row, grouped, ranged, select
from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.datasets import load_covtype

FULL_TIME = "32 min"
QUICK_TIME = "12 s"

BUDGETS = (1.0, 3.0, 10.0, 30.0)
#: Seconds after which a ladder is given up, as a run that takes so long cannot be told to stop.
_TIMEOUT = 120.0
_QUICK = {"n_samples": 1000, "n_test": 2000, "least": 250, "patience": 0.1, "budgets": [0.05, 0.2]}
#: Method of each ladder.
LADDERS = {
    "plain": "Pegasos",
    "samples": "polished",
    "samples, loose": "polished",
    "cut off": "cut off",
    "intelex": "intelex",
    "intelex, loose": "intelex",
    "SVC": "SVC",
    "SVC, loose": "SVC",
    "Nyström": "Nyström",
    "Fourier": "Fourier",
    "LASVM": "LASVM",
}
_CACHE_MB = 1024
#: Least number of examples of a sample, and of features, each doubled from run to run.
_EXAMPLES, _COMPONENTS, _MOST_COMPONENTS = 1000, 64, 4096
#: Share of a limit after which a solver is told to stop, so that what follows fits in; LASVM
#: finishes the example in work.
_SHARE, _LASVM_SHARE = 0.9, 0.98
_LOOSE = 0.1
#: Passes of the linear solver over the features, between what is cheap and what is accurate.
_EPOCHS = 10
#: Short runs are repeated, with other seeds, as often as this or until they took so many seconds,
#: with the tests; those that are short without the tests have at least so many runs.
SEEDS, _LEAST, _REPEAT_SECONDS = 10, 3, 1.0
#: Examples that solvers are warmed up on: few, whose kernel is computed at first, and more.
_WARM_UPS, _TOUCHED_MB = (500, 3000), 2048
#: Powers of the size that the seconds of the next run are expected to grow by.
_POWERS = (1.0, 2.5)
#: Runs are left out if they would take so many times the largest budget, as nobody knows exactly.
_MARGIN = 1.15
#: A solver that ends so early was not stopped by its limit.
_STOPPED = 0.8

# Problems, with C and γ of the kernel benchmark

COVERTYPE = "Covertype"
#: Covertype's width and C are those of this problem of the benchmark, which has fewer examples.
_LIKE = "Covertype, C = 10"
NAMES = ("Fashion-MNIST", "MNIST 8", "Adult", COVERTYPE)
_TRAINING, _TEST = 100_000, 20_000


@cache
def make_task(name: str, n_samples: int | None = None) -> Task:
    """Make a problem, of its first training examples if a number is given.

    Covertype has the first 100,000 of the training and 20,000 of the test examples, standardised.
    """
    if name != COVERTYPE:
        return load(name, n_samples)
    data, scaler = load_covtype(), StandardScaler()
    n_training = n_samples or _TRAINING
    X = scaler.fit_transform(data.X_train[:n_training]).astype(np.float32)
    X_test = scaler.transform(data.X_test[:_TEST]).astype(np.float32)
    _, gamma, C = PROBLEMS[_LIKE]
    return Task(X, data.y_train[:n_training], X_test, data.y_test[:_TEST], float(gamma), C)


def _describe(task: Task) -> Row:
    """Return the sizes and parameters of a problem."""
    return {
        "examples": len(task.y),
        "classes": len(np.unique(task.y)),
        "test_examples": len(task.y_test),
        "C": task.C,
        "gamma": task.gamma,
    }


# Ladders: runs that take longer and longer


class Rung(NamedTuple):
    """A run of a ladder.

    Attributes
    ----------
    make : callable
        Makes the estimator for a seed.
    setting : str
        What it is told, in words.
    examples : int
        How many examples it is given, drawn by the seed.
    size : int
        What grows from run to run; 0 if it is the limit.
    limit : float or None
        Seconds after which it is told to stop.
    """

    make: Callable[[int], Any]
    setting: str
    examples: int
    size: int
    limit: float | None = None


def available(ladder: str, task: Task) -> str:
    """Return why a ladder cannot be run here; nothing if it can."""
    if ladder.startswith("intelex") and importlib.util.find_spec("sklearnex") is None:
        return "scikit-learn-intelex is not installed"
    if ladder == "LASVM" and importlib.util.find_spec("vowpalwabbit") is None:
        return "vowpalwabbit is not installed"
    two_alone = ladder == "LASVM" and len(np.unique(task.y)) > 2
    return "it knows two classes only" if two_alone else ""


def doubled(least: int, most: int) -> list[int]:
    """Return a number and its doubles below another, and that other."""
    numbers = []
    while least < most:
        numbers.append(least)
        least *= 2
    return [*numbers, most]


def _ours(task: Task, seed: int, **parameters: Any) -> Any:
    options: Row = {"cache_mb": _CACHE_MB, **parameters}
    return PegasosSVC(task.C, gamma=task.gamma, random_state=seed, **options)


def _peer(kind: Any, task: Task, seed: int, **parameters: Any) -> Any:
    return kind(C=task.C, gamma=task.gamma, cache_size=_CACHE_MB, **parameters)


def _approximate(features: Any, n_components: int, task: Task, seed: int) -> Any:
    options: Row = {"epochs": _EPOCHS, "checkpoints": None}
    linear = LinearPegasosSVC(task.C, random_state=seed, **options)
    kernel = features(gamma=task.gamma, n_components=n_components, random_state=seed)
    return make_pipeline(kernel, linear)


def rungs(ladder: str, task: Task, budgets: list[float], least: int = _EXAMPLES) -> list[Rung]:
    """Return the runs of a ladder, those that take longest last.

    Parameters
    ----------
    ladder : str
        A key of `LADDERS`, but LASVM, which is one run.
    task : Task
        The problem.
    budgets : list of float
        The seconds that are looked at.
    least : int, default 1000
        Size of the smallest sample.

    Returns
    -------
    list of Rung
    """
    m, loose = len(task.y), ladder.endswith("loose")
    if ladder in ("plain", "cut off"):
        cut_off = partial(_ours, task, polish=ladder == "cut off")
        limits = [(budget, _SHARE * budget) for budget in budgets]
        return [
            Rung(partial(cut_off, max_time=s), f"all examples, max_time = {s:g}", m, 0, budget)
            for budget, s in limits
        ]
    if ladder in ("Nyström", "Fourier"):
        features = Nystroem if ladder == "Nyström" else RBFSampler
        return [
            Rung(partial(_approximate, features, size, task), f"{size:,} features", m, size)
            for size in doubled(_COMPONENTS, min(_MOST_COMPONENTS, m // 2))
        ]
    make: Any = partial(_peer, SVC)
    if ladder.startswith("samples"):
        make = partial(_ours, polish=True)
    elif ladder.startswith("intelex"):
        from sklearnex.svm import SVC as IntelexSVC

        make = partial(_peer, IntelexSVC)
    tol = _LOOSE if loose else 1e-2 if ladder == "samples" else 1e-3
    make = partial(make, task, tol=tol)
    return [
        Rung(make, f"{size:,} examples, tol = {tol:g}", size, size) for size in doubled(least, m)
    ]


# Runs


def predicted(model: Any, X: np.ndarray) -> np.ndarray:
    """Predict; with models of an `SVC` by the votes of their pairs.

    LIBSVM's own predictions take longer than a fit, and intelex's are wrong at random for ten
    classes on some processors.
    """
    if not isinstance(model, SVC):
        return np.asarray(model.predict(X))
    pairs = list(pairs_of(model))
    coefs = np.zeros((model.support_.size, len(pairs)))
    for column, (_, at, values) in enumerate(pairs):
        coefs[at, column] = values
    vectors = np.ascontiguousarray(model.support_vectors_, dtype=X.dtype)
    decisions = expansion(model.gamma, X, vectors, coefs) + model.intercept_
    if len(pairs) == 1:
        return np.asarray(model.classes_[(decisions[:, 0] > 0).astype(int)])
    votes = np.zeros((len(X), len(model.classes_)), dtype=int)
    for ((i, j), *_), decision in zip(pairs, decisions.T, strict=True):
        votes[np.arange(len(X)), np.where(decision > 0, i, j)] += 1
    return np.asarray(model.classes_[votes.argmax(axis=1)])


def _fit(rung: Rung, task: Task, seed: int) -> tuple[float, float]:
    """Seconds of a fit to a sample, which is drawn before, and its test error."""
    m = len(task.y)
    chosen = np.random.default_rng(seed).permutation(m)[: rung.examples]
    begin = time.perf_counter()
    X, y = (task.X, task.y) if rung.examples == m else (task.X[chosen], task.y[chosen])
    model = rung.make(seed).fit(X, y)
    seconds = time.perf_counter() - begin
    return seconds, float(np.mean(predicted(model, task.X_test) != task.y_test))


def measure(rung: Rung, task: Task, patience: float = _REPEAT_SECONDS) -> Row:
    """Fit with some seeds, and return medians, least and most of seconds and test error."""
    found: list[tuple[float, float]] = []
    begin = time.perf_counter()
    while len(found) < SEEDS:
        found.append(_fit(rung, task, len(found)))
        few = len(found) < _LEAST and sum(seconds for seconds, _ in found) < patience
        if time.perf_counter() - begin > patience and not few:
            break
    seconds, errors = (list(values) for values in zip(*found, strict=True))
    head: Row = {"setting": rung.setting, "examples": rung.examples, "runs": len(found)}
    return head | ranged("fit_seconds", seconds) | ranged("error", errors)


def expected(sizes: list[int], seconds: list[float], size: int) -> float:
    """Say how long a run of some size may take, from those of smaller sizes."""
    if not seconds:
        return 0.0
    low, high = _POWERS
    power = low
    if len(seconds) > 1:
        grown = math.log(max(seconds[-1], 1e-9) / max(seconds[-2], 1e-9))
        power = float(np.clip(grown / math.log(sizes[-1] / sizes[-2]), low, high))
    return float(seconds[-1] * (size / sizes[-1]) ** power)


def _climb(ladder: list[Rung], task: Task, most: float, patience: float) -> Iterator[Row]:
    """Yield the runs of a ladder up to those that would take longer than the largest budget."""
    sizes: list[int] = []
    seconds: list[float] = []
    for rung in ladder:
        likely = 0.0 if rung.limit else expected(sizes, seconds, rung.size)
        if likely > _MARGIN * most:
            yield {"setting": rung.setting, "left_out": f"about {likely:.0f} s expected"}
            return
        row = measure(rung, task, patience)
        sizes.append(rung.size)
        seconds.append(row["fit_seconds"])
        if rung.limit is not None:
            row["stopped"] = row["fit_seconds"] >= _STOPPED * rung.limit
        yield row
        if not row.get("stopped", True):
            return  # it ended by itself, and would again


def _lasvm(task: Task, budgets: list[float]) -> Iterator[Row]:
    """Learn example by example; yield a row at each budget, with the clock at rest, and at the end.

    LASVM (Bordes, Ertekin, Weston, Bottou 2005), as Vowpal Wabbit has it: of the online and
    budgeted kernel SVMs it is one that ``pip`` installs, without a compiler or a GPU. An example is
    looked at once, and after each a support vector once more (``--reprocess 1``, the default). The
    objective is that of ours without an intercept: a coefficient is at most 1/λ, so that λ
    (``--l2``) is 1/C. Reading examples from text is outside the clock.
    """

    def text(row: np.ndarray, label: str = "") -> str:
        return f"{label} | " + " ".join(f"{i}:{row[i]:.8g}" for i in np.flatnonzero(row))

    positive = np.max(task.y)
    y, y_test = (np.where(labels == positive, 1, -1) for labels in (task.y, task.y_test))
    options = f"--kernel rbf --bandwidth {task.gamma:.8g} --l2 {1 / task.C:.8g}"
    learner = importlib.import_module("vowpalwabbit").Workspace(f"--ksvm {options} --quiet")
    tests = [learner.example(text(row)) for row in task.X_test]
    seconds, ahead = 0.0, list(budgets)
    for seen, index in enumerate(np.random.default_rng(0).permutation(len(y)), start=1):
        example = learner.example(text(task.X[index], str(y[index])))
        seconds += timed(learner.learn, example)[0]
        learner.finish_example(example)
        if seconds >= _LASVM_SHARE * ahead[0] or seen == len(y):
            scores = np.array([learner.predict(one) for one in tests])
            error = float(np.mean(np.where(scores > 0, 1, -1) != y_test))
            row: Row = {"setting": f"{seen:,} examples seen", "examples": seen, "runs": 1}
            yield row | ranged("fit_seconds", [seconds]) | ranged("error", [error])
            ahead = [budget for budget in ahead if seconds < _LASVM_SHARE * budget]
            if not ahead:
                return


def _runs(job: Row) -> Iterator[Row]:
    """Warm up, and yield the runs of a ladder, or why they were left out."""
    warnings.simplefilter("ignore")
    task, n_test = make_task(job["problem"], job.get("n_samples")), job.get("n_test")
    task = task._replace(X_test=task.X_test[:n_test], y_test=task.y_test[:n_test])
    if reason := available(job["ladder"], task):
        yield {"setting": "all", "left_out": reason}
        return
    if job["ladder"] == "LASVM":
        yield from _lasvm(task, job["budgets"])
        return
    ladder = rungs(job["ladder"], task, job["budgets"], job.get("least", _EXAMPLES))
    for few in _WARM_UPS:
        model = ladder[0].make(0).fit(task.X[:few], task.y[:few])
        predicted(model, task.X_test[:100])
    if "n_samples" not in job:
        touch_memory(_TOUCHED_MB)
    patience = job.get("patience", _REPEAT_SECONDS)
    yield from _climb(ladder, task, max(job["budgets"]), patience)


def climb(job: Row) -> Iterator[Row]:
    """Yield the runs of a ladder one by one, as soon as they are over.

    Parameters
    ----------
    job : dict
        ``problem``, ``ladder``, ``budgets``; optionally ``n_samples``, ``n_test`` and ``least``,
        the sizes of training set, test set and smallest sample, and ``patience``, the seconds after
        which a run is not repeated.

    Yields
    ------
    dict
        A run: its setting, examples, number of repetitions, seconds and test error; or the setting
        and why it was left out.
    """
    head = {"method": LADDERS[job["ladder"]], "ladder": job["ladder"]}
    yield from ({**head, **row} for row in _runs(job))


def apart(job: Row) -> list[Row]:
    """Run a ladder in a fresh process, and return what it has done within ``timeout`` seconds."""
    found, ended = in_a_process(climb, job)
    why = {"setting": "the rest", "left_out": f"given up after {job['timeout']:g} s"}
    return found if ended else [*found, {"method": LADDERS[job["ladder"]], **why}]


def _measured(context: ExperimentContext, problem: str) -> dict[str, list[Row]]:
    """Run all ladders of a problem."""
    rows = []
    for ladder in context.progress(list(LADDERS), problem):
        job: Row = {"problem": problem, "ladder": ladder, "budgets": list(BUDGETS)}
        job |= _QUICK if context.quick else {"timeout": _TIMEOUT}
        run = (lambda job: list(climb(job))) if context.quick else apart
        rows += [{"problem": problem, **row} for row in context.job(problem, job, run)]
    return {
        "left_out": [row for row in rows if "left_out" in row],
        "table": [row for row in rows if "left_out" not in row],
    }


def compute(context: ExperimentContext) -> Row:
    """Climb all ladders of the problems that are asked for; take the others from the results."""
    names = NAMES[2:3] if context.quick else NAMES
    found = context.groups({name: partial(_measured, context, name) for name in names}, "problem")
    n_samples: Any = _QUICK["n_samples"] if context.quick else None
    before = context.previous.get("problems", {})
    return {
        "seeds": list(range(SEEDS)),
        "budgets": _QUICK["budgets"] if context.quick else list(BUDGETS),
        "problems": {
            name: _describe(make_task(name, n_samples)) if context.wants(name) else before[name]
            for name in found["groups"]
        },
        **found,
    }


# What came out

#: Name at the end of a line, and name in a sentence, by method.
_METHODS = {
    "polished": ("polished", "polished Pegasos"),
    "Pegasos": ("Pegasos", "plain Pegasos"),
    "intelex": ("intelex", "intelex's SVC"),
    "SVC": ("LIBSVM", "LIBSVM"),
    "LASVM": ("LASVM", "LASVM"),
    "Nyström": ("Nyström", "Nyström features"),
    "Fourier": ("random", "random features"),
}
#: Methods that solve the problem of a sample to the end.
_EXACT = {"polished", "intelex", "SVC"}
#: Shares of the most cases from which a method is named with the first, and what budgets are
#: multiplied by: a headline names who comes first under any of them.
_CLOSE, _FACTORS = (0.6, 0.75, 0.9), (0.8, 1.0, 1.2)
#: Methods at the front of each problem within each budget.
Cases = dict[tuple[str, float], list[str]]


def _told_front(rows: list[Row]) -> list[Row]:
    """Return the runs that are better than every shorter one."""
    front: list[Row] = []
    for row in sorted(rows, key=lambda row: (row["fit_seconds"], row["error"])):
        if not front or row["error"] < front[-1]["error"]:
            front.append(row)
    return front


def _told_best(rows: list[Row], budget: float) -> dict[str, Row]:
    """Return the best run of each method within some seconds, the best method first."""
    within = grouped([row for row in rows if row["fit_seconds"] <= budget], "method")
    best = {
        method: min(within[method], key=itemgetter("error"))
        for method in _METHODS
        if method in within
    }
    return dict(sorted(best.items(), key=lambda item: float(item[1]["error"])))


def _told_level(best: dict[str, Row], n_test: int) -> list[str]:
    """Return the methods within one standard error of the best, that one first."""
    least = next(iter(best.values()))["error"]
    deviation = float(np.sqrt(least * (1 - least) / n_test))
    return [method for method, row in best.items() if row["error"] <= least + deviation]


def _told_cases(results: Row, factor: float = 1.0) -> Cases:
    """Return who is at the front of each problem within each budget, or a multiple of it."""
    cases = {}
    for name, budget in product(results["problems"], results["budgets"]):
        if best := _told_best(select(results["table"], problem=name), factor * budget):
            cases[name, budget] = _told_level(best, results["problems"][name]["test_examples"])
    return cases


def _told_counts(cases: Cases) -> dict[str, int]:
    """Return in how many cases each method is at the front, the most first."""
    counts = {name: sum(name in level for level in cases.values()) for name in _METHODS}
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def _told_first(results: Row) -> list[str]:
    """Return the methods that are at the front most often, or may be: by other bounds."""
    first: dict[str, int] = {}
    for factor, close in product(_FACTORS, _CLOSE):
        counts = _told_counts(_told_cases(results, factor))
        least = close * max(counts.values())
        first |= {name: counts[name] for name in counts if counts[name] >= least}
    return sorted(first, key=lambda name: -first[name])


def _told_title(results: Row) -> str:
    """Say who is at the front most often."""
    first, begin = _told_first(results), "At equal seconds,"
    if first == ["polished"]:
        return f"{begin} polishing as many examples as fit in the time is best most often."
    names = listed(_METHODS[name][1] for name in first)
    if set(first) <= _EXACT:
        often = "solving as many examples as fit in the time is best most often"
        return f"{begin} {often}: {names}."
    return f"{begin} {names} most often have the least error."


def _told_tally(cases: Cases) -> str:
    """Say in how many cases each method is at the front."""
    counts = _told_counts(cases)
    told = [f"{_METHODS[name][1]} in {count}" for name, count in counts.items() if count]
    never = [_METHODS[name][1] for name, count in counts.items() if not count]
    rest = f"; {listed(never)} never" if never else ""
    return (
        f"Of {len(cases)} cases, a data set and a number of seconds each, the least error belongs "
        f"to {listed(told)}{rest}. Methods within one standard error of it share it."
    )


def _told_cut(results: Row) -> str:
    """Compare polishing the whole set up to a limit with a sample that fits in; "" if none was."""
    pairs = []
    for row in select(results["table"], method="cut off", stopped=True):
        own = select(results["table"], problem=row["problem"])
        best = _told_best(own, row["fit_seconds"])
        if "polished" in best:
            pairs.append((row["error"], best["polished"]["error"]))
    if not pairs:
        return ""
    worse = sum(cut > sample for cut, sample in pairs)
    ratios = [cut / max(sample, 1e-9) for cut, sample in pairs]
    return (
        f" A polished fit of the whole set that was cut short is not among them. It errs "
        f"{span(ratios)} times as often as a sample polished to the end, and is worse in {worse} "
        f"of {len(pairs)} runs."
    )


def _told_problem(results: Row, name: str) -> Claim:
    """Say who is at the front of a problem, for each budget."""
    problem, parts = results["problems"][name], []
    for budget in results["budgets"]:
        best = _told_best(select(results["table"], problem=name), budget)
        if not best:
            continue
        first, *others = _told_level(best, problem["test_examples"])
        row = best[first]
        part = f"{_METHODS[first][1]} with {percent(row['error'], 2)} ({row['setting']})"
        if others:
            told = (f"{_METHODS[o][0]} {percent(best[o]['error'], 2)}" for o in others)
            part += f", level with {listed(told)}"
        parts.append(f"{budget:g} s: {part}")
    size = f"{problem['examples']:,} examples, {problem['classes']} classes"
    parameters = f"C = {problem['C']:g}, γ = {problem['gamma']:.3g}"
    return Claim(f"{name} ({size}, {parameters}).", OURS, f"Within {'; '.join(parts)}.")


def claims(results: Row) -> list[Claim]:
    """Say which method has the least error within how many seconds."""
    cases = _told_cases(results)
    if not cases:
        return []
    first = Claim(_told_title(results), OURS, _told_tally(cases) + _told_cut(results))
    chances = [
        f"{label} {len(select(results['table'], method=name))}"
        for name, (label, _) in _METHODS.items()
    ]
    told = Claim(
        "How many runs each method had to choose from.",
        OURS,
        f"The least test error is over all its runs: {listed(chances)}.",
    )
    return [first, *(_told_problem(results, name) for name in results["problems"]), told]


def _told_panel(ax: plots.Axes, rows: list[Row], methods: list[str], last: float) -> None:
    """Draw the front of some methods to the end of the largest budget, polishing in bold."""
    for order, name in enumerate(methods):
        front = _told_front(select(rows, method=name))
        if not front:
            continue
        ax.plot(
            [*(row["fit_seconds"] for row in front), last],
            [100 * row["error"] for row in [*front, front[-1]]],
            drawstyle="steps-post",
            markevery=list(range(len(front))),
            zorder=4 - order,
            label=_METHODS[name][0],
            linewidth=2.5 if name == "polished" else 1.6,
            **plots.METHODS[name].options(),
        )


def _told_ticks(ax: plots.Axes, budgets: list[float]) -> None:
    """Put ticks at the budgets and their tenths."""
    from kpegasos.plotting.style import ticks_at

    low, high = ax.get_xlim()
    seconds = {*budgets, *(budget / 10 for budget in budgets)}
    ticks_at(ax.xaxis, np.array(sorted(tick for tick in seconds if low <= tick <= high)))


def plot(results: Row) -> plots.Figure:
    """Test error against seconds: polishing beside two methods a panel, a row for each problem."""
    problems, cases, budgets = results["problems"], _told_cases(results), results["budgets"]
    others = {
        "other exact solvers": ["intelex", "SVC"],
        "random features": ["Nyström", "Fourier"],
        "steps over the whole set": ["Pegasos", "LASVM"],
    }
    size = (len(problems), len(others), 2.1 * len(problems) + 1.3)
    figure, axes = plots.panels(*size, sharex=True, sharey="row")
    last = 1.25 * max(budgets)
    for row, name in zip(axes, problems, strict=True):
        rows = select(results["table"], problem=name)
        runs = [run for run in rows if run["fit_seconds"] <= last and run["method"] in _METHODS]
        for ax, (title, methods) in zip(row, others.items(), strict=True):
            _told_panel(ax, runs, ["polished", *methods], last)
            for budget in budgets:
                ax.axvline(budget, color=plots.SILVER, linewidth=0.8, linestyle=":", zorder=0)
            ax.set_title(title if ax in axes[0] else "")
            plots.log_x(ax, xlim=(min(budgets) / 30, last))
            _told_ticks(ax, budgets)
        ends = [
            100 * front[-1]["error"]
            for own in grouped(runs, "method").values()
            if (front := _told_front(own))
        ]
        low = min(ends)
        high = max(*ends, 1.1 * low)
        row[0].set_ylim(low - 0.3 * (high - low), low + 2.2 * (high - low))
        row[0].set_ylabel(f"{name}\n{plots.WORDS['test_error']}")
    plots.outer_labels(axes, plots.WORDS["fit_seconds"])
    first, best = _told_first(results), "no method is always best"
    if set(first) <= _EXACT:
        what = "polishing a sample" if first == ["polished"] else "solving samples fully"
        best = f"{what} is mostly best"
    counts = listed(f"{_told_counts(cases)[name]}" for name in first)
    least = listed(_METHODS[name][1] for name in first)
    sizes = listed(f"{problem['examples']:,}" for problem in problems.values())
    return plots.state(
        figure,
        f"At equal seconds, {best}: {least} in {counts} of {len(cases)} cases",
        f"Least error of the runs that took no longer; Gaussian kernel, the same C and γ for all; "
        f"m = {sizes}. polished, intelex, LIBSVM: samples of growing size. Nyström, random: "
        "features for the linear Pegasos. A case is a data set and "
        f"{listed(f'{budget:g}' for budget in budgets)} s (dotted); level within one standard "
        "error is a tie.",
    )
