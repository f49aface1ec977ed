"""Text with numbers: README and documentation follow from the results, and from nothing else."""

import json
import re

import pytest

from experiments._catalog import HERE, ROOT
from experiments._claims import FAILS, HOLDS, OURS, PARTLY, SOURCES
from experiments._text import (
    BLOCKS,
    Documents,
    every_experiment,
    findings,
    machine_line,
    outside,
    pages,
    provenance,
    render,
    verdicts,
)

PAGES = pages(ROOT)
#: Numbers of seconds, shares and ratios, as a measurement has them.
MEASURED = re.compile(
    r"(?<![\w.,])[<≤~]?\d[\d.,]*\s?(?:%|(?:s|ms|µs|ns|min|seconds|minutes|hours|times)\b)"
)
#: What is no prose, and a line that says why its numbers are none of the results'.
CODE = re.compile(r"```.*?^```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$", re.M | re.S)
STATED = re.compile(r"<!-- stated: [\w ,]+ -->")
#: Decisions with their measurements, by commit and machine; promises and their campaigns.
EXEMPT = {"design.md", "guarantees.md"}


def named(path):
    return path.name


@pytest.fixture(scope="module")
def documents():
    return Documents(HERE)


# What is committed


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_page_follows_from_the_results(path, documents):
    text = path.read_text(encoding="utf-8")
    assert render(text, BLOCKS, documents) == text, "run `python -m experiments --text`"


@pytest.mark.parametrize("path", [p for p in PAGES if p.name not in EXEMPT], ids=named)
def test_measured_numbers_stand_in_blocks_alone(path):
    text = outside(path.read_text(encoding="utf-8"))
    page = CODE.sub(lambda match: "\n" * match[0].count("\n"), text)
    found = [
        f"{number}: {match[0]} in {line.strip()[:80]}"
        for number, line in enumerate(page.splitlines(), start=1)
        if not STATED.search(line)
        for match in MEASURED.finditer(line)
    ]
    assert not found


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_links_to_files_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    built = "auto_examples/"  # by Sphinx, which finds them wanting itself
    kept = [link for link in links if not link.startswith(built)]
    assert not [link for link in kept if not (path.parent / link).exists()]


def test_claims_have_a_source_a_mark_and_a_criterion(documents):
    told = [claim for name in documents.experiments for claim in documents.claims(name) or []]
    assert told
    for claim in told:
        if claim.source == OURS:
            assert (claim.mark, claim.criterion) == ("", "")
        else:
            assert set(claim.source.split("; ")) <= set(SOURCES), claim
            assert claim.mark in (HOLDS, PARTLY, FAILS), claim
            assert claim.criterion, claim
        assert "|" not in claim.claim + claim.found, "it stands in a table"
        assert re.search(r"\d", claim.found), claim


# Blocks


def test_block_is_filled_between_its_markers():
    page = "a\n<!-- begin: x -->\nold\n<!-- end: x -->\nb\n"
    filled = render(page, {"x": lambda documents: "new\n"}, None)
    assert filled == "a\n<!-- begin: x -->\nnew\n<!-- end: x -->\nb\n"
    assert render(filled, {"x": lambda documents: "new"}, None) == filled
    assert render(page, {"x": lambda documents: ""}, None) == page.replace("old\n", "")
    assert outside(page) == "a\n\n\n\nb\n"


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<!-- begin: y -->\n<!-- end: y -->", "there is no block 'y'; there are: x"),
        ("<!-- begin: x -->\n", "the marker '<!-- begin: x -->' has no partner"),
        ("<!-- begin: x -->\n<!-- end: y -->", "the marker '<!-- begin: x -->' has no partner"),
    ],
)
def test_marker_that_is_wrong_is_refused(page, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        render(page, {"x": lambda documents: ""}, None)


# An experiment of our own

CLAIMS = """

from experiments._claims import OURS, Claim, mark, rounded


def claims(results):
    last = results["curve"][-1]
    return [
        Claim("It rises.", "Zhou", f"It ends at {rounded(last)}.", mark(last > 0), "✓ if above 0."),
        Claim("It is ours.", OURS, f"It ends at {rounded(last)} too."),
    ]
"""


@pytest.fixture
def claiming(bench, capsys):
    bench.module.write_text(bench.source + CLAIMS)
    bench("line")
    told = "✓ It rises. It ends at 1.0.\n- It is ours. It ends at 1.0 too.\n"
    assert told in capsys.readouterr().out
    return bench


def rewrite(bench, change):
    path = bench.folder / "results" / "line.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_claims_stand_below_their_figure_and_are_counted(claiming):
    documents = Documents(claiming.folder)
    lines = every_experiment(documents).splitlines()
    assert "### `line`" in lines
    assert any(line.endswith("](../figures/line.png)") for line in lines)
    assert "- ✓ **It rises.** (Zhou) It ends at 1.0. *✓ if above 0.*" in lines
    assert "- **It is ours.** It ends at 1.0 too." in lines
    assert "1 say that the claim holds here (✓), 0 that it holds in part (~)" in verdicts(documents)
    assert findings(documents) == "", "the experiments of findings are not here"
    rewrite(claiming, lambda document: document["results"].update(curve=[0, -2.5]))
    assert "- ✗ **It rises.**" in every_experiment(Documents(claiming.folder))
    assert "1 that it does not (✗)" in verdicts(Documents(claiming.folder))


def test_text_command_writes_the_blocks_and_a_quick_run_no_verdict(claiming, capsys):
    assert claiming("line", "--quick") == 0
    assert not re.search("[✓~✗]|It rises", capsys.readouterr().out)
    page = claiming.root / "README.md"
    page.write_text("<!-- begin: experiments -->\n<!-- end: experiments -->\n")
    assert claiming("--text") == 0
    assert "It ends at 1.0." in page.read_text()
    assert "written: README.md\n" in capsys.readouterr().out
    assert claiming("--text") == 0
    assert capsys.readouterr().out == "", "nothing has changed"


# Results of other code


def test_results_are_older_when_the_experiment_has_changed(claiming):
    source = claiming.module.read_text()
    claiming.module.write_text(source.replace("It rises.", "It goes up."))
    assert not Documents(claiming.folder).older("line")
    claiming.module.write_text(source + "\nCHANGED = True\n")
    documents = Documents(claiming.folder)
    assert documents.older("line")
    assert "measured by older code" in every_experiment(documents).lower()
    assert "1 of 1 are of older code (†)." in machine_line(documents, "line")
    assert "`line` †" in provenance(documents)
