"""Fitting, between an estimator and the solvers: from checked data to trained pairs of classes.

Lives here: plain settings, validated rows, binary problems, their kernel rows, training, streams,
observers, and how a model is set.
May import: `kpegasos.solvers` and the rooms below it.
"""
