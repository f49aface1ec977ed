"""Beyond memory and machine: chunks that are read one at a time, Dask collections.

May import: `kpegasos.estimators` and the rooms below it.
"""

from kpegasos.large.chunks import ArrayChunks, fit_chunks

__all__ = ["ArrayChunks", "fit_chunks"]
