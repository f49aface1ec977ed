"""The page's files: plain modules that can be put behind each other."""

import re
from collections import Counter

import pytest

from kpegasos.playground.assets import bundled, files_behind, kind_of, static_files, text_of

MODULES = {name: text_of(name) for name in static_files() if kind_of(name) == "js"}
TOP_LEVEL = re.compile(
    r"^(?:export )?(?:async )?(?:function\*?|class|const|let|var) +(\w+|[{\[][^=]*)", re.M
)
#: Names of the page's modules that no widget takes, each on a page of its own.
STARTS = {"start.js", "standalone.js"}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_module_has_only_imports_and_exports_that_can_be_stripped(name):
    for line in re.findall(r"^import\b.*", MODULES[name], re.M):
        # Python code in a template begins lines so as well.
        if re.search(r"[\"'{]", line):
            assert re.fullmatch(r'import \{ [\w, ]+ \} from "\./[\w.]+";', line)
    for line in re.findall(r"^export\b.*", MODULES[name], re.M):
        assert re.match(r"export (async function|function|class|const|let) ", line)


def test_no_two_top_level_names_are_alike():
    codes = [code for name, code in MODULES.items() if name not in STARTS]
    names = Counter(found for code in codes for found in TOP_LEVEL.findall(code))
    assert [name for name, count in names.items() if count > 1] == []


def test_bundle_is_one_module_in_the_order_of_imports():
    code = bundled(("playground.js", "transport.js"), "export default {};\n")
    assert code.count("export default {") == 1
    assert 'from "./' not in code
    names = files_behind(["playground.js", "transport.js"], MODULES)
    assert len(names) == len(set(names)) > 20
    for place, name in enumerate(names):
        imported = re.findall(r'^import .* from "\./([\w.]+)"', MODULES[name], re.M)
        assert set(imported) <= set(names[:place])
