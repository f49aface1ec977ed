"""Models as files: skops archives, LIBSVM's text.

Lives here: the model as plain arrays, what is written of it and read back; no estimator.
May import: `kpegasos.kernels` and `kpegasos.utils`.
"""
