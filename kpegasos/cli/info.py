"""``kpegasos info``: what is in a file of examples or of a model."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kpegasos import cli

if TYPE_CHECKING:
    from kpegasos.cli.models import ModelFile

SUMMARY = "tell what is in a file of examples or of a model, and how long a fit would take"
USAGE = "kpegasos info [options] FILE"
EPILOG = "Whether FILE is a model its content tells, not its name."

#: Parameters that say how a program shall work, and nothing of the model.
_OF_THE_RUN = {"n_jobs", "verbose", "warm_start", "random_state", "cache_mb", "kernel"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell a parser what information takes."""
    parser.add_argument(
        "data", metavar="FILE", help="examples, or a model of kpegasos or LIBSVM; - is examples"
    )
    parser.add_argument(
        "--forecast",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="try a part of the examples to forecast what 'kpegasos train FILE' takes; yes unless "
        "--no-forecast",
    )
    cli.add_data_options(parser)
    cli.add_report_options(parser, "json")


def run(options: argparse.Namespace) -> int:
    """Look into the file, and say what is there; returns the exit status."""
    path = options.data
    if path != cli.STANDARD and cli.models.is_model(path):
        model = cli.models.read_model(path)
        facts = {"file": path, "kind": "model", **_facts_of_model(path, model)}
        lines = list(_model_lines(facts, model))
    else:
        try:
            table = cli.files.read_data(options, finite=False)
        except ValueError:
            if not options.json:
                for line in _columns(options):
                    print(line)
            raise
        known = cli.files.facts_of(table.X, table.y)
        if options.forecast:
            known |= _forecast(table, known)
        facts = {"file": path, "kind": "data", "format": table.format, **known}
        lines = list(_data_lines(facts))
    if options.json:
        cli.files.print_json(facts)
        return 0
    print(path)
    for title, text in lines:
        print(f"  {title:<12}{text}")
    return 0


# --- examples ---


def _columns(options: argparse.Namespace) -> Iterator[str]:
    """Tell what is in the columns of a text file, some of which hold no numbers."""
    import csv
    from pathlib import Path

    from kpegasos.datasets.files import opened
    from kpegasos.datasets.tables import format_by_name, separators

    path = options.data
    format = options.data_format or format_by_name(Path(path))
    if format not in ("csv", "tsv"):
        return
    import pandas

    try:
        with opened(Path(path)) as file:
            delimiter, decimal = separators(file.read(), format)
        columns = dict(pandas.read_csv(path, sep=delimiter, decimal=decimal).items())
    except (ValueError, OSError, csv.Error):  # of which the error itself tells
        return
    columns = {name: values for name, values in columns.items() if values.notna().any()}
    width = max(map(len, map(str, columns)), default=0)
    for name, values in columns.items():
        text = "numbers"
        if not pandas.api.types.is_numeric_dtype(values):
            different = values.dropna().unique()
            text = f"{len(different):,} different texts, such as {different[0]!r}"
        yield f"  {name:<{width}}  {text}"


def _forecast(table: Any, facts: dict[str, Any]) -> dict[str, Any]:
    """Forecast what ``kpegasos train`` would take, or find why that cannot be said."""
    from dataclasses import asdict

    from kpegasos import forecast
    from kpegasos.cli.main import parse
    from kpegasos.cli.train import make_estimator

    targets = facts["targets"]
    if targets is None:
        lacking = "there are no labels; --label names their column"
    elif facts["n_missing"] or facts["n_infinite"]:
        lacking = "there are values that are missing or infinite"
    elif targets["classes"] is not None and len(targets["classes"]) < 2:
        lacking = "there is one class"
    elif targets["classes"] is not None and 2 * len(targets["classes"]) > max(200, table.y.size):
        lacking = "more than half of the labels are classes of their own; train takes --regression"
    else:
        regression = ["--regression"] if targets["classes"] is None else []
        estimator = make_estimator(parse(["train", "-", *regression]), table.y)
        try:
            found = forecast(estimator, table.X, table.y)
            return {"forecast": asdict(found), "sentence": str(found)}
        except ValueError as error:  # what else a fit would refuse
            lacking = " ".join(str(error).split())
    return {"forecast": None, "no_forecast": lacking}


