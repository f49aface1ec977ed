"""`save` and `load`: the same bits, nothing built but trusted types, a sentence for other files."""

import io
import re
import sys
import warnings
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import skops.io
from export_cases import classifier, data, linear_classifier, search, targets
from pandas import DataFrame
from pandas.testing import assert_frame_equal
from rejections import refusal
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kpegasos
import kpegasos.rows.gram
from kpegasos import (
    RBF,
    Laplacian,
    Linear,
    LinearPegasosSVC,
    LinearPegasosSVR,
    PegasosSVC,
    PegasosSVR,
    load,
    losses,
    save,
)
from kpegasos.exports.native import TRUSTED
from kpegasos.kernels import functions
from kpegasos.losses.standard import CLASSIFICATION, REGRESSION

STEPS = [None, kpegasos.Constant(0.1), kpegasos.DelayedInverse(), kpegasos.InverseSquareRoot(0.5)]
#: All kernels by their names and, of maps and of what is none, compositions.
MADE = [made for k in (RBF(0.1), Laplacian(0.1)) for made in (k + Linear(), 2.0 * k, k * Linear())]
KERNELS = [*sorted({*functions.KERNELS}), *MADE]


@pytest.fixture
def stored(tmp_path):
    X, y, _ = data(2)
    save(classifier().fit(X, y), tmp_path / "model.skops")
    return tmp_path / "model.skops"


def estimators():
    """Fitted estimators of every kind, each with rows to predict."""
    X, y, new = data(3)
    numbers, part = targets(X), {"epochs": 3, "random_state": 0}
    calibrated = partial(CalibratedClassifierCV, classifier(), cv=2, ensemble=False)
    classifiers = [
        *(classifier(loss=losses.make_loss(n, regression=False)) for n in CLASSIFICATION),
        *(calibrated(method=method) for method in ("sigmoid", "isotonic")),
        *(classifier(warm_start=True, average="suffix"), linear_classifier()),
        *(make_pipeline(StandardScaler(), each()) for each in (classifier, search)),
        make_pipeline(SimpleImputer(), classifier()),
        *(search(cv=cv) for cv in (KFold(2), StratifiedKFold(2, shuffle=True, random_state=0))),
    ]
    many = linear_classifier().fit(X, y)
    many.coef_ = sparse.csc_matrix(many.coef_)
    of_numbers = [losses.make_loss(name, regression=True) for name in REGRESSION]
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
    others = kpegasos.linear_rows(X), kpegasos.rows.gram.GramRows(X @ X.T)
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
            assert_frame_equal(
                DataFrame(back.history.to_dict()), DataFrame(result.history.to_dict())
            )
    # Of later versions of scikit-learn.
    elsewhere = {name for name in TRUSTED if name.endswith("_TemperatureScaling")}
    assert seen == set(TRUSTED) - elsewhere


def test_file_holds_arrays_and_words_and_one_of_skops_is_read(stored):
    model = load(stored)
    with zipfile.ZipFile(stored) as archive:  # and no code
        assert {Path(name).suffix for name in archive.namelist()} <= {".json", ".npy", ".npz"}
    skops.io.dump(model, stored)
    assert load(stored).get_params() == model.get_params()


# --- `save` and `load`: a sentence for files that are damaged, others', or name foreign types -----


def of_users(A, B):
    return A @ B.T


def test_what_cannot_be_loaded_is_not_written(stored):
    earlier = stored.read_bytes()
    trusts = r"^model must hold only types that kpegasos.load trusts, got .*skops.io.dump writes it"
    skops_can = r"^model must hold only what skops can write, got "
    for model, sentence in (
        *((classifier(each), trusts) for each in (of_users, np.dot, kpegasos.KernelMatrix)),
        (classifier(class_weight=(each for each in [])), skops_can),
    ):
        with pytest.raises(ValueError, match=sentence):
            save(model, stored)
    assert stored.read_bytes() == earlier
    assert list(stored.parent.iterdir()) == [stored]


