"""The files of the page, by themselves for a server and as one module for a notebook widget.

They are plain ES modules with named exports and no two top-level names alike. An import is a line
``import { a, b } from "./file.js";``. So they can be put behind each other, those that are imported
first, without the words that make them modules and without comments.
"""

from __future__ import annotations

import re
from pathlib import Path

#: Where the page's files are.
STATIC = Path(__file__).parent / "static"
_IMPORT = re.compile(r'^import \{[^}\n]*\} from "\./([\w.]+)";\n', re.M)
#: Comments that have lines of their own, which a widget sends for nothing.
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*.*?\*/|//[^\n]*)[ \t]*\n", re.M | re.S)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const|let)\b)", re.M)


def text_of(name: str) -> str:
    """Read the text of a file."""
    return (STATIC / name).read_text(encoding="utf-8")


def files_behind(root: str) -> list[str]:
    """List a module and all that it imports, each behind those that it imports itself."""
    ordered: list[str] = []
    seen: set[str] = set()

    def visit(name: str) -> None:
        if name not in seen:
            seen.add(name)
            for imported in _IMPORT.findall(text_of(name)):
                visit(imported)
            ordered.append(name)

    visit(root)
    return ordered


def bundled(root: str, end: str) -> str:
    """Join a module of the page and all that it imports; behind them comes ``end``."""
    return "\n".join([*map(_stripped, files_behind(root)), end])


def _stripped(name: str) -> str:
    """Strip a module of what makes it one, and of its comments."""
    module = text_of(name)
    for words in (_IMPORT, _EXPORT, _COMMENT):
        module = words.sub("", module)
    return module
