"""Pictures of the playground for README and user guide: screenshots, and an animation of a run.

They are taken of the page itself, in a headless Chromium, and so have to be made anew when it
changes::

    python docs/playground_pictures.py [docs/_static/playground]

Needs playwright, and Debian's chromium (or another one, named by the
environment variable CHROMIUM).
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent / "_static" / "playground"
LARGE = (1400, 900)
#: Of the animation: the page, the picture of it, and milliseconds of a frame.
STAGE, PICTURE, FRAME_TIME = (1320, 840), (860, 547), 110
#: Steps at which the animation looks at the run, and how many points are sprayed then.
STEPS = [round(2 * 1.27**k) for k in range(31)]
SPRAYED = 10


@contextmanager
def served() -> Iterator[str]:
    """The address of a playground that is served meanwhile."""
    command = [sys.executable, "-m", "kpegasos.playground", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            found = re.search(r"http\S+", server.stdout.readline())
            if found is None:
                raise RuntimeError("the playground does not start")
            yield found.group()
        finally:
            server.terminate()


def opened(browser: Any, url: str, size: tuple[int, int]) -> Any:
    """A page on which the first preset is drawn."""
    width, height = size
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="light",
        reduced_motion="reduce",
    )
    page.goto(url)
    page.locator(".kp-tile-value", has_text="%").first.wait_for()
    return settled(page)


def settled(page: Any) -> Any:
    """The page once its answers are there."""
    page.wait_for_timeout(700)
    return page


def unfocused(page: Any) -> Any:
    """The page with no ring around what has the focus."""
    page.evaluate("document.activeElement.blur()")
    return settled(page)


def seek(page: Any, key: str) -> None:
    """Move on the time axis."""
    page.get_by_role("slider", name="Step shown").press(key)
    unfocused(page)


def take_states(browser: Any, url: str, folder: Path) -> None:
    """The page at the end of a run, and a step that is explained."""
    page = opened(browser, url, LARGE)
    seek(page, "End")
    page.screenshot(path=folder / "large_light.png")
    page.keyboard.press("i")
    while "< 1: violated" not in page.locator(".kp-explain").first.inner_text():
        page.keyboard.press(".")
        settled(page)
    page.screenshot(path=folder / "explain.png")
    page.close()


def take_animation(browser: Any, url: str, path: Path) -> None:
    """A run over a few epochs, and points that are drawn into it."""
    page = opened(browser, url, STAGE)
    frames = []

    def take() -> None:
        shot = Image.open(io.BytesIO(page.screenshot(scale="css")))
        frames.append(shot.convert("RGB").resize(PICTURE, Image.Resampling.LANCZOS))

    slider = page.get_by_role("slider", name="Step shown")
    slider.press("Home")
    at = 0
    for step in STEPS:
        for key, size in (("PageUp", 150), ("Shift+ArrowRight", 10), ("ArrowRight", 1)):
            while at + size <= step:
                slider.press(key)
                at += size
        unfocused(page)
        take()
    box = page.locator(".kp-overlay").nth(1).bounding_box()
    page.keyboard.press("2")
    for k in range(SPRAYED):
        share = k / (SPRAYED - 1)
        page.mouse.click(
            box["x"] + (0.22 + 0.2 * share) * box["width"],
            box["y"] + (0.30 - 0.14 * share) * box["height"],
        )
        settled(page)
        take()
    page.close()
    # One palette for all frames: what does not change is then not stored again.
    palette = frames[-1].quantize(160, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    drawn = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    times = [FRAME_TIME] * len(drawn)
    times[len(STEPS) - 1] = times[-1] = 1800
    drawn[0].save(path, save_all=True, append_images=drawn[1:], duration=times, loop=0)


def main() -> None:
    """Make all pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with served() as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        take_states(browser, url, folder)
        take_animation(browser, url, folder / "playground.gif")
        browser.close()


if __name__ == "__main__":
    main()
