"""Fashion-MNIST, 60,000 + 10,000 images: linear and RBF Pegasos and scikit-learn's SVMs.

The question is that of a term paper (S. Karthik, "Pegasos for SVM Training"), which reports 80.29%
for its linear Pegasos, one against one, and 72.9% for "scikit-learn Linear SVM", and leaves the
kernel out: "training it on 40,000 images was too time consuming". It says neither λ nor the number
of steps, so the plain algorithm of its pseudocode (independent draws, last iterate, no bias) is run
for several of both, on its 40,000 images.

Pixels are divided by 255, unless "raw". ``C`` and ``gamma`` were chosen on the last 10,000 training
images. `LinearSVC` took the dual solver by default when the paper was written and hardly converges
on pixels from 0 to 255: its accuracy depends on the seed. It is stopped after 100 of its 1000
iterations here, to save time.
"""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC, LinearSVC

from experiments import _plots as plots
from experiments._data import timed
from experiments._results import (
    OURS,
    Claim,
    Row,
    columns,
    duration,
    grouped,
    markdown,
    percent,
    ranged,
    select,
    span,
)
from experiments._run import Context
from kpegasos import LinearPegasosSVC, PegasosSVC
from kpegasos.datasets import Dataset, load_fashion_mnist

_PEGASOS: dict[str, Any] = {"n_jobs": 2, "random_state": 0, "checkpoints": None}
_HINGE = LinearSVC(C=0.1, loss="hinge", random_state=0)
_RBF: dict[str, Any] = {"C": 10.0, "gamma": 0.03}
#: Name, model, divisor of the training images used, factor of the pixels.
MODELS: tuple[tuple[str, Any, int, float], ...] = (
    ("LinearPegasosSVC, C = 0.1, 100 epochs", LinearPegasosSVC(0.1, epochs=100, **_PEGASOS), 1, 1),
    ("LinearPegasosSVC, defaults, raw pixels", LinearPegasosSVC(**_PEGASOS), 1, 255),
    ("LinearSVC hinge one against one, C = 0.1", OneVsOneClassifier(_HINGE, n_jobs=2), 1, 1),
    ("LinearSVC, defaults", LinearSVC(random_state=0), 1, 1),
    *(
        (f"LinearSVC, 100 dual passes, raw pixels, seed {model.random_state}", model, 1, 255)
        for model in (LinearSVC(dual=True, max_iter=100, random_state=s) for s in range(3))
    ),
    ("PegasosSVC RBF, {n:,} images", PegasosSVC(**_RBF, **_PEGASOS), 6, 1),
    ("SVC RBF, {n:,} images", SVC(**_RBF), 6, 1),
    ("PegasosSVC RBF, {n:,} images", PegasosSVC(**_RBF, **_PEGASOS), 1, 1),
)
#: The plain algorithm: λ and steps of each pair of classes, images, and seeds.
PLAIN_LAMS, PLAIN_STEPS, PLAIN_IMAGES = (1e-2, 1e-3, 1e-4), (1000, 10_000, 100_000), 40_000
PLAIN_SEEDS = 3
#: What the term paper has: Pegasos, and scikit-learn's linear SVM.
REPORTED, REPORTED_PEER = 0.8029, 0.729


def _warm_up() -> None:
    """Compile, outside the clock."""
    X = np.random.RandomState(0).rand(60, 784).astype(np.float32)
    for number in range(3):
        X[number::3, number] += 1.0
    for model in (LinearPegasosSVC(epochs=1), PegasosSVC(epochs=1)):
        model.fit(X, np.arange(60) % 3)


def _measure(name: str, model: Any, data: Dataset, n_train: int, factor: float) -> dict[str, Any]:
    X, X_test = ((factor * part if factor != 1 else part) for part in (data.X_train, data.X_test))
    X, y = X[:n_train], data.y_train[:n_train]
    # In threads, as Pegasos: LIBLINEAR releases the interpreter lock, and nothing is copied.
    with warnings.catch_warnings(record=True) as caught, parallel_config("threading"):
        warnings.simplefilter("always", ConvergenceWarning)
        fit_seconds, _ = timed(model.fit, X, y)
    return {
        "model": name.format(n=n_train),
        "train_images": n_train,
        "test_accuracy": float(np.mean(model.predict(X_test) == data.y_test)),
        "fit_seconds": round(fit_seconds, 2),
        "median_relative_gap": float(np.median(getattr(model, "relative_gap_", np.nan))),
        "convergence_warning": any(issubclass(w.category, ConvergenceWarning) for w in caught),
    }


