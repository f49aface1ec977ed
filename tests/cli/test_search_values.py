"""Values to search, as words of a command line."""

from __future__ import annotations

import argparse

import pytest

from kpegasos.cli.options import search_values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1", [1.0]),
        ("0.1,1,10", [0.1, 1.0, 10.0]),
        (" 3 , 1 ", [3.0, 1.0]),
        ("2^-5:15:2", [2.0**k for k in range(-5, 16, 2)]),
        ("2^3:-15:-2", [2.0**k for k in range(3, -16, -2)]),
        ("10^-1:3:1", [0.1, 1.0, 10.0, 100.0, 1000.0]),
        ("10^-1:1", [0.1, 1.0, 10.0]),
        ("10^1:-1", [10.0, 1.0, 0.1]),
        ("2^0:1:0.5", [1.0, 2.0**0.5, 2.0]),
        ("2^-3", [0.125]),
        ("2^0:2:1,100", [1.0, 2.0, 4.0, 100.0]),
        ("10^0:1:0.1", [10.0 ** (k * 0.1) for k in range(11)]),
    ],
)
def test_numbers_are_lists_and_powers(text, values):
    assert search_values.numbers(text) == values


@pytest.mark.parametrize("exponent", range(-30, 31))
def test_decimal_powers_are_the_numbers_that_are_written(exponent):
    assert search_values.numbers(f"10^{exponent}") == [float(f"1e{exponent}")]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("-5,15,2", [2.0**k for k in range(-5, 16, 2)]),
        ("3,-15,-2", [2.0**k for k in range(3, -16, -2)]),
        ("0,0,1", [1.0]),
        ("-1,2,2", [0.5, 2.0]),  # the end is not met
    ],
)
def test_exponents_of_two_are_those_of_grid_py(text, values):
    assert search_values.log2_of_C(text) == search_values.log2_of_gamma(text) == values


def test_null_is_the_default_of_libsvm():
    assert search_values.log2_of_C("null") == [1.0]
    assert search_values.log2_of_gamma("null") == ["auto"]


def test_gammas_may_be_words():
    assert search_values.gammas("scale,2^-1:1:1,auto") == ["scale", 0.5, 1.0, 2.0, "auto"]


def test_degrees_are_integers():
    assert search_values.degrees("2,3") == [2, 3]
    assert all(type(degree) is int for degree in search_values.degrees("2^0:2"))


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (search_values.numbers, "", "must be numbers"),
        (search_values.numbers, "1,,2", "must be numbers"),
        (search_values.numbers, "1_000", "must be numbers"),
        (search_values.numbers, "nan", "must be numbers"),
        (search_values.numbers, "one", "got 'one'"),
        (search_values.numbers, "1,1.0", "different values"),
        (search_values.numbers, "3^0:2:1", "powers of 2 or 10"),
        (search_values.numbers, "2^0:4:1:1", r"base\^begin:end:step"),
        (search_values.numbers, "2^0:4:-1", "leads from 0 to 4"),
        (search_values.numbers, "2^0:4:0", "leads from 0 to 4"),
        (search_values.numbers, "2^0:1e9:1", "at most 1000 values"),
        (search_values.numbers, "2^0:999:1,2^-999:-1:1", "at most 1000 values"),
        (search_values.numbers, "2^0:5000:1000", r"finite powers, got 2\^2000"),
        (search_values.numbers, "10^-400", r"finite powers, got 10\^-400"),
        (search_values.positive_numbers, "1,0", "positive, got 0"),
        (search_values.gammas, "scale,-1", "positive, got -1"),
        (search_values.gammas, "scale,scale", "different values"),
        (search_values.degrees, "1.5", "integers that are not negative, got 1.5"),
        (search_values.degrees, "-1", "integers that are not negative, got -1"),
        (search_values.log2_of_C, "-5,15", "begin,end,step or null"),
        (search_values.log2_of_C, "-5,15,x", "must be numbers"),
    ],
)
def test_other_words_are_refused(read, text, expected):
    with pytest.raises(argparse.ArgumentTypeError, match=expected):
        read(text)
