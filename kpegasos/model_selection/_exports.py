"""What a search can become: the model that it chose, with the probabilities that it calibrated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from kpegasos.estimators._exports import ExportMixin
from kpegasos.estimators._fitted import fitted
from kpegasos.estimators._probabilities import sigmoids_of
from kpegasos.exports.model import Model, Sigmoids

_WITHOUT_MODEL = (
    "%(name)s has no model of all examples to write, since refit was False or the search was "
    "stopped before it"
)


class SearchExportMixin(ExportMixin):
    """Models for other programs, of a search that has been fitted to all examples."""

    if TYPE_CHECKING:  # of the search
        calibration: str | None
        best_estimator_: Any
        calibrator_: Any

    def _exported(self, *, values: bool = False) -> Model:
        check_is_fitted(self, "best_estimator_", msg=_WITHOUT_MODEL)
        model: Model = self.best_estimator_._exported(values=values)
        return model

    def _own_sigmoids(self) -> Sigmoids | None:
        calibrated = fitted(self, "calibration") == "sigmoid" and hasattr(self, "calibrator_")
        return sigmoids_of(self.calibrator_) if calibrated else None

    def to_sklearn(self) -> Any:
        """Return a fitted estimator of scikit-learn with the same predictions.

        Returns
        -------
        SVC
            That of the chosen model, see `PegasosSVC.to_sklearn`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before ``fit``, and without a model of all examples.
        """
        check_is_fitted(self)
        check_is_fitted(self, "best_estimator_", msg=_WITHOUT_MODEL)
        return self.best_estimator_.to_sklearn()
