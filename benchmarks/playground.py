"""How quick the page of the playground is, in a real browser with the Python engine behind it.

``python -m benchmarks.playground`` prints the milliseconds from a click that adds a point to the
picture of the new model, the frames a second while two models are trained, the milliseconds from
opening the address to the first picture, and the bytes that the page loads. The page keeps the
times itself, as ``window.kpegasosTimings``. Needs the extra ``playground``, playwright, chromium.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from statistics import median
from typing import Any

from benchmarks._measure import machine

N_POINTS, N_CLICKS, SECONDS = 300, 40, 5.0


def measured(browser: Any, url: str) -> dict[str, float]:
    """The page's times, and its size."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    requests: list[Any] = []
    page.on("request", lambda request: requests.append(request))
    page.goto(url)
    page.locator(".kp-tile-value", has_text="%").first.wait_for()
    loaded = sum(each.sizes()["responseBodySize"] for each in requests if "http" in each.url)
    ready = page.evaluate("kpegasosTimings.ready")
    page.get_by_label("n", exact=True).fill(str(N_POINTS))
    page.keyboard.press("Enter")
    page.wait_for_timeout(2000)
    page.evaluate("kpegasosTimings.edits.length = 0")
    box = page.locator(".kp-overlay").first.bounding_box()
    places = random.Random(0)
    for _ in range(N_CLICKS):
        page.mouse.click(
            box["x"] + box["width"] * places.uniform(0.1, 0.9),
            box["y"] + box["height"] * places.uniform(0.1, 0.9),
        )
        page.wait_for_timeout(300)
    clicks = page.evaluate("kpegasosTimings.edits")
    page.evaluate("kpegasosTimings.frames.length = 0")
    page.keyboard.press("Space")
    page.wait_for_timeout(1000 * SECONDS)
    page.keyboard.press("Space")
    moments = page.evaluate("kpegasosTimings.frames")
    page.close()
    return {
        "click to picture, median ms": median(clicks),
        "click to picture, fastest ms": min(clicks),
        "frames a second": 1000 * (len(moments) - 1) / (moments[-1] - moments[0]),
        "address to first picture, ms": ready,
        "bytes loaded": loaded,
    }


def main() -> None:
    """Measure, and print."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "kpegasos.playground", "--no-browser", "--port", "0"]
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http\S+", server.stdout.readline())
            if found is None:
                raise RuntimeError("the playground does not start")
            with sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
                print(machine(), f"load {os.getloadavg()[0]:.1f}")
                for name, value in measured(browser, found.group()).items():
                    print(f"{name:>30} {value:12,.1f}")
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
