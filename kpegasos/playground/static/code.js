/**
 * Python code that makes the picture.
 */
import { pythonFloat, pythonList, pythonValue, wrapped } from "./python_text.js";

const SCRIPT_IMPORTS = `\
import matplotlib.pyplot as plt
import numpy as np

from kpegasos import PegasosSVC
from kpegasos.plotting import DecisionRegionDisplay
`;
const SCRIPT_PICTURE = `\
figure, axes = plt.subplots(1, len(models), figsize=(6 * len(models), 5), layout="constrained")
for model, ax in zip(models, np.atleast_1d(axes)):
    model.fit(X, y)
    DecisionRegionDisplay.from_estimator(model, X, y, ax=ax)
    ax.set_title(model.kernel)
    objective, gap = np.sum(model.objective_), np.sum(model.duality_gap_)
    print(f"{model.kernel}: objective {objective:.17g}, certified gap {gap / objective:.3%}")
`;
const SCRIPT_TEST_ERROR = `    print(f"{model.kernel}: test error {1 - model.score(X_test, y_test):.3%}")\n`;
const SCRIPT_WIDTH = 99;

/** Settings that are told where they are not the estimator's defaults. */
const ESTIMATOR_DEFAULTS = {
  loss: "hinge",
  fit_intercept: true,
  batch_size: 1,
  sampling: "permutation",
  projection: false,
  average: "weighted",
};

/** What makes the step rules of messages; the delayed one takes no size. */
const PYTHON_RULES = {
  inverse_sqrt: "InverseSquareRoot",
  constant: "Constant",
  delayed: "DelayedInverse",
};

/** The step rule of a state as Python makes it. */
function ruleOf({ rule, scale }) {
  return `kpegasos.${PYTHON_RULES[rule]}(${rule === "delayed" ? "" : pythonFloat(scale)})`;
}

function assignment(name, values) {
  return `${name} = np.array(\n${wrapped(values, SCRIPT_WIDTH)}\n)\n`;
}

function heldOut(places) {
  return `\
held_out = np.isin(np.arange(len(y)), ${pythonList(places)})
X, y, X_test, y_test = X[~held_out], y[~held_out], X[held_out], y[held_out]
`;
}

/** Arguments of a pane's estimator, as pairs of name and shown value. */
function argumentsOf(state, pane, course) {
  const { kernel, gamma = "scale", degree = 3, coef0 = 0 } = pane;
  const own = [["kernel", pythonValue(kernel)]];
  if (kernel !== "linear") own.push(["gamma", pythonValue(gamma)]);
  if (kernel === "poly") own.push(["degree", String(degree)]);
  if (kernel === "poly" || kernel === "sigmoid") own.push(["coef0", pythonFloat(coef0)]);
  const cost = state.lam === null ? "C" : "lam";
  const changed = Object.keys(ESTIMATOR_DEFAULTS).filter(
    (name) => state[name] !== ESTIMATOR_DEFAULTS[name],
  );
  return [
    ...own,
    [cost, pythonFloat(state[cost])],
    ...changed.map((name) => [
      name,
      name === "batch_size" ? String(state[name]) : pythonValue(state[name]),
    ]),
    ...(state.step === null ? [] : [["step", ruleOf(state.step)]]),
    ["random_state", String(state.seed)],
    ...course,
  ];
}

/**
 * A script that trains the models of the panes, tells their objectives and draws them.
 * @param {Object} state With two classes at least.
 * @param {number} t At least 1.
 * @param {"pegasos"|"polish"} [algorithm]
 * @returns {string}
 */
export function scriptOf(state, t, algorithm = "pegasos") {
  const places = state.test.flatMap((isTest, i) => (isTest ? [i] : []));
  const points = state.points.map((point) => pythonList(point.map(pythonFloat)));
  const isPolished = algorithm === "polish";
  const steps = [["n_steps", String(t)], ["checkpoints", "'log'"]];
  const course = isPolished ? [["polish", "True"]] : steps;
  const when = isPolished ? "by dual ascent" : `after ${t.toLocaleString("en-US")} steps`;
  const models = state.panes.map((pane) => {
    const shown = argumentsOf(state, pane, course).map(([name, value]) => `${name}=${value}`);
    return `    PegasosSVC(${shown.join(", ")}),\n`;
  });
  return [
    `"""The picture of the kpegasos playground ${when}."""\n\n`,
    state.step === null ? SCRIPT_IMPORTS : SCRIPT_IMPORTS.replace("\nfrom", "\nimport kpegasos\nfrom"),
    "\n",
    assignment("X", pythonList(points)),
    assignment("y", pythonList(state.labels)),
    ...(places.length > 0 ? [heldOut(places)] : []),
    "\nmodels = [\n",
    ...models,
    "]\n",
    SCRIPT_PICTURE,
    ...(places.length > 0 ? [SCRIPT_TEST_ERROR] : []),
    "plt.show()\n",
  ].join("");
}
