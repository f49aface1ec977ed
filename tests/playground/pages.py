"""Pages of the playground in a browser: a server in a thread, and what tests do to a page."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kpegasos.playground.server import PlaygroundServer

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


class Site:
    """A server of the playground that can be stopped and started again at the same address."""

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        self._server = PlaygroundServer(state)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return self._server.url

    def start(self) -> None:
        asyncio.run_coroutine_threadsafe(self._server.start(), self._loop).result(20)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._server.stop(), self._loop).result(20)

    def close(self) -> None:
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def running_site(state: dict[str, Any] | None = None) -> Iterator[Site]:
    """A site that answers."""
    site = Site(state)
    site.start()
    try:
        yield site
    finally:
        site.close()


class Playground:
    """A page with the playground, and the words in which tests speak of it."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[Any] = []
        self.frames: list[dict[str, Any]] = []
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._hear)
        page.on("request", lambda request: self.requests.append(request))
        page.on("websocket", lambda socket: socket.on("framereceived", self._receive))
        page.goto(url)

    def _hear(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def _receive(self, payload: Any) -> None:
        message = json.loads(payload)
        if message["kind"] == "frame":
            self.frames.append(message)

    @property
    def summary(self) -> str:
        """How many points there are, as the page says it."""
        return self.page.locator(".kp-summary").inner_text()

    @property
    def phase(self) -> str:
        return self.page.locator(".kp-root").get_attribute("data-phase")

    def wait_for_phase(self, *phases: str) -> None:
        selector = ", ".join(f".kp-root[data-phase={phase}]" for phase in phases)
        self.page.locator(selector).wait_for(state="attached")

    def settled(self) -> Playground:
        """The page when it asks for nothing more: the same picture twice, some time apart."""
        before = None
        while before != (before := self.pictures()):
            self.page.wait_for_timeout(300)
        return self

    def wait_for_step(self, step: int) -> None:
        self.page.locator(f".kp-axis[aria-valuenow='{step}']").wait_for()

    def started(self) -> Playground:
        """The page with the points that it begins with."""
        self.page.locator(".kp-tile-value", has_text="%").first.wait_for()
        return self.settled()

    def pictures(self) -> list[str]:
        """All that is drawn but for what follows the pointer, pixel by pixel."""
        return self.page.eval_on_selector_all(
            ".kp-picture, .kp-chart, .kp-axis-canvas", "all => all.map(each => each.toDataURL())"
        )

    def field(self, label: str, number: int = 0) -> Any:
        return self.page.get_by_label(label, exact=True).nth(number)

    def write(self, label: str, text: str, number: int = 0) -> None:
        self.field(label, number).fill(text)
        self.field(label, number).press("Enter")

    def button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True)

    def click_pane(self, x: float, y: float, pane: int = 0) -> None:
        """Click at a share of a pane's width and height."""
        box = self.page.locator(".kp-overlay").nth(pane).bounding_box()
        self.page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])

    def unreached(self, selector: str = ".kp-root") -> list[str]:
        """Controls that no pointer can press, and what lies over each of them."""
        return self.page.locator(selector).evaluate(UNREACHED)

    def press(self, name: str, *, touch: bool) -> None:
        """Press what lies at the centre of a button, whatever it is."""
        self.button(name).scroll_into_view_if_needed()
        box = self.button(name).bounding_box()
        place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        (self.page.touchscreen.tap if touch else self.page.mouse.click)(*place)

    def color(self, x: float, y: float, pane: int = 0) -> list[int]:
        """Red, green, blue and opacity of a picture at a share of its width and height."""
        return (
            self.page.locator(".kp-picture")
            .nth(pane)
            .evaluate(
                """(canvas, [x, y]) => Array.from(canvas.getContext("2d").getImageData(
                Math.round(x * canvas.width), Math.round(y * canvas.height), 1, 1).data)""",
                [x, y],
            )
        )

    def tile(self, name: str, number: int = 0) -> str:
        tile = self.page.locator(".kp-tile", has_text=name).nth(number)
        return tile.locator(".kp-tile-value").inner_text()

    def seek(self, share: float) -> None:
        """Click on the time axis at a share of its width."""
        box = self.page.get_by_role("slider", name="Step shown").bounding_box()
        self.page.mouse.click(box["x"] + share * box["width"], box["y"] + 0.3 * box["height"])

    @property
    def step(self) -> int:
        slider = self.page.get_by_role("slider", name="Step shown")
        return int(slider.get_attribute("aria-valuenow"))
