"""Positions in ``counts`` of `kpegasos.core.path.Path`, which checks need too."""

from __future__ import annotations

#: The cell in work, sets before the next pause, sets without a gain, steps before it, and
#: sets before it is hard; and how many positions there are.
CELL, BEFORE_PAUSE, IDLE, STEPS_BEFORE, BEFORE_HARD, N_PATH_COUNTS = range(6)
