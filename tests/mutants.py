"""Faults by rule, and whether tests find them: ``python -m tests.mutants --count 105 --seed 0``.

A fault is drawn from the syntax tree: another operator, a bound that is open instead of closed, a
number off by one, a statement that is dropped, two arguments swapped, a term halved. It is made in
a scratch copy, where the quick tests of its room run until one of them fails; first they must pass
without a fault. Loops of the core run without compilation. What survives is read: it shows a
property that no test has, or a line that nothing needs.
"""

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Room(NamedTuple):
    """Where faults are made, and which tests should find them; they do not if they are slow."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]
    pure: bool = False


_CERTIFICATES = "tests/campaigns/test_campaigns.py::test_campaign_finds_no_failure[certificates]"
_SOLVERS = ("tests/solvers", _CERTIFICATES)
#: Beside their own room: small runs and streams, which `fitting` drives.
_DRIVEN = ("tests/fitting/test_small_pairs.py", "tests/estimators/test_partial_fit.py")
_ESTIMATORS = (
    "tests/fitting",
    "tests/estimators",
    _CERTIFICATES,
    "tests/exports/test_sklearn.py",
    "tests/metamorphic/test_relations.py",
    "tests/large",
)
ROOMS = {
    "core": Room(
        ("core",),
        ("tests/core", "tests/solvers", "tests/fitting", "tests/rows/test_features.py"),
        pure=True,
    ),
    "rows": Room(
        ("rows",),
        (
            "tests/rows",
            "tests/core/test_certificate.py",
            "tests/metamorphic/test_relations.py::test_rows_of_a_run_end_with_it",
            "tests/metamorphic/test_relations.py::test_whatever_computes_has_one_thread_of_blas",
            *_SOLVERS,
        ),
    ),
    "solvers": Room(("solvers",), (*_SOLVERS, *_DRIVEN)),
    "fitting": Room(("fitting", "estimators"), _ESTIMATORS),
    "model_selection": Room(("model_selection",), ("tests/model_selection",)),
    "exports": Room(("exports",), ("tests/exports",)),
}


class Fault(NamedTuple):
    """A piece of a file and what takes its place."""

    room: str
    path: str
    line: int
    rule: str
    begin: int
    end: int
    old: str
    new: str


# --- rules ---

_OTHER_OPERATOR = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
_OTHER_BOUND = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}  # fmt: skip
#: Functions that come to the same with their arguments swapped.
_SYMMETRIC = ("max", "min", "np.maximum", "np.minimum")


def _operator(node):
    node.op = _OTHER_OPERATOR[type(node.op)]()


def _bound(node):
    node.ops[0] = _OTHER_BOUND[type(node.ops[0])]()


def _off_by_one(node):
    node.value += 1


def _swapped(node):
    node.args[:2] = node.args[1::-1]


def _halved(node):
    node.right = ast.BinOp(ast.Constant(0.5), ast.Mult(), node.right)


def _is_number(node):
    return isinstance(node, ast.Constant) and type(node.value) is int


#: Whether a rule is for a node, and what it makes of it; a statement is dropped where that is None.
RULES = {
    "operator": (
        lambda n: isinstance(n, ast.BinOp | ast.AugAssign) and type(n.op) in _OTHER_OPERATOR,
        _operator,
    ),
    "bound": (lambda n: isinstance(n, ast.Compare) and type(n.ops[0]) in _OTHER_BOUND, _bound),
    "off by one": (_is_number, _off_by_one),
    "dropped": (
        lambda n: (
            isinstance(n, ast.AugAssign)
            or (isinstance(n, ast.Expr) and isinstance(n.value, ast.Call))
        ),
        None,
    ),
    "swapped": (
        lambda n: (
            isinstance(n, ast.Call)
            and ast.unparse(n.func) not in _SYMMETRIC
            and len(n.args) >= 2
            and not any(isinstance(each, ast.Starred) for each in n.args[:2])
            and ast.dump(n.args[0]) != ast.dump(n.args[1])
        ),
        _swapped,
    ),
    "halved": (
        lambda n: (
            isinstance(n, ast.BinOp)
            and isinstance(n.op, ast.Add | ast.Sub)
            and not _is_number(n.right)
        ),
        _halved,
    ),
}


def _inside(node):
    """What may be wrong in a function: neither types nor messages."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.Raise | ast.JoinedStr):
                yield child
                yield from _inside(child)


