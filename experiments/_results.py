"""Results: rows of tables, how numbers are written, claims, and the pages that have all of these.

A block of a page stands between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->``, each on a line
of its own. ``EXPERIMENT.FUNCTION`` is what that function of the experiment makes of its results;
``EXPERIMENT.claims`` and ``EXPERIMENT.origin`` are there for all, and `WHOLE` has blocks of all
experiments together. ``python -m experiments --text`` fills the blocks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments._run import discover, load, read, write

#: A row of a table, or what else JSON has by names.
Row = dict[str, Any]


# Rows


def shortened(values: Any, digits: int) -> Any:
    """Keep some significant digits, more than which nobody knows or sees; of nested lists too."""
    if np.ndim(values) == 0:
        return float(f"{values:.{digits}g}")
    return [shortened(value, digits) for value in values]


def percentiles(values: Any, **options: Any) -> np.ndarray:
    """Return the 20%, 50% and 80% percentiles along the first axis, that of the seeds."""
    return np.percentile(np.asarray(values, dtype=float), [20, 50, 80], **{"axis": 0, **options})


def summary(key: str, values: Any, **options: Any) -> Row:
    """Return the columns of a row for the values of all seeds: ``key``, ``key_20``, ``key_80``."""
    low, median, high = percentiles(values, **options).tolist()
    return {key: median, f"{key}_20": low, f"{key}_80": high}


def ranged(key: str, values: Sequence[float]) -> Row:
    """Return the columns of a row for some values: median, least and most."""
    return {key: float(np.median(values)), f"{key}_min": min(values), f"{key}_max": max(values)}


def medians(values: Any) -> np.ndarray:
    """Return the medians over the seeds of curves with a row for each seed."""
    return np.median(np.asarray(values, dtype=float), axis=0)


def columns(rows: Iterable[Row], *keys: str) -> np.ndarray:
    """Return columns of some rows, as an array of shape (n_keys, n_rows); NaN for None."""
    table = np.array([[row[key] for key in keys] for row in rows], dtype=float)
    return table.reshape(-1, len(keys)).T


def spread(rows: Iterable[Row], key: str) -> np.ndarray:
    """Return what `summary` wrote into some rows, as an array of shape (3, n_rows)."""
    return columns(rows, f"{key}_20", key, f"{key}_80")


def select(rows: Iterable[Row], **values: Any) -> list[Row]:
    """Return the rows that have these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in values.items())]


def grouped(rows: Iterable[Row], *keys: str) -> dict[Any, list[Row]]:
    """Sort rows by what they have in a column, or by the tuple of several."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(itemgetter(*keys)(row), []).append(row)
    return found


def slope(x: Any, y: Any) -> float:
    """Fit the exponent p of y ~ x^p, over the points where both are known and positive."""
    points = np.array([x, y], dtype=float)
    good = (np.isfinite(points) & (points > 0)).all(axis=0)
    log_x, log_y = np.log(points[:, good])
    return float(np.polyfit(log_x, log_y, 1)[0])


# Numbers

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def rounded(value: float, digits: int = 2) -> str:
    """Write a number with some significant digits: 0.063, 5.1, 14,000, 1.3 × 10⁻⁷."""
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    if power < -4 or power > 6:
        mantissa = f"{value / 10**power:.{digits - 1}f}"
        return f"{mantissa} × 10{str(power).translate(_SUPERSCRIPTS)}".replace("-", "−")
    text = f"{round(value, digits - 1 - power):,.{max(digits - 1 - power, 0)}f}"
    return text.replace("-", "−")


def percent(share: float, digits: int = 1) -> str:
    """Write a share in per cent: 14.9%."""
    return f"{100 * share:.{digits}f}%".replace("-", "−")


def duration(value: float | None) -> str:
    """Write seconds with three digits at the most, in ms below a tenth; a dash for None."""
    if value is None:
        return "–"
    scaled, unit = (value, "s") if value >= 0.1 else (1e3 * value, "ms")
    digits = 0 if scaled >= 100 else 1 if scaled >= 10 else 2
    return f"{scaled:,.{digits}f} {unit}"


def exponent(value: float) -> str:
    """Write an exponent: 0.06, −0.9."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def span(values: Iterable[float], write: Callable[[float], str] = rounded) -> str:
    """Write the least and the largest of some values: "1.2 to 6.5", or one if they look alike."""
    known = list(values)
    low, high = write(min(known)), write(max(known))
    return low if low == high else f"{low} to {high}"


def listed(items: Iterable[str]) -> str:
    """Join words: "a, b and c"."""
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown; nothing without rows."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) if len(lines) > 2 else ""


# Claims

#: The claim holds, holds in part, does not hold.
HOLDS, PARTLY, FAILS = "✓", "~", "✗"
ICML, JOURNAL, RAKHLIN, LACOSTE = (
    "[Shalev-Shwartz et al. 2007](https://doi.org/10.1145/1273496.1273598)",
    "[Shalev-Shwartz et al. 2011](https://doi.org/10.1007/s10107-010-0420-4)",
    "[Rakhlin et al. 2012](https://arxiv.org/abs/1109.5647)",
    "[Lacoste-Julien et al. 2012](https://arxiv.org/abs/1212.2002)",
)
#: Not published: a term paper, a report.
KARTHIK, ZHOU = "Karthik", "Zhou"
#: The source of what nobody else has claimed.
OURS = ""


class Claim(NamedTuple):
    """A claim and what came out.

    Attributes
    ----------
    claim : str
        What is claimed, in words.
    source : str
        Who claims it; `OURS` for a finding of our own.
    found : str
        One or two sentences whose numbers are those of the results.
    mark : str
        `HOLDS`, `PARTLY` or `FAILS`; empty for a finding of our own.
    criterion : str
        What decides the mark, in words.
    """

    claim: str
    source: str
    found: str
    mark: str = ""
    criterion: str = ""

    def __str__(self) -> str:
        """Write an item of a list in Markdown."""
        mark = f"{self.mark} " if self.mark else ""
        source = f" ({self.source})" if self.source else ""
        criterion = f" *{self.criterion}*" if self.criterion else ""
        return f"- {mark}**{self.claim}**{source} {self.found}{criterion}"


def mark(holds: bool, partly: bool = False) -> str:
    """Return the mark of a claim that holds, holds in part, or does not."""
    return HOLDS if holds else PARTLY if partly else FAILS


# Pages

_BLOCK = re.compile(
    r"^<!-- begin: (?P<name>[\w.-]+) -->\n(?P<text>.*?)^<!-- end: (?P=name) -->$", re.M | re.S
)
_MARKER = re.compile(r"^<!-- (?:begin|end): [\w.-]+ -->$", re.M)
#: Findings of this project that have a page, in the order of the README.
FINDINGS = (
    "certified_predictions",
    "perceptron",
    "warm_start",
    "where_bounds_lose",
    "costly_kernels",
)
#: Of these, those of the README.
FIRST = 3

document = cache(read)


def _documents(root: Path) -> dict[str, dict[str, Any]]:
    """Return the files of results by the names of their experiments."""
    paths = {name: root / "experiments" / "results" / f"{name}.json" for name in discover(root)}
    return {name: document(path) for name, path in paths.items() if path.exists()}


def claims_of(name: str, results: Row) -> list[Claim]:
    """Return what an experiment says of the claims that it tests; nothing without claims."""
    tell = getattr(load(name), "claims", None)
    return [] if tell is None else list(tell(results))


def origin(meta: Row) -> str:
    """Say when, where and by what code results were measured, and how long that took."""
    own, seconds = meta["machine"], meta["seconds"]
    took = f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"
    where = f"{own['processor']}, {'/'.join(sorted(own['vectors']))}, {own['cores']} cores"
    load = f", load {meta['load']:g}" if "load" in meta else ""
    return f"{took} on {meta['date']}, commit {meta['commit']}, {where}{load}"


