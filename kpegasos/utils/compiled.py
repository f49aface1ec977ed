"""Compiling, and a disk cache that is keyed by what a compiled function depends on.

Numba stamps a cached function with its own file. It does not see an edit in another file: an
overload, a function that it calls, a constant. So the stamp is replaced by a digest of all sources
that the compiled code of a room may be made of: `SOURCES`. A function may then live where it
belongs, and an edit compiles anew what it may change.

Numba's index also names a file before that is written, and trusts whatever bytes it finds there.
`_Files` takes the place of index and files, each of which is whole or not there at all.

What is compiled elsewhere, or for types from elsewhere, such as a user's own view of rows, is not
kept on disk: its sources are not in the digest, and a process that cannot import them could not
read the cache.

Names of numba that are not public stand in this file alone; the versions of numba that the package
asks for have them.
"""

from __future__ import annotations

import gc
import hashlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
from llvmlite import binding
from numba import njit
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.extending import register_jitable

#: Rooms and files that the compiled functions of a room are made of; a test looks for others.
SOURCES = {
    "core": ("core", "losses", "utils/compiled.py", "utils/tuning.py"),
    "kernels": ("kernels", "utils/compiled.py", "utils/tuning.py"),
    "losses": ("losses", "utils/compiled.py"),
}

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
        part = compiled(fastmath, inner=True, error_model=error_model)
        dispatcher.part = (lambda: dispatcher) if inner else cache(partial(part, function))
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
    """Return the room of a function or class; an empty string for one from elsewhere."""
    package, room, *_ = f"{kind.__module__}..".split(".")
    return room if package == "kpegasos" else ""


class _Part(JITCodeLibrary):
    """Code of a function that is optimised with its callers, and has no way in of its own.

    Numba optimises each function by itself and as a part of each of its callers, and makes machine
    code of it every time, though nobody can call it.
    """

    _is_part = False

    def add_ir_module(self, ir_module: Any) -> None:
        """Add code, but no way in from C for what the interpreter cannot call either."""
        if ir_module.name != "cfunc_wrapper" or self._has_ways_in():
            super().add_ir_module(ir_module)

    def _has_ways_in(self) -> bool:
        defined = [each for each in self._final_module.functions if not each.is_declaration]
        return any(each.name.startswith(_WAYS_IN) for each in defined)

    def finalize(self) -> None:
        """Link what the function calls; optimise and compile only what Python can call."""
        self._is_part = not self._has_ways_in()
        super().finalize()
        if not self._is_part:
            self._set_environments()

    def _optimize_final_module(self) -> None:
        if not self._is_part:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if self._is_part:
            self._finalize_dynamic_globals()
            self._finalized = True
        else:
            super()._finalize_final_module()

    def get_pointer_to_function(self, name: str) -> Any:
        """Return the address of a function; 0 if there is none."""
        self._ensure_finalized()
        return 0 if self._is_part else super().get_pointer_to_function(name)

    @property
    def codegen(self) -> Any:
        """What sets the environment of code; nothing for a part, which has no code yet."""
        return _Nobody if self._is_part else super().codegen

    def _set_environments(self) -> None:
        codegen = super().codegen
        for each in self._final_module.global_variables:
            found = lookup_environment(each.name)
            if found is not None and codegen._engine.get_global_value_address(each.name):
                codegen.set_env(each.name, found)


#: How numba's names of functions begin that Python or C can call.
_WAYS_IN = ("_ZN7cpython", "cfunc.")


class _Codegen(JITCPUCodegen):
    """Numba's, with parts."""

    _library_class = _Part


@cache
def _codegen() -> Any:
    """Return what makes machine code of the package; whoever else uses numba keeps numba's own."""
    return _Codegen("kpegasos")


