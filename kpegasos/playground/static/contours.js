// @ts-check
/** Lines of equal value of a field on a grid, by marching squares. */

/**
 * Lines along which a field has a value, in units of the grid.
 *
 * The pieces are joined to lines, so that a dashed line has its dashes evenly spaced.
 * @param {Float64Array} values row by row
 * @param {number} nx
 * @param {number} ny
 * @param {number} level
 * @returns {number[][]} x and y in turn
 */
export function contourLines(values, nx, ny, level) {
  const links = linkCrossings(values, nx, ny, level);
  const lines = [];
  const seen = new Set();
  const walk = (first) => {
    const line = [];
    let edge = first;
    while (edge !== undefined && !seen.has(edge)) {
      seen.add(edge);
      pushCrossing(line, values, nx, level, edge);
      edge = links.get(edge).find((other) => !seen.has(other));
    }
    return line;
  };
  for (const [edge, others] of links) {
    if (others.length === 1 && !seen.has(edge)) lines.push(walk(edge));
  }
  for (const edge of links.keys()) {
    if (seen.has(edge)) continue;
    const line = walk(edge);
    line.push(line[0], line[1]);
    lines.push(line);
  }
  return lines;
}

/**
 * Which crossed edges of the grid are neighbours on a line.
 *
 * Edge 2k leads from node k to the right, edge 2k + 1 to the next row.
 */
function linkCrossings(values, nx, ny, level) {
  /** @type {Map<number, number[]>} */
  const links = new Map();
  const link = (a, b) => {
    for (const [from, to] of [
      [a, b],
      [b, a],
    ]) {
      const known = links.get(from);
      if (known) known.push(to);
      else links.set(from, [to]);
    }
  };
  for (let j = 0; j + 1 < ny; j++) {
    for (let i = 0; i + 1 < nx; i++) {
      const node = j * nx + i;
      const kind =
        (values[node] > level ? 1 : 0) +
        (values[node + 1] > level ? 2 : 0) +
        (values[node + nx + 1] > level ? 4 : 0) +
        (values[node + nx] > level ? 8 : 0);
      if (kind === 0 || kind === 15) continue;
      const edges = [2 * node, 2 * (node + 1) + 1, 2 * (node + nx), 2 * node + 1];
      if (kind === 5 || kind === 10) {
        const middle = (values[node] + values[node + 1] + values[node + nx] + values[node + nx + 1]) / 4;
        // In a saddle the corners on the side of the middle are connected.
        const apart = middle > level === (kind === 5);
        link(edges[0], edges[apart ? 1 : 3]);
        link(edges[2], edges[apart ? 3 : 1]);
      } else {
        const crossed = edges.filter((_, side) => ((kind >> side) & 1) !== ((kind >> ((side + 1) % 4)) & 1));
        link(crossed[0], crossed[1]);
      }
    }
  }
  return links;
}

function pushCrossing(line, values, nx, level, edge) {
  const node = edge >> 1;
  const other = edge % 2 ? node + nx : node + 1;
  const share = (level - values[node]) / (values[other] - values[node]);
  const [x, y] = [node % nx, Math.floor(node / nx)];
  line.push(edge % 2 ? x : x + share, edge % 2 ? y + share : y);
}
