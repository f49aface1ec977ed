"""What estimators over features share: their rows, and decisions from the primal vector."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kpegasos.estimators._base import BasePegasos
from kpegasos.estimators._exports import ExportMixin
from kpegasos.estimators._one_vs_one import Pair, Pairs
from kpegasos.estimators._scale import warn_of_large_features
from kpegasos.estimators._settings import Settings
from kpegasos.estimators._sklearn_compat import StrOptions
from kpegasos.estimators._training import FitPlan
from kpegasos.exports.model import Model, check_model
from kpegasos.kernels.functions import Linear
from kpegasos.rows.base import RowSource
from kpegasos.rows.features import FeatureRows, longest_row
from kpegasos.solvers.result import Results
from kpegasos.utils.boundary import checked_vectors, require_numbers
from kpegasos.utils.validation import check_magnitude, finite_decisions

if TYPE_CHECKING:
    _Base = BasePegasos
else:
    _Base = object


class LinearMixin(ExportMixin, _Base):
    """An estimator whose model is a weight of each feature."""

    #: Those of its own parameters.
    _own_constraints: ClassVar[dict[str, list[Any]]] = {
        "sampling": [StrOptions({"permutation", "uniform", "contiguous"})],
    }

    coef_: np.ndarray
    intercept_: np.ndarray

    def _prepare(
        self, X: Any, pairs: Pairs, settings: Settings
    ) -> tuple[Callable[[Pair, int, bool], RowSource], dict[str, Any]]:
        longest = longest_row(X, check_magnitude(X))

        def make_rows(pair: Pair, n_at_once: int, brief: bool) -> RowSource:
            whole = pair.members.size == X.shape[0]
            return FeatureRows(
                X,
                members=None if whole else pair.members,
                intercept_scaling=settings.intercept_scaling,
                longest=longest,
                canonical=True,
            )

        return make_rows, {"_online": None}

    def _attributes(self, plan: FitPlan, targets: Any, results: Results) -> dict[str, Any]:
        attributes = super()._attributes(plan, targets, results)
        return {**attributes, "coef_": np.array([result.w for result in results])}

    def _decide(self, X: Any) -> np.ndarray:
        coef, intercept = self._weights()
        vectors = np.vstack([coef.T, np.zeros(len(coef))])
        return finite_decisions(FeatureRows(X, canonical=True).margins(vectors) + intercept)

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights of shape (n_pairs, n_features) and intercepts; looked at, as in `check_model`."""
        classes, coef = getattr(self, "classes_", None), np.atleast_2d(self.coef_)
        n_pairs = 1 if classes is None else len(classes) * (len(classes) - 1) // 2
        coef = checked_vectors("coef_", coef, (n_pairs, self.n_features_in_))
        return coef, require_numbers("intercept_", self.intercept_, (n_pairs,))

    def _exported(self, *, values: bool = False) -> Model:
        """A model whose support vectors are the weights of the pairs, each a vector of its own."""
        (coef, intercept), classes = self._weights(), getattr(self, "classes_", None)
        dual_coef = np.ones((1, 1))
        if classes is None:
            n_support = [1]
        elif classes.size == 2:
            n_support = [0, 1]  # of the second class: its decision is positive
        else:
            # Pairs are in lexicographic order, so that those of a first class stand together.
            pairs = list(combinations(range(classes.size), 2))
            n_support = list(range(classes.size - 1, -1, -1))
            dual_coef = np.zeros((classes.size - 1, len(pairs)))
            dual_coef[[j - 1 for _, j in pairs], np.arange(len(pairs))] = 1.0
        model = Model(
            kernel=Linear(),
            vectors=coef,
            support=None,
            n_support=np.array(n_support, dtype=np.int32),
            dual_coef=dual_coef,
            intercept=intercept,
            classes=classes,
            n_features=self.n_features_in_,
        )
        return check_model(model, values=values)

    def _report_distance(self, X: Any, results: Results, settings: Settings) -> None:
        if settings.tol is None:  # or it has been said already
            warn_of_large_features(
                type(self).__name__, X, results, settings.options.batch_size, stacklevel=6
            )
