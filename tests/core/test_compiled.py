"""Loops are compiled once for all processes, and importing compiles nothing."""

import ast
import errno
import json
import multiprocessing
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import numba
import numpy as np
import pytest
from numba.core import event

import kpegasos
from kpegasos.core import ascents
from kpegasos.utils import compiled as compiler
from kpegasos.utils.compiled import SOURCES, _Files, compiled

#: Every compiled function of the package by its name, wherever it lives; none without a compiler.
COMPILED = """
import json
import sys

def compiled_functions():
    return {
        function.__name__: function
        for name, module in list(sys.modules.items()) if name.startswith("kpegasos")
        for value in vars(module).values()
        for function in (value, getattr(value, "__wrapped__", None))  # with a check before it
        if hasattr(function, "signatures") and not isinstance(function, type)
    }

def say(**found):
    functions = compiled_functions()
    found["misses"] = sum(sum(each.stats.cache_misses.values()) for each in functions.values())
    print(json.dumps(found))
"""


def in_fresh_process(code, cache, **environment):
    result = subprocess.run(
        [sys.executable, "-c", COMPILED + code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout)


with_compiler = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


@pytest.mark.slow
def test_import_compiles_nothing_and_is_lean(tmp_path):
    """Plots and downloads are not needed to fit."""
    code = """
from kpegasos import *
from kpegasos.core import ascents
from kpegasos.losses import Hinge
functions = compiled_functions()
assert {"primal_steps", "dual_steps"} <= set(functions)
assert not {"matplotlib", "skops"} & set(sys.modules)
print(json.dumps(sum(len(function.signatures) for function in functions.values())))
"""
    assert in_fresh_process(code, tmp_path) == 0
    assert not list(tmp_path.rglob("*.nb*"))


# --- the cache is keyed by all sources that compiled code is made of ------------------------------

#: The line that sums the inner product of a sparse row, in whichever file of the room it stands.
INNER_PRODUCT = re.compile(r"(total \+= )(\w+\.data\[p\] \* .+)")

SPARSE_FIT = """
import kpegasos
import numpy as np
from scipy import sparse
from kpegasos import LinearPegasosSVC
X = np.random.default_rng(0).normal(size=(60, 3))
model = LinearPegasosSVC(random_state=0).fit(sparse.csr_matrix(X), (X[:, 0] > 0).astype(int))
say(file=kpegasos.__file__, alpha=model.alpha_.tolist())
"""


@pytest.fixture
def package_copy(tmp_path, monkeypatch):
    """A package whose files can be edited; fresh processes import it and no other."""
    package = tmp_path / "kpegasos"
    shutil.copytree(
        Path(kpegasos.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # the folder of the test run has a package too
    return package


@pytest.mark.slow
def test_an_edit_compiles_anew_what_is_made_of_it_and_nothing_else(package_copy, tmp_path):
    before = in_fresh_process(SPARSE_FIT, tmp_path / "cache")
    assert before["file"] == str(package_copy / "__init__.py")
    assert before["misses"] > 0
    for path in ("solvers/__init__.py", "kernels/base.py", "utils/boundary.py"):
        with (package_copy / path).open("a", encoding="utf-8") as file:
            file.write("# an edit\n")
    same = in_fresh_process(SPARSE_FIT, tmp_path / "cache")
    assert same["misses"] == 0
    assert same["alpha"] == before["alpha"]
    # An overload, whose callers were cached.
    edited = [
        (path, *INNER_PRODUCT.subn(r"\g<1>2.0 * \g<2>", path.read_text("utf-8")))
        for path in package_copy.glob("core/*.py")
    ]
    ((path, source, edits),) = [each for each in edited if each[2]]
    assert edits == 1
    path.write_text(source, "utf-8")
    after = in_fresh_process(SPARSE_FIT, tmp_path / "cache")
    assert after["alpha"] != before["alpha"]
    assert after["alpha"] == in_fresh_process(SPARSE_FIT, tmp_path / "empty")["alpha"]


#: What makes a function compiled, and the methods of losses, which overloads take.
COMPILERS = re.compile(r"^(compiled|shared|overload|(?!check_)\w+\.register)\b", re.M)
METHODS = {"value", "pull", "gain", "piece", "best"}


def names_in(node):
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def names_in_compiled_code(tree):
    """Names in compiled functions, and in what they use of their file: functions, constants."""
    defined, left = {}, []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            defined[node.name] = ast.Module(node.body)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            defined |= dict.fromkeys(names_in(node), node)
    for parent in ast.walk(tree):
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.FunctionDef):
                is_method = isinstance(parent, ast.ClassDef) and node.name in METHODS
                decorators = "\n".join(map(ast.unparse, node.decorator_list))
                if is_method or COMPILERS.search(decorators):
                    left.append(ast.Module(node.body))
    names = set()
    while left:
        names |= (found := names_in(left.pop()))
        left += [defined.pop(name) for name in found & set(defined)]
    return names


@pytest.mark.parametrize("room", SOURCES)
def test_compiled_code_is_made_of_the_sources_of_its_room(room):
    """What is imported from elsewhere is for the interpreter alone."""
    root, used = Path(kpegasos.__file__).parent, set()
    for path in (root / room).glob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        names = names_in_compiled_code(tree)
        used |= {str(path.relative_to(root))} if names else set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("kpegasos"):
                folder = node.module.replace(".", "/").removeprefix("kpegasos/")
                for alias in node.names:
                    if (alias.asname or alias.name) in names:
                        inside = f"{folder}/{alias.name}.py"
                        used.add(inside if (root / inside).exists() else f"{folder}.py")
    assert all({path, path.partition("/")[0]} & set(SOURCES[room]) for path in used)


# --- what is compiled -----------------------------------------------------------------------------


@with_compiler
def test_who_waits_for_the_compiler_is_told_once(monkeypatch, capsys):
    """Not in worker processes, nor where the environment asks for silence, nor of quick ones."""
    for quiet, process, silent, told in (
        ("0", "MainProcess", 0.0, 1),
        ("1", "MainProcess", 0.0, 0),
        ("0", "Worker", 0.0, 0),
        ("0", "MainProcess", 60.0, 0),
    ):
        monkeypatch.setenv("KPEGASOS_QUIET", quiet)
        monkeypatch.setattr(multiprocessing.current_process(), "_config", {})
        monkeypatch.setattr(multiprocessing.current_process(), "_name", process)
        monkeypatch.setattr(compiler, "_SILENT", silent)
        compiler._tell.cache_clear()
        for kind in (np.int8, np.int16):
            compiled()(lambda number: np.zeros(number).sum())(kind(3))
        said = capsys.readouterr().err
        assert said.count("kpegasos: compiling for this processor") == said.count("\n") == told


@with_compiler
def test_ctrl_c_while_numba_compiles_comes_when_it_is_done():
    """Numba would compile nothing any more in this process."""

    class Press(event.Listener):
        def on_start(self, event):
            signal.raise_signal(signal.SIGINT)

        def on_end(self, event):
            pass

    function = compiled()(lambda number: number + 1)
    with event.install_listener("numba:compile", Press()), pytest.raises(KeyboardInterrupt):
        function(1)
    assert len(function.signatures) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


FORKED = """
import os, signal, threading, time
from numba.core import event
import numpy as np
from kpegasos.kernels.base import _all_finite

class Listener(event.Listener):
    def on_start(self, event):
        begun.set()
        time.sleep(0.3)

    def on_end(self, event):
        pass

begun = threading.Event()
with event.install_listener("numba:compile", Listener()):
    thread = threading.Thread(target=_all_finite, args=(np.ones(3),))
    thread.start()
    begun.wait()
    child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(not _all_finite(np.ones(3, np.float32)))
thread.join()
print(json.dumps(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_child_that_is_forked_while_a_thread_compiles_compiles_too(tmp_path):
    assert in_fresh_process(FORKED, tmp_path, PYTHONWARNINGS="ignore") == 0


# --- files are read only if they are whole --------------------------------------------------------


class Explosive:
    def __reduce__(self):
        return (pytest.fail, ("a damaged file was unpickled",))


@pytest.fixture
def files(tmp_path):
    return _Files(tmp_path, "module.function-1.py311", "fedcba9876543210")


def test_files_give_back_what_was_saved(files):
    files.save(("key", 1), "one")
    files.save(("key", 2), "two")
    assert [files.load(("key", number)) for number in (1, 2, 3)] == ["one", "two", None]
    one, other = files.folder.iterdir()  # no temporary file is left
    other.write_bytes(one.read_bytes())  # the code of other types
    assert [files.load(("key", number)) for number in (1, 2)].count(None) == 1


def test_files_do_not_read_what_is_damaged(files):
    files.save("key", list(range(9)))
    (file,) = files.folder.iterdir()
    whole = file.read_bytes()
    for position in range(len(whole)):
        for bit in (1, 128):
            damaged = bytearray(whole)
            damaged[position] ^= bit
            file.write_bytes(damaged)
            assert files.load("key") is None
        file.write_bytes(whole[:position])
        assert files.load("key") is None
    file.write_bytes(whole[:32] + pickle.dumps(Explosive()))
    assert files.load("key") is None
    files.save("key", "again")
    assert files.load("key") == "again"


def test_files_of_other_settings_of_the_compiler_are_not_read(files, monkeypatch):
    files.save("key", "one")
    for name in ("OPT", "SLP_VECTORIZE", "LOOP_VECTORIZE", "BOUNDSCHECK"):
        with monkeypatch.context() as patch:
            patch.setattr(numba.config, name, 7)
            assert files.load("key") is None
            files.save("key", "other")
        assert files.load("key") == "one"


def test_files_of_other_sources_are_removed(files):
    neighbour = files.folder / "module.function-10.py311.00000000.0.nbc"
    neighbour.touch()
    files.save("key", "old")
    files = _Files(files.folder, files.function, "0123456789abcdef")
    assert files.load("key") is None
    files.save("key", "new")
    assert files.load("key") == "new"
    assert len(list(files.folder.iterdir())) == 2
    assert neighbour.exists()


def test_files_that_cannot_be_written_leave_no_part(files, monkeypatch):
    monkeypatch.setattr("os.replace", Mock(side_effect=OSError(errno.ENOSPC, "No space left")))
    with pytest.raises(OSError, match="No space"):
        files.save("key", "data")
    assert not list(files.folder.iterdir())


# --- what is compiled elsewhere, or cannot be kept ------------------------------------------------


@with_compiler
def test_code_of_the_package_and_of_others_call_each_other():
    @numba.njit
    def elsewhere(number):
        return np.ones(number).sum() + 1.0

    ours = compiled()(lambda number: elsewhere(number) + 1.0)
    theirs = numba.njit(lambda number: ours(number) + elsewhere(number))
    assert (theirs(2), ours(2), elsewhere(2)) == (7.0, 4.0, 3.0)
    ((their_code,), (our_code,)) = (each.overloads.values() for each in (theirs, ours))
    libraries = their_code.library, our_code.library
    assert [isinstance(each, compiler._Part) for each in libraries] == [False, True]


UNKEPT = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from kpegasos.kernels.base import _all_finite
    import numpy as np
    finite = bool(_all_finite(np.ones(3)))
misses = sum(_all_finite.stats.cache_misses.values())
said = [str(warning.message) for warning in caught]
print(json.dumps({"finite": finite, "said": said, "misses": misses}))
"""


def assert_one_sentence_says_that_nothing_is_kept(found):
    assert found["finite"]
    (sentence,) = found["said"]
    assert "NUMBA_CACHE_DIR" in sentence


def run_where_nothing_can_be_written(package_copy):
    """Neither under the package, nor in the user's home, nor where the variable points."""
    for room in package_copy.glob("*/"):
        (room / "__pycache__").write_bytes(b"")  # even the superuser cannot write below a file
    home = {"HOME": "/dev/null/home", "XDG_CACHE_HOME": "/dev/null/cache"}
    return in_fresh_process(UNKEPT, "/dev/null/numba", **home)


@pytest.mark.slow
def test_without_a_folder_to_write_to_one_sentence_says_so(package_copy):
    assert_one_sentence_says_that_nothing_is_kept(run_where_nothing_can_be_written(package_copy))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="has no limit of this kind")
def test_full_disk_is_said_once_and_the_code_runs(package_copy, tmp_path):
    code = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n" + UNKEPT
    code = code.replace("finite = bool", "_all_finite(np.ones(3, np.float32)); finite = bool")
    found = in_fresh_process(code, tmp_path / "cache", PYTHONDONTWRITEBYTECODE="1")
    assert_one_sentence_says_that_nothing_is_kept(found)
    assert not list(tmp_path.rglob("*.part"))


@with_compiler
def test_inner_functions_refuse_the_interpreter():
    """They have no way in: to call them would crash the process."""
    with pytest.raises(TypeError, match="compiled callers"):
        ascents._inner_product(np.ones(1), np.ones(1))


def test_no_compiled_function_gives_python_a_named_tuple():
    """Python makes it, and Ctrl-C in the middle leaves numba with none: it crashes."""
    root, rooms = Path(kpegasos.__file__).parent, SOURCES
    sources = [path.read_text("utf-8") for room in rooms for path in (root / room).glob("*.py")]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    named = {node.name for node in classes if "NamedTuple" in map(ast.unparse, node.bases)}
    assert named > {"Iterate", "LoopState"}
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            decorators = [ast.unparse(each) for each in node.decorator_list]
            if any(each.startswith("compiled") and "inner" not in each for each in decorators):
                assert not named & names_in(node.returns), node.name
