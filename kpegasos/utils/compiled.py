"""Numba's disk cache, keyed by what a compiled function depends on.

Numba stamps a cached function with the time and size of its own file. It does not see an edit in
another file: an overload, a function that it calls, a constant (numba issue 8396). So the stamp is
replaced by a digest of all sources that compiled code may be made of: the rooms `kpegasos.core`,
`kpegasos.kernels` and `kpegasos.utils`. A function may then live where it belongs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit

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
        if not hasattr(dispatcher, "enable_caching"):
            return dispatcher  # NUMBA_DISABLE_JIT: the function itself
        dispatcher.enable_caching()
        # The only private names of numba here; without them there is no stamp to replace, and
        # `tests/core/test_compiled.py` fails.
        dispatcher._cache._cache_file._source_stamp = source_digest()  # type: ignore[attr-defined]
        return dispatcher

    return decorate
