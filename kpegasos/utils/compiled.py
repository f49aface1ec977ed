"""Numba's disk cache, keyed by what a compiled function depends on, and read only if it is whole.

Numba stamps a cached function with the time and size of its own file. It does not see an edit in
another file: an overload, a function that it calls, a constant. So the stamp is replaced by a
digest of all sources that the compiled code of a room may be made of: `SOURCES`. A function may
then live where it belongs, and an edit compiles anew what it may change.

Numba's index also names a file before that is written, and trusts whatever bytes it finds there.
`_Files` takes the place of index and files.

A wheel carries what is compiled for the levels of x86-64 (`LEVELS`). Where it has the processor's
level, all that is not in it is compiled for that level too, and so has the same bits.

What is compiled elsewhere, or for types from elsewhere, such as somebody's own view of rows, is not
kept on disk.
Their sources are not in the digest, and a process that cannot import them could not read the cache.
"""

from __future__ import annotations

import gc
import hashlib
import math
import multiprocessing
import os
import pickle
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
from llvmlite import binding
from numba import njit
from numba.core import event, serialize
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen, get_host_cpu_features
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
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

#: What wheels are compiled for: names of processors for LLVM, and the features that loops make use
#: of. AVX-512 without byte products has none, as the lower level would be slower.
_AVX2 = "+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe"
_AVX512 = "+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl,+avx512vnni"
LEVELS = {"x86-64-v3": _AVX2, "x86-64-v4": f"{_AVX2},{_AVX512}"}

#: Sums may be reordered and fused; nothing may assume that values are finite.
FAST: Any = {"reassoc", "contract"}
#: No way in from C; a division by zero is infinite, and raises nothing that had to be compiled.
_OPTIONS: Any = {"no_cfunc_wrapper": True, "error_model": "numpy"}
#: Options of overloads, which are parts of loops.
OVERLOADS: Any = _OPTIONS | {"fastmath": FAST, "nogil": True}


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


def compiled(
    fastmath: Any = FAST, *, inner: bool = False, error_model: str = "numpy"
) -> Callable[[Any], Any]:
    """Compile a function on its first call, without the interpreter's lock, and keep it on disk.

    Parameters
    ----------
    fastmath : set of str, default={"reassoc", "contract"}
        What the compiler may do to sums.
    inner : bool, default=False
        Whether only compiled functions call it. Then it has no way in from the interpreter and is
        on disk as a part of its callers alone.
    error_model : {"numpy", "python"}, default="numpy"
        What a division by zero is: infinite, or an error, for which a loop is not vectorised.

    Returns
    -------
    callable
        The decorator.
    """
    options = _OPTIONS | {
        "no_cpython_wrapper": inner,
        "nogil": True,
        "fastmath": fastmath,
        "error_model": error_model,
    }

    def decorate(function: Any) -> Any:
        dispatcher: Any = njit(**options)(function)
        if dispatcher is function:  # under NUMBA_DISABLE_JIT
            return function
        dispatcher.__class__ = _InnerDispatcher if inner else _Dispatcher
        if not inner and (room := _room_of(function)) in SOURCES:
            try:
                dispatcher._cache = _SourceCache(function, room)
            except RuntimeError:  # numba finds no folder that can be written
                _say_that_nothing_is_kept()
        return dispatcher

    return decorate


def shared(function: Any) -> Any:
    """Let compiled code call a formula that the interpreter calls too, to the same bits."""
    return register_jitable(**_OPTIONS)(function)


def _room_of(kind: Any) -> str:
    """Return the room of a function or class; nothing for one from elsewhere."""
    package, room, *_ = f"{kind.__module__}..".split(".")
    return room if package == "kpegasos" else ""


class _Part(JITCodeLibrary):
    """Code of a function that is optimised with its callers, and has no way in of its own.

    Numba optimises each function by itself and as a part of each of its callers, and makes machine
    code of it every time, though nobody can call it.
    """

    _is_part = False
    _codegen: Any

    def finalize(self) -> None:
        """Link what the function calls; optimise and compile only what Python can call."""
        defined = [each.name for each in self._final_module.functions if not each.is_declaration]
        if any(name.startswith(_WAYS_IN) for name in defined):
            super().finalize()
            self._set_environments()
            return
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._is_part = self._finalized = True

    def get_pointer_to_function(self, name: str) -> Any:
        """Return the address of a function; 0 if there is none."""
        self._ensure_finalized()
        return 0 if self._is_part else super().get_pointer_to_function(name)

    @property
    def codegen(self) -> Any:
        """Who sets the environment of the code that is there."""
        return _Nobody if self._is_part else super().codegen

    def _set_environments(self) -> None:
        for each in self._final_module.global_variables:
            found = lookup_environment(each.name)
            if found is not None and self._codegen._engine.get_global_value_address(each.name):
                self._codegen.set_env(each.name, found)


