"""Exports of fitted estimators: models of scikit-learn and LIBSVM.

The formats are in `kpegasos.exports`, which knows no estimator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from os import PathLike
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from kpegasos.exports.libsvm import KERNELS, Model, Sigmoids, named_kernel, write_libsvm
from kpegasos.fitting.model import fitted, of_one_model
from kpegasos.kernels.base import Kernel, check_values
from kpegasos.utils.validation import canonical_rows


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
        Has the C, class weights and epsilon for a later fit.
    model : Model
        Its model.
    """
    C, lam = float(fitted(estimator, "C")), fitted(estimator, "lam")
    if lam is not None and hasattr(estimator, "alpha_"):  # without weights
        C = 1.0 / (float(lam) * estimator.alpha_.shape[-1])
    common: dict[str, Any] = {"C": C}
    for name in ("epsilon",) if model.classes is None else ("class_weight",):
        common[name] = fitted(estimator, name)
    is_linear = not hasattr(estimator, "kernel")
    is_one = model.classes is None or model.classes.size == 2
    exported = (_linear if is_linear and is_one else _libsvm)(estimator, model, common)
    exported.n_features_in_ = model.n_features
    if model.classes is not None:
        exported.classes_ = model.classes.copy()
    if hasattr(estimator, "feature_names_in_"):
        exported.feature_names_in_ = estimator.feature_names_in_
    return exported


def _linear(_: Any, model: Model, parameters: dict[str, Any]) -> Any:
    from sklearn.svm import LinearSVC, LinearSVR

    svm = (LinearSVR if model.classes is None else LinearSVC)(**parameters)
    coef = model.vectors.toarray() if sparse.issparse(model.vectors) else model.vectors
    coef = np.array(coef[0] if model.classes is None else coef, dtype=np.float64)
    vars(svm).update(coef_=coef, intercept_=model.intercept.copy(), n_iter_=0)
    return svm


def _libsvm(estimator: Any, model: Model, parameters: dict[str, Any]) -> Any:
    from sklearn.svm import SVC, SVR

    parameters["kernel"] = "precomputed"
    if model.kernel is not None:
        name, values = named_kernel(model.kernel) or (None, {})
        kernel = KernelFunction(model.kernel) if name is None else KERNELS[name][0]
        parameters |= {"kernel": kernel, **values}
    if model.classes is not None:
        shape, ties = estimator._votes()
        parameters |= {"decision_function_shape": shape, "break_ties": ties}
    svm = (SVR if model.classes is None else SVC)(**parameters)
    # Sparse weights of a linear model: with sparse vectors SVC takes dense and sparse rows.
    vectors = model.vectors if hasattr(estimator, "kernel") else sparse.csr_matrix(model.vectors)
    _set_libsvm_model(svm, model._replace(vectors=vectors))
    return svm


#: Private attributes of a fitted SVC or SVR in scikit-learn 1.6 to 1.9.
_PRIVATE_NAMES = {
    "_BaseLibSVM__Xfit", "_dual_coef_", "_effective_probability", "_gamma", "_intercept_",
    "_n_support", "_num_iter", "_probA", "_probB", "_sparse",
}  # fmt: skip


@cache
def _check_private_names(kind: Any) -> None:
    """Refuse a scikit-learn whose SVC or SVR has other private attributes."""
    X = np.array([[0.0], [1.0]])
    of_callable = vars(kind(kernel=lambda A, B: A @ B.T).fit(X, [0, 1]))
    names = {name for name in of_callable if name.startswith("_")}
    if unknown := names - _PRIVATE_NAMES:
        raise RuntimeError(
            f"to_sklearn needs the {kind.__name__} of scikit-learn 1.6 to 1.9, got that of "
            f"{sklearn.__version__}, which has {sorted(unknown)}"
        )


def _set_libsvm_model(svm: Any, model: Model) -> None:
    """Set the model of an SVC or SVR that has the parameters of the kernel."""
    kind: Any = type(svm)
    _check_private_names(kind)
    n_vectors, classes, precomputed = model.dual_coef.shape[1], model.classes, model.vectors is None
    of_callable = callable(svm.kernel)
    places = np.arange(n_vectors) if model.support is None or of_callable else model.support
    vectors: Any = np.empty((n_vectors, 0)) if precomputed or of_callable else model.vectors
    dual_coef: Any = np.array(model.dual_coef, dtype=np.float64, order="C")
    if is_sparse := sparse.issparse(vectors):
        vectors = sparse.csr_matrix(vectors, dtype=np.float64)
        vectors.sort_indices()
        # Every entry is there, zeros too: LIBSVM reads them as a dense array.
        values, dual_coef = dual_coef.ravel(), sparse.csr_matrix(np.ones_like(dual_coef))
        dual_coef.data[:] = values
    else:
        vectors = np.array(vectors, dtype=np.float64, order="C")
    # Inside an SVC, decisions of two classes are positive for the first.
    flips = -1.0 if classes is not None and classes.size == 2 else 1.0
    n_support = [n_vectors, 0] if classes is None else model.n_support
    vars(svm).update(
        support_=np.array(places, dtype=np.int32),
        support_vectors_=vectors,
        dual_coef_=dual_coef,
        intercept_=model.intercept.copy(),
        shape_fit_=(model.n_features,) * 2 if precomputed else (n_vectors, model.n_features),
        fit_status_=0,
        n_iter_=np.zeros(model.intercept.size, dtype=np.int32),
        _n_support=np.array(n_support, dtype=np.int32),
        _dual_coef_=flips * dual_coef,
        _intercept_=flips * model.intercept,
        _gamma=0.0 if precomputed or of_callable or svm.kernel == "linear" else float(svm.gamma),
        _sparse=is_sparse,
        _probA=np.empty(0),
        _probB=np.empty(0),
        _effective_probability=False,
    )
    if of_callable:
        svm._BaseLibSVM__Xfit = model.vectors


class ExportMixin:
    """Exports of a fitted estimator to other programs."""

    _exported: Callable[..., Model]

    def _own_sigmoids(self) -> Sigmoids | None:
        """Return what makes probabilities of the decisions of the pairs, if there is something."""
        return None

    @of_one_model
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
            the one that its file has first. There is no ``predict_proba``, which scikit-learn
            removes from `SVC` in favour of `CalibratedClassifierCV`.

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

    @of_one_model
    def to_libsvm(self, path: str | PathLike[str]) -> None:
        """Write the model as a text file for LIBSVM's programs, such as ``svm-predict``.

        Kernels are the linear, polynomial, RBF and sigmoid ones and "precomputed"; classes must be
        integers. LIBSVM has no ``break_ties``. Probabilities that are sigmoids of the decisions of
        pairs are written, for ``svm-predict -b 1``, which then predicts the most probable class;
        with more than two classes it couples those of the pairs to 0.005 only.

        Parameters
        ----------
        path : path-like
            Written whole or not at all; a file that is there is replaced.

        Raises
        ------
        ValueError
            If LIBSVM has no such kernel or classes.
        OSError
            If the file cannot be written.
        sklearn.exceptions.NotFittedError
            Before ``fit``.
        """
        check_is_fitted(self)
        write_libsvm(path, self._exported()._replace(sigmoids=self._own_sigmoids()))
