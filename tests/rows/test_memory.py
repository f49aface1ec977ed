"""Free memory: the least of what machine, cgroups and address space leave."""

import pytest

from kpegasos.rows import budget as memory
from kpegasos.rows.budget import free_memory

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
