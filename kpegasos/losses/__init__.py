"""Losses: what a decision costs, and all that solver and certificate have to know of it.

Lives here: each loss, a small class; `kpegasos.losses.base` says what one has to have, and how
loops ask it.
May import: numpy, numba, and `kpegasos.utils`.
"""

from kpegasos.losses.base import check_loss
from kpegasos.losses.standard import (
    HINGE,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    SmoothedHinge,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    is_hinge,
    make_loss,
)

__all__ = [
    "HINGE",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "SmoothedHinge",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "check_loss",
    "is_hinge",
    "make_loss",
]
