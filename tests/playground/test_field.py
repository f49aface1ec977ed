"""The field of decisions on a grid, in a real browser: what is drawn is what the model decides."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from tests.playground.chromium import page_beside_the_modules

FIELD = """async ([model, points, grid]) => {
    const { fieldOf } = await import("./field.js");
    return fieldOf(model, points, grid).map((values) => [...values]);
}"""
GRID = {"x0": -2.0, "x1": 3.0, "nx": 25, "y0": 2.0, "y1": -1.5, "ny": 21}
KERNELS = (
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 3.0},
    {"kernel": "rbf", "gamma": 1e9},
    {"kernel": "laplacian", "gamma": 0.7},
    {"kernel": "poly", "gamma": 0.5, "degree": 4, "coef0": 1.0},
    {"kernel": "poly", "gamma": 0.5, "degree": 10, "coef0": -2.0},
    {"kernel": "sigmoid", "gamma": 0.5, "coef0": -1.0},
    {"kernel": "sigmoid", "gamma": 1000.0, "coef0": 3.0},
)


@pytest.fixture(scope="module")
def page():
    with page_beside_the_modules() as page:
        yield page


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_support", [0, 1, 7])
def test_field_is_the_decision_at_each_node(page, kernel, n_support):
    rng = np.random.RandomState(0)
    points, coefs = rng.uniform(-2, 2, size=(9, 2)), rng.standard_normal(n_support)
    support = rng.permutation(9)[:n_support]
    pair = {"support": support.tolist(), "dual_coef": coefs.tolist(), "intercept": 0.25}
    [found] = page.evaluate(FIELD, [{**kernel, "pairs": [pair]}, points.tolist(), GRID])
    x, y = np.linspace(-2.0, 3.0, 25), np.linspace(2.0, -1.5, 21)
    nodes = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    parameters = {name: value for name, value in kernel.items() if name != "kernel"}
    expected = np.full(len(nodes), 0.25)
    if n_support:
        values = pairwise_kernels(nodes, points[support], metric=kernel["kernel"], **parameters)
        expected += values @ coefs
    largest = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * largest)
