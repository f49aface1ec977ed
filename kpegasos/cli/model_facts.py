"""What is known of a model that was read: its kind, its kernel, its support, its certificate."""

from __future__ import annotations

from typing import Any

import numpy as np

from kpegasos.cli.model_files import NATIVE, ModelFile, core_of, layers_of, steps_before
from kpegasos.cli.reports import facts_of, percent, plain, shown_seconds
from kpegasos.estimators._exports import seconds_of_training
from kpegasos.exports.native import stored_versions
from kpegasos.model_selection import PegasosSVCCV

#: Parameters that say how a program shall work, and nothing of the model.
_OF_THE_RUN = {"n_jobs", "verbose", "warm_start", "random_state", "cache_mb", "kernel"}


def model_facts(path: str, model: ModelFile) -> dict[str, Any]:
    """What ``--json`` tells of a file.

    Parameters
    ----------
    path : str
    model : ModelFile
        What was read from it.
    """
    core = core_of(model.estimator)
    search = _search_of(model.estimator)
    facts: dict[str, Any] = {
        "file": path,
        "kind": "model",
        "format": model.format,
        "versions": stored_versions(path) if model.format == NATIVE else {},
        "steps_before": steps_before(model.estimator),
        "has_probabilities": hasattr(model.estimator, "predict_proba"),
    }
    if search is not None:
        facts["search"] = _facts_of_search(search)
    if isinstance(core, PegasosSVCCV):  # without a model of all examples
        return facts
    # The kernel itself knows the gamma that "scale" and "auto" stood for.
    kernel = getattr(core, "_kernel", None)
    facts |= {
        **facts_of(model.estimator),
        "kernel": _kernel_name(core) if kernel is None else repr(kernel),
        "parameters": _parameters_of(core),
        "support_per_class": _support_per_class(core),
        "seconds": seconds_of_training(core),
    }
    return {name: plain(value) for name, value in facts.items()}


def model_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Titles and texts of what is known.

    Parameters
    ----------
    facts : dict
        Of `model_facts`.
    """
    lines = [("model", _kind_text(facts)), ("written by", _versions_text(facts))]
    if "search" in facts:
        lines.append(("search", _search_text(facts["search"])))
    if "estimator" not in facts:
        return lines
    lines += [
        ("kernel", facts["kernel"]),
        ("parameters", _joined(facts["parameters"]) or "defaults"),
        ("features", str(facts["n_features"])),
        ("support", _support_text(facts)),
        ("objective", _objective_text(facts)),
        ("training", _training_text(facts)),
    ]
    return [(title, text) for title, text in lines if text]


# --- what is looked up ---


def _search_of(model: Any) -> PegasosSVCCV | None:
    searches = [layer for layer in layers_of(model) if isinstance(layer, PegasosSVCCV)]
    return searches[0] if searches else None


def _kernel_name(core: Any) -> str:
    return str(getattr(core, "kernel", "linear"))


def _parameters_of(core: Any) -> dict[str, Any]:
    """Parameters that differ from their defaults."""
    defaults = type(core)().get_params()
    return {
        name: value
        for name, value in core.get_params().items()
        if name not in _OF_THE_RUN and repr(value) != repr(defaults[name])
    }


def _support_per_class(core: Any) -> dict[str, int] | None:
    sizes = getattr(core, "n_support_", None)
    if sizes is None or not hasattr(core, "classes_"):
        return None
    return dict(zip(map(str, core.classes_.tolist()), sizes.tolist(), strict=True))


def _facts_of_search(search: PegasosSVCCV) -> dict[str, Any]:
    gaps = search.relative_gaps_[np.isfinite(search.relative_gaps_)]
    return {
        "status": search.status_,
        "metric": search.scoring or "accuracy",
        "n_cells": search.scores_.size,
        "n_missing": len(search.missing_),
        "largest_relative_gap": float(gaps.max()) if gaps.size else None,
        "best_parameters": getattr(search, "best_params_", None),
        "best_score": getattr(search, "best_score_", None),
    }


# --- what is said ---


def _kind_text(facts: dict[str, Any]) -> str:
    names = [*facts["steps_before"], facts.get("estimator", "PegasosSVCCV")]
    parts = [" and ".join(names)]
    parts.append("LIBSVM's format" if facts["format"] != NATIVE else "native file")
    if facts["has_probabilities"]:
        parts.append("with probabilities")
    return ", ".join(parts)


def _versions_text(facts: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in facts["versions"].items())


def _search_text(search: dict[str, Any]) -> str:
    n_done = search["n_cells"] - search["n_missing"]
    parts = [f"{search['status']}, {n_done} of {search['n_cells']} cells"]
    if search["best_parameters"] is not None:
        chosen = _joined(search["best_parameters"])
        parts.append(f"best {chosen} with {search['metric']} {search['best_score']:.4g}")
    return ", ".join(parts)


def _support_text(facts: dict[str, Any]) -> str:
    if facts["n_support"] is None:
        return ""
    vectors = f"{facts['n_support']} vector{'s' if facts['n_support'] != 1 else ''}"
    if not facts["support_per_class"]:
        return vectors
    each = ", ".join(f"{size} of class {name}" for name, size in facts["support_per_class"].items())
    return f"{vectors}: {each}"


def _objective_text(facts: dict[str, Any]) -> str:
    if "objective" not in facts:
        return "not known: the file holds no certificate"
    objectives, gaps = facts["objective"], facts["relative_gap"]
    shown = f"{objectives[0]:.4g}"
    if len(objectives) > 1:
        shown = f"{min(objectives):.4g} to {max(objectives):.4g} of {len(objectives)} pairs, each"
    if None in gaps:
        return f"{shown} without a certified gap"
    within = f"within {percent(max(gaps))} of the optimum (certified)"
    return f"{shown} {within}" if len(objectives) > 1 else f"{shown}, {within}"


def _training_text(facts: dict[str, Any]) -> str:
    parts = []
    if "n_steps" in facts:
        parts.append(f"{sum(facts['n_steps']):,} steps of Pegasos")
    if facts["seconds"] is not None:
        parts.append(f"{shown_seconds(facts['seconds'])} in the solver")
    return ", ".join(parts)


def _joined(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
