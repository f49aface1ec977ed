"""A model does not depend on where it is fitted: cache, variables, threads, forks.

Each trial runs `_environment_job.py` in a fresh process, with a copy of the package and of its
compiled code, under conditions that are drawn independently of each other. Its models must have the
bits that this process finds. Disks that are full, or not to be written to, are those of
`tests/core/test_compiled.py`.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import kpegasos
from tests.campaigns import _environment_job as job
from tests.campaigns.harness import pick

CI_TRIALS = 2
#: A fresh process takes some 2 seconds; a cold cache up to a minute.
TIME_LIMIT = 300


@dataclass
class Case:
    """How the processes of a trial run, and what may come of it."""

    root: Path
    variables: dict[str, str | None]
    flags: list[str] = field(default_factory=list)
    mode: str = "alone"
    processes: int = 1

    def kept(self):
        """Files with compiled code, always in the same order."""
        return sorted(self.root.rglob("*.nbc"))


# --- what is kept of compiled code, of which `tests/core/test_compiled.py` has more ---------------


def flipped(case, rng):
    """A bit of a file."""
    file = pick(rng, case.kept())
    content = bytearray(file.read_bytes())
    content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    file.write_bytes(content)


def two_compile_at_once(case, rng):
    pick(rng, case.kept()).unlink()
    case.processes = 2


CACHE = [flipped, two_compile_at_once]

# --- the interpreter and its surroundings ---------------------------------------------------------

#: None for a variable that is not set.
VARIABLES = {
    "NUMBA_NUM_THREADS": ["1", "2", "64"],
    "OPENBLAS_NUM_THREADS": ["1", "3"],
    "NUMBA_THREADING_LAYER": ["workqueue", "omp", "nonsense"],
    "NUMBA_CACHE_DIR": ["", "/dev/null/x"],
    "LC_ALL": ["C", "xx_YY.nonsense"],
    "LANG": [None],
    "PYTHONIOENCODING": ["ascii"],
    "PYTHONHASHSEED": ["0", "12345"],
    "PYTHONDONTWRITEBYTECODE": ["1"],
    "PYTHONWARNINGS": ["error", "ignore"],
    "HOME": [None, "/dev/null/x", ""],
    "TMPDIR": ["/dev/null/x", "/nowhere"],
    "TERM": [None, "dumb", "nonsense"],
    "COLUMNS": ["0", "1", "nonsense"],
    "FORCE_COLOR": ["1"],
    "KPEGASOS_DATA": ["", "/dev/null/x", "\udcff"],
}
FLAGS = ["-I", "-O", "-OO", "-B", "-b", "-s -E", "-X dev", "-X dev -W error"]


def draw_case(rng, root):
    """Conditions of each kind or none, and their names."""
    case, names = Case(root, plain_environment()), []
    if rng.random() < 0.6:
        change = pick(rng, CACHE)
        change(case, rng)
        names.append(change.__name__.replace("_", " "))
    if rng.random() < 0.7:
        for name in rng.choice(list(VARIABLES), size=rng.integers(1, 6), replace=False).tolist():
            case.variables[name] = pick(rng, VARIABLES[name])
            names.append(f"{name} {'unset' if case.variables[name] is None else 'set'}")
    if rng.random() < 0.5:
        names.append(pick(rng, FLAGS))
        case.flags = names[-1].split()
    if rng.random() < 0.5:
        case.mode = pick(rng, [name for name in job.MODES if name not in ("alone", "listed")])
        names.append(case.mode)
    return case, names


# --- trials ---


@functools.cache
def pristine():
    """A folder with a copy of the package, and what is compiled of it for the job's fits."""
    job.models(0)  # compiles them, where a plain process would look
    folder = tempfile.TemporaryDirectory()
    root, package = Path(folder.name), Path(kpegasos.__file__).parent
    shutil.copytree(package, root / "kpegasos", ignore=shutil.ignore_patterns("*.pyc"))
    for mode in ("alone", "listed"):  # the first compiles what is kept elsewhere
        case = Case(root, plain_environment(), mode=mode)
        run(case, 0, [root / "read"])
    read = json.loads((root / "read").read_text("utf-8"))
    for file in case.kept():
        if str(file) not in read:
            file.unlink()
    assert case.kept(), "a plain process reads what another has compiled"
    return folder


def plain_environment():
    """The variables of this process, without those that change where things are found or kept."""
    dropped = ("NUMBA_", "KPEGASOS_", "PYTHON", "PYTEST", "COV_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    return kept | {"KPEGASOS_QUIET": "1"}  # who waits for the compiler is told, on a busy machine


def run(case, seed, results):
    """Run the job, in a process for each result at a time; what each said, and its status."""
    processes = []
    for result in results:
        words = [job.__file__, case.root, case.mode, seed, result]
        processes.append(
            subprocess.Popen(
                [str(word) for word in [sys.executable, *case.flags, *words]],
                env={name: value for name, value in case.variables.items() if value is not None},
                cwd=case.root,
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
    return [(each.communicate(timeout=TIME_LIMIT)[1], each.returncode) for each in processes]


def trial(rng):
    """Fit under some conditions, here and there."""
    if sys.platform != "linux":
        return "left out: the conditions are those of Linux"
    seed = int(rng.integers(1000))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        shutil.copytree(pristine().name, root)
        expected = job.digest(seed)
        case, names = draw_case(rng, root)
        results = [root.parent / f"result {i}" for i in range(case.processes)]
        try:
            for (said, status), result in zip(run(case, seed, results), results, strict=True):
                assert (said, status) == ("", 0)
                assert set(json.loads(result.read_text("utf-8"))) == {expected}
        except AssertionError as error:
            raise AssertionError(f"{error}\nwith {names}") from error
    return {f"the same model: {name}": 1 for name in names or ["nothing unusual"]}
