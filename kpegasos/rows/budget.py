"""Bytes: what a row costs, how many rows a budget holds, what is needed at least, what is free.

A budget is an upper limit. What is not free is not taken: fits that run at once in a process keep
an account of what each of them may still touch, and one that comes late gets what is left.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakSet

import numpy as np
from joblib import cpu_count

from kpegasos.kernels.matrix import KernelMatrix
from kpegasos.utils import tuning
from kpegasos.utils.threads import available_threads
from kpegasos.utils.validation import as_number, shown

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


#: Below this many MiB free memory is not looked up, which takes a millisecond.
_MODEST_MB = 64.0
#: Share of the free memory that kernel values may take.
_SHARE_OF_FREE = 0.75
#: Their share by default: others want memory too, and a fit has more than kernel values.
_SHARE_UNASKED = 0.5
#: MiB that are taken unasked at the most (all rows of 32,000 examples in float32), and those that
#: are taken where the system does not say what is free.
_MOST_UNASKED_MB, _UNKNOWN_MB = 4096.0, 1024.0


def _row_bytes(values: KernelMatrix) -> tuple[int, int]:
    """Return bytes of a kept row, and of a row in work with its temporaries."""
    kept = values.n_samples * values.dtype.itemsize
    return kept, kept + (0 if values.can_pack else 24 * values.n_samples)


def _mb(values: KernelMatrix, n_kept: int, n_work: int) -> float:
    """MiB of some rows that are kept and some in work."""
    kept_bytes, work_bytes = _row_bytes(values)
    return (n_kept * kept_bytes + n_work * work_bytes) / tuning.MEBIBYTE


def as_budget(cache_mb: Any) -> float | str:
    """Return a budget in MiB, or ``"auto"``.

    Raises
    ------
    ValueError
        If it is neither a positive number nor ``"auto"``.
    """
    if isinstance(cache_mb, str):
        if cache_mb == "auto":
            return "auto"
        raise ValueError(
            f"cache_mb must be a positive finite number or 'auto', got {shown(cache_mb)} instead"
        )
    return as_number("cache_mb", cache_mb, positive=True)


def budget_mb(cache_mb: Any, wanted_mb: float) -> float:
    """Return MiB of a budget; ``"auto"`` depends on what is free.

    That is half of what is free and not granted to others, 4,096 MiB at the most; 1,024 MiB where
    the system does not say. A process that may use only some of the processors takes their share of
    that, or 1,024 MiB if half of what is free is as much.

    Parameters
    ----------
    cache_mb : float or "auto"
    wanted_mb : float
        MiB that can be used; where they are few, free memory is not looked up.
    """
    checked = as_budget(cache_mb)
    if not isinstance(checked, str):
        return checked
    if wanted_mb <= _MODEST_MB:
        return _MODEST_MB
    free = free_memory()
    if free is None:
        return _UNKNOWN_MB
    half_mb = _SHARE_UNASKED * max(0.0, free / tuning.MEBIBYTE - ACCOUNT.granted_mb)
    share = min(1.0, available_threads() / cpu_count())
    most_mb = max(_UNKNOWN_MB, share * min(half_mb, _MOST_UNASKED_MB))
    return max(_MODEST_MB, min(half_mb, most_mb))


def cache_capacity(values: KernelMatrix, cache_mb: float) -> tuple[int, int]:
    """Return rows that a budget keeps, and rows that are computed together beside them."""
    n_samples = values.n_samples
    kept_bytes, work_bytes = _row_bytes(values)
    budget = int(min(cache_mb * tuning.MEBIBYTE, float(sys.maxsize // 2)))  # addressable
    tile = min(n_samples, tuning.TILE_ROWS)
    if budget >= n_samples * kept_bytes + tile * work_bytes:
        return n_samples, tile
    # At most a fifth for the tile in work.
    tile = max(1, min(tuning.TILE_ROWS, budget // (5 * work_bytes)))
    return min(n_samples, (budget - tile * work_bytes) // kept_bytes), tile


def cached_mb_needed(values: KernelMatrix) -> float:
    """Return a ``cache_mb`` that is enough to keep a few rows, with a tile of four in work."""
    return _mb(values, min(tuning.FEWEST_ROWS, values.n_samples), 4)


def few_rows_mb(values: KernelMatrix) -> float:
    """Return a ``cache_mb`` for few rows: a small tile at least, a wide one if that is cheap."""
    n_samples, tile_mb = values.n_samples, _mb(values, 0, 5)
    small = min(n_samples, tuning.SMALL_TILE_ROWS) * tile_mb
    wide = min(n_samples // 8, tuning.TILE_ROWS) * tile_mb
    return max(cached_mb_needed(values), small, min(wide, tuning.FEW_ROWS_MB))


def gram_mb_needed(values: KernelMatrix) -> float:
    """MiB of the whole Gram matrix."""
    return _mb(values, values.n_samples, 0)


def most_mb_used(values: KernelMatrix) -> float:
    """MiB that a source can make use of: all rows, and the widest tile in work."""
    return _mb(values, values.n_samples, min(values.n_samples, tuning.TILE_ROWS))


def scored_bytes(values: KernelMatrix) -> int:
    """Return bytes of a kernel value that is not kept: itself, its copy in float64, temporaries."""
    return 16 if values.can_pack else 32


def check_budget(
    cache: str, needed_mb: float, cache_mb: float, values: KernelMatrix, shares: int = 1
) -> None:
    """Check that a share of the budget is enough.

    Parameters
    ----------
    cache : {"precomputed", "cached", "streamed"}
    needed_mb : float
        What one share must have.
    cache_mb : float
        What all have together.
    values : KernelMatrix
    shares : int, default=1

    Raises
    ------
    ValueError
        If it is not.
    """
    if cache_mb / shares < needed_mb:
        raise ValueError(
            f"cache_mb must be at least {1.005 * needed_mb * shares:.3g} for cache='{cache}' with "
            f"{values.n_samples} examples, got {cache_mb:g} instead"
        )


class Grant:
    """Permission to take so many MiB while this object lives."""

    def __init__(self, mb: float) -> None:
        self.mb = mb


class Account:
    """Keeps account of what sources of kernel rows have been granted, all fits together.

    Memory that was granted still looks free to the system until it is touched. It is subtracted
    until its source is gone, even when it has been touched: rather too little is granted than too
    much.
    """

    def __init__(self) -> None:
        self._grants: WeakSet[Grant] = WeakSet()
        self.begin_child()

    def begin_child(self) -> None:
        """Forget who held the lock when this process was forked."""
        self._lock = Lock()

    @property
    def granted_mb(self) -> float:
        """MiB of all grants that are alive."""
        with self._lock:
            return self._granted()

    def _granted(self) -> float:
        return sum(grant.mb for grant in self._grants)

    def grant(self, wanted_mb: float, least_mb: float, shares: int = 1) -> Grant:
        """Grant a source the memory it wants, or less where that is not free.

        Parameters
        ----------
        wanted_mb : float
            MiB at the most.
        least_mb : float
            MiB without which there is no source: they are granted in any case.
        shares : int, default=1
            Sources that will want as much.
        """
        free = free_memory() if wanted_mb >= _MODEST_MB else None
        with self._lock:
            grant = Grant(wanted_mb)
            if free is not None:
                left_mb = _SHARE_OF_FREE * free / tuning.MEBIBYTE - self._granted()
                grant.mb = min(wanted_mb, max(left_mb / shares, least_mb))
            self._grants.add(grant)
            return grant


ACCOUNT = Account()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=ACCOUNT.begin_child)


# --- the free memory, by the narrowest of what the machine and its containers allow ---


def free_memory(root: Path = Path("/")) -> int | None:
    """Count bytes that this process may take: of the machine, its cgroups, its addresses.

    Parameters
    ----------
    root : Path, default=Path("/")
        Where ``proc`` and ``sys`` are.

    Returns
    -------
    int or None
        None where the system does not say, as macOS and Windows do not.
    """
    lefts = [*_left_in_machine(root), *_left_in_cgroups(root), *_left_of_addresses(root)]
    return max(0, min(lefts)) if lefts else None


def _left_in_machine(root: Path) -> Iterator[int]:
    with suppress(OSError, KeyError, ValueError):
        yield 1024 * _table(root / "proc/meminfo")["MemAvailable:"]


def _left_in_cgroups(root: Path) -> Iterator[int]:
    """Return what is left in each cgroup of this process, version 1 or 2, and in those around."""
    with suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            base = root / "sys/fs/cgroup" / ("memory" if kinds else "")
            if kinds and "memory" not in kinds.split(","):
                continue
            folder = base / path.lstrip("/")
            for group in (folder, *folder.parents):
                if group.is_relative_to(base):
                    yield from _left_in_cgroup(group)


def _left_in_cgroup(group: Path) -> Iterator[int]:
    for limit, usage in (
        ("memory.max", "memory.current"),
        ("memory.high", "memory.current"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        # "max" is no number. Cached files are given up before a limit is reached.
        with suppress(OSError, ValueError):
            left = int((group / limit).read_text()) - int((group / usage).read_text())
            with suppress(OSError):
                stat = _table(group / "memory.stat")
                left += stat.get("total_inactive_file", stat.get("inactive_file", 0))
            yield left


def _left_of_addresses(root: Path) -> Iterator[int]:
    """Return what ``ulimit -v`` leaves."""
    if hasattr(resource, "RLIMIT_AS"):
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            with suppress(OSError, ValueError):
                pages = int((root / "proc/self/statm").read_text().split()[0])
                yield limit - pages * os.sysconf("SC_PAGE_SIZE")


def _table(path: Path) -> dict[str, int]:
    """Return names and numbers of a file with one of each in a line."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1}


