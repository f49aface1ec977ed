// @ts-check
/** The bottom bar: play, single steps, speed, and the time axis to scrub. */
import { createScale } from "./axes.js";
import { createCanvas, placeOf, sameItems } from "./canvas.js";
import { ENGINE_LIMITS } from "./checks.js";
import { SPEEDS } from "./clock.js";
import { button, el, icon, setAttribute, setText } from "./dom.js";
import { formatEpoch, formatWhole, readNumber } from "./format.js";
import { createTile } from "./tiles.js";

/** Gaps at which playing stops. */
const TOLERANCES = [0, 0.1, 0.01, 0.001];

const AXIS_MARGIN = 10;

/** @param {any} actions */
export function createTimeline(actions) {
  const play = el(
    "button",
    { type: "button", class: "kp-button kp-primary kp-play", "aria-label": "Play", onclick: actions.togglePlay },
    icon("play"),
    el("span", { text: "Play" }),
  );
  const step = button({ label: "One step", icon: "step", key: ".", onClick: () => actions.advance("step") });
  const epoch = button({ label: "One epoch", icon: "epoch", key: "E", onClick: () => actions.advance("epoch") });
  const speed = labelledSelect(
    "Speed",
    SPEEDS.map(({ name }, k) => [String(k), name]),
    (value) => actions.setSpeed(Number(value)),
  );
  const tolerance = labelledSelect(
    "Stop at",
    TOLERANCES.map((value) => [String(value), value ? `${100 * value} % gap` : "never"]),
    (value) => actions.setTolerance(Number(value)),
  );
  const steps = createStepTile(actions);
  const epochs = createTile("Epoch");
  const axis = createAxis(actions);
  const wrong = el("p", { class: "kp-field-error", role: "alert", hidden: true });
  const node = el(
    "div",
    { class: "kp-timeline", role: "region", "aria-label": "Time" },
    el("div", { class: "kp-row kp-play-row" }, play, step, epoch, speed.node, tolerance.node),
    el("div", { class: "kp-tiles kp-time-tiles" }, steps.node, epochs.node),
    axis.node,
    wrong,
  );
  let shownIcon = "play";

  function update(ui) {
    const wanted = ui.playing ? "pause" : "play";
    if (wanted !== shownIcon) {
      shownIcon = wanted;
      play.replaceChildren(icon(wanted), el("span", { text: ui.playing ? "Pause" : "Play" }));
    }
    setAttribute(play, "aria-label", ui.playing ? "Pause" : "Play");
    setAttribute(play, "title", ui.playing ? "Pause (Space)" : "Play (Space)");
    for (const each of [play, step, epoch]) setAttribute(each, "disabled", !ui.trainable);
    speed.set(String(ui.speed));
    tolerance.set(String(ui.tolerance));
    const other = ui.frame && ui.frame.algorithm !== "pegasos";
    steps.set(ui, other);
    epochs.set(other || !ui.frame ? "–" : formatEpoch(ui.frame.epoch));
    axis.update(ui);
    setAttribute(wrong, "hidden", !ui.errors.t);
    setText(wrong, ui.errors.t ?? "");
  }

  return { node, update, destroy: axis.destroy };
}

/** The step shown, which can be typed. */
function createStepTile(actions) {
  const input = el("input", {
    class: "kp-input kp-tile-value kp-step",
    type: "text",
    inputmode: "numeric",
    autocomplete: "off",
    onchange: () => {
      const t = readNumber(input.value);
      if (Number.isInteger(t) && t >= 0 && t <= ENGINE_LIMITS.steps) {
        shown = input.value;
        actions.seek(t);
      } else {
        const most = formatWhole(ENGINE_LIMITS.steps);
        actions.fail("t", `t must be a whole number from 0 to ${most}, got “${input.value}” instead`);
      }
    },
  });
  const node = el("label", { class: "kp-tile" }, el("span", { class: "kp-tile-name", text: "Step t" }), input);
  let shown = "";
  return {
    node,
    set(ui, other) {
      setAttribute(input, "disabled", !ui.trainable);
      setAttribute(input, "aria-invalid", ui.errors.t ? "true" : null);
      const text = other || !ui.frame ? "–" : formatWhole(ui.frame.t);
      // What is being typed is not overwritten, and what is wrong stays to be mended.
      const typing = document.activeElement === input && input.value !== shown;
      if (text === shown || typing || ui.errors.t) return;
      input.value = shown = text;
    },
  };
}

