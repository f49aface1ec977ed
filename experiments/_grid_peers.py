"""A search over C and γ by one tool, timed and weighed, in a process of its own.

``python -m experiments._grid_peers '{"problem": ..., "tool": ..., ...}'`` prints one line of JSON.
All tools get the same examples, folds, γ and C, a warm-up on a few examples, and 1,024 MiB for the
kernel rows of a fit (our search has the budget that it comes with); they score by accuracy, and
refit the best cell to all examples. `SVC` runs one fit per process, two at a time; the others use
all cores in one process. Peers have the tolerance that they come with.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments._grid_problems import Search, load
from experiments._memory import Memory, touch_memory
from experiments._meta import vectors
from experiments._store import plain
from kpegasos import PegasosSVC

#: What searches, by the name that tables have for it.
TOOLS: dict[str, str] = {
    "PegasosSVCCV": "PegasosSVCCV",
    "PegasosSVC": "GridSearchCV over PegasosSVC, polished",
    "intelex": "GridSearchCV over scikit-learn-intelex",
    "SVC": "GridSearchCV over SVC, two jobs",
}
#: Each cell once on all examples, no folds; the dearest of them is what counts.
SINGLE = "single fits"
CACHE_MB = 1024
#: Certified relative gap of ours.
TOL = 1e-2
_SEARCHES, _SECONDS = 3, 60.0
#: Examples of the warm-up, and memory that has been touched before a search.
_WARM_UP, _TOUCHED_MB = 1000, 2048


def _single_fit(**parameters: Any) -> PegasosSVC:
    return PegasosSVC(
        polish=True, tol=TOL, cache_mb=CACHE_MB, n_jobs=-1, random_state=0, **parameters
    )


def make_search(tool: str, search: Search, parameters: dict[str, Any]) -> Any:
    """Make the estimator that searches.

    Parameters
    ----------
    tool : str
        A key of `TOOLS`.
    search : Search
        Folds, γ and C.
    parameters : dict
        More of what `PegasosSVCCV` takes; of no use to the others.

    Returns
    -------
    estimator
    """
    if tool == "PegasosSVCCV":
        from kpegasos import PegasosSVCCV

        ours: dict[str, Any] = {"tol": TOL, "cache_mb": "auto", "n_jobs": -1, "random_state": 0}
        ours |= parameters
        return PegasosSVCCV(search.Cs, gammas=search.gammas, cv=search.splits, **ours)
    from sklearn.model_selection import GridSearchCV

    estimator: Any
    n_jobs = None
    if tool == "PegasosSVC":
        estimator = _single_fit()
    elif tool == "intelex":
        from sklearnex.svm import SVC as fast_SVC

        estimator = fast_SVC(cache_size=CACHE_MB)
    elif tool == "SVC":
        from sklearn.svm import SVC

        estimator, n_jobs = SVC(cache_size=CACHE_MB), 2
    else:
        raise ValueError(f"tool must be one of {', '.join(map(repr, TOOLS))}, got {tool!r}")
    grid = {"gamma": search.gammas.tolist(), "C": search.Cs.tolist()}
    return GridSearchCV(estimator, grid, cv=search.splits, n_jobs=n_jobs)


def _few(search: Search) -> Search:
    """The first examples, with two folds and two C."""
    size = min(_WARM_UP, search.y.size)
    halves = np.arange(size) % 2 == 0
    splits = [(np.flatnonzero(half), np.flatnonzero(~half)) for half in (halves, ~halves)]
    return Search(search.X[:size], search.y[:size], search.gammas[:1], search.Cs[-2:], splits)


def _surface(model: Any, search: Search, column: str) -> np.ndarray:
    """A column of ``cv_results_`` as an array of shape (n_gammas, n_Cs)."""
    values = np.full((search.gammas.size, search.Cs.size), np.nan)
    for params, value in zip(model.cv_results_["params"], model.cv_results_[column], strict=True):
        row = np.abs(search.gammas - params["gamma"]).argmin()
        values[row, np.abs(search.Cs - params["C"]).argmin()] = value
    return values


def _describe(model: Any, search: Search) -> dict[str, Any]:
    """What a search found, and its certificates if it is ours."""
    row: dict[str, Any] = {"n_fits": search.gammas.size * search.Cs.size * len(search.splits)}
    if hasattr(model, "best_params_"):  # not where time was up before any cell was complete
        row |= {
            "refit_seconds": float(model.refit_time_),
            "best_gamma": float(model.best_params_["gamma"]),
            "best_C": float(model.best_params_["C"]),
            "best_score": float(model.best_score_),
        }
    surface: dict[str, Any] = {
        "gammas": search.gammas,
        "Cs": search.Cs,
        "n_splits": len(search.splits),
        "scores": _surface(model, search, "mean_test_score"),
        "deviations": _surface(model, search, "std_test_score"),
    }
    if hasattr(model, "relative_gaps_"):
        gaps = np.asarray(model.relative_gaps_, dtype=float)
        row |= {
            "missing": len(model.missing_),
            "max_relative_gap": float(np.nanmax(gaps)),
            "fits_above_tol": int(np.sum(gaps > TOL)),
            "kernel_evaluations": int(model.kernel_evaluations_),
        }
        surface["gaps"] = _surface(model, search, "max_relative_gap")
    return {"row": row, "surface": surface}


def _describe_fit(model: PegasosSVC) -> dict[str, Any]:
    """The cell of a single fit, and its certificate."""
    return {
        "row": {
            "n_fits": 1,
            "best_gamma": model.gamma,
            "best_C": model.C,
            "max_relative_gap": float(np.max(model.relative_gap_)),
        }
    }


def _repeated(work: Callable[[], Any], job: dict[str, Any]) -> tuple[list[float], Any, Memory]:
    """Seconds of some calls, no new one after a budget; the last result; memory of the first.

    The memory of the others is not watched, as watching takes time.
    """
    times, seconds = job.get("repeats", _SEARCHES), list[float]()
    with Memory() as memory:
        begin = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - begin)
    while len(seconds) < times and sum(seconds) < _SECONDS:
        begin = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - begin)
    return seconds, result, memory


def _dearest_fit(search: Search) -> tuple[float, float]:
    """γ and C of the cell whose fit takes longest."""
    spent = {}
    for gamma in search.gammas:
        for C in search.Cs:
            begin = time.perf_counter()
            _single_fit(gamma=gamma, C=C).fit(search.X, search.y)
            spent[gamma, C] = time.perf_counter() - begin
    return max(spent, key=lambda cell: spent[cell])


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Search after a warm-up, or fit the dearest cell.

    Parameters
    ----------
    job : dict
        ``problem``, ``tool`` (a key of `TOOLS`, or `SINGLE`), optionally ``parameters`` of
        `PegasosSVCCV`, ``n_samples``, ``n_values`` of γ and C, and ``repeats`` (at most, 3 by
        default).

    Returns
    -------
    dict
        ``row``: seconds (median, least, most), memory in MiB, chosen cell, and for ours
        certificates and kernel values; ``surface`` of a search: γ, C, mean scores of all cells and
        their deviations over the folds, and the gaps of ours; ``vectors`` that our code has.
    """
    search = load(job["problem"], job.get("n_samples"), job.get("n_values"))
    tool, parameters = job["tool"], job.get("parameters", {})
    warnings.simplefilter("ignore")
    few = _few(search)
    if tool == SINGLE:
        _dearest_fit(few)
        gamma, C = _dearest_fit(search)

        def work() -> Any:
            return _single_fit(gamma=gamma, C=C).fit(search.X, search.y)

    else:
        make_search(tool, few, parameters).fit(few.X, few.y)

        def work() -> Any:
            return make_search(tool, search, parameters).fit(search.X, search.y)

    seconds, model, memory = _repeated(work, job)
    found = _describe_fit(model) if tool == SINGLE else _describe(model, search)
    found["row"] |= {
        "n_samples": search.y.size,
        "seconds": float(np.median(seconds)),
        "seconds_min": min(seconds),
        "seconds_max": max(seconds),
        "repeats": len(seconds),
        "extra_mb": memory.extra,
        "peak_mb": memory.peak,
    }
    return found | {"vectors": vectors()}


def in_a_process(job: dict[str, Any]) -> dict[str, Any]:
    """Run `measure` in a fresh process.

    Parameters
    ----------
    job : dict
        What it takes, and optionally ``environment``: variables of the process, and ``timeout`` in
        seconds.

    Returns
    -------
    dict
        What it returns; empty after the timeout.
    """
    command = [sys.executable, "-m", "experiments._grid_peers", json.dumps(job)]
    environment = os.environ | job.get("environment", {})
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=job.get("timeout"))
    except BaseException as error:
        # All of its session, as a worker that fits does not notice that nobody waits any more.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            return {}
        raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


if __name__ == "__main__":
    touch_memory(_TOUCHED_MB)
    print(json.dumps(plain(measure(json.loads(sys.argv[1])))))
