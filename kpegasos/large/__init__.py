"""Beyond memory and machine: chunks that are read one at a time, Dask collections.

May import: `kpegasos.estimators` and the rooms below it.
"""
