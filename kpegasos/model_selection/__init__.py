"""The search over C and the kernel's parameters, on shared kernel values.

Lives here: `PegasosSVCCV`, its grids, folds, scores, calibration and tables; the solver of cells;
`forecast`, what a fit will take.
May import: `kpegasos.estimators` and the rooms below it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kpegasos.model_selection.forecasts import Forecast, forecast
    from kpegasos.model_selection.search import PegasosSVCCV

__all__ = ["Forecast", "PegasosSVCCV", "forecast"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: a forecast need not wait for what a search needs."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = "search" if name == "PegasosSVCCV" else "forecasts"
    return getattr(import_module(f"{__name__}.{place}"), name)
