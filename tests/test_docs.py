"""The documentation: it builds without warnings, its code runs, and it leaves nothing out."""

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kpegasos

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
NEEDED = ("sphinx", "numpydoc", "myst_parser", "sphinx_gallery", "pydata_sphinx_theme")


def documented():
    """The full names in the lists of the API pages."""
    names = set()
    for page in (DOCS / "api").glob("*.rst"):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if found := re.fullmatch(r"\.\. (?:current)?module:: (\S+)", line):
                module = found[1]
            elif found := re.fullmatch(r"   ([A-Za-z_][\w.]*)", line):
                names.add(f"{module}.{found[1]}")
    return names


@pytest.mark.parametrize(
    "module", ["", ".plotting", ".playground", ".theory", ".datasets", ".reference"]
)
def test_every_public_name_is_in_the_api_pages(module):
    public = importlib.import_module(f"kpegasos{module}").__all__
    expected = {f"kpegasos{module}.{name}" for name in public} - {"kpegasos.plotting.COLORS"}
    assert expected <= documented()


PAGES = """index getting_started migration choosing user_guide playground model_selection
costly_kernels exports your_own_variant guarantees"""


@pytest.mark.parametrize("page", PAGES.split())
def test_code_of_the_pages_runs(page):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert blocks
    namespace = {}
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)


@pytest.mark.skipif(not importlib.util.find_spec("sphinx"), reason="needs kpegasos[docs]")
@pytest.mark.parametrize(
    ("formula", "part"),
    [
        (r"\bar w", '<mover accent="false"> <mi>w</mi> <mo stretchy="true">¯</mo>'),
        (r"c \ln T", '<mi>c</mi> <mspace width="0.17em"/><mi>ln</mi> <mspace width="0.17em"/>'),
        (r"\ln (T)", "<mi>ln</mi> <mo>&ApplyFunction;</mo>"),
        (
            r"\lVert w \rVert^2",
            '<mo stretchy="false">‖</mo> <mi>w</mi> <msup> <mo stretchy="false">',
        ),
        (r"\left\{ 1 \right\}", "<mrow> <mo>{</mo> <mn>1</mn> <mo>}</mo> </mrow>"),
    ],
)
def test_formulas_keep_bars_spaces_and_the_size_of_brackets(formula, part, monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    mathml = importlib.import_module("mathml")
    assert part in " ".join(mathml._mathml(formula).split())


@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in NEEDED), reason="needs kpegasos[docs]"
)
def test_site_builds_without_warnings(tmp_path):
    # Pages are generated beside their sources, so these are copies; conf.py finds the rest as in a
    # checkout.
    ignored = shutil.ignore_patterns("auto_examples", "generated", "__pycache__")
    shutil.copytree(DOCS, tmp_path / "docs", ignore=ignored)
    for name in ("CHANGELOG.md", "experiments", "figures", "kpegasos", "pyproject.toml", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    options = {"cwd": tmp_path, "env": {**os.environ, "MPLBACKEND": "Agg"}, "timeout": 600}
    result = subprocess.run(
        [*command, "docs", "html"], capture_output=True, text=True, check=False, **options
    )
    assert result.returncode == 0, result.stderr
    site = tmp_path / "html"
    for name in kpegasos.__all__:
        page = (site / "generated" / f"kpegasos.{name}.html").read_text(encoding="utf-8")
        assert f'id="kpegasos.{name}"' in page
    experiments = (site / "experiments.html").read_text(encoding="utf-8")
    for figure in (ROOT / "figures").glob("*.png"):
        assert f'id="experiment-{figure.stem.replace("_", "-")}"' in experiments
    for example in (DOCS / "examples").glob("plot_*.py"):
        assert (site / "auto_examples" / f"{example.stem}.html").exists()
    everything = "".join(page.read_text(encoding="utf-8") for page in site.rglob("*.html"))
    assert str(ROOT) not in everything
    assert str(tmp_path) not in everything
    assert "<math" in (site / "theory.html").read_text(encoding="utf-8")