#: Whether numba's libraries are those that `_Part` was written for; others compile as numba does.
_HAS_PARTS = tuple(map(int, numba.__version__.split(".")[:2])) >= (0, 68)
#: How numba's names of functions begin that Python or C can call.
_WAYS_IN = ("_ZN7cpython", "cfunc.")


class _Codegen(JITCPUCodegen):
    """Numba's, with parts, for a level; without one for the processor that numba compiles for."""

    _library_class = _Part if _HAS_PARTS else JITCodeLibrary

    def __init__(self, level: str) -> None:
        self.level = level
        super().__init__("kpegasos")

    def _get_host_cpu_name(self) -> Any:
        return self.level or super()._get_host_cpu_name()

    def _get_host_cpu_features(self) -> Any:
        return LEVELS.get(self.level) or super()._get_host_cpu_features()


@cache
def codegen() -> Any:
    """Return what makes machine code of the package; whoever else uses numba keeps numba's own.

    It is for the processor's level if that is shipped, unless the environment names a processor.
    """
    config: Any = numba.config
    level = level_of(get_host_cpu_features())
    is_free = config.CPU_NAME is None and config.CPU_FEATURES is None
    return _Codegen(level if is_free and level and _SHIPPED.joinpath(level).is_dir() else "")


def level_of(features: str) -> str:
    """Name the level of a processor with some features; it is empty if it has none."""
    found = features.split(",")
    level = "x86-64-v4" if "+avx512f" in found else "x86-64-v3"
    return level if set(LEVELS[level].split(",")).issubset(found) else ""


#: Folders of levels, which only a wheel has.
_SHIPPED = files("kpegasos").joinpath("_compiled")


