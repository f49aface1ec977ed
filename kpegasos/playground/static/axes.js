// @ts-check
/** Scales of charts, linear or logarithmic, and their ticks. */

/**
 * @typedef {{at: (value: number) => number, back: (place: number) => number, ticks: {value: number, text: string}[]}} Scale
 */

/**
 * A scale from values to places on a canvas.
 *
 * A logarithmic one places what is not positive at its lower end.
 * @param {number} low
 * @param {number} high
 * @param {boolean} log
 * @param {number} from place of `low`
 * @param {number} to place of `high`
 * @param {number} [most] ticks
 * @returns {Scale}
 */
export function createScale(low, high, log, from, to, most = 5) {
  const forward = log ? (value) => Math.log(Math.max(value, low)) : (value) => value;
  const [start, extent] = [forward(low), forward(high) - forward(low) || 1];
  return {
    at: (value) => from + ((forward(value) - start) / extent) * (to - from),
    back(place) {
      const exact = start + ((place - from) / (to - from)) * extent;
      return log ? Math.exp(exact) : exact;
    },
    ticks: (log ? logTicks(low, high, most) : linearTicks(low, high, most)).map((value) => ({
      value,
      text: tickText(value),
    })),
  };
}

function linearTicks(low, high, most) {
  const rough = (high - low) / most || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-9); k++)
    ticks.push(Number((k * step).toPrecision(10)));
  return ticks;
}

function logTicks(low, high, most) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const within = (value) => value >= low * 0.999 && value <= high * 1.001;
  for (const factors of [
    [1, 2, 5],
    [1, 3],
  ]) {
    const ticks = powers(first, last, 1)
      .flatMap((power) => factors.map((factor) => Number((factor * power).toPrecision(6))))
      .filter(within);
    if (ticks.length <= most) return ticks;
  }
  return powers(first, last, Math.ceil((last - first) / most)).filter(within);
}

function powers(first, last, step) {
  const found = [];
  for (let exponent = first; exponent <= last; exponent += step) found.push(Number(`1e${exponent}`));
  return found;
}

function tickText(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${value / 1e6}M`;
  if (size >= 1e3) return `${value / 1e3}k`;
  if (size !== 0 && size < 1e-3) return value.toExponential(0).replace("-", "−");
  return String(value).replace("-", "−");
}
