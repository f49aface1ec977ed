"""Losses: what a decision costs, and all that solver and certificate have to know of it.

Lives here: each loss, a small class; `kpegasos.losses.base` says what one has to have, and how
loops ask it.
May import: numpy, numba, and `kpegasos.utils`.
"""

from __future__ import annotations

from typing import Any

from kpegasos.losses.base import Loss, check_loss
from kpegasos.losses.classification import (
    HINGE,
    Hinge,
    Logistic,
    SmoothedHinge,
    SquaredHinge,
    is_hinge,
)
from kpegasos.losses.regression import EpsilonInsensitive, Huber, SquaredEpsilonInsensitive
from kpegasos.utils.validation import as_choice

__all__ = [
    "CLASSIFICATION",
    "HINGE",
    "REGRESSION",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "SmoothedHinge",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "check_loss",
    "is_hinge",
    "make_loss",
]

#: Losses of classifiers by the names that scikit-learn has for them.
CLASSIFICATION: dict[str, Any] = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "smoothed_hinge": SmoothedHinge,
    "log_loss": Logistic,
}
#: Losses of regressors.
REGRESSION: dict[str, Any] = {
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "huber": Huber,
}


def make_loss(loss: Any, *, regression: bool, epsilon: float | None = None) -> Any:
    """Return a loss by its name, or one that is given, checked.

    Parameters
    ----------
    loss : str or Loss
    regression : bool
        Which kind it has to be.
    epsilon : float, default=None
        Parameter of a loss that is given by name: the width of a tube, Huber's ``delta``; that of
        the loss if None.

    Raises
    ------
    TypeError, ValueError
        If it is none, or of the other kind.
    """
    if isinstance(loss, str):
        named = REGRESSION if regression else CLASSIFICATION
        kind = named[as_choice("loss", loss, tuple(named))]
        return check_loss(kind() if epsilon is None else kind(float(epsilon)))
    loss = check_loss(loss)
    if bool(loss.regression) != regression:
        wanted, found = ("numbers", "labels") if regression else ("labels", "numbers")
        raise ValueError(
            f"loss must be one of {wanted}, got {type(loss).__name__}, one of {found}, instead"
        )
    return loss
