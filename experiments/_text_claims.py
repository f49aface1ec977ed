"""Claims as a table, findings as sections, and where results come from."""

from __future__ import annotations

from typing import Any

from experiments._claims import OURS, SOURCES, Claim
from experiments._text import Documents

#: What follows in a table on results that other code measured.
OLDER = "†"
#: The order of the claims: what the algorithm does, its bounds, its parts, then the applications.
_ORDER = (
    *("convergence", "step_rules", "run_time", "sample_size", "lambda_dependence", "bounds"),
    *("generalization", "losses", "projection", "averaging", "sampling", "minibatch", "bias"),
    *("margin", "linear_vs_rbf", "digits", "fashion_mnist", "accuracy_map", "kernel_table"),
    *("text_classification", "benchmark_linear", "grid_search", "slips"),
)
#: Findings of this project, in the order of the README.
FINDINGS = ("clock", "gap_and_error", "warm_start", "run_time", "equal_seconds", "accuracy_map")


def ordered(documents: Documents) -> list[str]:
    """Return the experiments that have results, those without a place of their own last."""
    known = [name for name in _ORDER if name in documents]
    return known + [name for name in documents.experiments if name not in known]


def cited(source: str) -> str:
    """Write sources as references to their links, where they have one."""
    return ", ".join(f"[{one}]" if SOURCES[one] else one for one in source.split("; "))


def references() -> str:
    """Write the definitions of the links of all sources."""
    return "\n".join(f"[{name}]: {link}" for name, link in SOURCES.items() if link)


def table(documents: Documents) -> str:
    """Return the claims of the sources: claim, what was found, mark, figure.

    Parameters
    ----------
    documents : Documents
        The results.

    Returns
    -------
    str
        A table in Markdown, with what its signs mean and the definitions of its links.
    """
    rows = []
    for name in ordered(documents):
        figure, claims = f"[`{name}`](figures/{name}.png)", documents.claims(name)
        older = OLDER if documents.older(name) else ""
        if claims is None:
            rows.append(
                f"| | | results of an older form, to be measured again | {older} | {figure} |"
            )
        for claim in claims or []:
            if claim.source != OURS:
                source = cited(claim.source)
                cells = (claim.claim, source, claim.found, f"{claim.mark}{older}", figure)
                rows.append(f"| {' | '.join(cells)} |")
    head = "| claim | source | what came out here | | experiment |\n| --- | --- | --- | --- | --- |"
    note = _note_on_older(documents)
    return "\n".join([head, *rows]) + f"\n\n{note}{references()}"


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
                f"**{own[0].claim}** {own[0].found}{older} (`{name}`)\n\n"
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
        source = ", ".join(
            f"[{one}]({SOURCES[one]})" if SOURCES[one] else one
            for one in filter(None, claim.source.split("; "))
        )
        mark = f"{claim.mark} " if claim.mark else ""
        whose = f" ({source})" if source else ""
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


def _machine(meta: dict[str, Any]) -> str:
    machine = meta["machine"]
    vectors = "/".join(sorted(machine.get("vectors") or ["vectors not noted"]))
    return f"{machine['processor']}, {vectors}, {machine['cores']} cores"


def _quiet(meta: dict[str, Any]) -> str:
    load = meta.get("load")
    return "not noted" if load is None else f"load {load:g}"


def machine_line(documents: Documents) -> str:
    """Return one line on where, when and with what the results were measured."""
    metas = [documents.meta(name) for name in documents.experiments]
    dated = [meta for meta in metas if meta.get("date")]
    newest = max(dated, key=lambda meta: str(meta["date"]), default=metas[0])
    machines = list(dict.fromkeys(map(_machine, sorted(dated, key=lambda m: str(m["date"])))))
    versions = ", ".join(f"{name} {version}" for name, version in newest["versions"].items())
    older = sum(map(documents.older, documents.experiments))
    dates = sorted({str(meta["date"]) for meta in dated})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "at unknown dates"
    other = (
        f" {older} of {len(metas)} results were measured by other code ({OLDER})." if older else ""
    )
    return (
        f"Measured {when} on {'; '.join(machines) or _machine(newest)}. Versions: {versions}."
        f"{other}"
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
        cells = [f"`{name}`{older}", meta.get("date", "not noted"), _machine(meta), _quiet(meta)]
        rows.append(f"| {' | '.join([*cells, meta.get('commit', 'not noted'), took])} |")
    return "\n".join(rows) + f"\n\n{_note_on_older(documents)}"
