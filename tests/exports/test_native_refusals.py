"""`save` and `load`: a sentence for files that are damaged, others', or name foreign types."""

import io
import re
import zipfile

import numpy as np
import pytest
import skops.io
from export_cases import classifier, data
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV

import kpegasos
from kpegasos import (
    LinearPegasosSVC,
    PegasosSVC,
    PegasosSVCCV,
    PegasosSVR,
    load,
    save,
)
from kpegasos.exports.native import stored_versions
from kpegasos.utils import files


def of_users(A, B):
    return A @ B.T


@pytest.mark.parametrize("kernel", [of_users, np.dot, kpegasos.KernelMatrix])
def test_what_cannot_be_loaded_is_not_written(kernel, tmp_path):
    with pytest.raises(ValueError, match=r"^model must hold only types that kpegasos.load trusts"):
        save(classifier(kernel), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_what_skops_cannot_write_is_told_of(tmp_path):
    with pytest.raises(ValueError, match=r"^model must hold only what skops can write, got "):
        save(classifier(class_weight=(each for each in [])), tmp_path / "model")


@pytest.mark.parametrize("model", [3, None, "model", np.ones(3), classifier, type(classifier())])
def test_what_is_no_model_is_told_of(model, tmp_path):
    with pytest.raises(TypeError, match=r"^model must be an estimator or a result, got "):
        save(model, tmp_path / "model")


def test_file_of_types_that_are_not_trusted_is_refused(tmp_path):
    path = tmp_path / "model"
    skops.io.dump(classifier(np.dot), path)
    with pytest.raises(ValueError, match=r"must hold only types that kpegasos trusts, got numpy\."):
        load(path)


def changed(path, edit):
    """Write the archive anew, its schema edited as text."""
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, edit(data.decode()) if name == "schema.json" else data)
    path.write_bytes(content.getvalue())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"PegasosSVC"', '"system"'),
        ('"kpegasos.estimators.kernel"', '"os"'),
        ('"kpegasos.kernels.functions"', '"subprocess"'),
    ],
)
def test_file_that_names_other_types_is_refused(old, new, stored):
    changed(stored, lambda text: text.replace(old, new))
    with pytest.raises(
        ValueError, match=r"must hold only types that kpegasos trusts, got "
    ) as error:
        load(stored)
    assert str(error.value).startswith(f"{stored}: ")


def test_file_of_many_foreign_types_names_some(stored):
    changed(stored, lambda text: text.replace("kpegasos.", "k" * 300 + "."))
    with pytest.raises(ValueError, match=r"must hold only types that kpegasos trusts") as error:
        load(stored)
    assert len(str(error.value)) < 600 + len(str(stored))


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
    with pytest.raises(ValueError, match=r"must be a whole file that kpegasos\.save has written"):
        load(stored)


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"\0" * 100, b"svm_type c_svc\n", b"\x80\4."])
def test_other_file_is_told_of(content, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(content)
    message = f"{path} must be a whole file that kpegasos.save has written, got "
    for read in (load, stored_versions):
        with pytest.raises(ValueError, match=re.escape(message)):
            read(path)


def test_other_archive_is_told_of(tmp_path):
    np.savez(tmp_path / "arrays.npz", a=np.ones(3))
    with pytest.raises(ValueError, match=r"has written, got another file or a part of one"):
        load(tmp_path / "arrays.npz")


def test_every_shortened_file_is_refused(stored):
    content = stored.read_bytes()
    for end in range(0, len(content), 97):
        stored.write_bytes(content[:end])
        with pytest.raises(ValueError, match="must be a whole file"):
            load(stored)


def test_file_with_a_flipped_byte_is_refused_or_the_same(model, stored):
    """Sums of zip's entries find it, unless it is where nothing is read, such as a date."""
    _, _, new = data(2)
    content = stored.read_bytes()
    expected, refused, harmless = model.decision_function(new), 0, 0
    for place in np.random.default_rng(0).choice(len(content), 150, replace=False):
        stored.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        try:
            found = load(stored).decision_function(new)
        except ValueError as error:
            refused += str(error).startswith(str(stored))
        else:
            np.testing.assert_array_equal(found, expected)
            harmless += 1
    assert refused + harmless == 150
    assert refused > 100


def test_folder_and_missing_file_are_told_of(tmp_path):
    with pytest.raises(ValueError, match=r"^path must be the path of a plain file, got "):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="missing"):
        load(tmp_path / "missing")


def test_earlier_file_stays_if_a_model_is_refused(stored):
    earlier = stored.read_bytes()
    with pytest.raises(ValueError, match="must hold only types"):
        save(classifier(np.dot), stored)
    assert stored.read_bytes() == earlier
    assert list(stored.parent.iterdir()) == [stored]


