"""`to_sklearn`: fitted estimators of scikit-learn with the same predictions."""

import pickle

import numpy as np
import pandas as pd
import pytest
from covering import each_pair
from export_cases import KERNELS, as_taken, classifier, data, linear_classifier, regressors, targets
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from kpegasos import RBF, Linear, PegasosSVC, PegasosSVR
from kpegasos.estimators import exports


def assert_same(ours, theirs, X):
    np.testing.assert_allclose(
        theirs.decision_function(X), ours.decision_function(X), rtol=1e-10, atol=1e-10
    )
    np.testing.assert_array_equal(theirs.predict(X), ours.predict(X))


@each_pair(
    kernel=[*KERNELS, "precomputed"],
    n_classes=[2, 4],
    kind=["dense", "sparse"],
    shape=["ovr", "ovo"],
)
def test_to_sklearn_of_a_kernel_decides_the_same(kernel, n_classes, kind, shape):
    X, y, new = data(n_classes, kind="dense" if kernel == "precomputed" else kind)
    X, new = as_taken(kernel, X, new)
    ours = classifier(kernel, decision_function_shape=shape).fit(X, y)
    theirs = ours.to_sklearn()
    assert type(theirs) is SVC
    assert_same(ours, theirs, new)


@each_pair(n_classes=[2, 4], kind=["dense", "sparse"])
def test_to_sklearn_of_a_linear_model_decides_the_same(n_classes, kind):
    X, y, new = data(n_classes, kind=kind)
    ours = linear_classifier(loss="squared_hinge").fit(X, y)
    theirs = ours.to_sklearn()
    assert type(theirs) is (LinearSVC if n_classes == 2 else SVC)
    assert_same(ours, theirs, new)
    assert_same(ours, theirs, new.toarray() if kind == "sparse" else new)
    assert_same(ours, pickle.loads(pickle.dumps(theirs)), new)
    stream = linear_classifier(lam=0.1).partial_fit(X, y, classes=np.unique(y))
    assert_same(stream, stream.to_sklearn(), new)


@each_pair(name=[*regressors(), "precomputed"], kind=["dense", "sparse"])
def test_to_sklearn_of_a_regressor_predicts_the_same(name, kind):
    X, _, new = data(kind="dense" if name == "precomputed" else kind)
    y, (X, new) = targets(X), as_taken(name, X, new)
    of_matrix = {"precomputed": PegasosSVR(kernel="precomputed", epochs=5, random_state=0)}
    ours = {**regressors(), **of_matrix}[name].fit(X, y)
    theirs = ours.to_sklearn()
    assert type(theirs) is (LinearSVR if name == "primal" else SVR)
    np.testing.assert_allclose(theirs.predict(new), ours.predict(new), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("labels", ["strings", "floats"])
def test_to_sklearn_keeps_labels_weights_and_ties(labels):
    X, y, new = data(4, labels=labels)
    weight = np.random.default_rng(0).integers(0, 3, y.size)
    ours = classifier(class_weight="balanced", break_ties=True).fit(X, y, sample_weight=weight)
    theirs = ours.to_sklearn()
    assert_same(ours, theirs, new)
    for name in ("classes_", "support_", "n_support_", "dual_coef_", "intercept_"):
        np.testing.assert_array_equal(getattr(theirs, name), getattr(ours, name))
    before = ours.decision_function(new)
    for array in (theirs.support_vectors_, theirs.dual_coef_, theirs.intercept_):
        array[:] = 0.0
    np.testing.assert_array_equal(ours.decision_function(new), before)
    linear = classifier("linear").fit(X, y)
    np.testing.assert_allclose(linear.to_sklearn().coef_, linear.coef_, rtol=1e-12)


def plus_one(A, B):
    return A @ B.T + 1.0


@pytest.mark.parametrize("kernel", [RBF(0.1) + 0.5 * Linear(), plus_one])
def test_to_sklearn_has_a_callable_for_kernels_of_ones_own(kernel):
    X, y, new = data(3)
    ours = PegasosSVC(kernel=kernel, epochs=5, random_state=0).fit(X, y)
    theirs = ours.to_sklearn()
    assert callable(theirs.kernel)
    assert_same(ours, theirs, new)
    assert_same(ours, pickle.loads(pickle.dumps(theirs)), new)


def test_model_of_to_sklearn_can_be_calibrated_and_fitted_anew_and_knows_names():
    X, y, new = data(2)
    frame = pd.DataFrame(X, columns=list("abcd"))
    theirs = classifier(lam=0.05).fit(frame, y).to_sklearn()
    np.testing.assert_allclose(theirs.C, 1 / (0.05 * len(X)))
    assert theirs.feature_names_in_.tolist() == list("abcd")
    assert clone(theirs).fit(X, y).score(X, y) > 0.7
    calibrated = CalibratedClassifierCV(FrozenEstimator(theirs)).fit(frame, y)
    assert calibrated.predict_proba(pd.DataFrame(new, columns=list("abcd"))).shape == (len(new), 2)


def test_to_sklearn_refuses_a_scikit_learn_whose_models_keep_something_else(monkeypatch):
    """Rather than to make one that fails, or predicts something else, when it is used."""
    fit = SVC.fit

    def fit_of_later(svm, X, y):
        svm._of_later = fit(svm, X, y)
        return svm

    X, y, _ = data(2)
    model = classifier().fit(X, y)
    exports._check_private_names.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(SVC, "fit", fit_of_later)
        with pytest.raises(RuntimeError, match=r"got that of .*, which has \['_of_later'\]"):
            model.to_sklearn()
    assert isinstance(model.to_sklearn(), SVC)