function createAxis(actions) {
  const surface = createCanvas("kp-axis-canvas", { "aria-hidden": "true" }, () => actions.render());
  const node = el(
    "div",
    { class: "kp-axis", role: "slider", tabindex: "0", "aria-label": "Step shown", "aria-valuemin": "0" },
    surface.canvas,
  );
  let ui = null;
  let scale = null;
  let drawnKey = [];
  const seek = (event) => {
    if (event.buttons & 1 && scale) actions.seek(timeAt(placeOf(event, surface.canvas).left));
  };
  node.addEventListener("pointerdown", (event) => {
    node.setPointerCapture(event.pointerId);
    seek(event);
  });
  node.addEventListener("pointermove", seek);
  node.addEventListener("keydown", (event) => {
    const target = keyTarget(event, actions.ui());
    if (target === null) return;
    event.preventDefault();
    event.stopPropagation();
    actions.seek(target);
  });

  /** The axis is logarithmic in t + 1, since it begins at 0. */
  function timeAt(left) {
    return scale.back(left) - 1;
  }

  function update(next) {
    ui = next;
    setAttribute(node, "aria-valuemax", String(ui.horizon));
    setAttribute(node, "aria-valuenow", String(ui.t));
    setAttribute(node, "aria-valuetext", `step ${ui.t} of ${ui.horizon}, epoch ${formatEpoch(ui.t / ui.epochSteps)}`);
    setAttribute(node, "aria-disabled", ui.trainable ? null : "true");
    const reached = ui.curves && ui.curves.revision === ui.revision ? ui.curves.t : 0;
    const key = [ui.t, ui.horizon, ui.log, ui.trainable, ui.epochSteps, reached, ui.palette, surface.version];
    if (sameItems(key, drawnKey)) return;
    drawnKey = key;
    const context = surface.begin();
    if (context) draw(context, Math.min(reached, ui.horizon));
  }

  function draw(context, reached) {
    const { palette, epochSteps, horizon } = ui;
    const middle = 13.5;
    scale = createScale(1, horizon + 1, ui.log, AXIS_MARGIN, surface.width - AXIS_MARGIN);
    const [from, to, at] = [scale.at(1), scale.at(horizon + 1), scale.at(Math.min(ui.t, horizon) + 1)];
    context.lineCap = "round";
    drawTrack(context, from, to, middle, palette.line, 4);
    drawTrack(context, from, scale.at(reached + 1), middle, palette.muted, 4);
    drawTrack(context, from, at, middle, palette.ink, 4);
    context.font = `11px ${getComputedStyle(surface.canvas).fontFamily}`;
    context.fillStyle = palette.muted;
    context.strokeStyle = palette.muted;
    context.lineWidth = 1;
    context.textAlign = "center";
    const epochs = ui.trainable ? createScale(1, Math.max(2, horizon / epochSteps), ui.log, 0, 1, 6).ticks : [];
    let free = 0;
    for (const { value, text } of epochs) {
      const place = Math.round(scale.at(value * epochSteps + 1)) + 0.5;
      context.beginPath();
      context.moveTo(place, middle + 6);
      context.lineTo(place, middle + 10);
      context.stroke();
      if (value === 0 || place < free || place > surface.width - 76) continue;
      free = place + 30;
      context.fillText(text, place, middle + 22);
    }
    context.textAlign = "right";
    context.fillText(
      epochs.length ? `${formatEpoch(horizon / epochSteps)} epochs`.replace(".00", "") : "",
      surface.width - 2,
      middle + 22,
    );
    context.fillStyle = palette.paper;
    context.strokeStyle = palette.ink;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(at, middle, 7, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }

  return { node, update, destroy: surface.destroy };
}

function drawTrack(context, from, to, middle, color, width) {
  context.strokeStyle = color;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(from, middle);
  context.lineTo(to, middle);
  context.stroke();
}

/** Where a key leads on the time axis, or null. */
function keyTarget(event, ui) {
  const one = event.shiftKey ? 10 : 1;
  const moves = {
    ArrowLeft: -one,
    ArrowDown: -one,
    ArrowRight: one,
    ArrowUp: one,
    PageUp: ui.epochSteps,
    PageDown: -ui.epochSteps,
    Home: -ui.t,
    End: ui.horizon - ui.t,
  };
  return event.key in moves ? ui.t + moves[event.key] : null;
}

function labelledSelect(label, choices, onChange) {
  const select = el(
    "select",
    { class: "kp-input", "aria-label": label, onchange: () => onChange(select.value) },
    ...choices.map(([value, text]) => el("option", { value, text })),
  );
  return {
    node: el("label", { class: "kp-labelled" }, el("span", { text: label }), select),
    set(value) {
      if (select.value !== value) select.value = value;
    },
  };
}
