"""Claims of sources: the claim, our numbers in a sentence, a mark.

An experiment that tests claims has a function ``claims(results) -> list[Claim]``, a pure function
of the results as read back from the file. `experiments._text` writes the claims into README and
documentation, so that no number there is typed by hand. How numbers are written is told here once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments._tables import Row, range_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: The claim holds, holds in part, does not hold.
HOLDS, PARTLY, FAILS = "✓", "~", "✗"

#: Sources by the names that texts have for them, and where they are found.
SOURCES: dict[str, str] = {
    "Shalev-Shwartz et al. 2007": "https://doi.org/10.1145/1273496.1273598",
    "Shalev-Shwartz et al. 2011": "https://doi.org/10.1007/s10107-010-0420-4",
    "Shalev-Shwartz, Srebro 2008": "https://doi.org/10.1145/1390156.1390273",
    "Rakhlin et al. 2012": "https://arxiv.org/abs/1109.5647",
    "Lacoste-Julien et al. 2012": "https://arxiv.org/abs/1212.2002",
    # Not published: a term paper, a report, a post.
    "Karthik": "",
    "Zhou": "",
    "a blog post": "",
}
ICML, JOURNAL, RAKHLIN, KARTHIK, ZHOU, BLOG = (
    "Shalev-Shwartz et al. 2007",
    "Shalev-Shwartz et al. 2011",
    "Rakhlin et al. 2012",
    "Karthik",
    "Zhou",
    "a blog post",
)
#: The source of what nobody else has claimed.
OURS = ""


class Claim(NamedTuple):
    """A claim and what came out.

    Attributes
    ----------
    claim : str
        What is claimed, in words.
    source : str
        Who claims it: keys of `SOURCES`, separated by semicolons; `OURS` for a finding of our own.
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


def mark(holds: bool, partly: bool = False) -> str:
    """Return the mark of a claim.

    Parameters
    ----------
    holds : bool
        Whether it holds.
    partly : bool, default False
        Whether it holds in part, if not as a whole.

    Returns
    -------
    str
    """
    return HOLDS if holds else PARTLY if partly else FAILS


def inverse_rates(lams: Any, values: Any) -> list[float]:
    """Return the exponents of 1/λ in values, from each λ to the next one."""
    rates: list[float] = (-np.diff(np.log(values)) / np.diff(np.log(lams))).tolist()
    return rates


def like_inverse(rates: Iterable[float]) -> tuple[str, str]:
    """Return the mark and the criterion of growth like 1/λ, by its exponents of 1/λ."""
    known = list(rates)
    holds = all(abs(rate - 1) <= 0.15 for rate in known)
    return (
        mark(holds, max(known) <= 1.15),
        "✓ if every exponent of 1/λ is within ±0.15 of 1, ~ if none is larger, so that 1/λ is a "
        "bound.",
    )


_SUPERSCRIPTS = str.maketrans("-0123456789.", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹·")


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
    if low == high:
        return low
    unit = low.lstrip("−0123456789.,")
    return f"{low.removesuffix(unit) if high.endswith(unit) else low} to {high}"


def listed(items: Iterable[str]) -> str:
    """Join words: "a, b and c"."""
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


#: Times faster from which ours counts as ahead; less is lost in the noise.
AHEAD = 1.05


def beats(one: Row, other: Row, key: str) -> bool:
    """Say whether a row of seconds is ahead of another beyond the noise.

    Parameters
    ----------
    one, other : dict
        Rows with a median, and with its range if they have one.
    key : str
        The column of the median.

    Returns
    -------
    bool
        Whether the median is less by a twentieth, and the ranges do not overlap.
    """
    apart = range_of(one, key)[1] < range_of(other, key)[0]
    return bool(apart and other[key] >= AHEAD * one[key])


def bold(text: str, *, when: bool) -> str:
    """Write something in bold type, or not."""
    return f"**{text}**" if when else text


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown; nothing without rows."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) if len(lines) > 2 else ""


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """Fit the exponent p of y ~ x^p, over the points where both are known and positive."""
    points = np.array([x, y], dtype=float)
    good = (np.isfinite(points) & (points > 0)).all(axis=0)
    log_x, log_y = np.log(points[:, good])
    return float(np.polyfit(log_x, log_y, 1)[0])


def medians(values: Any) -> np.ndarray:
    """Return the medians over the seeds of curves with a row for each seed."""
    return np.median(np.asarray(values, dtype=float), axis=0)
