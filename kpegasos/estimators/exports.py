"""Exports of fitted estimators: models of other programs and formats, a line of HTML.

The formats themselves are the affair of `kpegasos.exports`, which knows no estimator.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from kpegasos.exports.libsvm import KERNELS, named_kernel, write_libsvm
from kpegasos.exports.model import Model, Sigmoids
from kpegasos.fitting.model import fitted
from kpegasos.fitting.pairs import pair_coefficients
from kpegasos.kernels.base import Kernel, check_values
from kpegasos.losses import Logistic
from kpegasos.utils.boundary import require_numbers
from kpegasos.utils.validation import canonical_rows, shown

if TYPE_CHECKING:
    from sklearn.calibration import CalibratedClassifierCV


def has_log_odds(estimator: Any) -> bool:
    """Tell whether decisions of a classifier are log-odds."""
    loss = fitted(estimator, "loss")
    return isinstance(loss, Logistic) or (isinstance(loss, str) and loss == "log_loss")


def own_sigmoids(estimator: Any) -> Sigmoids | None:
    """Return a fitted classifier's own, None if it has none.

    Parameters
    ----------
    estimator : OneVsOneMixin
    """
    of_file = getattr(estimator, "_sigmoids", None)
    if of_file is not None:
        slopes, offsets = require_numbers("_sigmoids", of_file, (2, estimator.intercept_.size))
        if not np.isfinite(of_file).all():
            raise ValueError("_sigmoids must be finite, got NaN or infinity")
        return Sigmoids(slopes, offsets)
    if not has_log_odds(estimator):
        return None
    n_pairs = estimator.intercept_.size
    return Sigmoids(np.ones(n_pairs), np.zeros(n_pairs))


def set_sigmoids(estimator: Any, sigmoids: Sigmoids) -> None:
    """Give a fitted classifier a ``predict_proba``, by sigmoids of the decisions of its pairs."""
    estimator._sigmoids = np.array([sigmoids.slopes, sigmoids.offsets])


def sigmoids_around(estimator: Any, calibrated: Any) -> Sigmoids:
    """Return what scikit-learn has fitted around an estimator.

    Parameters
    ----------
    estimator : OneVsOneMixin
    calibrated : CalibratedClassifierCV

    Raises
    ------
    TypeError
        If it is none.
    ValueError
        If it has several models, another one, or no sigmoids.
    """
    from sklearn.calibration import CalibratedClassifierCV

    if not isinstance(calibrated, CalibratedClassifierCV):
        raise TypeError(
            f"calibrated must be a CalibratedClassifierCV or None, got {shown(calibrated)} instead"
        )
    check_is_fitted(calibrated)
    models = calibrated.calibrated_classifiers_
    if len(models) != 1:
        raise ValueError(
            f"calibrated must have one model, as with ensemble=False, got {len(models)} instead"
        )
    inner = models[0].estimator
    if inner is not estimator and getattr(inner, "estimator", None) is not estimator:
        raise ValueError(
            "calibrated must be fitted around this very estimator, as with FrozenEstimator, got "
            "one around another"
        )
    n_classes = estimator.classes_.size
    shape = estimator.decision_function_shape
    if n_classes > 2 and shape != "ovr":
        raise ValueError(
            "calibrated must be of decisions with decision_function_shape='ovr', got "
            f"{shape!r} instead"
        )
    return sigmoids_of(calibrated)


def sigmoids_of(calibrated: CalibratedClassifierCV) -> Sigmoids:
    """Return what a fitted calibration with one model has.

    Parameters
    ----------
    calibrated : CalibratedClassifierCV

    Raises
    ------
    ValueError
        If its method is not "sigmoid".
    """
    if calibrated.method != "sigmoid":
        raise ValueError(
            f"calibrated must have the method 'sigmoid', got {shown(calibrated.method)} instead"
        )
    calibrators = calibrated.calibrated_classifiers_[0].calibrators
    slopes, offsets = np.array([[-each.a_, -each.b_] for each in calibrators], dtype=float).T
    return Sigmoids(slopes, offsets, of_pairs=len(calibrators) == 1)


def set_libsvm_model(svm: Any, model: Model) -> None:
    """Make an SVC or SVR, whose parameters are those of the kernel, a fitted one, of this model."""
    n_vectors, classes = model.dual_coef.shape[1], model.classes
    of_callable, given = callable(svm.kernel), model.vectors is None
    places = np.arange(n_vectors) if model.support is None or of_callable else model.support
    vectors: Any = np.empty((n_vectors, 0)) if given or of_callable else model.vectors
    is_sparse = sparse.issparse(vectors)
    dual_coef: Any = np.array(model.dual_coef, dtype=np.float64, order="C")
    if is_sparse:
        vectors = sparse.csr_matrix(vectors, dtype=np.float64)
        vectors.sort_indices()
        columns = np.tile(np.arange(n_vectors, dtype=np.int32), len(dual_coef))
        ends = np.arange(len(dual_coef) + 1, dtype=np.int32) * n_vectors
        # Every entry is there, zeros too: LIBSVM reads them as a dense array.
        dual_coef = sparse.csr_matrix((dual_coef.ravel(), columns, ends), dual_coef.shape)
    else:
        vectors = np.array(vectors, dtype=np.float64, order="C")
    # Inside an SVC, decisions of two classes are positive for the first.
    flips = -1.0 if classes is not None and classes.size == 2 else 1.0
    regression = {"_n_support": np.array([n_vectors, 0], dtype=np.int32), "n_iter_": 0}
    vars(svm).update(
        regression
        if classes is None
        else {
            "classes_": classes.copy(),
            "class_weight_": np.ones(classes.size),
            "_n_support": np.array(model.n_support, dtype=np.int32),
            "n_iter_": np.zeros(model.intercept.size, dtype=np.int32),
        }
    )
    vars(svm).update(
        support_=np.array(places, dtype=np.int32),
        support_vectors_=vectors,
        dual_coef_=dual_coef,
        intercept_=model.intercept.copy(),
        shape_fit_=(model.n_features,) * 2 if given else (n_vectors, model.n_features),
        fit_status_=0,
        _dual_coef_=flips * dual_coef,
        _intercept_=flips * model.intercept,
        _gamma=0.0 if given or of_callable or svm.kernel == "linear" else float(svm.gamma),
        _sparse=is_sparse,
        _probA=np.empty(0),
        _probB=np.empty(0),
        _effective_probability=False,
        _num_iter=svm.n_iter_,
    )
    if of_callable:
        svm._BaseLibSVM__Xfit = model.vectors


@dataclass(frozen=True)
class KernelFunction:
    """A kernel object as a callable kernel of scikit-learn.

    Attributes
    ----------
    kernel : Kernel
    """

    kernel: Kernel

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Return kernel values of shape (n_a, n_b), computed in float64."""
        A, B = (canonical_rows(rows).astype(np.float64, copy=False) for rows in (A, B))
        return np.asarray(check_values(self.kernel.block(A, B), A, B), dtype=np.float64)


