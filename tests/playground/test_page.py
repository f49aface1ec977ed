"""The page of the playground, with the Python engine behind it, in a real browser."""

import os
import re
import subprocess
import sys

import pytest

from tests.playground.chromium import chromium

pytest.importorskip("websockets", reason="websockets is not installed")

from tests.playground.pages import Playground, running_site

# The copy of the page without a server, tested beside this one, is quicker to start.
pytestmark = pytest.mark.slow

#: Bytes of all that the page loads, as they cross the wire.
MOST_BYTES = 150_000


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def site(browser):
    with running_site() as running:
        yield running


@pytest.fixture
def opened(browser, site):
    """Opens pages, which must not have complained when the test is over."""
    pages = []

    def open_page(url=None, **options):
        context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **options})
        pages.append(Playground(context.new_page(), url or site.url))
        return pages[-1]

    yield open_page
    complaints = [complaint for page in pages for complaint in page.complaints]
    for page in pages:
        page.page.context.close()
    assert complaints == []


@pytest.fixture
def playground(opened):
    return opened().started()


@pytest.fixture
def emptied(playground):
    """A page without points."""
    playground.button("Erase all points").click()
    playground.wait_for_phase("empty")
    return playground


def test_page_begins_with_points_and_two_models(playground):
    assert playground.summary.startswith("200 points")
    assert playground.page.locator(".kp-pane-title").all_inner_texts() == ["Linear", "RBF"]
    assert playground.phase == "paused"


def test_page_loads_little_and_only_from_its_server(playground, site):
    files = [request for request in playground.requests if request.url.startswith("http")]
    assert all(request.url.startswith(site.url) for request in files)
    assert sum(request.sizes()["responseBodySize"] for request in files) < MOST_BYTES


def test_click_adds_a_point(emptied):
    emptied.click_pane(0.5, 0.5)
    emptied.page.locator(".kp-summary", has_text="1 point: A 1").wait_for()
    assert emptied.phase == "one_class"
    assert "Class A alone" in emptied.page.locator(".kp-pane-message").first.inner_text()


def test_drag_sprays_points_that_one_undo_takes_back(emptied):
    box = emptied.page.locator(".kp-overlay").first.bounding_box()
    emptied.page.mouse.move(box["x"] + 80, box["y"] + 80)
    emptied.page.mouse.down()
    emptied.page.mouse.move(box["x"] + 200, box["y"] + 120, steps=12)
    emptied.page.mouse.up()
    assert int(re.match(r"\d+", emptied.summary).group()) > 5
    emptied.page.keyboard.press("Control+z")
    emptied.page.locator(".kp-summary", has_text="0 points").wait_for()


def test_drawing_on_a_cleared_board_begins_at_step_0(emptied):
    emptied.click_pane(0.2, 0.5)
    emptied.page.keyboard.press("2")
    emptied.click_pane(0.8, 0.5)
    emptied.page.locator(".kp-pane-message", has_text="Press Play").first.wait_for()
    assert emptied.step == 0
    emptied.page.keyboard.press("e")
    emptied.wait_for_step(2)


def test_both_sides_of_the_boundary_have_their_colours(emptied):
    emptied.click_pane(0.2, 0.5)
    emptied.page.keyboard.press("2")
    emptied.click_pane(0.8, 0.5)
    emptied.write("Step t", "100")
    emptied.wait_for_step(100)
    emptied.settled()
    for pane in (0, 1):
        left, right = (emptied.color(x, 0.3, pane) for x in (0.1, 0.9))
        assert left[0] > left[2]  # vermillion
        assert right[2] > right[0]  # blue


def test_gap_falls_while_running(playground):
    before = len(playground.frames)
    playground.button("Play").click()
    playground.wait_for_phase("running")
    playground.page.wait_for_timeout(1500)
    playground.button("Pause").click()
    playground.settled()
    gaps = [frame["panes"][1]["gap"] for frame in playground.frames[before:]]
    assert len(gaps) > 5
    assert gaps[-1] < gaps[0]
    steps = [frame["t"] for frame in playground.frames[before:]]
    assert steps == sorted(steps)


def test_running_stops_at_the_tolerance(emptied):
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


def test_scrubbing_back_and_forth_gives_identical_pixels(playground):
    playground.seek(0.95)
    playground.settled()
    seen = {}
    for share in (0.4, 0.8, 0.6, 0.8, 0.4, 0.6):
        playground.seek(share)
        pictures = playground.settled().pictures()
        assert seen.setdefault(share, (playground.step, pictures)) == (playground.step, pictures)
    assert len({step for step, _ in seen.values()}) == 3


