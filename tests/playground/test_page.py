"""The page in a real browser, from the folder that the documentation has of it."""

import importlib.util
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from playground_cases import fitted, state_of

from kpegasos.playground import STATIC
from kpegasos.playground.__main__ import Server, fragment_of
from tests.playground.browser import FRAMES, Playground, served

SIZES = [(360, 740), (390, 844), (740, 360), (820, 1180), (1024, 768), (1280, 720), (1920, 1080)]
SIZES += [(2560, 1440)]
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


def link_of(page, content):
    """The end of an address that carries a state."""
    code = "async (content) => (await import('./link.js')).encodeLink(content)"
    return page.evaluate(code, content)


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
    emptied.click_pane(0.5, 0.5)
    emptied.wait_for(".kp-summary", "1 point: A 1")
    emptied.wait_for(".kp-pane-message", "Class A alone")
    line = [(0.2, 0.2), (0.35, 0.25), (0.5, 0.3)]
    emptied.stroke(line)
    emptied.wait_for(".kp-summary", "2 points: A 2")
    emptied.page.keyboard.press("s")
    emptied.stroke(line)
    assert emptied.n_points > 6
    emptied.page.keyboard.press("Control+z")
    emptied.wait_for(".kp-summary", "2 points: A 2")


@pytest.mark.slow
def test_finger_scrolls_over_a_pane_taps_a_point_and_sprays_by_a_tool(static, opened):
    page = opened(static[1], (360, 740), has_touch=True, is_mobile=True)
    up = [(0.5, 0.9 - 0.1 * k) for k in range(9)]
    page.stroke(up, touch=True)
    page.page.wait_for_timeout(300)
    scrolled = page.page.evaluate("scrollY")
    assert (page.n_points, scrolled > 60) == (200, True)
    page.page.touchscreen.tap(*page.place(0.5, 0.9))
    page.wait_for(".kp-summary", "201 points")
    page.press("Spray points", touch=True)
    page.page.wait_for_timeout(300)
    scrolled = page.page.evaluate("scrollY")
    page.stroke(up, touch=True)
    assert page.n_points > 206
    assert page.page.evaluate("scrollY") == scrolled


@pytest.mark.slow
@pytest.mark.parametrize("size", [(360, 640), (360, 740), (412, 915)], ids=str)
def test_panes_are_in_sight_where_c_is_moved_on_a_phone(static, opened, size):
    page = opened(static[1], size, is_mobile=True)
    page.field("C").evaluate("each => each.scrollIntoView({block: 'center'})")
    page.page.wait_for_timeout(200)
    assert page.unreached() == []
    page.field("C").evaluate("each => each.scrollIntoView({block: 'center'})")
    box = page.field("C").bounding_box()
    bar = page.page.locator(".kp-timeline").bounding_box()
    for pane in page.page.locator(".kp-pane-box").all():
        place = pane.bounding_box()
        assert place["y"] >= 0
        assert place["y"] + place["height"] <= box["y"]
    assert box["y"] + box["height"] <= bar["y"] < bar["y"] + bar["height"] <= size[1] + 1
    before = page.settled().pictures(".kp-picture")
    page.write("C", "0,01")
    assert page.settled().pictures(".kp-picture") != before


@pytest.mark.slow
def test_point_tells_its_index_alpha_and_decision(static, opened, page):
    state = state_of(n=20, held_out=2, panes=[{"kernel": "rbf", "gamma": 1.0}])
    shown = opened(static[1] + link_of(page, {"state": state, "t": 90}))
    [frame] = page.evaluate(FRAMES, [{"state": state, "revision": 1, "t": 90}])
    counts, model = frame["panes"][0]["counts"], fitted(state, state["panes"][0], 90)
    decisions = model.decision_function(np.array(state["points"]))
    low, high = np.min(state["points"], axis=0), np.max(state["points"], axis=0)
    box = shown.page.locator(".kp-overlay").first.bounding_box()
    unit = max(1.16 * (high - low) / (box["width"], box["height"]))
    for i in (3, 19):
        x, y = (np.array(state["points"][i]) - (low + high) / 2) / unit
        shown.page.mouse.move(box["x"] + box["width"] / 2 + x, box["y"] + box["height"] / 2 - y)
        told = shown.page.locator(".kp-tip:visible").inner_text().replace("−", "-")
        label, *alpha, decision = told.split("\n")
        assert label == f"point {i}, class {'AB'[state['labels'][i]]}" + ", held out" * (i == 19)
        assert alpha == ([] if i == 19 else [f"α = {counts[i]}"])
        assert float(decision.removeprefix("f(x) = ")) == pytest.approx(decisions[i], rel=1e-2)


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
        ("C", 0, "-3", "C must be a number from"),
        ("γ", 1, "0", "γ must be"),
        ("c", 0, "0", "c must be"),
        ("λ", 0, "much", "λ must be a number, got “much” instead"),
        ("Batch", 0, "1,5", "Batch must be an integer from 1 to 2000, got 1.5 instead"),
        ("Test share", 0, "2", "Test share must be"),
        ("Noise", 0, "-1", "Noise must be"),
        *(
            ("Step t", 0, text, "Step t must be a whole number from 0 to 10,000,000, got “" + text)
            for text in ("abc", "-1", "1,5", "20,000,000")
        ),
    ],
)
def test_error_is_at_its_control_until_it_is_mended(static, opened, label, number, text, sentence):
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
    playground.write(label, before, number)
    error.wait_for(state="hidden")
    assert field.get_attribute("aria-invalid") is None


