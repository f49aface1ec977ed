"""How many threads there are, and how many of them a piece of work is worth."""

from __future__ import annotations

from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from kpegasos.utils import tuning


def available_threads() -> int:
    """Threads that OpenMP would use: environment, threadpoolctl and joblib may all limit them."""
    return int(_openmp_effective_n_threads())


def threads_for(multiplications: float, limit: int | None = None) -> int:
    """Threads that so many multiplications are worth: at least one, at most ``limit``.

    Parameters
    ----------
    multiplications : float
    limit : int, default=None
        None for `available_threads`.
    """
    limit = available_threads() if limit is None else limit
    return max(1, min(limit, int(multiplications / tuning.WORK_OF_A_THREAD)))
