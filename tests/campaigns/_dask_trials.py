"""Dask under attack: empty partitions, bad blocks, workers that are killed at a random moment."""

from __future__ import annotations

import atexit
import copy
import functools
import os
import signal
import threading
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from kpegasos import LinearPegasosSVC
from tests.campaigns._chunk_forms import Part, draw_parts, has_all_classes, message_is_clear


@functools.cache
def _client(processes: bool) -> Any:
    """One worker inside this process, or two of their own; they live until the end."""
    import distributed

    cluster = distributed.LocalCluster(
        n_workers=2 if processes else 1,
        threads_per_worker=1,
        processes=processes,
        dashboard_address=None,
        silence_logs="CRITICAL",
    )
    client = distributed.Client(cluster, set_as_default=False)
    atexit.register(cluster.close)
    atexit.register(client.close)
    return client


def dask_trial(rng: np.random.Generator) -> str:
    """Partitions of any sizes; a bad block; a lost worker."""
    parts = draw_parts(rng)
    if not has_all_classes(parts):
        return "passed over"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask's own
        kind = rng.random()
        if kind < 0.08:
            return _killed(rng, parts)
        return _bad_block(rng, parts) if kind < 0.4 else _fitted(rng, parts)


def _arrays(parts: list[Part], blocks: list[Any]) -> list[Any]:
    """Dask arrays of blocks of rows, of labels and of weights, whatever the blocks are."""
    import dask
    import dask.array as da

    d = parts[0][0].shape[1]
    X = [
        da.from_delayed(dask.delayed(block, pure=False), (part[1].size, d), float)
        for block, part in zip(blocks, parts, strict=True)
    ]
    y = [da.from_delayed(dask.delayed(part[1], pure=False), part[1].shape, int) for part in parts]
    w = [da.from_delayed(dask.delayed(part[2], pure=False), part[2].shape, float) for part in parts]
    return [da.concatenate(arrays) for arrays in (X, y, w)]


def _model(rng: np.random.Generator) -> LinearPegasosSVC:
    return LinearPegasosSVC(C=1.0, epochs=2, random_state=int(rng.integers(99)))


def _train(client: Any, model: LinearPegasosSVC, arrays: list[Any], rounds: int) -> Any:
    from kpegasos.large.dask import fit_dask

    return fit_dask(model, *arrays, rounds=rounds, client=client)


def _fitted(rng: np.random.Generator, parts: list[Part]) -> str:
    model, rounds = _model(rng), int(rng.integers(1, 4))
    dense = _arrays(parts, [part[0] for part in parts])
    rows = _arrays(parts, [sparse.csr_matrix(part[0]) for part in parts])
    _train(_client(False), model, dense, rounds)
    again = _train(_client(False), LinearPegasosSVC(**model.get_params()), rows, rounds)
    assert np.isfinite(model.coef_).all()
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=1e-9, atol=1e-12)
    return "Dask: fitted"


def _bad_block(rng: np.random.Generator, parts: list[Part]) -> str:
    blocks: list[Any] = [part[0] for part in parts]
    bad = int(rng.choice([number for number, part in enumerate(parts) if part[2].any()]))
    n, d = blocks[bad].shape
    kinds = [np.full((n, d), np.nan), np.ones((n, d + 2)), np.ones((n + 1, d)), np.ones(n)]
    blocks[bad] = kinds[rng.integers(len(kinds))]
    model = _model(rng)
    if rng.random() < 0.5:
        model.partial_fit(parts[bad][0], parts[bad][1], classes=[0, 1, 2])
    before = copy.deepcopy(vars(model))
    with pytest.raises(ValueError, match=r"\S") as caught:
        _train(_client(False), model, _arrays(parts, blocks), 2)
    if "Expected 2D" not in str(caught.value):  # scikit-learn's own, which shows the array
        message_is_clear(str(caught.value))
    assert vars(model).keys() == before.keys()
    if "coef_" in before:
        np.testing.assert_array_equal(model.coef_, before["coef_"])
    return "Dask: one clear sentence"


def _killed(rng: np.random.Generator, parts: list[Part]) -> str:
    """A worker that dies costs what it was doing, and nothing else."""
    model, arrays = _model(rng), _arrays(parts, [part[0] for part in parts])
    expected = _train(_client(False), LinearPegasosSVC(**model.get_params()), arrays, 6)
    client = _client(True)
    client.wait_for_workers(2, timeout=30)
    victim = int(rng.choice(sorted(client.run(os.getpid).values())))
    killer = threading.Timer(float(rng.uniform(0, 0.5)), os.kill, (victim, signal.SIGKILL))
    killer.start()
    try:
        _train(client, model, arrays, 6)
    finally:
        killer.join()
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    return "Dask: a worker was killed"
