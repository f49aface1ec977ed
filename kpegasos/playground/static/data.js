// @ts-check
/** The data: classes and tools to draw with, presets, and tables. */
import { button, el, icon, setAttribute, setText } from "./dom.js";
import { numberField, segmentedChoice, selectField } from "./fields.js";
import { classLetter, formatWhole } from "./format.js";
import { markIcon } from "./marks.js";

const PRESET_NAMES = {
  moons: "Moons",
  circles: "Circles",
  xor: "XOR",
  spirals: "Spirals",
  blobs: "Blobs",
  imbalanced: "Imbalanced",
  label_noise: "Label noise",
};

/** Presets that can have more than two classes. */
export const MANY_CLASSES = ["blobs"];

const TOOLS = [
  { value: "add", label: "Add a point", key: "A" },
  { value: "spray", label: "Spray points", key: "S" },
  { value: "move", label: "Move a point", key: "M" },
  { value: "erase", label: "Erase points", key: "X" },
];

/** Names of the parameters that have a control here. */
export const DATA_KEYS = ["name", "n", "noise", "test_share", "classes", "table"];

/**
 * Classes and tools.
 * @param {any} actions of the page
 */
export function createTools(actions) {
  const classes = segmentedChoice({
    label: "Class of new points",
    choices: [0, 1, 2, 3].map((label) => ({
      value: label,
      node: el("span", { class: "kp-class" }, markIcon(label), classLetter(label)),
      label: `Class ${classLetter(label)}`,
      key: String(label + 1),
    })),
    onChange: actions.setLabel,
  });
  const tools = segmentedChoice({
    label: "Tool",
    choices: TOOLS.map((tool) => ({ ...tool, node: icon(/** @type {any} */ (tool.value)) })),
    onChange: actions.setTool,
  });
  const heldOut = button({
    label: "New points are held out for the test error",
    text: "hold out",
    class: "kp-toggle",
    key: "H",
    pressed: false,
    onClick: actions.toggleHeldOut,
  });
  const undo = button({ label: "Undo", icon: "undo", key: "Ctrl+Z", onClick: actions.undo });
  const redo = button({ label: "Redo", icon: "redo", key: "Ctrl+Shift+Z", onClick: actions.redo });
  const clear = button({ label: "Erase all points", icon: "clear", onClick: actions.clear });
  const fit = button({ label: "Fit the view to the points", icon: "fit", key: "F", onClick: actions.fitView });
  const summary = el("p", { class: "kp-caption kp-summary", role: "status" });
  const node = el(
    "div",
    { class: "kp-tools" },
    el("h2", { class: "kp-legend", text: "Draw" }),
    classes.node,
    el("div", { class: "kp-row kp-tool-row" }, tools.node, heldOut),
    el("div", { class: "kp-row kp-tool-row" }, undo, redo, fit, clear),
    summary,
  );
  return {
    node,
    update(ui) {
      classes.set(ui.label);
      tools.set(ui.tool);
      setAttribute(heldOut, "aria-pressed", String(ui.heldOut));
      setAttribute(undo, "disabled", !ui.canUndo);
      setAttribute(redo, "disabled", !ui.canRedo);
      setAttribute(clear, "disabled", ui.state.points.length === 0);
      setText(summary, summaryOf(ui.state, ui.names));
    },
  };
}

function summaryOf(state, names) {
  const counts = [0, 0, 0, 0];
  for (const label of state.labels) counts[label]++;
  const nameOf = (label) => {
    const [letter, name] = [classLetter(label), names?.[label] ?? classLetter(label)];
    return name === letter ? letter : `${letter} (${String(name).slice(0, 20)})`;
  };
  const parts = counts.flatMap((count, label) => (count ? [`${nameOf(label)} ${formatWhole(count)}`] : []));
  const held = state.test.filter(Boolean).length;
  if (held) parts.push(`${formatWhole(held)} held out`);
  const points = state.points.length === 1 ? "point" : "points";
  return `${formatWhole(state.points.length)} ${points}${parts.length ? `: ${parts.join(", ")}` : ""}`;
}

/**
 * Presets and tables.
 * @param {any} actions of the page
 */
export function createSources(actions) {
  const number = (key, options) =>
    numberField({
      ...options,
      name: key,
      onChange: (value) => actions.setPreset(key, value),
      onWrong: (sentence) => actions.fail(key, sentence),
    });
  const name = selectField({ label: "Preset", names: PRESET_NAMES, onChange: (value) => actions.setPreset("name", value) });
  const fields = {
    n: number("n", { low: 20, high: 2000, log: true, whole: true, hint: "Number of points" }),
    noise: number("noise", { low: 0, high: 1 }),
    test_share: number("test_share", {
      low: 0,
      high: 0.9,
      hint: "Share of the points that is held out",
    }),
    classes: number("classes", { low: 2, high: 4, whole: true }),
  };
  const again = button({
    label: "Draw the preset again with another seed",
    text: "Another sample",
    onClick: actions.resample,
  });
  const table = tableControls(actions);
  const node = el(
    "div",
    { class: "kp-sources" },
    el(
      "fieldset",
      { class: "kp-group" },
      el("legend", { class: "kp-legend", text: "Presets" }),
      name.node,
      ...Object.values(fields).map((field) => field.node),
      again,
    ),
    table.node,
  );
  return {
    node,
    update(ui) {
      name.set({ value: ui.preset.name, error: ui.errors.name });
      for (const [key, field] of Object.entries(fields)) {
        const hidden = key === "classes" && !MANY_CLASSES.includes(ui.preset.name);
        field.set({ value: ui.preset[key], error: ui.errors[key], hidden });
      }
      table.update(ui);
    },
  };
}

function tableControls(actions) {
  const text = el("textarea", {
    class: "kp-input kp-table",
    rows: "4",
    spellcheck: "false",
    "aria-label": "Table as CSV: two columns of features and one of labels",
    placeholder: "x,y,label\n0.4,1.2,A\n1.3,0.1,B",
  });
  const file = el("input", {
    class: "kp-file",
    type: "file",
    accept: ".csv,text/csv,text/plain",
    "aria-label": "Choose a CSV file",
    onchange: async () => {
      if (file.files.length) actions.loadTable(await file.files[0].text());
      file.value = "";
    },
  });
  const error = el("p", { class: "kp-field-error", hidden: true });
  const node = el(
    "details",
    { class: "kp-group kp-details" },
    el("summary", { class: "kp-legend", text: "Your own table" }),
    text,
    el(
      "div",
      { class: "kp-row" },
      button({ label: "Take the points of the table", text: "Take", onClick: () => actions.loadTable(text.value) }),
      button({ label: "Scale coordinates to mean 0 and variance 1", text: "Standardise", onClick: actions.standardise }),
    ),
    file,
    error,
  );
  return {
    node,
    update(ui) {
      const wrong = ui.errors.table ?? null;
      if (wrong !== null) node.open = true;
      setAttribute(error, "hidden", wrong === null);
      setText(error, wrong ?? "");
      setAttribute(text, "aria-invalid", wrong === null ? null : "true");
    },
  };
}