def _plain(data: Dataset, n_train: int, lam: float, n_steps: int, seeds: int) -> dict[str, Any]:
    """Test accuracies of the plain algorithm over the seeds, and what the first confuses."""
    options: dict[str, Any] = {"sampling": "uniform", "average": None, "fit_intercept": False}
    options |= {"checkpoints": None, "n_jobs": 2}
    accuracies, spent, confused = [], [], []
    for seed in range(seeds):
        model = LinearPegasosSVC(lam=lam, n_steps=n_steps, random_state=seed, **options)
        spent.append(timed(model.fit, data.X_train[:n_train], data.y_train[:n_train])[0])
        predicted = model.predict(data.X_test)
        accuracies.append(float(np.mean(predicted == data.y_test)))
        confused.append(confusion_matrix(data.y_test, predicted).tolist())
    row = {"lam": lam, "steps": n_steps, "train_images": n_train}
    row |= {"fit_seconds": float(np.median(spent)), "confusion": confused[0]}
    return row | ranged("test_accuracy", accuracies)


def compute(context: Context) -> dict[str, Any]:
    """Train and test each model."""
    data = load_fashion_mnist()
    n_all, seeds = (3000, 1) if context.quick else (len(data.y_train), PLAIN_SEEDS)
    _warm_up()
    table = []
    for name, model, divisor, factor in MODELS:
        n = n_all // divisor
        table.append(context.part(name.format(n=n), _measure, name, model, data, n, factor))
    n_plain = min(n_all, PLAIN_IMAGES)
    plain = [
        context.part(f"plain, {lam:g}, {n}", _plain, data, n_plain, lam, n, seeds)
        for lam, n in product(PLAIN_LAMS, PLAIN_STEPS)
    ]
    return {"table": table, "plain": plain, "classes": list(data.target_names)}


def _nearest(results: dict[str, Any]) -> dict[str, Any]:
    """Return the run of the plain algorithm that is nearest to what the term paper reports."""
    return min(results["plain"], key=lambda row: abs(row["test_accuracy"] - REPORTED))


def claims(results: dict[str, Any]) -> list[Claim]:
    """The term paper's two numbers, and what a kernel has; the paper gives no parameters."""
    plain, table = results["plain"], results["table"]
    nearest = _nearest(results)
    stopped = [row["test_accuracy"] for row in table if "dual passes" in row["model"]]
    (converged,) = select(table, model="LinearSVC, defaults")
    kernel = table[-1]
    return [
        Claim(
            f"A term paper's {percent(REPORTED, 2)} for linear Pegasos is within its reach.",
            OURS,
            f"The plain algorithm on {nearest['train_images']:,} images has "
            f"{span(columns(plain, 'test_accuracy')[0], percent)} depending on λ and the number of "
            f"steps, of which the paper says nothing; the nearest is "
            f"{percent(nearest['test_accuracy'], 2)} at λ = {nearest['lam']:g} and "
            f"{nearest['steps']:,} steps a pair. With permutations, average and intercept it has "
            f"{percent(table[0]['test_accuracy'])}, and with an RBF kernel "
            f"{percent(kernel['test_accuracy'])} after {duration(kernel['fit_seconds'])}.",
        ),
        Claim(
            f"Its {percent(REPORTED_PEER)} for scikit-learn's linear SVM is below every run.",
            OURS,
            f"LinearSVC's dual solver, stopped early on raw pixels, has {span(stopped, percent)} "
            f"over {len(stopped)} seeds and a warning; converged it has "
            f"{percent(converged['test_accuracy'])}.",
        ),
    ]


