"""Positions in ``counts`` of `kpegasos.core.path.Path`, which checks need too."""

from __future__ import annotations

#: The value in work, sets before the next pause, and sets since its gap fell last; and how many
#: positions there are.
VALUE, BEFORE_PAUSE, IDLE, N_PATH_COUNTS = range(4)
