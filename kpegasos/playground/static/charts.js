// @ts-check
/** The course of a run: objective of both iterates with the certified band, and the test error. */
import { createScale } from "./axes.js";
import { createCanvas, placeOf, sameItems } from "./canvas.js";
import { el } from "./dom.js";
import { KERNEL_NAMES } from "./names.js";

const CHART_MARGIN = { left: 40, right: 8, top: 18, bottom: 20 };

/** The axis of objectives leaves out bounds that are so many times below the least of them. */
const LOG_BOTTOM = 30;

/**
 * Charts of one pane.
 * @param {number} number
 * @param {any} actions
 */
export function createCharts(number, actions) {
  const redraw = () => actions.render();
  const objective = createCanvas("kp-chart", { role: "img", "aria-label": "Objective over steps" }, redraw);
  const error = createCanvas("kp-chart", { role: "img", "aria-label": "Test error over steps" }, redraw);
  const node = el(
    "div",
    { class: "kp-charts" },
    el("div", { class: "kp-chart-box kp-chart-wide" }, objective.canvas),
    el("div", { class: "kp-chart-box" }, error.canvas),
  );
  let timeScale = null;
  for (const { canvas } of [objective, error]) attachSeek(canvas, () => timeScale, actions);
  let drawnKey = [];

  function update(ui) {
    const course = ui.curves?.panes[number] ?? null;
    const key = [ui.curves, ui.horizon, ui.frame, ui.state.test, ui.palette, objective.version, error.version];
    if (sameItems(key, drawnKey)) return;
    drawnKey = key;
    drawObjective(ui, course);
    drawError(ui, course);
  }

  function drawObjective(ui, course) {
    const range = objectiveRange(ui.curves);
    const plot = beginPlot(objective, ui, range, true, `Objective, ${KERNEL_NAMES[ui.state.panes[number].kernel]}`);
    if (!plot) return;
    timeScale = plot.x;
    if (course) {
      drawBand(plot, course, ui.palette.band);
      drawLine(plot, course.t, course.bound, { color: ui.palette.ink, width: 1, dashes: [3, 3] });
      drawLine(plot, course.t, course.objective, { color: ui.palette.muted, width: 1, dashes: [] });
      drawLine(plot, course.t, course.averaged, { color: ui.palette.ink, width: 2, dashes: [] });
    }
    endPlot(plot, ui);
  }

  function drawError(ui, course) {
    const held = ui.state.test.some(Boolean);
    const percents = (each) => each.test_error.map((value) => (value === null ? null : 100 * value));
    const high = largest((ui.curves?.panes ?? []).flatMap(percents), 2);
    const plot = beginPlot(error, ui, held ? [0, high * 1.05] : null, false, "Test error, %");
    if (!plot) return;
    if (course && held) drawLine(plot, course.t, percents(course), { color: ui.palette.ink, width: 2, dashes: [] });
    if (held) endPlot(plot, ui);
    else writeNote(plot, ui.palette, "none held out");
  }

  return {
    node,
    update,
    destroy() {
      objective.destroy();
      error.destroy();
    },
  };
}

/** Curves may be longer than a list of arguments. */
function largest(values, least) {
  return values.reduce((most, value) => Math.max(most, value), least);
}

function smallest(values, most) {
  return values.reduce((least, value) => Math.min(least, value), most);
}

/** The same range for all panes, so that their objectives can be compared. */
export function objectiveRange(curves) {
  const panes = curves?.panes ?? [];
  const models = panes.flatMap((course) => course.averaged.map((value, k) => value ?? course.objective[k]));
  const values = [...models, ...panes.flatMap((course) => course.objective)].filter(
    (value) => value !== null && value > 0,
  );
  if (!values.length) return [0.1, 1];
  const top = largest(values, 0);
  const bounds = panes.flatMap((course) => course.bound).filter((value) => value !== null && value > 0);
  const bottom = smallest(values, top);
  return [Math.max(bottom / LOG_BOTTOM, smallest(bounds, bottom)) / 1.1, top * 1.1];
}