def rewrite(path, edit):
    """Write the archive anew, with ``edit(name, content)`` in place of each of its files."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, edit(name, content))


def changed(path, edit):
    """Edit the schema of an archive as text."""
    rewrite(path, lambda name, data: edit(data.decode()) if name == "schema.json" else data)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"PegasosSVC"', '"system"'),
        ('"kpegasos.estimators.kernel"', '"os"'),
        ('"kpegasos.kernels.functions"', '"subprocess"'),
        ("kpegasos.", "k" * 300 + "."),
    ],
)
def test_file_that_names_other_types_is_refused(old, new, stored):
    changed(stored, lambda text: text.replace(old, new))
    sentence = f"{stored}: a model must hold only types that kpegasos trusts, got "
    assert refusal(load, stored).startswith(sentence)


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: "",
        lambda text: "[]",
        lambda text: "{}",
        lambda text: text[:-10],
        lambda text: text.replace('"protocol"', '"protocols"'),
        lambda text: text.replace(".npy", ".npz"),
        lambda text: text.replace("ObjectNode", "OtherNode"),
        lambda text: "[" * 100_000,
    ],
)
def test_damaged_schema_is_told_of(edit, stored):
    changed(stored, edit)
    assert "must be a whole file that kpegasos.save has written" in refusal(load, stored)


def test_other_file_is_told_of(tmp_path):
    path = tmp_path / "model"
    sentence = f"{path} must be a whole file that kpegasos.save has written, got one of which a "
    for content in (b"", b"PK\3\4", b"\0" * 100, b"svm_type c_svc\n", b"\x80\4."):
        path.write_bytes(content)
        assert refusal(load, path).startswith(sentence)
    with path.open("wb") as file:
        np.savez(file, a=np.ones(3))
    assert refusal(load, path).startswith(sentence)
    for other in (tmp_path, tmp_path / "missing"):
        with pytest.raises(OSError, match=re.escape(str(other))):
            load(other)


# --- parts that do not fit each other -------------------------------------------------------------


def assert_does_not_fit(path, part=""):
    sentence = f"{path} must be a whole file that kpegasos.save has written, got one of which a "
    assert re.match(rf"{re.escape(sentence)}part says .*{part}", refusal(load, path))


def with_arrays(path, edit):
    """Write the archive anew, with ``edit(array or matrix)`` in place of its arrays."""

    def edited(name, data):
        file = io.BytesIO()
        if name.endswith(".npz"):
            rows = edit(sparse.load_npz(io.BytesIO(data)))
            parts = {each: getattr(rows, each) for each in ("data", "indices", "indptr")}
            np.savez(file, format=b"csr", shape=rows.shape, _is_array=False, **parts)
        elif name.endswith(".npy"):
            np.save(file, edit(np.load(io.BytesIO(data))))
        return file.getvalue() or data

    rewrite(path, edited)


@pytest.mark.parametrize(
    ("place", "index"), [("indices", -3000), ("indices", 4 * 10**7), ("indptr", 2 * 10**8)]
)
@pytest.mark.parametrize(("kernel", "part"), [("rbf", "vectors"), ("linear", "counts")])
def test_vectors_and_counts_of_other_columns_are_refused(kernel, part, place, index, tmp_path):
    X, y, _ = data(3)
    path = tmp_path / "model"
    save(classifier(kernel).fit(sparse.csr_matrix(X), y), path)

    def edit(rows):
        if sparse.issparse(rows) and (rows.shape[1] == X.shape[1]) == (part == "vectors"):
            getattr(rows, place)[3] = index
        return rows

    with_arrays(path, edit)
    assert refusal(load, path).startswith(f"{path} must be a whole file")


@pytest.mark.parametrize("kind", [PegasosSVC, PegasosSVR, LinearPegasosSVC])
@pytest.mark.parametrize(
    "edit", [lambda a: np.vstack([a, a]), lambda a: a[:, :-1], lambda a: a * np.nan]
)
def test_arrays_that_do_not_fit_each_other_are_refused(edit, kind, tmp_path):
    X, y, _ = data(2)
    path = tmp_path / "model"
    save(kind(epochs=1, random_state=0).fit(X, y * 1.0), path)
    with_arrays(path, lambda array: edit(array) if array.ndim == 2 else array)
    assert_does_not_fit(path)


def test_probabilities_of_a_file_that_do_not_fit_are_refused(tmp_path):
    X, y, _ = data(2)
    classifier(loss="log_loss").fit(X, y).to_libsvm(tmp_path / "libsvm")
    read = PegasosSVC.from_libsvm(tmp_path / "libsvm")
    for wrong in (np.ones((3, 1)), np.ones((2, 2)), np.full((2, 1), np.nan)):
        read._sigmoids = wrong
        assert refusal(read.predict_proba, X).startswith("_sigmoids must ")
        save(read, tmp_path / "model")
        assert_does_not_fit(tmp_path / "model", "_sigmoids must ")


def test_warm_start_of_negative_counters_is_refused(tmp_path):
    X, y, _ = data(2)
    for counter in (0, 1):  # of steps, and of the draws of a batch
        model = classifier(warm_start=True).fit(X, y)
        model._states[0].loop.counters[counter] = -50
        save(model, tmp_path / "model")
        assert_does_not_fit(tmp_path / "model")


def test_array_of_more_entries_than_memory_has_room_for_is_refused(stored):
    head, form = io.BytesIO(), {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    np.lib.format.write_array_header_1_0(head, form)
    rewrite(stored, lambda name, data: head.getvalue() if name.endswith(".npy") else data)
    assert_does_not_fit(stored)


def test_without_skops_a_sentence_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    for call in (lambda path: save(PegasosSVC(), path), load):
        with pytest.raises(ImportError, match=r"need skops: pip install 'kpegasos\[skops\]'$"):
            call(tmp_path / "model.skops")
