"""Problems from labels of any two classes, and from C in place of lam."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.preprocessing import LabelEncoder

from kpegasos import make_problem

pytestmark = pytest.mark.pure_python

SIGNS = np.array([1.0, -1.0, -1.0, 1.0])
BOTH = {
    "signs": [1, -1, -1, 1],
    "floats": [1.0, -1.0, -1.0, 1.0],
    "int8": np.array([1, -1, -1, 1], np.int8),
    "zero and one": [1, 0, 0, 1],
    "unsigned": np.array([7, 3, 3, 7], np.uint8),
    "negative": [-1, -5, -5, -1],
    "booleans": [True, False, False, True],
    "strings": ["spam", "ham", "ham", "spam"],
    "bytes": [b"y", b"n", b"n", b"y"],
    "objects": np.array(["spam", "ham", "ham", "spam"], object),
    "numbers as objects": np.array([2, 1.0, 1, 2], object),
    "series": pd.Series(["b", "a", "a", "b"]),
    "nullable": pd.Series([True, False, False, True], dtype="boolean"),
    "categories": pd.Series(["b", "a", "a", "b"], dtype="category"),
}


@pytest.mark.parametrize("kind", BOTH)
def test_problem_has_signs_for_any_two_labels(kind):
    """Classes are sorted as scikit-learn sorts them."""
    problem, labels = make_problem(BOTH[kind], 0.5), np.asarray(BOTH[kind])
    if kind == "numbers as objects":
        labels = labels.astype(float)
    assert problem.y.dtype == np.float64
    assert_array_equal(problem.y, SIGNS)
    assert_array_equal(problem.classes, LabelEncoder().fit(labels).classes_)
    assert_array_equal(problem.examples.label, SIGNS)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("kind", [int, float])
def test_problem_of_one_sign_keeps_it(sign, kind):
    problem = make_problem(np.full(3, sign, kind), 1.0)
    assert_array_equal(problem.y, np.full(3, float(sign)))
    assert_array_equal(problem.classes, [-1, 1])


# --- C --------------------------------------------------------------------------------------------


def test_problem_of_c_is_that_of_svc():
    assert make_problem(SIGNS, C=0.5).lam == 1 / (0.5 * 4)
    weighted = make_problem(SIGNS, sample_weight=[1, 2, 3, 4], C=0.5)
    assert weighted.lam == 1 / (0.5 * 10)
    assert_array_equal(weighted.weight, [0.4, 0.8, 1.2, 1.6])


# --- what is refused ------------------------------------------------------------------------------

TWO, WEIGHTS = [1, -1], "^sample_weight must be 2 positive finite numbers"
LABELS = {
    r"labels of two classes, got 1 of them, \[0\]": [[0, 0]],
    r"labels of two classes, got 1 of them, \[True\]": [[True, True]],
    r"labels of two classes, got 3 of them, \['a', 'b', 'c'\]": [["a", "b", "c"]],
    r"labels of two classes, got 100 of them, \[0, 1, 2, 3, 4\]": [np.arange(100)],
    "a label for each example, got NaN": [[1, -1, np.nan], np.array([1, 0, np.inf], object)],
    "labels of one kind": [np.array(["a", 1], object), pd.Series(["a", None])],
    "labels such as integers or strings, got (complex|timedelta)": [
        [1j, -1],
        np.array([1, -1], "m8[s]"),
    ],
}
REFUSED = [
    *[(rf"^y must hold {match}", {"y": y}) for match, labels in LABELS.items() for y in labels],
    *[
        ("^y must be a non-empty vector of labels", {"y": y})
        for y in ([], 1, [[1, -1]], [[1], [1, -1]], {1, -1})
    ],
    ("^y must have no masked", {"y": np.ma.array(TWO, mask=[True, False])}),
    *[
        (f"^{name} must be a positive finite", {"lam": None, name: value})
        for name in ("lam", "C")
        for value in (0, -1, np.nan, np.inf, "1", True, [1], 10**400)
    ],
    # Numbers next to the ends of float64 have few digits, or squares that are none.
    ("^lam must be at least", {"lam": 1e-200}),
    ("^lam must be at most", {"lam": 1e200}),
    *[
        (WEIGHTS, {"sample_weight": weight})
        for weight in ([1], [1, 0], [1, -1], [1, np.nan], [1, np.inf], [[1, 1]])
    ],
    *[
        (r"numbers from 1e-100 to 1e\+100, got .* from", {"sample_weight": [weight, weight]})
        for weight in (1e-322, 1e-300, 1e300)
    ],
    ("^lam must be given unless C is, got None instead", {"lam": None}),
    ("^C must be None where lam is given, got 1.0 instead", {"C": 1.0}),
    ("^C must be at least", {"lam": None, "C": 1e-200}),
    ("^C must be at most", {"lam": None, "C": 1e200}),
    *[
        (
            "^C times the mean of sample_weight must",
            {"lam": None, "C": size, "sample_weight": [size] * 2},
        )
        for size in (1e-100, 1e100)
    ],
]


@pytest.mark.parametrize(("match", "arguments"), REFUSED, ids=str)
def test_problem_refuses(match, arguments):
    with pytest.raises(ValueError, match=match):
        make_problem(**{"y": TWO, "lam": 0.1} | arguments)