/** Axes with their ticks; of a null range, none but the steps. */
function beginPlot(surface, ui, range, log, title) {
  const context = surface.begin();
  if (!context) return null;
  const { palette } = ui;
  const [right, bottom] = [surface.width - CHART_MARGIN.right, surface.height - CHART_MARGIN.bottom];
  const x = createScale(1, Math.max(2, ui.horizon), true, CHART_MARGIN.left, right, surface.width > 200 ? 6 : 3);
  const [low, high] = range ?? [0, 1];
  const y = createScale(low, high, log, bottom, CHART_MARGIN.top, Math.max(2, Math.floor(surface.height / 28)));
  context.font = `11px ${getComputedStyle(surface.canvas).fontFamily}`;
  context.fillStyle = palette.muted;
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const { value, text } of range ? y.ticks : []) {
    const at = Math.round(y.at(value)) + 0.5;
    line(context, CHART_MARGIN.left, at, right, at);
    context.fillText(text, CHART_MARGIN.left - 5, at);
  }
  context.textBaseline = "alphabetic";
  context.textAlign = "center";
  for (const { value, text } of x.ticks) {
    const at = Math.round(x.at(value)) + 0.5;
    line(context, at, bottom, at, bottom + 3);
    context.fillText(text, Math.min(at, right - 6), bottom + 14);
  }
  context.textAlign = "right";
  if (surface.width > 170) context.fillText("step t", right, CHART_MARGIN.top - 8);
  context.textAlign = "left";
  context.fillText(title, 2, 10);
  return { context, x, y, right, bottom };
}

function endPlot({ context, x, bottom }, ui) {
  if (!ui.frame?.panes.length || ui.frame.algorithm !== "pegasos") return;
  const at = Math.round(x.at(ui.frame.t)) + 0.5;
  context.strokeStyle = ui.palette.mark;
  context.lineWidth = 1.5;
  line(context, at, CHART_MARGIN.top - 4, at, bottom);
}

function drawLine(plot, times, values, { color, width, dashes }) {
  const { context } = plot;
  clipped(plot, () => {
    context.strokeStyle = color;
    context.lineWidth = width;
    context.setLineDash(dashes);
    context.beginPath();
    let drawing = false;
    times.forEach((t, k) => {
      const value = values[k];
      if (value === null || value === undefined) {
        drawing = false;
        return;
      }
      const place = [plot.x.at(t), plot.y.at(value)];
      if (drawing) context.lineTo(place[0], place[1]);
      else context.moveTo(place[0], place[1]);
      drawing = true;
    });
    context.stroke();
  });
}

/** Between what the model has and what no model can go below. */
function drawBand(plot, course, color) {
  const known = course.t
    .map((_, k) => k)
    .filter((k) => course.bound[k] !== null && (course.averaged[k] ?? course.objective[k]) !== null);
  if (known.length < 2) return;
  const { context, x, y } = plot;
  clipped(plot, () => {
    context.fillStyle = color;
    context.beginPath();
    for (const k of known) context.lineTo(x.at(course.t[k]), y.at(course.averaged[k] ?? course.objective[k]));
    for (const k of known.reverse()) context.lineTo(x.at(course.t[k]), y.at(course.bound[k]));
    context.fill();
  });
}

function clipped({ context, right, bottom }, draw) {
  context.save();
  context.beginPath();
  context.rect(CHART_MARGIN.left, CHART_MARGIN.top - 1, right - CHART_MARGIN.left, bottom - CHART_MARGIN.top + 2);
  context.clip();
  draw();
  context.restore();
}

function writeNote({ context, right, bottom }, palette, text) {
  context.fillStyle = palette.muted;
  context.textAlign = "center";
  context.fillText(text, (CHART_MARGIN.left + right) / 2, (CHART_MARGIN.top + bottom) / 2);
}

function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

/** A pointer on a chart is a place on the time axis. */
function attachSeek(canvas, scale, actions) {
  const seek = (event) => {
    if (scale() && event.buttons & 1) actions.seek(scale().back(placeOf(event, canvas).left));
  };
  canvas.addEventListener("pointerdown", seek);
  canvas.addEventListener("pointermove", seek);
}
