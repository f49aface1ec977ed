"""Numba's disk cache, keyed by what a compiled function depends on.

Numba stamps a cached function with the time and size of its own file. It does not see an edit in
another file: an overload, a function that it calls, a constant. So the stamp is replaced by a
digest of all sources that compiled code may be made of: the rooms `kpegasos.core`,
`kpegasos.kernels` and `kpegasos.utils`. A function may then live where it belongs.

What is compiled for types from elsewhere, such as somebody's own view of rows, is not kept on disk.
Their sources are not in the digest, and a process that cannot import them could not read the cache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache

_PACKAGE = Path(__file__).resolve().parents[1]
_ROOMS = ("core", "kernels", "utils")

#: Sums may be reordered and fused; nothing may assume that values are finite.
FAST: Any = {"reassoc", "contract"}


@cache
def source_digest() -> str:
    """Digest of the sources that compiled functions are made of."""
    digest = hashlib.sha256()
    for room in _ROOMS:
        for path in sorted((_PACKAGE / room).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def compiled(fastmath: Any = FAST) -> Callable[[Any], Any]:
    """Compile a function on its first call, without the interpreter's lock, and keep it on disk.

    Parameters
    ----------
    fastmath : set of str, default={"reassoc", "contract"}
        What the compiler may do to sums.

    Returns
    -------
    callable
        The decorator.
    """

    def decorate(function: Any) -> Any:
        dispatcher = njit(nogil=True, fastmath=fastmath)(function)
        if hasattr(dispatcher, "enable_caching"):  # not under NUMBA_DISABLE_JIT
            dispatcher._cache = _SourceCache(function)  # type: ignore[attr-defined]
        return dispatcher

    return decorate


class _SourceCache(FunctionCache):
    """Numba's cache of one function, for types of the package only.

    The private names of numba in this class and above are the only ones that the package uses.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = source_digest()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for these types, if it was kept and can be read."""
        if not _are_ours(sig):
            return None
        try:
            return super().load_overload(sig, target_context)
        except (ImportError, AttributeError, TypeError):
            # Written by another version of the package, with types that are no more.
            self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for these types, if they are the package's own."""
        if _are_ours(sig):
            super().save_overload(sig, data)


def _are_ours(sig: Any) -> bool:
    """Whether all named tuples of a signature are defined in the package."""
    classes = [getattr(kind, "instance_class", None) for kind in getattr(sig, "args", sig)]
    return all(c is None or c.__module__.startswith("kpegasos.") for c in classes)
