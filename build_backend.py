"""Setuptools' build backend, whose wheels carry what ``kpegasos warm`` compiles.

That takes a minute for each level of the processor, and what the package itself needs. With
``KPEGASOS_WHEEL=pure`` a wheel carries the sources alone, as sdists and editable installs do; with
``KPEGASOS_WHEEL=host`` what the building processor takes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403
from setuptools.command.bdist_wheel import bdist_wheel

CHOICE = os.environ.get("KPEGASOS_WHEEL")
IS_PURE = CHOICE == "pure"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return what has to be installed first: what the package needs, to run it."""
    needed = build_meta.get_requires_for_build_wheel(config_settings)
    if IS_PURE:
        return needed
    return needed + tomllib.loads(Path("pyproject.toml").read_text())["project"]["dependencies"]


class CompiledWheel(bdist_wheel):
    """A wheel for one Python and one platform, if anything is compiled for that."""

    def run(self) -> None:
        """Make the wheel."""
        self.run_command("build")
        package = Path(self.get_finalized_command("build").build_lib, "kpegasos")
        shutil.rmtree(package / "_compiled", ignore_errors=True)
        if not IS_PURE:
            _compile_into(package / "_compiled")
        if (package / "_compiled").exists():
            self.root_is_pure = False
            self.distribution.has_ext_modules = lambda: True  # as if C had been compiled
        super().run()


def _compile_into(folder: Path) -> None:
    """Compile for each level that this processor has, or for its own."""
    from numba.core.codegen import get_host_cpu_features

    from kpegasos.utils.compiled import LEVELS, level_of

    host = get_host_cpu_features()
    for level, features in LEVELS.items():
        is_level = set(features.split(",")).issubset(host.split(","))
        if not is_level or (CHOICE == "host" and level != level_of(host)):
            continue
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {
                "NUMBA_CACHE_DIR": cache,
                "NUMBA_CPU_NAME": level,
                "NUMBA_CPU_FEATURES": features,
            }
            command = [sys.executable, "-m", "kpegasos", "warm", "-q"]
            subprocess.run(command, env=environment, check=True)
            (folder / level).mkdir(parents=True)
            for file in Path(cache).rglob("*.nbc"):
                shutil.copy(file, folder / level)
