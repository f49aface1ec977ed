"""A line of HTML below scikit-learn's diagram of an estimator: what a fit has come to."""

from __future__ import annotations

import html
from typing import Any

import numpy as np


def _note(estimator: Any) -> str:
    """Give gap and support of a fitted estimator in one line; empty before ``fit``."""
    parts = []
    if (gaps := getattr(estimator, "relative_gap_", None)) is not None:
        worst, pairs = np.max(gaps), np.size(gaps)
        of_pairs = f", largest of {pairs} pairs" if pairs > 1 else ""
        bound = f"within {worst:.3%} of the optimum (certified relative gap{of_pairs})"
        parts.append("no certified gap" if np.isnan(worst) else bound)
    if (n_support := getattr(estimator, "n_support_", None)) is not None:
        parts.append(f"{np.sum(n_support):,} support vectors")
    return html.escape(" · ".join(parts))


class HtmlNoteMixin:
    """A line below scikit-learn's diagram of an estimator, for classes before `BaseEstimator`."""

    def _repr_html_inner(self) -> str:
        return self._with_note(super()._repr_html_inner())  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        return {k: self._with_note(v) if k == "text/html" else v for k, v in bundle.items()}

    def _with_note(self, diagram: str) -> str:
        """Return a diagram and a line below it, in the colours of the page, light or dark."""
        style, note = "margin: 0.3em 0 0 0.5em", _note(self)
        return f'{diagram}<div style="{style}">{note}</div>' if note else diagram
