"""Conditions under which the campaign `environment` fits: each changes one thing about a process.

A condition is a function of a case and a generator. `DIMENSIONS` has a list of them for each thing
that can be changed independently of the others, with weights: those that compile much are rare.
"""

import contextlib
import functools
import hashlib
import os
import pickle
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.campaigns import _environment_job as job

#: Everything is compiled anew in each process, and says so.
NOT_KEPT = r"RuntimeWarning: kpegasos is compiled in every process anew|^ +\S"


@dataclass
class Case:
    """How the processes of a trial run, and what may come of it."""

    root: Path
    variables: dict[str, str]
    flags: list[str] = field(default_factory=list)
    prefix: list[str] = field(default_factory=list)
    streams: dict[str, Callable] = field(default_factory=dict)
    mode: str = "alone"
    processes: int = 1
    verbose: bool = False
    refusal: str = ""
    says: list[str] = field(default_factory=list)
    same_bits: bool = True
    statuses: tuple[int, ...] = (0,)
    names: list[str] = field(default_factory=list)

    @property
    def strict(self):
        """Whether warnings are errors."""
        return "error" in self.flags or self.variables.get("PYTHONWARNINGS") == "error"

    def kept(self):
        """Files with compiled code, always in the same order."""
        return sorted(self.root.rglob("*.nbc"))

    def shell(self, script, *words):
        """Let a shell do something before it becomes the process."""
        self.prefix = [*self.prefix, "sh", "-c", f'{script}; exec "$@"', "sh", *words]


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


def garbage(content, rng):
    return rng.bytes(int(rng.integers(1, 1000)))


class _Planted:
    def __reduce__(self):
        return (os._exit, (77,))


def planted(content, rng):
    """A pickle that runs code, where no one has made a digest for it."""
    return content[:32] + pickle.dumps(_Planted())


def swapped(case, rng):
    first, second = rng.choice(case.kept(), size=2, replace=False)
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


def missing(case, rng):
    rng.choice(case.kept()).unlink()


def folder_instead(case, rng):
    file = rng.choice(case.kept())
    file.unlink()
    file.mkdir()
    # it can be neither read nor replaced
    case.says += [NOT_KEPT]


def others_leftovers(case, rng):
    """Of another version, of a process that was killed, and of numba's own index."""
    file = rng.choice(case.kept())
    function = ".".join(file.name.split(".")[:3])
    for name in (f"{function}.0a1b2c3d.{'0' * 16}.nbc", f"{function}.nbi", f"{function}.1.nbc"):
        (file.parent / name).write_bytes(rng.bytes(100))
    file.with_suffix(".0a1b.part").write_bytes(b"")


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


@functools.cache
def may_mount():
    command = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def unwritable(case, folder):
    """Make a folder unwritable, for the superuser as well."""
    if os.getuid():
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
    elif may_mount():
        script = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift'
        case.prefix = ["unshare", "-m", *case.prefix]
        case.shell(script, str(folder))
    else:
        for cache in folder.rglob("__pycache__"):
            shutil.rmtree(cache)
        for room in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
            (room / "__pycache__").write_bytes(b"")


def package_unwritable(case, rng):
    """What is compiled goes to the user's own folder."""
    home = case.root / "home"
    home.mkdir()
    case.variables |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    unwritable(case, case.root / "kpegasos")


def nowhere_writable(case, rng):
    case.variables |= {"HOME": "/dev/null/home", "XDG_CACHE_HOME": "/dev/null/cache"}
    unwritable(case, case.root / "kpegasos")
    case.says += [NOT_KEPT]


def small_disk(case, rng):
    """A disk of 256 KiB, which holds what some functions compile to."""
    if os.getuid() or not may_mount():
        return no_large_files(case, rng)
    disk = case.root / "disk"
    disk.mkdir()
    case.variables["NUMBA_CACHE_DIR"] = str(disk)
    case.prefix = ["unshare", "-m", *case.prefix]
    case.shell('mount -t tmpfs -o size=256k tmpfs "$1" && shift', str(disk))
    case.says += [NOT_KEPT]


CACHE = [
    (6, "compiled code as it was", None),
    (2, "a bit flipped", damaged(flip)),
    (2, "a file cut short", damaged(cut)),
    (1, "an empty file", damaged(lambda content, rng: b"")),
    (1, "a file of garbage", damaged(garbage)),
    (1, "a pickle planted", damaged(planted)),
    (1, "two files swapped", swapped),
    (1, "a whole file of other types", same_digest_other_key),
    (1, "a file missing", missing),
    (1, "a folder for a file", folder_instead),
    (1, "leftovers of others", others_leftovers),
    (1, "two processes compile at once", two_at_once),
    (1, "no large files", no_large_files),
    (0.1, "package unwritable", package_unwritable),
    (0.1, "nowhere writable", nowhere_writable),
    (0.1, "a small disk", small_disk),
]


