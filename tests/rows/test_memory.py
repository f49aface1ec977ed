"""Memory: what is free, and what one array leaves to the next."""

import gc
import tracemalloc

import numpy as np
import pytest

from kpegasos import RBF, KernelMatrix, PegasosSVC
from kpegasos.rows import budget as memory
from kpegasos.rows.budget import KeptMemory, array_of, free_memory
from kpegasos.rows.cached import CachedRows
from kpegasos.rows.gram import GramRows

MEMINFO = "MemTotal:  4000 kB\nMemFree:  100 kB\nMemAvailable:  3000 kB\nHugePages_Total: 0\n"
V2 = {
    "proc/self/cgroup": "0::/outer/inner\n",
    "sys/fs/cgroup/outer/memory.max": "900000\n",
    "sys/fs/cgroup/outer/memory.high": "max\n",
    "sys/fs/cgroup/outer/memory.current": "500000\n",
    "sys/fs/cgroup/outer/memory.stat": "anon 1\ninactive_file 1000\n",
    "sys/fs/cgroup/outer/inner/memory.max": "max\n",
    "sys/fs/cgroup/outer/inner/memory.high": "max\n",
    "sys/fs/cgroup/outer/inner/memory.current": "400000\n",
}
V1 = {
    "proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/docker/abc\n1:cpu:/\n",
    # As a container sees it: its own group is the root of what is mounted.
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "700000\n",
    "sys/fs/cgroup/memory/memory.usage_in_bytes": "100000\n",
    "sys/fs/cgroup/memory/memory.stat": "inactive_file 1\ntotal_inactive_file 50\n",
}
EXCEEDED = {
    "proc/self/cgroup": "0::/\n",
    "sys/fs/cgroup/memory.max": "5\n",
    "sys/fs/cgroup/memory.current": "7\n",
}
CASES = {
    "nothing is known": ({}, None),
    "old kernel": ({"proc/meminfo": "MemTotal: 4000 kB\n"}, None),
    "v2": (V2, 401000),
    "v2, high": ({**V2, "sys/fs/cgroup/outer/inner/memory.high": "410000\n"}, 10000),
    "exceeded": (EXCEEDED, 0),
    "v1 in machine": ({**V1, "proc/meminfo": MEMINFO}, 600050),
    "machine in v2": ({**V2, "proc/meminfo": MEMINFO.replace("3000", "3")}, 3072),
    "unknown group": ({"proc/self/cgroup": "0::/no\n", "proc/meminfo": MEMINFO}, 3000 * 1024),
}


@pytest.mark.parametrize(("files", "expected"), CASES.values(), ids=CASES)
def test_free_memory_is_the_narrowest(files, expected, tmp_path):
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert free_memory(tmp_path) == expected


@pytest.mark.skipif(memory.resource is None, reason="no limits of a process here")
def test_free_memory_heeds_the_limit_of_addresses(tmp_path, monkeypatch):
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc/self/statm").write_text("10 5 5 1 0 1 0\n")
    (tmp_path / "proc/meminfo").write_text(MEMINFO)
    page = memory.os.sysconf("SC_PAGE_SIZE")
    limits = (12 * page, memory.resource.RLIM_INFINITY)
    monkeypatch.setattr(memory.resource, "getrlimit", lambda kind: limits)
    assert free_memory(tmp_path) == 2 * page


# --- memory that is taken again -------------------------------------------------------------------

DOUBLE = np.dtype(np.float64)


@pytest.fixture
def nothing_spare(monkeypatch):
    monkeypatch.setattr(memory, "_spare", {})


def spare_sizes():
    return sorted(each.size >> 20 for each in memory._spare.values())


def test_memory_is_taken_again_when_nobody_sees_it(nothing_spare):
    first = array_of((600, 600), DOUBLE)
    first[:] = 1.0
    seen, address = first[2:4], first.ctypes.data
    del first
    second = array_of((900, 300), np.dtype(np.float32))
    assert not np.shares_memory(seen, second)
    assert (seen == 1.0).all()
    del seen
    assert array_of((700, 500), DOUBLE).ctypes.data == address


def test_memory_is_kept_within_a_bound_but_for_who_wants_it_all(nothing_spare):
    parts = [array_of((size << 17,), DOUBLE) for size in (20, 10, 40)]
    parts.clear()
    assert spare_sizes() == [10, 20]
    keeper, part = KeptMemory(), array_of((40 << 17,), DOUBLE)
    del part
    assert spare_sizes() == [40]
    del keeper
    assert spare_sizes() == []


@pytest.mark.parametrize("make", [GramRows.from_values, CachedRows])
def test_rows_leave_their_memory_to_those_that_come(make, nothing_spare):
    X = np.random.default_rng(0).normal(size=(130, 2))
    rows = make(KernelMatrix(RBF(0.5), X))
    view = rows.ensure_rows(np.array([3]), 0)
    values, expected = view.values, view.values[view.slots[3]].copy()
    rows.close()
    assert not memory._spare  # somebody sees it
    assert not np.shares_memory(
        make(KernelMatrix(RBF(2.0), X)).ensure_rows(np.array([3]), 0).values, values
    )
    assert any(np.array_equal(row, expected) for row in values)
    del view, values
    assert len(memory._spare) == 2


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fit_leaves_no_more_than_the_bound_without_a_collection(n_classes, nothing_spare):
    X = np.random.default_rng(0).normal(size=(2600, 2)).astype(np.float32)
    gc.collect()
    gc.disable()
    try:
        clf = PegasosSVC(cache="precomputed", epochs=0.1, random_state=0)
        assert clf.fit(X, np.arange(2600) % n_classes).support_.size
        assert sum(each.size for each in memory._spare.values()) <= 32 << 20
        assert not memory._keepers
    finally:
        gc.enable()


def test_many_arrays_at_once_take_what_was_asked_for(nothing_spare):
    """As rows of many pairs of few examples, that together have a budget."""
    tracemalloc.start()
    held = [array_of((160, 160), DOUBLE) for _ in range(50)]
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken < 1.1 * sum(each.nbytes for each in held)
