"""The page's files: plain modules that can be put behind each other."""

import re
from collections import Counter

from kpegasos.playground import STATIC
from kpegasos.playground.widget import bundled, files_behind, text_of

MODULES = {path.name: path.read_text(encoding="utf-8") for path in STATIC.glob("*.js")}
TOP_LEVEL = re.compile(
    r"^(?:export )?(?:async )?(?:function\*?|class|const|let|var) +(\w+|[{\[][^=]*)", re.M
)
GLUE = "export default {};\n"


def test_no_two_top_level_names_are_alike():
    names = Counter(found for code in MODULES.values() for found in TOP_LEVEL.findall(code))
    assert [name for name, count in names.items() if count > 1] == []


def test_bundle_is_one_module_in_the_order_of_imports():
    code = bundled("widget.js", GLUE)
    assert code.endswith(GLUE)
    assert code.count("export ") == 1
    assert 'from "./' not in code
    names = files_behind("widget.js")
    assert len(names) == len(set(names)) > 20
    for place, name in enumerate(names):
        imported = re.findall(r'^import .* from "\./([\w.]+)"', MODULES[name], re.M)
        assert set(imported) <= set(names[:place])


def test_every_module_is_part_of_the_page_or_of_the_widget():
    shown = {"from_file.js", *files_behind("whole_page.js"), *files_behind("widget.js")}
    assert shown == set(MODULES)
    assert re.findall(r'src="([\w.]+)"', text_of("index.html")) == ["whole_page.js", "from_file.js"]