@pytest.mark.slow
def test_address_has_the_state_after_each_edit(static, opened):
    one = opened(static[1])
    assert "#" not in one.page.url
    one.write("γ", "2,5", 1)
    one.click_pane(0.5, 0.1)
    one.page.mouse.move(5, 5)
    step = one.seek(0.7).step
    one.page.wait_for_timeout(500)
    pictures, address = one.pictures(".kp-picture"), one.page.url
    one.page.reload()
    one.page.locator(".kp-tile-value", has_text="%").first.wait_for()
    assert (one.settled().step, one.field("γ", 1).input_value()) == (step, "2.5")
    assert one.pictures(".kp-picture") == pictures
    assert one.page.url == address
    other = opened(static[1].removesuffix("index.html") + address[address.index("#") :])
    assert (other.step, other.pictures(".kp-picture")) == (step, pictures)
    one.write("C", "-3")
    one.page.wait_for_timeout(500)
    assert one.page.url == address  # what is refused is not kept
    other.button("Erase all points").click()
    other.page.wait_for_timeout(500)
    other.page.reload()
    other.wait_for(".kp-summary", "0 points")


@pytest.mark.slow
def test_link_is_copied_and_a_table_is_read(static, opened):
    one = opened(static[1], permissions=["clipboard-read", "clipboard-write"])
    one.write("C", "3")
    one.button("Export").click()
    one.page.get_by_role("button", name="Link").click()
    one.wait_for(".kp-banner", "opens this state on any copy of the page")
    other = opened(one.page.evaluate("navigator.clipboard.readText()"))
    assert other.field("C").input_value() == "3"
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


@pytest.mark.slow
def test_table_of_the_command_is_read_by_the_page(opened, tmp_path):
    (tmp_path / "animals.csv").write_text("a;b;kind;test\n1,5;2;Katze;0\n3;4;Hund;0\n5;6;Hund;1\n")
    with Server(fragment_of(tmp_path / "animals.csv")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = opened(server.url)
        page.wait_for(".kp-summary", "3 points: A (Hund) 2, B (Katze) 1, 1 held out")
        page.page.reload()
        page.wait_for(".kp-summary", "3 points: A (Hund) 2, B (Katze) 1, 1 held out")
        (tmp_path / "wrong.csv").write_text("1,2\n")
        server.fragment = fragment_of(tmp_path / "wrong.csv")
        page.page.goto("about:blank")
        page.page.goto(server.url)
        page.wait_for(".kp-field-error", "table must have two columns of features")
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "begins"), [("SVG", b"<svg xmlns"), ("PNG", b"\x89PNG")])
def test_panes_are_saved_as_pictures(static, opened, kind, begins):
    page = opened(static[1])
    page.button("Export").click()
    with page.page.expect_download() as download:
        page.page.get_by_role("button", name=f"Panes ({kind})").click()
    content = Path(download.value.path()).read_bytes()
    assert content.startswith(begins)
    box = page.page.locator(".kp-picture").first.bounding_box()
    if kind == "PNG":
        width, height = (int.from_bytes(content[k : k + 4], "big") for k in (16, 20))
        assert width == pytest.approx(2 * (2 * box["width"] + 36), abs=8)
        assert height == pytest.approx(2 * (box["height"] + 42), abs=8)
    else:
        assert content.count(b"<image ") == 2
        assert b">RBF \xce\xb3 = 1</text>" in content


@pytest.mark.slow
def test_page_is_ready_within_a_second(static, opened):
    times = []
    for _ in range(3):
        page = opened(static[1])
        page.page.evaluate("performance.mark('again')")
        page.page.reload()
        page.page.locator(".kp-tile-value", has_text="%").first.wait_for()
        times.append(page.page.evaluate("performance.now()"))
    assert min(times) < 1000


@pytest.mark.slow
@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "touch"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_control_can_be_pressed(opened, static, size, touch):
    playground = opened(static[1], size, has_touch=touch)
    assert playground.page.evaluate("document.documentElement.scrollWidth") <= size[0]
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
    assert playground.unreached("dialog[open]") == []
    playground.page.get_by_role("button", name="Python code").click()
    playground.page.locator(".kp-code").wait_for()
    assert playground.unreached("dialog[open]") == []