def test_exported_code_gives_the_same_objective(playground):
    playground.seek(0.9)
    playground.settled()
    shown = [pane["averaged"] for pane in playground.frames[-1]["panes"]]
    playground.button("Export").click()
    playground.page.get_by_role("menuitem", name="Python code").click()
    code = playground.page.locator(".kp-code").inner_text()
    program = f"{code}\nprint(*[model.objective_ for model in models])"
    finished = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert [float(word) for word in finished.stdout.split()[-2:]] == shown


def test_page_goes_on_after_the_server_restarts(browser, opened):
    with running_site() as own:
        playground = opened(own.url).started()
        before = playground.pictures()
        own.stop()
        playground.wait_for_phase("lost")
        assert playground.pictures() == before
        assert "the last picture stays" in playground.page.locator(".kp-banner").inner_text()
        playground.click_pane(0.5, 0.5)
        playground.page.locator(".kp-summary", has_text="201 points").wait_for()
        own.start()
        playground.wait_for_phase("paused")
        playground.settled()
        assert len(playground.frames[-1]["panes"][0]["counts"]) == 201
        # The browser itself notes each attempt that failed.
        refused = [text for text in playground.complaints if "ERR_CONNECTION_REFUSED" in text]
        playground.complaints = [text for text in playground.complaints if text not in refused]


def test_two_pages_do_not_disturb_each_other(opened):
    one, other = opened().started(), opened().started()
    before = other.pictures()
    one.button("Erase all points").click()
    one.wait_for_phase("empty")
    one.click_pane(0.5, 0.5)
    one.wait_for_phase("one_class")
    other.page.wait_for_timeout(300)
    assert other.pictures() == before
    other.click_pane(0.5, 0.5)
    other.page.locator(".kp-summary", has_text="201 points").wait_for()
    assert one.summary.startswith("1 point")


def test_undo_and_redo_give_the_same_pictures(playground):
    before = playground.pictures()
    playground.click_pane(0.5, 0.1)
    playground.page.locator(".kp-summary", has_text="201 points").wait_for()
    playground.page.mouse.move(5, 5)
    after = playground.settled().pictures()
    playground.button("Undo").click()
    assert playground.settled().pictures() == before
    playground.button("Redo").click()
    assert playground.settled().pictures() == after != before


@pytest.mark.parametrize(
    ("label", "number", "text", "sentence"),
    [
        ("C", 0, "-3", "C must be"),
        ("γ", 1, "0", "gamma must be"),
        ("Batch", 0, "1.5", "batch_size must be"),
        ("λ", 0, "much", "lam must be a number, got “much” instead"),
        ("Noise", 0, "-1", "noise must be"),
    ],
)
def test_error_is_at_its_control(playground, label, number, text, sentence):
    playground.write(label, text, number)
    error = playground.page.locator(".kp-field-error:visible")
    error.wait_for()
    assert error.inner_text().startswith(sentence)
    field = playground.field(label, number)
    assert field.get_attribute("aria-invalid") == "true"
    assert field.get_attribute("aria-describedby") == error.get_attribute("id")


def test_error_goes_with_the_next_edit(playground):
    playground.write("C", "-3")
    playground.wait_for_phase("refused")
    playground.write("C", "3")
    playground.wait_for_phase("paused")
    assert not playground.page.locator(".kp-field-error:visible").count()
    assert playground.field("λ").input_value() == "0.00222"


def test_keyboard_plays_steps_and_pauses(playground):
    step = playground.step
    playground.page.keyboard.press(".")
    playground.wait_for_step(step + 1)
    playground.page.keyboard.press("Space")
    playground.wait_for_phase("running")
    playground.page.keyboard.press("Space")
    playground.wait_for_phase("paused")
    axis = playground.page.get_by_role("slider", name="Step shown")
    axis.press("Home")
    axis.press("Shift+ArrowRight")
    playground.wait_for_step(10)


def test_keyboard_adds_and_erases_points(emptied):
    pane = emptied.page.locator(".kp-overlay").first
    pane.press("ArrowLeft")
    pane.press("Enter")
    emptied.page.locator(".kp-summary", has_text="1 point: A 1").wait_for()
    pane.press("Delete")
    emptied.page.locator(".kp-summary", has_text="0 points").wait_for()


