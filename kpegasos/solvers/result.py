"""What a run returns: a model, its certificate and what to go on from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kpegasos.core.state import State
from kpegasos.solvers.history import History


@dataclass(frozen=True)
class Result:
    """A trained binary model and its certificate.

    Attributes
    ----------
    alpha : ndarray of shape (n_samples,), float64
        How often each example was drawn while violating, times the product of the projections since
        (integers without projection); ``w_{T+1} = Σ alpha_j ω_j y_j φ(x_j) / (lam k T)``. The dual
        variables β in the case of `sdca`.
    coef : ndarray of shape (n_samples,)
        Signed coefficients: ``f(x) = Σ_j coef_j k(x_j, x) + intercept``.
    w : ndarray of shape (n_features,) or None
        Primal vector, from `FeatureRows` only.
    intercept : float
        ``B · w_B``: what the constant feature of size B adds to every decision.
    margins : ndarray of shape (n_samples,)
        ``f(x_i)`` of the training examples.
    objective : float
        ``P(w)``.
    dual_bound : float
        A lower bound on the minimum of P.
    gap, relative_gap : float
        ``objective − dual_bound`` and what rounding may have taken off the objective; the same
        divided by the objective. Bound and gaps are NaN where the kernel is not positive
        semi-definite, by its name or as the values showed.
    n_steps : int
        Steps done, all calls together.
    status : {"completed", "tolerance", "max_time", "interrupted", "stopped"}
        Why it ended; ``"stopped"`` by a monitor or a callback.
    history : History
    state : State
        What `pegasos` continues from.
    rounding : float
        How much of the gap is rounding.
    """

    alpha: np.ndarray
    coef: np.ndarray
    w: np.ndarray | None
    intercept: float
    margins: np.ndarray
    objective: float
    dual_bound: float
    gap: float
    relative_gap: float
    n_steps: int
    status: str
    history: History
    state: State | None = None
    rounding: float = 0.0
