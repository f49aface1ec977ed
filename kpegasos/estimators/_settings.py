"""The parameters of an estimator as plain Python numbers: the boundary to the solvers.

scikit-learn admits every kind of number. Beyond this module there are ``int``, ``float`` and
``None`` only, so that no loop is compiled for, or overflows in, a NumPy scalar of 16 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kpegasos.core.averaging import AVERAGES
from kpegasos.core.draws import MOST_DRAWS, SAMPLINGS
from kpegasos.core.state import PegasosOptions, options_for
from kpegasos.losses import HINGE, Hinge, make_loss
from kpegasos.utils.validation import (
    LARGEST,
    LARGEST_SCALING,
    SMALLEST,
    as_choice,
    as_flag,
    as_integer,
    as_number,
    optional,
)

#: Epochs of a plain fit with ``epochs="auto"``.
AUTO_EPOCHS = 20.0
#: Epochs, and the most draws, of the run that `polish` goes on from: it finds sooner what a longer
#: run would find.
POLISH_EPOCHS, POLISH_DRAWS = 0.5, 512


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
        Unless they are shortened; see `epochs_of`.
    shortened : bool
        Whether epochs are left to us, and `polish` takes over soon.
    checkpoints : str, sequence of int or None
    polish : bool
    n_jobs : int or None
    loss : Loss
    """

    options: PegasosOptions
    C: float
    lam: float | None
    intercept_scaling: float
    n_steps: int | None
    epochs: float
    shortened: bool
    checkpoints: Any
    polish: bool
    tol: float | None
    max_time: float | None
    n_jobs: int | None
    loss: Any = HINGE

    @property
    def counts(self) -> bool:
        """Whether coefficients of a run are numbers of violations."""
        return type(self.loss) is Hinge and not self.options.projection

    def epochs_of(self, n_samples: int) -> float:
        """Epochs of a Pegasos run over so many examples."""
        if self.shortened:
            return min(POLISH_EPOCHS, POLISH_DRAWS / n_samples)
        return self.epochs


def settings_of(estimator: Any) -> Settings:
    """Plain parameters of an estimator.

    They are checked here too: scikit-learn does not, inside another estimator's ``fit``.

    Raises
    ------
    ValueError
        Naming the parameter, what was expected and what came.
    """

    def of(check: Any, name: str, **limits: Any) -> Any:
        return check(name, getattr(estimator, name), **limits)

    def of_optional(check: Any, name: str, **limits: Any) -> Any:
        return optional(check, name, getattr(estimator, name), **limits)

    options = PegasosOptions(
        batch_size=of(as_integer, "batch_size", least=1),
        sampling=of(as_choice, "sampling", choices=SAMPLINGS),
        projection=of(as_flag, "projection"),
        average=of_optional(as_choice, "average", choices=AVERAGES),
    )
    scaling = of(as_number, "intercept_scaling", positive=True, most=LARGEST_SCALING)
    polish = of(as_flag, "polish")
    auto_epochs = isinstance(estimator.epochs, str) and estimator.epochs == "auto"
    # A score at each epoch says when to stop, so there have to be some.
    scored = bool(getattr(estimator, "early_stopping", False))
    tol = of_optional(as_number, "tol", positive=True)
    loss = make_loss(
        getattr(estimator, "loss", "hinge"),
        regression=not getattr(estimator, "_has_labels", True),
        epsilon=optional(as_number, "epsilon", getattr(estimator, "epsilon", None), least=0.0),
    )
    return Settings(
        options=options_for(loss, options),
        C=of(as_number, "C", least=SMALLEST, most=LARGEST),
        lam=of_optional(as_number, "lam", least=SMALLEST, most=LARGEST),
        intercept_scaling=scaling if of(as_flag, "fit_intercept") else 0.0,
        n_steps=of_optional(as_integer, "n_steps", least=1, most=MOST_DRAWS),
        epochs=(
            AUTO_EPOCHS if auto_epochs else of(as_number, "epochs", positive=True, most=MOST_DRAWS)
        ),
        shortened=auto_epochs and polish and not scored,
        checkpoints=estimator.checkpoints,
        polish=polish,
        tol=1e-2 if polish and tol is None else tol,
        max_time=of_optional(as_number, "max_time", positive=True),
        n_jobs=optional(_as_n_jobs, "n_jobs", getattr(estimator, "n_jobs", None)),
        loss=loss,
    )


def _as_n_jobs(name: str, value: Any) -> int:
    """Number of jobs in joblib's sense, where zero means nothing."""
    if number := as_integer(name, value):
        return number
    raise ValueError(f"{name} must be None or an integer other than 0, got 0 instead")
