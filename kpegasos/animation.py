"""Earlier home of `kpegasos.plotting.animation.TrainingAnimation`, until the next version."""

import warnings

from kpegasos.plotting.animation import TrainingAnimation

__all__ = ["TrainingAnimation"]

warnings.warn(
    "kpegasos.animation is kpegasos.plotting.animation now, and will not exist in the next version",
    DeprecationWarning,
    stacklevel=2,
)
