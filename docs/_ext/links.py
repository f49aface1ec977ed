"""Pages are plain Markdown, which GitHub shows as well; the site makes more links of it.

A name of the package in code style leads to its page of the API, and a script of the gallery to the
page that is made from it.
"""

import importlib
import re
from collections.abc import Mapping
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

ROOMS = (
    "kpegasos",
    *(
        f"kpegasos.{room}"
        for room in ("datasets", "large.dask", "losses", "plotting", "reference", "theory")
    ),
)
SCRIPT = re.compile(r"\]\((?:\.\./)*examples/(plot_\w+)\.py\)")


def _public_names() -> Mapping[str, str]:
    """Return the full name of each public object, by the name that pages use."""
    names: dict[str, str] = {}
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in getattr(module, "__all__", ()):
            names.setdefault(name, f"{room}.{name}")
            names[f"{room}.{name}"] = f"{room}.{name}"
    return names


class CodeLinks(SphinxTransform):
    """Turns code that is a public name into a reference to its page."""

    default_priority = 5
    names: Mapping[str, str] = {}

    def apply(self, **_: Any) -> None:
        """Go through the code of a page."""
        if not str(self.env.doc2path(self.env.docname)).endswith(".md"):
            return
        for code in list(self.document.findall(nodes.literal)):
            target = self.names.get(code.astext())
            inside = isinstance(code.parent, nodes.reference | pending_xref | nodes.title)
            if target is None or inside:
                continue
            link = pending_xref("", refdomain="py", reftype="obj", reftarget=target, refwarn=False)
            link["refdoc"] = self.env.docname
            code.replace_self(link)
            link += code


def _link_scripts(app: Sphinx, docname: str, source: list[str]) -> None:
    if str(app.env.doc2path(docname)).endswith(".md"):
        source[0] = SCRIPT.sub(r"](/auto_examples/\1.rst)", source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform and the handler."""
    CodeLinks.names = _public_names()
    app.add_transform(CodeLinks)
    app.connect("source-read", _link_scripts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
