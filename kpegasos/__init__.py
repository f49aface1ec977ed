"""kpegasos: Pegasos support vector machines, kernel and linear, with a certified duality gap.

The stub beside this file says what is here. A name is imported when it is first asked for, so that
a program that only reads its arguments need not wait for NumPy and numba.
"""

from __future__ import annotations

from typing import Any

import lazy_loader

_import_name, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = [name for name in _names if name != "losses"]  # a module


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from kpegasos.utils.version import VERSION

        return VERSION
    if name == "Playground":  # needs what not everybody has installed
        from kpegasos.playground import Playground

        return Playground
    return _import_name(name)
