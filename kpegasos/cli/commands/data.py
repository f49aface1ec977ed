"""``kpegasos data``: the real data sets."""

from __future__ import annotations

import argparse
from typing import Any

from kpegasos.cli.reports import print_json, table_lines
from kpegasos.datasets import catalogue, fetch

_TITLES = ("name", "training", "test", "features", "classes", "MB", "licence", "folder")


def run(options: argparse.Namespace) -> int:
    """List or fetch; returns the exit status."""
    if options.action == "list":
        _list(options.json)
    else:
        _fetch(options.names, as_json=options.json)
    return 0


def _list(as_json: bool) -> None:
    entries = catalogue()
    if as_json:
        print_json({"data_sets": [_plain(entry) for entry in entries]})
        return
    rows = [list(_TITLES)]
    for entry in entries:
        sizes = (entry.n_train, entry.n_test, entry.n_features, entry.n_classes)
        place = entry.folder or ("can be fetched" if entry.fetchable else "no mirror")
        rows.append(
            [
                entry.name,
                *(f"{size:,}" for size in sizes),
                f"{entry.megabytes:.1f}",
                entry.licence,
                str(place),
            ]
        )
    text = {_TITLES.index(title) for title in ("name", "licence", "folder")}
    for line in table_lines(rows, left=text):
        print(line)


def _fetch(names: list[str], *, as_json: bool) -> None:
    found = {}
    for name in names:
        found[name] = [str(path) for path in fetch(name)]
        if not as_json:
            for path in found[name]:
                print(path)
    if as_json:
        print_json(found)


def _plain(entry: Any) -> dict[str, Any]:
    facts: dict[str, Any] = entry._asdict()
    return {**facts, "folder": None if entry.folder is None else str(entry.folder)}
