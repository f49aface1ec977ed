"""Files that are broken, paths that are none, and files that are written whole or not at all."""

from functools import partial

import numpy as np
import pytest
from rejections import refusal

from kpegasos import PegasosSVC, PegasosSVR, save

GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.25
label 1 -1
nr_sv 1 1
SV
1 1:0.5 2:1
-1 1:2
"""


def changed(line, text):
    """The good file with another line."""
    lines = GOOD.splitlines()
    lines[line - 1] = text
    return "\n".join(line for line in lines if line is not None) + "\n"


def number(words):
    """A model of a precomputed kernel, with the example that a support vector was."""
    return changed(2, "kernel_type precomputed").replace("1 1:0.5 2:1", f"1 {words}")


def sigmoids(lines):
    """The good file with parameters of probabilities."""
    return GOOD.replace("nr_sv", f"{lines}\nnr_sv")


ONE_ROW = "must be 1 coefficients and 'index:value', indices ascending from 1 on, got "
EXAMPLE = "must be 1 coefficients and '0:' and a number from 1 on, got "
BROKEN = {
    "empty": ("", 0, "the file must have a line 'SV' after its header, got its end"),
    "kind": (changed(1, "svm_type one_class"), 1, "svm_type must be one of c_svc, nu_svc, got"),
    "no kind": (changed(1, None), 8, "the header must have 1 entries of svm_type, got 0"),
    "kernel": (changed(2, "kernel_type cubic"), 2, "kernel_type must be one of linear, pol"),
    "again": (changed(3, "svm_type c_svc"), 3, "must begin with a name that LIBSVM has, and once"),
    "other": (changed(3, "x 1"), 3, "must begin with a name that LIBSVM has, and once, got 'x'"),
    "gamma": (changed(3, "gamma -1"), 3, "gamma must be finite numbers of at least 0, got '-1'"),
    "infinite": (changed(3, "gamma inf"), 3, "gamma must be finite numbers of at least 0, got 'in"),
    "no gamma": (changed(3, None), 8, "the header must have 1 entries of gamma, got 0"),
    "classes": (changed(4, "nr_class 1"), 4, "nr_class must be whole numbers of at least 2, got"),
    "no classes": (changed(4, "nr_class"), 9, "the header must have 1 entries of nr_class, got 0"),
    "underscore": (changed(5, "total_sv 0_2"), 5, "total_sv must be whole numbers of at least 0"),
    "rho": (changed(6, "rho 1 2"), 9, "the header must have 1 entries of rho, got 2"),
    "label": (changed(7, "label 1 1"), 9, "label must name each class once"),
    "large label": (changed(7, f"label 1 {2**31}"), 7, "label must be whole numbers, got"),
    "counts": (changed(8, "nr_sv 2 1"), 9, "nr_sv must sum to total_sv, 2, got 3"),
    "few": (GOOD.partition("-1 1:2")[0], 10, "the file must have 2 support vectors, got 1"),
    "many": (GOOD + "1 1:1\n", 12, "the file must end after 2 support vectors"),
    "coefficient": (changed(10, "x 1:1"), 10, ONE_ROW),
    "no coefficient": (changed(10, "1:1"), 10, ONE_ROW),
    "index": (changed(10, "1 0:1"), 10, ONE_ROW),
    "unsorted": (changed(10, "1 2:1 1:1"), 10, ONE_ROW),
    "twice": (changed(10, "1 2:1 2:1"), 10, ONE_ROW),
    "value": (changed(10, "1 1:x"), 10, ONE_ROW),
    "no value": (changed(10, "1 1"), 10, ONE_ROW),
    "no number": (number("1:1"), 10, EXAMPLE),
    "no example": (number("0:0"), 10, EXAMPLE),
    "two examples": (number("0:1 0:2"), 10, EXAMPLE),
    "half a number": (number("0:1.5"), 10, EXAMPLE),
    "probA": (sigmoids("probA -1"), 10, "the header must have 1 entries of probB, got 0"),
    "probA of two": (
        sigmoids("probA -1 2\nprobB 1"),
        11,
        "the header must have 1 entries of probA",
    ),
}


def write(folder, text):
    (folder / "model").write_text(text, encoding="latin-1")
    return folder / "model"


@pytest.mark.parametrize(
    "text", [GOOD, GOOD.replace("\n", "\r\n"), "\xef\xbb\xbf" + GOOD, GOOD + "\n"]
)
def test_good_file_is_read(text, tmp_path):
    model = PegasosSVC.from_libsvm(write(tmp_path, text))
    X = np.array([[0.5, 1.0], [2.0, 0.0]])
    own = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)) @ [1.0, -1.0] - 0.25
    np.testing.assert_allclose(model.decision_function(X), own)
    np.testing.assert_array_equal(model.predict(X), [1, -1])


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file_is_told_of_with_its_line(name, tmp_path):
    text, line, message = BROKEN[name]
    path = write(tmp_path, text)
    assert refusal(PegasosSVC.from_libsvm, path).startswith(f"{path}, line {line}: {message}")


def test_broken_regression_is_told_of(tmp_path):
    text = "svm_type nu_svr\nkernel_type linear\nnr_class 2\nrho {}\nprobA 0.5\ntotal_sv 0\nSV\n"
    sentence = "the header must have 1 entries of rho, got 3"
    assert sentence in refusal(PegasosSVR.from_libsvm, write(tmp_path, text.format("0 0 0")))
    good = PegasosSVR.from_libsvm(write(tmp_path, text.format("0")))
    assert good.predict([[1.0]]) == 0.0, "the width of a regression's noise is no sigmoid"


def test_model_without_support_vectors_decides_by_its_intercept(tmp_path):
    text = GOOD.partition("SV\n")[0].replace("total_sv 2", "total_sv 0").replace("1 1", "0 0")
    model = PegasosSVC.from_libsvm(write(tmp_path, text + "SV\n"), n_features=2)
    X = np.ones((3, 2))
    np.testing.assert_array_equal(model.decision_function(X), -0.25)
    np.testing.assert_array_equal(model.to_sklearn().decision_function(X), -0.25)


def test_bad_paths_are_told_of_and_nothing_is_written(model, tmp_path):
    for path, kind, message in (
        (None, TypeError, "path must be the path of a file, got None instead"),
        ("a\0b", ValueError, "path must be the path of a file, got "),
        ("\ud800", ValueError, "path must be the path of a file, got "),
        (tmp_path, ValueError, "path must be the path of a plain file, got "),
        (
            tmp_path / "no" / "model",
            FileNotFoundError,
            "path must be in a folder that exists, got ",
        ),
        ("/dev/null", ValueError, "path must be the path of a plain file, got '/dev/null'"),
    ):
        for write_to in (model.to_libsvm, partial(save, model)):
            with pytest.raises(kind, match=message):
                write_to(path)
    assert list(tmp_path.iterdir()) == []
    for path in (3, "", "no such file", tmp_path):
        with pytest.raises(
            (TypeError, ValueError, OSError), match=r"path must|No such f|directory|denied"
        ):
            PegasosSVC.from_libsvm(path)
