"""Golden traces: what the solver does on small problems, written down for the JavaScript engine.

A trace holds a state of the playground, the first draws of each pair of classes, and the model at
some steps: counts, coefficients, objectives, bound and gap. ``python -m tests.playground.golden``
writes them anew after a change of the solver that is meant.
"""

from __future__ import annotations

import json
import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from kpegasos import PegasosSVC
from kpegasos.core.draws import IndexStream
from kpegasos.fitting.pairs import pair_coefficients
from kpegasos.utils.validation import draw_seed

FOLDER = Path(__file__).parent / "golden"
STEPS = (1, 2, 7, 50, 333, 2000)
#: Draws of each pair that are written down.
DRAWS = 100

_SHARED = {
    "C": None,
    "lam": None,
    "fit_intercept": True,
    "batch_size": 1,
    "sampling": "permutation",
    "projection": False,
    "average": "weighted",
    "loss": "hinge",
    "step": None,
    "seed": 0,
}
_LINEAR = {"kernel": "linear"}
_SQUARE = {"kernel": "poly", "gamma": 1.0, "degree": 2, "coef0": 1.0}
_CUBE = {"kernel": "poly", "gamma": 0.5, "degree": 3, "coef0": 2.0}
_RBF = {"kernel": "rbf", "gamma": 2.0, "degree": 3, "coef0": 0.0}
_SCALED = {"kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 0.0}
_LAPLACIAN = {"kernel": "laplacian", "gamma": 1.0, "degree": 3, "coef0": 0.0}
_SIGMOID = {"kernel": "sigmoid", "gamma": 0.5, "degree": 3, "coef0": -0.5}


def _integers(n_points: int, n_classes: int, seed: int) -> dict[str, Any]:
    """Points with whole coordinates, classes in turn, none held out."""
    rng = np.random.RandomState(seed)
    labels = np.arange(n_points) % n_classes
    points = rng.randint(-3, 4, size=(n_points, 2)) + np.array([[0, 0], [2, 1], [-1, 2]])[labels]
    return _data(points, labels, np.zeros(n_points, dtype=bool))


def _moons(n_points: int, seed: int) -> dict[str, Any]:
    points, labels = make_moons(n_points, noise=0.2, random_state=seed)
    return _data(points, labels, np.zeros(n_points, dtype=bool))


def _clouds(n_points: int, n_classes: int, seed: int) -> dict[str, Any]:
    """Clouds of which every fifth point is held out."""
    rng = np.random.RandomState(seed)
    labels = rng.randint(n_classes, size=n_points)
    angles = 2 * np.pi * labels / n_classes
    points = np.column_stack([np.cos(angles), np.sin(angles)]) + 0.5 * rng.standard_normal(
        (n_points, 2)
    )
    return _data(points, labels, np.arange(n_points) % 5 == 4)


def _data(points: Any, labels: Any, test: Any) -> dict[str, Any]:
    rounded = np.round(np.asarray(points, dtype=np.float64), 3)
    return {"points": rounded.tolist(), "labels": labels.tolist(), "test": test.tolist()}


#: Data, kernel and settings of each trace. Those of integers have λ that are powers of two, so that
#: all sums of a run are exact; no decision of theirs is zero, where rounding alone would predict.
PROBLEMS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "integers_linear": (_integers(16, 2, 4), _LINEAR, {"lam": 0.0625}),
    "integers_linear_batches": (
        _integers(16, 2, 1),
        _LINEAR,
        {"lam": 0.125, "batch_size": 3, "average": "uniform", "sampling": "uniform", "seed": 7},
    ),
    "integers_poly_last": (
        _integers(16, 2, 0),
        _SQUARE,
        {"lam": 0.5, "average": None, "fit_intercept": False, "seed": 4294967295},
    ),
    "integers_poly_suffix": (_integers(16, 2, 4), _SQUARE, {"lam": 0.25, "average": "suffix"}),
    "integers_three_classes": (_integers(18, 3, 7), _LINEAR, {"lam": 0.0625, "seed": 3}),
    "linear_projected": (_moons(24, 0), _LINEAR, {"lam": 0.01, "projection": True}),
    "rbf_moons": (_moons(40, 1), _RBF, {"C": 10.0}),
    "rbf_scale_last": (_moons(40, 2), _SCALED, {"C": 1.0, "average": None, "seed": 1}),
    "rbf_no_intercept": (
        _moons(40, 3),
        _RBF,
        {"lam": 0.001, "fit_intercept": False, "average": "uniform", "batch_size": 5},
    ),
    "rbf_projected": (
        _moons(30, 4),
        _RBF,
        {"lam": 0.003, "projection": True, "average": "suffix", "sampling": "uniform"},
    ),
    "rbf_three_classes": (_clouds(40, 3, 5), _SCALED, {"C": 3.0, "average": "suffix"}),
    "rbf_four_classes": (_clouds(60, 4, 6), _RBF, {"C": 30.0, "batch_size": 4, "seed": 12}),
    "laplacian": (_moons(30, 7), _LAPLACIAN, {"C": 5.0}),
    "poly_cubic": (_clouds(40, 2, 8), _CUBE, {"C": 1.0}),
    "sigmoid": (_moons(30, 9), _SIGMOID, {"lam": 0.02}),
    "squared_hinge": (_moons(30, 10), _RBF, {"C": 2.0, "loss": "squared_hinge"}),
    "smoothed_hinge": (_clouds(30, 2, 11), _RBF, {"C": 5.0, "loss": "smoothed_hinge"}),
    "log_loss": (_clouds(40, 3, 12), _SCALED, {"C": 2.0, "loss": "log_loss"}),
}


