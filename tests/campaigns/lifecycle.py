"""A model is changed by `fit` alone, and a fit leaves its own model and nothing of others.

An estimator, or one of a subclass with a step in front, is fitted, and then lives: parameters are
set or changed in place, fits fail, it is copied, pickled, saved and loaded. What it
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

import kpegasos
from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC, PegasosSVCCV, PegasosSVR
from tests.campaigns.harness import pick, some

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
    return (sparse.csr_matrix(X) if some(rng, 0.3) else X), y


def told(model, X):
    """All that a model tells: decisions, predictions, probabilities, and what it writes."""
    found = {"predict": tried(lambda: model.predict(X)), "coef_": tried(lambda: model.coef_)}
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            found[name] = getattr(model, name)(X)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        found["to_libsvm"] = tried(lambda: model.to_libsvm(path))
        found["file"] = path.read_bytes() if path.exists() else None
    svm = tried(model.to_sklearn)
    if hasattr(svm, "predict"):
        svm = repr(svm), tried(lambda: svm.predict(X))
    return {**found, "to_sklearn": svm}


def tried(function):
    """What a function returns, or says."""
    try:
        return function()
    except (ValueError, AttributeError) as error:
        return str(error)


def fitted(model, X, y):
    """Fit a model, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def own_names(estimator):
    return {name for name in vars(estimator) if name.endswith("_") and name != "mine_"}


# --- what happens between two fits; each returns the estimator that lives on ---


def set_parameters(rng, model, X):
    votes = "decision_function_shape", "break_ties"  # which predictions go by as they are
    drawn = drawn_parameters(rng, model)
    return model.set_params(**{name: drawn[name] for name in drawn if name not in votes})


def change_in_place(rng, model, X):
    if isinstance(getattr(model, "class_weight", None), dict):
        model.class_weight[0] = 100.0
    return model


def fail(rng, model, X):
    wrong = [(X[:5], np.arange(4)), (X, np.full(X.shape[0], np.nan)), (X[:, :1], None)]
    with pytest.raises((ValueError, TypeError)):
        copy.copy(model).set_params(C=-1.0).fit(X, np.arange(X.shape[0]))
    with pytest.raises((ValueError, TypeError)):
        model.fit(*pick(rng, wrong))
    return model


def pickled(rng, model, X):
    if type(model) not in KINDS:  # of a class that only this trial knows
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


def mark(rng, model, X):
    """Give it an attribute that no fit may take away."""
    model.mine_ = 1
    return model


EVENTS = [set_parameters, set_parameters, change_in_place, fail, pickled, stored, mark]


def trial(rng):
    """Fit, live, and fit again."""
    kind = pick(rng, KINDS)
    given = {"random_state": 0}
    given |= {"Cs": 2, "gammas": 1, "cv": 2} if kind is PegasosSVCCV else {"epochs": 2}
    model = kind(**given)
    given |= drawn_parameters(rng, model)
    if some(rng, 0.3):
        kind = type("Shifted", (_WithStep, kind), {"__init__": kind.__init__})
    model, events = kind(**given), 0
    for _ in range(2):
        X, y = data(rng, model)
        fresh, mine = clone(model), getattr(model, "mine_", None)
        try:
            fitted(model, X, y)
        except ValueError:  # of parameters that contradict each other
            return "refused"
        expected = told(model, X)
        np.testing.assert_equal(told(fitted(fresh, X, y), X), expected)
        assert own_names(model) == own_names(fresh)
        assert getattr(model, "mine_", None) == mine
        for _ in range(rng.integers(2, 7)):
            model = pick(rng, EVENTS)(rng, model, X)
            np.testing.assert_equal(told(model, X), expected)
            events += 1
    return {"the same": events}