class _Nobody:
    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Set nothing: the code is not there yet."""


class _Dispatcher(CPUDispatcher):
    """A dispatcher that compiles what it calls as a part of it, and prints a line if it is slow."""

    targetctx: Any
    part: Callable[[], Any]

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile for a caller; a function of the package becomes a part of its caller."""
        return super(_Dispatcher, self._called()).get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Return what a caller calls."""
        return super(_Dispatcher, self._called()).get_overload(sig)

    def _called(self) -> Any:
        return self.part() if self.targetctx._internal_codegen is _codegen() else self

    def compile(self, sig: Any) -> Any:
        """Compile for some types, or load what was compiled."""
        context = self.targetctx
        with global_compiler_lock:
            before = context._internal_codegen
            if before is _codegen():  # for a caller
                return super().compile(sig)
            collects = gc.isenabled()
            gc.disable()  # it takes a quarter of the time, and finds no garbage before the end
            context._internal_codegen = _codegen()
            try:
                with _heralded(), _whole():
                    return super().compile(sig)
            finally:
                context._internal_codegen = before
                if collects:
                    gc.enable()


@contextmanager
def _whole() -> Iterator[None]:
    """Delay Ctrl-C until the end: once interrupted, numba compiles nothing any more."""
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if main else None
    if not callable(handler):  # ignored, or not installed from Python: leave it
        yield
        return
    pressed: list[Any] = []
    signal.signal(signal.SIGINT, lambda *press: pressed.append(press))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if pressed:
            handler(*pressed[-1])


@contextmanager
def _heralded() -> Iterator[None]:
    """Print that numba compiles, if that takes noticeably long."""
    timer = threading.Timer(_SILENT, _tell)
    timer.daemon = True
    if _may_tell():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


#: Seconds of compiling that are not reported.
_SILENT = 1.0


@cache
def _tell() -> None:
    """Write the line, once."""
    with suppress(OSError, ValueError, AttributeError):  # a stream that is closed, or none
        sys.stderr.write("kpegasos: compiling for this processor, once (some seconds)\n")
        sys.stderr.flush()


def _may_tell() -> bool:
    """Check whether to print: not in a worker process, nor where ``KPEGASOS_QUIET`` is set."""
    return (
        os.environ.get("KPEGASOS_QUIET", "0") in ("", "0")
        and multiprocessing.current_process().name == "MainProcess"
    )


if hasattr(os, "register_at_fork"):
    # A child would wait for ever for what another thread held, and find it half done: so a fork
    # waits until nobody compiles.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
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


class _SourceCache:
    """The cache of one function, as numba asks for it, for types of the rooms in `SOURCES`."""

    def __init__(self, function: Any, room: str) -> None:
        kept = CompileResultCacheImpl(function)
        self._rooms = frozenset(SOURCES[room])
        self.cache_path = kept.locator.get_cache_path()
        self._files = _Files(Path(self.cache_path), kept.filename_base, source_digest(room))
        self._make_folder = kept.locator.ensure_cache_path
        self._can_keep, self._reduce, self._rebuild = kept.check_cachable, kept.reduce, kept.rebuild

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load what was compiled for these types, if it was kept and can be read."""
        if not _are_of(self._rooms, sig):
            return None
        rtsys.initialize(target_context)  # what compiled code calls; a compiler needs more
        # Written by another version of the package, with types that no longer exist.
        with suppress(ImportError, AttributeError, TypeError):
            data = self._files.load(sig)
            return None if data is None else self._rebuild(target_context, data)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for these types, if they are of these rooms."""
        if not (_are_of(self._rooms, sig) and self._can_keep(data)):
            return
        try:
            self._make_folder()
            self._files.save(sig, self._reduce(data))
        except OSError:  # a full disk, for one
            _say_that_nothing_is_kept()

    def flush(self) -> None:
        """Keep what there is, when numba recompiles: it is of the sources as they are."""


class _Files:
    """The compiled code of one function: a file for each set of types, whole or not there at all.

    The name of a file follows from what is in it, so there is no index that two processes could
    write at a time, or that could name a file that was never written. A file begins with the digest
    of the rest, which is unpickled only if that is right.
    """

    def __init__(self, folder: Path, function: str, sources: str) -> None:
        self.folder, self.function, self.sources = folder, function, sources

    def path(self, key: Any) -> Path:
        """Return where something is kept for a key and the compiler as it is set now."""
        identity = f"{_compiler()} {self.sources} {key!r}"
        name = hashlib.sha256(identity.encode()).hexdigest()[:16]
        return self.folder / f"{self._prefix}{name}.nbc"

    @property
    def _prefix(self) -> str:
        return f"{self.function}.{self.sources[:8]}."

    def load(self, key: Any) -> Any:
        """Load what was kept for a key; None if nothing was, or if it is damaged."""
        with suppress(OSError):
            content = self.path(key).read_bytes()
            body = content[32:]
            if content[:32] == hashlib.sha256(body).digest():
                kept, data = pickle.loads(body)
                if kept == key:
                    return data
        return None

    def save(self, key: Any, data: Any) -> None:
        """Keep something for a key, and remove the function's files from other sources."""
        path = self.path(key)
        body = dumps((key, data))
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
        for other in self.folder.glob(f"{self.function}.*"):
            if not other.name.startswith(self._prefix):
                with suppress(OSError):  # another process may have it open, or have removed it
                    other.unlink()


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
    """Name the compiler and its settings."""
    settings = [f"{name}={getattr(numba.config, name, None)!r}" for name in _SETTINGS]
    return " ".join((numba.__version__, llvmlite.__version__, *target(), *settings))


def _are_of(rooms: frozenset[str], sig: Any) -> bool:
    """Check whether all named tuples of a signature, and within them, are of some rooms."""
    for kind in getattr(sig, "args", sig):
        own = getattr(kind, "instance_class", None)
        if own is not None and _room_of(own) not in rooms:
            return False
        if hasattr(kind, "__iter__") and not _are_of(rooms, tuple(kind)):  # a tuple
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


def target() -> tuple[str, str, str]:
    """Return triple, name and features of the processor that numba compiles for."""
    names: tuple[str, str, str] = cpu_target.target_context.codegen().magic_tuple()
    return names


@cache
def target_vectors() -> Vectors:
    """Find the vectors of the processor that numba compiles for, as its compiler uses them.

    It is this machine's, unless the environment names another. With
    ``NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES=`` (both: numba adds this machine's features to a
    name alone) a machine with AVX-512 runs the code of one with AVX2, and ``nehalem`` that of SSE.
    """
    triple, name, features = target()
    machine = binding.Target.from_triple(triple).create_target_machine(cpu=name, features=features)
    assembly = machine.emit_assembly(binding.parse_assembly(_ADDITION))
    if "zmm" in assembly:
        return Vectors(64, 32)
    if "ymm" in assembly:
        return Vectors(32, 16)
    return Vectors(16, 32 if triple.startswith(("aarch64", "arm64")) else 16)