def trace_of(name: str) -> dict[str, Any]:
    """The trace of a problem, made by the solver as it is now."""
    data, pane, settings = PROBLEMS[name]
    state = {**data, "panes": [pane], **_SHARED, **settings}
    train = np.flatnonzero(~np.array(state["test"]))
    X, y = np.array(state["points"])[train], np.array(state["labels"])[train]
    return {
        "name": name,
        "state": state,
        "draws": _draws(state, y),
        "moments": [_moment(state, pane, train, X, y, t) for t in STEPS],
    }


def _draws(state: dict[str, Any], y: np.ndarray) -> list[list[int]]:
    """The first draws of each pair of classes."""
    seed, found = draw_seed(state["seed"]), []
    for number, pair in enumerate(combinations(np.unique(y), 2)):
        size = int(np.isin(y, pair).sum())
        stream = IndexStream(size, state["sampling"], seed, (number,))
        found.append(stream.take(0, DRAWS).tolist())
    return found


def _moment(
    state: dict[str, Any], pane: dict[str, Any], train: np.ndarray, X: Any, y: Any, t: int
) -> dict[str, Any]:
    """The model after some steps."""
    cost = {name: state[name] for name in ("C", "lam") if state[name] is not None}
    shared = ("fit_intercept", "batch_size", "sampling", "projection", "average", "loss")
    model = PegasosSVC(
        **pane,
        **cost,
        **{name: state[name] for name in shared},
        n_steps=t,
        checkpoints="log",
        random_state=state["seed"],
    ).fit(X, y)
    histories = [model.history_] if len(model.classes_) == 2 else model.history_
    ends = [history[-1] for history in histories]
    objective, gap = np.sum(model.objective_), np.sum(model.duality_gap_)
    return {
        "t": t,
        "counts": _counts(model, train, len(state["points"])),
        "pairs": _pairs(model, train),
        "objective": sum(end.objective_last for end in ends),
        "averaged": None if state["average"] is None else float(objective),
        "bound": _number(sum(end.dual_bound for end in ends)),
        "gap": _number(gap / objective),
        "train_error": float(np.mean(model.predict(X) != y)),
    }


def _counts(model: PegasosSVC, train: np.ndarray, n_points: int) -> list[int | None] | None:
    """Violations of each point in the pair with the most; None for points held out."""
    alpha = model.alpha_ if len(model.classes_) == 2 else model.alpha_.toarray().max(axis=0)
    if alpha.dtype != np.int64:
        return None
    counts: list[int | None] = [None] * n_points
    for place, count in zip(train.tolist(), alpha.tolist(), strict=True):
        counts[place] = count
    return counts


def _pairs(model: PegasosSVC, train: np.ndarray) -> list[dict[str, Any]]:
    """Coefficients of each pair, those of its second class positive."""
    sign = 1.0 if len(model.classes_) == 2 else -1.0
    coefs = pair_coefficients(model.dual_coef_, model.n_support_)
    pairs = []
    for coef, intercept in zip(coefs, model.intercept_, strict=True):
        used = np.flatnonzero(coef)
        support = train[model.support_[used]]
        order = np.argsort(support)
        pairs.append(
            {
                "support": support[order].tolist(),
                "dual_coef": (sign * coef[used][order]).tolist(),
                "intercept": sign * float(intercept),
            }
        )
    return pairs


def _number(value: Any) -> float | None:
    """A number for JSON, which has no NaN."""
    return float(value) if math.isfinite(value) else None


def path_of(name: str) -> Path:
    """Where a trace is kept."""
    return FOLDER / f"{name}.json"


def write_all() -> None:
    """Write all traces anew."""
    FOLDER.mkdir(exist_ok=True)
    for name in PROBLEMS:
        path_of(name).write_text(json.dumps(trace_of(name)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_all()
