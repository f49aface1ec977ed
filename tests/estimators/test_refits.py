"""A fit leaves nothing of the one before, unless a warm start goes on: then it is one run."""

import pickle
import warnings
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from models import BOTH, assert_same_attributes, integers, two_classes
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from kpegasos import (
    RBF,
    Linear,
    LinearPegasosSVC,
    LinearPegasosSVR,
    PegasosSVC,
    PegasosSVCCV,
    PegasosSVR,
)
from kpegasos.core.steps import InverseSquareRoot
from kpegasos.kernels import decision
from kpegasos.large.chunks import ArrayChunks, fit_chunks
from kpegasos.losses import Hinge, SquaredHinge

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

TWO, THREE = (
    make_blobs(60, centers=n, n_features=3, cluster_std=4.0, random_state=0) for n in (2, 3)
)
GRAM = TWO[0] @ TWO[0].T, TWO[1]
CSR = sparse.csr_array(TWO[0].astype(np.float32)), TWO[1]
WIDE = np.hstack((TWO[0], TWO[0])), TWO[1]


#: What a fit is asked for: parameters, and data.
FITS: dict[type, dict[str, tuple[dict[str, Any], Any]]] = {
    PegasosSVC: {
        "rbf": ({"kernel": "rbf", "gamma": 0.5}, TWO),
        "free intercept": ({"kernel": "linear", "fit_intercept": "free"}, TWO),
        "three classes": ({"kernel": "rbf"}, THREE),
        "polish": ({"kernel": "rbf", "polish": True, "tol": 1e-3}, TWO),
        "precomputed": ({"kernel": "precomputed"}, GRAM),
        "sparse": ({"kernel": "poly", "coef0": 1.0}, CSR),
        "wide": ({"kernel": "rbf"}, WIDE),
        "sigmoid": ({"kernel": "sigmoid"}, TWO),
        "warm start": ({"warm_start": True}, TWO),
    },
    LinearPegasosSVC: {
        "plain": ({}, TWO),
        "three classes": ({}, THREE),
        "free intercept": ({"fit_intercept": "free"}, TWO),
        "polish": ({"polish": True, "tol": 1e-3}, TWO),
        "sparse": ({}, CSR),
        "wide": ({}, WIDE),
        "warm start": ({"warm_start": True}, TWO),
        "stream": ({}, TWO),
        "chunks": ({}, TWO),
    },
}
START = {"C": 2.0, "epochs": 3, "random_state": 0}


def fit_as(clf, name):
    parameters, (X, y) = FITS[type(clf)][name]
    clf.set_params(**(type(clf)(**START).get_params() | parameters))
    if name == "stream":
        return clf.partial_fit(X[:50], y[:50], classes=[0, 1]).partial_fit(X[50:], y[50:])
    if name == "chunks":
        clf.set_params(lam=0.01)
        return fit_chunks(clf, ArrayChunks(X, y, chunk_size=40), classes=np.unique(y))
    return clf.fit(X, y)


@BOTH
def test_fit_leaves_nothing_of_the_one_before(Estimator):
    fresh = {name: fit_as(Estimator(), name) for name in FITS[Estimator]}
    goes_on = [*((first, "warm start") for first in fresh), ("chunks", "stream")]
    for first, second in permutations(fresh, 2):
        if (first, second) not in goes_on:
            used = Estimator()
            vars(used).update(vars(fresh[first]))  # which fits replace, and do not change
            assert_same_attributes(fit_as(used, second), fresh[second])


@BOTH
def test_failed_fit_leaves_the_one_before(Estimator):
    used, fresh = (fit_as(Estimator(), "three classes") for _ in range(2))
    with pytest.raises(ValueError, match="batch_size must be at most"):
        used.set_params(batch_size=1000).fit(*WIDE)
    with pytest.raises(ValueError, match="class"):
        used.fit(WIDE[0], np.zeros(len(WIDE[0])))
    assert_same_attributes(used, fresh)


def test_names_of_columns_of_an_earlier_fit_are_forgotten():
    import pandas as pd

    X, y = TWO
    used = LinearPegasosSVC(**START).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y).fit(X, y)
    assert_same_attributes(used, LinearPegasosSVC(**START).fit(X, y))


