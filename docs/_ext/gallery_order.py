"""Order of the examples in the gallery: that of the numbers in their names, 10 after 9."""

from pathlib import Path


def number_of(path: str | Path) -> int:
    """Return 7 for ``plot_7_add_a_solver.py``."""
    return int(Path(path).stem.split("_")[1])
