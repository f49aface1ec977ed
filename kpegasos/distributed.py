"""Earlier home of `kpegasos.large.dask.fit_dask`, until the next version."""

import warnings

from kpegasos.large.dask import fit_dask

__all__ = ["fit_dask"]

warnings.warn(
    "kpegasos.distributed is kpegasos.large.dask now, and will not exist in the next version",
    DeprecationWarning,
    stacklevel=2,
)
