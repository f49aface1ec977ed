"""Kernel SVMs side by side: the problems, solvers in processes of their own, how models are judged.

Problems are dense data and the parameters of the SVM. Small ones are made here, others are read
where `kpegasos.datasets` finds them; all in float64 or float32, as asked for.

A process of its own gives each solver the same start and shows its peak memory. Small problems have
one process for all solvers, which take turns.

The problems that solvers set out to solve differ in the intercept alone. Ours has it as the weight
of a constant feature and penalises its square; `SVC` leaves it free. A model is judged as it stands
by the objective of its own problem, and its suboptimality is the distance to a lower bound of that
problem's optimum: ours to our certified dual bound, the peers' to the objective of their dual,
which is a bound because their coefficients satisfy the equality constraint (to rounding). The best
bound of all runs of a problem counts. Numbers are means over the pairs of classes. For comparison a
peer is also judged by our objective, with the intercept that is best there.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.utils import gen_batches

from experiments._measure import in_a_process, repeated, timed, touch_memory
from experiments._meta import vectors
from experiments._runs import hinge_objective
from experiments._tables import ranged
from kpegasos import RBF, PegasosSVC
from kpegasos.datasets import load_adult, load_covtype, load_fashion_mnist, load_mnist, load_usps

#: Examples, labels, test examples, test labels (None if there are none).
Split = tuple[Any, Any, Any, Any]


class Task(NamedTuple):
    """A classification problem, with the parameters of its SVM."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: Any  # None without labels
    gamma: float
    C: float


class Problem(NamedTuple):
    """The recipe of a problem; gamma is a number, or "scale" for scikit-learn's default."""

    make: Callable[[], Split]
    gamma: float | str
    C: float


def _two_classes(data: Any, classes: tuple[int, int]) -> Split:
    train, test = np.isin(data.y_train, classes), np.isin(data.y_test, classes)
    return data.X_train[train], data.y_train[train], data.X_test[test], data.y_test[test]


def _against_the_rest(data: Any, number: int) -> Split:
    signs = [np.where(y == number, 1, -1) for y in (data.y_train, data.y_test)]
    return data.X_train, signs[0], data.X_test, signs[1]


def usps_split(seed: int, number: int = 7, scale: Callable[[Any], Any] = normalize) -> Split:
    """Split the 9,298 digits of USPS at random, in the journal paper's sizes; one against the rest.

    The paper's split is not known; its sizes are not those of the usual files. LIBSVM's file calls
    the digits 1 to 10, so that an "8" of it is a seven.
    """
    data = load_usps()
    X = scale(np.vstack((data.X_train, data.X_test)))
    y = np.where(np.concatenate((data.y_train, data.y_test)) == number, 1, -1)
    order = np.random.default_rng(seed).permutation(y.size)
    train, test = order[:7329], order[7329:]
    return X[train], y[train], X[test], y[test]


def _all(data: Any) -> Split:
    return data.X_train, data.y_train, data.X_test, data.y_test


def _covertype() -> Split:
    """Take the first 20,000 of the training and of the test examples, columns standardised."""
    data = load_covtype()
    scaler = StandardScaler()
    X = scaler.fit_transform(data.X_train[:20_000])
    X_test = scaler.transform(data.X_test[:20_000])
    return X, data.y_train[:20_000], X_test, data.y_test[:20_000]


def _moons(n_samples: int) -> Split:
    return (
        *make_moons(n_samples, noise=0.25, random_state=0),
        *make_moons(1000, noise=0.25, random_state=1),
    )


def _four_classes(n_samples: int) -> Split:
    X, y = make_classification(
        n_samples + 1000, 20, n_informative=10, n_classes=4, random_state=0, flip_y=0.05
    )
    return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]


def _digits() -> Split:
    """Fit and predict all digits, as there are few; so there is no test accuracy."""
    X, y = load_digits(return_X_y=True)
    return X, y, X, None


