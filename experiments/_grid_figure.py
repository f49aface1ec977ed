"""The figure of `grid_search`: seconds of every tool, and TorchKM's protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments._plots import GREY, ORANGE, PURPLE, SILVER, SKY, log_x, look, panels, state, times
from experiments._tables import select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]
OURS = "PegasosSVCCV"
#: Name of each tool, and the method whose look it has, or its colour and marker.
_TOOLS: dict[str, tuple[str, str | tuple[str, str]]] = {
    OURS: ("PegasosSVCCV", "polished"),
    "PegasosSVC": ("GridSearchCV, PegasosSVC", "Pegasos"),
    "intelex": ("GridSearchCV, intelex", "intelex"),
    "SVC": ("GridSearchCV, SVC", "SVC"),
    "single fits": ("dearest single fit", (GREY, "|")),
    "torchkm": ("TorchKM, GPU, published", (PURPLE, "P")),
    "thundersvm": ("ThunderSVM, same GPU, published", (SKY, "D")),
    "scikit_learn": ("scikit-learn, published", (ORANGE, "X")),
}


def _style(tool: str, setting: str) -> dict[str, Any]:
    """Hollow markers are for ways of a tool other than the default one."""
    looks = _TOOLS[tool][1]
    color, marker = (look(looks).color, look(looks).marker) if isinstance(looks, str) else looks
    style: dict[str, Any] = {"color": color, "marker": marker, "markersize": 8}
    hollow = {"markerfacecolor": "white"} if setting else {}
    return {**style, "markeredgewidth": 1.5, "linestyle": "none", **hollow}


def _is_ours(row: Row) -> bool:
    return row["tool"] == OURS and not row["setting"]


def _seconds(ax: Axes, lines: dict[str, list[Row]]) -> None:
    """A line for each name, a dot on it for each row, and how much longer than ours it took."""
    for height, rows in enumerate(lines.values()):
        ours = next((row["seconds"] for row in rows if _is_ours(row)), None)
        measured = [row["seconds"] for row in rows]
        ax.plot([min(measured), max(measured)], [height] * 2, color=SILVER, linewidth=1, zorder=1)
        for position, row in enumerate(sorted(rows, key=lambda row: float(row["seconds"]))):
            style = _style(row["tool"], row.get("setting", ""))
            ax.plot(row["seconds"], height, zorder=3 if row["tool"] == OURS else 2, **style)
            if ours and row["seconds"] != ours:
                ax.annotate(
                    f"{times(row['seconds'] / ours)}×",
                    (row["seconds"], height),
                    xytext=(0, (8, -17)[position % 2]),  # neighbours may be close
                    textcoords="offset points",
                    ha="center",
                    fontsize=9,
                )
    ax.set_yticks(range(len(lines)), list(lines), fontsize=9.5)
    ax.set_ylim(len(lines) - 0.4, -0.6)
    log_x(ax, xlabel="seconds of the search; ×: of ours")
    ax.margins(x=0.1)
    ax.tick_params(axis="y", length=0)


def _by_problem(rows: list[Row]) -> dict[str, list[Row]]:
    lines: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("seconds"):
            lines.setdefault(row["problem"], []).append(row)
    return lines


def _missing(results: Row, problem: str) -> list[str]:
    """Say which tools have no seconds for a problem."""
    gave_up = [
        f"{row['tool']} given up after {row['gave_up_after']:,.0f} s"
        for row in select(results["table"], problem=problem)
        if row.get("gave_up_after")
    ]
    rows = select(results["not_measured"], problem=problem)
    return gave_up + [f"{row['tool']} not measured" for row in rows]


def _compared(results: Row, ax: Axes) -> None:
    simulated = {row["problem"] for row in results["published"]}
    table = [row for row in results["table"] if row["problem"] not in simulated]
    lines = _by_problem(table)
    labelled = {
        "\n".join([problem.replace(" or", "\nor"), *_missing(results, problem)]): rows
        for problem, rows in lines.items()
    }
    _seconds(ax, labelled)
    ax.set_title("search over γ and C")


def _simulated(results: Row, ax: Axes) -> None:
    measured = select(results["table"], tool=OURS)
    problems = {row["problem"] for row in measured}
    published = [row for row in results["published"] if row["problem"] in problems]
    lines = _by_problem(published)  # for their order
    labelled = {}
    for problem, line in lines.items():
        ours = select(measured, problem=problem)
        lacking = max(row.get("missing") or 0 for row in ours)
        words = [problem.removeprefix("TorchKM ").replace(", ", "\n")]
        words += [f"{lacking} fits missing"] * bool(lacking) + _missing(results, problem)
        labelled["\n".join(words)] = [row for row in ours if row.get("seconds")] + line
    _seconds(ax, labelled)
    ax.set_title("TorchKM's protocol: 50 λ, 10 folds")


def _ratios(table: list[Row], tools: tuple[str, ...]) -> list[float]:
    """How many times ours the fastest of some tools takes, on each problem that has both."""
    ratios = []
    for rows in _by_problem(table).values():
        ours = [row["seconds"] for row in rows if _is_ours(row)]
        theirs = [row["seconds"] for row in rows if row["tool"] in tools]
        if ours and theirs:
            ratios.append(min(theirs) / min(ours))
    return ratios


def _finding(table: list[Row]) -> str:
    """What a search costs, in single fits and beside the peers."""
    found = []
    if single := _ratios(table, ("single fits",)):
        costs = sorted(1 / ratio for ratio in single)
        found.append(f"costs {times(costs[0])} to {times(costs[-1])} times its dearest fit")
    if peers := _ratios(table, ("intelex", "SVC")):
        span = f"{times(min(peers))} to {times(max(peers))}"
        found.append(f"GridSearchCV with the faster peer takes {span} times as long")
    return "A search by PegasosSVCCV " + "; ".join(found) if found else "Seconds of a search"


def draw(results: Row) -> Figure:
    """Draw seconds of each tool on each problem, and TorchKM's protocol."""
    from matplotlib.lines import Line2D

    figure, ((compared, simulated),) = panels(1, 2, 5.6)
    _compared(results, compared)
    _simulated(results, simulated)
    rows = [*results["table"], *results["published"]]
    used = {(row["tool"], row.get("setting", "")) for row in rows}
    order = list(_TOOLS)
    handles = [
        Line2D([], [], label=", ".join(filter(None, (_TOOLS[tool][0], setting))), **style)
        for tool, setting in sorted(used, key=lambda kind: (order.index(kind[0]), kind[1]))
        for style in [_style(tool, setting)]
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    simulated_names = {row["problem"] for row in results["published"]}
    state(figure, _finding([r for r in results["table"] if r["problem"] not in simulated_names]))
    return figure
