"""A model is changed by `fit` alone, and a fit leaves its own model and nothing of others.

An estimator, or one of a subclass with a step in front, is fitted, and then lives: parameters are
set or changed in place, fits fail, it is copied, pickled, saved and loaded, cloned. What it
decides, predicts and writes stays the same to the last bit until the next fit, which makes the
model that an estimator without a past would get.
"""

import copy
import pickle
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

import kpegasos
from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVCCV, PegasosSVR
from tests.campaigns.harness import pick

CI_TRIALS = 15
KINDS = [PegasosSVC, PegasosSVC, LinearPegasosSVC, PegasosSVR, LinearPegasosSVR, PegasosSVCCV]
#: Values that a parameter may have, of the estimators that have it.
PARAMETERS = {
    "C": [0.1, 1.0, 30.0],
    "lam": [None, None, 0.01],
    "loss": ["hinge", "log_loss", "squared_hinge"],
    "kernel": ["rbf", "linear", "poly", "precomputed"],
    "gamma": ["scale", 0.3],
    "fit_intercept": [True, False],
    "intercept_scaling": [1.0, 3.0],
    "epochs": [1, 3],
    "projection": [False, True],
    "average": ["weighted", "suffix", None],
    "class_weight": [None, {0: 2.0, 1: 1.0, 2: 0.5}],
    "decision_function_shape": ["ovr", "ovo"],
    "break_ties": [False, True],
    "calibration": [None, "sigmoid"],
    "epsilon": [0.0, 0.3],
}
REGRESSION = {"loss": ["epsilon_insensitive", "squared_epsilon_insensitive"]}


class _WithStep:
    """The usual way to put a step in front of an estimator."""

    def fit(self, X, y):
        self.shift_ = np.asarray(X.mean(axis=0)).ravel()
        return super().fit(X, y)


def subclass(kind):
    return type(f"Shifted{kind.__name__}", (_WithStep, kind), {"__init__": kind.__init__})


def drawn_parameters(rng, estimator):
    """Some parameters that the estimator has, with other values."""
    table = PARAMETERS | (REGRESSION if hasattr(estimator, "epsilon") else {})
    names = [name for name in table if hasattr(estimator, name)]
    chosen = rng.choice(names, rng.integers(1, 6), replace=False).tolist()
    return {name: copy.deepcopy(pick(rng, table[name])) for name in chosen}


def data(rng, estimator):
    """Examples that the estimator's parameters ask for."""
    n = int(rng.integers(12, 30))
    X = np.round(rng.normal(size=(n, 3)), 1)
    y = np.arange(n) % int(rng.integers(2, 4))
    if hasattr(estimator, "epsilon"):
        y = X[:, 0] + 1.0
    if getattr(estimator, "kernel", None) == "precomputed":
        return X @ X.T, y
    return (sparse.csr_matrix(X) if rng.random() < 0.3 else X), y


def told(model, X):
    """All that a model tells: decisions, predictions, probabilities, and what it writes."""
    found = {"predict": tried(lambda: model.predict(X))}
    if hasattr(model, "decision_function"):
        found["decisions"] = model.decision_function(X)
    if hasattr(model, "predict_proba"):
        found["probabilities"] = model.predict_proba(X)
    with tempfile.TemporaryDirectory() as folder:
        for how in ("to_libsvm", "to_onnx"):
            write = getattr(model, how, None)
            found[how] = write and tried(lambda: write(f"{folder}/m") or read(f"{folder}/m"))  # noqa: B023
    found["coef_"] = tried(lambda: model.coef_)
    svm = tried(model.to_sklearn)
    if hasattr(svm, "predict"):
        found["to_sklearn"] = repr(svm), tried(lambda: svm.predict(X))
    return {
        name: str(each) if isinstance(each, Exception) else each for name, each in found.items()
    }


def tried(function):
    try:
        return function()
    except (ValueError, AttributeError) as error:
        return str(error)


def read(path):
    return Path(path).read_bytes()


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    np.testing.assert_equal(found, expected)


def fitted(estimator, X, y):
    """The estimator, if it can be fitted: some parameters contradict each other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y)


def own_names(estimator):
    return {name for name in vars(estimator) if name.endswith("_") and name != "mine_"}


# --- what happens between two fits; each returns the estimator that lives on ---


def set_parameters(rng, model, X):
    return model.set_params(**drawn_parameters(rng, model))


def change_in_place(rng, model, X):
    if isinstance(getattr(model, "class_weight", None), dict):
        model.class_weight[0] = 100.0
    return model


def fail(rng, model, X):
    wrong = [(X[:5], np.arange(4)), (X, np.full(X.shape[0], np.nan)), (X[:, :1], None)]
    with pytest.raises((ValueError, TypeError)):
        fitted(copy.copy(model).set_params(C=-1.0), X, np.arange(X.shape[0]))
    with pytest.raises((ValueError, TypeError)):
        fitted(model, *pick(rng, wrong))
    return model


def pickled(rng, model, X):
    if type(model).__module__ == __name__:  # of a class that only this trial knows
        return copy.deepcopy(model)
    return pickle.loads(pickle.dumps(model))


def stored(rng, model, X):
    with tempfile.TemporaryDirectory() as folder:
        if type(model) not in KINDS:
            with pytest.raises(ValueError, match="only types that kpegasos"):
                kpegasos.save(model, f"{folder}/m")
            return model
        kpegasos.save(model, f"{folder}/m")
        return kpegasos.load(f"{folder}/m")


def cloned(rng, model, X):
    other = clone(model)
    assert not own_names(other)
    with pytest.raises(ValueError, match="not fitted"):
        check_is_fitted(other)
    return model


def mark(rng, model, X):
    model.mine_ = 1
    return model


EVENTS = [set_parameters, set_parameters, change_in_place, fail, pickled, stored, cloned, mark]


def trial(rng):
    """Fit, live, and fit again."""
    kind = pick(rng, KINDS)
    given = {"random_state": 0}
    given |= {"Cs": 2, "gammas": 1, "cv": 2} if kind is PegasosSVCCV else {"epochs": 2}
    made = subclass(kind) if rng.random() < 0.3 else kind
    model = made(**given).set_params(**drawn_parameters(rng, kind(**given)))
    events = 0
    for _ in range(2):
        X, y = data(rng, model)
        fresh = clone(model)
        try:
            fitted(model, X, y)
        except ValueError:  # of parameters that contradict each other
            return "refused"
        expected = told(model, X)
        fitted(fresh, X, y)
        assert own_names(model) == own_names(fresh)
        assert_same(told(fresh, X), expected)
        assert not events or "mine_" not in vars(model) or model.mine_ == 1
        for _ in range(rng.integers(2, 7)):
            model = pick(rng, EVENTS)(rng, model, X)
            assert_same(told(model, X), expected)
            events += 1
    return {"the same": events}