_MADE: dict[str, Callable[[], Split]] = {
    **{f"moons {n:,}": partial(_moons, n) for n in (100, 500, 2000, 5000)},
    **{f"4 classes {n:,}": partial(_four_classes, n) for n in (100, 500, 2000)},
    "digits 1,797": _digits,
}
SMALL = {name: Problem(make, "scale", 1.0) for name, make in _MADE.items()}
LARGE: dict[str, Problem] = {
    "Fashion-MNIST": Problem(lambda: _all(load_fashion_mnist()), 0.0102, 10.0),
    "T-shirt or shirt": Problem(lambda: _two_classes(load_fashion_mnist(), (0, 6)), 0.0102, 10.0),
    "MNIST 8": Problem(lambda: _against_the_rest(load_mnist(), 8), 0.02, 1.0),
    "Adult": Problem(lambda: _all(load_adult()), 0.05, 1.0),
    "USPS 7": Problem(lambda: usps_split(0), 2.0, 1.0),
    "Covertype 20,000": Problem(_covertype, "scale", 1.0),
    "Covertype, C = 10": Problem(_covertype, 0.5, 10.0),
    "Covertype, C = 100": Problem(_covertype, 0.5, 100.0),
}
PROBLEMS = LARGE | SMALL


def _dense(X: Any, dtype: str) -> np.ndarray:
    return np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X, dtype=dtype)


@lru_cache(maxsize=1)
def _made(name: str) -> Split:
    return PROBLEMS[name].make()


def load(name: str, n_samples: int | None = None, dtype: str = "float32") -> Task:
    """Load a problem, dense, or its first training examples.

    Parameters
    ----------
    name : str
        A key of `PROBLEMS`.
    n_samples : int or None, default None
        How many training examples; all of them if None.
    dtype : {"float32", "float64"}, default "float32"
        Type of the features.

    Returns
    -------
    Task
    """
    _, gamma, C = PROBLEMS[name]
    X, y, X_test, y_test = _made(name)
    X, y = _dense(X[:n_samples], dtype), np.asarray(y[:n_samples])
    if isinstance(gamma, str):
        gamma = 1.0 / (X.shape[1] * X.var(dtype=np.float64))
    labels = None if y_test is None else np.asarray(y_test)
    return Task(X, y, _dense(X_test, dtype), labels, float(gamma), C)


def expansion(gamma: float, X: np.ndarray, vectors: np.ndarray, coefs: np.ndarray) -> np.ndarray:
    """Compute Σ_j coefs_j k(x, vectors_j) for every row of X, in blocks of bounded memory.

    Parameters
    ----------
    gamma : float
        Parameter of the Gaussian kernel.
    X : ndarray of shape (n_samples, n_features)
        Points.
    vectors : ndarray of shape (n_vectors, n_features)
        Support vectors.
    coefs : ndarray of shape (n_vectors,) or (n_vectors, n_outputs)
        Coefficients.

    Returns
    -------
    ndarray of shape (n_samples,) or (n_samples, n_outputs), float64
    """
    kernel = RBF(gamma)
    blocks = gen_batches(X.shape[0], 512)
    return np.concatenate([kernel.block(X[block], vectors) @ coefs for block in blocks])


def pairs_of(model: Any) -> Iterator[tuple[tuple[int, int], np.ndarray, np.ndarray]]:
    """Yield the two classes of each pair, which support vectors it has, and their coefficients."""
    of_class = np.repeat(np.arange(model.classes_.size), model.n_support_)
    dual_coef = np.asarray(model.dual_coef_, dtype=float)
    for i, j in combinations(range(model.classes_.size), 2):
        # Row j - 1 has the coefficients of class i against j, row i those of j against i.
        coefs = np.where(of_class == i, dual_coef[j - 1], 0.0)
        coefs = np.where(of_class == j, dual_coef[i], coefs)
        used = np.flatnonzero(coefs)
        yield (i, j), used, coefs[used]


def _at_best_intercept(y: np.ndarray, f: np.ndarray, squared_norm: float, lam: float) -> float:
    """Our objective at the intercept that is best there."""

    def objective(intercept: float) -> float:
        return hinge_objective(y, f + intercept, squared_norm + intercept**2, lam)

    reach = 1.0 + float(np.abs(f).max(initial=0.0))
    options = {"xatol": 1e-9}
    best = minimize_scalar(objective, bounds=(-reach, reach), method="bounded", options=options)
    return float(best.fun)