@BOTH
def test_warning_turned_into_an_error_leaves_a_whole_model(Estimator):
    clf, expected = (Estimator(tol=1e-12, **START) for _ in range(2))
    expected.fit(*TWO)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning, match="did not reach tol"):
            clf.fit(*TWO)
    assert_same_attributes(clf, expected)


def test_decisions_are_of_one_model_though_another_is_fitted_meanwhile(monkeypatch):
    (X, y), product = TWO, decision.KernelExpansion.decide
    model = PegasosSVC(**START).fit(X, y)
    expected = model.decision_function(X)

    def refit(expansion, *arguments):
        monkeypatch.undo()
        found = product(expansion, *arguments)
        model.fit(X[:20] + 1.0, 1 - y[:20])
        return found

    monkeypatch.setattr(decision.KernelExpansion, "decide", refit)
    np.testing.assert_array_equal(model.decision_function(X), expected)
    assert not np.array_equal(model.decision_function(X), expected)


def test_fit_within_a_fit_of_the_same_estimator_is_refused():
    model = PegasosSVC(kernel=lambda A, B: model.fit(*TWO))
    with pytest.raises(ValueError, match="estimator must be free for this call"):
        model.fit(*TWO)
    model.set_params(kernel="rbf").fit(*TWO)


# --- warm starts ---


@BOTH
def test_warm_start_needs_no_fixed_seed_and_knows_a_number_by_its_value(Estimator):
    X, y = two_classes()
    clf = Estimator(C=np.float32(0.5), batch_size=np.int8(2), epochs=3, warm_start=True).fit(X, y)
    clf.set_params(C=0.5, batch_size=2).fit(X, y)
    assert clf.n_steps_ == 3 * y.size
    assert clf.alpha_.max() <= 6


def test_warm_start_goes_on_with_another_cache():
    X, y = integers(2)
    clf = PegasosSVC(epochs=2, warm_start=True, random_state=0, cache="cached").fit(X, y)
    assert clf.set_params(cache="streamed").fit(X, y).n_steps_ == 4 * y.size


X, Y = integers(3)
CHANGES = {
    "C": ({"C": 2.0}, X, Y, None),
    "batch_size": ({"batch_size": 2}, X, Y, None),
    "average": ({"average": None}, X, Y, None),
    "loss": ({"loss": "log_loss"}, X, Y, None),
    "fit_intercept": ({"fit_intercept": False}, X, Y, None),
    "kernel": ({"gamma": 1.0}, X, Y, None),
    "order": ({}, X[::-1].copy(), Y, None),
    "labels": ({}, X, Y[::-1].copy(), None),
    "weights": ({}, X, Y, np.where(np.arange(Y.size), 1.0, 50.0)),
    "classes": ({}, X[Y < 2], Y[Y < 2], None),
    "examples": ({}, X[:-6], Y[:-6], None),
}


@BOTH
@pytest.mark.parametrize("change", CHANGES)
def test_warm_start_refuses_another_problem(Estimator, change):
    parameters, rows, labels, weight = CHANGES[change]
    if Estimator is LinearPegasosSVC and change == "kernel":
        parameters = {"intercept_scaling": 2.0}
    clf = Estimator(epochs=2, warm_start=True, random_state=0).fit(X, Y)
    decisions = clf.decision_function(X)
    with pytest.raises(ValueError, match="warm_start"):
        clf.set_params(**parameters).fit(rows, labels, weight)
    np.testing.assert_array_equal(clf.decision_function(X), decisions)
    with pytest.raises(ValueError, match=r"X has 4 features.*expecting 5"):
        clf.fit(X[:, :4], Y)


def closure(gamma):
    return lambda A, B: rbf_kernel(A, B, gamma=gamma)


@dataclass
class OwnKernel:
    """A kernel that can be changed, equal to others of the same gamma."""

    gamma: float
    positive_definite = True

    def block(self, A, B):
        return rbf_kernel(A, B, gamma=self.gamma)

    def diag(self, A):
        return np.ones(len(A))


