"""The largest of many keys: as a sort finds them."""

from __future__ import annotations

import numpy as np
import pytest
from covering import each_pair

from kpegasos.core import working_sets
from kpegasos.utils.compiled import compiled


@compiled()
def choose_largest(keys, chosen, begin, end):
    return working_sets.choose_largest(keys, chosen, begin, end)


def _keys(kind, n_keys):
    rng = np.random.default_rng(n_keys)
    keys = rng.normal(size=n_keys)
    if kind == "equal":
        keys = rng.integers(-2, 3, n_keys).astype(float)
    elif kind == "few candidates":
        keys[rng.random(n_keys) < 0.8] = -np.inf
    elif kind == "rising":
        keys.sort()
    return keys


@each_pair(
    kind=["any", "equal", "few candidates", "rising"],
    n_keys=[1, 63, 64, 65, 1000],
    number=[0, 1, 2, 17, 128],
)
def test_choose_largest_is_what_a_sort_finds(kind, n_keys, number):
    keys, chosen = _keys(kind, n_keys), np.full(140, -1)
    end, total = choose_largest(keys, chosen, 3, 3 + number)
    candidates = np.sort(keys[keys > -np.inf])[::-1][:number]
    found = chosen[3:end]
    np.testing.assert_array_equal(np.sort(keys[found])[::-1], candidates)
    assert np.unique(found).size == found.size
    assert total == pytest.approx(np.maximum(candidates, 0.0).sum())
    assert np.all(chosen[:3] == -1)
    assert np.all(chosen[end:] == -1)