def judge(model: Any, task: Task) -> dict[str, float]:
    """Judge a model of `SVC`, or of ours.

    Parameters
    ----------
    model : PegasosSVC or SVC
        A fitted model with the task's Gaussian kernel.
    task : Task
        What it was fitted on.

    Returns
    -------
    dict
        ``objective`` and ``dual_bound`` of the peers' problem, and ``our_objective`` at the
        intercept that is best there.
    """
    labels = np.searchsorted(model.classes_, task.y)
    sign_of_first = 1.0 if model.classes_.size > 2 else -1.0
    found: dict[str, list[float]] = {"objective": [], "dual_bound": [], "our_objective": []}
    for number, ((i, j), used, coefs) in enumerate(pairs_of(model)):
        members, support = np.flatnonzero((labels == i) | (labels == j)), model.support_[used]
        f = expansion(task.gamma, task.X[members], task.X[support], coefs)
        squared_norm = float(coefs @ f[np.searchsorted(members, support)])
        y = np.where(labels[members] == i, sign_of_first, -sign_of_first)
        lam = 1.0 / (task.C * y.size)
        intercept = float(np.ravel(model.intercept_)[number])
        found["objective"].append(hinge_objective(y, f + intercept, squared_norm, lam))
        found["dual_bound"].append(lam * (float(np.abs(coefs).sum()) - squared_norm / 2))
        found["our_objective"].append(_at_best_intercept(y, f, squared_norm, lam))
    return {name: float(np.mean(values)) for name, values in found.items()}


#: What holds every solver to AVX2 on a processor with more. oneDAL has no switch of its own: the
#: matrix products, which are Intel's MKL, obey, the code around them goes on with AVX-512, to
#: the peer's advantage.
AVX2: dict[str, str] = {
    "NUMBA_CPU_NAME": "haswell",
    # Without its features numba takes those of the processor at hand, AVX-512 among them.
    "NUMBA_CPU_FEATURES": "+64bit,+aes,+avx,+avx2,+bmi,+bmi2,+cmov,+cx16,+cx8,+f16c,+fma,"
    "+fsgsbase,+fxsr,+invpcid,+lzcnt,+mmx,+movbe,+pclmul,+popcnt,+rdrnd,+sahf,+sse,+sse2,+sse3,"
    "+sse4.1,+sse4.2,+ssse3,+xsave,+xsaveopt",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
}
#: Fits whose median and range are told; of those that take turns, the fewest.
_FITS = 3
#: Examples that a solver is warmed up on, and memory that has been touched before a fit.
_WARM_UP, _TOUCHED_MB = 3000, 2048
#: Predictions end after as many, or after these seconds.
_PREDICTIONS, _PREDICT_SECONDS = 5, 2.0
#: Turns end after as many, or after these seconds of a solver.
_TURNS, _TURN_SECONDS = 25, 0.4


def installed() -> list[str]:
    """Names of the solvers that can be run here."""
    peers = ["kpegasos", "scikit-learn"]
    return peers + ["scikit-learn-intelex"] * (importlib.util.find_spec("sklearnex") is not None)


def make_model(solver: str, task: Task, parameters: dict[str, Any]) -> Any:
    """Make the estimator of a solver."""
    if solver == "kpegasos":
        return PegasosSVC(task.C, gamma=task.gamma, random_state=0, **parameters)
    if solver == "scikit-learn-intelex":
        from sklearnex.svm import SVC
    else:
        from sklearn.svm import SVC
    return SVC(C=task.C, gamma=task.gamma, **parameters)


def _times(name: str, seconds: list[float]) -> dict[str, float]:
    return {**ranged(f"{name}_seconds", seconds), f"{name}s": len(seconds)}


def _accuracy(predicted: np.ndarray, task: Task) -> float | None:
    return None if task.y_test is None else float(np.mean(predicted == task.y_test))


