"""The methods of `equal_seconds`, each as a ladder of runs that take longer and longer.

What grows is the number of examples that a solver is given, the number of features that stand for
the kernel, or the seconds after which a solver is told to stop.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from experiments._kernel_problems import Task
from experiments._kernel_suite import CACHE_MB
from kpegasos import LinearPegasosSVC, PegasosSVC

#: Method of each ladder, as `equal_seconds` names it.
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
#: Least number of examples of a sample, and of features, each doubled from run to run.
_EXAMPLES, _COMPONENTS, _MOST_COMPONENTS = 1000, 64, 4096
#: Share of a limit after which a solver is told to stop, so that what follows fits in.
_SHARE = 0.9
_LOOSE = 0.1
#: Passes of the linear solver over the features, between what is cheap and what is accurate.
_EPOCHS = 10
_OURS: dict[str, Any] = {"n_jobs": -1, "cache_mb": CACHE_MB}


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
    if ladder == "LASVM":
        if importlib.util.find_spec("vowpalwabbit") is None:
            return "vowpalwabbit is not installed"
        if len(set(task.y.tolist())) > 2:
            return "it knows two classes only"
    return ""


def doubled(least: int, most: int) -> list[int]:
    """Return a number and its doubles below another, and that other."""
    numbers = []
    while least < most:
        numbers.append(least)
        least *= 2
    return [*numbers, most]


def _ours(task: Task, seed: int, **parameters: Any) -> Any:
    return PegasosSVC(task.C, gamma=task.gamma, random_state=seed, **_OURS, **parameters)


def _intelex(task: Task, seed: int, **parameters: Any) -> Any:
    from sklearnex.svm import SVC as IntelexSVC

    return IntelexSVC(C=task.C, gamma=task.gamma, cache_size=CACHE_MB, **parameters)


def _libsvm(task: Task, seed: int, **parameters: Any) -> Any:
    return SVC(C=task.C, gamma=task.gamma, cache_size=CACHE_MB, **parameters)


def _approximate(features: Any, n_components: int, task: Task, seed: int) -> Any:
    options: dict[str, Any] = {"epochs": _EPOCHS, "checkpoints": None, "n_jobs": -1}
    linear = LinearPegasosSVC(task.C, random_state=seed, **options)
    kernel = features(gamma=task.gamma, n_components=n_components, random_state=seed)
    return make_pipeline(kernel, linear)


def _limited(task: Task, budgets: list[float], **parameters: Any) -> list[Rung]:
    m = len(task.y)
    return [
        Rung(
            partial(_ours, task, max_time=_SHARE * budget, **parameters),
            f"all examples, max_time = {_SHARE * budget:g}",
            examples=m,
            size=0,
            limit=budget,
        )
        for budget in budgets
    ]


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
    if ladder == "plain":
        return _limited(task, budgets)
    if ladder == "cut off":
        return _limited(task, budgets, polish=True)
    if ladder in ("Nyström", "Fourier"):
        features = Nystroem if ladder == "Nyström" else RBFSampler
        return [
            Rung(partial(_approximate, features, size, task), f"{size:,} features", m, size)
            for size in doubled(_COMPONENTS, min(_MOST_COMPONENTS, m // 2))
        ]
    make: Any
    if ladder.startswith("samples"):
        tol = _LOOSE if loose else 1e-2
        make = partial(_ours, task, polish=True, tol=tol)
    else:
        tol = _LOOSE if loose else 1e-3
        make = partial(_intelex if ladder.startswith("intelex") else _libsvm, task, tol=tol)
    return [
        Rung(make, f"{size:,} examples, tol = {tol:g}", size, size) for size in doubled(least, m)
    ]
