"""Identity of functions and objects of a user's: whether a kept result belongs to the same one.

A result that is gone on from, as in a warm start, belongs to a kernel, a scorer, a loss. A function
is its code, its defaults, what it closes over, and what the names in its code stand for; an object
is its type and its state. What cannot be seen through is another one each time.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import sys
import sysconfig
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import joblib
import numpy as np
from scipy import sparse

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), np.dtype)
#: What a code object is, but for where it stands.
_CODE = (
    "co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars",
    "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags",
)  # fmt: skip
_LIBRARY = Path(sysconfig.get_path("stdlib"))


def identity(value: Any) -> str:
    """Digest all that can be seen of a value; equal digests mean the same behaviour.

    Parameters
    ----------
    value : object
        Data, a function, or an object, with whatever is inside of it.

    Returns
    -------
    str
        Another one at each call where something can be neither looked into nor pickled, such as a
        generator or a lock.
    """
    try:
        return _Seen().digest(value)
    except RecursionError:
        return uuid.uuid4().hex


class _Seen:
    """Digests of what has been met; cycles end where they close."""

    def __init__(self) -> None:
        self._digests: dict[int, str] = {}
        self._met: list[Any] = []  # alive, so that no other object gets its id

    def digest(self, value: Any) -> str:
        """Digest a value."""
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind != "O":
            return str(joblib.hash(value))
        if type(value) in _PLAIN:
            return _hash(type(value).__name__, repr(value))
        known = self._digests.get(id(value))
        if known is None:
            self._digests[id(value)] = f"cycle {len(self._met)}"
            self._met.append(value)
            known = _hash(type(value).__qualname__, *self._parts(value))
            self._digests[id(value)] = known
        return known

    def _parts(self, value: Any) -> Iterator[str]:
        """Digests of what a value is made of."""
        if isinstance(value, CodeType):
            yield from (self.digest(getattr(value, name)) for name in _CODE)
        elif isinstance(value, ModuleType):
            yield value.__name__
        elif isinstance(value, type | FunctionType | BuiltinFunctionType | WrapperDescriptorType):
            yield from self._definition(value)
        elif isinstance(value, MethodType):
            yield from (self.digest(value.__func__), self.digest(value.__self__))
        elif isinstance(value, functools.partial):
            yield from map(self.digest, (value.func, value.args, value.keywords, vars(value)))
        elif isinstance(value, dict | MappingProxyType):
            pairs = ((self.digest(key), self.digest(each)) for key, each in value.items())
            yield from (_hash(*pair) for pair in sorted(pairs))
            yield from self._type_of(value)
        elif isinstance(value, set | frozenset):
            yield from sorted(map(self.digest, value))
        elif isinstance(value, list | tuple | np.ndarray):
            yield from map(self.digest, value)
            yield from self._type_of(value)
        elif sparse.issparse(value):
            yield str(joblib.hash(value))
        elif isinstance(inner := getattr(value, "py_func", None), FunctionType):
            yield self.digest(inner)  # compiled by numba
        else:
            yield from self._state(value)

    def _type_of(self, value: Any) -> Iterator[str]:
        """Return the type of a collection, if that may do other things."""
        if type(value).__module__ != "builtins":
            yield self.digest(type(value))

    def _definition(self, value: Any) -> Iterator[str]:
        """Look into a class or function: its name if it is of a library, else what it does."""
        yield str(value.__qualname__)
        module = getattr(value, "__module__", None) or ""
        if not isinstance(value, type | FunctionType):  # of a compiled module, or bound to a value
            yield module
            owner = getattr(value, "__self__", None)
            if owner is not None:
                yield self.digest(owner)
            return
        if _is_library(sys.modules.get(module)) and _found(module, value.__qualname__) is value:
            yield module
            yield from [self.digest(value.__code__)] if isinstance(value, FunctionType) else []
            return
        if isinstance(value, type):
            yield from map(self.digest, value.__bases__)
            skipped = ("__dict__", "__weakref__", "__doc__", "__module__", "_abc_impl")
            own = {name: each for name, each in vars(value).items() if name not in skipped}
            yield from (_hash(name, self._member(each)) for name, each in sorted(own.items()))
            return
        defaults = value.__defaults__, value.__kwdefaults__, vars(value)
        yield from map(self.digest, (value.__code__, *defaults))
        for cell in value.__closure__ or ():
            yield self.digest(cell.cell_contents) if _is_filled(cell) else "empty"
        for name, each in _named_in(value):
            yield _hash(name, self.digest(each))

    def _member(self, value: Any) -> str:
        """Return what a class has under a name."""
        if isinstance(value, staticmethod | classmethod):
            return _hash(type(value).__name__, self.digest(value.__func__))
        if isinstance(value, property):
            return self.digest((value.fget, value.fset, value.fdel))
        if isinstance(value, functools.cached_property):
            return self.digest(value.func)
        if type(value).__name__ in ("member_descriptor", "_tuplegetter"):
            return type(value).__name__  # what they do is in the fields
        return self.digest(value)

    def _state(self, value: Any) -> Iterator[str]:
        """Look into an object, as it would be pickled."""
        wrapped = getattr(value, "__wrapped__", None)
        if callable(wrapped):  # as functools.lru_cache does
            yield self.digest(wrapped)
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            made = reduce(value) if reduce else value.__reduce_ex__(4)
        except Exception:  # there may be anything in it
            yield uuid.uuid4().hex
            return
        if isinstance(made, str):  # the name of something global
            yield from (type(value).__module__, made)
            return
        maker, arguments, *state = made
        yield from (self.digest(type(value)), self.digest(maker), self.digest(arguments))
        for part in state:  # the last ones are iterators of a collection's entries
            yield self.digest(list(part) if isinstance(part, Iterator) else part)


def _hash(*parts: str) -> str:
    """Digest some strings; none can be taken for the end of another."""
    text = "".join(f"{len(part)} {part}" for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _is_library(module: ModuleType | None) -> bool:
    """Tell whether a module is installed, so that it does not change while a program runs."""
    if module is None or module.__name__ == "__main__":
        return False
    if module.__name__.partition(".")[0] == "kpegasos":
        return True
    file = getattr(module, "__file__", None)
    if file is None:
        return module.__name__ in sys.builtin_module_names
    installed = {"site-packages", "dist-packages"}.intersection(Path(file).parts)
    return bool(installed) or Path(file).is_relative_to(_LIBRARY)


def _found(module: str, name: str) -> Any:
    """Return what a module has under a qualified name; None if there is nothing."""
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _named_in(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Return what names in the code of a function stand for, in modules that may change as well."""
    names = sorted(_names(function.__code__))
    for name in names:
        value = function.__globals__.get(name, sys.modules.get(name))
        if value is None and name not in function.__globals__:
            continue
        yield name, value
        if isinstance(value, ModuleType) and not _is_library(value):
            own = vars(value)
            yield from ((f"{name}.{inner}", own[inner]) for inner in names if inner in own)


def _names(code: CodeType) -> set[str]:
    """Return names in a code object, and in those of the functions inside of it."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
    return found
