"""The generated blocks of README and documentation, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments._claims import duration, percent, rounded, span
from experiments._grid_markdown import tables
from experiments._kernel_levels import PEERS, SERIES, curves, modern, representative
from experiments._kernel_markdown import (
    AHEAD,
    ablation_table,
    dtype_table,
    fit_table,
    markdown,
    run_table,
)
from experiments._text import Block, Documents
from experiments._text_claims import claims_of, findings, machine_line, provenance, table

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


def _vectors(results: dict[str, Any]) -> str:
    return "/".join((results.get("vectors") or ["not noted"])[-1:])


def kernel_readme(documents: Documents) -> str:
    """Return the table of the larger problems at one level, and what it leaves out in words."""
    parts = []
    for name in KERNEL:
        if name in documents:
            results = _kernel(documents, name, small=False)
            meta = documents.meta(name)
            older = " (by other code than the newest results)" if documents.older(name) else ""
            parts.append(
                f"{meta['machine']['processor']}, {_vectors(results)}, {meta['machine']['cores']} "
                f"cores{older}:\n\n{fit_table(results, (LEVEL,), show_level=False)}"
            )
    if KERNEL[0] in documents:
        parts.append(_kernel_words(_kernel(documents, KERNEL[0])))
    return "\n\n".join(parts)


def _kernel_words(results: dict[str, Any]) -> str:
    """Say how often ours is ahead at the level, and what memory it takes."""
    small = {row["problem"] for row in results["table"] if row.get("group") == "small"}
    words = []
    for peer in PEERS:
        ratios = [
            (row["problem"] in small, row["ours_times_faster"])
            for row in results["levels"]
            if row["level"] == LEVEL and row["series"] == peer and "ours_times_faster" in row
        ]
        for is_small, where in ((False, "the larger"), (True, "the small")):
            own = [ratio for which, ratio in ratios if which is is_small]
            if own:
                ahead = sum(ratio >= AHEAD for ratio in own)
                behind = sum(ratio <= 1 / AHEAD for ratio in own)
                words.append(
                    f"{SERIES[peer]} on {where} problems: ahead {ahead}, behind {behind} of "
                    f"{len(own)}, {span(own)} times"
                )
    memory = []
    for all_series in curves(results["table"]).values():
        if "polished" in all_series and "intelex" in all_series:
            ours, theirs = (
                representative(all_series[n], LEVEL).get("extra_mb")
                for n in ("polished", "intelex")
            )
            if ours and theirs and theirs >= 1:
                memory.append(ours / theirs)
    taken = f" Memory beyond the data: {span(memory)} times that of intelex." if memory else ""
    return f"`PegasosSVC(polish=True)` beside {'; '.join(words)}.{taken}"


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


def _rows(head: Sequence[str], rows: list[list[str]]) -> str:
    return markdown(head, rows)


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
    return _rows(["fresh process", "median", "least to most", "runs"], rows)


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
    text = _rows(head, rows)
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
    return f"{text}\n\nThe plain algorithm:\n\n{_rows(heads, plain)}"


def usual_gaps(documents: Documents) -> str:
    """Return what gaps are usual where accuracy has settled."""
    rows = [
        row
        for row in documents.results("fashion_mnist")["table"]
        if row["median_relative_gap"] is not None
    ]
    told = [
        f"{row['model']}: {percent(row['median_relative_gap'], 0)}, with a test accuracy of "
        f"{percent(row['test_accuracy'])}"
        for row in rows
    ]
    return (
        "Certified relative gaps on Fashion-MNIST, medians of the pairs: " + "; ".join(told) + "."
    )


def startup_words(documents: Documents) -> str:
    """Return one sentence on start-up for the limitations."""
    rows = {row["job"]: row for row in documents.results("startup")["table"]}
    warm, cold = (
        next(row for job, row in rows.items() if job.endswith(end)) for end in ("warm", "cold")
    )
    return (
        f"- Start-up: the first fit of a process takes {duration(warm['median_seconds'])}, after "
        f"an installation {duration(cold['median_seconds'])} ({duration(cold['min_seconds'])} to "
        f"{duration(cold['max_seconds'])}), imports included."
    )


def slips(documents: Documents) -> str:
    """Return the slips in the sources, and what each of them does."""
    rows = [
        [row["printed"], row["source"], row["meant"], row["consequence"]]
        for row in documents.results("slips")["table"]
    ]
    return _rows(["printed", "where", "meant", "what it does"], rows)


def sampling_rates(documents: Documents) -> str:
    """Return the exponents of each sampling, from the eighth epoch on, for the last iterate."""
    from experiments._claims import exponent, medians, slope

    results, rows = documents.results("sampling"), []
    for data, by_moment in results["curves"].items():
        curve = by_moment["last, end"]
        names = [name for name in curve if name != "epoch"]
        rates = [slope(curve["epoch"][3:], medians(curve[name])[3:]) for name in names]
        rows.append([results["titles"][data], *map(exponent, rates)])
    return _rows(["exponent of the epochs, last iterate", *names], rows)


def lambda_rates(documents: Documents) -> str:
    """Return the exponents of λ in the suboptimality for each decade of λ, after one epoch."""
    from experiments._claims import exponent, slope

    results = documents.results("lambda_dependence")
    rows, first = [], min(row["epochs"] for row in results["table"])
    methods = list(dict.fromkeys(row["method"] for row in results["table"]))
    decades = range(-6, 0)
    for data, title in results["titles"].items():
        for method in methods:
            own = [
                row
                for row in results["table"]
                if (row["data"], row["method"], row["epochs"]) == (data, method, first)
            ]
            cells = []
            for power in decades:
                part = [r for r in own if 0.99 * 10**power <= r["lam"] <= 10.1 * 10**power]
                lams, values = ([row[key] for row in part] for key in ("lam", "suboptimality"))
                known = len(part) >= 2 and all(row["resolved"] for row in part)
                cells.append(exponent(slope(lams, values)) if known else "–")
            rows.append([title, method, *cells])
    heads = [f"{10.0**power:g} to {10.0 ** (power + 1):g}" for power in decades]
    return _rows(["exponent of λ", "method", *heads], rows)


def published_then(documents: Documents) -> str:
    """Return the kernel table: seconds to ε here and in 2011."""
    results, rows = documents.results("kernel_table"), []
    keys = ("pegasos_last", "pegasos_average", "sdca", "polished", "scikit-learn")
    for row in results["table"]:
        now = [duration(row.get(f"{key}_seconds")) for key in (*keys, "scikit-learn-intelex")]
        then = [
            duration(row[f"published_{name}_seconds"])
            for name in ("Pegasos", "SDCA", "SVM-Light", "LASVM")
        ]
        rows.append([row["data"], f"{row['epsilon']:g}", *now, *then])
    heads = ["Pegasos, last", "averaged", "SDCA", "polished", "LIBSVM", "intelex"]
    old = ["Pegasos, 2011", "SDCA, 2011", "SVM-Light, 2011", "LASVM, 2011"]
    return _rows(["data", "ε", *heads, *old], rows)


def growth(documents: Documents) -> str:
    """Return the exponents of steps and seconds in m and λ on synthetic documents."""
    found = documents.results("sample_size")["exponents"]
    return "\n".join(f"- {name}: {rounded(value)}" for name, value in found.items())


BLOCKS: dict[str, Block] = {
    "machine": machine_line,
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
    "kernel-table": published_then,
    "slips": slips,
    "sampling-rates": sampling_rates,
    "lambda-rates": lambda_rates,
}
