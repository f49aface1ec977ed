"""What every fitted estimator can become: models of other programs and formats, a line of HTML.

The formats themselves are the affair of `kpegasos.exports`, which knows no estimator.
"""

from __future__ import annotations

import html
import math
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kpegasos.estimators._fitted import fitted, parameters_read_later, set_model
from kpegasos.estimators._one_vs_one import pair_coefficients
from kpegasos.estimators._probabilities import own_sigmoids, sigmoids_around
from kpegasos.estimators._sklearn_compat import HtmlNoteMixin
from kpegasos.estimators._to_sklearn import to_sklearn
from kpegasos.exports.libsvm import read_libsvm, write_libsvm
from kpegasos.exports.model import Model, Sigmoids
from kpegasos.exports.onnx import write_onnx
from kpegasos.utils.validation import shown

T = TypeVar("T", bound="ReadMixin")


class ExportMixin(HtmlNoteMixin):
    """Models for other programs, of a fitted estimator."""

    if TYPE_CHECKING:  # of the estimator
        n_features_in_: int

        def _exported(self, *, values: bool = ...) -> Model: ...

    def _own_sigmoids(self) -> Sigmoids | None:
        """Sigmoids of the fitted estimator, if it has probabilities that they make."""
        return own_sigmoids(self) if hasattr(self, "classes_") else None

    def _to_be_written(self, calibrated: Any) -> Model:
        """The model with its probabilities, or those that were fitted around it."""
        check_is_fitted(self)
        model = self._exported()
        if calibrated is None:
            return model._replace(sigmoids=self._own_sigmoids())
        if model.classes is None:
            raise ValueError(f"calibrated must be None of a regressor, got {shown(calibrated)}")
        return model._replace(sigmoids=sigmoids_around(self, calibrated))

    def to_sklearn(self) -> Any:
        """Return a fitted estimator of scikit-learn with the same predictions.

        Returns
        -------
        SVC, SVR, LinearSVC or LinearSVR
            Decisions agree to rounding: they are float64, and those of float32 data here are not.
            A kernel that scikit-learn does not have is a callable there. A linear model of several
            classes is an `SVC` whose support vectors are the weights of the pairs, as `LinearSVC`
            has no pairs. Where a binary decision is exactly zero, `SVC` predicts the second class.
            Ties of the vote of a model that `from_libsvm` has read go to the lowest class, not to
            the one that its file has first. There is no ``predict_proba``: scikit-learn takes it
            from `SVC`, and has `CalibratedClassifierCV` instead.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before ``fit``.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from kpegasos import PegasosSVC
        >>> X, y = make_moons(100, noise=0.1, random_state=0)
        >>> clf = PegasosSVC(gamma=2.0, random_state=0).fit(X, y)
        >>> svc = clf.to_sklearn()
        >>> bool((svc.predict(X) == clf.predict(X)).all())
        True
        """
        check_is_fitted(self)
        return to_sklearn(self, self._exported())

    def to_libsvm(self, path: str | PathLike[str], calibrated: Any = None) -> None:
        """Write the model as a text file for LIBSVM's programs, such as ``svm-predict``.

        Kernels are the linear, polynomial, RBF and sigmoid ones and "precomputed"; classes must be
        integers. LIBSVM has no ``break_ties``. Probabilities that are sigmoids of the decisions of
        pairs are written, for ``svm-predict -b 1``, which then predicts the most probable class; of
        more than two classes it couples those of the pairs to 0.005 only.

        Parameters
        ----------
        path : path-like
            Written whole or not at all; a file that is there is replaced.
        calibrated : CalibratedClassifierCV, default=None
            As in `to_onnx`, of two classes.

        Raises
        ------
        TypeError
            If ``calibrated`` is no such thing.
        ValueError
            If LIBSVM has no such kernel, classes or probabilities.
        OSError
            If the file cannot be written.
        sklearn.exceptions.NotFittedError
            Before ``fit``.
        """
        model = self._to_be_written(calibrated)
        if calibrated is None and model.sigmoids is not None and not model.sigmoids.of_pairs:
            model = model._replace(sigmoids=None)
        write_libsvm(path, model)

    def to_onnx(self, path: str | PathLike[str], calibrated: Any = None) -> None:
        """Write the model as an ONNX graph of primitive operators in float64 (extra ``onnx``).

        The input is ``X`` of shape (n_samples, n_features), float64. The outputs are ``label`` and
        ``decision`` of a classifier, as `predict` and `decision_function` have them, votes and ties
        included, or ``prediction`` of a regressor. If there is a ``predict_proba``, its values are
        ``probabilities``, of shape (n_samples, n_classes); isotonic ones are left out.

        Parameters
        ----------
        path : path-like
            Written whole or not at all; a file that is there is replaced.
        calibrated : CalibratedClassifierCV, default=None
            Fitted around this very estimator, with sigmoids, such as
            ``CalibratedClassifierCV(FrozenEstimator(self)).fit(X, y)``. The ``probabilities`` are
            its own then.

        Raises
        ------
        ImportError
            Without the package onnx.
        TypeError
            If ``calibrated`` is no such thing.
        ValueError
            If the kernel is a function or a class of the user's, the model is above 2 GiB, or
            ``calibrated`` has several models, another one, or other curves than sigmoids.
        OSError
            If the file cannot be written.
        sklearn.exceptions.NotFittedError
            Before ``fit``.
        """
        model = self._to_be_written(calibrated)
        write_onnx(path, model, **self._of_pairs(model))

    def _of_pairs(self, model: Model) -> dict[str, Any]:
        """Coefficients of each pair, and how a classifier makes decisions of several classes."""
        if model.classes is None:
            return {"coefs": model.dual_coef}
        return {
            "coefs": pair_coefficients(model.dual_coef, model.n_support),
            "shape": fitted(self, "decision_function_shape"),
            "break_ties": fitted(self, "break_ties"),
        }

    def _html_note(self) -> str:
        """Gap, support and time in one line, for HTML; empty before ``fit``."""
        found = [
            _gap_text(getattr(self, "relative_gap_", None)),
            _support_text(self),
            _steps_text(getattr(self, "n_steps_", None)),
            _seconds_text(seconds_of_training(self)),
        ]
        return html.escape(" · ".join(part for part in found if part))


