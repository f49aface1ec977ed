"""The generated blocks of README and documentation, by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments._catalog import ROOT
from experiments._claims import duration, medians, percent, rounded, span
from experiments._grid_markdown import tables
from experiments._kernel_levels import PEERS, SERIES, curves, modern, representative
from experiments._kernel_markdown import (
    AHEAD,
    ablation_table,
    dtype_table,
    fit_rows,
    fit_table,
    markdown,
    run_table,
)
from experiments._store import read
from experiments._text import Block, Documents
from experiments._text_claims import (
    FINDINGS,
    OLDER,
    claims_of,
    findings,
    machine_line,
    provenance,
    table,
)
from experiments._text_tables import (
    lambda_rates,
    lambda_steps,
    published_then,
    sampling_rates,
    slips,
)

#: The suboptimality at which kernel solvers are compared in the README.
LEVEL = 1e-3
KERNEL = ("benchmark_kernel", "benchmark_kernel_avx2")


def _kernel(documents: Documents, name: str, *, small: bool | None = None) -> dict[str, Any]:
    """Results of a kernel benchmark, all or those of the small or of the other problems."""
    results = modern(documents.results(name))
    if small is None:
        return results
    chosen = {r["problem"] for r in results["table"] if (r.get("group") == "small") is small}
    return results | {
        key: [row for row in results[key] if row["problem"] in chosen]
        for key in ("table", "levels")
    }


def kernel_readme(documents: Documents) -> str:
    """Return the larger problems at one level, with both kinds of vectors; the rest in words."""
    rows: list[list[str]] = []
    head: list[str] = []
    for name in (name for name in KERNEL if name in documents):
        results = _kernel(documents, name, small=False)
        own_head, own = fit_rows(results, (LEVEL,), show_level=False)
        vectors = sorted(results.get("vectors") or ["not noted"])[0]  # AVX-512 has AVX2 too
        mark = OLDER if documents.older(name) else ""
        head = [*own_head[:2], "vectors", *own_head[2:]]
        rows += [[*row[:2], f"{vectors}{mark}", *row[2:]] for row in own]
    text = markdown(head, rows)
    if KERNEL[0] in documents:
        text += f"\n\n{_kernel_words(_kernel(documents, KERNEL[0]))}"
    return f"{text}\n\n{machine_line(documents)}"


def _kernel_words(results: dict[str, Any]) -> str:
    """Say how often ours is ahead at the level, and what memory it takes."""
    small = {row["problem"] for row in results["table"] if row.get("group") == "small"}
    sentences = []
    for peer in PEERS:
        told = []
        for words, is_small in (("larger", False), ("small", True)):
            own = [
                row["ours_times_faster"]
                for row in results["levels"]
                if (row["level"], row["series"]) == (LEVEL, peer)
                and "ours_times_faster" in row
                and (row["problem"] in small) is is_small
            ]
            if own:
                ahead = sum(ratio >= AHEAD for ratio in own)
                behind = sum(ratio <= 1 / AHEAD for ratio in own)
                told.append(
                    f"ahead on {ahead} of {len(own)} {words} cases and behind on {behind} "
                    f"({span(own)} times as fast)"
                )
        if told:
            sentences.append(f"Beside {SERIES[peer]}, `polish=True` is {'. It is '.join(told)}.")
    memory = []
    for all_series in curves(results["table"]).values():
        if "polished" in all_series and "intelex" in all_series:
            ours, theirs = (
                representative(all_series[n], LEVEL).get("peak_mb") for n in ("polished", "intelex")
            )
            if ours and theirs:
                memory.append(ours / theirs)
    if memory:
        sentences.append(f"Its process peaks at {span(memory)} times the memory of intelex's.")
    return " ".join(sentences)


def kernel_details(name: str) -> Block:
    """Return a block: all tables of a kernel benchmark."""

    def block(documents: Documents) -> str:
        if name not in documents:
            return ""
        large, small = (_kernel(documents, name, small=small) for small in (False, True))
        parts = [
            ("Seconds of `fit` to a suboptimality", fit_table(large)),
            ("The same on small problems", fit_table(small, (1e-2, LEVEL))),
            (f"What the dtype costs, at {LEVEL:g}", dtype_table(_kernel(documents, name), LEVEL)),
            (
                f"Predictions, accuracy, support and memory of the runs at {LEVEL:g}",
                run_table(large, LEVEL),
            ),
            ("Starts: how much Pegasos does before dual ascent", ablation_table(large, "start")),
            ("Budgets of kernel rows", ablation_table(large, "cache")),
        ]
        # A table without rows has but two lines.
        shown = [f"**{title}**\n\n{text}" for title, text in parts if text.count("\n") > 1]
        return "\n\n".join(shown)

    return block


def startup(documents: Documents) -> str:
    """Return the times to the first model, with their spread."""
    rows = [
        [
            row["job"],
            duration(row["median_seconds"]),
            f"{duration(row['min_seconds'])} to {duration(row['max_seconds'])}",
            str(row["repeats"]),
        ]
        for row in documents.results("startup")["table"]
    ]
    return markdown(["fresh process", "median", "least to most", "runs"], rows)


def fashion_mnist(documents: Documents) -> str:
    """Return accuracy, seconds and gap of each model on Fashion-MNIST."""
    results, rows = documents.results("fashion_mnist"), []
    for row in results["table"]:
        gap = row["median_relative_gap"]
        rows.append(
            [
                row["model"] + (" (not converged)" if row["convergence_warning"] else ""),
                f"{row['train_images']:,}",
                percent(row["test_accuracy"], 2),
                duration(row["fit_seconds"]),
                "" if gap is None else percent(gap, 0),
            ]
        )
    head = ["model", "training images", "test accuracy", "fit", "median certified relative gap"]
    text = markdown(head, rows)
    if "plain" not in results:
        return text
    plain = [
        [
            f"{row['lam']:g}",
            f"{row['steps']:,}",
            percent(row["test_accuracy"], 2),
            f"{percent(row['test_accuracy_min'], 2)} to {percent(row['test_accuracy_max'], 2)}",
            duration(row["fit_seconds"]),
        ]
        for row in results["plain"]
    ]
    heads = ["λ of each pair", "steps a pair", "test accuracy", "over seeds", "fit"]
    return f"{text}\n\nThe plain algorithm:\n\n{markdown(heads, plain)}"


def usual_gaps(documents: Documents) -> str:
    """Return what gaps are usual where accuracy has settled."""
    rows = [
        row
        for row in documents.results("fashion_mnist")["table"]
        if row["median_relative_gap"] is not None
    ]
    told = [
        f"{percent(row['median_relative_gap'], 0)} with a test accuracy of "
        f"{percent(row['test_accuracy'])} ({row['model']})"
        for row in rows
    ]
    return (
        f"Certified relative gaps on Fashion-MNIST, in the median over pairs: {'; '.join(told)}. "
        f"{_gap_over_suboptimality(documents)}"
    )


def _gap_over_suboptimality(documents: Documents) -> str:
    """Say how many times the suboptimality the gap is, early and at the end."""
    results = documents.results("convergence")
    curve, optimum = results["curves"]["default"], results["optimum"]["dual_bound"]
    ratios = medians(curve["gap"]) / (medians(curve["objective_average"]) - optimum)
    epochs = np.array(curve["epoch"])
    early = int(np.abs(epochs - 10).argmin())
    return (
        f"On two moons the gap is {rounded(ratios[early])} times the suboptimality after "
        f"{epochs[early]:.0f} epochs and {rounded(ratios[-1])} times after {epochs[-1]:,.0f}."
    )


def startup_words(documents: Documents) -> str:
    """Return one sentence on start-up for the limitations."""
    rows = {row["job"]: row for row in documents.results("startup")["table"]}
    warm, cold = (
        next(row for job, row in rows.items() if job.endswith(end)) for end in ("warm", "cold")
    )
    return (
        f"- The first fit of a process takes {duration(warm['median_seconds'])}, imports included. "
        f"After an installation it takes {duration(cold['median_seconds'])} "
        f"({duration(cold['min_seconds'])} to {duration(cold['max_seconds'])}). The first "
        "`polish=True`, other loss or search of an installation compiles more, for up to a minute."
    )


def readers(_: Documents) -> str:
    """Return how long a file in LIBSVM's format takes to read, and scikit-learn's loader."""
    found = read(ROOT / "benchmarks" / "results" / "readers.json")
    seconds = {name: duration(float(np.median(runs))) for name, runs in found["seconds"].items()}
    return (
        f"A synthetic file of {found['megabytes']:.0f} MB in LIBSVM's format is read in "
        f"{seconds['load_svmlight, 2 threads']} on two threads and "
        f"{seconds['load_svmlight, 1 thread']} on one; scikit-learn's loader takes "
        f"{seconds['scikit-learn']} (`python -m benchmarks.readers`; medians; {found['machine']})."
    )


BLOCKS: dict[str, Block] = {
    "readers": readers,
    "benchmark": kernel_readme,
    "findings": findings,
    "claims": table,
    "provenance": provenance,
    "startup": startup,
    "startup-words": startup_words,
    "fashion-mnist": fashion_mnist,
    "usual-gaps": usual_gaps,
    "kernel": kernel_details("benchmark_kernel"),
    "kernel-avx2": kernel_details("benchmark_kernel_avx2"),
    "grid": lambda documents: tables(documents.results("grid_search")),
    "linear": claims_of("benchmark_linear", "text_classification", "sample_size"),
    "large": claims_of("out_of_core", "dask_workers"),
    "regression": claims_of("regression"),
    **{f"finding-{name}": claims_of(name) for name in FINDINGS},
    "kernel-table": published_then,
    "slips": slips,
    "sampling-rates": sampling_rates,
    "lambda-rates": lambda_rates,
    "lambda-steps": lambda_steps,
}
