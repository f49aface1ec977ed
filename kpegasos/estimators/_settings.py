"""The parameters of an estimator as plain Python numbers: the boundary to the solvers.

scikit-learn admits every kind of number. Beyond this module there are ``int``, ``float`` and
``None`` only, so that no loop is compiled for, or overflows in, a NumPy scalar of 16 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Any

from kpegasos.core.state import PegasosOptions


@dataclass(frozen=True)
class Settings:
    """Parameters that the kernel and the linear estimator share.

    Attributes
    ----------
    options : PegasosOptions
    C, intercept_scaling : float
        ``intercept_scaling`` is 0 without an intercept.
    lam, tol, max_time : float or None
        ``tol`` is the certified relative gap at which to stop.
    n_steps : int or None
    epochs : float
    checkpoints : str, sequence of int or None
    polish : bool
    n_jobs : int or None
    """

    options: PegasosOptions
    C: float
    lam: float | None
    intercept_scaling: float
    n_steps: int | None
    epochs: float
    checkpoints: Any
    polish: bool
    tol: float | None
    max_time: float | None
    n_jobs: int | None


def settings_of(estimator: Any) -> Settings:
    """Plain parameters of an estimator whose parameters have been validated."""
    sampling = str(estimator.sampling)
    if sampling == "block":  # its name before
        sampling = "contiguous"
    options = PegasosOptions(
        batch_size=index(estimator.batch_size),
        sampling=sampling,
        projection=bool(estimator.projection),
        average=None if estimator.average is None else str(estimator.average),
    )
    tol = _float_or_none(estimator.tol)
    return Settings(
        options=options,
        C=float(estimator.C),
        lam=_float_or_none(estimator.lam),
        intercept_scaling=float(estimator.intercept_scaling) if estimator.fit_intercept else 0.0,
        n_steps=None if estimator.n_steps is None else index(estimator.n_steps),
        epochs=float(estimator.epochs),
        checkpoints=estimator.checkpoints,
        polish=bool(estimator.polish),
        tol=1e-2 if estimator.polish and tol is None else tol,
        max_time=_float_or_none(estimator.max_time),
        n_jobs=None if estimator.n_jobs is None else index(estimator.n_jobs),
    )


def _float_or_none(value: Any) -> float | None:
    return None if value is None else float(value)
