/**
 * Decision values of a model on a grid, fast enough to be drawn at each frame.
 *
 * The Gaussian and the Laplacian kernel are products of a factor of each coordinate, so that their
 * field is one product of two thin matrices. Values are for drawing: those of few large terms that
 * nearly cancel carry the rounding of the terms.
 */

/**
 * @typedef {Object} Grid Nodes of a picture: nx by ny of them, both ends included.
 * @property {number} x0 First abscissa.
 * @property {number} x1 Last abscissa.
 * @property {number} nx
 * @property {number} y0 Ordinate of the first row of values.
 * @property {number} y1 Ordinate of the last row.
 * @property {number} ny
 */

/**
 * Decision values of each pair of classes on a grid.
 *
 * @param {Object} model `{kernel, gamma, degree, coef0, pairs}`, gamma a number: a pane of the state
 *   overlaid with that of a frame, `{ ...state.panes[p], ...frame.panes[p] }`.
 * @param {number[][]} points Those of the state, which `support` of each pair indexes.
 * @param {Grid} grid
 * @returns {Float64Array[]} One array per pair, row by row: the value at node (i, j) is `[j * nx + i]`.
 */
export function fieldOf(model, points, grid) {
  const xs = nodes(grid.x0, grid.x1, grid.nx);
  const ys = nodes(grid.y0, grid.y1, grid.ny);
  return model.pairs.map((pair) => {
    const values = new Float64Array(grid.nx * grid.ny).fill(pair.intercept);
    const support = pair.support.map((i) => points[i]);
    FIELDS[model.kernel](values, model, support, pair.dual_coef, xs, ys);
    return values;
  });
}

const FIELDS = {
  linear: addPlane,
  rbf: (values, { gamma }, support, coef, xs, ys) => {
    const factor = (at, own) => Math.exp(-gamma * (at - own) * (at - own));
    addSeparable(values, factor, support, coef, xs, ys);
  },
  laplacian: (values, { gamma }, support, coef, xs, ys) => {
    const factor = (at, own) => Math.exp(-gamma * Math.abs(at - own));
    addSeparable(values, factor, support, coef, xs, ys);
  },
  poly: (values, model, ...rest) => addRidges(values, (u) => powerOf(u, model.degree), model, ...rest),
  sigmoid: (values, model, ...rest) => addRidges(values, Math.tanh, model, ...rest),
};

/** Equally spaced numbers, both ends included. */
function nodes(first, last, count) {
  const step = count > 1 ? (last - first) / (count - 1) : 0;
  return Float64Array.from({ length: count }, (_, i) => first + step * i);
}

function addPlane(values, _, support, coef, xs, ys) {
  let [ofX, ofY] = [0, 0];
  support.forEach(([x, y], s) => {
    ofX += coef[s] * x;
    ofY += coef[s] * y;
  });
  let at = 0;
  for (const y of ys) for (const x of xs) values[at++] += ofX * x + ofY * y;
}

/**
 * Add `Σ coef_s factor(x, x_s) factor(y, y_s)`, four support vectors in each pass over two rows: as
 * many additions for each number that is read as there are registers for.
 */
function addSeparable(values, factor, support, coef, xs, ys) {
  const nx = xs.length;
  const count = Math.ceil(support.length / 4) * 4; // those that fill up have coefficient 0
  const ofX = new Float64Array(count * nx);
  const ofY = new Float64Array((ys.length + 1) * count);
  support.forEach(([ownX, ownY], s) => {
    for (let i = 0; i < nx; i++) ofX[s * nx + i] = factor(xs[i], ownX);
    for (let j = 0; j < ys.length; j++) ofY[j * count + s] = coef[s] * factor(ys[j], ownY);
  });
  for (let j = 0; j < ys.length; j += 2) {
    const upper = values.subarray(j * nx, (j + 1) * nx);
    const lower = j + 1 < ys.length ? values.subarray((j + 1) * nx, (j + 2) * nx) : new Float64Array(nx);
    for (let s = 0; s < count; s += 4) {
      addFour(upper, lower, ofX, s * nx, ofY, j * count + s, (j + 1) * count + s);
    }
  }
}

function addFour(upper, lower, rows, first, factors, above, below) {
  const [a, b, c, d] = factors.subarray(above, above + 4);
  const [e, f, g, h] = factors.subarray(below, below + 4);
  if (a === 0 && b === 0 && c === 0 && d === 0 && e === 0 && f === 0 && g === 0 && h === 0) return;
  const n = upper.length;
  for (let i = 0, at = first; i < n; i++, at++) {
    const p = rows[at];
    const q = rows[at + n];
    const r = rows[at + 2 * n];
    const t = rows[at + 3 * n];
    upper[i] += a * p + b * q + c * r + d * t;
    lower[i] += e * p + f * q + g * r + h * t;
  }
}

/** Add `Σ coef_s shape(gamma <x, x_s> + coef0)`. */
function addRidges(values, shape, { gamma, coef0 }, support, coef, xs, ys) {
  support.forEach(([ownX, ownY], s) => {
    let at = 0;
    for (const y of ys) {
      const start = gamma * ownY * y + coef0;
      for (const x of xs) values[at++] += coef[s] * shape(start + gamma * ownX * x);
    }
  });
}

/** A whole power, which is faster than any power. */
function powerOf(base, degree) {
  let power = 1;
  for (let k = 0; k < degree; k++) power *= base;
  return power;
}
