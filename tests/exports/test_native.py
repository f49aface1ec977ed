"""`save` and `load`: the same bits, nothing built but trusted types, a sentence for other files."""

import warnings
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import skops.io
from export_cases import classifier, data, linear_classifier, search, targets
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kpegasos
from kpegasos import (
    RBF,
    Laplacian,
    Linear,
    LinearPegasosSVC,
    LinearPegasosSVR,
    PegasosSVR,
    load,
    losses,
    save,
)
from kpegasos.exports.native import TRUSTED
from kpegasos.kernels import functions

STEPS = [None, kpegasos.Constant(0.1), kpegasos.DelayedInverse(), kpegasos.InverseSquareRoot(0.5)]
#: All kernels by their names and, of maps and of what is none, compositions.
MADE = [made for k in (RBF(0.1), Laplacian(0.1)) for made in (k + Linear(), 2.0 * k, k * Linear())]
KERNELS = [*sorted({*functions.KERNELS}), *MADE]


def estimators():
    """Fitted estimators of every kind, each with rows to predict."""
    X, y, new = data(3)
    numbers, part = targets(X), {"epochs": 3, "random_state": 0}
    calibrated = partial(CalibratedClassifierCV, classifier(), cv=2, ensemble=False)
    classifiers = [
        *(classifier(loss=losses.make_loss(n, regression=False)) for n in losses.CLASSIFICATION),
        *(calibrated(method=method) for method in ("sigmoid", "isotonic")),
        *(classifier(warm_start=True, average="suffix"), linear_classifier()),
        *(make_pipeline(StandardScaler(), each()) for each in (classifier, search)),
        make_pipeline(SimpleImputer(), classifier()),
        search(calibration="sigmoid"),
    ]
    many = linear_classifier().fit(X, y)
    many.coef_ = sparse.csc_matrix(many.coef_)
    of_numbers = [losses.make_loss(name, regression=True) for name in losses.REGRESSION]
    regressors = LinearPegasosSVR(**part), *(PegasosSVR(loss=loss, **part) for loss in of_numbers)
    models = [
        many,
        *(each.fit(X, y) for each in classifiers),
        *(classifier().fit(kind(X), y) for kind in (sparse.csr_array, sparse.csr_matrix)),
        *(each.fit(X, numbers) for each in regressors),
        LinearPegasosSVC(random_state=0).partial_fit(X, y, classes=np.unique(y)),
        LinearPegasosSVR(random_state=0).partial_fit(X, numbers),
        classifier("laplacian").fit(X, y).to_sklearn(),
    ]
    of_kernels = [(classifier(kernel).fit(np.abs(X), y), np.abs(new)) for kernel in KERNELS]
    return [*of_kernels, *((model, new) for model in models)]


def results():
    """Results of the functional layer."""
    X, y, _ = data(2)
    problem = kpegasos.make_problem(np.where(y == 7, 1.0, -1.0), 0.01)
    rows = kpegasos.make_rows(X, "rbf", gamma=0.1)
    others = kpegasos.linear_rows(X), kpegasos.GramRows(X @ X.T)
    tried = [*((rows, step) for step in STEPS), *((each, None) for each in others)]
    solved = [
        kpegasos.pegasos(problem, each, epochs=2, random_state=0, step=step) for each, step in tried
    ]
    return [*solved, solved[0].history, kpegasos.regularization_path(problem, rows, [0.1, 1.0])]


@pytest.mark.filterwarnings("ignore")
def test_models_and_results_come_back_with_the_same_bits_and_show_all_trusted_types(tmp_path):
    seen, path = set(), tmp_path / "model"
    for model, new in estimators():
        save(model, path)
        seen |= {*skops.io.get_untrusted_types(file=path)}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            back = load(path)
        assert type(back) is type(model), model
        methods = ("predict", "decision_function", "predict_proba")
        for method in [each for each in methods if hasattr(model, each)]:
            found, expected = getattr(back, method)(new), getattr(model, method)(new)
            np.testing.assert_array_equal(found, expected, err_msg=repr(model))
    for result in results():
        save(result, path)
        seen |= {*skops.io.get_untrusted_types(file=path)}
        back = load(path)
        assert type(back) is type(result)
        if hasattr(result, "coef"):
            np.testing.assert_array_equal(back.coef, result.coef)
            assert back.history.to_pandas().equals(result.history.to_pandas())
    # Of later versions of scikit-learn.
    elsewhere = {name for name in TRUSTED if name.endswith("_TemperatureScaling")}
    assert seen == set(TRUSTED) - elsewhere


def test_model_that_is_not_fitted_comes_back(tmp_path):
    model = classifier("poly", C=np.float32(0.5), random_state=np.random.RandomState(3))
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert back.get_params().keys() == model.get_params().keys()
    assert (back.kernel, back.C, back.degree) == ("poly", 0.5, 2)
    assert back.random_state.randint(2**31) == np.random.RandomState(3).randint(2**31)


def test_file_holds_arrays_and_words_and_one_of_skops_is_read(model, stored):
    with zipfile.ZipFile(stored) as archive:  # and no code
        assert {Path(name).suffix for name in archive.namelist()} <= {".json", ".npy", ".npz"}
    skops.io.dump(model, stored)
    assert load(stored).get_params() == model.get_params()
