// @ts-check
/** Colours of what is drawn on canvases, read from the style sheet so that each is written once. */

/**
 * @typedef {{classes: string[], tints: number[][], paper: string, ink: string, muted: string, line: string,
 *            band: string, mark: string}} Palette
 */

/**
 * The colours of the theme in force.
 * @param {HTMLElement} root
 * @returns {Palette}
 */
export function readPalette(root) {
  // A variable is text; only a property that uses it has the colour of the theme.
  const probe = root.appendChild(document.createElement("span"));
  const read = (name) => {
    probe.style.color = `var(--kp-${name})`;
    return getComputedStyle(probe).color;
  };
  const classes = [0, 1, 2, 3].map((number) => read(`class-${number}`));
  const names = ["paper", "ink", "muted", "line", "band", "mark"];
  const palette = {
    classes,
    tints: classes.map(partsOf),
    ...Object.fromEntries(names.map((name) => [name, read(name)])),
  };
  probe.remove();
  return /** @type {Palette} */ (palette);
}

/** @param {string} color as rgb(red, green, blue) */
function partsOf(color) {
  return color.match(/\d+/g).slice(0, 3).map(Number);
}
