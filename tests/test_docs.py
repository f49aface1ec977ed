"""The documentation: it builds without warnings, its code runs, and it leaves nothing out."""

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt
from pictures import difference
from PIL import Image
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

import kpegasos
from kpegasos.reference import index_stream, pegasos_kernel

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


def code_of(page):
    """The blocks of Python on a page."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


README = ROOT / "README.md"
PAGES = [page for page in (README, *sorted(DOCS.rglob("*.md"))) if code_of(page)]


@pytest.fixture
def drawing(monkeypatch):
    """Drawing without a screen."""
    plt.switch_backend("Agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    with plt.rc_context():
        plt.rcdefaults()
        yield
    plt.close("all")


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_of_the_pages_runs(page):
    namespace = {}
    for block in code_of(page):
        exec(compile(block, page.name, "exec"), namespace)


def first_look(_):
    """The README's first code."""
    exec(code_of(README)[0], {})


def test_five_lines_of_the_readme_and_the_gallery_count_as_the_reference_does():
    lines, namespace = code_of(README)[1], {}
    exec(lines, namespace)
    gallery = (DOCS / "examples" / "plot_18_eight_ways_to_get_it_wrong.py").read_text("utf-8")
    assert lines.partition("def ")[2] in gallery
    X, y = make_moons(40, noise=0.2, random_state=0)
    K, y = rbf_kernel(X), 2 * y - 1
    draws = index_stream(40, 500, random_state=0)
    counts = pegasos_kernel(K, y, 0.01, draws).alpha
    np.testing.assert_allclose(namespace["pegasos"](K, y, 0.01, draws), counts * y / (0.01 * 500))


def test_loops_of_the_variant_page_are_those_of_the_reference():
    source = (ROOT / "kpegasos" / "reference" / "steps.py").read_text("utf-8")
    for code in code_of(DOCS / "your_own_variant.md")[:2]:
        assert "    for t, batch" + code.partition("    for t, batch")[2] in source


MARKDOWN = [README, *(page for page in DOCS.rglob("*.md") if page.name != "changelog.md")]


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda page: page.stem)
def test_pages_are_plain_markdown_whose_links_lead_to_files(page):
    text = page.read_text("utf-8")
    if page.name == "index.md":
        text = re.sub(r"```{toctree}.*?```", "", text, flags=re.S)
    assert not re.findall(r"\{[\w:-]+\}`|^[`:]{3,}\{|^\([\w-]+\)=$", text, re.M)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if "://" in target or path.startswith("playground/"):
            continue
        file = page.parent / path if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors_of(file), target


def anchors_of(page):
    """The anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def shrunk(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB").resize((450, 325), Image.Resampling.BOX), float)


@pytest.mark.usefixtures("drawing")
def test_first_code_of_the_readme_draws_the_picture_above_it(tmp_path):
    changed = difference(first_look, "first_look", tmp_path)
    assert changed is None, "run `python -m experiments first_look`, and see tests/pictures.py"
    first_look(None)
    plt.savefig(tmp_path / "drawn.png", dpi=150)
    apart = shrunk(tmp_path / "drawn.png") - shrunk(ROOT / "figures" / "first_look.png")
    # Fonts that are a bit wider move everything, by 14; another size or model is 40 away.
    assert np.sqrt(np.mean(apart**2)) < 25


@pytest.mark.slow
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
        assert f'id="{figure.stem.replace("_", "-")}"' in experiments
    for example in (DOCS / "examples").glob("plot_*.py"):
        assert (site / "auto_examples" / f"{example.stem}.html").exists()
    everything = "".join(page.read_text(encoding="utf-8") for page in site.rglob("*.html"))
    assert str(ROOT) not in everything
    assert str(tmp_path) not in everything
    assert "<math" in (site / "theory.html").read_text(encoding="utf-8")
