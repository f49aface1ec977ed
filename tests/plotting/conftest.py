"""Fitted models and axes that the tests of the displays share."""

import warnings

import pytest
from matplotlib import pyplot as plt
from sklearn.datasets import load_iris, make_moons

from kpegasos import PegasosSVC

plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def _nothing_left_open():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.canvas.draw()


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(120, noise=0.15, random_state=0)
    return X, y, PegasosSVC(gamma=2.0, C=10.0, epochs=50, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, PegasosSVC(random_state=0).fit(X, y)
