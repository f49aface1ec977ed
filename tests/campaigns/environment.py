"""A model does not depend on where it is fitted: cache, disk, variables, streams, threads, forks.

Each trial runs `_environment_job.py` in a fresh process, with a copy of the package and of its
compiled code, under conditions that are drawn independently of each other. Its models must have the
bits that this process finds, or the process ends with one clear sentence where that was foreseen.
"""

import contextlib
import functools
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import kpegasos
from tests.campaigns import _environment_job as job
from tests.campaigns._conditions import DIMENSIONS, NOT_KEPT, Case

CI_TRIALS = 2
#: A fresh process takes some 2 seconds; a cold cache, or plain Python, up to a minute.
TIME_LIMIT = 300
PACKAGE = Path(kpegasos.__file__).parent


def compiled_functions():
    """Every compiled function of the package that is imported here and has files of its own."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "kpegasos":
            for value in vars(module).values():
                compiled = hasattr(value, "stats") and not isinstance(value, type)
                if compiled and value.__module__ == name and value.stats.cache_path:
                    yield value


@functools.cache
def pristine():
    """A folder with a copy of the package, and what is compiled of it for the job's fits."""
    job.models(0)  # compiles them, where a plain process would look
    folder = tempfile.TemporaryDirectory()
    root = Path(folder.name)
    copy = root / "kpegasos"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for function in compiled_functions():
        source = Path(inspect.getfile(function.py_func))
        kept = copy / source.parent.relative_to(PACKAGE) / "__pycache__"
        kept.mkdir(exist_ok=True)
        for file in Path(function.stats.cache_path).glob(
            f"{source.stem}.{function.__name__}-*.nbc"
        ):
            shutil.copy(file, kept)
    case = Case(root, plain_environment(), mode="listed")
    run(case, 0, [root / "read"])
    read = json.loads((root / "read").read_text("utf-8"))
    for file in case.kept():
        if str(file) not in read:
            file.unlink()
    assert case.kept(), "a plain process reads what this one has compiled"
    return folder


@contextlib.contextmanager
def working_copy():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        shutil.copytree(pristine().name, root)
        yield root


def plain_environment():
    """The variables of this process, without those that change where things are found or kept."""
    dropped = ("NUMBA_", "KPEGASOS_", "PYTHON", "PYTEST", "COV_")
    return {k: v for k, v in os.environ.items() if not k.startswith(dropped)}


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
        streams = {name: stack.enter_context(make()) for name, make in case.streams.items()}
        for result in results:
            words = [case.root, case.mode, seed, "verbose" if case.verbose else "quiet", result]
            command = [*case.prefix, sys.executable, *case.flags, script, *words]
            process = subprocess.Popen(
                [str(word) for word in command],
                env=case.variables,
                cwd=case.root,
                text=True,
                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **streams},
                stderr=subprocess.PIPE,
            )
            processes.append(stack.enter_context(process))
        return [(*process.communicate(timeout=TIME_LIMIT), process) for process in processes]


def judge(case, ended, result, expected):
    _, said, process = ended
    context = f"{case.names}, {case.mode}, status {process.returncode}\n{said}"
    if case.refusal:
        assert not result.exists(), context
        assert re.search(case.refusal, said.strip().splitlines()[-1]), context
        return "one clear sentence"
    if case.strict and NOT_KEPT in case.says and not result.exists():
        assert re.search(NOT_KEPT, said.strip().splitlines()[-1]), context
        return "one clear sentence"
    assert process.returncode in case.statuses, context
    assert "Traceback" not in said, context
    lines = [line for line in said.splitlines() if not re.search("|".join(case.says), line)]
    assert not lines if case.says else not said, context
    assert result.exists(), context
    counts, values = expected
    for found in json.loads(result.read_text("utf-8")):
        assert found[0] == counts, context
        assert found[1] == values or not case.same_bits, context
    return "the same model"


def trial(rng):
    if sys.platform != "linux":
        return "left out: the conditions are those of Linux"
    seed = int(rng.integers(1000))
    with working_copy() as root:
        expected = job.digests(seed)
        case = draw_case(rng, root)
        results = [root.parent / f"result {i}" for i in range(case.processes)]
        everyone = run(case, seed, results)
        for ended, result in zip(everyone, results, strict=True):
            outcome = judge(case, ended, result, expected)
    return {f"{outcome}: {name}": 1 for name in case.names or ["nothing unusual"]}
