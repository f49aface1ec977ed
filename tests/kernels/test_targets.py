"""The same tile and maps compiled for other processors: each vector length that this machine has.

``NUMBA_CPU_NAME`` with empty ``NUMBA_CPU_FEATURES`` lets a machine run the code of an older one.
"""

import json
import os
import platform
import subprocess
import sys

import pytest
from llvmlite import binding

from kpegasos.kernels import maps
from kpegasos.utils.compiled import target_vectors

#: Bytes of a vector: a processor that has them, and what it takes to run its code.
PROCESSORS = {
    64: ("skylake-avx512", "avx512bw"),
    32: ("haswell", "avx2"),
    16: ("nehalem", "sse4.2"),
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not maps.COMPILED, reason="nothing is compiled"),
    pytest.mark.skipif(
        platform.machine().lower() not in ("x86_64", "amd64"), reason="vectors of one length"
    ),
]


CAN_RUN = [n for n, (_, name) in PROCESSORS.items() if binding.get_host_cpu_features().get(name)]


def run(n_bytes, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment |= {"NUMBA_CPU_NAME": PROCESSORS[n_bytes][0], "NUMBA_CPU_FEATURES": ""}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_target_is_that_of_this_machine():
    if "NUMBA_CPU_NAME" in os.environ or "NUMBA_CPU_FEATURES" in os.environ:
        pytest.skip("the environment names another processor")
    assert target_vectors().bytes == CAN_RUN[0]


def test_code_of_one_processor_is_not_loaded_for_another(tmp_path, monkeypatch):
    """The key of what is kept on disk names the target."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    code = (
        "import json, numpy as np; from kpegasos.kernels import maps; a = np.ones((2, 2));"
        "from kpegasos.utils.compiled import target_vectors;"
        "maps.power(a, 2.0, 1.0, 2);"
        "hits = sum(maps.power.stats.cache_hits.values());"
        "print(json.dumps([hits, a.tolist(), *target_vectors()]))"
    )
    for n_bytes in CAN_RUN:
        registers = 32 if n_bytes == 64 else 16
        assert json.loads(run(n_bytes, "-c", code)) == [0, [[9, 9], [9, 9]], n_bytes, registers]
    assert json.loads(run(CAN_RUN[0], "-c", code))[0] == 1
