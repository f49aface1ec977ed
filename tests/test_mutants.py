"""Faults that are drawn are faults: other code, that still is code."""

import ast

from tests.mutants import ROOMS, ROOT, RULES, drawn, faults_of, with_fault

SOURCE = '''
def made(a: int, b: "é", first=3):
    """Not this: 1 + 1."""
    total = a * "é".count("é") + b
    if total < 1:
        raise ValueError(f"{a + 1}")
    print(a, max(a, b))
    return pow(total, [a][0])
'''


def test_every_rule_makes_other_code():
    faults = list(faults_of(SOURCE))
    assert {fault.rule for fault in faults} == set(RULES)
    for fault in faults:
        changed = with_fault(SOURCE, fault)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(SOURCE)), fault
    made = {(fault.rule, fault.new) for fault in faults}
    assert ("halved", "(a * 'é'.count('é') + 0.5 * b)") in made
    assert ("swapped", "(pow([a][0], total))") in made
    assert ("swapped", "(max(b, a))") not in made  # which comes to the same
    assert ("dropped", "pass") in made
    assert not any(fault.line == 6 for fault in faults)  # messages are nobody's affair here


def test_faults_of_each_room_are_drawn_the_same_each_time():
    faults = drawn(12 * len(ROOMS), 3, [*ROOMS])
    assert len(set(faults)) == 12 * len(ROOMS)
    for fault in faults:
        source = (ROOT / fault.path).read_text(encoding="utf-8")
        compile(with_fault(source, fault), fault.path, "exec")
    tests = [test.partition("::")[0] for room in ROOMS.values() for test in room.tests]
    assert all((ROOT / test).exists() for test in tests)
    assert drawn(12, 3, ["exports"]) == drawn(12, 3, ["exports"])
