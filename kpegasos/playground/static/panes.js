// @ts-check
/** A pane: its heading, the picture of the model, and above it what follows the pointer and the draws. */
import { createCanvas, sameItems } from "./canvas.js";
import { el, setAttribute, setText } from "./dom.js";
import { fieldOf } from "./field.js";
import { classLetter, formatNumber, formatShort, formatWhole } from "./format.js";
import { KERNEL_NAMES, KERNEL_PARAMETERS } from "./names.js";
import { attachTools } from "./pointer.js";
import { circle, drawCounts, drawField, drawPoints, paintField } from "./scene.js";
import { placeView } from "./viewport.js";

/** Pixels of a picture that is saved to one of the page. */
export const SHARPNESS = 2;

/**
 * @param {number} number of the pane
 * @param {any} actions of the page
 */
export function createPane(number, actions) {
  const title = el("h2", { class: "kp-pane-title" });
  const parameters = el("span", { class: "kp-pane-parameters" });
  const badge = el("span", { class: "kp-badge", hidden: true });
  const message = el("div", { class: "kp-pane-message", hidden: true });
  const redraw = () => actions.render();
  const picture = createCanvas("kp-picture", { "aria-hidden": "true" }, redraw);
  const overlay = createCanvas("kp-overlay", { tabindex: "0", role: "application" }, redraw);
  const tip = el("div", { class: "kp-tip", hidden: true });
  const box = el("div", { class: "kp-pane-box" }, picture.canvas, overlay.canvas, message, tip);
  const node = el(
    "section",
    { class: "kp-pane" },
    el("header", { class: "kp-pane-head" }, title, parameters, badge),
    box,
  );
  let ui = null;
  let placed = null;
  let painted = { key: [], value: null };
  let drawnKey = [];
  let overlaidKey = [];
  const tools = attachTools(overlay.canvas, { ...actions, placed: () => placed });

  function update(next) {
    ui = next;
    const settings = ui.state.panes[number];
    setAttribute(node, "hidden", !settings);
    if (!settings) return;
    writeHead(settings);
    writeMessage();
    if (!picture.width) return;
    placed = placeView(ui.view, picture.width, picture.height);
    drawPicture();
    drawOverlay();
    writeTip();
  }

  /** What is known of the point where the pointer rests. */
  function writeTip() {
    const index = tools.pointed();
    setAttribute(tip, "hidden", index < 0);
    if (index < 0) return;
    const { state, frame } = ui;
    setText(tip, tipText(index, state, frame?.revision === ui.revision ? paneOf(frame) : null, state.panes[number]));
    const [left, top] = [placed.toX(state.points[index][0]), placed.toY(state.points[index][1])];
    const isRight = left > placed.width / 2;
    tip.style.left = isRight ? "auto" : `${left + 14}px`;
    tip.style.right = isRight ? `${placed.width - left + 14}px` : "auto";
    tip.style.top = `${Math.max(0, Math.min(placed.height - 60, top - 20))}px`;
  }

  function writeHead(settings) {
    const pane = paneOf(ui.frame);
    setText(title, KERNEL_NAMES[settings.kernel]);
    setText(parameters, parametersText(settings, pane));
    const other = ui.frame?.algorithm === "polish";
    const remark = other ? "Polish: another algorithm" : (pane?.certificate ? `no certificate: ${pane.certificate}` : "");
    setAttribute(node, "data-algorithm", other ? "polish" : null);
    setAttribute(badge, "hidden", !remark);
    setAttribute(badge, "title", remark);
    setText(badge, remark);
    const label = `${KERNEL_NAMES[settings.kernel]} pane: ${ui.state.points.length} points. Arrow keys move a cursor, Enter adds a point, Delete erases.`;
    setAttribute(overlay.canvas, "aria-label", label);
  }

  function writeMessage() {
    const text = emptyText(ui);
    setAttribute(message, "hidden", !text);
    if (text) setText(message, text);
  }

  function paneOf(frame) {
    return frame ? frame.panes[number] : null;
  }

  function drawPicture() {
    const { frame, state, palette } = ui;
    const key = [frame, state.points, state.labels, state.test, ui.view, palette, picture.version];
    if (sameItems(key, drawnKey)) return;
    drawnKey = key;
    const pane = paneOf(frame);
    if (pane) {
      const fieldKey = [pane, ui.view, palette, picture.version];
      if (!sameItems(fieldKey, painted.key)) {
        const { state: own } = frame;
        painted = {
          key: fieldKey,
          value: paintField(pane, own.panes[number], own.points, placed, palette, painted.value?.image),
        };
      }
    }
    drawOn(picture.begin());
  }

  function drawOn(context) {
    const { frame, state, palette } = ui;
    const pane = paneOf(frame);
    if (pane) {
      drawField(context, painted.value, placed, palette);
      drawCounts(context, pane, frame.state.points, placed, palette);
    }
    drawPoints(context, state, placed, palette);
  }

  function drawOverlay() {
    const examples = shownExamples();
    const key = [examples, ui.palette, placed.unit, placed.x0, placed.y0, overlay.version, ...tools.key(ui)];
    if (sameItems(key, overlaidKey)) return;
    overlaidKey = key;
    const context = overlay.begin();
    context.strokeStyle = ui.palette.mark;
    context.lineWidth = 2.5;
    for (const i of examples ?? []) {
      const [x, y] = ui.frame.state.points[i];
      circle(context, placed.toX(x), placed.toY(y), 8);
      context.stroke();
    }
    tools.draw(context, ui);
  }

  /** The examples of the step, where steps can be told apart. */
  function shownExamples() {
    const { frame } = ui;
    return frame && ui.singleSteps && frame.algorithm === "pegasos" ? frame.drawn : null;
  }

  return {
    node,
    update,
    /** The picture at twice its size, and the words above it, for a file. */
    image() {
      const { width, height } = placed;
      const canvas = el("canvas", { width: SHARPNESS * width, height: SHARPNESS * height });
      const context = canvas.getContext("2d");
      context.scale(SHARPNESS, SHARPNESS);
      drawOn(context);
      return { width, height, url: canvas.toDataURL(), title: `${title.textContent} ${parameters.textContent}`.trim() };
    },
    destroy() {
      picture.destroy();
      overlay.destroy();
    },
  };
}

