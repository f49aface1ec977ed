"""Values to search, as words of a command line."""

from __future__ import annotations

import argparse

import pytest

from kpegasos.cli import tune


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
    assert tune.numbers(text) == values


@pytest.mark.parametrize("exponent", range(-30, 31))
def test_decimal_powers_are_the_numbers_that_are_written(exponent):
    assert tune.numbers(f"10^{exponent}") == [float(f"1e{exponent}")]


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
    assert tune.log2_of_C(text) == tune.log2_of_gamma(text) == values


def test_null_is_the_default_of_libsvm():
    assert tune.log2_of_C("null") == [1.0]
    assert tune.log2_of_gamma("null") == ["auto"]


def test_gammas_may_be_words():
    assert tune.gammas("scale,2^-1:1:1,auto") == ["scale", 0.5, 1.0, 2.0, "auto"]


def test_degrees_are_integers():
    assert tune.degrees("2,3") == [2, 3]
    assert all(type(degree) is int for degree in tune.degrees("2^0:2"))


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (tune.numbers, "", "must be numbers"),
        (tune.numbers, "1,,2", "must be numbers"),
        (tune.numbers, "1_000", "must be numbers"),
        (tune.numbers, "nan", "must be numbers"),
        (tune.numbers, "one", "got 'one'"),
        (tune.numbers, "1,1.0", "different values"),
        (tune.numbers, "3^0:2:1", "powers of 2 or 10"),
        (tune.numbers, "2^0:4:1:1", r"base\^begin:end:step"),
        (tune.numbers, "2^0:4:-1", "leads from 0 to 4"),
        (tune.numbers, "2^0:4:0", "leads from 0 to 4"),
        (tune.numbers, "2^0:1e9:1", "at most 1000 values"),
        (tune.numbers, "2^0:999:1,2^-999:-1:1", "at most 1000 values"),
        (tune.numbers, "2^0:5000:1000", r"finite powers, got 2\^2000"),
        (tune.numbers, "10^-400", r"finite powers, got 10\^-400"),
        (tune.positive_numbers, "1,0", "positive, got 0"),
        (tune.gammas, "scale,-1", "positive, got -1"),
        (tune.gammas, "scale,scale", "different values"),
        (tune.degrees, "1.5", "integers that are not negative, got 1.5"),
        (tune.degrees, "-1", "integers that are not negative, got -1"),
        (tune.log2_of_C, "-5,15", "begin,end,step or null"),
        (tune.log2_of_C, "-5,15,x", "must be numbers"),
    ],
)
def test_other_words_are_refused(read, text, expected):
    with pytest.raises(argparse.ArgumentTypeError, match=expected):
        read(text)
