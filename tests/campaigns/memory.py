"""A fit and a prediction take no more memory beyond their data than the user guide says.

Each case runs in a process of its own, forked from one in which everything is compiled. Its peak is
the kernel's own count of resident pages, less what was there when the data were.
"""

from __future__ import annotations

import atexit
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

CI_TRIALS = 4
MEBIBYTE = 1 << 20
#: What imports, threads and the allocator may add, in bytes.
SLACK = 16 * MEBIBYTE

Case = dict[str, Any]


def promised(case: Case, data: int) -> float:
    """Bytes by the table "Memory" of the user guide."""
    if case["task"] in ("predict", "decision_function"):
        return SLACK + _of_predicting(case, data)
    at_once = case.get("at_once", 1)
    if case["task"] != "grid":
        return SLACK + at_once * _of_fitting(case, data)
    # A fit has a copy of half of the examples, predicts twice, and the best is fitted again.
    half = {**case, "n": case["n"] // 2 + 1}
    of_predicting = _of_predicting({**half, "task": "predict", "n_new": half["n"]}, data / 2)
    part = 2 * data / 2 + max(_of_fitting(half, data / 2), data + of_predicting)
    return SLACK + max(at_once * part, data + _of_fitting(case, data))


def _features_in_work(case: Case, data: float) -> float:
    """Rows of X that are gathered, centred or converted, with two copies more."""
    if case["nnz"] or case["linear"]:
        return 3 * min(data, 16 * MEBIBYTE) + 16 * case["d"]
    return 3 * min(data, 1024 * case["d"] * 8)


def _of_fitting(case: Case, data: float) -> float:
    n, d, k, parameters = case["n"], case["d"], case["k"], case["parameters"]
    pairs = k * (k - 1) // 2
    jobs = pairs if parameters.get("early_stopping") else min(parameters["n_jobs"] or 1, pairs)
    features = _features_in_work(case, data)
    total = 150 * n * (k - 1) + 16384 * pairs
    if case["linear"]:
        total += data if parameters.get("early_stopping") else 0
        if case["task"] == "chunks" and case["nnz"]:
            total += int(2 * data * min(1.0, case["chunk"] / n))
        if parameters.get("polish"):
            total += jobs * _of_systems(n // k * 2 + 2, d + 1)
        arrays = 8 * pairs if case["task"] == "chunks" or parameters["warm_start"] else 4 * pairs
        return total + features + 8 * (d + 1) * (arrays + 12 * jobs)
    total += max(32 * MEBIBYTE, 64 * case["d"] * 8) * jobs
    # Coefficients of the model, and its vectors: they are gathered when training is over.
    total += max(features, data) + 24 * (k - 1) * n
    packed = not case["nnz"] and parameters["kernel"] != "laplacian"
    if packed and parameters["cache"] != "streamed":
        total += data
    return total + min(parameters["cache_mb"] * MEBIBYTE, _all_values(case, data, jobs))


def _of_systems(n_samples: int, width: int) -> int:
    """What Newton steps of a pair take: rows in work, vectors and systems."""
    size = min(n_samples, width, 1025)
    return 48 * MEBIBYTE + 120 * n_samples + 40 * size**2


def _all_values(case: Case, data: float, jobs: int) -> float:
    """All rows of the pairs in work and a tile each; and the matrix that small pairs share."""
    n, k, size = case["n"], case["k"], np.dtype(case["dtype"]).itemsize
    of_pair = 2 * (n // k + 1)
    values = jobs * of_pair * (of_pair * size + 256 * 32 + data / n)
    return values + (n * n * size if k > 2 and n <= 2000 else 0)


def _of_predicting(case: Case, data: float) -> float:
    k, n, n_new = case["k"], case["n"], case["n_new"]
    pairs, size = k * (k - 1) // 2, np.dtype(case["dtype"]).itemsize
    width = {"predict": 2, "decision_function": k + 1}[case["task"]]
    if case["parameters"]["decision_function_shape"] == "ovo" or k == 2:
        width = max(width, pairs)
    total = 2 * 8 * n_new * width + min(64 * MEBIBYTE, 32 * n_new * pairs)
    total += _features_in_work(case, max(data, data / n * 1024))
    if case["linear"]:
        return total + 24 * (case["d"] + 1) * pairs
    tile = min(n, 1024) * min(n_new, 1024) * (size + (24 if case["nnz"] else 0))
    return total + 2 * tile + data + 32 * (k - 1) * n


def _draw_polished(rng: np.random.Generator, case: Case, parameters: dict[str, Any]) -> None:
    """Have the features of a case polished, maybe far fewer bytes than they are when dense."""
    parameters |= {"polish": True, "tol": 1e-6, "max_time": 2.0}
    if rng.random() < 0.5:
        case |= {"n": int(rng.integers(20_000, 100_000)), "nnz": int(rng.integers(1, 4))}
        case["d"] = int(np.exp(rng.uniform(np.log(50), np.log(1500))))


def _draw(rng: np.random.Generator) -> Case:
    """A case."""

    def pick(*values: Any) -> Any:
        return values[int(rng.integers(len(values)))]

    case: Case = {"seed": int(rng.integers(1 << 31))}
    case["task"] = pick(
        "fit", "fit", "fit", "fit", "predict", "decision_function", "threads", "grid", "chunks"
    )
    case["linear"] = case["task"] == "chunks" or rng.random() < 0.25
    case["k"] = pick(2, 2, 2, 3, 5, 10)
    case["dtype"] = pick("float64", "float32")
    case["n"] = int(np.exp(rng.uniform(np.log(600), np.log(4500))))
    case["d"] = int(np.exp(rng.uniform(np.log(2), np.log(1000))))
    case["nnz"] = 0
    if rng.random() < 0.4:
        case["d"] = int(np.exp(rng.uniform(np.log(200), np.log(1_000_000))))
        case["nnz"] = int(np.exp(rng.uniform(np.log(2), np.log(200))))
    if rng.random() < 0.3:  # a copy too many shows
        case["d"] = int(rng.integers(600, 2500)) if not case["nnz"] else case["d"]
        case["nnz"] = int(rng.integers(200, 1000)) if case["nnz"] else 0
    parameters: dict[str, Any] = {"epochs": pick(0.5, 1, 2), "checkpoints": pick("epoch", None)}
    parameters["n_jobs"] = pick(None, 2, 3)
    parameters["average"] = pick("weighted", "suffix", None)
    parameters["warm_start"] = pick(False, False, True)
    parameters["decision_function_shape"] = pick("ovr", "ovo")
    if case["linear"]:
        case["n"] *= 5
        if case["task"] == "fit" and not parameters["warm_start"] and rng.random() < 0.3:
            parameters |= {
                "early_stopping": True,
                "validation_fraction": 0.3,
                "n_iter_no_change": 1,
            }
        if case["task"] == "fit" and "early_stopping" not in parameters and rng.random() < 0.4:
            _draw_polished(rng, case, parameters)
        case["d"] = max(1, min(case["d"], 20_000_000 // (case["k"] * (case["k"] - 1))))
    else:
        parameters["kernel"] = pick("rbf", "rbf", "linear", "poly", "laplacian")
        parameters["cache"] = pick("auto", "cached", "streamed", "precomputed")
        parameters["cache_mb"] = float(np.exp(rng.uniform(np.log(4), np.log(150))))
        if parameters["kernel"] == "laplacian":
            case["n"], case["d"] = case["n"] // 4, min(case["d"], 100)
        if rng.random() < 0.2:
            parameters |= {"polish": True, "tol": 0.2, "max_time": 1.0}
    if case["task"] in ("threads", "grid"):
        case["at_once"] = 2
    if case["task"] == "chunks":
        case["chunk"] = pick(100, 1000, 100_000)
    if case["task"] in ("predict", "decision_function"):
        case["k"] = pick(2, 5, 10, 20)
        case["n"] = min(case["n"], 1000)
        case["n_new"] = int(np.exp(rng.uniform(np.log(1000), np.log(20_000))))
        case["d"] = min(case["d"], 200)
        if rng.random() < 0.1:
            case |= {"k": 100, "n": 500, "d": 3, "nnz": 0, "n_new": 5000}
    case["nnz"] = min(case["nnz"], case["d"])
    case["parameters"] = parameters
    return case


@cache
def _processes() -> ProcessPoolExecutor:
    """Makes a fresh process for each case, forked from one that has imported everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.campaigns._memory_cases"])
    pool = ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1)
    atexit.register(pool.shutdown)
    return pool


def _peak(case: Case) -> tuple[int, int]:
    from tests.campaigns._memory_cases import peak

    return peak(case)


def trial(rng: np.random.Generator) -> str:
    """Measure one case against the promise."""
    if not Path("/proc/self/clear_refs").exists():
        return "not measured on this system"
    case = _draw(rng)
    try:
        taken, data = _processes().submit(_peak, case).result(timeout=120)
    except ValueError as error:
        if str(error).startswith("cache_mb must be at least"):
            return "one clear sentence"
        raise
    assert taken <= promised(case, data), (
        f"{taken / MEBIBYTE:.1f} MiB where {promised(case, data) / MEBIBYTE:.1f} were promised, "
        f"data {data / MEBIBYTE:.1f} MiB, {case}"
    )
    return f"{case['task']}: within the promise"
