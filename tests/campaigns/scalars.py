"""A number of NumPy does what Python's does, bit for bit, or is refused in one sentence.

A trial calls one public function with some of its parameters as NumPy scalars of random types, and
compares with the same call with the Python numbers that these equal. One trial in four gives one
parameter a value of the wrong kind, which must be refused by its name.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kpegasos import (
    RBF,
    ArrayChunks,
    CachedRows,
    KernelMatrix,
    LinearPegasosSVC,
    PegasosSVC,
    UncachedRows,
    datasets,
    fit_chunks,
    linear_rows,
    make_kernel,
    make_problem,
    make_rows,
    pegasos,
    sdca,
    theory,
)
from kpegasos.kernels import KERNELS

CI_TRIALS = 150

INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
FLOATS = (np.float16, np.float32, np.float64, np.longdouble)

_rng = np.random.default_rng(0)
X = np.r_[_rng.normal(-0.7, 1.0, (13, 3)), _rng.normal(0.7, 1.0, (14, 3))]
LABELS = np.repeat([0, 1], [13, 14])
THREE = np.arange(27) % 3
SIGNS = 2.0 * LABELS - 1.0

#: What a function may be given, by the name of the parameter: its kind and values to choose from.
SOLVER = {
    "epochs": ("number", [1, 2, 0.5, 3.25]),
    "n_steps": ("integer", [1, 20, 90]),
    "batch_size": ("integer", [1, 2, 7]),
    "projection": ("flag", [True, False]),
    "tol": ("number", [0.25, 0.05, 1e-3]),
    "max_time": ("number", [1000, 60.5]),
    "random_state": ("integer", [0, 7, 100]),
}
SHARED = SOLVER | {
    "C": ("number", [1, 4, 0.1, 30.3]),
    "lam": ("number", [1, 0.1, 0.013]),
    "fit_intercept": ("flag", [True, False]),
    "intercept_scaling": ("number", [1, 2, 0.3]),
    "polish": ("flag", [True, False]),
    "break_ties": ("flag", [True, False]),
    "warm_start": ("flag", [True, False]),
    "verbose": ("flag", [False]),
    "n_jobs": ("integer", [1, 2]),
}
KERNEL = {
    "gamma": ("number", [1, 0.3, 2.2]),
    "degree": ("integer", [0, 1, 2, 5]),
    "coef0": ("number", [0, 1, 0.7]),
}
#: A kernel by itself takes a float for a power.
NAMED_KERNEL = KERNEL | {"degree": ("number", [0, 1, 2, 3])}
BUDGET = {
    "cache_mb": ("number", [1, 0.25, 1000, 1e5]),
    "intercept_scaling": ("number", [0, 1, 0.3]),
}
EARLY = {
    "validation_fraction": ("number", [0.25, 0.3]),
    "n_iter_no_change": ("integer", [1, 2]),
}
#: Formulas take arrays too, and say so themselves.
FORMULA = {
    "n_steps": ("number", [3, 100, 1e6]),
    "lam": ("number", [1, 0.1]),
    "radius": ("number", [1, 2.5]),
    "projection": ("flag", [True, False]),
}

Parameters = dict[str, Any]


class Target(NamedTuple):
    """A public function: ``call(choices, parameters)``, and what its parameters may be."""

    call: Callable[[dict[str, str], Parameters], Any]
    parameters: dict[str, tuple[str, list[Any]]]
    checks: bool = True


def _model(estimator: Any) -> list[Any]:
    names = (
        "dual_coef_",
        "alpha_",
        "intercept_",
        "coef_",
        "objective_",
        "duality_gap_",
        "n_steps_",
    )
    found = [getattr(estimator, name, None) for name in (*names, "support_", "lam_")]
    histories = getattr(estimator, "history_", [])
    for history in histories if isinstance(histories, list) else [histories]:
        found += [history[name] for name in history.columns if name != "seconds"]
    return [*found, estimator.decision_function(X)]


def _result(result: Any) -> list[Any]:
    history = [result.history[name] for name in result.history.columns if name != "seconds"]
    return [
        result.alpha,
        result.coef,
        result.margins,
        result.objective,
        result.dual_bound,
        *history,
    ]


def _kernel_svc(choices: dict[str, str], parameters: Parameters) -> Any:
    model = PegasosSVC(
        kernel=choices["kernel"],
        cache=choices["cache"],
        average=choices["average"],
        **_certifiable(choices, parameters),
    )
    return _model(model.fit(X, THREE if choices["classes"] == "three" else LABELS))


def _certifiable(choices: dict[str, str], parameters: Parameters) -> Parameters:
    """Without what needs a certificate, where the kernel gives none."""
    if choices["kernel"] != "sigmoid":
        return parameters
    return {k: v for k, v in parameters.items() if k not in ("tol", "polish")}


def _linear_svc(choices: dict[str, str], parameters: Parameters) -> Any:
    early = "n_iter_no_change" in parameters and not parameters.get("warm_start")
    model = LinearPegasosSVC(average=choices["average"], early_stopping=early, **parameters)
    return _model(model.fit(X, THREE if choices["classes"] == "three" else LABELS))


def _partial_fit(choices: dict[str, str], parameters: Parameters) -> Any:
    model = LinearPegasosSVC(average=choices["average"], **parameters)
    for rows in (slice(0, 27, 2), slice(1, 27, 2)):
        model.partial_fit(X[rows], LABELS[rows], classes=[0, 1])
    return _model(model)


def _chunks(choices: dict[str, str], parameters: Parameters) -> Any:
    parameters = dict(parameters)
    chunk_size, epochs = parameters.pop("chunk_size", 20), parameters.pop("epochs", 1)
    model = LinearPegasosSVC(average=choices["average"], **parameters)
    return _model(fit_chunks(model, ArrayChunks(X, LABELS, chunk_size=chunk_size), epochs=epochs))


def _pegasos(choices: dict[str, str], parameters: Parameters) -> Any:
    rows = linear_rows(X) if choices["rows"] == "linear" else make_rows(X, cache=choices["cache"])
    task = make_problem(SIGNS, 0.1)
    return _result(pegasos(task, rows, average=choices["average"], **parameters))


def _sdca(choices: dict[str, str], parameters: Parameters) -> Any:
    rows = linear_rows(X) if choices["rows"] == "linear" else make_rows(X)
    return _result(sdca(make_problem(SIGNS, 0.1), rows, **parameters))


def _make_rows(choices: dict[str, str], parameters: Parameters) -> Any:
    kernel = choices["kernel"]
    others = {*KERNEL} - {field.name for field in fields(KERNELS[kernel])}
    parameters = {name: value for name, value in parameters.items() if name not in others}
    rows = make_rows(X, kernel, cache=choices["cache"], **parameters)
    return _result(pegasos(make_problem(SIGNS, 0.1), rows, n_steps=40, random_state=0))


def _rows_class(choices: dict[str, str], parameters: Parameters) -> Any:
    kind: Any = CachedRows
    if choices["rows"] == "linear":
        kind = UncachedRows
        parameters = {k: v for k, v in parameters.items() if k != "tile_draws"}
    rows = kind(KernelMatrix(RBF(0.5), X), **parameters)
    return _result(pegasos(make_problem(SIGNS, 0.1), rows, n_steps=40, random_state=0))


def _linear_rows(choices: dict[str, str], parameters: Parameters) -> Any:
    rows = linear_rows(sparse.csr_matrix(X), **parameters)
    return _result(pegasos(make_problem(SIGNS, 0.1), rows, n_steps=40, random_state=0))


def _problem(choices: dict[str, str], parameters: Parameters) -> Any:
    task = make_problem(SIGNS, **(parameters or {"lam": 0.1}))
    return _result(pegasos(task, make_rows(X), n_steps=40, random_state=0))


def _make_kernel(choices: dict[str, str], parameters: Parameters) -> Any:
    return [make_kernel(choices["kernel"], **parameters).block(X, X[:4])]


def _bound(choices: dict[str, str], parameters: Parameters) -> Any:
    arguments = {"n_steps": 10, "lam": 0.1, "radius": 1.0} | parameters
    return [theory.average_iterate_bound(**arguments)]


def _spirals(choices: dict[str, str], parameters: Parameters) -> Any:
    return list(datasets.make_spirals(**parameters))


TARGETS = {
    "PegasosSVC": Target(_kernel_svc, SHARED | KERNEL | {"cache_mb": BUDGET["cache_mb"]}),
    "LinearPegasosSVC": Target(_linear_svc, SHARED | EARLY),
    "partial_fit": Target(_partial_fit, SHARED),
    "fit_chunks": Target(
        _chunks,
        {k: SHARED[k] for k in ("C", "lam", "batch_size", "projection", "random_state")}
        | {"chunk_size": ("integer", [8, 14, 100]), "epochs": ("number", [1, 2])},
    ),
    "pegasos": Target(_pegasos, SOLVER),
    "sdca": Target(
        _sdca,
        {k: SOLVER[k] for k in ("tol", "max_time", "random_state")}
        | {"max_epochs": ("integer", [1, 5, 100])},
    ),
    "make_rows": Target(_make_rows, BUDGET | NAMED_KERNEL),
    "rows": Target(
        _rows_class,
        BUDGET | {"tile_rows": ("integer", [1, 4, 64]), "tile_draws": ("integer", [1, 3])},
    ),
    "linear_rows": Target(_linear_rows, {"intercept_scaling": BUDGET["intercept_scaling"]}),
    "make_problem": Target(_problem, {"lam": SHARED["lam"]}),
    "make_problem of C": Target(_problem, {"C": SHARED["C"]}),
    "make_kernel": Target(_make_kernel, NAMED_KERNEL),
    "average_iterate_bound": Target(_bound, FORMULA, checks=False),
    "make_spirals": Target(
        _spirals,
        {
            "n_samples": ("integer", [10, 31]),
            "noise": ("number", [0, 0.1]),
            "turns": ("number", [1, 1.5]),
            "random_state": ("integer", [0, 7]),
        },
        checks=False,
    ),
}
CHOICES = {
    "kernel": ["rbf", "poly", "linear", "sigmoid", "laplacian"],
    "cache": ["auto", "precomputed", "cached", "streamed"],
    "average": ["weighted", "suffix", "uniform", None],
    "classes": ["two", "three"],
    "rows": ["linear", "kernel"],
}


def trial(rng: np.random.Generator) -> str:
    """One call with NumPy's numbers beside the same with Python's, or one that is refused."""
    name = str(rng.choice(list(TARGETS)))
    target = TARGETS[name]
    choices = {key: _pick(rng, values) for key, values in CHOICES.items()}
    given, plain = {}, {}
    for parameter, (kind, values) in target.parameters.items():
        if rng.random() < 0.5 or parameter == "random_state":
            given[parameter], plain[parameter] = _numpy_and_plain(rng, kind, _pick(rng, values))
    if target.checks and rng.random() < 0.25:
        return _refused(rng, target, choices, given)
    expected, found = (_outcome(target, choices, each) for each in (plain, given))
    if isinstance(expected, str):
        assert expected == found, (name, choices, given, expected, found)
        return f"{name}: refused alike"
    assert not isinstance(found, str), (name, choices, given, found)
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        assert _same(one, other), (name, choices, given, number, one, other)
    return f"{name}: the same"


def _pick(rng: np.random.Generator, values: list[Any]) -> Any:
    return values[rng.integers(len(values))]


def _numpy_and_plain(rng: np.random.Generator, kind: str, value: Any) -> tuple[Any, Any]:
    """A value as a NumPy scalar that can hold it, and as the Python number that this equals."""
    if kind == "flag":
        return np.bool_(value), value
    whole = [t for t in INTEGERS if value == int(value) and value <= np.iinfo(t).max]
    if kind == "integer":
        return _pick(rng, whole)(value), value
    floats = [t for t in FLOATS if t is not np.float16 or value < 60_000]
    made = _pick(rng, [*whole, *floats, *floats])(value)
    return made, int(made) if isinstance(made, np.integer) else float(made)


def _wrong(rng: np.random.Generator, kind: str) -> Any:
    """A value that no parameter of a kind takes."""
    any_kind = [np.array(1), np.array([1]), "1", b"1", 1 + 0j, np.complex64(1), np.str_("1"), {}]
    number = [np.True_, True, np.nan, np.float16(np.nan), np.inf, -np.longdouble(1), -1, 10**310]
    by_kind = {
        "integer": [np.float16(2), 2.0, Fraction(2), np.longdouble(3), np.int8(-1), np.True_, True],
        "number": [*number, np.float32(np.inf), np.longdouble("1e4000"), np.int8(-3)],
        "flag": [1, 0, np.int8(1), 1.0, None],
    }
    return _pick(rng, [*any_kind, *by_kind[kind]])


def _refused(
    rng: np.random.Generator, target: Target, choices: dict[str, str], given: Parameters
) -> str:
    """Give one parameter a wrong value; it must be told by its name, in one sentence."""
    parameter = _pick(rng, list(target.parameters))
    kind = target.parameters[parameter][0]
    wrong = _wrong(rng, kind)
    if parameter in ("coef0", "n_jobs", "random_state") and _is_negative(wrong):
        return "negative, as it may be"
    if parameter in ("tol", "tile_draws", "polish", *KERNEL) or (
        parameter == "n_steps" and "epochs" not in target.parameters
    ):
        choices = choices | {"kernel": "poly", "rows": "kernel"}
    message = _outcome(target, choices, given | {parameter: wrong})
    assert isinstance(message, str), (choices, given, parameter, wrong)
    assert re.search(rf"\b{parameter}\b", message), (message, given, parameter, wrong)
    assert re.search(r"\b(must|needs?)\b", message), message
    assert len(message) < 500, message
    return f"{kind}: one clear sentence"


def _is_negative(value: Any) -> bool:
    return isinstance(value, int | np.integer | np.floating) and bool(value < 0)


def _outcome(target: Target, choices: dict[str, str], parameters: Parameters) -> Any:
    """What a call returns, or the message of its refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return target.call(choices, parameters)
        except (ValueError, TypeError) as error:
            return str(error)


def _same(one: Any, other: Any) -> bool:
    if sparse.issparse(one):
        one, other = one.toarray(), other.toarray()
    one, other = np.asarray(one), np.asarray(other)
    return (
        one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    )
