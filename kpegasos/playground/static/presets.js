/**
 * Points to begin with: the toy data of `kpegasos.datasets`, drawn by the random numbers of NumPy.
 */
import { ENGINE_LIMITS, RefusedError, requireChoice, requireNumber } from "./checks.js";
import { MersenneTwister } from "./mersenne.js";

/** Share of the rare class of "imbalanced". */
const RARE_SHARE = 0.1;
/** Distance of the clouds of "label_noise", in their standard deviations. */
const CLOUD_DISTANCE = 6;
/** A deviation of zero would put points on top of each other. */
const LEAST_NOISE = 1e-9;
const SPIRAL_TURNS = 1.5;

/** Numbers from 0 to count - 1, each made into something. */
function ofEach(count, make) {
  return Array.from({ length: count }, (_, i) => make(i));
}

/** Python's rounding: halves to the even number. */
function rounded(x) {
  const floor = Math.floor(x);
  if (x - floor !== 0.5) return Math.round(x);
  return floor % 2 === 0 ? floor : floor + 1;
}

function inOrder(order, points, labels) {
  return { points: order.map((i) => points[i]), labels: order.map((i) => labels[i]) };
}

function withNoise({ points, labels }, noise, rng) {
  return { points: points.map(([x, y]) => [x + noise * rng.normal(), y + noise * rng.normal()]), labels };
}

/** The order is drawn before the noise, but the noise is of the points as they stood. */
function noisyThenShuffled(points, labels, noise, rng) {
  const order = rng.permutation(points.length);
  return inOrder(order, withNoise({ points, labels }, noise, rng).points, labels);
}

/** As scikit-learn does: shuffled, then noisy. */
function shuffledThenNoisy(points, labels, noise, rng) {
  return withNoise(inOrder(rng.permutation(points.length), points, labels), noise, rng);
}

function twoHalves(n) {
  const first = Math.floor(n / 2);
  return { first, second: n - first, labels: ofEach(n, (i) => (i < first ? 0 : 1)) };
}

const PRESET_MAKERS = {
  moons({ n, noise }, rng) {
    const { first, second, labels } = twoHalves(n);
    const angle = (i, count) => (count > 1 ? (Math.PI * i) / (count - 1) : 0);
    const outer = ofEach(first, (i) => [Math.cos(angle(i, first)), Math.sin(angle(i, first))]);
    const inner = ofEach(second, (i) => [1 - Math.cos(angle(i, second)), 0.5 - Math.sin(angle(i, second))]);
    return shuffledThenNoisy([...outer, ...inner], labels, noise, rng);
  },

  circles({ n, noise }, rng) {
    const { first, second, labels } = twoHalves(n);
    const circle = (count, radius) =>
      ofEach(count, (i) => {
        const angle = (2 * Math.PI * i) / count;
        return [radius * Math.cos(angle), radius * Math.sin(angle)];
      });
    return shuffledThenNoisy([...circle(first, 1), ...circle(second, 0.5)], labels, noise, rng);
  },

  xor({ n, noise }, rng) {
    const signs = [[1, 1], [-1, 1], [-1, -1], [1, -1]];
    const points = ofEach(n, (i) => signs[i % 4].map((sign) => sign * rng.uniform()));
    return noisyThenShuffled(points, ofEach(n, (i) => (i % 4) % 2), noise, rng);
  },

  spirals({ n, noise }, rng) {
    const radii = ofEach(n, () => Math.sqrt(rng.uniform()));
    const points = radii.map((radius, i) => {
      const angle = 2 * Math.PI * SPIRAL_TURNS * radius + Math.PI * (i % 2);
      return [radius * Math.cos(angle), radius * Math.sin(angle)];
    });
    return noisyThenShuffled(points, ofEach(n, (i) => i % 2), noise, rng);
  },

  blobs({ n, noise, classes }, rng) {
    const labels = ofEach(classes, (k) => Math.floor(n / classes) + (k < n % classes ? 1 : 0)).flatMap(
      (count, k) => ofEach(count, () => k),
    );
    const centres = labels.map((k) => (2 * Math.PI * k) / classes).map((a) => [Math.cos(a), Math.sin(a)]);
    const { points } = withNoise({ points: centres, labels }, Math.max(noise, LEAST_NOISE), rng);
    return inOrder(rng.permutation(n), points, labels);
  },

  imbalanced({ n, noise }, rng) {
    const rare = Math.max(1, rounded(RARE_SHARE * n));
    const labels = rng.permutation(n).map((i) => (i < n - rare ? 0 : 1));
    const points = labels.map((label) => [label - 0.5, label - 0.5]);
    return withNoise({ points, labels }, Math.max(noise, LEAST_NOISE), rng);
  },

  label_noise({ n, noise }, rng) {
    if (noise > 1) throw new RefusedError("noise", "be a fraction of labels for 'label_noise'", noise);
    const labels = ofEach(n, (i) => i % 2);
    const points = labels.map((label) => [0, 1].map(() => ((label - 0.5) * CLOUD_DISTANCE) / Math.sqrt(2)));
    for (const i of rng.permutation(n).slice(0, rounded(noise * n))) labels[i] = 1 - labels[i];
    const drawn = noisyThenShuffled(points, labels, 1, rng);
    return { ...drawn, points: drawn.points.map(([x, y]) => [x / 3, y / 3]) };
  },
};

/** Names of the presets. */
export const ENGINE_PRESETS = Object.keys(PRESET_MAKERS);

/**
 * Points of a preset.
 * @param {Object} request Of kind "preset".
 * @returns {{points: number[][], labels: number[], test: boolean[]}}
 */
export function presetPoints(request) {
  const { name, n, noise, test_share: share = 0, classes = 2, seed = 0 } = request;
  requireChoice("name", name, ENGINE_PRESETS);
  requireNumber("n", n, 2, ENGINE_LIMITS.points, true);
  requireNumber("noise", noise, 0, 10);
  requireNumber("test_share", share, 0, 0.9);
  requireNumber("classes", classes, 2, ENGINE_LIMITS.classes, true);
  requireNumber("seed", seed, 0, 2 ** 32 - 1, true);
  if (classes !== 2 && name !== "blobs") {
    throw new RefusedError("classes", `be 2 for '${name}'`, classes);
  }
  const rng = new MersenneTwister(seed);
  const { points, labels } = PRESET_MAKERS[name]({ n, noise, classes }, rng);
  const test = labels.map(() => false);
  for (const i of rng.permutation(n).slice(0, rounded(share * n))) test[i] = true;
  return { points, labels, test };
}
