"""What a fit leaves behind: its own attributes, all of them, and nothing of an earlier fit."""

import os
import pickle
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
from models import BOTH, assert_same_model, integers, two_classes
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import kpegasos
from kpegasos import LinearPegasosSVC, LinearPegasosSVR, PegasosSVC


def fitted_names(clf):
    return {name for name in vars(clf) if name.endswith("_") and not name.endswith("__")}


# --- attributes of an earlier fit -----------------------------------------------------------------


def test_fit_drops_the_attributes_of_an_earlier_fit():
    X, y = integers(2)
    clf = LinearPegasosSVC(early_stopping=True, epochs=3, random_state=0).fit(X, y)
    assert "validation_scores_" in fitted_names(clf)
    clf.set_params(early_stopping=False).fit(X, y)
    fresh = LinearPegasosSVC(epochs=3, random_state=0).fit(X, y)
    assert fitted_names(clf) == fitted_names(fresh)
    assert_same_model(clf, fresh, X)


def test_partial_fit_drops_the_scores_of_an_earlier_fit():
    X, y = integers(2)
    clf = LinearPegasosSVC(early_stopping=True, epochs=3, random_state=0).fit(X, y)
    fresh = LinearPegasosSVC(random_state=0).partial_fit(X, y, classes=[0, 1])
    assert fitted_names(clf.partial_fit(X, y)) == fitted_names(fresh)


def test_failed_fit_restores_every_attribute():
    X, y = integers(2)
    clf = LinearPegasosSVC(early_stopping=True, epochs=3, random_state=0).fit(X, y)
    before = dict(vars(clf))
    with pytest.raises(ValueError, match="batch_size"):
        clf.set_params(early_stopping=False, batch_size=1000).fit(X[:, :3], y)
    after = dict(vars(clf), early_stopping=True, batch_size=1)
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in fitted_names(clf))


def test_coef_is_that_of_the_fitted_kernel():
    X, y = integers(2)
    rbf = PegasosSVC(random_state=0, epochs=2).fit(X, y).set_params(kernel="linear")
    assert not hasattr(rbf, "coef_")
    linear = PegasosSVC(kernel="linear", random_state=0, epochs=2).fit(X, y)
    coef = linear.coef_
    np.testing.assert_array_equal(linear.set_params(kernel="rbf").coef_, coef)


@BOTH
def test_warning_as_error_leaves_a_whole_model(Estimator):
    X, y = two_classes()
    clf = Estimator(tol=1e-9, epochs=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ConvergenceWarning, match="did not reach tol"):
            clf.fit(X, y)
    assert clf.n_features_in_ == 2
    assert_same_model(clf, Estimator(epochs=2, random_state=0).fit(X, y), X)


# --- counts of several pairs ----------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("projection", [False, True])
def test_alpha_of_several_pairs_is_sparse(Estimator, projection):
    X, y = integers(4)
    clf = Estimator(projection=projection, epochs=2, random_state=0).fit(X, y)
    assert isinstance(clf.alpha_, sparse.csr_array)
    assert clf.alpha_.shape == (6, y.size)
    assert clf.alpha_.dtype == (np.float64 if projection else np.int64)
    assert clf.alpha_.has_canonical_format
    assert np.all(clf.alpha_.data > 0)
    assert isinstance(Estimator(epochs=2).fit(X[y < 2], y[y < 2]).alpha_, np.ndarray)


# --- numbers of every kind ------------------------------------------------------------------------


@BOTH
def test_numpy_scalars_are_plain_numbers(Estimator):
    """Small integer types would overflow, and float32 would round what is made from it."""
    X, y = two_classes(200)
    small = {
        "C": np.float32(0.1), "n_steps": np.int16(600), "batch_size": np.int8(2),
        "intercept_scaling": np.float16(1.5), "epochs": np.int8(3), "tol": np.float32(1e-9),
    }  # fmt: skip
    plain = {name: value.item() for name, value in small.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        a = Estimator(random_state=0, **small).fit(X, y)
        b = Estimator(random_state=0, **plain).fit(X, y)
    assert_same_model(a, b, X)
    assert type(a.lam_) is float
    assert type(a.n_steps_) is int


# --- earlier names --------------------------------------------------------------------------------


@BOTH
def test_n_iter_is_n_steps(Estimator):
    clf = Estimator(n_steps=7)
    assert not hasattr(clf, "n_iter_")
    clf.fit(*two_classes())
    with pytest.warns(FutureWarning, match="n_iter_ is called n_steps_"):
        assert clf.n_iter_ == 7


def test_sampling_block_is_contiguous():
    X, y = integers(3)
    new = LinearPegasosSVC(sampling="contiguous", random_state=0).fit(X, y)
    old = LinearPegasosSVC(sampling="block", random_state=0)
    with pytest.warns(FutureWarning, match="sampling='contiguous'") as caught:
        old.fit(X, y)
    assert caught[0].filename == __file__
    assert_same_model(new, old, X)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("KernelBlocks", "KernelMatrix"),
        ("Precomputed", "GramRows"),
        ("Streamed", "UncachedRows"),
        ("LinearRows", "FeatureRows"),
    ],
)
def test_package_knows_earlier_names(old, new):
    with pytest.warns(DeprecationWarning, match=f"kpegasos.{new}"):
        assert getattr(kpegasos, old) is getattr(kpegasos, new)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        kpegasos.Nothing  # noqa: B018


@pytest.mark.parametrize(("module", "name"), [("distributed", "fit_dask"), ("animation", "Train")])
def test_package_knows_earlier_modules(module, name):
    program = f"import kpegasos.{module} as m; print([n for n in m.__all__ if '{name}' in n])"
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, check=True
    )
    assert name in done.stdout
    assert "DeprecationWarning" in done.stderr


# --- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [{"lam": 0.5}, {"C": 2.0}, {"class_weight": {1: 2.0}}, {"average": None}, {"batch_size": 2}],
    ids=str,
)
def test_partial_fit_refuses_other_parameters(change):
    X, y = integers(2)
    clf = LinearPegasosSVC(random_state=0).partial_fit(X, y, classes=[0, 1])
    coef = clf.coef_.copy()
    with pytest.raises(ValueError, match="must be those of the first call to partial_fit"):
        clf.set_params(**change).partial_fit(X, y)
    np.testing.assert_array_equal(clf.coef_, coef)
    clf.set_params(lam=None, C=1.0, class_weight=None, average="weighted", batch_size=1)
    assert clf.partial_fit(X, y).n_steps_ == 2 * y.size


@pytest.mark.parametrize("Estimator", [LinearPegasosSVC, LinearPegasosSVR])
def test_partial_fit_is_interrupted_after_the_chunk(Estimator):
    X, y = integers(2)
    known = {"classes": [0, 1]} if Estimator is LinearPegasosSVC else {}
    clf = Estimator(random_state=0).partial_fit(X, y, **known)
    whole = pickle.loads(pickle.dumps(clf)).partial_fit(X, y)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    advance = clf._online.advance

    def press_and_advance(chunk):
        os.kill(os.getpid(), signal.SIGINT)
        return advance(chunk)

    clf._online.advance = press_and_advance
    try:
        with pytest.raises(KeyboardInterrupt, match=f"{Estimator.__name__} was stopped by Ctrl-C"):
            clf.partial_fit(X, y)
    finally:
        signal.signal(signal.SIGINT, before)
    np.testing.assert_array_equal(clf.coef_, whole.coef_)
