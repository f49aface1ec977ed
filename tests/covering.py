"""Few cases for many options: each value of each, or each pair of values, occurs in one of them."""

from itertools import combinations, product
from random import Random

import pytest


def covering(axes, strength):
    """Rows of values; any ``strength`` of them that may be together are so in one of the rows."""
    rows = list(product(*axes.values()))
    Random(0).shuffle(rows)  # or the first values would be in most of the rows
    parts = [set(combinations(enumerate(map(repr, row)), strength)) for row in rows]
    missing, chosen = set().union(*parts), []
    while missing:
        best = max(range(len(rows)), key=lambda number: len(missing & parts[number]))
        missing -= parts[best]
        chosen.append(rows[best])
    return chosen


def each_value(**axes):
    """Parametrize with all values of all arguments, in as many cases as the longest axis has."""
    return pytest.mark.parametrize(list(axes), covering(axes, 1))


def each_pair(**axes):
    """Parametrize with all pairs of values of any two arguments."""
    return pytest.mark.parametrize(list(axes), covering(axes, 2))
