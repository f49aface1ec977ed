"""Positions in ``counts`` of `kpegasos.core.path.Path`, which checks need too."""

from __future__ import annotations

#: The cell in work, sets before the next pause, sets since its gap fell last, and steps before it;
#: and how many positions there are.
CELL, BEFORE_PAUSE, IDLE, STEPS_BEFORE, N_PATH_COUNTS = range(5)
