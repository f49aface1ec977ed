"""Any chunking gives the model of its visits, and nonsense in between one clear sentence.

Chunks are cut anywhere (empty ones, of one class, without weight), given as any kind of array, read
as a sequence, an iterator or a function; some are nonsense, some sources break off or change. What
is left is the model of the chunks before, or the earlier one, and it can go on. The Dask trials
have empty partitions and partitions of one class, bad blocks, and workers that are killed.
"""

from __future__ import annotations

import copy
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from kpegasos import LinearPegasosSVC, fit_chunks
from kpegasos.core.draws import IndexStream
from tests import naive
from tests.campaigns._chunk_forms import (
    BrokenSourceError,
    Part,
    Watched,
    draw_parts,
    dressed,
    has_all_classes,
    message_is_clear,
    nonsense,
)
from tests.campaigns._dask_trials import dask_trial

CI_TRIALS = 20

_AVERAGES = ("weighted", "suffix", "uniform", None)


class _HangsError(Exception):
    pass


@contextmanager
def _guard(seconds: int) -> Iterator[None]:
    """Nothing hangs."""

    def give_up(*_: Any) -> None:
        raise _HangsError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _model(rng: np.random.Generator, **parameters: Any) -> LinearPegasosSVC:
    chosen = {
        "lam": float(rng.choice([0.05, 0.5])),
        "average": _AVERAGES[rng.integers(4)],
        "sampling": str(rng.choice(["permutation", "uniform", "contiguous"])),
        "batch_size": int(rng.integers(1, 4)),
        "projection": bool(rng.random() < 0.3),
        "fit_intercept": bool(rng.random() < 0.7),
        "epochs": int(rng.integers(1, 4)),
        "random_state": int(rng.integers(1000)),
    }
    return LinearPegasosSVC(**{**chosen, **parameters})


def _classes(parts: list[Part]) -> list[int]:
    return np.unique(np.concatenate([y for _, y, _ in parts])).tolist()


def _streamed(model: LinearPegasosSVC, parts: list[Part], visits: list[int]) -> LinearPegasosSVC:
    """The model of a stream of these visits, by the book: dense rows, one call for each chunk."""
    stream = LinearPegasosSVC(**model.get_params())
    for number in visits:
        X, y, weight = parts[number]
        if weight.any():
            stream.partial_fit(X, y, classes=_classes(parts), sample_weight=weight)
    return stream


def _same(a: LinearPegasosSVC, b: LinearPegasosSVC) -> None:
    assert hasattr(a, "coef_") == hasattr(b, "coef_")
    if hasattr(a, "coef_"):
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(a.n_steps_, b.n_steps_)
        np.testing.assert_array_equal(a.classes_, b.classes_)


def _complete(model: LinearPegasosSVC, parts: list[Part]) -> None:
    """The model predicts, and its stream goes on."""
    X, y, weight = next(part for part in parts if part[2].any())
    assert np.isfinite(model.coef_).all()
    assert set(model.predict(X)) <= set(model.classes_)
    assert np.isfinite(model.partial_fit(X, y, sample_weight=weight).coef_).all()


# --- what is tried ---


def _any_dress(rng: np.random.Generator) -> str:
    """Whatever chunks are made of, and however they are read, the visits make the model."""
    parts = draw_parts(rng)
    if not has_all_classes(parts):
        return "passed over"
    chunks = Watched([dressed(rng, part) for part in parts])
    model = _model(rng)
    n_parts, epochs = len(parts), model.epochs
    how = rng.integers(4)
    if how == 0:  # a sequence
        fit_chunks(model, chunks, classes=_classes(parts))
        by_epoch = np.sort(np.reshape(chunks.visits, (epochs, n_parts)), axis=1)
        np.testing.assert_array_equal(by_epoch, np.tile(np.arange(n_parts), (epochs, 1)))
        visits = chunks.visits
    elif how == 1:  # a function
        fit_chunks(model, chunks.in_order, classes=_classes(parts))
        visits = chunks.visits
        assert visits == list(range(n_parts)) * epochs
    elif how == 2:  # an iterator, which serves one epoch
        model.set_params(epochs=1)
        fit_chunks(model, chunks.in_order(), classes=_classes(parts))
        visits = list(range(n_parts))
    else:  # a first reading finds the classes; weights have mean one
        parts = [(X, y, np.ones(y.size)) for X, y, _ in parts]
        chunks = Watched([dressed(rng, part) for part in parts])
        fit_chunks(model, chunks.in_order)
        visits = chunks.visits[n_parts:]
    _same(model, _streamed(model, parts, visits))
    _complete(model, parts)
    return ("a sequence", "a function", "an iterator", "read first")[how]


