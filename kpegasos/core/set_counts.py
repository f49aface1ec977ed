"""Positions in the arrays of `kpegasos.core.working_sets.WorkingSets`, which checks need too."""

from __future__ import annotations

#: Positions in ``counts``: sets still to do, members of the last one, how many of them have been in
#: the set before, rows wanted, whether the next set has been chosen already, and sets that are
#: done; and how many positions there are.
LEFT, MEMBERS, KEPT, WANTED, CHOSEN, SETS_DONE, N_COUNTS = range(7)
#: Position in ``scalars``: the relative gap at which no set is needed any more; and how many.
ENOUGH, N_SCALARS = range(2)
