"""Pages with numbers: README and documentation follow from the results, and from nothing else."""

import json
import re

import pytest

from experiments._results import (
    FAILS,
    HOLDS,
    OURS,
    PARTLY,
    claims_of,
    document,
    every_experiment,
    outside,
    pages,
    render,
    verdicts,
)
from experiments._run import ROOT, discover

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


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_page_follows_from_the_results(path):
    text = path.read_text(encoding="utf-8")
    assert render(text, ROOT) == text, "run `python -m experiments --text`"


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


@pytest.mark.parametrize("name", discover())
def test_claims_have_numbers_and_those_of_sources_a_mark_with_its_criterion(name):
    for claim in claims_of(
        name, document(ROOT / "experiments/results" / f"{name}.json")["results"]
    ):
        assert re.search(r"\d", claim.found), claim
        if claim.source == OURS:
            assert (claim.mark, claim.criterion) == ("", "")
        else:
            assert claim.mark in (HOLDS, PARTLY, FAILS), claim
            assert HOLDS in claim.criterion, claim


def test_block_is_filled_between_its_markers(bench):
    bench("line")
    page = "a\n<!-- begin: line.claims -->\nold\n<!-- end: line.claims -->\nb\n"
    filled = render(page, bench.root)
    assert filled.startswith("a\n<!-- begin: line.claims -->\n- ✓ **It rises.** (Zhou)")
    assert filled.endswith("too.\n<!-- end: line.claims -->\nb\n")
    assert render(filled, bench.root) == filled
    assert outside(page) == "a\n\n\n\nb\n"


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<!-- begin: y -->\n<!-- end: y -->", "there is no block 'y'"),
        ("<!-- begin: line.y -->\n<!-- end: line.y -->", "there is no block 'line.y'"),
        ("<!-- begin: x -->\n", "the marker '<!-- begin: x -->' has no partner"),
        ("<!-- begin: x -->\n<!-- end: y -->", "the marker '<!-- begin: x -->' has no partner"),
    ],
)
def test_marker_that_is_wrong_is_refused(bench, page, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        render(page, bench.root)


def test_claims_stand_below_their_figure_and_are_counted(bench):
    bench("line")
    text = every_experiment(bench.root)
    assert "### `line`\n\nA line through the origin.\n\n![line]" in text
    assert "](../figures/line.png)\n\n- ✓ **It rises.** (Zhou) It ends at 1.0." in text
    assert "1 say that the claim holds here (✓), 0 that it holds in part" in verdicts(bench.root)
    path = bench.folder / "results" / "line.json"
    changed = json.loads(path.read_text())
    changed["results"]["curve"] = [0, -2.5]
    path.write_text(json.dumps(changed))
    document.cache_clear()
    assert "- ✗ **It rises.**" in every_experiment(bench.root)


def test_text_command_writes_the_blocks(bench, capsys):
    bench("line")
    page = bench.root / "README.md"
    page.write_text("<!-- begin: experiments -->\n<!-- end: experiments -->\n")
    capsys.readouterr()
    assert bench("--text") == 0
    assert "It ends at 1.0." in page.read_text()
    assert capsys.readouterr().out == "written: README.md\n"
    assert bench("--text") == 0
    assert capsys.readouterr().out == "", "nothing has changed"