def test_held_out_points_are_not_trained_on(emptied):
    emptied.click_pane(0.2, 0.5)
    emptied.page.keyboard.press("h")
    emptied.page.keyboard.press("2")
    emptied.click_pane(0.8, 0.5)
    emptied.page.locator(".kp-summary", has_text="1 held out").wait_for()
    assert emptied.phase == "one_class"


def test_sigmoid_has_no_certificate_and_says_so(playground):
    playground.field("Kernel").select_option(label="Sigmoid")
    badge = playground.page.locator(".kp-badge").first
    badge.wait_for()
    assert badge.inner_text().startswith("no certificate: ")
    assert playground.tile("Certified gap") == "none"


def test_other_algorithms_are_marked_and_left_again(playground):
    before = playground.pictures()
    playground.button("Compare with SVC").click()
    playground.wait_for_phase("other")
    assert playground.page.locator(".kp-badge").first.inner_text() == "SVC: another algorithm"
    playground.button("Back to Pegasos").click()
    playground.wait_for_phase("paused")
    assert playground.settled().pictures() == before


def test_step_is_explained_with_its_numbers(playground):
    playground.page.keyboard.press("i")
    playground.page.keyboard.press(".")
    text = playground.page.locator(".kp-explain", has_text="Step 151").first.inner_text()
    example = playground.frames[-1]["explain"][0]["examples"][0]
    assert f"i = {example['i']}, class {'AB'[example['label'] > 0]}" in text
    assert ("< 1: violated" in text) == example["violated"]
    assert "η = 1 / (λt) = 1 / (0.000667 · 151)" in text


def test_link_carries_the_whole_state(opened):
    one = opened(permissions=["clipboard-read", "clipboard-write"]).started()
    one.write("γ", "3", 1)
    one.click_pane(0.5, 0.1)
    one.page.mouse.move(5, 5)
    one.seek(0.7)
    one.settled()
    one.button("Export").click()
    one.page.get_by_role("menuitem", name="Link").click()
    one.page.locator(".kp-banner", has_text="link is copied").wait_for()
    link = one.page.evaluate("navigator.clipboard.readText()")
    one.page.get_by_role("button", name="Dismiss").click()
    other = opened(link).started()
    assert other.step == one.step
    assert other.field("γ", 1).input_value() == "3"
    drawn = "all => all.map(each => each.toDataURL())"
    pictures = [each.page.eval_on_selector_all(".kp-picture", drawn) for each in (one, other)]
    assert pictures[0] == pictures[1]


def test_pasted_table_replaces_the_points(playground):
    playground.page.get_by_text("Your own table").click()
    table = playground.page.locator(".kp-table")
    table.fill("height,width,kind\n0,0,cat\n1,1,dog\n0,1,cat")
    playground.button("Take").click()
    playground.page.locator(".kp-summary", has_text="3 points: A 2, B 1").wait_for()


def test_too_many_points_are_refused_in_words(playground):
    playground.write("n", "2000")
    playground.page.locator(".kp-summary", has_text="2,000 points").wait_for()
    playground.click_pane(0.5, 0.5)
    playground.page.locator(".kp-banner", has_text="the most that are taken").wait_for()
    assert playground.summary.startswith("2,000 points")


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "touch"])
@pytest.mark.parametrize(
    "size",
    [
        (1280, 720),
        (1366, 768),
        (1440, 900),
        (1920, 1080),
        (2560, 1440),
        (1024, 768),
        (800, 1000),
        (390, 844),
    ],
    ids=str,
)
def test_every_control_can_be_pressed(opened, size, touch):
    viewport = dict(zip(("width", "height"), size, strict=True))
    playground = opened(viewport=viewport, has_touch=touch).started()
    playground.press("Linear axes", touch=touch)
    playground.press("The step, explained", touch=touch)
    playground.page.locator(".kp-explain", has_text="Step 150").first.wait_for()
    playground.page.get_by_text("Your own table").click()
    playground.button("Take").click()  # nothing, which is told beside it
    playground.page.locator(".kp-field-error:visible").wait_for()
    playground.press("Compare with SVC", touch=touch)
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


@pytest.mark.parametrize("width", [390, 760, 1024])
def test_narrow_screen_has_no_horizontal_scroll(opened, width):
    playground = opened(viewport={"width": width, "height": 844}, has_touch=True).started()
    extent = playground.page.evaluate("document.documentElement.scrollWidth")
    assert extent <= width
    box = playground.page.locator(".kp-overlay").first.bounding_box()
    playground.page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + 40)
    playground.page.locator(".kp-summary", has_text="201 points").wait_for()
