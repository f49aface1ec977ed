"""The page of the documentation, which needs no Python: in a real browser, as Sphinx leaves it."""

import importlib.util
from contextlib import contextmanager
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


@contextmanager
def opened(site, browser):
    context = browser.new_context(viewport={"width": 1400, "height": 900}, has_touch=True)
    with served(site) as address:
        yield Playground(context.new_page(), f"{address}/playground/index.html").started()
    context.close()


@pytest.fixture
def playground(site, browser):
    with opened(site, browser) as page:
        yield page


@pytest.fixture(scope="module")
def untouched(site, browser):
    with opened(site, browser) as page:
        yield page


def test_site_has_the_page_and_not_the_one_of_the_server(site):
    names = {path.name for path in (site / "playground").iterdir()}
    assert {"index.html", "style.css", "engine.js", "playground.js"} <= names
    assert not {"standalone.html", "start.js"} & names


def test_failed_build_gets_no_page(tmp_path):
    end_build(tmp_path, RuntimeError("no pages"))
    assert not list(tmp_path.iterdir())


def test_page_begins_with_points_and_two_models(untouched):
    assert untouched.summary.startswith("200 points")
    assert untouched.page.locator(".kp-picture").count() == 2
    assert untouched.complaints == []


def test_page_asks_for_nothing_but_its_files(untouched):
    addresses = [request.url for request in untouched.requests]
    start = untouched.page.url.removesuffix("index.html")
    assert all(address.startswith((start, "data:")) for address in addresses)
    assert all(request.method == "GET" for request in untouched.requests)


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


def test_controls_can_be_pressed(playground):
    for size in ({"width": 1400, "height": 900}, {"width": 390, "height": 844}):
        playground.page.set_viewport_size(size)
        assert playground.unreached() == []
    playground.press("The step, explained", touch=False)
    playground.page.locator(".kp-explain", has_text="Step 150").first.wait_for()
    playground.press("Curves of the run", touch=True)
    playground.page.locator(".kp-chart").first.wait_for()


def test_step_can_be_typed(playground):
    playground.write("Step t", "20,000")
    playground.wait_for_step(20_000)
    playground.write("Step t", "many")
    playground.settled()
    assert playground.step == 20_000
    assert playground.field("Step t").input_value() == "20,000"


def test_algorithms_that_need_python_are_not_offered(untouched):
    assert untouched.page.get_by_role("button", name="Polish").count() == 0
    assert untouched.page.get_by_role("button", name="SVC").count() == 0


@pytest.mark.slow
def test_page_that_is_opened_as_a_file_says_what_to_do(site, browser):
    page = browser.new_page()
    page.goto((site / "playground" / "index.html").as_uri())
    assert "python -m kpegasos.playground" in page.locator(".kp-from-file").inner_text()
    page.close()
