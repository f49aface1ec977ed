// @ts-check
/** Numbers as people read them. */

/**
 * A number as people write it, with a decimal comma or commas between thousands.
 * @param {string} text
 * @returns {number} NaN if it is none
 */
export function readNumber(text) {
  const plain = text.replace(/\s/g, "").replace("−", "-");
  const isGrouped = /^[+-]?[1-9]\d{0,2}(,\d{3})+$/.test(plain);
  return plain === "" ? NaN : Number(isGrouped ? plain.replaceAll(",", "") : plain.replace(",", "."));
}

const MISSING_NUMBER = "–";

/**
 * A number with some significant digits.
 * @param {number|null|undefined} value
 * @param {number} [digits]
 * @returns {string}
 */
export function formatNumber(value, digits = 3) {
  if (value === null || value === undefined) return MISSING_NUMBER;
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
    return `${withMinus(mantissa)}e${withMinus(exponent.replace("+", ""))}`;
  }
  if (size >= 10 ** digits) return withMinus(withCommas(Math.round(value)));
  return withMinus(value.toPrecision(digits));
}

/**
 * A number without zeros at its end.
 * @param {number|null|undefined} value
 * @param {number} [digits]
 * @returns {string}
 */
export function formatShort(value, digits = 4) {
  if (value === null || value === undefined) return MISSING_NUMBER;
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-4))
    return Number(value.toPrecision(digits)).toExponential().replace("+", "");
  return String(Number(value.toPrecision(Math.max(digits, Math.ceil(Math.log10(size + 1))))));
}

/**
 * @param {number|null|undefined} value a share of one
 * @returns {string}
 */
export function formatPercent(value) {
  if (value === null || value === undefined) return MISSING_NUMBER;
  const percent = 100 * value;
  if (percent !== 0 && percent < 0.095) return `${formatNumber(percent, 1)} %`;
  return `${percent.toFixed(percent < 9.95 ? 2 : 1)} %`;
}

/**
 * A whole number with commas.
 * @param {number|null|undefined} value
 * @returns {string}
 */
export function formatWhole(value) {
  return value === null || value === undefined ? MISSING_NUMBER : withCommas(value);
}

/**
 * A number of epochs, to a tenth.
 * @param {number|null|undefined} value
 * @returns {string}
 */
export function formatEpoch(value) {
  if (value === null || value === undefined) return MISSING_NUMBER;
  return value < 9.95 ? value.toFixed(2) : formatWhole(Math.round(10 * value) / 10);
}

/** @param {number} number of a class; its letter */
export function classLetter(number) {
  return "ABCD"[number];
}

/** As toLocaleString does it, in a hundredth of the time. */
function withCommas(value) {
  const [whole, decimals] = String(value).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return decimals === undefined ? grouped : `${grouped}.${decimals}`;
}

function withMinus(text) {
  return text.replace("-", "−");
}
