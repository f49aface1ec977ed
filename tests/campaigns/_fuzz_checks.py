"""What the fuzz campaign asks of a call that returned, and of an error."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

from kpegasos import KernelMatrix
from kpegasos.core.state import PegasosOptions, check_options
from tests.campaigns._fuzz_values import make

#: A sentence for people, without the leftovers of what it came through.
_LEFTOVERS = re.compile(
    r"broadcast|out of bounds|boolean index|Traceback|ufunc|object is|has no attribute|"
    r"unexpected keyword|positional argument|cannot convert|not supported between|"
    r"unsupported operand|cannot be interpreted|must be real number|unhashable|invalid literal|"
    r"unpack|truth value|inhomogeneous|numba|float\(\) argument|int\(\) argument|subscriptable|"
    r"not iterable|__|setting an array|zero-size|only integers|could not convert|ambiguous|"
    r"axis|Cannot cast|<lambda>\(\)"
)
#: What a message may say instead of the parameter's name.
_ALIASES = {
    "X": ("array", "features", "sample", "samples", "sparse", "decisions", "alpha"),
    "y": ("labels", "label", "classes", "target", "targets", "samples"),
    "coef0": ("kernel", "Polynomial"),
    "coef0s": ("kernel", "Polynomial"),
    "decisions": ("margins",),
    "degree": ("kernel", "Polynomial"),
    "gamma": ("kernel", "Polynomial"),
    "groups": ("cv",),
    "metrics": ("values",),
    "sample_weight": ("weights",),
    "scores": ("axes",),  # of the panel that they add
    "counts": ("count",),
    "curves": ("y",),
    "chunks": ("X", "y", "sample_weight"),
    "estimator": ("epochs", "PegasosSVC", "LinearPegasosSVC"),
}
_MOST_CHARACTERS = 500


@cache
def fitted(kind: type) -> Any:
    """A fitted model."""
    return make(f"fitted({kind.__name__})")


def animation() -> Any:
    """An animation that can be drawn."""
    return make("animation()")


# --- errors ---------------------------------------------------------------------------------------


def assert_clear(error: Exception, blamed: dict[str, Any]) -> None:
    """Assert that an error is one clear sentence about one of some parameters."""
    # Exactly these: JSONDecodeError, UnicodeError and LinAlgError are ValueErrors, too.
    clear = (ValueError, TypeError, InvalidParameterError, NotFittedError, FileNotFoundError)
    if isinstance(error, OSError) and error.filename is not None:
        return  # Python's sentence names the file
    assert type(error) in clear, f"{type(error).__name__}: {error}"
    message = str(error)
    for value in blamed.values():
        for text in {_text(repr, value), _text(str, value)}:
            if len(text) > 2:
                message = message.replace(text, "VALUE")
    assert len(message) <= _MOST_CHARACTERS, f"{len(message)} characters: {message[:200]}"
    names = [word for name in blamed for word in (name, *_ALIASES.get(name, ()))]
    # What scikit-learn says of an array, and its users look for, may follow the sentence.
    own, _, _ = message.partition(": ")
    if not re.match(rf"({'|'.join(map(re.escape, names))}) must ", own):
        own = message
    assert own.count("\n") <= 2, f"{own.count(chr(10))} lines: {own}"
    found = _LEFTOVERS.search(own)
    assert not found, f"{found and found[0]!r} in: {type(error).__name__}: {message}"
    named = any(re.search(rf"\b{re.escape(word)}\b", message) for word in names)
    assert named, f"names none of {sorted(blamed)}: {type(error).__name__}: {message}"


def _text(write: Any, value: Any) -> str:
    try:
        return str(write(value))
    except Exception:
        return ""


# --- results --------------------------------------------------------------------------------------


def returned(result: Any, arguments: dict[str, Any]) -> None:
    """Nothing more is known."""


def fit(model: Any, arguments: dict[str, Any]) -> Any:
    """Fit a model, and assert that nothing is left of it after an error."""
    try:
        return model.fit(**arguments)
    except Exception:
        left = [name for name in vars(model) if name.endswith("_")]
        assert not left, f"left behind after an error: {left}"
        raise


def model(model: Any, arguments: dict[str, Any]) -> None:
    """A fitted model has a certificate that can be, and predicts its classes, or numbers."""
    if not (hasattr(model, "classes_") or is_regressor(model)):
        raise AssertionError("no classes_ after a fit")
    if hasattr(model, "objective_"):
        objective, gap = np.asarray(model.objective_), np.asarray(model.duality_gap_)
        assert np.isfinite(objective).all(), f"objective_ {objective}"
        assert (objective >= 0).all(), f"objective_ {objective}"
        sure = arguments.get("kernel", "rbf") in ("rbf", "linear", "laplacian")
        assert (gap >= 0).all() or (not sure and np.isnan(gap).any()), f"duality_gap_ {gap}"
    if "X" in arguments and not _has_no_model(model):
        X = arguments["X"]
        shape = X.shape if sparse.issparse(X) else np.shape(X)
        assert model.n_features_in_ == shape[1]
        if getattr(model, "kernel", None) != "precomputed":
            prediction(model.predict(X), {"X": X, "model": model})


def _has_no_model(model: Any) -> bool:
    """Whether a search has none, and says why."""
    return hasattr(model, "scores_") and (not model.refit or len(model.missing_) > 0)


def prediction(values: Any, arguments: dict[str, Any]) -> None:
    """Predictions are finite, or of the classes; one for each row."""
    if np.ndim(values) == 0:  # an accuracy, or an R² that may be negative
        assert values <= 1
        return
    X = arguments["X"]
    assert len(values) == (X.shape[0] if sparse.issparse(X) else len(X))
    if "model" in arguments and not is_regressor(arguments["model"]):
        assert np.isin(values, arguments["model"].classes_).all()
    else:
        assert np.isfinite(values).all()


def result(result: Any, arguments: dict[str, Any]) -> None:
    """A result has finite margins and a gap that can be."""
    assert np.isfinite(result.objective)
    assert result.gap >= 0 or np.isnan(result.gap)
    assert np.isfinite(result.margins).all()
    assert np.isfinite(result.coef).all()


def bound(values: Any, arguments: dict[str, Any]) -> None:
    """A bound is not negative; it may be beyond all numbers."""
    assert (np.asarray(values) >= 0).all(), f"{values}"


def data(points: Any, arguments: dict[str, Any]) -> None:
    """Toy data are finite, and of two classes at the most."""
    X, y = points
    assert X.shape[0] == len(y) == arguments.get("n_samples", len(y))
    assert np.isfinite(X.data if sparse.issparse(X) else X).all()
    assert np.isin(y, [0, 1]).all()


def text(points: Any, arguments: dict[str, Any]) -> None:
    """Documents are finite, with labels ±1."""
    X, y = points
    data((X, (y + 1) // 2), arguments)


def kernel_values(kernel: Any) -> Any:
    """Values of a kernel on the data, without their signs as some want histograms: finite."""
    values = KernelMatrix(kernel, np.abs(make("X"))).block(slice(None), slice(None))
    assert np.isfinite(values).all()
    return values


def options(**arguments: Any) -> Any:
    """Options as every solver checks them."""
    return check_options(PegasosOptions(**arguments), 24)
