"""What a gap is once rounding is in it: formulas of the certificate, for Python and compiled code.

``objective`` and ``best_dual`` are values as computed; ``upper_bound`` and ``proven_bound`` are the
same in the worst case of what rounding did.
"""

from __future__ import annotations

import math

from kpegasos.utils.compiled import shared

#: A gap's share of rounding that is accepted where a gap was asked for, and where none was.
_SHARE_WITH_TOL, _SHARE = 0.1, 0.25
#: Relative rounding that nobody would see.
_INVISIBLE = 1e-8
#: Relative rounding that is not worth a kernel value where no gap was asked for.
SMALL = 1e-6


@shared
def relative(gap: float, objective: float) -> float:
    """A gap divided by the objective, which may be zero where a loss may be."""
    if objective > 0.0:
        return gap / objective
    if math.isnan(objective) or math.isnan(gap):
        return math.nan
    return math.inf if gap > 0.0 else 0.0


@shared
def computed_gap(objective: float, best_dual: float) -> float:
    """The gap as the values say."""
    return max(0.0, objective - best_dual)


@shared
def proven_gap(
    objective: float, upper_bound: float, best_dual: float, proven_bound: float, settled: bool
) -> float:
    """The gap with its rounding."""
    # Values that contradict each other are wrong by as much at least.
    gap = abs(upper_bound - proven_bound)
    return gap if settled else max(gap, best_dual - objective)


@shared
def told_gap(gap: float, proven: float, objective: float) -> tuple[float, float]:
    """What a record says: the gap with its rounding where nobody would see that, else apart."""
    rounding = max(0.0, proven - gap)
    return (gap, rounding) if rounding > _INVISIBLE * objective else (proven, 0.0)


@shared
def is_mostly_rounding(gap: float, rounding: float, objective: float, tol: float) -> bool:
    """Whether rounding is too large a part of a gap; ``tol`` is NaN where no gap was asked for."""
    share, seen = (_SHARE, SMALL) if math.isnan(tol) else (_SHARE_WITH_TOL, 0.1 * tol)
    return rounding > max(share * gap, seen * objective)
