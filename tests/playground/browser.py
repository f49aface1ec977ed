"""Pages in a real Chromium: who serves them, and the words in which tests speak of them."""

import os
import shutil
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

#: Milliseconds that a test waits for the page.
PATIENCE = 20_000
#: Controls below an element that a pointer at their centre does not meet, and what it meets.
UNREACHED = """
root => [...root.querySelectorAll("button, input, select, textarea, summary, canvas, [tabindex]")]
  .filter(each => each.checkVisibility({visibilityProperty: true}) && !each.ariaHidden)
  .flatMap(each => {
    each.scrollIntoView({block: "center", inline: "center"});
    const {x, y, width, height} = each.getBoundingClientRect();
    const met = document.elementFromPoint(x + width / 2, y + height / 2);
    const name = each.ariaLabel || each.textContent.trim() || each.className;
    return each.contains(met) || met?.closest("label")?.control === each
      ? [] : [`${name}: ${met?.outerHTML.slice(0, 80)}`];
  })
"""
COLOR = """(canvas, [x, y]) => [...canvas.getContext("2d").getImageData(
    Math.round(x * canvas.width), Math.round(y * canvas.height), 1, 1).data]"""
#: Frames of a new engine, or why it refuses them.
FRAMES = """async (wishes) => {
    const { refusalOf } = await import("./checks.js");
    const engine = (await import("./engine.js")).createEngine();
    return wishes.map(({ polish, ...wish }) => {
        try {
            return polish ? engine.polish(wish, polish) : engine.show(wish);
        } catch (error) {
            return refusalOf(error);
        }
    });
}"""
#: A function of one of the page's modules; its sentence where it refuses.
CALL = """async ([module, name, values]) => {
    const functions = await import(`./${module}.js`);
    try {
        return functions[name](...values);
    } catch (error) {
        return `${error.parameter}: ${error.message}`;
    }
}"""


class _Quiet(SimpleHTTPRequestHandler):
    """Files without a log, with the media type that modules need on every system."""

    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}  # noqa: RUF012

    def log_message(self, *arguments):
        """Say nothing."""


@contextmanager
def served(folder):
    """The address of a server of the files in a folder."""
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@contextmanager
def chromium():
    """A headless Chromium; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Playground:
    """A page with the playground."""

    def __init__(self, page, url):
        self.page, self.complaints, self.requests = page, [], []
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._hear)
        page.on("request", lambda request: self.requests.append(request))
        page.goto(url)
        page.locator(".kp-tile-value", has_text="%").first.wait_for()
        self.settled()

    def _hear(self, message):
        if message.type == "error":
            self.complaints.append(message.text)

    @property
    def step(self):
        return int(self.axis.get_attribute("aria-valuenow"))

    @property
    def axis(self):
        return self.page.get_by_role("slider", name="Step shown")

    def wait_for(self, selector, text):
        self.page.locator(selector, has_text=text).first.wait_for()

    def wait_for_phase(self, phase):
        self.page.locator(f".kp-root[data-phase={phase}]").wait_for(state="attached")

    def wait_for_step(self, step):
        self.page.locator(f".kp-axis[aria-valuenow='{step}']").wait_for()

    def settled(self):
        """The page when it asks for nothing more: the same picture twice, some time apart."""
        before = None
        while before != (before := self.pictures()):
            self.page.wait_for_timeout(300)
        return self

    def pictures(self, selector=".kp-picture, .kp-chart"):
        """All that is drawn but for what follows the pointer, pixel by pixel."""
        return self.page.eval_on_selector_all(selector, "all => all.map(each => each.toDataURL())")

    def field(self, label, number=0):
        return self.page.get_by_label(label, exact=True).nth(number)

    def write(self, label, text, number=0):
        self.field(label, number).fill(text)
        self.field(label, number).press("Enter")

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def place(self, x, y):
        """Where a share of the first pane's width and height is."""
        box = self.page.locator(".kp-overlay").first.bounding_box()
        return box["x"] + x * box["width"], box["y"] + y * box["height"]

    def click_pane(self, x, y):
        self.page.mouse.click(*self.place(x, y))

    def seek(self, share):
        """Click on the time axis at a share of its width."""
        box = self.axis.bounding_box()
        self.page.mouse.click(box["x"] + share * box["width"], box["y"] + 0.3 * box["height"])
        return self.settled()

    def unreached(self, selector=".kp-root"):
        """Controls that no pointer can press, and what lies over each of them."""
        return self.page.locator(selector).evaluate(UNREACHED)

    def press(self, name, *, touch):
        """Press what lies at the centre of a button, whatever it is."""
        self.button(name).evaluate("each => each.scrollIntoView({block: 'center'})")
        box = self.button(name).bounding_box()
        place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        (self.page.touchscreen.tap if touch else self.page.mouse.click)(*place)

    def color(self, x, y, pane):
        """Red, green, blue and opacity of a picture at a share of its width and height."""
        return self.page.locator(".kp-picture").nth(pane).evaluate(COLOR, [x, y])

    def stroke(self, places, *, touch=False):
        """Draw a line through some places of the first pane, or swipe along it."""
        ways = [dict(zip("xy", self.place(*place), strict=True)) for place in places]
        if not touch:
            self.page.mouse.move(**ways[0])
            self.page.mouse.down()
            for way in ways[1:]:
                self.page.mouse.move(**way, steps=6)
            return self.page.mouse.up()
        finger = self.page.context.new_cdp_session(self.page)
        for kind, points in [
            ("touchStart", ways[:1]),
            *(("touchMove", [way]) for way in ways[1:]),
            ("touchEnd", []),
        ]:
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            self.page.wait_for_timeout(40)
        return None

    @property
    def n_points(self):
        return int(self.page.locator(".kp-summary").inner_text().split()[0].replace(",", ""))
