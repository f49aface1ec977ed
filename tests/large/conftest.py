"""What tests of partitions share."""

import pytest

from kpegasos.datasets import make_text_like


@pytest.fixture(scope="module")
def client():
    """One worker inside this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None
    ) as client:
        yield client


@pytest.fixture(scope="module")
def text():
    return make_text_like(1000, 200, 0.05, random_state=0)
