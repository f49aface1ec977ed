"""A browser, and a page beside the modules."""

import pytest

from kpegasos.playground import STATIC
from tests.playground.browser import chromium, served


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def page(browser):
    """A page that can import the playground's modules."""
    with served(STATIC) as address:
        page = browser.new_page()
        page.goto(f"{address}/index.html")
        yield page
        page.close()
