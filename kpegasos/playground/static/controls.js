// @ts-check
/** The settings of the model, and the other algorithm. */
import { button, el, setAttribute } from "./dom.js";
import { regularisation } from "./edits.js";
import { numberField, selectField, toggleField } from "./fields.js";
import { KERNEL_NAMES, KERNEL_PARAMETERS } from "./names.js";

/** Choices and their names. */
const LOSS_NAMES = {
  hinge: "Hinge",
  squared_hinge: "Squared hinge",
  smoothed_hinge: "Smoothed hinge",
  log_loss: "Logistic",
};
const SAMPLING_NAMES = { permutation: "Permutation", uniform: "Independent" };
const STEP_NAMES = {
  pegasos: "Pegasos: 1 / (λt)",
  inverse_sqrt: "c / √t",
  constant: "Constant c",
  delayed: "2 / (λ(t + 1))",
};
const AVERAGE_NAMES = {
  weighted: "Weighted by t",
  uniform: "Uniform",
  suffix: "Suffix",
  none: "None: last iterate",
};

/** Step size at first where a rule has one. */
const FIRST_SCALE = 0.1;

/** Names of the parameters that have a control here. */
export const SETTING_KEYS = [
  "C",
  "lam",
  "fit_intercept",
  "batch_size",
  "sampling",
  "projection",
  "average",
  "loss",
  "step",
  "scale",
  "seed",
];

/**
 * @param {any} actions of the page
 */
export function createControls(actions) {
  const kernels = [0, 1].map((number) => kernelControls(number, actions));
  const fields = settingFields(actions);
  const algorithms = algorithmControls(actions);
  const group = (title, ...nodes) =>
    el("fieldset", { class: "kp-group" }, el("legend", { class: "kp-legend", text: title }), ...nodes);
  const of = (...keys) => keys.map((key) => fields[key].node);
  const node = el(
    "div",
    { class: "kp-settings" },
    ...kernels.map((kernel) => kernel.node),
    group("Regularisation", ...of("C", "lam", "fit_intercept")),
    group("Loss and steps", ...of("loss", "step", "scale", "batch_size", "sampling", "projection", "average", "seed")),
    algorithms.node,
  );

  function update(ui) {
    const { state, errors } = ui;
    kernels.forEach((kernel) => kernel.update(ui));
    const values = {
      ...state,
      ...linkedValues(state),
      step: state.step?.rule ?? "pegasos",
      average: state.average ?? "none",
      scale: state.step?.scale,
    };
    const hidden = { scale: !state.step || state.step.rule === "delayed" };
    for (const [key, field] of Object.entries(fields)) {
      field.set({ value: values[key], error: errors[key], hidden: hidden[key], placeholder: "per pair" });
    }
    algorithms.update(ui);
  }

  return { node, update };
}

/** C and λ, the one that follows from the other to three digits. */
function linkedValues(state) {
  const rounded = (key, value) => (value === null || state[key] !== null ? value : Number(value.toPrecision(3)));
  const { C, lam } = regularisation(state);
  return { C: rounded("C", C), lam: rounded("lam", lam) };
}

function settingFields(actions) {
  const number = (key, options, write = (value) => value) =>
    numberField({
      name: key,
      ...options,
      onChange: (value, isDrag) => actions.setSetting(key, write(value), isDrag),
      onWrong: (sentence) => actions.fail(options.name ?? key, sentence),
    });
  const select = (key, label, names, read = (value) => value, hint = undefined) =>
    selectField({ label, names, hint, onChange: (value) => actions.setSetting(key, read(value), false) });
  const toggle = (key, label, hint) =>
    toggleField({ label, hint, onChange: (value) => actions.setSetting(key, value, false) });
  const stepOf = (rule) => (rule === "pegasos" ? null : { rule, scale: actions.ui().state.step?.scale ?? FIRST_SCALE });
  return {
    C: number("C", { low: 0.01, high: 10000, log: true, hint: "Inverse regularisation, as in SVC" }),
    lam: number("lam", { low: 1e-6, high: 1, log: true, hint: "Regularisation of the papers: 1 / (C n)" }),
    fit_intercept: toggle("fit_intercept", "Intercept", "A constant feature beside the kernel"),
    loss: select("loss", "Loss", LOSS_NAMES),
    step: select("step", "Step size", STEP_NAMES, stepOf),
    scale: number("step", { name: "scale", low: 0.001, high: 10, log: true }, (scale) => ({
      ...actions.ui().state.step,
      scale,
    })),
    batch_size: number("batch_size", {
      low: 1,
      high: 64,
      log: true,
      whole: true,
      hint: "Examples of a step",
    }),
    sampling: select("sampling", "Draws", SAMPLING_NAMES),
    projection: toggle("projection", "Projection", "Onto a ball that holds the optimum, after each step"),
    average: select(
      "average",
      "Average",
      AVERAGE_NAMES,
      (value) => (value === "none" ? null : value),
      "Which average of the iterates is the model",
    ),
    seed: number("seed", { low: 0, high: 100, whole: true, hint: "Of the order of the draws" }),
  };
}

function kernelControls(number, actions) {
  const set = (key) => (value, isDrag) => actions.setKernel(number, key, value, isDrag);
  const parameter = (key, options) =>
    numberField({
      name: key,
      ...options,
      onChange: set(key),
      onWrong: (sentence) => actions.fail(`panes[${number}].${key}`, sentence),
    });
  const kernel = selectField({ label: "Kernel", names: KERNEL_NAMES, onChange: (value) => set("kernel")(value, false) });
  const fields = {
    gamma: parameter("gamma", {
      low: 0.01,
      high: 100,
      log: true,
      words: ["scale"],
      hint: "Width; “scale” is 1 / (2 · variance)",
    }),
    degree: parameter("degree", { low: 1, high: 10, whole: true }),
    coef0: parameter("coef0", { low: -5, high: 5, hint: "Constant term" }),
  };
  const node = el(
    "fieldset",
    { class: "kp-group" },
    el("legend", { class: "kp-legend", text: number ? "Right pane" : "Left pane" }),
    kernel.node,
    ...Object.values(fields).map((field) => field.node),
  );
  return {
    node,
    update(ui) {
      const pane = ui.state.panes[number];
      setAttribute(node, "hidden", !pane);
      if (!pane) return;
      const errorOf = (key) => ui.errors[`panes[${number}].${key}`];
      kernel.set({ value: pane.kernel, error: errorOf("kernel") });
      for (const [key, field] of Object.entries(fields)) {
        field.set({ value: pane[key], error: errorOf(key), hidden: !KERNEL_PARAMETERS[pane.kernel].includes(key) });
      }
    },
  };
}

function algorithmControls(actions) {
  const polish = button({ label: "Polish the model by dual ascent", text: "Polish", onClick: actions.polish });
  const back = button({
    label: "Show the model of Pegasos again",
    text: "Back to Pegasos",
    class: "kp-primary",
    onClick: actions.showPegasos,
  });
  const node = el(
    "fieldset",
    { class: "kp-group" },
    el("legend", { class: "kp-legend", text: "Another algorithm" }),
    el("div", { class: "kp-row" }, polish, back),
    el("p", {
      class: "kp-caption",
      text: "Dual ascent to a certified gap of 1 %, as with polish=True. It has no time axis.",
    }),
  );
  return {
    node,
    update(ui) {
      setAttribute(polish, "disabled", !ui.trainable);
      setAttribute(back, "hidden", !ui.frame || ui.frame.algorithm === "pegasos");
    },
  };
}
