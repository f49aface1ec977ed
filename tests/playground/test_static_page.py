"""The page of the documentation, which needs no Python: in a real browser, as Sphinx leaves it."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.playground.chromium import chromium, served

pytest.importorskip("websockets", reason="websockets is not installed")

from tests.playground.pages import Playground

EXTENSION = Path(__file__).resolve().parents[2] / "docs" / "_ext" / "playground_page.py"


def end_build(folder, exception=None):
    """What the extension does when Sphinx has written its pages into a folder."""
    spec = importlib.util.spec_from_file_location("playground_page", EXTENSION)
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)
    app = SimpleNamespace(outdir=folder, builder=SimpleNamespace(format="html"))
    extension.copy_playground(app, exception)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    end_build(folder)
    return folder


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def playground(site, browser):
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    with served(site) as address:
        yield Playground(context.new_page(), f"{address}/playground/index.html").started()
    context.close()


def test_site_has_the_page_and_not_the_one_of_the_server(site):
    names = {path.name for path in (site / "playground").iterdir()}
    assert {"index.html", "style.css", "engine.js", "playground.js"} <= names
    assert not {"standalone.html", "start.js"} & names


def test_failed_build_gets_no_page(tmp_path):
    end_build(tmp_path, RuntimeError("no pages"))
    assert not list(tmp_path.iterdir())


def test_page_begins_with_points_and_two_models(playground):
    assert playground.summary.startswith("200 points")
    assert playground.page.locator(".kp-picture").count() == 2
    assert playground.complaints == []


def test_page_asks_for_nothing_but_its_files(playground):
    addresses = [request.url for request in playground.requests]
    start = playground.page.url.removesuffix("index.html")
    assert all(address.startswith((start, "data:")) for address in addresses)
    assert all(request.method == "GET" for request in playground.requests)


def test_scrubbing_back_and_forth_gives_identical_pixels(playground):
    playground.seek(0.9)
    late = playground.settled().step
    playground.seek(0.4)
    before, step = playground.settled().pictures(), playground.step
    assert step < late
    playground.seek(0.9)
    assert playground.settled().step == late
    playground.seek(0.4)
    assert playground.settled().step == step
    assert playground.pictures() == before


def test_click_adds_a_point(playground):
    playground.click_pane(0.1, 0.9)
    playground.settled()
    assert playground.summary.startswith("201 points")


def test_algorithms_that_need_python_are_not_offered(playground):
    assert playground.page.get_by_role("button", name="Polish").count() == 0
    assert playground.page.get_by_role("button", name="SVC").count() == 0


def test_page_that_is_opened_as_a_file_says_what_to_do(site, browser):
    page = browser.new_page()
    page.goto((site / "playground" / "index.html").as_uri())
    assert "python -m kpegasos.playground" in page.locator(".kp-from-file").inner_text()
    page.close()
