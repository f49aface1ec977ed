"""The widget where it lives: a real JupyterLab and a real marimo, in a real browser."""

import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from tests.playground.chromium import chromium

pytest.importorskip("anywidget", reason="anywidget is not installed")

#: Seconds that a server may take to start, and milliseconds that a test waits for a page.
STARTING, PATIENCE = 120, 90_000
WIDGET = """\
import numpy as np
from kpegasos import Playground
X = np.array([[-1.0, 0.0], [1.0, 0.0], [-1.0, 1.0], [1.0, 1.0]])
playground = Playground(X, [0, 1, 0, 1], t=50)
"""
#: What Python sees of the page.
TOLD = "len(playground.points), playground.estimator.n_support_.sum() > 0"

pytestmark = pytest.mark.slow


def needs(name):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@contextmanager
def running(command, url, folder):
    """A server of notebooks, once it answers."""
    with open(folder / "log.txt", "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env={**os.environ, "HOME": str(folder)}
        )
        try:
            begin = time.monotonic()
            while not answers(url):
                assert process.poll() is None, (folder / "log.txt").read_text(encoding="utf-8")
                assert time.monotonic() - begin < STARTING
                time.sleep(0.3)
            yield
        finally:
            process.terminate()
            process.wait(30)


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def notebook(*cells):
    """A notebook's file."""
    cell = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps(
        {
            "cells": [{**cell, "id": f"c{k}", "source": text} for k, text in enumerate(cells)],
            "metadata": {"kernelspec": kernel},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )


def add_point(page):
    """Click where no point is; the page draws it."""
    root = page.locator(".kp-root").first
    root.wait_for(timeout=PATIENCE)
    root.get_by_text(re.compile(r"^4 points")).wait_for(timeout=PATIENCE)
    plane = root.locator(".kp-overlay").first
    box = plane.bounding_box()
    plane.click(position={"x": 0.5 * box["width"], "y": 0.2 * box["height"]})
    root.get_by_text(re.compile(r"^5 points")).wait_for(timeout=PATIENCE)


def test_widget_in_jupyterlab(tmp_path):
    needs("jupyterlab")
    (tmp_path / "drawn.ipynb").write_text(notebook(WIDGET + "playground", TOLD), encoding="utf-8")
    port, token = free_port(), "0123456789"
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += [f"--ServerApp.port={port}", f"--IdentityProvider.token={token}"]
    url = f"http://127.0.0.1:{port}/lab/tree/drawn.ipynb?token={token}"
    with chromium() as browser, running(command, url, tmp_path):
        page = browser.new_page(viewport={"width": 1500, "height": 1200})
        page.goto(url)
        page.locator(".jp-Notebook .jp-Cell").first.click(timeout=PATIENCE)
        # A cell that is sent before the kernel is there is not run.
        page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=PATIENCE)
        page.keyboard.press("Shift+Enter")
        add_point(page)
        page.locator(".jp-Notebook .jp-CodeCell .jp-InputArea").nth(1).click()
        page.keyboard.press("Shift+Enter")
        told = page.get_by_text(re.compile(r"\(5, (np\.)?True_?\)"))
        told.wait_for(timeout=PATIENCE)


def test_widget_in_marimo(tmp_path):
    needs("marimo")
    app = f"""
import marimo

app = marimo.App()

@app.cell
def _():
    import marimo as mo
    {WIDGET.strip().replace(chr(10), chr(10) + "    ")}
    widget = mo.ui.anywidget(playground)
    widget
    return mo, playground, widget

@app.cell
def _(mo, playground):
    told = mo.ui.run_button(label="tell")
    told
    return (told,)

@app.cell
def _(mo, playground, told):
    mo.md(f"has {{len(playground.points)}} points") if told.value else None
    return ()

if __name__ == "__main__":
    app.run()
"""
    (tmp_path / "drawn.py").write_text(app, encoding="utf-8")
    port = free_port()
    command = [sys.executable, "-m", "marimo", "run", "drawn.py", "--headless", "--no-token"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    url = f"http://127.0.0.1:{port}/"
    with chromium() as browser, running(command, url, tmp_path):
        page = browser.new_page(viewport={"width": 1500, "height": 1200})
        page.goto(url)
        add_point(page)
        page.get_by_text("tell").click()
        page.get_by_text("has 5 points").wait_for(timeout=PATIENCE)
