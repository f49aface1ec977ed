"""What pyarrow reads of a text is what Python's own module reads."""

import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from kpegasos.datasets import _table_text
from kpegasos.datasets._table_columns import Layout
from kpegasos.datasets._table_text import read_text

FIELDS = st.sampled_from(
    [
        *(
            "1",
            "-2.5",
            "+3",
            " 4",
            "5 ",
            "\t6",
            "",
            "?",
            "NA",
            "nan",
            "-nan",
            "NaN",
            "null",
            "1e400",
        ),
        *('"7"', '"8,9"', '""', '" 1"', 'a"b', '"a""b"', '"a\nb"', '"a\r\nb"', "red", "inf", "1_0"),
        *(
            "0x1",
            "1e",
            "\0",
            "é",
            "1d5",
            "true",
            "0.1",
            "1.7976931348623159e308",
            "\v1",
            "'1'",
            "1;2",
        ),
    ]
)
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n", "\r", " \n", ",\n"])


@st.composite
def texts(draw):
    width = draw(st.integers(1, 3))
    size = st.integers(width, width) if draw(st.booleans()) else st.integers(1, 3)
    lines = draw(st.lists(st.tuples(st.lists(FIELDS, min_size=1, max_size=3), ENDS), max_size=5))
    start = draw(st.sampled_from(["", "", "\n", "a,b\n", "0,1\n", '"a\nb",c\n', "label,x\n"]))
    kept = [",".join((fields * 3)[: draw(size)]) + end for fields, end in lines]
    return start + "".join(kept)


def outcome(content, layout):
    try:
        return read_text("t.csv", content, ",", layout)
    except ValueError as error:
        return str(error)


LAYOUTS = st.builds(
    Layout, st.sampled_from([None, "auto", "last", 0]), st.sampled_from([None, None, True, False])
)


@settings(max_examples=500, deadline=None)
@given(texts().map(str.encode), LAYOUTS)
def test_pyarrow_reads_what_python_reads(content, layout):
    pytest.importorskip("pyarrow")
    quick = outcome(content, layout)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_table_text, "_read_quickly", lambda *arguments: None)
        slow = outcome(content, layout)
    if isinstance(slow, str):
        assert quick == slow
        return
    assert_array_equal(quick.X, slow.X)
    assert quick.feature_names == slow.feature_names
    if slow.y is None:
        assert quick.y is None
    else:
        assert_array_equal(quick.y, slow.y)


def test_pyarrow_reads_most_texts_by_itself(monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(_table_text, "_read_slowly", None)
    read = read_text("t.csv", b'a,"b",y\n1, 2 ,"u, v"\n?,,w\n', ",", Layout("auto", None))
    assert_array_equal(read.X, [[1, 2], [np.nan, np.nan]])
    assert_array_equal(read.y, ["u, v", "w"])


def test_limit_of_a_field_is_that_of_python():
    assert csv.field_size_limit() == 131_072, "the sentence about long fields names it"