function parametersText(settings, pane) {
  const shown = (key) => {
    const name = key === "gamma" ? "γ" : key;
    const value = key === "gamma" && pane ? pane.gamma : settings[key];
    return typeof value === "number" ? `${name} = ${formatShort(value, 3)}` : `${name} = ${value}`;
  };
  return KERNEL_PARAMETERS[settings.kernel].map(shown).join(", ");
}

/** Index, class, α and f of a point; with several pairs of classes, f of each. */
function tipText(i, state, pane, settings) {
  const lines = [`point ${i}, class ${classLetter(state.labels[i])}${state.test[i] ? ", held out" : ""}`];
  if (!pane) return lines[0];
  if (pane.counts && !state.test[i]) lines.push(`α = ${formatWhole(pane.counts[i])}`);
  const [x, y] = state.points[i];
  const values = fieldOf({ ...settings, ...pane }, state.points, { x0: x, x1: x, nx: 1, y0: y, y1: y, ny: 1 });
  pane.pairs.forEach(({ classes }, p) => {
    const name = values.length > 1 ? ` ${classes.map(classLetter).join("|")}` : "(x)";
    lines.push(`f${name} = ${formatNumber(values[p][0])}`);
  });
  return lines.join("\n");
}

function emptyText(ui) {
  const present = new Set(ui.state.labels.filter((_, i) => !ui.state.test[i]));
  if (ui.state.points.length === 0) {
    return `No points yet. Click to add one of class ${classLetter(ui.label)}, or take a preset.`;
  }
  if (present.size === 0) return "All points are held out. Add some to train on.";
  if (present.size > 1) return ui.t === 0 && !ui.playing ? "Step 0: there is no model yet. Press Play." : null;
  const [only] = present;
  const other = only === 0 ? 1 : 0;
  return `Class ${classLetter(only)} alone. Add points of another: press ${other + 1} for ${classLetter(other)}.`;
}
