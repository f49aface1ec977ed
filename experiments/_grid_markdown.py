"""The README's table of searches, from the results: ``python -m experiments._grid_markdown``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments._kernel_markdown import AHEAD

RESULTS = Path(__file__).with_name("results") / "grid_search.json"
#: Columns of peers: heading, tool.
PEERS = (
    ("scikit-learn-intelex", "intelex"),
    ("`SVC`, two jobs", "SVC"),
    ("`PegasosSVC`, polished", "PegasosSVC"),
)


def _seconds(row: dict[str, Any] | None, ours: dict[str, Any]) -> str:
    """Seconds of a search and their ratio to ours, bold where ours is ahead by a twentieth."""
    if row is None:
        return "not measured"
    if "seconds" not in row:
        return f"given up after {row['gave_up_after']:.0f} s"
    ratio = row["seconds"] / ours["seconds"]
    shown = f"{ratio:.1f}"
    return f"{row['seconds']:.3g} s ({f'**{shown}**' if ratio >= AHEAD else shown} times)"


def tables(results: dict[str, Any]) -> str:
    """Make the tables of searches with peers and of TorchKM's protocol.

    Parameters
    ----------
    results : dict
        Of `experiments.grid_search`.

    Returns
    -------
    str
        In Markdown.
    """
    rows = {(r["problem"], r["tool"]): r for r in results["table"] if not r["setting"]}
    ours = {name: row for (name, tool), row in rows.items() if tool == "PegasosSVCCV"}
    heads = ["problem", "`PegasosSVCCV`", *(head for head, _ in PEERS), "largest difference"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, row in ours.items():
        if name.startswith("TorchKM") or "seconds" not in row:
            continue
        peers = [_seconds(rows.get((name, tool)), row) for _, tool in PEERS]
        difference = row.get("largest_difference")
        last = "" if difference is None else f"{difference:.2g}"
        lines.append(f"| {name} | {row['seconds']:.3g} s | {' | '.join(peers)} | {last} |")
    published = {(p["problem"], p["tool"]): p["seconds"] for p in results["published"]}
    heads = ["TorchKM's protocol, 500 fits", "here", "TorchKM, L40S", "ThunderSVM, L40S"]
    lines += ["", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, row in ours.items():
        if name.startswith("TorchKM") and "seconds" in row:
            left = row["missing"] + row["fits_above_tol"]
            note = f", {left} above 1%" if left else ""
            others = [f"{published[name, tool]:g} s" for tool in ("torchkm", "thundersvm")]
            cells = [name.removeprefix("TorchKM "), f"{row['seconds']:.3g} s{note}", *others]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    print(tables(found.get("results", found)))