def _prepare(job: dict[str, Any]) -> Task:
    warnings.simplefilter("ignore")
    task = load(job["problem"], job.get("n_samples"), job.get("dtype", "float32"))
    return task._replace(C=job.get("C", task.C))


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Fit and predict, after a warm-up on a few examples, and judge the model.

    Parameters
    ----------
    job : dict
        ``problem``, ``solver``, ``parameters``, optionally ``n_samples``, ``dtype`` (default
        float32), ``C`` and ``repeats`` (3 by default).

    Returns
    -------
    dict
        Seconds (median, least, most), memory in MiB, accuracy, support, and the judgement.
    """
    task = _prepare(job)
    solver, parameters = job["solver"], job["parameters"]
    few = np.arange(min(_WARM_UP, len(task.y)))
    make_model(solver, task, parameters).fit(task.X[few], task.y[few]).predict(task.X[:100])

    def fit() -> Any:
        return make_model(solver, task, parameters).fit(task.X, task.y)

    # Few examples need no memory.
    touch = partial(touch_memory, _TOUCHED_MB if len(task.y) > _WARM_UP else 0)
    fits = job.get("repeats", _FITS)
    spent, model, memory = repeated(fit, fits, np.inf, before=touch, weighed=True)
    predict = partial(model.predict, task.X_test)
    predictions, predicted, _ = repeated(predict, _PREDICTIONS, _PREDICT_SECONDS)
    return {
        **_times("fit", spent),
        **_times("predict", predictions),
        "test_accuracy": _accuracy(predicted, task),
        **memory,
        **_describe(model, task, solver),
    }


def _describe(model: Any, task: Task, solver: str) -> dict[str, Any]:
    judged = _own(model, task) if solver == "kpegasos" else judge(model, task)
    return {"support_vectors": int(model.support_.size), "vectors": vectors(), **judged}


def _own(model: PegasosSVC, task: Task) -> dict[str, Any]:
    """Return what one of our models knows of itself.

    Objective and bound, kernel values that it computed, and those that its final support needs.
    """
    histories = model.history_ if isinstance(model.history_, list) else [model.history_]
    last = [history.records[-1] for history in histories]
    _, counts = np.unique(task.y, return_counts=True)
    needed = np.dot(
        [record.support_size for record in last], list(map(sum, combinations(counts, 2)))
    )
    computed = sum(record.kernel_evaluations for record in last)
    objective = float(np.mean(model.objective_))
    return {
        "objective": objective,
        "dual_bound": objective - float(np.mean(model.duality_gap_)),
        "our_objective": objective,
        "kernel_evaluations": int(computed),
        "needed_evaluations": int(needed),
    }


def take_turns(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Measure several solvers on a small problem in one process, fit by fit in turn.

    Parameters
    ----------
    job : dict
        ``problem``, ``dtype``, ``solvers``: a list of jobs with ``solver`` and ``parameters``;
        optionally ``n_samples``, ``turns`` and ``seconds``, after which nobody who had three turns
        has another.

    Returns
    -------
    list of dict
        What `measure` returns, without memory, in the order of the solvers.
    """
    task = _prepare(job)
    solvers, budget = job["solvers"], job.get("seconds", _TURN_SECONDS)
    fits: list[list[float]] = [[] for _ in solvers]
    predictions: list[list[float]] = [[] for _ in solvers]
    models: list[Any] = [None for _ in solvers]
    for turn in range(1 + job.get("turns", _TURNS)):
        for number, each in enumerate(solvers):
            if len(fits[number]) >= _FITS and sum(fits[number]) > budget:
                continue
            model = make_model(each["solver"], task, each["parameters"])
            seconds, models[number] = timed(model.fit, task.X, task.y)
            took, _ = timed(models[number].predict, task.X_test)
            if turn > 0:  # the first may have compiled something
                fits[number].append(seconds)
                predictions[number].append(took)
    return [
        {
            **_times("fit", fits[number]),
            **_times("predict", predictions[number]),
            "test_accuracy": _accuracy(models[number].predict(task.X_test), task),
            **_describe(models[number], task, each["solver"]),
        }
        for number, each in enumerate(solvers)
    ]


def work(job: dict[str, Any]) -> Any:
    """Do a job here, `take_turns` if it has several solvers, else `measure`."""
    return take_turns(job) if "solvers" in job else measure(job)


def work_apart(job: dict[str, Any]) -> Any:
    """Do a job in a fresh process.

    Parameters
    ----------
    job : dict
        What `work` takes, and optionally ``environment``: variables of the process, and ``timeout``
        in seconds.

    Returns
    -------
    dict or list of dict
        What it returns; empty after the timeout.
    """
    found, _ = in_a_process(work, job)
    return found[-1] if found else {}
