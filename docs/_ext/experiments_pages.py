"""Directives that show the experiments as they are: figures, first lines, verdicts."""

import ast
import re
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from experiments._catalog import Experiment, discover

ROOT = Path(__file__).resolve().parent.parent.parent


class _Experiments(SphinxDirective):
    def found(self) -> dict[str, Experiment]:
        """All experiments by name; pages are built again when one changes."""
        experiments = discover(ROOT / "experiments")
        for experiment in experiments.values():
            self.env.note_dependency(str(experiment.path))
        return experiments

    def section(self, name: str, title: str, *texts: str) -> nodes.section:
        """Make a section of paragraphs in the markup of the page."""
        section = nodes.section(ids=[nodes.make_id(name)], names=[name])
        section += nodes.title(title, title)
        self.state.document.note_explicit_target(section)
        for text in texts:
            lines = StringList(text.splitlines(), source=name)
            self.state.nested_parse(lines, self.content_offset, section)
        return section


class ExperimentFigures(_Experiments):
    """A section for each experiment that has a figure: first line of its docstring, figure."""

    def run(self) -> list[nodes.Node]:
        """Make the sections."""
        sections: list[nodes.Node] = []
        for name, experiment in self.found().items():
            # An animation in the place of its last frame.
            files = [ROOT / "figures" / f"{name}.{suffix}" for suffix in ("gif", "png")]
            figure = next((file for file in files if file.exists()), None)
            if figure is None:
                continue
            self.env.note_dependency(str(figure))
            section = self.section(f"experiment-{name}", name, experiment.summary)
            section += nodes.image(uri=f"../figures/{figure.name}", alt=experiment.summary)
            command = f"python -m experiments {name}"
            section += nodes.paragraph(
                "", "", nodes.literal(command, command), nodes.Text(f" ({experiment.full_time})")
            )
            sections.append(section)
        return sections


class Verdicts(_Experiments):
    """What the named experiments say about the claims that they test, where they do so."""

    required_arguments: ClassVar[int] = 1
    final_argument_whitespace: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Make the sections."""
        experiments = self.found()
        sections: list[nodes.Node] = []
        for name in self.arguments[0].split():
            if name not in experiments:
                raise self.error(f"there is no experiment {name!r}")
            docstring = ast.get_docstring(ast.parse(experiments[name].path.read_bytes())) or ""
            _, *verdicts = re.split(r"\nVerdict[:,] ", docstring, maxsplit=1)
            for verdict in verdicts:
                title = name.replace("_", " ").capitalize()
                verdict = verdict[0].upper() + verdict[1:]
                link = f"The figure: {{ref}}`experiment-{name}`."
                texts = (experiments[name].summary, verdict, link)
                sections.append(self.section(f"{name}-verdict", title, *texts))
        return sections


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("experiment-figures", ExperimentFigures)
    app.add_directive("verdicts", Verdicts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