def _by_the_oracle(rng: np.random.Generator) -> str:
    """The iterates are Pegasos's, in exact arithmetic, in the order of the visits."""
    parts = [(X, y % 2, np.ones(y.size)) for X, y, _ in draw_parts(rng) if y.size]
    parts = parts[:3]
    if len(_classes(parts)) < 2:
        return "passed over"
    chunks = Watched([dressed(rng, part) for part in parts])
    average, lam = _AVERAGES[rng.integers(4)], float(rng.choice([0.5, 1.0, 2.0]))
    model = LinearPegasosSVC(lam=lam, average=average, epochs=2, random_state=int(rng.integers(99)))
    fit_chunks(model, chunks, classes=[0, 1])
    sizes = [y.size for _, y, _ in parts]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    seed = model._online.seed
    draws = [
        starts[number]
        + IndexStream(sizes[number], "permutation", seed, (0, visit)).take(0, sizes[number])
        for visit, number in enumerate(chunks.visits)
    ]
    X, y = (np.concatenate([part[column] for part in parts]) for column in (0, 1))
    run = naive.linear_pegasos(X, 2 * y - 1, np.concatenate(draws), lam, intercept_scaling=1)
    expected = [float(value) for value in naive.average(run.iterates, average)]
    vector = np.append(model.coef_[0], model.intercept_)
    np.testing.assert_allclose(vector, expected, rtol=1e-12, atol=1e-13)
    return "by the oracle"


def _nonsense_between(rng: np.random.Generator) -> str:
    """A bad chunk, or a source that breaks off, leaves the model of the chunks before."""
    parts = draw_parts(rng)
    filled = [number for number, part in enumerate(parts) if part[2].any()]
    if not has_all_classes(parts) or len(filled) < 2:
        return "passed over"
    chunks: list[Any] = [dressed(rng, part) for part in parts]
    breaks = int(rng.integers(len(parts))) if rng.random() < 0.3 else None
    bad = -1
    if breaks is None:
        bad = int(rng.choice(filled))
        chunks[bad] = nonsense(rng, parts[bad])
    source = Watched(chunks, breaks)
    model = _model(rng)
    if rng.random() < 0.5:
        X, y, _ = parts[filled[0]]
        model.partial_fit(X, y, classes=_classes(parts))
    before = copy.deepcopy(model)
    read_first = rng.random() < 0.3
    given: Any = source if rng.random() < 0.5 else source.in_order
    try:
        fit_chunks(model, given, classes=None if read_first else _classes(parts))
    except BrokenSourceError:
        seen, outcome = source.visits, "the source's own error"
    except (ValueError, TypeError) as error:
        message_is_clear(str(error))
        seen, outcome = source.visits[:-1], "one clear sentence"
    else:
        assert read_first, "nonsense was learned from"
        assert 17 in model.classes_  # the labels of one kind of nonsense are another class
        return "another class"
    if read_first:
        seen = seen[len(parts) :]
    seen = [number for number in seen if parts[number][2].any()]
    if bad in seen:  # a width that is wrong because the others have another
        assert model.n_features_in_ != parts[0][0].shape[1]
        return outcome
    if not read_first or all((part[2] == 1).all() for part in parts) or not seen:
        # Else lam depends on all weights.
        _same(model, _streamed(model, parts, seen) if seen else before)
    if hasattr(model, "coef_"):
        _complete(model, parts)
    return outcome


def _another_each_time(rng: np.random.Generator) -> str:
    """A function that gives other chunks each time is refused where the problem was read first."""
    parts = [part for part in draw_parts(rng) if part[1].size]
    parts = [(X, y, np.ones(y.size)) for X, y, _ in parts]
    if len(_classes(parts)) < 2:
        return "passed over"
    model = _model(rng, epochs=2)
    at = int(rng.integers(1, 4))  # the reading from which on it is different
    fewer = rng.random() < 0.5
    calls = []

    def changing() -> Iterator[Any]:
        calls.append(len(calls))
        now = parts
        if len(calls) > at:
            now = parts[:-1] if fewer else [*parts, parts[0]]
        return iter([dressed(rng, part) for part in now])

    if at == 3:  # there are three readings
        fit_chunks(model, changing)
        return "did not change"
    with pytest.raises(ValueError, match="chunks must") as caught:
        fit_chunks(model, changing)
    message_is_clear(str(caught.value))
    assert len(calls) == at + 1
    if hasattr(model, "coef_"):
        _complete(model, parts)
    return "changed: one clear sentence"


_KINDS: tuple[tuple[Callable[[np.random.Generator], str], float], ...] = (
    (_any_dress, 0.38),
    (_nonsense_between, 0.36),
    (_another_each_time, 0.12),
    (_by_the_oracle, 0.1),
    (dask_trial, 0.04),
)


def trial(rng: np.random.Generator) -> str:
    """Cut, dress, spoil and train."""
    kinds, shares = zip(*_KINDS, strict=True)
    attack = kinds[rng.choice(len(kinds), p=shares)]
    with _guard(60), warnings.catch_warnings():
        warnings.simplefilter("error")
        return attack(rng)
