"""What tests of partitions share."""

import pytest


@pytest.fixture(scope="module")
def client():
    """One worker inside this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None
    ) as client:
        yield client