def tables(results: dict[str, Any]) -> str:
    """Return accuracy, seconds and gap of each model on Fashion-MNIST."""
    rows, plain = [], []
    for row in results["table"]:
        name = row["model"] + " (not converged)" * row["convergence_warning"]
        accuracy, gap = percent(row["test_accuracy"], 2), row["median_relative_gap"]
        cells = [f"{row['train_images']:,}", accuracy, duration(row["fit_seconds"])]
        rows.append([name, *cells, "" if gap is None else percent(gap, 0)])
    for row in results["plain"]:
        keys = ("test_accuracy", "test_accuracy_min", "test_accuracy_max")
        accuracy, low, high = (percent(row[key], 2) for key in keys)
        cells = [f"{row['lam']:g}", f"{row['steps']:,}", accuracy, f"{low} to {high}"]
        plain.append([*cells, duration(row["fit_seconds"])])
    head = ["model", "training images", "test accuracy", "fit", "median certified relative gap"]
    heads = ["λ of each pair", "steps a pair", "test accuracy", "over seeds", "fit"]
    return f"{markdown(head, rows)}\n\nThe plain algorithm:\n\n{markdown(heads, plain)}"


def usual_gaps(results: dict[str, Any]) -> str:
    """Return what gaps are usual where accuracy has settled."""
    parts = [
        f"{percent(row['median_relative_gap'], 0)} with a test accuracy of "
        f"{percent(row['test_accuracy'])} ({row['model']})"
        for row in results["table"]
        if row["median_relative_gap"] is not None
    ]
    return (
        f"Certified relative gaps on Fashion-MNIST, in the median over pairs: {'; '.join(parts)}."
    )


def _draw_accuracies(ax: plots.Axes, table: list[Row]) -> None:
    """Draw a line for each model, from its worst seed to its best."""
    rows = [("term paper: Pegasos", [REPORTED]), ("term paper: scikit-learn", [REPORTED_PEER])]
    named = [{**row, "model": row["model"].split(", seed")[0]} for row in table]
    for name, own in grouped(named, "model").items():
        rows.append((name, columns(own, "test_accuracy")[0].tolist()))
    rows.sort(key=lambda row: -max(row[1]))
    for height, (name, accuracies) in enumerate(rows):
        look = plots.METHODS["polished" if "Pegasos" in name else "SVC"]
        color = plots.GREY if name.startswith("term") else look.color
        ends = [100 * min(accuracies), 100 * max(accuracies)]
        ax.plot(ends, [height] * 2, marker=look.marker, color=color, linewidth=2.5)
        plots.beside(ax, f"{ends[1]:.1f}%", (ends[1], height), (8, 0), fontsize=9.5)
    plots.rows_down(ax, [name for name, _ in rows], fontsize=9.5)
    ax.set(xlabel="test accuracy, %", xlim=(70, 94), title="test accuracy")
    ax.grid(alpha=0.25, axis="x")


def _draw_confusion(ax: plots.Axes, row: Row, classes: list[str]) -> None:
    """Draw how many images of each class are taken for each other."""
    display = ConfusionMatrixDisplay(np.array(row["confusion"]), display_labels=classes)
    text = {"fontsize": 8.5}
    display.plot(ax=ax, cmap="Greys", colorbar=False, xticks_rotation="vertical", text_kw=text)
    title = f"plain Pegasos, λ = {row['lam']:g}, {row['steps']:,} steps a pair"
    ax.set(xlabel="predicted class", ylabel="true class", title=title)
    ax.tick_params(labelsize=9.5)


def plot(results: dict[str, Any]) -> plots.Figure:
    """Accuracies of all models above, and below what the term paper's confuses."""
    figure, ((above,), (below,)) = plots.panels(2, 1, 10.5, height_ratios=(2, 3))
    _draw_accuracies(above, results["table"])
    _draw_confusion(below, _nearest(results), results["classes"])
    return plots.state(
        figure,
        "The kernel beats the term paper's linear model",
        "60,000 training and 10,000 test images; one against one. Black: Pegasos; orange: "
        "scikit-learn; grey: as published. A line: from the worst seed to the best. Below: the "
        "plain algorithm with the test accuracy that is nearest to the term paper's; test images "
        "of each true class by the class that is predicted, first seed.",
    )
