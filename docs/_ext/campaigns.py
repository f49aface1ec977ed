"""Directives that show what the campaigns try, and what came of it, from the files they wrote."""

import ast
import json
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

CAMPAIGNS = Path(__file__).resolve().parent.parent.parent / "tests" / "campaigns"
RESULTS = CAMPAIGNS / "results"
#: Heads of the columns, and their widths.
COLUMNS = {
    "campaign": 9,
    "promise": 22,
    "date": 9,
    "commit": 8,
    "vectors": 9,
    "seconds": 7,
    "tried": 7,
    "failed": 6,
    "outcomes": 23,
}
#: Kinds of outcomes that are named; of the others, the number.
NAMED = 7


def _outcomes(counts: dict[str, int]) -> str:
    common = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    words = [f"{count:,} {outcome}" for outcome, count in common[:NAMED]]
    if len(common) > NAMED:
        rest = sum(count for _, count in common[NAMED:])
        words.append(f"{rest:,} of {len(common) - NAMED} other kinds")
    return "; ".join(words)


def _cells(result: dict[str, Any]) -> list[str]:
    return [
        result["campaign"],
        result["promise"],
        result["date"],
        result["commit"] or "",
        ", ".join(result["machine"]["vectors"]),
        f"{result['seconds']:,}",
        f"{result['tried']:,}",
        f"{len(result['failures']):,}",
        _outcomes(result["outcomes"]),
    ]


def _row(cells: list[str]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph(text=text)) for text in cells))


class CampaignTable(SphinxDirective):
    """A row for each campaign that has results: when, where, how long, how often, what came."""

    def run(self) -> list[nodes.Node]:
        """Make the table, or say that there are no results."""
        self.env.note_dependency(str(RESULTS))
        paths = sorted(RESULTS.glob("*.json"))
        if not paths:
            return [nodes.paragraph(text="This checkout has no results of campaigns.")]
        rows = []
        for path in paths:
            self.env.note_dependency(str(path))
            rows.append(_row(_cells(json.loads(path.read_text("utf-8")))))
        group = nodes.tgroup(cols=len(COLUMNS))
        group += [nodes.colspec(colwidth=width) for width in COLUMNS.values()]
        group += [nodes.thead("", _row(list(COLUMNS))), nodes.tbody("", *rows)]
        return [nodes.table("", group, classes=["campaigns"])]


class AttackedBy(SphinxDirective):
    """Which of the named campaigns this checkout has, and what each of them attacks."""

    required_arguments: ClassVar[int] = 1
    final_argument_whitespace: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Make a list: a command, and the first line of the campaign's docstring."""
        items = []
        for name in self.arguments[0].split():
            path = CAMPAIGNS / f"{name}.py"
            self.env.note_dependency(str(path))
            if path.exists():
                docstring = ast.get_docstring(ast.parse(path.read_bytes())) or ""
                promise, command = docstring.partition("\n")[0], f"python -m tests.campaigns {name}"
                text = [nodes.literal(command, command), nodes.Text(f": {promise}")]
                items.append(nodes.list_item("", nodes.paragraph("", "", *text)))
        return [nodes.bullet_list("", *items)] if items else []


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("attacked-by", AttackedBy)
    app.add_directive("campaign-table", CampaignTable)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