def _data_lines(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Give titles and texts of what is known of examples."""
    size = cli.files.shown_size(facts["n_samples"], facts["n_features"])
    yield "examples", f"{size}, {facts['format']}"
    density = f"{100.0 * facts['density']:.3g}% of the entries are not zero"
    storage = f"{facts['storage']} {facts['dtype']}, {facts['mebibytes']:.3g} MiB"
    yield "entries", f"{density}, {storage}"
    yield "labels", _targets_text(facts["targets"])
    repeated = "none"
    if facts["n_duplicates"]:
        repeated = f"{facts['n_duplicates']:,} of an earlier row"
        if facts["n_conflicts"]:
            repeated += f"; {facts['n_conflicts']:,} with the features of a row of another label"
    yield "duplicates", repeated
    n_missing, n_infinite = facts["n_missing"], facts["n_infinite"]
    broken = f"{n_missing:,} missing, {n_infinite:,} infinite"
    yield "values", broken if n_missing or n_infinite else "all finite"
    found, times = "no finite values", facts["unevenness"]
    if math.isfinite(facts["lowest"]):
        found = f"{facts['lowest']:.6g} to {facts['highest']:.6g}"
        if times > cli.files.UNEVEN:
            found += f"; the widest feature spans {times:,.3g} times the narrowest: scale them"
    yield "range", found
    if facts["n_constant"]:
        yield "constant", f"{facts['n_constant']:,} of the features"
    if "forecast" in facts:
        yield "training", facts.get("sentence") or f"none, as {facts['no_forecast']}"


def _targets_text(targets: dict[str, Any] | None) -> str:
    if targets is None:
        return "none"
    if targets["classes"] is None:
        return f"numbers from {targets['lowest']:.6g} to {targets['highest']:.6g}"
    n_classes = len(targets["classes"])
    if n_classes > 20:
        return f"{n_classes:,} classes"
    counts = ", ".join(f"{size:,} of {name}" for name, size in targets["classes"].items())
    return f"{n_classes} class{'es' if n_classes != 1 else ''}: {counts}"


# --- models ---


def _facts_of_model(path: str, model: ModelFile) -> dict[str, Any]:
    """Return what is known of a model that was read."""
    from kpegasos.estimators.exports import seconds_of_training
    from kpegasos.exports.native import stored_versions

    facts: dict[str, Any] = {
        "format": model.format,
        "versions": stored_versions(path) if model.format == cli.models.NATIVE else {},
        "steps_before": cli.models.steps_before(model.estimator),
        "has_probabilities": hasattr(model.estimator, "predict_proba"),
    }
    layers = cli.models.layers_of(model.estimator)
    for search in [each for each in layers if hasattr(each, "missing_")][:1]:
        facts["search"] = cli.models.facts_of_search(search)
    core = layers[-1]
    if hasattr(core, "missing_"):  # a search without a model of all examples
        return facts
    # The kernel itself knows the gamma that "scale" and "auto" stood for.
    kernel = getattr(core, "_kernel", None)
    defaults, sizes = type(core)().get_params(), getattr(core, "n_support_", None)
    per_class = None
    if sizes is not None and hasattr(core, "classes_"):
        per_class = dict(zip(map(str, core.classes_.tolist()), sizes.tolist(), strict=True))
    facts |= {
        **cli.models.facts_of_model(model.estimator),
        "kernel": str(getattr(core, "kernel", "linear")) if kernel is None else repr(kernel),
        "parameters": {
            name: value
            for name, value in core.get_params().items()
            if name not in _OF_THE_RUN and repr(value) != repr(defaults[name])
        },
        "support_per_class": per_class,
        "seconds": seconds_of_training(core),
    }
    return {name: cli.files.plain(value) for name, value in facts.items()}


def _model_lines(facts: dict[str, Any], model: ModelFile) -> Iterator[tuple[str, str]]:
    """Give titles and texts of what is known of a model."""
    names = [*facts["steps_before"], facts.get("estimator", "PegasosSVCCV")]
    kind = f"{' and '.join(names)}, "
    kind += "native file" if facts["format"] == cli.models.NATIVE else "LIBSVM's format"
    yield "model", kind + ", with probabilities" * facts["has_probabilities"]
    if facts["versions"]:
        yield "written by", ", ".join(f"{name} {each}" for name, each in facts["versions"].items())
    if "search" in facts:
        yield "search", _search_text(facts["search"])
    if "estimator" not in facts:
        return
    yield "kernel", facts["kernel"]
    yield "parameters", _joined(facts["parameters"]) or "defaults"
    yield "features", str(facts["n_features"])
    if facts["n_support"] is not None:
        sizes = (facts["support_per_class"] or {}).items()
        each = ", ".join(f"{size} of class {name}" for name, size in sizes)
        size = cli.files.counted(facts["n_support"], "vector")
        yield "support", f"{size}: {each}" if each else size
    objective = "not known: the file holds no certificate"
    if "objective" in facts:
        objective = cli.models.objective_text(cli.models.core_of(model.estimator))
    yield "objective", objective
    parts = [f"{sum(facts['n_steps']):,} steps of Pegasos"] if "n_steps" in facts else []
    if facts["seconds"] is not None:
        parts.append(f"{cli.files.shown_seconds(facts['seconds'])} in the solver")
    if parts:
        yield "training", ", ".join(parts)


def _search_text(search: dict[str, Any]) -> str:
    n_done = search["n_cells"] - search["n_missing"]
    text = f"{search['status']}, {n_done} of {search['n_cells']} cells"
    if search["best_parameters"] is None:
        return text
    best = f"{_joined(search['best_parameters'])} with {search['metric']}"
    return f"{text}, best {best} {search['best_score']:.4g}"


def _joined(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
