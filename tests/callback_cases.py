"""A callback of scikit-learn that notes what it is told, for fits and searches."""


class Recorder:
    """Notes every hook; stops the fit at the end of the task that is the last to be seen.

    Parameters
    ----------
    stop_after : int, default=None
        How many tasks of the name are seen; all of them if None.
    task : str, default="checkpoint"
    """

    def __init__(self, stop_after=None, task="checkpoint"):
        self.stop_after, self.task = stop_after, task
        self.events, self.given, self.models = [], [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.events.append(f"begin {context.task_name}")
        self.given.append((X, y, metadata))

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        self.events.append(f"end {context.task_name}")
        self.given.append((X, y, metadata))
        if context.task_name == self.task:
            self.models.append(fitted_estimator)
            return len(self.models) == self.stop_after
        return None


class Failing(Recorder):
    """Fails at the end of the first task."""

    def on_fit_task_end(self, estimator, context):
        raise RuntimeError("this callback fails")