def faults_of(source, room="", path=""):
    """All faults that the rules make of a module's functions."""
    starts, tree = [0], ast.parse(source)
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    seen = set()
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
    for node in (inner for function in functions for inner in _inside(function)):
        for rule, (fits, change) in RULES.items():
            if not fits(node):
                continue
            begin = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
            end = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
            if (rule, begin, end) in seen:  # of a function inside another
                continue
            seen.add((rule, begin, end))
            new = "pass"
            if change is not None:
                changed = copy.deepcopy(node)
                change(changed)
                text = ast.unparse(changed)
                new = text if isinstance(node, ast.stmt) else f"({text})"
            old = source.encode()[begin:end].decode()
            yield Fault(room, path, node.lineno, rule, begin, end, old, new)  # type: ignore[attr-defined]


def with_fault(source, fault):
    """The module with a fault."""
    content = source.encode()
    return (content[: fault.begin] + fault.new.encode() + content[fault.end :]).decode()


def drawn(count, seed, rooms):
    """Faults of the rooms in turn; of each, the rules are as likely as each other."""
    rng = random.Random(seed)
    left = {}
    for room in rooms:
        left[room] = {rule: [] for rule in RULES}
        for folder in ROOMS[room].sources:
            for path in sorted((ROOT / "kpegasos" / folder).rglob("*.py")):
                name = path.relative_to(ROOT).as_posix()
                for fault in faults_of(path.read_text(encoding="utf-8"), room, name):
                    left[room][fault.rule].append(fault)
    found = []
    for number in range(count):
        of_rules = left[rooms[number % len(rooms)]]
        rule = rng.choice([rule for rule, faults in of_rules.items() if faults])
        found.append(of_rules[rule].pop(rng.randrange(len(of_rules[rule]))))
    return found


# --- trials ---


def outcome(scratch, room, limit):
    """What the tests of a room say of the copy: the outcome, and the test that failed."""
    options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(scratch)}
    if ROOMS[room].pure:
        options += ["-m", "pure_python"]
        environment["NUMBA_DISABLE_JIT"] = "1"
    command = [sys.executable, "-m", "pytest", *options, *ROOMS[room].tests]
    try:
        ran = subprocess.run(
            command, cwd=scratch, env=environment, capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return "out of time", ""
    said = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if ran.returncode in (3, 4, 5):  # pytest itself, or no test
        raise RuntimeError(f"the tests of {room} did not run: {ran.stdout[-500:]}{ran.stderr}")
    return ("killed", said[0] if said else "") if ran.returncode else ("survived", "")


def tried(fault, scratch, limit):
    """What becomes of a fault; the copy is as it was."""
    path = scratch / fault.path
    source = path.read_text(encoding="utf-8")
    path.write_text(with_fault(source, fault), encoding="utf-8")
    try:
        kind, by = outcome(scratch, fault.room, limit)
    finally:
        path.write_text(source, encoding="utf-8")
    return {**fault._asdict(), "outcome": kind, "by": by}


def _row(found):
    old, new = (" ".join(found[name].split())[:40] for name in ("old", "new"))
    place = f"{found['path']}:{found['line']}"
    return f"{found.get('outcome', ''):11} {place:45} {found['rule']:10} {old} -> {new}"


def main(arguments=None):
    """Draw faults and try them; 1 if one survives."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=105)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--room", choices=ROOMS, help="all in turn if none is named")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each run")
    options = parser.parse_args(arguments)
    faults = drawn(options.count, options.seed, [options.room] if options.room else [*ROOMS])
    results, rooms = [], dict.fromkeys(fault.room for fault in faults)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "tree"
        shutil.copytree(ROOT, scratch, ignore=shutil.ignore_patterns(".git", ".*_cache"))
        for room in rooms:
            kind, by = outcome(scratch, room, options.limit)
            if kind != "survived":
                raise RuntimeError(f"tests of {room} fail without a fault: {by or kind}")
        for fault in faults:
            results.append(tried(fault, scratch, options.limit))
            print(_row(results[-1]), flush=True)
    for room in rooms:
        of_room = [result["outcome"] for result in results if result["room"] == room]
        counts = ", ".join(f"{of_room.count(kind)} {kind}" for kind in sorted({*of_room}))
        print(f"{room}: {counts}")
    return int(any(result["outcome"] == "survived" for result in results))


if __name__ == "__main__":
    sys.exit(main())
