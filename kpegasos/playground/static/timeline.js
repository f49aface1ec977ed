// @ts-check
/** Play, single steps, speed, and the time axis to scrub. */
import { ENGINE_LIMITS } from "./checks.js";
import { SPEEDS } from "./clock.js";
import { button, el, icon, setAttribute, setText } from "./dom.js";
import { formatEpoch, formatWhole, readNumber } from "./format.js";
import { createTile } from "./tiles.js";

/** Gaps at which playing stops. */
const TOLERANCES = [0, 0.1, 0.01, 0.001];

/** Places that the handle can have. */
const AXIS_PLACES = 2000;

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
    ...axis.nodes,
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

  return { node, update };
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

/** The time axis, logarithmic in t + 1, since it begins at 0. */
function createAxis(actions) {
  const end = el("span", { class: "kp-caption kp-axis-end" });
  const input = el("input", {
    class: "kp-axis",
    type: "range",
    min: "0",
    max: String(AXIS_PLACES),
    "aria-label": "Step shown",
    oninput: () => actions.seek((actions.ui().horizon + 1) ** (Number(input.value) / AXIS_PLACES) - 1),
    onkeydown: (event) => {
      const target = keyTarget(event, actions.ui());
      if (target === null) return;
      event.preventDefault();
      event.stopPropagation();
      actions.seek(target);
    },
  });
  return {
    nodes: [input, end],
    update({ t, horizon, epochSteps, trainable }) {
      const share = Math.log(Math.min(t, horizon) + 1) / Math.log(horizon + 1);
      const place = String(Math.round(AXIS_PLACES * share));
      if (input.value !== place) input.value = place;
      setAttribute(input, "disabled", !trainable);
      setAttribute(input, "aria-valuenow", String(t));
      setAttribute(input, "aria-valuetext", `step ${t} of ${horizon}, epoch ${formatEpoch(t / epochSteps)}`);
      setText(end, trainable ? `${formatEpoch(horizon / epochSteps)} epochs`.replace(".00", "") : "");
    },
  };
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
