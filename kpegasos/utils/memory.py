"""The free memory, by the narrowest of what the machine and its containers allow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


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
        # "max" is no number. Files that were read once are given up before a limit is reached.
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
