"""The same tile and maps compiled for other processors: each vector length that this machine has.

``NUMBA_CPU_NAME`` with empty ``NUMBA_CPU_FEATURES`` lets a machine run the code of an older one.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from llvmlite import binding
from numpy.testing import assert_allclose

from kpegasos.kernels import maps
from kpegasos.utils.compiled import target_vectors

HERE = Path(__file__).parent
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


def can_run(features):
    return all(binding.get_host_cpu_features().get(name) for name in features)


#: The machine's own vectors have the tests of this process.
each_shorter_length = pytest.mark.parametrize(
    "n_bytes", [n for n, (_, feature) in PROCESSORS.items() if can_run([feature])][1:]
)

VALUES = """
import json
import numpy as np
from kpegasos import RBF, Polynomial, Sigmoid
from kpegasos.kernels.gemm import PackedKernel
from kpegasos.utils.compiled import target_vectors
X = np.random.default_rng(0).normal(size=(60, 200)) / 10
values = []
for dtype in (np.float32, np.float64):
    for kernel in (RBF(0.3), Polynomial(0.5, 3, 1.0), Sigmoid(0.5, 0.1)):
        packed, out = PackedKernel(kernel, 200, np.dtype(dtype)), np.empty((60, 60), dtype)
        rows = X.astype(dtype)
        packed.append(rows, np.square(rows).sum(axis=1))
        packed.write(rows, np.square(rows).sum(axis=1), out)
        assert (out == out.T).all()
        values.append(out.astype(float).tolist())
print(json.dumps([*target_vectors(), values]))
"""


def run(n_bytes, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment |= {"NUMBA_CPU_NAME": PROCESSORS[n_bytes][0], "NUMBA_CPU_FEATURES": ""}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@each_shorter_length
def test_tile_and_maps_pass_their_tests_with_vectors_of(n_bytes):
    files = [str(HERE / f"test_{unit}.py") for unit in ("gemm", "maps")]
    run(n_bytes, *["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k"], "not numpy", *files)


def test_values_agree_to_rounding_between_processors():
    exact = None
    for n_bytes, (_, feature) in PROCESSORS.items():
        if not can_run([feature]):
            continue
        found, registers, values = json.loads(run(n_bytes, "-c", VALUES))
        assert (found, registers) == (n_bytes, 32 if n_bytes == 64 else 16)
        exact = values[3:] if exact is None else exact
        for single, double, expected in zip(values[:3], values[3:], exact, strict=True):
            assert_allclose(double, expected, rtol=1e-13, atol=1e-14)
            assert_allclose(single, expected, rtol=1e-5, atol=1e-6)


def test_code_of_one_processor_is_not_loaded_for_another(tmp_path, monkeypatch):
    """The key of what is kept on disk names the target."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    first, *others = [n for n, (_, feature) in PROCESSORS.items() if can_run([feature])]
    code = (
        "import json, numpy as np; from kpegasos.kernels import maps; a = np.ones((2, 2));"
        "maps.power(a, 2.0, 1.0, 2);"
        "print(json.dumps([sum(maps.power.stats.cache_hits.values()), a.tolist()]))"
    )
    for n_bytes in (first, *others):
        assert json.loads(run(n_bytes, "-c", code)) == [0, [[9, 9], [9, 9]]]
    assert json.loads(run(first, "-c", code))[0] == 1


def test_target_is_that_of_numba():
    features = binding.get_host_cpu_features()
    if "NUMBA_CPU_NAME" in os.environ or "NUMBA_CPU_FEATURES" in os.environ:
        pytest.skip("the environment names another processor")
    expected = 64 if features.get("avx512f") else 32 if features.get("avx") else 16
    assert target_vectors().bytes == expected
    assert np.log2(target_vectors().registers) % 1 == 0
