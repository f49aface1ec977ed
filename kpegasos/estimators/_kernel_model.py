"""What estimators over a kernel share: the kernel, its rows, and decisions from support vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kpegasos.estimators._base import POSITIVE, BasePegasos, validated_rows
from kpegasos.estimators._exports import ReadMixin
from kpegasos.estimators._kernel_rows import GramParts, rows_of_kernel
from kpegasos.estimators._one_model import original
from kpegasos.estimators._one_vs_one import Pair, Pairs
from kpegasos.estimators._settings import Settings
from kpegasos.estimators._sklearn_compat import (
    CheckpointObserver,
    HasMethods,
    Interval,
    StrOptions,
)
from kpegasos.estimators._training import FitPlan
from kpegasos.exports.model import Model, check_model
from kpegasos.kernels.decision import gram_decision, kernel_decision
from kpegasos.kernels.functions import KERNELS, Kernel, make_kernel, parameters_of, scale_gamma
from kpegasos.rows.base import RowSource
from kpegasos.solvers.result import Results
from kpegasos.solvers.stopping import Stopper
from kpegasos.utils.validation import (
    as_choice,
    as_integer,
    as_number,
    check_gram,
    check_magnitude,
    finite_decisions,
    shown,
)

#: Of polynomials: LIBSVM's, far beyond any use.
LARGEST_DEGREE = 2**31 - 1


if TYPE_CHECKING:
    _Base = BasePegasos
else:
    _Base = object


class KernelMixin(ReadMixin, _Base):
    """An estimator whose model is a sum of kernel values."""

    #: Those of its own parameters.
    _own_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions({*KERNELS, "precomputed"}), callable, HasMethods(["block", "diag"])],
        "degree": [Interval(Integral, 0, LARGEST_DEGREE, closed="both")],
        "gamma": [StrOptions({"scale", "auto"}), POSITIVE],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "cache": [StrOptions({"auto", "precomputed", "cached", "streamed"})],
        "cache_mb": [POSITIVE, StrOptions({"auto"})],
        "row_dtype": [StrOptions({"auto", "float32", "float64"})],
    }

    kernel: Any
    degree: int
    gamma: str | float
    coef0: float
    cache: str
    cache_mb: float | str
    row_dtype: str
    support_: np.ndarray
    n_support_: np.ndarray
    dual_coef_: np.ndarray
    support_vectors_: Any
    intercept_: np.ndarray
    _kernel: Kernel | None

    def _coefficients(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Coefficients of the support vectors, and how many each class has if by SVC's layout."""
        raise NotImplementedError

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _validate(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        sparse = not self._is_precomputed() if reset else self._kernel is not None
        return validated_rows(
            self, X, y, reset=reset, accept_sparse=sparse, labels=self._has_labels
        )

    def _prepare(
        self, X: Any, pairs: Pairs, settings: Settings
    ) -> tuple[Callable[[Pair, int, bool], RowSource], dict[str, Any]]:
        if self._is_precomputed():
            return GramParts(check_gram(X), pairs, settings.intercept_scaling), {"_kernel": None}
        if isinstance(self.kernel, str):
            check_magnitude(X)
        kernel = self._make_kernel(X)
        make_rows = rows_of_kernel(
            kernel,
            X,
            pairs,
            cache=self.cache,
            cache_mb=self.cache_mb,
            batch_size=settings.options.batch_size,
            intercept_scaling=settings.intercept_scaling,
            n_jobs=settings.n_jobs,
            polish=settings.polish,
            row_dtype=as_choice("row_dtype", self.row_dtype, ("auto", "float32", "float64")),
            # Another fit may ask for another tol, and goes on from these values.
            tol=None if self.warm_start else settings.tol,
            plain=settings.tol is None and not self.warm_start,
        )
        return make_rows, {"_kernel": kernel}

    def _make_kernel(self, X: Any) -> Kernel:
        """The kernel, with those parameters that it has if it is given by name."""
        if not isinstance(self.kernel, str):
            return make_kernel(self.kernel)
        # Not all kernels have a gamma, and "scale" is a pass over X.
        gamma = scale_gamma(self.gamma, X) if "gamma" in parameters_of(self.kernel) else 1.0
        return make_kernel(
            self.kernel,
            gamma=gamma,
            degree=as_integer("degree", self.degree, least=0, most=LARGEST_DEGREE),
            coef0=as_number("coef0", self.coef0),
        )

    def _train(
        self,
        plan: FitPlan,
        targets: Any,
        observers: Sequence[CheckpointObserver],
        stopper: Stopper,
    ) -> Results:
        try:
            return super()._train(plan, targets, observers, stopper)
        except MemoryError as error:
            raise MemoryError(
                f"cache_mb must be less where memory is short, got {shown(self.cache_mb)} instead: "
                f"{error or 'out of memory'}"
            ) from error

    def _attributes(self, plan: FitPlan, targets: Any, results: Results) -> dict[str, Any]:
        attributes = super()._attributes(plan, targets, results)
        support, X = attributes["support_"], plan.X
        vectors = np.empty((0, 0), X.dtype) if self._is_precomputed() else X[support]
        return {**attributes, "support_vectors_": vectors}

    def _decide(self, X: Any) -> np.ndarray:
        model = self._exported()
        coefs, n_support = self._coefficients()
        if model.kernel is None:
            decisions = gram_decision(X, self.support_, coefs, n_support)
        else:
            decisions = kernel_decision(
                model.kernel,
                X,
                model.vectors,
                coefs,
                n_support=n_support,
                owner=original(self),
            )
        decisions += self.intercept_
        return finite_decisions(decisions)

    def _exported(self, *, values: bool = False) -> Model:
        model = Model(
            kernel=self._kernel,
            vectors=None if self._kernel is None else self.support_vectors_,
            support=getattr(self, "support_", None),  # unknown of a model that was read
            n_support=self.n_support_,
            dual_coef=self.dual_coef_,
            intercept=self.intercept_,
            classes=getattr(self, "classes_", None),
            n_features=self.n_features_in_,
            tie_order=getattr(self, "_tie_order", None),
        )
        return check_model(model, values=values)  # of a file, or edited

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags
