"""Text with numbers in README and documentation, written from the results.

A block stands between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->``, each on a line of its
own. ``python -m experiments --text`` writes what the function of that name returns (`BLOCKS`)
between them; a test fails where text and results differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from experiments._catalog import ROOT, Experiment, discover
from experiments._claims import (
    FAILS,
    HOLDS,
    OURS,
    PARTLY,
    SOURCES,
    Claim,
    duration,
    exponent,
    markdown,
    medians,
    percent,
    rounded,
    slope,
)
from experiments._meta import experiment_changed
from experiments._store import read, write
from experiments._tables import columns, grouped, select

Block = Callable[["Documents"], str]

_BLOCK = re.compile(
    r"^<!-- begin: (?P<name>[\w-]+) -->\n(?P<text>.*?)^<!-- end: (?P=name) -->$", re.M | re.S
)
_MARKER = re.compile(r"^<!-- (?:begin|end): (?P<name>[\w-]+) -->$", re.M)


class Documents:
    """All results at hand, with their origin, and what the experiments say of them.

    Parameters
    ----------
    folder : Path
        The experiments; results are in its sub-folder ``results``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, dict[str, Any]] = {}
        self._changed: dict[str, bool] = {}
        self._claims: dict[str, list[Claim] | None] = {}

    @cached_property
    def experiments(self) -> dict[str, Experiment]:
        """The experiments of the folder that have results, by name."""
        found = discover(self._folder)
        return {name: found[name] for name in found if self._path(name).exists()}

    def _path(self, name: str) -> Path:
        return self._folder / "results" / f"{name}.json"

    def _document(self, name: str) -> dict[str, Any]:
        if name not in self._read:
            self._read[name] = read(self._path(name))
        return self._read[name]

    def __contains__(self, name: str) -> bool:
        """Say whether an experiment has results."""
        return name in self.experiments

    def results(self, name: str) -> dict[str, Any]:
        """Return the results of an experiment."""
        found: dict[str, Any] = self._document(name)["results"]
        return found

    def meta(self, name: str) -> dict[str, Any]:
        """Return where the results of an experiment come from."""
        found: dict[str, Any] = self._document(name)["meta"]
        return found

    def changed(self, name: str) -> bool:
        """Say whether an experiment's own code has changed since, or may have."""
        if name not in self._changed:
            self._changed[name] = experiment_changed(self.experiments[name], self.meta(name))
        return self._changed[name]

    @cached_property
    def _newest_package(self) -> str:
        """The package that measured last."""
        codes = [
            (meta.get("date", ""), meta.get("time", ""), meta["code"]["package"])
            for meta in map(self.meta, self.experiments)
            if "code" in meta and meta["code"]["package"] != "mixed"
        ]
        return max(codes, default=("", "", ""))[-1]

    def older(self, name: str) -> bool:
        """Say whether results were measured by other code than the present or the newest one.

        This is the test of ``--stale``, but that the package is held against the one that the
        newest results were measured with: what is written does not change with every commit.
        """
        package = self.meta(name).get("code", {}).get("package")
        return self.changed(name) or package != self._newest_package

    def claims(self, name: str) -> list[Claim] | None:
        """Return what an experiment says; None if its results are of an older form."""
        if name not in self._claims:
            try:
                self._claims[name] = self.experiments[name].claims(self.results(name))
            except (KeyError, StopIteration):
                if not self.changed(name):
                    raise
                self._claims[name] = None
        return self._claims[name]


def pages(root: Path) -> list[Path]:
    """Return the pages that may have blocks."""
    docs = root / "docs"
    return [root / "README.md", *sorted(docs.glob("*.md")), *sorted(docs.glob("findings/*.md"))]


def render(page: str, blocks: dict[str, Block], documents: Documents) -> str:
    """Fill the blocks of a page.

    Parameters
    ----------
    page : str
        Text with markers.
    blocks : dict
        A function of the documents by the name of a block.
    documents : Documents
        The results.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If a marker has no partner, or its name is not a block's.
    """

    def fill(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in blocks:
            raise ValueError(f"there is no block {name!r}; there are: {', '.join(blocks)}")
        try:
            text = blocks[name](documents).strip("\n")
        except FileNotFoundError:  # results, while experiments are run anew
            text = "Not measured yet."
        middle = f"{text}\n" if text else ""
        return f"<!-- begin: {name} -->\n{middle}<!-- end: {name} -->"

    filled = _BLOCK.sub(fill, page)
    left = _MARKER.search(_BLOCK.sub("", page))
    if left:
        raise ValueError(f"the marker {left[0]!r} has no partner")
    return filled


def outside(page: str) -> str:
    """Return a page without its generated blocks, each line where it was."""
    return _BLOCK.sub(lambda match: "\n" * match[0].count("\n"), page)


def write_all(root: Path, folder: Path) -> list[Path]:
    """Fill the blocks of all pages.

    Parameters
    ----------
    root : Path
        Folder of README and documentation.
    folder : Path
        The experiments.

    Returns
    -------
    list of Path
        The pages that have changed.
    """
    documents, changed = Documents(folder), []
    for path in pages(root):
        if not path.exists():
            continue
        before = path.read_text(encoding="utf-8")
        after = render(before, BLOCKS, documents)
        if after != before:
            write(path, after)
            changed.append(path)
    return changed


# Claims as a table, findings as sections, and where results come from

#: What follows in a table on results that other code measured.
OLDER = "†"
#: Findings of this project, in the order of the README.
FINDINGS = (
    *("certified_predictions", "early_stopping", "warm_start", "run_time", "costly_kernels"),
)
#: Those that the README tells.
_TOLD_FIRST = ("certified_predictions", "early_stopping", "warm_start")


def _linked(source: str) -> str:
    """Write sources as links, where they have one."""
    names = source.split("; ") if source else []
    return ", ".join(f"[{name}]({SOURCES[name]})" if SOURCES[name] else name for name in names)


def verdicts(documents: Documents) -> str:
    """Return how many claims of the sources hold, hold in part, and do not."""
    marks = [
        claim.mark
        for name in documents.experiments
        for claim in documents.claims(name) or []
        if claim.source != OURS
    ]
    holds, partly, fails = (marks.count(each) for each in (HOLDS, PARTLY, FAILS))
    return (
        f"Of {len(marks)} tests of claims of the papers and other sources, {holds} say that the "
        f"claim holds here (✓), {partly} that it holds in part (~), {fails} that it does not (✗). "
        "[Experiments](docs/experiments.md) has each with its figure and the criterion by which "
        "code decides its mark."
    )


def every_experiment(documents: Documents) -> str:
    """Return a section for each experiment: what it shows, figure, claims, command and origin."""
    sections = []
    for name, experiment in documents.experiments.items():
        # An animation in the place of its last frame.
        files = (f"{name}.{suffix}" for suffix in ("gif", "png"))
        figure = next((file for file in files if (ROOT / "figures" / file).exists()), f"{name}.png")
        meta, older = documents.meta(name), OLDER if documents.older(name) else ""
        when = meta.get("date", "at a date that was not noted")
        sections += [
            f"### `{name}`",
            experiment.summary,
            f"![{experiment.summary}](../figures/{figure})",
            told(documents.claims(name)) if documents.claims(name) != [] else "",
            f"`python -m experiments {name}` ({experiment.full_time}, measured {when} on "
            f"{machine(meta)}{older})",
        ]
    return "\n\n".join([*filter(None, sections), _note_on_older(documents)])


def _note_on_older(documents: Documents) -> str:
    if any(map(documents.older, documents.experiments)):
        return f"{OLDER} Measured by older code than the newest results; to be measured again.\n\n"
    return ""


def findings(documents: Documents) -> str:
    """Return a line for each of the first findings that have results."""
    lines = []
    for name in (name for name in _TOLD_FIRST if name in documents):
        own = [claim for claim in documents.claims(name) or [] if claim.source == OURS]
        if own:
            older = f" {OLDER}" if documents.older(name) else ""
            lines.append(f"- [{own[0].claim}](docs/findings/{name}.md){older}")
    return "\n".join(lines)


def told(claims: list[Claim] | None) -> str:
    """Return claims as a list, each with its criterion."""
    if claims is None:
        return "Its results are of an older form, and are to be measured again."
    lines = []
    for claim in claims:
        mark = f"{claim.mark} " if claim.mark else ""
        whose = f" ({_linked(claim.source)})" if claim.source else ""
        criterion = f" *{claim.criterion}*" if claim.criterion else ""
        lines.append(f"- {mark}**{claim.claim}**{whose} {claim.found}{criterion}")
    return "\n".join(lines)


def _claims_of(*names: str) -> Block:
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


def machine_line(documents: Documents, name: str) -> str:
    """Return a line on where, when and with what an experiment was run, and how long all took."""
    meta, metas = documents.meta(name), [documents.meta(each) for each in documents.experiments]
    versions = ", ".join(f"{package} {number}" for package, number in meta["versions"].items())
    hours = sum(each["seconds"] for each in metas) / 3600
    older = sum(map(documents.older, documents.experiments))
    other = f" {older} of {len(metas)} are of older code ({OLDER})." if older else ""
    return (
        f"Measured {meta['date']} on {machine(meta)}; versions: {versions}. All {len(metas)} "
        f"results of the experiments together took {hours:.1f} hours.{other}"
    )


def provenance(documents: Documents) -> str:
    """Return a table of when, where and by what code each experiment was measured."""
    rows = []
    for name in documents.experiments:
        meta = documents.meta(name)
        shown = f"`{name}`" + (f" {OLDER}" if documents.older(name) else "")
        date, commit = (meta.get(key, "not noted") for key in ("date", "commit"))
        load = f"load {meta['load']:g}" if "load" in meta else "not noted"
        took = meta["seconds"]
        took = f"{took / 60:.1f} min" if took >= 60 else f"{took:g} s"
        rows.append([shown, date, machine(meta), load, commit, took])
    head = ["experiment", "measured", "machine", "other processes", "commit", "took"]
    return f"{markdown(head, rows)}\n\n{_note_on_older(documents)}"


# Tables and sentences of single experiments


def _kernel_readme(documents: Documents) -> str:
    """Return the larger problems in float32 at one level; the rest in words."""
    from experiments import benchmark_kernel as kernel

    results, mark = documents.results("benchmark_kernel"), ""
    if documents.older("benchmark_kernel"):
        mark = OLDER
    head, rows = kernel.fit_rows(
        kernel.of_size(results, small=False), (kernel.LEVEL,), show_level=False
    )
    rows = [[f"{row[0]}{mark}", *row[2:]] for row in rows if row[1] == "float32"]
    table = markdown([head[0], *head[2:]], rows)
    what = (
        "A case is a problem with a dtype, for which both reach the level; small problems have at "
        f"most 5,000 examples. {kernel.told(results)}"
    )
    return "\n\n".join([table, what, machine_line(documents, "benchmark_kernel")])


def _tables_of(name: str, module: str) -> Block:
    """Return a block: the tables that a module makes of the results of an experiment."""

    def block(documents: Documents) -> str:
        return str(import_module(f"experiments.{module}").tables(documents.results(name)))

    return block


def _fashion_mnist(documents: Documents) -> str:
    """Return accuracy, seconds and gap of each model on Fashion-MNIST."""
    results, rows, plain = documents.results("fashion_mnist"), [], []
    for row in results["table"]:
        name = row["model"] + " (not converged)" * row["convergence_warning"]
        accuracy, gap = percent(row["test_accuracy"], 2), row["median_relative_gap"]
        cells = [f"{row['train_images']:,}", accuracy, duration(row["fit_seconds"])]
        rows.append([name, *cells, "" if gap is None else percent(gap, 0)])
    for row in results["plain"]:
        keys = ("test_accuracy", "test_accuracy_min", "test_accuracy_max")
        accuracy, low, high = (percent(row[key], 2) for key in keys)
        cells = [f"{row['lam']:g}", f"{row['steps']:,}", accuracy, f"{low} to {high}"]
        plain.append([*cells, duration(row["fit_seconds"])])
    head = ["model", "training images", "test accuracy", "fit", "median certified relative gap"]
    heads = ["λ of each pair", "steps a pair", "test accuracy", "over seeds", "fit"]
    return f"{markdown(head, rows)}\n\nThe plain algorithm:\n\n{markdown(heads, plain)}"


def _usual_gaps(documents: Documents) -> str:
    """Return what gaps are usual where accuracy has settled, early and at the end."""
    parts = [
        f"{percent(row['median_relative_gap'], 0)} with a test accuracy of "
        f"{percent(row['test_accuracy'])} ({row['model']})"
        for row in documents.results("fashion_mnist")["table"]
        if row["median_relative_gap"] is not None
    ]
    results = documents.results("convergence")
    curve, optimum = results["curves"]["default"], results["optimum"]["dual_bound"]
    ratios = medians(curve["gap"]) / (medians(curve["objective_average"]) - optimum)
    epochs = np.array(curve["epoch"])
    early = int(np.abs(epochs - 10).argmin())
    return (
        f"Certified relative gaps on Fashion-MNIST, in the median over pairs: {'; '.join(parts)}. "
        f"On two moons the gap is {rounded(ratios[early])} times the suboptimality after "
        f"{epochs[early]:.0f} epochs and {rounded(ratios[-1])} times after {epochs[-1]:,.0f}."
    )


def _slips(documents: Documents) -> str:
    """Return the slips in the sources, and what each of them does."""
    keys = ("printed", "source", "meant", "consequence")
    rows = [[row[key] for key in keys] for row in documents.results("slips")["table"]]
    return markdown(["printed", "where", "meant", "what it does"], rows)


def _sampling_rates(documents: Documents) -> str:
    """Return the exponents of each sampling, from the eighth epoch on, for the last iterate."""
    results, rows = documents.results("sampling"), []
    for data, by_moment in results["curves"].items():
        curve = dict(by_moment["last, end"])
        epochs = curve.pop("epoch")[3:]
        rates = [slope(epochs, medians(values)[3:]) for values in curve.values()]
        rows.append([results["titles"][data], *map(exponent, rates)])
    return markdown(["exponent of the epochs, last iterate", *curve], rows)


def _lambda_rates(documents: Documents) -> str:
    """Return the exponents of λ in the suboptimality for each decade of λ, after one epoch."""
    results = documents.results("lambda_dependence")
    rows, first = [], min(row["epochs"] for row in results["table"])
    decades = range(-6, 0)
    for (data, method), own in grouped(results["table"], "data", "method").items():
        cells = []
        for power in decades:
            low, high = 0.99 * 10**power, 10.1 * 10**power
            part = [r for r in select(own, epochs=first) if low <= r["lam"] <= high]
            known = len(part) >= 2 and all(row["resolved"] for row in part)
            rate = known and slope(*columns(part, "lam", "suboptimality"))
            cells.append(exponent(rate) if known else "–")
        rows.append([results["titles"][data], method, *cells])
    heads = [f"{10.0**power:g} to {10.0 ** (power + 1):g}" for power in decades]
    return markdown(["exponent of λ", "method", *heads], rows)


def _lambda_steps(documents: Documents) -> str:
    """Return λT for the steps that reach a suboptimality, for each λ, on moons and on documents."""
    needed: list[tuple[str, float, float]] = []
    if "slips" in documents:
        found = documents.results("slips")["runtimes"]
        largest = found["steps"][max(found["steps"], key=int)]
        steps = map(np.median, largest)
        needed += [("moons, RBF", *pair) for pair in zip(found["lam"], steps, strict=True)]
    rows = [[data, f"{lam:g}", f"{n:,.0f}", rounded(lam * n)] for data, lam, n in needed]
    return markdown(["data", "λ", "steps T", "λT"], rows)


def _published_then(documents: Documents) -> str:
    """Return the kernel table: seconds to ε here and in 2011."""
    from experiments.kernel_table import succeeded

    if documents.claims("kernel_table") is None:
        return "Its results are of an older form, and are to be measured again."
    now = ("pegasos_last", "pegasos_average", "sdca", "polished", "scikit-learn")
    then = ("Pegasos", "SDCA", "SVM-Light", "LASVM")
    rows = [
        [
            row["data"],
            f"{row['epsilon']:g}",
            *(
                duration(row[f"{key}_seconds"]) if succeeded(row, key) else "–"
                for key in (*now, "scikit-learn-intelex")
            ),
            *(duration(row[f"published_{name}_seconds"]) for name in then),
        ]
        for row in documents.results("kernel_table")["table"]
    ]
    heads = ["Pegasos, last", "averaged", "SDCA", "polished", "LIBSVM", "intelex"]
    return markdown(["data", "ε", *heads, *(f"{name}, 2011" for name in then)], rows)


BLOCKS: dict[str, Block] = {
    "benchmark": _kernel_readme,
    "findings": findings,
    "verdicts": verdicts,
    "experiments": every_experiment,
    "provenance": provenance,
    "fashion-mnist": _fashion_mnist,
    "usual-gaps": _usual_gaps,
    "kernel": _tables_of("benchmark_kernel", "benchmark_kernel"),
    "kernel-avx512": _tables_of("benchmark_kernel_avx512", "benchmark_kernel"),
    "grid": _tables_of("grid_search", "grid_search"),
    "costly-kernels": _tables_of("costly_kernels", "costly_kernels"),
    "linear": _claims_of("benchmark_linear", "text_classification"),
    "large": _claims_of("out_of_core", "dask_workers"),
    "theory": _claims_of(
        *("bounds", "generalization", "averaging", "sampling", "projection", "minibatch"),
        *("lambda_dependence", "bias", "slips"),
    ),
    **{f"finding-{name}": _claims_of(name) for name in FINDINGS},
    "kernel-table": _published_then,
    "slips": _slips,
    "sampling-rates": _sampling_rates,
    "lambda-rates": _lambda_rates,
    "lambda-steps": _lambda_steps,
}