class ReadMixin(ExportMixin):
    """Models of other programs, of an estimator over a kernel."""

    #: LIBSVM's names of the models that become such an estimator.
    _libsvm_types: ClassVar[tuple[str, ...]]

    @classmethod
    def from_libsvm(cls: type[T], path: str | PathLike[str], n_features: int | None = None) -> T:
        """Read a model that ``svm-train`` or `to_libsvm` has written.

        Parameters
        ----------
        path : path-like
        n_features : int, default=None
            Columns of the rows to predict, which the file does not say; the largest index of the
            support vectors if None. With a precomputed kernel, the number of training examples.

        Returns
        -------
        PegasosSVC or PegasosSVR
            Fitted, with the kernel's parameters; all others have their defaults. It has neither a
            certificate nor ``history_``, ``alpha_``, ``lam_``, ``n_steps_``, and ``support_`` only
            with a precomputed kernel: the file knows nothing of the training examples. It has a
            ``predict_proba`` if ``svm-train -b 1`` or `to_libsvm` has written probabilities.

        Raises
        ------
        ValueError
            Naming file, line and what is wrong there.
        OSError
            If the file cannot be read.
        """
        parameters, model = read_libsvm(path, cls._libsvm_types, n_features)
        estimator = cls(**parameters)
        precomputed = model.vectors is None
        attributes = {
            "_fitted": parameters_read_later(estimator),
            "support_vectors_": np.empty((0, 0)) if precomputed else model.vectors,
            "n_support_": model.n_support,
            "dual_coef_": model.dual_coef,
            "intercept_": model.intercept,
            "_kernel": model.kernel,
            "_states": None,
            "_states_digest": None,
        }
        if model.classes is not None:
            attributes["classes_"] = model.classes
        if model.tie_order is not None:
            attributes["_tie_order"] = model.tie_order
        if model.sigmoids is not None:
            attributes["_sigmoids"] = np.array([model.sigmoids.slopes, model.sigmoids.offsets])
        if precomputed:
            attributes["support_"] = model.support
        estimator.n_features_in_ = model.n_features
        set_model(estimator, attributes)
        return estimator


def _gap_text(relative_gap: Any) -> str:
    if relative_gap is None:
        return ""
    gaps = np.atleast_1d(relative_gap)
    worst = float(gaps.max())
    if math.isnan(worst):
        return "no certified gap"
    of_pairs = f", largest of {gaps.size} pairs" if gaps.size > 1 else ""
    return f"within {100.0 * worst:.3g}% of the optimum (certified relative gap{of_pairs})"


def _support_text(estimator: Any) -> str:
    if not hasattr(estimator, "n_support_"):
        return ""
    text = f"{int(np.sum(estimator.n_support_)):,} support vectors"
    if hasattr(estimator, "alpha_"):
        text += f" of {estimator.alpha_.shape[-1]:,} examples"
    return text


def _steps_text(n_steps: Any) -> str:
    return "" if n_steps is None else f"{int(np.sum(n_steps)):,} steps"


def seconds_of_training(estimator: Any) -> float | None:
    """Seconds in the solver, of all pairs of classes together; None without a history."""
    history = getattr(estimator, "history_", None)
    if history is None:
        return None
    histories = history if isinstance(history, list) else [history]
    return float(sum(each[-1].seconds for each in histories if len(each)))


def _seconds_text(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.3g} s of training"
