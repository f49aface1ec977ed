"""A model does not depend on where it is fitted: cache, disk, variables, threads, forks.

Each trial runs `_environment_job.py` in a fresh process, with a copy of the package and of its
compiled code, under conditions that are drawn independently of each other. Its models must have the
bits that this process finds, or the process ends with one clear sentence where that was foreseen.
"""

import contextlib
import functools
import hashlib
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import kpegasos
from tests.campaigns import _environment_job as job

CI_TRIALS = 2
#: A fresh process takes some 2 seconds; a cold cache up to a minute.
TIME_LIMIT = 300
PACKAGE = Path(kpegasos.__file__).parent
#: Everything is compiled anew in each process, and says so.
NOT_KEPT = r"RuntimeWarning: kpegasos is compiled in every process anew|^ +\S"


@dataclass
class Case:
    """How the processes of a trial run, and what may come of it."""

    root: Path
    variables: dict[str, str]
    flags: list[str] = field(default_factory=list)
    prefix: list[str] = field(default_factory=list)
    mode: str = "alone"
    processes: int = 1
    says: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    @property
    def strict(self):
        """Whether warnings are errors."""
        return "error" in self.flags or self.variables.get("PYTHONWARNINGS") == "error"

    def kept(self):
        """Files with compiled code, always in the same order."""
        return sorted(self.root.rglob("*.nbc"))

    def shell(self, script):
        """Let a shell do something before it becomes the process."""
        self.prefix = [*self.prefix, "sh", "-c", f'{script}; exec "$@"', "sh"]


# --- what is kept of compiled code ----------------------------------------------------------------


def damaged(change):
    """Change the bytes of some files."""

    def condition(case, rng):
        files = case.kept()
        for number in rng.choice(len(files), size=rng.integers(1, 3), replace=False):
            files[number].write_bytes(change(files[number].read_bytes(), rng))

    return condition


def flip(content, rng):
    flipped = bytearray(content)
    flipped[rng.integers(len(flipped))] ^= 1 << rng.integers(8)
    return bytes(flipped)


def cut(content, rng):
    return content[: rng.integers(len(content))]


class _Planted:
    def __reduce__(self):
        return (os._exit, (77,))


def planted(content, rng):
    """A pickle that runs code, where no one has made a digest for it."""
    return content[:32] + pickle.dumps(_Planted())


def missing(case, rng):
    rng.choice(case.kept()).unlink()


def folder_instead(case, rng):
    file = rng.choice(case.kept())
    file.unlink()
    file.mkdir()
    # it can be neither read nor replaced
    case.says += [NOT_KEPT]


def same_digest_other_key(case, rng):
    """A file that is whole, but of other types: only what is inside can tell."""
    first, second = rng.choice(case.kept(), size=2, replace=False)
    body = second.read_bytes()[32:]
    first.write_bytes(hashlib.sha256(body).digest() + body)


def two_at_once(case, rng):
    missing(case, rng)
    case.processes = 2


def no_large_files(case, rng):
    """As on a disk that fills up while compiled code is written."""
    missing(case, rng)
    case.shell("ulimit -f 4")
    case.says += [NOT_KEPT]


CACHE = [
    (6, "compiled code as it was", None),
    (2, "a bit flipped", damaged(flip)),
    (2, "a file cut short", damaged(cut)),
    (1, "a pickle planted", damaged(planted)),
    (1, "a whole file of other types", same_digest_other_key),
    (1, "a file missing", missing),
    (1, "a folder for a file", folder_instead),
    (1, "two processes compile at once", two_at_once),
    (1, "no large files", no_large_files),
]


# --- the interpreter and its surroundings ---------------------------------------------------------

#: None for a variable that is not set.
HARMLESS = {
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


def harmless(case, rng):
    case.names.remove("variables")
    for name in rng.choice(list(HARMLESS), size=rng.integers(1, 6), replace=False):
        value = HARMLESS[name][rng.integers(len(HARMLESS[name]))]
        case.variables.pop(name, None)
        if value is not None:
            case.variables[str(name)] = value
        case.names.append(f"{name} {'unset' if value is None else 'set'}")


VARIABLES = [(4, "variables as usual", None), (8, "variables", harmless)]


def flags(*words):
    def condition(case, rng):
        case.flags += words

    return condition


FLAGS = [
    (8, "no flags", None),
    *((1, words, flags(*words.split())) for words in ["-I", "-O", "-OO", "-B", "-b", "-s -E"]),
    *((1, words, flags(*words.split())) for words in ["-X dev", "-X dev -W error"]),
]


def unwritable_folder(case, rng):
    case.shell("cd /proc")


FOLDERS = [(6, "a folder to work in", None), (1, "working folder unwritable", unwritable_folder)]


def mode(name):
    def condition(case, rng):
        case.mode = name

    return condition


MODES = [
    (5, "alone", None),
    *((1, name, mode(name)) for name in job.MODES if name not in ("alone", "listed")),
]

DIMENSIONS = [CACHE, VARIABLES, FLAGS, FOLDERS, MODES]


# --- trials ---


@functools.cache
def pristine():
    """A folder with a copy of the package, and what is compiled of it for the job's fits."""
    job.models(0)  # compiles them, where a plain process would look
    folder = tempfile.TemporaryDirectory()
    root = Path(folder.name)
    shutil.copytree(PACKAGE, root / "kpegasos", ignore=shutil.ignore_patterns("*.pyc"))
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


def draw_case(rng, root):
    case = Case(root, plain_environment())
    for choices in DIMENSIONS:
        weights = [weight for weight, *_ in choices]
        number = rng.choice(len(choices), p=[weight / sum(weights) for weight in weights])
        _, name, change = choices[number]
        if change is not None:
            case.names.append(name)
            change(case, rng)
    return case


def run(case, seed, results):
    """Run the job under the conditions, in as many processes at a time as they ask for."""
    script = Path(job.__file__)
    processes = []
    with contextlib.ExitStack() as stack:
        for result in results:
            words = [case.root, case.mode, seed, result]
            command = [*case.prefix, sys.executable, *case.flags, script, *words]
            process = subprocess.Popen(
                [str(word) for word in command],
                env=case.variables,
                cwd=case.root,
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            processes.append(stack.enter_context(process))
        return [(*process.communicate(timeout=TIME_LIMIT), process) for process in processes]


def judge(case, ended, result, expected):
    _, said, process = ended
    context = f"{case.names}, {case.mode}, status {process.returncode}\n{said}"
    if case.strict and NOT_KEPT in case.says and not result.exists():
        assert re.search(NOT_KEPT, said.strip().splitlines()[-1]), context
        return "one clear sentence"
    assert process.returncode == 0, context
    assert "Traceback" not in said, context
    lines = [line for line in said.splitlines() if not re.search("|".join(case.says), line)]
    assert not lines if case.says else not said, context
    assert result.exists(), context
    assert set(json.loads(result.read_text("utf-8"))) == {expected}, context
    return "the same model"


def trial(rng):
    if sys.platform != "linux":
        return "left out: the conditions are those of Linux"
    seed = int(rng.integers(1000))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        shutil.copytree(pristine().name, root)
        expected = job.digest(seed)
        case = draw_case(rng, root)
        results = [root.parent / f"result {i}" for i in range(case.processes)]
        everyone = run(case, seed, results)
        for ended, result in zip(everyone, results, strict=True):
            outcome = judge(case, ended, result, expected)
    return {f"{outcome}: {name}": 1 for name in case.names or ["nothing unusual"]}
