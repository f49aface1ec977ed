"""Kernel SVMs side by side: one solver in a process of its own, timed, weighed and judged alike.

A process of its own gives each solver the same start and shows its peak memory. Small problems have
one process for all solvers, which take turns. How a model is judged is told in
`experiments._kernel_judge`.
"""

from __future__ import annotations

import importlib.util
import warnings
from functools import partial
from typing import Any

import numpy as np

from experiments._kernel_judge import judge, own_judgement
from experiments._kernel_problems import Task, load
from experiments._measure import in_a_process, repeated, timed, touch_memory
from experiments._meta import vectors
from experiments._tables import ranged
from kpegasos import PegasosSVC

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
#: Repetitions end after as many, or after these seconds.
_FITS, _FIT_SECONDS = 3, 8.0
#: Examples that a solver is warmed up on, and memory that has been touched before a fit.
_WARM_UP, _TOUCHED_MB = 3000, 2048
_PREDICTIONS, _PREDICT_SECONDS = 5, 2.0
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
        float32), ``C`` and ``repeats`` (at most, 3 by default).

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
    fits = (job.get("repeats", _FITS), _FIT_SECONDS)
    spent, model, memory = repeated(fit, *fits, before=touch, weighed=True)
    predictions, predicted, _ = repeated(
        lambda: model.predict(task.X_test), _PREDICTIONS, _PREDICT_SECONDS
    )
    return {
        **_times("fit", spent),
        **_times("predict", predictions),
        "test_accuracy": _accuracy(predicted, task),
        **memory,
        **_describe(model, task, solver),
    }


def _describe(model: Any, task: Task, solver: str) -> dict[str, Any]:
    ours = solver == "kpegasos"
    judged = own_judgement(model) | _costs(model, task) if ours else judge(model, task)
    return {"support_vectors": int(model.support_.size), "vectors": vectors(), **judged}


def _costs(model: PegasosSVC, task: Task) -> dict[str, Any]:
    """Return the kernel values that a fit computed, and those that its final support needs."""
    histories = model.history_ if isinstance(model.history_, list) else [model.history_]
    last = [history.records[-1] for history in histories]
    _, counts = np.unique(task.y, return_counts=True)
    sizes = [a + b for k, a in enumerate(counts) for b in counts[k + 1 :]]
    return {
        "kernel_evaluations": int(sum(record.kernel_evaluations for record in last)),
        "needed_evaluations": int(
            sum(record.support_size * size for record, size in zip(last, sizes, strict=True))
        ),
    }


def take_turns(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Measure several solvers on a small problem in one process, fit by fit in turn.

    Parameters
    ----------
    job : dict
        ``problem``, ``dtype``, ``solvers``: a list of jobs with ``solver`` and ``parameters``;
        optionally ``n_samples``, ``turns`` and ``seconds``, after which nobody has another turn.

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
            if sum(fits[number]) > budget:
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
    options = {key: job.get(key) for key in ("environment", "timeout")}
    found, _ = in_a_process(work, job, **options)
    return found[-1] if found else {}
