// @ts-check
/**
 * Drawing of a pane: field, lines, rings and points.
 *
 * All is a function of what is given, so that the same frame has the same pixels however it was reached.
 */
import { fieldOf } from "./field.js";
import { MARK_RADIUS, markPath } from "./marks.js";
import { linesOf, winnersOf } from "./regions.js";
import { gridOf } from "./viewport.js";

/** Decision at which a colour is at its strongest, and how strong it is there and at the boundary. */
const FULL_DECISION = 2;
const TINT_RANGE = [0.08, 0.36];
/** Strength where a vote, which has no size, decides. */
const VOTE_TINT = 0.24;
/** Areas of rings in CSS pixels², of a count of one and of the largest. */
const RING_AREAS = [45, 420];

/**
 * Field and lines of a pane over a placed view.
 * @param {any} pane of a frame
 * @param {any} settings of the same pane: its kernel
 * @param {number[][]} points the state's of that frame
 * @param {import("./viewport.js").Placed} placed
 * @param {import("./palette.js").Palette} palette
 * @param {HTMLCanvasElement} [image] to paint on: a new one for each frame would cost more than the field
 */
export function paintField(pane, settings, points, placed, palette, image = document.createElement("canvas")) {
  const grid = gridOf(placed);
  const fields = fieldOf({ ...settings, ...pane }, points, grid);
  const winners = winnersOf(pane, fields);
  if (image.width !== grid.nx || image.height !== grid.ny) Object.assign(image, { width: grid.nx, height: grid.ny });
  image
    .getContext("2d", { willReadFrequently: true })
    .putImageData(imageOf(fields, winners, grid, palette.tints), 0, 0);
  return { image, grid, ...linesOf(pane, fields, grid.nx, grid.ny) };
}

/** @typedef {ReturnType<typeof paintField>} Painted */

/** The colour of each node: its class, the stronger the larger the decision. */
function imageOf(fields, winners, grid, tints) {
  const pixels = new ImageData(grid.nx, grid.ny);
  const { data } = pixels;
  const [weakest, strongest] = TINT_RANGE;
  for (let node = 0; node < winners.length; node++) {
    const tint = tints[winners[node]];
    const share = Math.min(1, Math.abs(fields[0][node]) / FULL_DECISION);
    data[4 * node] = tint[0];
    data[4 * node + 1] = tint[1];
    data[4 * node + 2] = tint[2];
    data[4 * node + 3] = 255 * (fields.length > 1 ? VOTE_TINT : weakest + (strongest - weakest) * share);
  }
  return pixels;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Painted} painted
 * @param {import("./viewport.js").Placed} placed
 * @param {import("./palette.js").Palette} palette
 */
export function drawField(context, painted, placed, palette) {
  const { image, grid } = painted;
  const [across, down] = [placed.width / (grid.nx - 1), placed.height / (grid.ny - 1)];
  context.imageSmoothingEnabled = true;
  // The middle of a pixel of the image is a node, and the outer nodes lie on the edges.
  context.drawImage(image, -across / 2, -down / 2, grid.nx * across, grid.ny * down);
  context.strokeStyle = palette.ink;
  context.lineJoin = "round";
  const stroke = (lines, width, dashes) => {
    context.lineWidth = width;
    context.setLineDash(dashes);
    context.beginPath();
    for (const line of lines) {
      context.moveTo(line[0] * across, line[1] * down);
      for (let k = 2; k < line.length; k += 2) context.lineTo(line[k] * across, line[k + 1] * down);
    }
    context.stroke();
  };
  stroke(painted.margins, 1, [4, 4]);
  stroke(painted.boundary, 2, []);
  context.setLineDash([]);
}

/**
 * Rings round the support, with areas that grow with the counts; without counts all are alike.
 * @param {CanvasRenderingContext2D} context
 * @param {any} pane of a frame
 * @param {number[][]} points
 * @param {import("./viewport.js").Placed} placed
 * @param {import("./palette.js").Palette} palette
 */
export function drawCounts(context, pane, points, placed, palette) {
  const support = pane.counts
    ? pane.counts.flatMap((count, i) => (count ? [i] : []))
    : [...new Set(pane.pairs.flatMap((pair) => pair.support))];
  const largest = pane.counts ? Math.max(1, ...pane.counts) : 1;
  context.strokeStyle = palette.ink;
  context.lineWidth = 1;
  for (const i of support) {
    const share = pane.counts ? (pane.counts[i] - 1) / Math.max(1, largest - 1) : 0.1;
    const area = RING_AREAS[0] + (RING_AREAS[1] - RING_AREAS[0]) * share;
    circle(context, placed.toX(points[i][0]), placed.toY(points[i][1]), MARK_RADIUS - 2.5 + Math.sqrt(area / Math.PI));
    context.stroke();
  }
}

/**
 * All points: a shape and a colour for each class, hollow where held out.
 * @param {CanvasRenderingContext2D} context
 * @param {any} state
 * @param {import("./viewport.js").Placed} placed
 * @param {import("./palette.js").Palette} palette
 */
export function drawPoints(context, state, placed, palette) {
  state.points.forEach(([x, y], i) => {
    const [left, top] = [placed.toX(x), placed.toY(y)];
    const color = palette.classes[state.labels[i]];
    const mark = markPath(state.labels[i]);
    context.translate(left, top);
    context.fillStyle = state.test[i] ? palette.paper : color;
    context.fill(mark);
    context.strokeStyle = state.test[i] ? color : palette.paper;
    context.lineWidth = state.test[i] ? 1.6 : 0.8;
    context.stroke(mark);
    context.translate(-left, -top);
  });
}

/**
 * A circle as the current path.
 * @param {CanvasRenderingContext2D} context
 */
export function circle(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
}
