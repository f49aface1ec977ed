"""Which fits are so small that the interpreter would take longer than their pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from kpegasos.core.draws import stream_key
from kpegasos.core.small_runs import SmallPairs
from kpegasos.estimators._kernel_rows import GramParts
from kpegasos.losses import Hinge
from kpegasos.rows.base import most_scaling
from kpegasos.solvers.checkpoints import Checkpoints
from kpegasos.solvers.pegasos import total_steps
from kpegasos.utils import tuning

if TYPE_CHECKING:
    from kpegasos.estimators._training import FitPlan

#: Additions to margins of a run, some milliseconds, up to which nobody waits for it.
_MOST_ADDITIONS = 1 << 23
#: Checkpoints up to which records of many runs are held at a time.
_MOST_POINTS = 128
_AVERAGES = {None: -1, "weighted": 0, "uniform": 1}


def small_pairs(plan: FitPlan) -> SmallPairs | None:
    """The pairs of a fit for `kpegasos.solvers.small`; None if it is not for them."""
    settings, parts, pairs = plan.settings, plan.make_rows, plan.pairs
    options = settings.options
    if not (
        isinstance(parts, GramParts)
        and parts.positive_definite
        and parts.gram.flags.carray
        and type(settings.loss) is Hinge
        and options.batch_size == 1
        and options.sampling in ("permutation", "uniform")
        and options.average in _AVERAGES
        and not options.projection
        and options.step is None
    ):
        return None
    sizes, kind = np.unique(pairs.sizes, return_inverse=True)
    steps = [total_steps(settings.n_steps, settings.epochs_of(n), n, 1) for n in sizes.tolist()]
    offset = parts.intercept_scaling**2
    if (
        sizes[-1] > tuning.SMALL_PAIR
        or (sizes * steps).max() > _MOST_ADDITIONS
        or offset**0.5 > most_scaling(pairs.lam.min())
    ):
        return None
    points = [
        list(Checkpoints(_own_points(plan), 0, last, n, 1))
        for n, last in zip(sizes.tolist(), steps, strict=True)
    ]
    longest = max(map(len, points))
    if longest > _MOST_POINTS:
        return None
    own = parts.pairs or pairs
    return SmallPairs(
        gram=parts.gram,
        offset=offset,
        rounding=np.array(parts.rounding, dtype=np.float64),
        evaluations=parts.evaluations,
        members=own.members,
        label=pairs.y,
        weight=pairs.weight,
        ends=pairs.ends,
        lam=pairs.lam,
        key=np.array([stream_key(plan.seed, (k,)) for k in range(len(pairs))], dtype=np.uint64),
        kind=kind,
        points=np.array([each + each[-1:] * (longest - len(each)) for each in points]),
        uniform=options.sampling == "uniform",
        average=_AVERAGES[options.average],
        tol=math.nan if settings.tol is None else settings.tol,
        loss=settings.loss,
    )


def _own_points(plan: FitPlan) -> Any:
    """Checkpoints; with a gap to be reached each epoch, unless they are given."""
    chosen = plan.checkpoints
    return "epoch" if chosen is None and plan.settings.tol is not None else chosen