@pytest.mark.parametrize("versions", ["[]", "3", '{"kpegasos": 3}', "{"])
def test_damaged_versions_are_told_of(versions, model, tmp_path):
    path = tmp_path / "model"
    skops.io.dump(model, path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("kpegasos.json", versions)
    with pytest.raises(ValueError, match=r"must be a whole file that kpegasos\.save has written"):
        load(path)


# --- parts that do not fit each other -------------------------------------------------------------


def with_arrays(path, edit):
    """Write the archive anew, with ``edit(name, array or matrix)`` in place of its arrays."""
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data, file = old.read(name), io.BytesIO()
            if name.endswith(".npz"):
                rows = edit(name, sparse.load_npz(io.BytesIO(data)))
                parts = {each: getattr(rows, each) for each in ("data", "indices", "indptr")}
                np.savez(file, format=b"csr", shape=rows.shape, _is_array=False, **parts)
                data = file.getvalue()
            elif name.endswith(".npy"):
                np.save(file, edit(name, np.load(io.BytesIO(data))))
                data = file.getvalue()
            new.writestr(name, data)
    path.write_bytes(content.getvalue())


@pytest.mark.parametrize(
    ("place", "index"), [("indices", -3000), ("indices", 4 * 10**7), ("indptr", 2 * 10**8)]
)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_vectors_of_other_features_are_refused(kernel, place, index, tmp_path):
    X, y, _ = data()
    path = tmp_path / "model"
    save(classifier(kernel).fit(sparse.csr_matrix(X), y), path)

    def edit(name, rows):
        if sparse.issparse(rows) and rows.shape[1] == X.shape[1]:
            getattr(rows, place)[3] = index
        return rows

    with_arrays(path, edit)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))} must be a whole file"):
        load(path)


@pytest.mark.parametrize("kind", [PegasosSVC, PegasosSVR, LinearPegasosSVC])
@pytest.mark.parametrize(
    "edit", [lambda a: np.vstack([a, a]), lambda a: a[:, :-1], lambda a: a * np.nan]
)
def test_arrays_that_do_not_fit_each_other_are_refused(edit, kind, tmp_path):
    X, y, _ = data(2)
    path = tmp_path / "model"
    save(kind(epochs=1, random_state=0).fit(X, y * 1.0), path)
    with_arrays(path, lambda _, array: edit(array) if array.ndim == 2 else array)
    with pytest.raises(ValueError, match=r"got one whose parts do not fit each other$"):
        load(path)


def of_more_classes(calibrated):
    calibrated.classes_ = np.arange(10)


def of_a_list_of_slopes(calibrated):
    calibrated.calibrated_classifiers_[0].calibrators[0].a_ = np.ones(2)


def of_an_infinite_offset(calibrated):
    calibrated.calibrated_classifiers_[0].calibrators[0].b_ = np.float64(np.inf)


def of_two_curves(calibrated):
    calibrated.calibrated_classifiers_[0].calibrators *= 2


def around_other_classes(calibrated):
    calibrated.calibrated_classifiers_[0].estimator.classes_ = np.array([3, 4])


def around_one_class(calibrated):
    calibrated.calibrated_classifiers_[0].estimator.classes_ = calibrated.classes_[1:]


@pytest.mark.parametrize(
    "edit",
    [
        of_more_classes,
        of_a_list_of_slopes,
        of_an_infinite_offset,
        of_two_curves,
        around_other_classes,
        around_one_class,
    ],
)
@pytest.mark.parametrize("own", [True, False])
def test_calibration_that_does_not_fit_is_refused(edit, own, tmp_path):
    X, y, _ = data(2)
    if own:
        model = PegasosSVCCV(Cs=1, gammas=1, cv=2, calibration="sigmoid", random_state=0).fit(X, y)
        edit(model.calibrator_)
    else:
        model = CalibratedClassifierCV(classifier(), cv=2, ensemble=False).fit(X, y)
        edit(model)
    save(model, tmp_path / "model")
    with pytest.raises(ValueError, match=r"got one whose parts do not fit each other$"):
        load(tmp_path / "model")


@pytest.mark.parametrize("wrong", [np.ones((3, 1)), np.ones((2, 2)), np.full((2, 1), np.nan)])
def test_probabilities_of_a_file_that_do_not_fit_are_refused(wrong, tmp_path):
    X, y, _ = data(2)
    model = classifier(loss="log_loss").fit(X, y)
    model.to_libsvm(tmp_path / "libsvm")
    read = PegasosSVC.from_libsvm(tmp_path / "libsvm")
    read._sigmoids = wrong
    with pytest.raises(ValueError, match=r"^_sigmoids must "):
        read.predict_proba(X)
    save(read, tmp_path / "model")
    with pytest.raises(ValueError, match=r"got one whose parts do not fit each other$"):
        load(tmp_path / "model")


@pytest.mark.parametrize("counter", [0, 1], ids=["steps", "draws of a batch"])
def test_warm_start_of_negative_counters_is_refused(counter, tmp_path):
    X, y, _ = data(2)
    model = classifier(warm_start=True).fit(X, y)
    model._states[0].loop.counters[counter] = -50
    save(model, tmp_path / "model")
    with pytest.raises(ValueError, match=r"got one whose parts do not fit each other$"):
        load(tmp_path / "model")


def test_file_that_unpacks_to_far_more_than_its_size_is_refused(stored, monkeypatch):
    monkeypatch.setattr(files, "_HARMLESS", 2**20)
    with_arrays(stored, lambda *_: np.zeros(2**21))
    with pytest.raises(ValueError, match=r"must unpack to at most \d+ bytes, 200 times its size"):
        load(stored)


def test_array_of_more_entries_than_memory_has_room_for_is_refused(stored):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    )
    content = io.BytesIO()
    with zipfile.ZipFile(stored) as old, zipfile.ZipFile(content, "w") as new:
        for name in old.namelist():
            wrong = name.endswith(".npy")
            new.writestr(name, head.getvalue() if wrong else old.read(name))
    stored.write_bytes(content.getvalue())
    with pytest.raises(ValueError, match=r"must hold arrays that memory has room for, got more$"):
        load(stored)
