"""The largest of many keys, for compiled callers: which examples violate most."""

from __future__ import annotations

import numpy as np

from kpegasos.utils.compiled import compiled

#: Keys that are compared together.
_BLOCK = 64


@compiled(inner=True)
def choose_largest(keys: np.ndarray, chosen: np.ndarray, begin: int, end: int) -> tuple[int, float]:
    """Put the indices of the largest keys into ``chosen[begin:end]``, but for minus infinity.

    Nothing is checked. Returns where they end, and the sum of the
    keys that are positive. Of equal keys the first are chosen.
    """
    number = min(end - begin, keys.size)
    if number <= 0:
        return begin, 0.0
    threshold = _threshold(keys, number)
    equal = np.empty(number, dtype=np.int64)
    position, n_equal, total = begin, 0, 0.0
    for start in range(0, keys.size, _BLOCK):
        if not _reaches(keys[start : start + _BLOCK], threshold):
            continue
        for i in range(start, min(keys.size, start + _BLOCK)):
            if keys[i] > threshold:
                chosen[position] = i
                position += 1
                total += max(0.0, keys[i])
            elif keys[i] == threshold and threshold > -np.inf and n_equal < number:
                equal[n_equal] = i
                n_equal += 1
    for a in range(min(n_equal, begin + number - position)):
        chosen[position] = equal[a]
        position += 1
        total += max(0.0, threshold)
    return position, total


@compiled(inner=True)
def _threshold(keys: np.ndarray, number: int) -> float:
    """The `number`-th largest key."""
    # A heap of the largest so far: nearly all keys are compared with the least of them alone.
    heap = keys[:number].copy()
    for a in range(number // 2 - 1, -1, -1):
        _sift(heap, a, heap[a])
    for start in range(number, keys.size, _BLOCK):
        if _reaches(keys[start : start + _BLOCK], heap[0]):
            for i in range(start, min(keys.size, start + _BLOCK)):
                if keys[i] > heap[0]:
                    _sift(heap, 0, keys[i])
    return float(heap[0])


@compiled(inner=True)
def _reaches(keys: np.ndarray, least: float) -> bool:
    """Whether one of some keys is so large: without a branch, and so in vectors."""
    number = 0
    for i in range(keys.size):
        number += keys[i] >= least
    return number > 0


@compiled(inner=True)
def _sift(heap: np.ndarray, place: int, key: float) -> None:
    """Sift a key down from a free place of the heap."""
    while True:
        child = 2 * place + 1
        if child >= heap.size:
            break
        if child + 1 < heap.size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = key
