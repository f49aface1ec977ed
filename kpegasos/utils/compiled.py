"""Numba's disk cache, keyed by what a compiled function depends on, and read only if it is whole.

Numba stamps a cached function with the time and size of its own file. It does not see an edit in
another file: an overload, a function that it calls, a constant. So the stamp is replaced by a
digest of all sources that the compiled code of a room may be made of: `SOURCES`. A function may
then live where it belongs, and an edit compiles anew what it may change.

Numba's index also names a file before that is written, and trusts whatever bytes it finds there.
`_Files` takes the place of index and files.

What is compiled elsewhere, or for types from elsewhere, such as somebody's own view of rows or
loss, is not kept on disk.
Their sources are not in the digest, and a process that cannot import them could not read the cache.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import uuid
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numba
from llvmlite import binding
from numba import njit
from numba.core import serialize
from numba.core.caching import FunctionCache
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.types import BaseTuple
from numba.extending import register_jitable

#: Rooms and files that the compiled functions of a room are made of; a test looks for others.
SOURCES = {
    "core": ("core", "losses", "utils/compiled.py", "utils/tuning.py"),
    "datasets": ("datasets/_svmlight_reader.py", "utils/compiled.py"),
    "kernels": ("kernels", "utils/compiled.py", "utils/tuning.py"),
    "losses": ("losses", "utils/compiled.py"),
    "utils": ("utils/compiled.py", "utils/validation.py"),
}

#: Sums may be reordered and fused; nothing may assume that values are finite.
FAST: Any = {"reassoc", "contract"}


@cache
def source_digest(room: str) -> str:
    """Digest all sources that the compiled functions of a room are made of."""
    digest = hashlib.sha256()
    package = files("kpegasos")  # a folder, or a part of a zip file
    for source in map(package.joinpath, SOURCES[room]):
        found = [source] if source.is_file() else source.iterdir()
        for path in sorted(found, key=lambda path: path.name):
            if path.name.endswith(".py"):
                digest.update(path.read_bytes())
    return digest.hexdigest()


def compiled(fastmath: Any = FAST, *, inner: bool = False) -> Callable[[Any], Any]:
    """Compile a function on its first call, without the interpreter's lock, and keep it on disk.

    Parameters
    ----------
    fastmath : set of str, default={"reassoc", "contract"}
        What the compiler may do to sums.
    inner : bool, default=False
        Whether only compiled functions call it. Then it has no way in from the interpreter and is
        on disk as a part of its callers alone, which saves a sixth of a first polished fit.

    Returns
    -------
    callable
        The decorator.
    """
    options: dict[str, Any] = {"no_cpython_wrapper": inner, "no_cfunc_wrapper": True}

    def decorate(function: Any) -> Any:
        dispatcher: Any = njit(nogil=True, fastmath=fastmath, **options)(function)
        if inner and isinstance(dispatcher, CPUDispatcher):
            dispatcher.__class__ = _InnerDispatcher
        elif hasattr(dispatcher, "enable_caching") and (room := _room_of(function)) in SOURCES:
            try:  # not under NUMBA_DISABLE_JIT
                dispatcher._cache = _SourceCache(function, room)
            except RuntimeError:  # numba finds no folder that can be written
                _say_that_nothing_is_kept()
        return dispatcher

    return decorate


def shared(function: Any) -> Any:
    """Let compiled code call a formula that the interpreter calls too, to the same bits."""
    return register_jitable(function)


def _room_of(kind: Any) -> str:
    """Return the room of a function or class; nothing for one from elsewhere."""
    package, room, *_ = f"{kind.__module__}..".split(".")
    return room if package == "kpegasos" else ""


class _InnerDispatcher(CPUDispatcher):
    """A dispatcher whose functions have no wrapper for Python; a call through it would crash."""

    __name__: str

    def __call__(self, *arguments: Any) -> Any:
        """Refuse to be called by the interpreter."""
        raise TypeError(f"{self.__name__} is for compiled callers")


@cache
def _say_that_nothing_is_kept() -> None:
    warnings.warn(
        "kpegasos is compiled in every process anew, which takes seconds, as numba cannot keep it: "
        "set the environment variable NUMBA_CACHE_DIR to a folder that can be written",
        RuntimeWarning,
        stacklevel=2,
    )


class _SourceCache(FunctionCache):
    """Numba's cache of one function, for types of the rooms that it is made of only.

    The private names of numba in this class and above are the only ones that the package uses.
    """

    def __init__(self, function: Any, room: str) -> None:
        super().__init__(function)
        self._rooms = frozenset(SOURCES[room])
        folder, name = Path(self._cache_path), self._impl.filename_base
        self._cache_file = _Files(folder, name, source_digest(room))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load what was compiled for these types, if it was kept and can be read."""
        if not _are_of(self._rooms, sig):
            return None
        try:
            return super().load_overload(sig, target_context)
        except (ImportError, AttributeError, TypeError):
            return None  # written by another version of the package, with types that are no more

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for these types, if they are of these rooms."""
        if not _are_of(self._rooms, sig):
            return
        try:
            super().save_overload(sig, data)
        except OSError:  # a full disk, for one
            _say_that_nothing_is_kept()


class _Files:
    """What was compiled of one function: a file for each set of types, whole or not there at all.

    The name of a file follows from what is in it, so there is no index that two processes could
    write at a time, or that could name a file that was never written. A file begins with the digest
    of the rest, which is unpickled only if that is right.
    """

    def __init__(self, folder: Path, function: str, sources: str) -> None:
        self.folder, self.function, self.sources = folder, function, sources

    def _path(self, key: Any) -> Path:
        identity = f"{numba.__version__} {self.sources} {key!r}"
        name = hashlib.sha256(identity.encode()).hexdigest()[:16]
        return self.folder / f"{self._prefix}{name}.nbc"

    @property
    def _prefix(self) -> str:
        return f"{self.function}.{self.sources[:8]}."

    def load(self, key: Any) -> Any:
        """Load what was kept for a key; None if nothing was, or if it is damaged."""
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        body = content[32:]
        if content[:32] != hashlib.sha256(body).digest():
            return None
        kept, data = pickle.loads(body)
        return data if kept == key else None

    def save(self, key: Any, data: Any) -> None:
        """Keep something for a key, and nothing that was made of other sources."""
        path = self._path(key)
        body = serialize.dumps((key, data))
        part = path.with_suffix(f".{uuid.uuid4().hex}.part")
        try:
            part.write_bytes(hashlib.sha256(body).digest() + body)
            try:
                os.replace(part, path)
            except PermissionError:  # on Windows, while another process reads the same
                if not path.exists():
                    raise
        finally:
            part.unlink(missing_ok=True)
        self.flush(self._prefix)

    def flush(self, but_for: str = "/") -> None:
        """Keep no files of this function but for those whose names begin so."""
        for path in self.folder.glob(f"{self.function}.*"):
            if not path.name.startswith(but_for):
                with suppress(OSError):  # another process may have it open, or have removed it
                    path.unlink()


def _are_of(rooms: frozenset[str], sig: Any) -> bool:
    """Tell whether all named tuples of a signature, and within them, are of some rooms."""
    for kind in getattr(sig, "args", sig):
        own = getattr(kind, "instance_class", None)
        if own is not None and _room_of(own) not in rooms:
            return False
        members: Any = kind
        if isinstance(kind, BaseTuple) and not _are_of(rooms, tuple(members)):
            return False
    return True


#: Adds two vectors of 64 bytes, in as many instructions as a target needs for that.
_ADDITION = """
define <16 x float> @probe(<16 x float> %a) {
  %b = fadd <16 x float> %a, %a
  ret <16 x float> %b
}
"""


class Vectors(NamedTuple):
    """Vector registers of a processor: bytes of each, and how many there are."""

    bytes: int
    registers: int


@cache
def target_vectors() -> Vectors:
    """Find the vectors of the processor that numba compiles for, as its compiler uses them.

    It is this machine's, unless the environment names another. With ``NUMBA_CPU_NAME=haswell
    NUMBA_CPU_FEATURES=`` (both: numba adds this machine's features to a name alone) a machine with
    AVX-512 runs the code of one with AVX2, and ``nehalem`` that of SSE.
    """
    triple, name, features = cpu_target.target_context.codegen().magic_tuple()
    machine = binding.Target.from_triple(triple).create_target_machine(cpu=name, features=features)
    assembly = machine.emit_assembly(binding.parse_assembly(_ADDITION))
    if "zmm" in assembly:
        return Vectors(64, 32)
    if "ymm" in assembly:
        return Vectors(32, 16)
    return Vectors(16, 32 if triple.startswith(("aarch64", "arm64")) else 16)