def findings(root: Path) -> str:
    """Return the first claim of each of the first findings."""
    documents = _documents(root)
    return "\n".join(
        f"- [{claims_of(name, documents[name]['results'])[0].claim}](docs/findings/{name}.md)"
        for name in FINDINGS[:FIRST]
        if name in documents
    )


def verdicts(root: Path) -> str:
    """Return how many claims of the sources hold, hold in part, and do not."""
    claims = [c for name, own in _documents(root).items() for c in claims_of(name, own["results"])]
    marks = [claim.mark for claim in claims if claim.source]
    holds, partly, fails = (marks.count(each) for each in (HOLDS, PARTLY, FAILS))
    return (
        f"Of {len(marks)} tests of claims of the papers and other sources, {holds} say that the "
        f"claim holds here ({HOLDS}), {partly} that it holds in part ({PARTLY}), {fails} that it "
        f"does not ({FAILS}). [Experiments](docs/experiments.md) has each with its figure and the "
        "criterion by which code decides its mark."
    )


def every_experiment(root: Path) -> str:
    """Return a section for each experiment: what it shows, figure, claims, command and origin."""
    sections, summaries = [], discover(root)
    for name, own in _documents(root).items():
        moves = (root / "figures" / f"{name}.gif").exists()
        figure = f"../figures/{name}.{'gif' if moves else 'png'}"
        told = "\n".join(map(str, claims_of(name, own["results"])))
        if name in FINDINGS:
            told = f"[What came out](findings/{name}.md)"
        command = f"`python -m experiments {name}`: {origin(own['meta'])}."
        parts = (summaries[name], f"![{name.replace('_', ' ')}]({figure})", told, command)
        sections += [f"### `{name}`", *filter(None, parts)]
    return "\n\n".join(sections)


WHOLE = {"findings": findings, "verdicts": verdicts, "experiments": every_experiment}


def block(name: str, root: Path) -> str:
    """Return the text of a block.

    Raises
    ------
    ValueError
        If there is no block of that name.
    """
    if name in WHOLE:
        return WHOLE[name](root)
    experiment, _, what = name.partition(".")
    own = _documents(root).get(experiment)
    if own is not None and what == "claims":
        return "\n".join(map(str, claims_of(experiment, own["results"])))
    if own is not None and what == "origin":
        return f"Measured in {origin(own['meta'])}."
    if own is None or not hasattr(load(experiment), what):
        raise ValueError(f"there is no block {name!r}")
    return str(getattr(load(experiment), what)(own["results"]))


def render(page: str, root: Path) -> str:
    """Fill the blocks of a page.

    Raises
    ------
    ValueError
        If a marker has no partner, or its name is not a block's.
    """

    def fill(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- begin: {name} -->\n{block(name, root).strip()}\n<!-- end: {name} -->"

    left = _MARKER.search(_BLOCK.sub("", page))
    if left:
        raise ValueError(f"the marker {left[0]!r} has no partner")
    return _BLOCK.sub(fill, page)


def outside(page: str) -> str:
    """Return a page without its generated blocks, each line where it was."""
    return _BLOCK.sub(lambda match: "\n" * match[0].count("\n"), page)


def pages(root: Path) -> list[Path]:
    """Return the pages that may have blocks."""
    docs = root / "docs"
    found = [root / "README.md", *sorted(docs.glob("*.md")), *sorted(docs.glob("findings/*.md"))]
    return [path for path in found if path.exists()]


def write_all(root: Path) -> list[Path]:
    """Fill the blocks of all pages; return those that have changed."""
    changed = []
    for path in pages(root):
        before = path.read_text(encoding="utf-8")
        after = render(before, root)
        if after != before:
            write(path, after)
            changed.append(path)
    return changed
