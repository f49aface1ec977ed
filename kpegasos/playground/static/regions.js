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
  const votes = new Uint8Array(4);
  for (let node = 0; node < winners.length; node++) {
    votes.fill(0);
    for (let k = 0; k < fields.length; k++) votes[pane.pairs[k].classes[fields[k][node] > 0 ? 1 : 0]]++;
    let best = 0;
    for (let label = 1; label < 4; label++) if (votes[label] > votes[best]) best = label;
    winners[node] = best;
  }
  return winners;
}

/**
 * The lines between classes, and of two classes those of the margins.
 * @param {any} pane
 * @param {Float64Array[]} fields
 * @param {Uint8Array} winners
 * @param {number} nx
 * @param {number} ny
 * @returns {{boundary: number[][], margins: number[][]}}
 */
export function linesOf(pane, fields, winners, nx, ny) {
  if (fields.length === 1) {
    const at = (level) => contourLines(fields[0], nx, ny, level);
    return { boundary: at(0), margins: [...at(-1), ...at(1)] };
  }
  const boundary = pane.pairs.flatMap((pair, k) =>
    contourLines(fields[k], nx, ny, 0).flatMap((line) => partsBetween(line, pair.classes, winners, nx)),
  );
  return { boundary, margins: [] };
}

/** The parts of a line in cells where both classes win a corner: elsewhere a third class does. */
function partsBetween(line, classes, winners, nx) {
  const parts = [];
  let part = [];
  for (let k = 0; k + 3 < line.length; k += 2) {
    const i = Math.floor((line[k] + line[k + 2]) / 2);
    const j = Math.floor((line[k + 1] + line[k + 3]) / 2);
    const node = j * nx + i;
    const corners = [winners[node], winners[node + 1], winners[node + nx], winners[node + nx + 1]];
    if (corners.includes(classes[0]) && corners.includes(classes[1])) {
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