# --- the interpreter and its surroundings ---------------------------------------------------------

#: None for a variable that is not set.
HARMLESS = {
    "NUMBA_NUM_THREADS": ["1", "2", "64"],
    "OMP_NUM_THREADS": ["1", "2", "64"],
    "OPENBLAS_NUM_THREADS": ["1", "3"],
    "NUMBA_THREADING_LAYER": ["workqueue", "omp", "nonsense"],
    "NUMBA_CACHE_DIR": ["", "/dev/null/x"],
    "LC_ALL": ["C", "xx_YY.nonsense"],
    "LANG": [None],
    "PYTHONUTF8": ["0"],
    "PYTHONIOENCODING": ["ascii"],
    "PYTHONHASHSEED": ["0", "12345"],
    "PYTHONDONTWRITEBYTECODE": ["1"],
    "PYTHONWARNINGS": ["error", "ignore"],
    "HOME": [None, "/dev/null/x", ""],
    "USER": [None],
    "TMPDIR": ["/dev/null/x", "/nowhere"],
    "XDG_CACHE_HOME": ["/dev/null/x"],
    "TERM": [None, "dumb", "nonsense"],
    "COLUMNS": ["0", "1", "nonsense"],
    "NO_COLOR": ["1"],
    "FORCE_COLOR": ["1"],
    "TZ": ["nonsense"],
    "KPEGASOS_DATA": ["", "/dev/null/x", "\udcff"],
    "KPEGASOS_NONSENSE": ["1"],
    "SKLEARN_SEED": ["nonsense"],
}


def harmless(case, rng):
    case.names.remove("variables")
    for name in rng.choice(list(HARMLESS), size=rng.integers(1, 6), replace=False):
        value = HARMLESS[name][rng.integers(len(HARMLESS[name]))]
        case.variables.pop(name, None)
        if value is not None:
            case.variables[str(name)] = value
        case.names.append(f"{name} {'unset' if value is None else 'set'}")


def nonsense_multiplies(case, rng):
    case.variables["KPEGASOS_GEMM"] = str(rng.choice(["", "Compiled", "1", "numpy ", "\n"]))
    case.refusal = "^ValueError: KPEGASOS_GEMM must be 'compiled' or 'numpy', got .* instead$"


def without_compiler(case, rng):
    case.variables["NUMBA_DISABLE_JIT"] = "1"
    case.same_bits = False  # sums are made in another order


VARIABLES = [
    (4, "variables as usual", None),
    (8, "variables", harmless),
    (0.7, "KPEGASOS_GEMM is nonsense", nonsense_multiplies),
    (0.5, "no compiler", without_compiler),
]


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


FOLDERS = [
    (6, "a folder to work in", None),
    (1, "working folder unwritable", unwritable_folder),
]


def closed(number):
    def condition(case, rng):
        case.shell(f"exec {number}{'<' if number == 0 else '>'}&-")
        case.verbose = True

    return condition


@contextlib.contextmanager
def _broken_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    try:
        yield writer
    finally:
        os.close(writer)


def stdout_is(make):
    def condition(case, rng):
        case.streams["stdout"] = make
        case.verbose = True
        # The interpreter cannot flush it either, as it ends.
        case.statuses = (0, 120)
        case.says += ["^Exception ignored .*stdout", "^(OSError|BrokenPipeError): "]

    return condition


def verbose(case, rng):
    case.verbose = True


STREAMS = [
    (6, "streams as usual", None),
    (1, "a progress bar without a terminal", verbose),
    (1, "stdin closed", closed(0)),
    (1, "stdout closed", closed(1)),
    (1, "stdout a broken pipe", stdout_is(_broken_pipe)),
    (1, "stdout a full disk", stdout_is(functools.partial(Path("/dev/full").open, "w"))),
]


def mode(name):
    def condition(case, rng):
        if "stdout" in case.streams and name not in job.ONE_PROCESS:
            case.names.remove(name)  # the standard library flushes it before it starts another
        else:
            case.mode = name

    return condition


MODES = [
    (5, "alone", None),
    *((1, name, mode(name)) for name in job.MODES if name not in ("alone", "listed")),
]

DIMENSIONS = [CACHE, VARIABLES, FLAGS, FOLDERS, STREAMS, MODES]
