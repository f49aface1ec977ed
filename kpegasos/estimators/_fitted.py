"""The model of an estimator: what a fit has made, and which parameters it was made with.

Parameters may change after a fit, and a subclass may keep attributes of its own beside the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Parameters that predictions, probabilities and exports go by.
_READ_LATER = (
    "C", "lam", "loss", "epsilon", "fit_intercept", "intercept_scaling", "class_weight",
    "decision_function_shape", "break_ties", "calibration",
)  # fmt: skip
#: Set by the validation of X, and not by a model.
_SET_BY_VALIDATION = ("n_features_in_", "feature_names_in_")


def parameters_read_later(estimator: Any) -> dict[str, Any]:
    """Parameters that belong to the model which is about to be made, as its ``_fitted``."""
    given = vars(estimator)
    found = {name: given[name] for name in _READ_LATER if name in given}
    return {k: dict(v) if isinstance(v, dict) else v for k, v in found.items()}


def fitted(estimator: Any, name: str) -> Any:
    """A parameter that the model was made with; as it is now if there is no model."""
    facts = vars(estimator).get("_fitted", {})
    return facts[name] if name in facts else getattr(estimator, name)


def _names_of_model(estimator: Any) -> set[str]:
    return {"_model_names", *vars(estimator).get("_model_names", ())}


def set_model(estimator: Any, attributes: dict[str, Any]) -> None:
    """Set the attributes of a model, and drop those of an earlier one that it does not have."""
    model = {**attributes, "_model_names": [*attributes]}
    earlier = _names_of_model(estimator)
    kept = {name: value for name, value in vars(estimator).items() if name not in earlier}
    # All at once: whatever interrupts, there is one model or the other.
    estimator.__dict__ = {**kept, **model}


@contextmanager
def unchanged_by_errors(estimator: Any) -> Iterator[None]:
    """Let an error leave the estimator with the model that was there before."""

    def of_model() -> set[str]:
        return _names_of_model(estimator) | set(_SET_BY_VALIDATION)

    names = of_model()
    model = {name: value for name, value in vars(estimator).items() if name in names}
    try:
        yield
    except BaseException:
        now, names = vars(estimator).items(), of_model()
        others = {name: value for name, value in now if name not in names}
        estimator.__dict__ = {**others, **model}
        raise
