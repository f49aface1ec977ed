"""Time a fit of some tree in a fresh process, and say on which machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
FITS = Path(__file__).with_name("_fits.py")
#: The instruction sets that change what compiled loops and products cost.
VECTORS = ("sse4.2", "avx2", "fma", "avx512f", "neon", "sve")


def measure(tree: Path, name: str, cache: Path, setting: str = "") -> float:
    """Seconds that a fit takes in a fresh process.

    Parameters
    ----------
    tree : Path
        Checkout whose package is timed.
    name : str
        Key of `benchmarks._fits.FITS`. ``"startup"`` is the whole process, imports included.
    cache : Path
        Folder of numba's disk cache. A tree and a setting need one of their own.
    setting : str, default=""
        Machine constant that is overridden, as ``NAME=VALUE``.

    Returns
    -------
    float

    Raises
    ------
    RuntimeError
        If the process fails, with what it wrote, or if it imports the package of another tree.
    """
    command = [sys.executable, str(FITS), name, *(["--set", setting] if setting else [])]
    whole = name == "startup"
    start = time.perf_counter()
    process = subprocess.run(
        command + ["--once"] * whole,
        cwd=tree,
        env=os.environ
        | {"PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1", "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"{name} failed in {tree}:\n{process.stderr}")
    answer = json.loads(process.stdout.splitlines()[-1])
    if Path(answer["package"]).resolve() != (tree / "kpegasos").resolve():
        raise RuntimeError(f"{name} timed {answer['package']} instead of {tree}")
    return seconds if whole else float(answer["seconds"])


def machine() -> str:
    """Processor, its vectors, and the versions that decide about speed."""
    import llvmlite.binding as llvm
    import numba

    features = llvm.get_host_cpu_features()
    vectors = [name for name in VECTORS if features.get(name)]
    return (
        f"{platform.machine()} {llvm.get_host_cpu_name()} ({' '.join(vectors)}), "
        f"{os.cpu_count()} cores, Python {platform.python_version()}, "
        f"numpy {np.__version__}, numba {numba.__version__}"
    )


def spread(seconds: list[float]) -> str:
    """The fastest and the slowest, in brackets behind a median."""
    return f"[{min(seconds):.3f}, {max(seconds):.3f}]"
