"""``kpegasos data``: the real data sets."""

from __future__ import annotations

import argparse

from kpegasos import cli

SUMMARY = "list and fetch the real data sets"
USAGE = "kpegasos data [--json] list | fetch NAME ..."
EPILOG = """\
fetch downloads sets that have a mirror, and verifies what is there. Sets are looked for in the
folder that KPEGASOS_DATA names, then in the user's cache."""

_TITLES = ("name", "training", "test", "features", "classes", "MB", "licence", "folder")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what is done with data sets."""
    parser.add_argument("action", choices=("list", "fetch"))
    parser.add_argument("names", metavar="NAME", nargs="*", help="as 'kpegasos data list' says")
    cli.add_report_options(parser, "json")


def run(options: argparse.Namespace) -> int:
    """List or fetch; returns the exit status."""
    if (options.action == "fetch") != bool(options.names):
        raise cli.UsageError("names must be given to fetch, and to list none")
    (_fetch if options.action == "fetch" else _list)(options)
    return 0


def _list(options: argparse.Namespace) -> None:
    from kpegasos.datasets import catalogue

    entries = catalogue()
    if options.json:
        cli.files.print_json({"data_sets": [entry._asdict() for entry in entries]})
        return
    rows = [list(_TITLES)]
    for entry in entries:
        sizes = (entry.n_train, entry.n_test, entry.n_features, entry.n_classes)
        place = entry.folder or ("can be fetched" if entry.fetchable else "no mirror")
        texts = [f"{entry.megabytes:.1f}", entry.licence, str(place)]
        rows.append([entry.name, *(f"{size:,}" for size in sizes), *texts])
    for line in cli.files.table_lines(rows, left=[0, 6, 7]):
        print(line)


def _fetch(options: argparse.Namespace) -> None:
    from kpegasos.datasets import fetch

    found = {}
    for name in options.names:
        found[name] = [str(path) for path in fetch(name)]
        if not options.json:
            print("\n".join(found[name]))
    if options.json:
        cli.files.print_json(found)
