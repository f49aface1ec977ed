// @ts-check
/** Playing: how the number of steps grows with the seconds. */
import { ENGINE_LIMITS } from "./checks.js";

/** Speeds in steps or epochs a second. Up to `SINGLE_LIMIT` steps a second each draw can be seen. */
export const SPEEDS = [
  { name: "1 step/s", steps: 1 },
  { name: "4 steps/s", steps: 4 },
  { name: "20 steps/s", steps: 20 },
  { name: "1 epoch/s", epochs: 1 },
  { name: "5 epochs/s", epochs: 5 },
  { name: "20 epochs/s", epochs: 20 },
  { name: "100 epochs/s", epochs: 100 },
];

const SINGLE_LIMIT = 20;

/** Longest time between two pictures that counts, in seconds: a hidden page stands still. */
const LONGEST_LAPSE = 0.25;

/**
 * @param {number} speed index of SPEEDS
 * @param {number} epochSteps steps of one epoch
 */
export function stepsPerSecond(speed, epochSteps) {
  const { steps, epochs } = SPEEDS[speed];
  return steps ?? epochs * epochSteps;
}

/** @param {number} speed; whether it is slow enough to see each draw */
export function showsSingleSteps(speed) {
  return (SPEEDS[speed].steps ?? Infinity) < SINGLE_LIMIT;
}

/**
 * Steps of one epoch.
 * @param {number} nPoints
 * @param {number} batchSize
 */
export function stepsPerEpoch(nPoints, batchSize) {
  return Math.max(1, nPoints / Math.max(1, batchSize));
}

/** A clock that is asked before each picture how far the steps have come. */
export function createClock() {
  let last = 0;
  let exact = 0;
  return {
    /** @param {number} now in milliseconds */
    start(t, now) {
      exact = t;
      last = now;
    },
    /**
     * Steps at a moment.
     * @param {number} now in milliseconds
     * @param {number} rate in steps a second
     */
    advance(now, rate) {
      exact += rate * Math.min(LONGEST_LAPSE, (now - last) / 1000);
      last = now;
      exact = Math.min(exact, ENGINE_LIMITS.steps);
      return Math.floor(exact);
    },
  };
}