@pytest.mark.parametrize(
    ("make", "is_equal"),
    [(closure, False), (lambda gamma: RBF(0.1) + gamma * Linear(), True), (OwnKernel, True)],
    ids=["closure", "composed", "own"],
)
def test_warm_start_refuses_another_kernel_of_the_same_code(make, is_equal):
    """The bound of one is false for the other."""
    X, y = two_classes()
    kernel = make(0.01)
    clf = PegasosSVC(kernel=kernel, C=10, epochs=5, warm_start=True, random_state=0)
    clf.fit(X, y).fit(X, y)
    steps = clf.n_steps_
    with pytest.raises(ValueError, match="warm_start=True goes on with the earlier fit"):
        clf.set_params(kernel=make(50.0)).fit(X, y)
    assert clf.n_steps_ == steps
    clf.set_params(kernel=make(0.01) if is_equal else kernel)
    assert clf.fit(X, y).n_steps_ == steps + 5 * y.size


def test_warm_start_refuses_a_kernel_that_was_changed_in_place():
    X, y = two_classes()
    clf = PegasosSVC(kernel=OwnKernel(0.01), epochs=5, warm_start=True, random_state=0).fit(X, y)
    clf.kernel.gamma = 50.0
    with pytest.raises(ValueError, match="warm_start=True goes on with the earlier fit"):
        clf.fit(X, y)


def some_step(t, lam):
    return 1.0 / (lam * (t + 1))


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ({"step": some_step}, {"step": some_step}, True),
        ({"step": some_step}, {"step": lambda t, lam: some_step(t, lam)}, False),
        ({"step": InverseSquareRoot(0.5)}, {"step": InverseSquareRoot(0.5)}, True),
        ({"step": InverseSquareRoot(0.5)}, {"step": InverseSquareRoot(0.25)}, False),
        ({"loss": Hinge()}, {"loss": Hinge()}, True),
        ({"loss": Hinge()}, {"loss": SquaredHinge()}, False),  # which are equal as tuples
        ({"class_weight": {0: 2.0, 1: 1.0}}, {"class_weight": {0: 2.0, 1: 1.0}}, True),
        ({"class_weight": {0: 2.0, 1: 1.0}}, {"class_weight": {0: 2.0, 1: 3.0}}, False),
    ],
)
@pytest.mark.parametrize("pickles", [False, True])
def test_warm_start_belongs_to_functions_that_are_the_same_or_equal(one, other, is_same, pickles):
    X, y = two_classes()
    clf = PegasosSVC(**one, epochs=2, warm_start=True, random_state=0).fit(X, y)
    if pickles:
        clf = pickle.loads(pickle.dumps(clf))
    clf.set_params(**other)
    if is_same:
        assert clf.fit(X, y).n_steps_ == 4 * y.size
    else:
        with pytest.raises(ValueError, match="warm_start=True goes on with the earlier fit"):
            clf.fit(X, y)


AFTERWARDS = {
    "C": 30.0, "lam": 0.5, "kernel": "poly", "gamma": 2.0, "fit_intercept": False, "average": None,
    "intercept_scaling": 3.0, "projection": True, "class_weight": {0: 9.0}, "epsilon": 0.7,
}  # fmt: skip


@pytest.mark.parametrize(
    "model",
    [
        PegasosSVC(kernel="linear", **START),
        PegasosSVC(loss="log_loss", **START),
        LinearPegasosSVC(loss="log_loss", **START),
        PegasosSVR(**START),
        LinearPegasosSVR(**START),
        PegasosSVCCV(2, gammas=1, cv=2, random_state=0),
    ],
    ids=str,
)
def test_what_happens_to_parameters_after_a_fit_changes_no_model(model, tmp_path):
    """Nor an attribute of somebody else's, which no fit takes away."""
    X, y = TWO
    weight = {0: 2.0, 1: 1.0}
    if hasattr(model, "class_weight"):
        model.set_params(class_weight=weight)
    model.fit(X, y).mine_ = 1

    def told():
        model.to_libsvm(tmp_path / "model")
        names = [each for each in ("predict", "predict_proba") if hasattr(model, each)]
        decisions = [getattr(model, name)(X) for name in names]
        of_svc = model.to_sklearn().predict(X), model.decision_bounds(X)
        return decisions, of_svc, (tmp_path / "model").read_text(), getattr(model, "coef_", None)

    before = told()
    weight[0] = 100.0
    for name in [each for each in AFTERWARDS if hasattr(model, each)]:
        model.set_params(**{name: AFTERWARDS[name]})
        np.testing.assert_equal(told(), before, err_msg=name)
    assert model.fit(X, y).mine_ == 1
