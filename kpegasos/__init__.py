"""kpegasos: Pegasos support vector machines, kernel and linear, with a certified duality gap.

The stub beside this file says what is here. A name is imported when it is first asked for, so that
a program that only reads its arguments need not wait for NumPy and numba.
"""

from __future__ import annotations

import ast
import pkgutil
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_STUB = ast.parse(pkgutil.get_data(__name__, "__init__.pyi") or b"")
#: Modules by the names that are imported from them; the package itself has modules only.
_PLACES = {
    alias.name: f"{__name__}.{node.module or alias.name}"
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
__all__ = [name for name in _PLACES if name != "losses"]  # a module


def __dir__() -> list[str]:
    return list(_PLACES)


def __getattr__(name: str) -> Any:
    if name == "Playground":  # needs what not everybody has installed
        from kpegasos.playground import Playground

        return Playground
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_PLACES[name])
    value = module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
    globals()[name] = value
    return value
