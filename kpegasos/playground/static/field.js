/**
 * Decision values of a model on a grid, fast enough to be drawn at each frame.
 *
 * The Gaussian and the Laplacian kernel are products of a factor of each coordinate, so that their
 * field is one product of two thin matrices. A polynomial is expanded about the grid's centre. The
 * sigmoid kernel is a ratio of such products. Values are for drawing: those of few large terms that
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
  poly: addPolynomial,
  sigmoid: addSigmoid,
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

function addPolynomial(values, model, support, coef, xs, ys) {
  const [centreX, halfX] = middle(xs);
  const [centreY, halfY] = middle(ys);
  const table = expansion(model, support, coef, [centreX, halfX, centreY, halfY]);
  let at = 0;
  for (const y of ys) {
    const inX = table.map((ofY) => horner(ofY, (y - centreY) / halfY));
    for (const x of xs) values[at++] += horner(inX, (x - centreX) / halfX);
  }
}

/** Centre and half the width of some nodes; 1 for a width of zero. */
function middle(at) {
  const [first, last] = [at[0], at[at.length - 1]];
  return [(first + last) / 2, Math.abs(last - first) / 2 || 1];
}

/** Coefficients [p][q] of ξ^p η^q in `Σ coef_s (u_s + a_s ξ + b_s η)^degree`. */
function expansion({ gamma, degree, coef0 }, support, coef, [centreX, halfX, centreY, halfY]) {
  const table = Array.from({ length: degree + 1 }, (_, p) => new Float64Array(degree + 1 - p));
  support.forEach(([x, y], s) => {
    const u = gamma * (x * centreX + y * centreY) + coef0;
    const [a, b] = [gamma * x * halfX, gamma * y * halfY];
    for (let p = 0; p <= degree; p++) {
      for (let q = 0; p + q <= degree; q++) {
        const powers = a ** p * b ** q * u ** (degree - p - q);
        table[p][q] += coef[s] * powers * multinomial(degree, p, q);
      }
    }
  });
  return table;
}

function multinomial(degree, p, q) {
  let result = 1;
  for (let k = 1; k <= p; k++) result *= (degree - p + k) / k;
  for (let k = 1; k <= q; k++) result *= (degree - p - q + k) / k;
  return result;
}

function horner(coefficients, at) {
  let value = 0;
  for (let k = coefficients.length - 1; k >= 0; k--) value = value * at + coefficients[k];
  return value;
}

/** Arguments of the hyperbolic tangent up to which products of four exponentials stay finite. */
const GENTLE = 80;

/** Add `Σ coef_s tanh(u)`: `1 - 2 / (1 + exp(2u))`, whose exponential has a factor of each coordinate. */
function addSigmoid(values, { gamma, coef0 }, support, coef, xs, ys) {
  const slopes = support.map(([x, y]) => [gamma * x, gamma * y]);
  const [farX, farY] = [farthest(xs), farthest(ys)];
  const isGentle = slopes.map(([a, b]) => Math.abs(a) * farX + Math.abs(b) * farY + Math.abs(coef0) < GENTLE);
  const gentle = support.map((_, s) => s).filter((s) => isGentle[s]);
  for (let k = 0; k < gentle.length; k += 2) {
    const pair = gentle.slice(k, k + 2);
    addRatios(values, coef0, pair.map((s) => slopes[s]), pair.map((s) => coef[s]), xs, ys);
  }
  support.forEach((_, s) => {
    if (!isGentle[s]) addSteep(values, coef0, slopes[s], coef[s], xs, ys);
  });
}

function farthest(at) {
  return Math.max(Math.abs(at[0]), Math.abs(at[at.length - 1]));
}

/** Two terms at once, which takes half as many divisions; the second may be missing. */
function addRatios(values, coef0, [[a, b], [c, d] = [0, 0]], [first, second = 0], xs, ys) {
  const nx = xs.length;
  const [ofFirst, ofSecond] = [a, c].map((slope) => xs.map((x) => Math.exp(2 * slope * x)));
  for (let j = 0; j < ys.length; j++) {
    const p = Math.exp(2 * (b * ys[j] + coef0));
    const q = Math.exp(2 * (d * ys[j] + coef0));
    for (let i = 0, at = j * nx; i < nx; i++, at++) {
      const one = 1 + p * ofFirst[i];
      const two = 1 + q * ofSecond[i];
      values[at] += first + second - (2 * (first * two + second * one)) / (one * two);
    }
  }
}

/** A term that is close to its limits at most nodes. */
function addSteep(values, coef0, [a, b], coef, xs, ys) {
  let at = 0;
  for (const y of ys) {
    const start = b * y + coef0;
    for (const x of xs) {
      const argument = start + a * x;
      values[at++] += coef * (Math.abs(argument) > 20 ? Math.sign(argument) : Math.tanh(argument));
    }
  }
}
