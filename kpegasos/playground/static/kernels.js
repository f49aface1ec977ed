/**
 * Kernels on points of the plane: values, and bounds on what rounding did to them.
 *
 * Values are those of kpegasos, by the same formulas in the same order: those of integers agree to
 * the last bit, exponentials to a few units in the last place.
 */

/** Spacing of the numbers at 1. */
export const EPS = 2 ** -52;

/** How often the sum of an inner product in the plane is rounded, and that of a norm beside it. */
const SUM_ROUNDINGS = 4;
/** Rows and columns that are copied together. */
const TILE = 32;

/**
 * @typedef {Object} KernelSettings
 * @property {"linear"|"rbf"|"poly"|"laplacian"|"sigmoid"} kernel
 * @property {number|null} gamma Null for the linear kernel.
 * @property {number} degree Whole, at least 1.
 * @property {number} coef0
 */

/** A whole power of at least 1: a square for each further bit, and a factor for each that is set. */
function wholePower(base, exponent) {
  let result = base;
  for (let bit = 2 ** Math.floor(Math.log2(exponent)) / 2; bit >= 1; bit /= 2) {
    result *= result;
    if (exponent & bit) result *= base;
  }
  return result;
}

function squaredLength(x, y) {
  return x * x + y * y;
}

/**
 * What is known of each kernel: `value` of two points; `isDefinite`, whether it is positive
 * semi-definite, so that gaps are certified; `rounding`, how far off values of a point are, from
 * its squared length about the origin and about the centre of all.
 */
const KERNELS = {
  linear: {
    isDefinite: () => true,
    value: () => (x, y, u, v) => x * u + y * v,
    rounding: () => (square) => (0.25 * SUM_ROUNDINGS + 1) * EPS * square,
  },
  poly: {
    isDefinite: ({ coef0 }) => coef0 >= 0,
    value:
      ({ gamma, degree, coef0 }) =>
      (x, y, u, v) =>
        wholePower(gamma * (x * u + y * v) + coef0, degree),
    rounding: ({ gamma, degree, coef0 }) => {
      const terms = 0.25 * (degree + 1) * (SUM_ROUNDINGS + 4);
      return (square) => terms * EPS * (gamma * square + coef0) ** degree;
    },
  },
  rbf: {
    isDefinite: () => true,
    value:
      ({ gamma }) =>
      (x, y, u, v) =>
        Math.exp(-gamma * squaredLength(x - u, y - v)),
    rounding: ({ gamma }) => {
      const errors = (0.5 * SUM_ROUNDINGS + 3) * EPS;
      return (_, centred) => -Math.expm1(-gamma * errors * centred) + 2 * EPS;
    },
  },
  laplacian: {
    isDefinite: () => true,
    value:
      ({ gamma }) =>
      (x, y, u, v) =>
        Math.exp(-gamma * (Math.abs(x - u) + Math.abs(y - v))),
    rounding: () => () => 0.25 * (8 + SUM_ROUNDINGS) * EPS,
  },
  sigmoid: {
    isDefinite: () => false,
    value:
      ({ gamma, coef0 }) =>
      (x, y, u, v) =>
        Math.tanh(gamma * (x * u + y * v) + coef0),
    rounding: () => () => 0,
  },
};

/** Names of the kernels. */
export const ENGINE_KERNELS = Object.keys(KERNELS);

/**
 * Whether a kernel is positive semi-definite, so that a gap can be certified.
 * @param {KernelSettings} settings
 * @returns {boolean}
 */
export function isDefinite(settings) {
  return KERNELS[settings.kernel].isDefinite(settings);
}

/**
 * The gamma that "scale" stands for: 1 / (2 · variance of all coordinates).
 * @param {number[][]} points
 * @returns {number}
 */
export function scaleGamma(points) {
  const entries = points.flat();
  const mean = entries.reduce((sum, x) => sum + x, 0) / entries.length;
  const variance = entries.reduce((sum, x) => sum + (x - mean) ** 2, 0) / entries.length;
  return variance > 0 ? 1 / (2 * variance) : 1;
}

/**
 * Kernel values between all points, plus an offset: row by row, n times n.
 * @param {KernelSettings} settings
 * @param {number[][]} points
 * @param {number} offset The constant feature's part of each value.
 * @param {{points: number[][], gram: Float64Array}} [earlier] Of the same kernel and offset: values
 *   between points that are still in their places are taken from there.
 * @returns {Float64Array}
 */
export function gramOf(settings, points, offset, earlier = { points: [], gram: new Float64Array(0) }) {
  const value = KERNELS[settings.kernel].value(settings);
  const n = points.length;
  const before = earlier.points.length;
  const [xs, ys] = [0, 1].map((k) => Float64Array.from(points, (point) => point[k]));
  const isChanged = points.map((point, i) => i >= before || !isSamePoint(point, earlier.points[i]));
  if (n === before && !isChanged.includes(true)) return earlier.gram;
  const gram = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    const kept = isChanged[i] ? 0 : i + 1;
    gram.set(earlier.gram.subarray(i * before, i * before + kept), i * n);
    for (let j = 0; j <= i; j++) {
      if (j < kept && !isChanged[j]) continue;
      gram[i * n + j] = value(xs[i], ys[i], xs[j], ys[j]) + offset;
    }
  }
  mirror(gram, n);
  return gram;
}

/** Copy what is below the diagonal of a matrix to above it, in tiles that stay in the caches. */
function mirror(matrix, n) {
  for (let top = 0; top < n; top += TILE) {
    for (let left = 0; left <= top; left += TILE) {
      for (let i = top; i < Math.min(n, top + TILE); i++) {
        for (let j = left; j < Math.min(i, left + TILE); j++) matrix[j * n + i] = matrix[i * n + j];
      }
    }
  }
}

function isSamePoint([x, y], [u, v]) {
  return x === u && y === v;
}

/**
 * Bounds on the rounding of kernel values: that of points i and j is off by at most the sum of
 * theirs.
 * @param {KernelSettings} settings
 * @param {number[][]} points
 * @returns {Float64Array}
 */
export function roundingOf(settings, points) {
  const { rounding, value } = KERNELS[settings.kernel];
  const [bound, ofTwo] = [rounding(settings), value(settings)];
  const centre = centreOf(points);
  return Float64Array.from(points, ([x, y]) => {
    const own = bound(squaredLength(x, y), squaredLength(x - centre[0], y - centre[1]));
    return own + 0.25 * EPS * Math.abs(ofTwo(x, y, x, y));
  });
}

/**
 * Largest squared distance of a point from the centre of all.
 * @param {number[][]} points
 * @returns {number}
 */
export function squaredRadius(points) {
  const centre = centreOf(points);
  return Math.max(...points.map(([x, y]) => squaredLength(x - centre[0], y - centre[1])));
}

function centreOf(points) {
  return [0, 1].map((k) => points.reduce((sum, point) => sum + point[k], 0) / points.length);
}
