"""Tables that documentation has of single experiments, beside their claims."""

from __future__ import annotations

import numpy as np

from experiments._claims import duration, exponent, medians, rounded, slope
from experiments._kernel_markdown import markdown
from experiments._table_solvers import succeeded
from experiments._text import Documents


def slips(documents: Documents) -> str:
    """Return the slips in the sources, and what each of them does."""
    rows = [
        [row["printed"], row["source"], row["meant"], row["consequence"]]
        for row in documents.results("slips")["table"]
    ]
    return markdown(["printed", "where", "meant", "what it does"], rows)


def sampling_rates(documents: Documents) -> str:
    """Return the exponents of each sampling, from the eighth epoch on, for the last iterate."""
    results, rows = documents.results("sampling"), []
    for data, by_moment in results["curves"].items():
        curve = by_moment["last, end"]
        names = [name for name in curve if name != "epoch"]
        rates = [slope(curve["epoch"][3:], medians(curve[name])[3:]) for name in names]
        rows.append([results["titles"][data], *map(exponent, rates)])
    return markdown(["exponent of the epochs, last iterate", *names], rows)


def lambda_rates(documents: Documents) -> str:
    """Return the exponents of λ in the suboptimality for each decade of λ, after one epoch."""
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
    return markdown(["exponent of λ", "method", *heads], rows)


def lambda_steps(documents: Documents) -> str:
    """Return λT for the steps that reach a suboptimality, for each λ, on moons and on documents."""
    rows = []
    if "slips" in documents:
        found = documents.results("slips")["runtimes"]
        largest = found["steps"][max(found["steps"], key=int)]
        steps = [float(np.median(runs)) for runs in largest]
        rows += _needed("moons, RBF", found["lam"], steps)
    if "sample_size" in documents:
        by_lam = documents.results("sample_size")["by_lam"]
        lams, steps = ([row[key] for row in by_lam] for key in ("lam", "steps"))
        rows += _needed("synthetic documents, linear", lams, steps)
    return markdown(["data", "λ", "steps T", "λT"], rows)


def _needed(data: str, lams: list[float], steps: list[float]) -> list[list[str]]:
    return [
        [data, f"{lam:g}", f"{n:,.0f}", rounded(lam * n)]
        for lam, n in zip(lams, steps, strict=True)
    ]


def published_then(documents: Documents) -> str:
    """Return the kernel table: seconds to ε here and in 2011."""
    if documents.claims("kernel_table") is None:
        return "Its results are of an older form, and are to be measured again."
    rows = []
    keys = ("pegasos_last", "pegasos_average", "sdca", "polished", "scikit-learn")
    for row in documents.results("kernel_table")["table"]:
        now = [
            duration(row[f"{key}_seconds"]) if succeeded(row, key) else "–"
            for key in (*keys, "scikit-learn-intelex")
        ]
        then = [
            duration(row[f"published_{name}_seconds"])
            for name in ("Pegasos", "SDCA", "SVM-Light", "LASVM")
        ]
        rows.append([row["data"], f"{row['epsilon']:g}", *now, *then])
    heads = ["Pegasos, last", "averaged", "SDCA", "polished", "LIBSVM", "intelex"]
    old = ["Pegasos, 2011", "SDCA, 2011", "SVM-Light, 2011", "LASVM, 2011"]
    return markdown(["data", "ε", *heads, *old], rows)