class _Nobody:
    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Set nothing: the code is not there yet."""


class _Dispatcher(CPUDispatcher):
    """A dispatcher that compiles what it calls as a part of it, and says so where that is long."""

    _cache: Any
    targetctx: Any

    def compile(self, sig: Any) -> Any:
        """Compile for some types, or load what was compiled."""
        context = self.targetctx
        with global_compiler_lock:
            before, context._internal_codegen = context._internal_codegen, codegen()
            if before is codegen():  # for a caller
                return super().compile(sig)
            collects = gc.isenabled()
            gc.disable()  # it takes a quarter of the time, and finds no garbage before the end
            try:
                with event.install_listener("numba:compile", _herald):
                    return super().compile(sig)
            finally:
                context._internal_codegen = before
                if collects:
                    gc.enable()


class _Herald(event.Listener):
    """Says once that numba compiles, if that takes longer than nobody would notice.

    Functions that are compiled one soon after the other are one wait, of which one line tells.
    """

    def __init__(self) -> None:
        self._depth, self._spent, self._ended, self._told = 0, 0.0, -math.inf, False
        self._timer = threading.Timer(0.0, int)

    def on_start(self, event: Any) -> None:
        """Begin to wait."""
        self._depth += 1
        if self._depth > 1:
            return
        self._began = time.monotonic()
        if self._began - self._ended > _PAUSE:
            self._spent, self._told = 0.0, False
        if not self._told and _may_tell():
            self._timer = threading.Timer(max(0.0, _SILENT - self._spent), self._tell)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """End it."""
        self._depth -= 1
        if self._depth == 0:
            self._timer.cancel()
            self._ended = time.monotonic()
            self._spent += self._ended - self._began

    def _tell(self) -> None:
        self._told = True
        with suppress(OSError, ValueError, AttributeError):  # a stream that is closed, or none
            sys.stderr.write("kpegasos: compiling for this processor, once (some seconds)\n")
            sys.stderr.flush()


#: Seconds of compiling that nobody is told of, and between two waits.
_SILENT, _PAUSE = 1.0, 2.0
_herald = _Herald()


def _may_tell() -> bool:
    """Tell whether somebody reads: not of a worker process, nor where the environment says so."""
    return (
        os.environ.get("KPEGASOS_QUIET", "0") in ("", "0")
        and multiprocessing.current_process().name == "MainProcess"
    )


class _InnerDispatcher(_Dispatcher):
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


class _Nowhere(_CacheLocator):
    """A cache that cannot be written: shipped code can be read all the same."""

    def __init__(self, line: int) -> None:
        self._line = line

    @classmethod
    def from_function(cls, py_func: Any, py_file: Any) -> Any:
        return cls(py_func.__code__.co_firstlineno)

    def get_cache_path(self) -> str:
        return os.devnull

    def get_disambiguator(self) -> str:
        return str(self._line)

    def get_source_stamp(self) -> str:
        return ""


class _Results(CompileResultCacheImpl):
    _locator_classes: Any = (*CompileResultCacheImpl._locator_classes, _Nowhere)


class _SourceCache(FunctionCache):
    """Numba's cache of one function, for types of the rooms that it is made of only.

    The private names of numba in this class and above are the only ones that the package uses.
    """

    _impl_class = _Results

    def __init__(self, function: Any, room: str) -> None:
        super().__init__(function)
        self._rooms = frozenset(SOURCES[room])
        folder, name = Path(self._cache_path), self._impl.filename_base
        shipped = _SHIPPED.joinpath(codegen().magic_tuple()[1])
        self._cache_file = _Files(folder, name, source_digest(room), shipped)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load what was compiled for these types, if it was kept and can be read."""
        if not _are_of(self._rooms, sig):
            return None
        rtsys.initialize(target_context)  # what compiled code calls; a compiler needs much more
        try:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
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
    """The compiled code of one function: a file for each set of types, whole or not there at all.

    The name of a file follows from what is in it, so there is no index that two processes could
    write at a time, or that could name a file that was never written. A file begins with the digest
    of the rest, which is unpickled only if that is right. What is not in the folder may be shipped.
    """

    def __init__(self, folder: Path, function: str, sources: str, shipped: Traversable) -> None:
        self.folder, self.function, self.sources = folder, function, sources
        self.shipped = shipped

    def path(self, key: Any) -> Path:
        """Return where something is kept for a key and the compiler as it is set now."""
        identity = f"{_compiler()} {self.sources} {key!r}"
        name = hashlib.sha256(identity.encode()).hexdigest()[:16]
        return self.folder / f"{self._prefix}{name}.nbc"

    def places(self, key: Any) -> tuple[Traversable, ...]:
        """Return where something for a key is looked for, one place after the other."""
        path = self.path(key)
        return path, self.shipped.joinpath(path.name)

    @property
    def _prefix(self) -> str:
        return f"{self.function}.{self.sources[:8]}."

    def load(self, key: Any) -> Any:
        """Load what was kept for a key; None if nothing was, or if it is damaged."""
        for place in self.places(key):
            with suppress(OSError):
                content = place.read_bytes()
                body = content[32:]
                if content[:32] == hashlib.sha256(body).digest():
                    kept, data = pickle.loads(body)
                    if kept == key:
                        return data
        return None

    def save(self, key: Any, data: Any) -> None:
        """Keep something for a key, and nothing that was made of other sources."""
        path = self.path(key)
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


#: Numba's settings that change what it makes of the same sources.
_SETTINGS = (
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "DISABLE_INTEL_SVML",
    "LLVM_REFPRUNE_PASS",
    "LLVM_REFPRUNE_FLAGS",
)


def _compiler() -> str:
    """Name the compiler, and how it is set."""
    settings = [f"{name}={getattr(numba.config, name, None)!r}" for name in _SETTINGS]
    return " ".join((numba.__version__, llvmlite.__version__, *settings))


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


@compiled(inner=True)
def copy_into(source: Any, target: Any) -> None:
    """Copy a vector; ``target[:] = source`` brings in numba's strings, for an error's sentence."""
    for i in range(target.size):
        target[i] = source[i]


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

    It is this machine's, or its level's, unless the environment names another. With
    ``NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES=`` (both: numba adds this machine's features to a
    name alone) a machine with AVX-512 runs the code of one with AVX2, and ``nehalem`` that of SSE.
    """
    triple, name, features = codegen().magic_tuple()
    machine = binding.Target.from_triple(triple).create_target_machine(cpu=name, features=features)
    assembly = machine.emit_assembly(binding.parse_assembly(_ADDITION))
    if "zmm" in assembly:
        return Vectors(64, 32)
    if "ymm" in assembly:
        return Vectors(32, 16)
    return Vectors(16, 32 if triple.startswith(("aarch64", "arm64")) else 16)
