"""What streams learn: a run of Pegasos for each pair of classes, or one for numbers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from kpegasos.estimators._one_vs_one import Pair, check_weight_range, class_weights, make_pairs
from kpegasos.estimators._regressor import the_pair
from kpegasos.estimators._streams import OnlineModel
from kpegasos.utils.labels import plain_labels


class OnlineClassifier(OnlineModel):
    """Streams of all pairs of classes.

    Parameters
    ----------
    estimator : LinearPegasosSVC
        Whose parameters count; its ``random_state`` makes the seed.
    classes : array-like of shape (n_classes,)
        All classes that will ever come.
    lams : ndarray of shape (n_pairs,), default=None
        ``lam`` of each pair, in place of the estimator's.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    """

    has_labels: ClassVar[bool] = True
    own_parameter: ClassVar[str] = "class_weight"

    def __init__(self, estimator: Any, classes: Any, lams: np.ndarray | None = None) -> None:
        classes = unique_classes(classes)
        if are_numbers(classes) and not np.isfinite(classes).all():
            raise ValueError(f"classes must be finite or strings, got {classes.tolist()}")
        if classes.size < 2:
            raise ValueError(f"classes must hold at least two classes, got {classes.tolist()}")
        if estimator.class_weight == "balanced":
            raise ValueError(
                "class_weight must be a dict or None for partial_fit, got 'balanced' instead: the "
                "frequencies of a stream are not known ahead"
            )
        self.classes = classes
        super().__init__(estimator, lams)

    @property
    def n_pairs(self) -> int:
        """Number of pairs of classes."""
        return int(self.classes.size * (self.classes.size - 1) // 2)

    def check_classes(self, classes: Any) -> None:
        """Raise a ValueError if these are not the classes of the first call."""
        if not np.array_equal(unique_classes(classes), self.classes):
            raise ValueError(
                f"classes must be those of the first call, {self.classes.tolist()}, "
                f"got {unique_classes(classes).tolist()} instead"
            )

    def make_pairs(self, y: np.ndarray, weight: np.ndarray) -> Sequence[Pair]:
        """The binary problems of a chunk whose labels and weights have been validated."""
        weighty = y[weight > 0]
        same_kind = are_numbers(y) == are_numbers(self.classes)
        unknown = np.setdiff1d(weighty, self.classes) if same_kind else np.unique(weighty)
        if unknown.size:
            raise ValueError(
                f"y must have classes among {self.classes.tolist()}, got {unknown.tolist()} too"
            )
        # Examples of weight zero take no part, whatever their class.
        labels = np.searchsorted(self.classes, y) if same_kind else np.zeros(y.shape, np.intp)
        labels = np.minimum(labels, self.classes.size - 1)
        by_class = class_weights(self.parameters["class_weight"], self.classes, self.classes)
        weight = weight * by_class[labels]
        check_weight_range(weight)
        lam, C = self.parameters["lam"], self.parameters["C"]
        n_classes, (_, loss) = self.classes.size, self.parameters["loss"]
        return make_pairs(labels, n_classes, weight, lam, C, normalise=False, loss=loss)

    def attributes(
        self, coef: np.ndarray, intercept: np.ndarray, n_steps: list[int]
    ) -> dict[str, Any]:
        """Fitted attributes of a classifier; parameters are those of `OnlineModel`."""
        return {
            "classes_": self.classes,
            "coef_": coef,
            "intercept_": intercept,
            "n_steps_": n_steps[0] if len(n_steps) == 1 else np.array(n_steps),
        }

    @classmethod
    def _parameters_of(cls, estimator: Any) -> dict[str, Any]:
        class_weight = copy.deepcopy(estimator.class_weight)
        return {**super()._parameters_of(estimator), "class_weight": class_weight}


class OnlineRegressor(OnlineModel):
    """The one stream of a regression.

    Parameters
    ----------
    estimator : LinearPegasosSVR
        Whose parameters count; its ``random_state`` makes the seed.
    lams : ndarray of shape (1,), default=None
        ``lam``, in place of the estimator's.
    offset : float, default=None
        What is taken off the targets; with an intercept, the weighted mean of the first chunk that
        has weight, if None.

    Attributes
    ----------
    offset : float or None
    """

    has_labels: ClassVar[bool] = False
    own_parameter: ClassVar[str] = "epsilon"

    def __init__(
        self, estimator: Any, lams: np.ndarray | None = None, offset: float | None = None
    ) -> None:
        super().__init__(estimator, lams)
        self.offset = offset if self.parameters["intercept_scaling"] else 0.0

    @property
    def n_pairs(self) -> int:
        """There is one problem."""
        return 1

    def make_pairs(self, y: np.ndarray, weight: np.ndarray) -> Sequence[Pair]:
        """The problem of a chunk whose numbers and weights have been validated.

        The first that has weight sets the offset, if there is none yet.
        """
        check_weight_range(weight)
        if self.offset is None and weight.any():
            self.offset = float(np.average(y, weights=weight))
        lam, C, (_, loss) = (self.parameters[name] for name in ("lam", "C", "loss"))
        return [the_pair(y - (self.offset or 0.0), weight, lam, C, loss, normalise=False)]

    def attributes(
        self, coef: np.ndarray, intercept: np.ndarray, n_steps: list[int]
    ) -> dict[str, Any]:
        """Fitted attributes of a regressor; parameters are those of `OnlineModel`."""
        return {
            "coef_": coef[0],
            "intercept_": intercept + (self.offset or 0.0),
            "n_steps_": n_steps[0],
        }


def unique_classes(classes: Any) -> np.ndarray:
    """Classes in order, each once."""
    try:
        return np.unique(plain_labels(np.asarray(classes)))
    except (TypeError, ValueError):  # what is ragged, or has no order
        raise ValueError(
            f"classes must be numbers, or strings, got a {type(classes).__name__} of others"
        ) from None


def are_numbers(labels: np.ndarray) -> bool:
    """Whether labels are numbers, which are never equal to strings."""
    return labels.dtype.kind in "biuf"
