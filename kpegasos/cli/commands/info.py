"""``kpegasos info``: what is in a file of examples or of a model."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

import numpy as np

from kpegasos import forecast
from kpegasos.cli.data_facts import UNEVEN, DataFacts, facts_of
from kpegasos.cli.data_files import read_data
from kpegasos.cli.estimators import make_estimator
from kpegasos.cli.main import parse
from kpegasos.cli.model_facts import model_facts, model_lines
from kpegasos.cli.model_files import is_model, read_model
from kpegasos.cli.output_files import STANDARD
from kpegasos.cli.reports import counted, print_json, warnings_as_lines
from kpegasos.datasets import Table

#: Classes that are named; of more only their number is told.
_MOST_CLASSES = 20


def run(options: argparse.Namespace) -> int:
    """Look into the file, and say what is there; returns the exit status."""
    path = options.file
    with warnings_as_lines("info"):
        if path != STANDARD and is_model(path):
            facts = model_facts(path, read_model(path))
            lines = model_lines(facts)
        else:
            table = read_data(path, format=options.data_format, label=options.label)
            known = facts_of(table.X, table.y)
            time = _forecast(table, known) if options.forecast else {}
            facts = {"file": path, "kind": "data", "format": table.format, **asdict(known), **time}
            lines = [*_data_lines(table, known), *_forecast_lines(time)]
    if options.json:
        print_json(facts)
        return 0
    print(path)
    for title, text in lines:
        print(f"  {title:<12}{text}")
    return 0


def _forecast(table: Table, facts: DataFacts) -> dict[str, Any]:
    """What ``kpegasos train`` would take, or why that cannot be said."""
    lacking = _lacking(facts)
    if lacking is not None:
        return {"forecast": None, "no_forecast": lacking}
    words = ["train", "-"]
    assert facts.targets is not None
    if facts.targets.classes is None:
        words.append("--regression")
    estimator = make_estimator(parse(words), table.y)
    try:
        found = forecast(estimator, table.X, table.y)
    except ValueError as error:  # what else a fit would refuse
        return {"forecast": None, "no_forecast": " ".join(str(error).split())}
    return {"forecast": asdict(found), "sentence": str(found)}


def _lacking(facts: DataFacts) -> str | None:
    """What keeps the examples from being trained on, if there is something."""
    if facts.targets is None:
        return "there are no labels; --label names their column"
    if facts.n_missing or facts.n_infinite:
        return "there are values that are missing or infinite"
    if facts.targets.classes is not None and len(facts.targets.classes) < 2:
        return "there is one class"
    return None


# --- what is said ---


def _data_lines(table: Table, facts: DataFacts) -> list[tuple[str, str]]:
    size = f"{counted(facts.n_samples, 'row')}, {counted(facts.n_features, 'feature')}"
    density = f"{100.0 * facts.density:.3g}% of the entries are not zero"
    lines = [
        ("examples", f"{size}, {table.format}"),
        ("entries", f"{density}, {facts.storage} {facts.dtype}, {facts.mebibytes:.3g} MiB"),
        ("labels", _targets_text(facts)),
        ("duplicates", _duplicates_text(facts)),
        ("values", _missing_text(facts)),
        ("range", _range_text(facts)),
    ]
    if facts.n_constant:
        lines.append(("constant", f"{facts.n_constant:,} of the features"))
    return lines


def _targets_text(facts: DataFacts) -> str:
    targets = facts.targets
    if targets is None:
        return "none"
    if targets.classes is None:
        return f"numbers from {targets.lowest:.6g} to {targets.highest:.6g}"
    n_classes = len(targets.classes)
    if n_classes > _MOST_CLASSES:
        return f"{n_classes:,} classes"
    counts = ", ".join(f"{size:,} of {name}" for name, size in targets.classes.items())
    return f"{n_classes} class{'es' if n_classes != 1 else ''}: {counts}"


def _duplicates_text(facts: DataFacts) -> str:
    if not facts.n_duplicates:
        return "none"
    text = f"{facts.n_duplicates:,} of an earlier row"
    if facts.n_conflicts:
        text += f"; {facts.n_conflicts:,} with the features of a row of another label"
    return text


def _missing_text(facts: DataFacts) -> str:
    if not (facts.n_missing or facts.n_infinite):
        return "all finite"
    return f"{facts.n_missing:,} missing, {facts.n_infinite:,} infinite"


def _range_text(facts: DataFacts) -> str:
    if not np.isfinite(facts.lowest):
        return "no finite values"
    text = f"{facts.lowest:.6g} to {facts.highest:.6g}"
    if facts.unevenness > UNEVEN:
        text += (
            f"; the widest feature spans {facts.unevenness:,.3g} times the narrowest: scale them"
        )
    return text


def _forecast_lines(time: dict[str, Any]) -> list[tuple[str, str]]:
    if not time:
        return []
    text = time.get("sentence") or f"none, as {time['no_forecast']}"
    return [("training", text)]
