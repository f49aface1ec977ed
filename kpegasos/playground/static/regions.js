// @ts-check
/** What a pane's decision values say about each node of a grid: its class, and lines between classes. */
import { contourLines } from "./contours.js";

/**
 * The class of each node. Of several pairs the one with most votes, ties to the lowest.
 * @param {any} pane of a frame
 * @param {Float64Array[]} fields of its pairs
 * @returns {Uint8Array}
 */
export function winnersOf(pane, fields) {
  const winners = new Uint8Array(fields[0].length);
  if (fields.length === 1) {
    const [first, second] = pane.pairs[0].classes;
    for (let node = 0; node < winners.length; node++) winners[node] = fields[0][node] > 0 ? second : first;
    return winners;
  }
  const votes = new Uint8Array(4);
  for (let node = 0; node < winners.length; node++) {
    votes.fill(0);
    for (let k = 0; k < fields.length; k++) votes[pane.pairs[k].classes[fields[k][node] > 0 ? 1 : 0]]++;
    winners[node] = favourite(votes);
  }
  return winners;
}

/**
 * The lines between classes, and of two classes those of the margins.
 * @param {any} pane
 * @param {Float64Array[]} fields
 * @param {number} nx
 * @param {number} ny
 * @returns {{boundary: number[][], margins: number[][]}}
 */
export function linesOf(pane, fields, nx, ny) {
  if (fields.length === 1) {
    const at = (level) => contourLines(fields[0], nx, ny, level);
    return { boundary: at(0), margins: [...at(-1), ...at(1)] };
  }
  const boundary = fields.flatMap((field, k) =>
    contourLines(field, nx, ny, 0).flatMap((line) => decisiveParts(line, k, pane.pairs, fields, nx)),
  );
  return { boundary, margins: [] };
}

/** The parts of a pair's line on whose sides different classes win. */
function decisiveParts(line, pair, pairs, fields, nx) {
  const parts = [];
  let part = [];
  for (let k = 0; k + 3 < line.length; k += 2) {
    if (isDecisive((line[k] + line[k + 2]) / 2, (line[k + 1] + line[k + 3]) / 2, pair, pairs, fields, nx)) {
      if (!part.length) part.push(line[k], line[k + 1]);
      part.push(line[k + 2], line[k + 3]);
    } else if (part.length) {
      parts.push(part);
      part = [];
    }
  }
  if (part.length) parts.push(part);
  return parts;
}

/** Whether the vote of one pair decides who wins at a place of the grid. */
function isDecisive(x, y, pair, pairs, fields, nx) {
  const votes = [0, 0, 0, 0];
  fields.forEach((field, k) => {
    if (k !== pair) votes[pairs[k].classes[valueBetween(field, nx, x, y) > 0 ? 1 : 0]]++;
  });
  const [first, second] = pairs[pair].classes.map((label) => {
    const cast = votes.slice();
    cast[label]++;
    return favourite(cast);
  });
  return first !== second;
}

/** The class with most votes; of several the lowest. */
function favourite(votes) {
  let best = 0;
  for (let label = 1; label < votes.length; label++) if (votes[label] > votes[best]) best = label;
  return best;
}

/** A value inside a cell of the grid, bilinear. */
function valueBetween(field, nx, x, y) {
  const i = Math.min(nx - 2, Math.floor(x));
  const j = Math.min(field.length / nx - 2, Math.floor(y));
  const node = j * nx + i;
  const along = (row) => field[row] + (x - i) * (field[row + 1] - field[row]);
  return along(node) + (y - j) * (along(node + nx) - along(node));
}
