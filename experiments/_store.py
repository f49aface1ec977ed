"""Files of results and of the finished parts of a run: JSON, written as a whole or not at all."""

from __future__ import annotations

import csv
import json
import math
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Output:
    """The folders that an invocation writes to."""

    results: Path
    figures: Path
    partial: Path

    def document(self, name: str) -> Path:
        """Return the file of an experiment's results."""
        return self.results / f"{name}.json"


def plain(value: Any) -> Any:
    """Turn a value into what JSON holds, floats rounded to ten significant digits."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.10g}") if math.isfinite(value) else None
    return value


def to_json(value: Any) -> str:
    """Write JSON with the innermost lists and dictionaries on one line each."""
    text = json.dumps(plain(value), indent=1, ensure_ascii=False)
    flat = re.compile(r"([\[{])\n\s*([^\[\]{}]*)\n\s*([\]}])")  # no JSON string has a bare newline
    return flat.sub(lambda m: m[1] + re.sub(r"\n\s*", " ", m[2]) + m[3], text) + "\n"


def write(path: Path, text: str) -> None:
    """Write a file as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".tmp")
    draft.write_text(text, encoding="utf-8", newline="\n")
    draft.replace(path)


def write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a CSV file with a column for every key of any row."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(path: Path) -> dict[str, Any]:
    """Read a file that holds one JSON object."""
    document: dict[str, Any] = json.loads(path.read_bytes())
    return document


class Parts:
    """Finished parts of a run, kept in a file from the moment that they are finished.

    Parameters
    ----------
    path : Path or None
        The file; the parts in it are taken up.  ``None`` keeps the parts in memory only.
    package : str
        Fingerprint of the code that the parts depend on beside the experiment's own.
    fresh : bool
        Whether to ignore the parts in the file.

    Attributes
    ----------
    values : dict
        The parts by key.
    stale : bool
        Whether some parts were computed by other code than the present one.
    """

    def __init__(self, path: Path | None = None, package: str = "", fresh: bool = False) -> None:
        self.path = path
        self.package = package
        self.values: dict[str, Any] = {}
        self.stale = False
        self._seconds_before = 0.0
        self._start = time.perf_counter()
        if path is not None and path.exists() and not fresh:
            stored = read(path)
            self.values = stored["parts"]
            self.stale = stored["package"] != package
            self._seconds_before = stored["seconds"]

    @property
    def seconds(self) -> float:
        """Time spent on these parts and since, the earlier attempts included."""
        return self._seconds_before + time.perf_counter() - self._start

    def store(self, key: str, value: Any) -> None:
        """Add a part and write the file."""
        self.values[key] = value
        if self.path is not None:
            package = "mixed" if self.stale else self.package
            stored = {"package": package, "seconds": self.seconds, "parts": self.values}
            write(self.path, to_json(stored))
