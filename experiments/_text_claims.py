"""Claims as a table, findings as sections, and where results come from."""

from __future__ import annotations

from typing import Any

from experiments._claims import OURS, SOURCES, Claim
from experiments._text import Documents

#: What follows in a table on results that other code measured.
OLDER = "†"
#: Experiments in the order of their claims, and how many of each the README has: what the algorithm
#: does, its bounds, its parts, then the applications.
_ORDER = {
    **{"convergence": 1, "step_rules": 1, "run_time": 3, "sample_size": 1, "lambda_dependence": 1},
    **{"bounds": 1, "generalization": 2, "losses": 1, "projection": 2, "averaging": 1},
    **{"sampling": 1, "minibatch": 1, "bias": 1, "margin": 1, "linear_vs_rbf": 1, "digits": 1},
    **{"fashion_mnist": 3, "kernel_table": 2, "text_classification": 1, "benchmark_linear": 1},
    **{"grid_search": 1, "slips": 1},
}
#: Findings of this project, in the order of the README.
FINDINGS = ("clock", "gap_and_error", "warm_start", "run_time", "equal_seconds", "accuracy_map")


def ordered(documents: Documents) -> list[str]:
    """Return the experiments that have results, those without a place of their own last."""
    known = [name for name in _ORDER if name in documents]
    return known + [name for name in documents.experiments if name not in known]


def linked(source: str) -> str:
    """Write sources as links, where they have one."""
    return ", ".join(
        f"[{one}]({SOURCES[one]})" if SOURCES[one] else one
        for one in filter(None, source.split("; "))
    )


def table(documents: Documents) -> str:
    """Return the first claims of each experiment that tests some: claim, what was found, mark.

    Parameters
    ----------
    documents : Documents
        The results.

    Returns
    -------
    str
        A table in Markdown, and what its signs mean.
    """
    rows = []
    for name in ordered(documents):
        figure, claims = f"[`{name}`](figures/{name}.png)", documents.claims(name)
        older = OLDER if documents.older(name) else ""
        if claims is None:
            told = "results of an older form, to be measured again"
            rows.append(f"| | | {told} | {older} | {figure} |")
        tested = [claim for claim in claims or [] if claim.source != OURS]
        for claim in tested[: _ORDER.get(name, 1)]:
            cells = (claim.claim, linked(claim.source), claim.found, f"{claim.mark}{older}", figure)
            rows.append(f"| {' | '.join(cells)} |")
    head = "| claim | source | what came out here | | figure |\n| --- | --- | --- | --- | --- |"
    return "\n".join([head, *rows]) + f"\n\n{_note_on_older(documents)}"


def _note_on_older(documents: Documents) -> str:
    if any(map(documents.older, documents.experiments)):
        return f"{OLDER} Measured by other code than the newest results; to be measured again.\n\n"
    return ""


def findings(documents: Documents) -> str:
    """Return a section for each finding that has results: title, sentence, figure."""
    sections = []
    for name in FINDINGS:
        claims = (documents.claims(name) or []) if name in documents else []
        own = [claim for claim in claims if claim.source == OURS]
        if own:
            older = f" {OLDER}" if documents.older(name) else ""
            sections.append(
                f"**{own[0].claim}** {own[0].found}{older} [More](docs/findings/{name}.md). "
                f"![{own[0].claim}](figures/{name}.png)"
            )
    if not sections:
        return ""
    return "## What we found\n\n" + "\n\n".join(sections)


def told(claims: list[Claim] | None) -> str:
    """Return claims as a list, each with its criterion."""
    if claims is None:
        return "Its results are of an older form, and are to be measured again."
    lines = []
    for claim in claims:
        mark = f"{claim.mark} " if claim.mark else ""
        whose = f" ({linked(claim.source)})" if claim.source else ""
        criterion = f" *{claim.criterion}*" if claim.criterion else ""
        lines.append(f"- {mark}**{claim.claim}**{whose} {claim.found}{criterion}")
    return "\n".join(lines)


def claims_of(*names: str) -> Any:
    """Return a block: what some experiments say, as lists."""

    def block(documents: Documents) -> str:
        present = [name for name in names if name in documents]
        note = _note_on_older(documents) if any(map(documents.older, present)) else ""
        lists = "\n".join(
            line + (f" {OLDER}" if documents.older(name) else "")
            for name in present
            for line in told(documents.claims(name)).splitlines()
        )
        return f"{lists}\n\n{note}"

    return block


def machine(meta: dict[str, Any]) -> str:
    """Name the processor, its vectors and the cores that measured."""
    own = meta["machine"]
    vectors = "/".join(sorted(own.get("vectors") or ["vectors not noted"]))
    return f"{own['processor']}, {vectors}, {own['cores']} cores"


def _quiet(meta: dict[str, Any]) -> str:
    load = meta.get("load")
    return "not noted" if load is None else f"load {load:g}"


def machine_line(documents: Documents) -> str:
    """Return a line on where, when and with what the results were measured, and how long."""
    metas = [documents.meta(name) for name in documents.experiments]
    dated = sorted((meta for meta in metas if meta.get("date")), key=lambda m: str(m["date"]))
    if not dated:
        return "Not measured yet."
    when = " to ".join(dict.fromkeys((dated[0]["date"], dated[-1]["date"])))
    where = "; ".join(dict.fromkeys(map(machine, dated)))
    versions = ", ".join(f"{name} {number}" for name, number in dated[-1]["versions"].items())
    hours = sum(meta["seconds"] for meta in metas) / 3600
    older = sum(map(documents.older, documents.experiments))
    other = f" {older} of {len(metas)} were measured by other code ({OLDER})." if older else ""
    return (
        f"Measured {when} on {where}; versions: {versions}. All {len(metas)} results together took "
        f"{hours:.1f} hours.{other}"
    )


def provenance(documents: Documents) -> str:
    """Return a table of when, where and by what code each experiment was measured."""
    rows = ["| experiment | measured | machine | other processes | commit | took |"]
    rows.append("| --- | --- | --- | --- | --- | --- |")
    for name in documents.experiments:
        meta = documents.meta(name)
        older = f" {OLDER}" if documents.older(name) else ""
        took = (
            f"{meta['seconds'] / 60:.1f} min" if meta["seconds"] >= 60 else f"{meta['seconds']:g} s"
        )
        cells = [f"`{name}`{older}", meta.get("date", "not noted"), machine(meta), _quiet(meta)]
        rows.append(f"| {' | '.join([*cells, meta.get('commit', 'not noted'), took])} |")
    return "\n".join(rows) + f"\n\n{_note_on_older(documents)}"
