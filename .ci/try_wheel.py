"""Fit a model with the installed wheel, far from any checkout."""

from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from sklearn.datasets import make_moons

import kpegasos

package = Path(kpegasos.__file__).parent
assert "site-packages" in package.parts, f"imported from a checkout: {package}"
assert files("kpegasos").joinpath("py.typed").is_file()
assert kpegasos.__version__ == version("kpegasos"), kpegasos.__version__

X, y = make_moons(200, noise=0.2, random_state=0)
model = kpegasos.PegasosSVC(gamma=2.0, C=10.0, polish=True, tol=1e-2, random_state=0).fit(X, y)
assert model.relative_gap_ <= 1e-2
print(f"kpegasos {kpegasos.__version__} from {package}: accuracy {model.score(X, y):.3f}")
