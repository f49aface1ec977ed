"""Formulas as MathML, which browsers show by themselves: no script, and no network to read it."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

#: docutils' accent of a bar lies on the letter in browsers; a line over it does not.
_BAR = re.compile(r'<mover accent="true">(\s*\S+\s*)<mo stretchy="false">ˉ</mo>')
#: Brackets grow with what stands between them at ``\\left`` and ``\\right`` only, which make a row.
_BRACKET = re.compile(
    r'(?P<left><mrow>\s*)?<mo(?: class="mathopen")?>(?P<sign>[{}⟨⟩‖|])</mo>(?P<right>\s*</mrow>)?'
)
_SPACE = '<mspace width="0.17em"/>'
#: A function's name behind a factor, and in front of an argument without brackets.
_FACTOR = re.compile(r"(</(?:mi|mn|msub|msup|msubsup|mfrac|mrow)>\s*)(?=<mi>(?:ln|log|exp)</mi>)")
_ARGUMENT = re.compile(r"<mo>&ApplyFunction;</mo>(?=\s*<(?!mo\b))")


def _of_its_size(found: re.Match[str]) -> str:
    """A bracket that does not grow, unless it begins or ends a row."""
    if found["left"] or found["right"]:
        return found[0]
    return f'<mo stretchy="false">{found["sign"]}</mo>'


def _mathml(formula: str, *, as_block: bool = False) -> str:
    """Return MathML with the spaces and bars that docutils leaves to the browser."""
    element = tex2mathml(formula, as_block=as_block)
    element = _BAR.sub(r'<mover accent="false">\1<mo stretchy="true">¯</mo>', element)
    element = _BRACKET.sub(_of_its_size, element)
    return _ARGUMENT.sub(_SPACE, _FACTOR.sub(rf"\1{_SPACE}", element))


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_mathml(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(_mathml(node.astext(), as_block=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