def to_sklearn(estimator: Any, model: Model) -> Any:
    """Return the model as a fitted estimator of scikit-learn.

    Parameters
    ----------
    estimator : BasePegasos
        Whose parameters are taken over where scikit-learn has them.
    model : Model
        Its model.
    """
    is_linear = not hasattr(estimator, "kernel")
    if is_linear and (model.classes is None or model.classes.size == 2):
        made = _linear(estimator, model)
    else:
        made = _libsvm(estimator, model)
    made.n_features_in_ = model.n_features
    if hasattr(estimator, "feature_names_in_"):
        made.feature_names_in_ = estimator.feature_names_in_
    return made


def _common(estimator: Any, model: Model) -> dict[str, Any]:
    """Return parameters that all have; C belongs to ``lam`` without weights, if that is given."""
    C, lam = float(fitted(estimator, "C")), fitted(estimator, "lam")
    if lam is not None and hasattr(estimator, "alpha_"):
        C = 1.0 / (float(lam) * estimator.alpha_.shape[-1])
    if model.classes is None:
        return {"C": C, "epsilon": float(fitted(estimator, "epsilon"))}
    return {"C": C, "class_weight": fitted(estimator, "class_weight")}


def _linear(estimator: Any, model: Model) -> Any:
    from sklearn.svm import LinearSVC, LinearSVR

    kind = LinearSVR if model.classes is None else LinearSVC
    parameters: dict[str, Any] = {
        "fit_intercept": bool(fitted(estimator, "fit_intercept")),
        "intercept_scaling": float(fitted(estimator, "intercept_scaling")),
    }
    known = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive")
    loss = fitted(estimator, "loss")
    if isinstance(loss, str) and loss in known:
        parameters["loss"] = loss
    made = kind(**_common(estimator, model), **parameters)
    coef = model.vectors.toarray() if sparse.issparse(model.vectors) else model.vectors
    coef, intercept = np.array(coef, dtype=np.float64), model.intercept.copy()
    vars(made).update(coef_=coef, intercept_=intercept, n_iter_=0)
    if model.classes is None:
        made.coef_ = coef[0]
    else:
        made.classes_ = model.classes.copy()
    return made


