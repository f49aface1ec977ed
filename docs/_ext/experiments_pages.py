"""Directives that show the experiments as they are: figures, first lines, claims and origins."""

from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from experiments._catalog import Experiment, discover
from experiments._text import Documents, machine, told

ROOT = Path(__file__).resolve().parent.parent.parent


class _Experiments(SphinxDirective):
    def found(self) -> dict[str, Experiment]:
        """All experiments by name; pages are built again when one changes, or its results."""
        experiments = discover(ROOT / "experiments")
        for name, experiment in experiments.items():
            self.env.note_dependency(str(experiment.path))
            self.env.note_dependency(str(ROOT / "experiments" / "results" / f"{name}.json"))
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


def _origin(documents: Documents, name: str) -> str:
    """Say when, where and by what code the results were measured."""
    meta = documents.meta(name)
    when = meta.get("date", "at a date that was not noted")
    older = "; the code has changed since" if documents.older(name) else ""
    return f"measured {when} on {machine(meta)}{older}"


class ExperimentFigures(_Experiments):
    """A section for each experiment that has a figure: first line, figure, claims, origin."""

    def run(self) -> list[nodes.Node]:
        """Make the sections."""
        sections: list[nodes.Node] = []
        documents = Documents(ROOT / "experiments")
        for name, experiment in self.found().items():
            # An animation in the place of its last frame.
            files = [ROOT / "figures" / f"{name}.{suffix}" for suffix in ("gif", "png")]
            figure = next((file for file in files if file.exists()), None)
            if figure is None:
                continue
            self.env.note_dependency(str(figure))
            section = self.section(f"experiment-{name}", name, experiment.summary)
            section += nodes.image(uri=f"../figures/{figure.name}", alt=experiment.summary)
            if name in documents:
                lines = StringList(told(documents.claims(name)).splitlines(), source=name)
                self.state.nested_parse(lines, self.content_offset, section)
            origin = f", {_origin(documents, name)}" if name in documents else ""
            command = f"python -m experiments {name}"
            section += nodes.paragraph(
                "",
                "",
                nodes.literal(command, command),
                nodes.Text(f" ({experiment.full_time}{origin})"),
            )
            sections.append(section)
        return sections


class Claims(_Experiments):
    """What the named experiments say about the claims that they test."""

    required_arguments: ClassVar[int] = 1
    final_argument_whitespace: ClassVar[bool] = True

    def run(self) -> list[nodes.Node]:
        """Make the sections."""
        experiments = self.found()
        documents = Documents(ROOT / "experiments")
        sections: list[nodes.Node] = []
        for name in self.arguments[0].split():
            if name not in experiments:
                raise self.error(f"there is no experiment {name!r}")
            if name in documents:
                title = name.replace("_", " ").capitalize()
                link = f"The figure: {{ref}}`experiment-{name}`."
                texts = (experiments[name].summary, told(documents.claims(name)), link)
                sections.append(self.section(f"{name}-claims", title, *texts))
        return sections


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("experiment-figures", ExperimentFigures)
    app.add_directive("claims", Claims)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
