"""Run the README's quickstart with the installed wheel, far from any checkout; compile nothing."""

import re
from importlib.metadata import metadata, version
from importlib.resources import files
from pathlib import Path

from numba.core import event
from numba.core.codegen import get_host_cpu_features

import kpegasos
from kpegasos.utils.compiled import codegen, level_of


class Listener(event.Listener):
    """Notes what is compiled."""

    def on_start(self, event: event.Event) -> None:  # noqa: D102
        compiled.append(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event: event.Event) -> None:  # noqa: D102
        pass


compiled: list[str] = []
event.register("numba:compile", Listener())

package = Path(kpegasos.__file__).parent
assert "site-packages" in package.parts, f"imported from a checkout: {package}"
assert files("kpegasos").joinpath("py.typed").is_file()
assert kpegasos.__version__ == version("kpegasos"), kpegasos.__version__

readme = metadata("kpegasos").json["description"]
names: dict = {}
exec(re.search(r"## Quickstart\s+```python\n(.*?)```", readme, re.DOTALL)[1], names)
X, y = names["X"], names["y"]
model = kpegasos.PegasosSVC(gamma=2.0, C=10.0, polish=True, tol=1e-2, random_state=0).fit(X, y)
assert model.relative_gap_ <= 1e-2
assert (model.predict(X) == y).mean() > 0.9
kpegasos.LinearPegasosSVC(polish=True).fit(X, y).predict(X)

level = codegen().level
assert level == level_of(get_host_cpu_features())
assert not (level and compiled), compiled
print(f"kpegasos {kpegasos.__version__} from {package}, compiled for {level or 'this processor'}")
