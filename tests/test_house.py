"""What the house promises about its own sources: descriptions, who knows whom."""

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import kpegasos
from benchmarks import tune
from benchmarks._fits import FITS

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "kpegasos"
MODULES = sorted(PACKAGE.glob("**/*.py"))
ROOMS = sorted(path for path in PACKAGE.glob("*/__init__.py"))

#: Sources that a solver may not tell apart: every name in `kpegasos.rows` that is a kind of row.
KINDS_OF_ROWS = re.compile(r"\b\w*(?:Rows|KernelSource)\b")


def name_of(path):
    return path.relative_to(ROOT).as_posix()


parsed = cache(ast.parse)


def tree_of(path):
    return parsed(path.read_text(encoding="utf-8"))


def statements(node):
    """All statements below a node, without a look into their expressions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child
            yield from statements(child)


def imports_of(path):
    """Full names of all modules and of what is imported from them."""
    names = set()
    for node in statements(tree_of(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


DEFINITIONS = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def faults(paths, found):
    """What is found in some sources, by their names; nothing where all is as it should be."""
    return {name_of(path): wrong for path in paths if (wrong := found(path))}


def test_rooms_say_what_they_may_import():
    assert faults(ROOMS, lambda path: "May import:" not in ast.get_docstring(tree_of(path))) == {}


def kinds_of_rows_in(path):
    """Kinds of rows that a source imports or asks for by `isinstance`."""
    imported = {
        name
        for name in imports_of(path)
        if name.startswith("kpegasos.rows") and KINDS_OF_ROWS.search(name)
    }
    asked = {
        ast.unparse(node)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "isinstance"
        and KINDS_OF_ROWS.search(ast.unparse(node.args[1]))
    }
    return imported | asked


def test_solvers_know_no_kind_of_row():
    """One interface, `RowSource`: a kind of row that is not here yet works with every solver."""
    assert faults((PACKAGE / "solvers").glob("*.py"), kinds_of_rows_in) == {}


def test_below_the_estimators_scikit_learn_has_no_base_class():
    """`lint-imports` knows whole packages only; here scikit-learn's utilities are welcome."""
    rooms = "core", "kernels", "rows", "solvers"
    below = [path for room in rooms for path in PACKAGE.glob(f"{room}/*.py")]
    assert faults(below, lambda p: {n for n in imports_of(p) if n.startswith("sklearn.base")}) == {}


def taken_from_other_rooms(path):
    """Names and modules with an underscore that a source imports from another room."""
    own = ".".join(path.relative_to(ROOT).parts[:2])
    return {
        name
        for name in imports_of(path)
        if name.startswith("kpegasos.") and not f"{name}.".startswith(f"{own}.")
        if any(part.startswith("_") for part in name.split("."))
    }


def test_no_room_takes_a_private_name_from_another():
    inside = [path for path in MODULES if path.parent != PACKAGE]
    assert faults(inside, taken_from_other_rooms) == {}


#: Private names of others, and the one file that each stands in.
BORROWED = {
    "_engine": "kpegasos/utils/compiled.py",
    "_final_module": "kpegasos/utils/compiled.py",
    "_finalize_dynamic_globals": "kpegasos/utils/compiled.py",
    "_ensure_finalized": "kpegasos/utils/compiled.py",
    "_internal_codegen": "kpegasos/utils/compiled.py",
    "_openmp_effective_n_threads": "kpegasos/utils/threads.py",
}
#: Documented, in spite of the underscore.
PUBLIC = {"_asdict", "_exit", "_fields", "_getframe", "_replace"}


def names_made_in(tree):
    for node in ast.walk(tree):
        if isinstance(node, DEFINITIONS):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def private_names_used_in(tree):
    for node in ast.walk(tree):
        names = [node.attr] if isinstance(node, ast.Attribute) else []
        if isinstance(node, ast.ImportFrom) and not node.module.startswith(("kpegasos", "__")):
            names = [alias.name for alias in node.names]
        yield from (name for name in names if re.match("_[a-z]", name))


def test_private_names_of_others_are_few_and_each_stands_in_one_file():
    """A later version may have others, so the range of versions that is asked for has an end."""
    trees = {name_of(path): tree_of(path) for path in MODULES}
    own = {name for tree in trees.values() for name in names_made_in(tree)} - {*BORROWED}
    found = {
        (name, place)
        for place, tree in trees.items()
        for name in private_names_used_in(tree)
        if name not in own | PUBLIC
    }
    assert found <= set(BORROWED.items())


def imports_at_the_top(path):
    """Packages that are imported with a module, and not where they are used."""
    for node in tree_of(path).body:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.split(".")[0]


def test_extras_are_imported_where_they_are_used():
    """An installation without them has all of the package but the page."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core = {re.match(r"[\w-]+", name)[0] for name in project["dependencies"]}
    there = (core - {"scikit-learn"}) | {"sklearn", "kpegasos", "llvmlite", "PIL"}
    there |= sys.stdlib_module_names
    modules = [path for path in MODULES if path.parent.name != "playground"]
    assert faults(modules, lambda path: set(imports_at_the_top(path)) - there) == {}


def test_oldest_versions_that_are_promised_are_those_that_are_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = sum(project["optional-dependencies"].values(), project["dependencies"])
    oldest = re.compile(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)")
    promised = {found[1]: found[2] for found in map(oldest.match, lines) if found}
    constraints = (ROOT / ".ci" / "constraints-lowest.txt").read_text(encoding="utf-8")
    tested = dict(re.findall(r"^([\w-]+)==([\d.]+)\.\*$", constraints, re.MULTILINE))
    assert tested.items() <= promised.items()
    assert {oldest.match(line)[1] for line in project["dependencies"]} <= set(tested)


def test_every_machine_constant_can_be_found_again():
    assert set(tune.constants()) == set(tune.FIT_OF)
    assert set(tune.FIT_OF.values()) <= set(FITS)


def test_files_that_steps_and_pages_name_are_there():
    """A step of CI that names a file which was merged away fails where nobody looks."""
    texts = [ROOT / ".ci" / "run", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]
    file = re.compile(r"\b(?:kpegasos|experiments|benchmarks|tests)/[a-z_0-9/]+\.py\b")
    named = {
        (name_of(path), name)
        for path in texts
        for name in file.findall(path.read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    assert [(page, file) for page, file in sorted(named) if not (ROOT / file).exists()] == []


def test_version_is_the_newest_of_the_change_log_and_the_one_to_cite():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## \[(.+?)\]", changes, re.MULTILINE)[1] == kpegasos.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == kpegasos.__version__