def _libsvm(estimator: Any, model: Model) -> Any:
    from sklearn.svm import SVC, SVR

    parameters: dict[str, Any] = {"kernel": "precomputed"}
    if model.kernel is not None and (named := named_kernel(model.kernel)) is not None:
        parameters = {"kernel": KERNELS[named[0]][0], **named[1]}
    elif model.kernel is not None:
        parameters = {"kernel": KernelFunction(model.kernel)}
    if model.classes is not None:
        shape, ties = estimator._votes()
        parameters |= {"decision_function_shape": shape, "break_ties": ties}
    if not hasattr(estimator, "kernel"):
        # The weights of a linear model; among sparse vectors SVC takes dense and sparse rows.
        model = model._replace(vectors=sparse.csr_matrix(model.vectors))
    kind = SVR if model.classes is None else SVC
    made = kind(**_common(estimator, model), **parameters)
    set_libsvm_model(made, model)
    return made


class HtmlNoteMixin:
    """A line below scikit-learn's diagram of an estimator, for classes before `BaseEstimator`."""

    def _html_note(self) -> str:
        """Return the line, as HTML."""
        return ""

    def _repr_html_inner(self) -> str:
        return _with_note(super()._repr_html_inner(), self._html_note())  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = _with_note(bundle["text/html"], self._html_note())
        return bundle


def _with_note(diagram: str, note: str) -> str:
    """Return a diagram and a line below it, in the colours of the page, light or dark."""
    style = "color: inherit; font-size: 0.9em; opacity: 0.8; margin: 0.3em 0 0 0.5em"
    return f'{diagram}<div style="{style}">{note}</div>' if note else diagram


class ExportMixin(HtmlNoteMixin):
    """Models for other programs, of a fitted estimator."""

    if TYPE_CHECKING:  # of the estimator
        n_features_in_: int

        def _exported(self, *, values: bool = ...) -> Model: ...

    def _own_sigmoids(self) -> Sigmoids | None:
        """Sigmoids of the fitted estimator, if it has probabilities that they make."""
        return own_sigmoids(self) if hasattr(self, "classes_") else None

    def _to_be_written(self, calibrated: Any) -> Model:
        """Return the model with its probabilities, or those that were fitted around it."""
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
        votes: dict[str, Any] = {"coefs": model.dual_coef}
        if model.classes is not None:
            votes = {
                "coefs": pair_coefficients(model.dual_coef, model.n_support),
                "shape": fitted(self, "decision_function_shape"),
                "break_ties": fitted(self, "break_ties"),
            }
        from kpegasos.exports.onnx import write_onnx

        write_onnx(path, model, **votes)

    def _html_note(self) -> str:
        """Gap, support and time in one line, for HTML; empty before ``fit``."""
        steps, seconds = getattr(self, "n_steps_", None), seconds_of_training(self)
        found = [
            _gap_text(getattr(self, "relative_gap_", None)),
            _support_text(self),
            "" if steps is None else f"{int(np.sum(steps)):,} steps",
            "" if seconds is None else f"{seconds:.3g} s of training",
        ]
        return html.escape(" · ".join(part for part in found if part))


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


def seconds_of_training(estimator: Any) -> float | None:
    """Return seconds in the solver, of all pairs of classes together; None without a history."""
    history = getattr(estimator, "history_", None)
    if history is None:
        return None
    histories = history if isinstance(history, list) else [history]
    return float(sum(each[-1].seconds for each in histories if len(each)))
