"""A model does not depend on where it is fitted: variables, flags, threads, forks.

Each trial runs `_environment_job.py` in fresh processes, under conditions that are drawn
independently of each other. Their models must have the bits that this process finds. What becomes
of compiled code on disks that are full, damaged, shared or not to be written to is tried by
`tests/core/test_compiled.py`.
"""

import os
import subprocess
import sys
from pathlib import Path

import kpegasos
from tests.campaigns import _environment_job as job
from tests.campaigns.harness import pick, some

CI_TRIALS = 2
#: A fresh process takes some 2 seconds; a cold cache up to a minute.
TIME_LIMIT = 300
ROOT = Path(kpegasos.__file__).parents[1]

#: None for a variable that is not set.
VARIABLES = {
    "NUMBA_NUM_THREADS": ["1", "2", "64"],
    "OPENBLAS_NUM_THREADS": ["1", "3"],
    "NUMBA_THREADING_LAYER": ["workqueue", "omp", "nonsense"],
    "LC_ALL": ["C", "xx_YY.nonsense"],
    "PYTHONIOENCODING": ["ascii"],
    "PYTHONHASHSEED": ["0", "12345"],
    "PYTHONWARNINGS": ["error", "ignore"],
    "TMPDIR": ["/dev/null/x", "/nowhere"],
    "TERM": [None, "dumb", "nonsense"],
    "COLUMNS": ["0", "1", "nonsense"],
    "KPEGASOS_DATA": ["", "/dev/null/x", "\udcff"],
}
FLAGS = ["-I", "-O", "-OO", "-B", "-b", "-s -E", "-X dev", "-X dev -W error"]


def trial(rng):
    """Fit under some conditions, here and there."""
    if sys.platform != "linux":
        return "left out: the conditions are those of Linux"
    job.digest(0)  # compiles, where a fresh process would look
    dropped = ("NUMBA_", "KPEGASOS_", "PYTHON", "PYTEST", "COV_")
    variables = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    variables["KPEGASOS_QUIET"] = "1"  # who waits for the compiler is told, on a busy machine
    chosen = rng.choice(list(VARIABLES), size=rng.integers(0, 5), replace=False).tolist()
    values = {name: pick(rng, VARIABLES[name]) for name in chosen}
    flags, mode = pick(rng, FLAGS) if some(rng, 0.5) else "", pick(rng, job.MODES)
    seed = int(rng.integers(1000))
    ran = subprocess.run(
        [sys.executable, *flags.split(), job.__file__, ROOT, mode, str(seed)],
        env={k: v for k, v in (variables | values).items() if v is not None},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
    )
    conditions = [*values, *([flags] if flags else []), mode]
    assert (ran.stderr, ran.returncode) == ("", 0), f"{ran.stderr}\nwith {values}, {conditions}"
    assert set(ran.stdout.split()) == {job.digest(seed)}, f"{ran.stdout}\nwith {conditions}"
    return {f"the same model: {name}": 1 for name in conditions}
