/**
 * Values and lines as Python writes them.
 */

/**
 * A float as Python shows it.
 * @param {number} x Finite.
 * @returns {string}
 */
export function pythonFloat(x) {
  if (Object.is(x, -0)) return "-0.0";
  const size = Math.abs(x);
  if (size === 0 || (size >= 1e-4 && size < 1e16)) {
    return Number.isInteger(x) ? `${x}.0` : String(x);
  }
  return x.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}

/**
 * A value as Python shows it; numbers are floats.
 * @param {string|number|boolean|null} value
 * @returns {string}
 */
export function pythonValue(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return typeof value === "number" ? pythonFloat(value) : `'${value}'`;
}

/**
 * A list as Python shows it.
 * @param {string[]} shown
 * @returns {string}
 */
export function pythonList(shown) {
  return `[${shown.join(", ")}]`;
}

/**
 * Text in lines of at most so many characters, each indented by four blanks.
 * @param {string} text
 * @param {number} width
 * @returns {string}
 */
export function wrapped(text, width) {
  const lines = [];
  for (const word of text.split(" ")) {
    const last = lines.length - 1;
    if (last >= 0 && lines[last].length + 1 + word.length <= width) lines[last] += ` ${word}`;
    else lines.push(`    ${word}`);
  }
  return lines.join("\n");
}