# --- memory that is used again: fresh pages cost more than what is written to them ---
#
# An array of `array_of` owns its memory while it or a view of it lives. Then the next array may
# have it: that of the next pair, whatever its size, or of the next fit, up to `_MOST`.

#: Bytes that stay for the next fit at the most: those of all values of 2,048 examples in float64.
_MOST = 32 * tuning.MEBIBYTE
#: Arrays of fewer bytes are allocated quickly anyway.
_FEW = 1 << 16
#: Unused memory, and the objects that want all of it kept, by their ids. Each change is one
#: operation of a dictionary or set: memory is given up at any time, on any thread.
_spare: dict[int, np.ndarray] = {}
_keepers: set[int] = set()


def array_of(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an uninitialised array, in memory that others have given up if there is some."""
    size = math.prod(shape) * dtype.itemsize
    if size < _FEW:
        return np.empty(shape, dtype)
    buffer = None
    for key, spare in sorted(_spare.copy().items(), key=lambda item: item[1].size):
        if spare.size >= size and (buffer := _spare.pop(key, None)) is not None:
            break
    if buffer is None:
        _spare.clear()  # what is too small would only take memory beside it
        buffer = np.empty(size, np.uint8)
    return np.asarray(_Lease(buffer))[:size].view(dtype).reshape(shape)


class _Lease:
    """Memory that is spare once no array sees it any more."""

    def __init__(self, buffer: np.ndarray) -> None:
        self._buffer, self.__array_interface__ = buffer, buffer.__array_interface__

    def __del__(self) -> None:
        _spare[id(self._buffer)] = self._buffer
        _trim()


class KeptMemory:
    """While this object lives, memory that arrays give up is kept for the next, however much."""

    def __init__(self) -> None:
        _keepers.add(id(self))

    def __del__(self) -> None:
        _keepers.discard(id(self))
        _trim()


def _trim() -> None:
    """Give memory back to the system, the largest part first, until the rest is within bounds."""
    if _keepers:
        return
    parts = sorted(_spare.copy().items(), key=lambda item: item[1].size)
    total = sum(spare.size for _, spare in parts)
    while total > _MOST:
        key, spare = parts.pop()
        _spare.pop(key, None)
        total -= spare.size
