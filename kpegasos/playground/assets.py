"""The files of the page, by themselves for a server and as one module for a notebook widget.

They are plain ES modules with named exports and no two top-level names alike. An import is a line
``import { a, b } from "./file.js";``. So they can be put behind each other, those that are imported
first, without the words that make them modules and without comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

#: What kinds of files there are.
MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
_IMPORT = re.compile(r'^import \{[^}\n]*\} from "\./([\w.]+)";\n', re.M)
#: Comments that have lines of their own, which a widget sends for nothing.
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*.*?\*/|//[^\n]*)[ \t]*\n", re.M | re.S)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const|let)\b)", re.M)


def kind_of(name: str) -> str:
    """Return what the name of a file ends in."""
    return name.rpartition(".")[2]


def static_files() -> dict[str, Any]:
    """Find the page's files by name, as `importlib.resources` has them."""
    folder = resources.files("kpegasos.playground") / "static"
    return {
        file.name: file
        for file in folder.iterdir()
        if file.is_file() and kind_of(file.name) in MEDIA_TYPES
    }


def text_of(name: str) -> str:
    """Read the text of a file."""
    return str(static_files()[name].read_text(encoding="utf-8"))


def files_behind(roots: Iterable[str], modules: Mapping[str, str]) -> list[str]:
    """List some modules and all that they import, each behind those that it imports.

    Parameters
    ----------
    roots : iterable of str
    modules : mapping
        Texts by name.
    """
    ordered: list[str] = []
    seen: set[str] = set()

    def visit(name: str) -> None:
        if name not in seen:
            seen.add(name)
            for imported in _IMPORT.findall(modules[name]):
                visit(imported)
            ordered.append(name)

    for root in roots:
        visit(root)
    return ordered


def bundled(roots: Iterable[str], end: str) -> str:
    """Join modules of the page and all that they import.

    Parameters
    ----------
    roots : iterable of str
        Names of files.
    end : str
        What comes behind them, with the exports.
    """
    files = static_files()
    modules = {name: text_of(name) for name in files if kind_of(name) == "js"}
    parts = [stripped(modules[name]) for name in files_behind(roots, modules)]
    return "\n".join([*parts, end])


def stripped(module: str) -> str:
    """Strip a module of what makes it one, and of its comments."""
    for words in (_IMPORT, _EXPORT, _COMMENT):
        module = words.sub("", module)
    return module
