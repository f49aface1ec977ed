"""Find the machine constants of `kpegasos.utils.tuning` again.

``python -m benchmarks.tune [NAME ...]`` times a fit that uses a constant, for a few values around
the present one, each in fresh processes. It changes nothing: edit the constant if a value is better
by more than the spread, on more than one machine.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks._measure import ROOT, machine, measure, spread
from kpegasos.utils import tuning

#: For each constant a fit whose seconds depend on it.
FIT_OF = {
    "WORK_OF_A_THREAD": "digits",
    "SLICE_SECONDS": "moons_2000",
    "FIRST_SLICE": "moons_500",
    "FEWEST_DRAWS": "crowded",
    "MOST_DRAWS": "moons_2000",
    "PANEL_DEPTH": "digits",
    "HOT_BYTES": "cached",
    "MAP_BYTES": "not_kept",
    "FEATURE_ROWS": "cached",
    "FRESH_BYTES": "polished",
    "FEW_ROWS_MB": "not_kept",
    "TILE_ROWS": "cached",
    "FEWEST_ROWS": "crowded",
    "SMALL_TILE_ROWS": "cached",
    "SMALL_PAIR": "digits",
    "SMALL_PAIRS_GRAM": "digits",
    "GRAM_SAMPLES": "moons_2000",
    "POLISHED_GRAM_SAMPLES": "polished",
    "FLOAT32_SAMPLES": "moons_2000",
    "PLAIN_FLOAT32_SAMPLES": "moons_2000",
    "TILE_DRAWS": "cached",
    "TILED_ABOVE_ADDITIONS": "cached",
    "GATHER_BYTES": "linear_dense",
    "PREFETCH_DRAWS": "linear_sparse",
    "PREFETCH_ENTRIES": "linear_dense",
    "MOST_COLUMNS": "linear_polished",
    "SMALL_SYSTEM": "linear_polished",
    "MARGINS_TILE": "polished",
    "WORKING_SET": "polished",
    "SMALL_WORKING_SET": "digits",
    "EXAMPLES_OF_A_MEMBER": "polished",
    "WORKING_SETS_OF_A_ROUND": "polished",
    "BLOCKS_FROM": "blocks",
    "EXAMPLES_OF_A_BLOCK": "blocks",
    "BLOCK": "blocks",
    "VALUES_AFTER_BLOCKS": "blocks",
    "ROWS_AT_ONCE": "polished",
    "MEMORY_WORK": "polished",
}
#: Constants that are definitions, not choices.
FIXED = {"MEBIBYTE"}


def constants() -> dict[str, float]:
    """The machine constants and their present values."""
    return {
        name: value
        for name, value in vars(tuning).items()
        if name.isupper() and name not in FIXED and isinstance(value, int | float)
    }


def candidates(value: float) -> list[float]:
    """A few values around one: powers of two of it; of a share, others between 0 and 1.

    Parameters
    ----------
    value : float

    Returns
    -------
    list of float
        Ascending, the value itself among them, ints for an int.
    """
    factors = [value * 2.0**power for power in range(-2, 3)]
    if isinstance(value, int):
        return sorted({max(1, math.floor(factor)) for factor in factors})
    if 0.1 < value <= 1:
        return sorted({0.25, 0.5, 0.9, 1.0, value})
    return factors


def sweep(name: str, repeat: int) -> dict[float, list[float]]:
    """Time the fit of a constant for each candidate in turn.

    Parameters
    ----------
    name : str
        Key of `FIT_OF`.
    repeat : int
        Processes for each value.

    Returns
    -------
    dict
        Value to seconds.
    """
    values = candidates(constants()[name])
    seconds: dict[float, list[float]] = {value: [] for value in values}
    with tempfile.TemporaryDirectory() as folder:
        # Loops freeze constants when they are compiled, so a value has a disk cache of its own.
        for value in values * (repeat + 1):
            cache = Path(folder) / json.dumps(value)
            first = not cache.exists()
            taken = measure(ROOT, FIT_OF[name], cache, f"{name}={json.dumps(value)}")
            if not first:
                seconds[value].append(taken)
    return seconds


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, default=None
        None for those of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tune", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(FIT_OF)}")
    parser.add_argument("--repeat", type=int, default=5, help="processes for each value")
    args = parser.parse_args(argv)
    if unknown := sorted(set(args.names) - set(FIT_OF)):
        parser.error(f"no such constant: {', '.join(unknown)}")
    print(machine())
    for name in args.names or FIT_OF:
        now = constants()[name]
        seconds = sweep(name, args.repeat)
        best = min(seconds, key=lambda value: median(seconds[value]))
        print(f"\n{name} = {now:g}, by the fit {FIT_OF[name]}")
        for value, times in seconds.items():
            notes = ["now"] * (value == now) + ["best"] * (value == best)
            line = f"{value:12g}{median(times):10.3f} s {spread(times):<18} {', '.join(notes)}"
            print(line.rstrip(), flush=True)


if __name__ == "__main__":
    main()
