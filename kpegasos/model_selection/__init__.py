"""The search over C and the kernel's parameters, on shared kernel values.

Lives here: `PegasosSVCCV`, its grids, folds, scores and tables; the solver of cells.
May import: `kpegasos.estimators` and the rooms below it.
"""
