"""What a fit takes at its peak beside kernel rows and the data, as in the user guide's table."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from kpegasos.estimators._training import FitPlan, n_threads
from kpegasos.utils import tuning

#: Bytes of an example, and of a pair: counts, margins and labels; and of a coefficient.
_OF_AN_EXAMPLE, _OF_A_PAIR, _OF_A_COEFFICIENT = 150.0, 16_384.0, 24.0
#: Bytes that any fit may take.
_CONSTANT = 16.0 * tuning.MEBIBYTE
#: Bytes, at the most, of margins that are computed again in float64, a pair in work.
_AGAIN = 32.0 * tuning.MEBIBYTE
#: Bytes of features in work.
_IN_WORK = 3.0 * tuning.GATHER_BYTES
#: Primal vectors of a pair, kept and in work; those of a fit that another goes on from.
_VECTORS, _VECTORS_GONE_ON, _VECTORS_IN_WORK = 4.0, 8.0, 12.0
#: Bytes of an ascent on features: of any, of an example, of an entry of its system.
_OF_ASCENT, _OF_ITS_EXAMPLE, _OF_ITS_ENTRY = 48.0 * tuning.MEBIBYTE, 120.0, 40.0


def bytes_of(X: Any) -> float:
    """Bytes of a matrix, dense or sparse."""
    if sparse.issparse(X):
        return float(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return float(X.nbytes)


def _common_bytes(plan: FitPlan) -> float:
    """What the state of all pairs takes."""
    examples = float(sum(pair.members.size for pair in plan.pairs))
    # Each example is in as many pairs as there are other classes.
    return (_OF_AN_EXAMPLE + _OF_A_COEFFICIENT) * examples + _OF_A_PAIR * len(plan.pairs)


def _at_once(plan: FitPlan) -> int:
    """Pairs in work."""
    n_pairs = len(plan.pairs)
    return n_pairs if plan.in_step else n_threads(plan.settings.n_jobs, n_pairs)


def kernel_mb_beside(plan: FitPlan, support: float, packed: float) -> float:
    """MiB beside kernel rows.

    Parameters
    ----------
    plan : FitPlan
    support : float
        Support vectors.
    packed : float
        Size of the packed examples, in sizes of X.
    """
    X = plan.X
    size = bytes_of(X) if plan.known["_kernel"] is not None else 0.0
    vectors = size * min(1.0, support / X.shape[0])
    again = _at_once(plan) * min(_AGAIN, 8.0 * support**2)
    beside = packed * size + max(vectors, min(3.0 * size, _IN_WORK)) + again
    return (_common_bytes(plan) + beside + _CONSTANT) / tuning.MEBIBYTE


def linear_mb(plan: FitPlan) -> float:
    """MiB of a fit on features."""
    X, pairs, at_once = plan.X, plan.pairs, _at_once(plan)
    kept = _VECTORS_GONE_ON if plan.keeps_states else _VECTORS
    vectors = 8.0 * X.shape[1] * (kept * len(pairs) + _VECTORS_IN_WORK * at_once)
    beside = vectors + min(3.0 * bytes_of(X), max(bytes_of(X), _IN_WORK))
    if plan.settings.polish:
        largest = max(pair.members.size for pair in pairs)
        side = min(X.shape[1], largest, tuning.MOST_COLUMNS)
        own = _OF_ASCENT + _OF_ITS_EXAMPLE * largest + _OF_ITS_ENTRY * side**2
        beside += at_once * own
    return (_common_bytes(plan) + beside + _CONSTANT) / tuning.MEBIBYTE
