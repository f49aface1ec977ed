"""Where results come from: code, commit, versions, machine, date."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import kpegasos
from experiments._catalog import ROOT, Experiment

#: Functions of an experiment that its results do not depend on.
_DRAWING = ("plot", "animate")
#: Names of LLVM's processor features, and the vectors that they stand for.
_VECTORS = {"avx2": "AVX2", "avx512f": "AVX-512", "neon": "NEON"}


def fingerprint(paths: Iterable[Path]) -> str:
    """Hash the code of some files: without comments and docstrings, and without what only draws."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        tree = ast.parse(path.read_bytes(), filename=str(path))
        tree.body = [node for node in tree.body if getattr(node, "name", "") not in _DRAWING]
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                node.body = node.body[ast.get_docstring(node) is not None :]
        digest.update(f"{path.name}\n{ast.unparse(tree)}\n".encode())
    return digest.hexdigest()[:12]


@cache
def package_fingerprint() -> str:
    """Hash the code of the package."""
    return fingerprint((ROOT / "kpegasos").rglob("*.py"))


@cache
def commit() -> str | None:
    """Describe the commit; ``None`` outside a checkout.

    Asked once, as the results that a process writes make the working tree dirty.
    """
    if not (ROOT / ".git").exists():
        return None
    try:
        describe = ["git", "describe", "--always", "--dirty"]
        done = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None


def provenance(experiment: Experiment) -> dict[str, Any]:
    """Say what code computes the results of an experiment, when and where."""
    origin: dict[str, Any] = {"date": datetime.now(UTC).date().isoformat()}
    if commit() is not None:
        origin["commit"] = commit()
    return origin | {"code": _code(experiment), "versions": versions(), "machine": machine()}


def _code(experiment: Experiment) -> dict[str, str]:
    return {"package": package_fingerprint(), "experiment": fingerprint(experiment.sources())}


def why_stale(experiment: Experiment, meta: dict[str, Any]) -> str:
    """Say in what the code has changed since results were measured; ``""`` if in nothing."""
    if "code" not in meta:
        return "unknown"
    now = _code(experiment).items()
    return " and ".join(part for part, code in now if meta["code"].get(part) != code)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that the results depend on."""
    names = ["numpy", "numba", "scipy", "scikit-learn"]
    return {
        "kpegasos": kpegasos.__version__,
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in names},
    }


def machine() -> dict[str, Any]:
    """Return processor, its vectors, cores at our disposal, and system."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return {
        "processor": _processor(),
        "vectors": _vectors(),
        "cores": cores,
        "platform": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    with suppress(OSError):
        model = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
        if model:
            return model[1]
    if sys.platform == "darwin":
        with suppress(OSError):
            query = ["sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(query, capture_output=True, text=True).stdout.strip()
    return platform.processor() or platform.machine()


def _vectors() -> list[str]:
    from llvmlite import binding

    with suppress(RuntimeError):  # LLVM does not know the features of every processor
        features = binding.get_host_cpu_features()
        return [name for feature, name in _VECTORS.items() if features.get(feature)]
    return []
