"""Configuration of the documentation: pages from here, docstrings and figures from the checkout."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_ext")]

import kpegasos  # noqa: E402

project = "kpegasos"
author = "the kpegasos developers"
version = release = kpegasos.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "links",
    "playground_page",
]
templates_path = ["_templates"]
exclude_patterns = ["examples"]
default_role = "py:obj"

# --- docstrings ---

autosummary_generate = True
# What the template of a class leaves out or lets in: scikit-learn's and tuple's own methods are
# described there, and fields by the docstring.
autosummary_context = {
    "inherited": [
        "count",
        "get_metadata_routing",
        "get_params",
        "index",
        "score",
        "set_fit_request",
        "set_params",
        "set_partial_fit_request",
        "set_score_request",
    ],
    "properties": [
        "can_pack",
        "columns",
        "diagonal",
        "dtype",
        "examples",
        "n_samples",
        "positive_definite",
        "row_bytes",
        "translation_invariant",
    ],
}
autodoc_typehints = "none"
# The bar on the right has no room for the name of the class before each method.
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

# --- pages ---

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_update_mathjax = False
html_math_renderer = "mathml"

# --- examples ---

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("kpegasos",),
    "within_subsection_order": "gallery_order.number_of",
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
}

# --- looks ---

html_theme = "pydata_sphinx_theme"
html_title = "kpegasos"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 5,
    "navbar_end": ["theme-switcher"],
    "show_toc_level": 2,
}
html_static_path = ["_css"]
html_css_files = ["site.css"]
# Only the API and the examples have pages below them, which a bar on the left can list.
html_sidebars: dict[str, list[str]] = {
    page.relative_to(ROOT / "docs").with_suffix("").as_posix(): []
    for page in (ROOT / "docs").glob("**/*.md")
}
