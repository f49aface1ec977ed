"""What tests of native files share."""

import pytest
from export_cases import classifier, data

from kpegasos import save


@pytest.fixture
def model():
    X, y, _ = data(2)
    return classifier().fit(X, y)


@pytest.fixture
def stored(model, tmp_path):
    path = tmp_path / "model.skops"
    save(model, path)
    return path
