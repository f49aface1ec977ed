"""The page in a real browser, from the folder that the documentation has of it."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

from kpegasos.playground.assets import STATIC
from tests.playground.browser import Playground, served

EXTENSION = Path(__file__).resolve().parents[2] / "docs" / "_ext" / "playground_page.py"


def end_build(folder, exception=None):
    """What the extension does when Sphinx has written its pages into a folder."""
    spec = importlib.util.spec_from_file_location("playground_page", EXTENSION)
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)
    app = SimpleNamespace(outdir=folder, builder=SimpleNamespace(format="html"))
    extension.copy_playground(app, exception)


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    """The folder of a site as Sphinx leaves it, and its address."""
    folder = tmp_path_factory.mktemp("site")
    end_build(folder)
    with served(folder) as address:
        yield folder / "playground", f"{address}/playground/index.html"


@pytest.fixture
def opened(browser):
    """Opens pages, which must not have complained when the test is over."""
    pages = []

    def open_page(url, size=(1400, 900), **options):
        viewport = {"width": size[0], "height": size[1]}
        context = browser.new_context(viewport=viewport, **{"has_touch": True, **options})
        pages.append(Playground(context.new_page(), url))
        return pages[-1]

    yield open_page
    for page in pages:
        page.page.context.close()
    assert [complaint for page in pages for complaint in page.complaints] == []


def test_site_has_the_files_of_the_page(static, tmp_path):
    names = {path.name for path in static[0].iterdir()}
    assert names == {path.name for path in STATIC.iterdir()}
    end_build(tmp_path, RuntimeError("no pages"))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_page_works_by_itself(static, opened):
    page = opened(static[1])
    page.wait_for(".kp-summary", "200 points")
    assert page.page.locator(".kp-pane-title").all_inner_texts() == ["Linear", "RBF"]
    late = page.seek(0.9).step
    before, step = page.seek(0.4).pictures(), page.step
    assert step < late
    assert page.seek(0.9).step == late
    assert (page.seek(0.4).pictures(), page.step) == (before, step)
    page.write("Step t", "20,000")
    page.wait_for_step(20_000)
    page.write("Step t", "many")
    page.click_pane(0.1, 0.9)
    page.wait_for(".kp-summary", "201 points")
    assert (page.settled().step, page.field("Step t").input_value()) == (20_000, "20,000")
    page.page.set_viewport_size({"width": 390, "height": 844})
    assert page.unreached() == []
    start = static[1].removesuffix("index.html")
    assert all(request.url.startswith((start, "data:")) for request in page.requests)
    assert all(request.method == "GET" for request in page.requests)


@pytest.mark.slow
def test_lesson_goes_on_from_a_link_and_can_be_alone_on_a_slide(static, opened):
    page = opened(f"{static[1]}#lesson=4")
    page.wait_for(".kp-lesson", "4 of 8. Moons, half of them held out.")
    assert (page.field("C").input_value(), page.step) == ("0.01", 20_000)
    assert page.button("Undo").is_disabled()
    page.button("Next").click()
    page.wait_for(".kp-lesson", "5 of 8")
    assert (page.field("C").input_value(), page.step) == ("1000", 20_000)
    assert page.unreached() == []
    page.button("End the lesson").click()
    page.button("Lesson").click()
    page.wait_for(".kp-lesson", "1 of 8")
    page.page.evaluate("location.hash = 'lesson=6'")
    page.wait_for(".kp-lesson", "6 of 8")
    for size in ((1000, 600), (760, 560)):
        slide = opened(f"{static[1]}?embed#lesson=2", size)
        assert [slide.button(name).is_visible() for name in ("Undo", "Export", "Next")] == [0, 0, 1]
        slide.wait_for(".kp-pane-title", "Polynomial")
        assert slide.unreached(".kp-lesson") == slide.unreached(".kp-timeline") == []
        root = "document.documentElement"
        assert slide.page.evaluate(f"[{root}.scrollWidth, {root}.scrollHeight]") == list(size)


@pytest.fixture
def emptied(opened, static):
    """A page without points."""
    playground = opened(static[1])
    playground.button("Erase all points").click()
    playground.wait_for_phase("empty")
    return playground


@pytest.mark.slow
def test_pointer_draws_and_undo_takes_back(emptied):
    mouse = emptied.page.mouse
    emptied.click_pane(0.5, 0.5)
    emptied.wait_for(".kp-summary", "1 point: A 1")
    emptied.wait_for(".kp-pane-message", "Class A alone")
    mouse.move(*emptied.place(0.2, 0.2))
    mouse.down()
    mouse.move(*emptied.place(0.5, 0.3), steps=12)
    mouse.up()
    assert int(emptied.page.locator(".kp-summary").inner_text().split()[0]) > 5
    emptied.page.keyboard.press("Control+z")
    emptied.wait_for(".kp-summary", "1 point: A 1")


@pytest.mark.slow
def test_keyboard_draws_steps_and_plays(emptied):
    pane, keyboard = emptied.page.locator(".kp-overlay").first, emptied.page.keyboard
    pane.press("ArrowLeft")
    pane.press("Enter")
    emptied.wait_for(".kp-summary", "1 point: A 1")
    pane.press("Delete")
    emptied.wait_for(".kp-summary", "0 points")
    emptied.click_pane(0.2, 0.5)
    keyboard.press("h")
    keyboard.press("2")
    emptied.click_pane(0.8, 0.4)
    emptied.wait_for(".kp-summary", "1 held out")
    emptied.wait_for_phase("one_class")
    keyboard.press("h")
    emptied.click_pane(0.8, 0.5)
    emptied.wait_for(".kp-pane-message", "Press Play")
    assert emptied.step == 0
    for key, step in (("e", 2), (".", 3)):
        keyboard.press(key)
        emptied.wait_for_step(step)
    for phase in ("running", "paused"):
        keyboard.press("Space")
        emptied.wait_for_phase(phase)
    emptied.axis.press("Home")
    emptied.axis.press("Shift+ArrowRight")
    emptied.wait_for_step(10)


@pytest.mark.slow
def test_run_stops_at_the_tolerance_with_each_class_on_its_side(emptied):
    for label, x in (("1", 0.2), ("2", 0.8)):
        emptied.page.keyboard.press(label)
        for y in (0.3, 0.5, 0.7):
            emptied.click_pane(x, y)
    emptied.field("Speed").select_option(label="100 epochs/s")
    emptied.field("Stop at").select_option(label="10 % gap")
    emptied.page.keyboard.press("Home")
    emptied.button("Play").click()
    emptied.wait_for_phase("tolerance")
    assert emptied.button("Play").is_visible()
    emptied.settled()
    for pane in (0, 1):
        left, right = (emptied.color(x, 0.3, pane) for x in (0.1, 0.9))
        assert left[0] > left[2]  # vermillion
        assert right[2] > right[0]  # blue


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "number", "text", "sentence"),
    [
        ("C", 0, "-3", "C must be"),
        ("γ", 1, "0", "gamma must be"),
        ("c", 0, "0", "scale must be"),
        ("λ", 0, "much", "lam must be a number, got “much” instead"),
        ("Noise", 0, "-1", "noise must be"),
    ],
)
def test_error_is_at_its_control_until_the_next_edit(opened, static, label, number, text, sentence):
    playground = opened(static[1])
    if label == "c":
        playground.field("Step size").select_option(label="Constant c")
        playground.settled()
    field = playground.field(label, number)
    before = field.input_value()
    playground.write(label, text, number)
    error = playground.page.locator(".kp-field-error:visible")
    error.wait_for()
    assert error.inner_text().startswith(sentence)
    assert field.get_attribute("aria-invalid") == "true"
    assert field.get_attribute("aria-describedby") == error.get_attribute("id")
    playground.write(label, before, number)
    error.wait_for(state="hidden")


@pytest.mark.slow
def test_link_carries_the_whole_state_and_pages_are_independent(opened, static):
    one = opened(static[1], permissions=["clipboard-read", "clipboard-write"])
    one.write("γ", "3", 1)
    one.click_pane(0.5, 0.1)
    one.page.mouse.move(5, 5)
    one.seek(0.7)
    one.button("Export").click()
    one.page.get_by_role("menuitem", name="Link").click()
    one.wait_for(".kp-banner", "link is copied")
    link = one.page.evaluate("navigator.clipboard.readText()")
    one.page.get_by_role("button", name="Dismiss").click()
    other = opened(link)
    assert (other.step, other.field("γ", 1).input_value()) == (one.step, "3")
    pictures = one.pictures(".kp-picture")
    assert other.pictures(".kp-picture") == pictures
    other.page.get_by_text("Your own table").click()
    other.page.locator(".kp-table").fill("height,width,kind\n0,0,cat\n1,1,dog\n0,1,cat")
    other.button("Take").click()
    other.wait_for(".kp-summary", "3 points: A (cat) 2, B (dog) 1")
    assert other.page.locator(".kp-banner:visible").count() == 0
    other.page.locator(".kp-table").fill("170,60,cat\n180,90,dog\n150,50,cat")
    other.button("Take").click()
    other.wait_for(".kp-banner", "“Standardise” scales them")
    other.button("Standardise").click()
    other.page.locator(".kp-banner").wait_for(state="hidden")
    other.button("Undo").click()
    other.button("Undo").click()
    other.wait_for(".kp-summary", "3 points: A (cat) 2, B (dog) 1")
    assert one.settled().pictures(".kp-picture") == pictures
    one.button("Undo").click()
    one.wait_for(".kp-summary", "200 points")
    one.button("Redo").click()
    assert one.settled().pictures(".kp-picture") == pictures


@pytest.mark.slow
@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "touch"])
@pytest.mark.parametrize("size", [(1280, 720), (2560, 1440), (800, 1000), (390, 844)], ids=str)
def test_every_control_can_be_pressed(opened, static, size, touch):
    playground = opened(static[1], size, has_touch=touch)
    assert playground.page.evaluate("document.documentElement.scrollWidth") <= size[0]
    playground.press("Linear axes", touch=touch)
    playground.press("The step, explained", touch=touch)
    playground.wait_for(".kp-explain", "Step 150")
    playground.page.get_by_text("Your own table").click()
    playground.button("Take").click()  # nothing, which is told beside it
    playground.page.locator(".kp-field-error:visible").wait_for()
    playground.press("Polish", touch=touch)
    playground.wait_for_phase("other")
    assert playground.unreached() == []
    playground.press("Curves of the run", touch=touch)
    playground.press("Back to Pegasos", touch=touch)
    playground.wait_for_phase("paused")
    assert playground.unreached() == []
    playground.press("Help", touch=touch)
    assert playground.unreached("dialog[open]") == []
    playground.press("Close", touch=touch)
    playground.press("Export", touch=touch)
    assert playground.unreached(".kp-menu") == []
    playground.page.get_by_role("menuitem", name="Python code").click()
    playground.page.locator(".kp-code").wait_for()
    assert playground.unreached("dialog[open]") == []
