// @ts-check
/** Elements and icons, built by scripts alone so that a strict content policy holds. */

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** Outlines of the icons on a field of 16 by 16. */
const ICON_PATHS = {
  play: "M5 3.2v9.6L13 8z",
  pause: "M5 3v10M11 3v10",
  step: "M4 3.5v9L10 8zM12.5 3.5v9",
  epoch: "M2.5 3.5v9L7.5 8zM8 3.5v9L13 8zM14 3.5v9",
  add: "M8 3v10M3 8h10",
  spray: "M4 8h5v6H4zM5.2 8V5.5h2.6V8M10.5 4.6h.1M12.8 3h.1M12.8 6.2h.1",
  move: "M8 2v12M2 8h12M6 4l2-2 2 2M6 12l2 2 2-2M4 6L2 8l2 2M12 6l2 2-2 2",
  erase: "M6.5 13L2.8 9.3 9 3.1l4.2 4.2L7.5 13zM5.8 6.3L10 10.5M6.5 13H13",
  undo: "M6 3L3 6l3 3M3 6h6.5a3.5 3.5 0 0 1 0 7H6",
  redo: "M10 3l3 3-3 3M13 6H6.5a3.5 3.5 0 0 0 0 7H10",
  clear: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5L5 13h6l.5-8.5",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  export: "M8 2v8M5 7l3 3 3-3M3 11.5V13.5h10v-2",
  lesson: "M8 4.6C6.4 3.4 4.5 3 2.5 3v9.4c2 0 3.9.4 5.5 1.6 1.6-1.2 3.5-1.6 5.5-1.6V3c-2 0-3.9.4-5.5 1.6zM8 4.6V14",
  help: "M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.6M8 12.2v.3",
  theme: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  close: "M4 4l8 8M12 4l-8 8",
};

/**
 * An element with attributes and children.
 *
 * Keys of `attributes` that begin with "on" are listeners, `text` is the content; null and false leave
 * an attribute out.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node|string|null)} children
 * @returns {any}
 */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2).toLowerCase(), value);
    else if (key === "text") node.textContent = value;
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/**
 * An icon that screen readers pass over.
 * @param {keyof typeof ICON_PATHS} name
 * @returns {SVGElement}
 */
export function icon(name) {
  return drawing("0 0 16 16", ICON_PATHS[name], "kp-icon");
}

/**
 * A drawing of one path that screen readers pass over.
 * @param {string} box
 * @param {string} outline
 * @param {string} className
 */
export function drawing(box, outline, className) {
  const svg = document.createElementNS(SVG_NAMESPACE, "svg");
  const path = document.createElementNS(SVG_NAMESPACE, "path");
  svg.setAttribute("viewBox", box);
  svg.setAttribute("class", className);
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", outline);
  svg.append(path);
  return svg;
}

/**
 * A button with an icon, a text, or both; the label is what is read out and the tooltip.
 * @param {{label: string, onClick: () => void, icon?: keyof typeof ICON_PATHS, text?: string, class?: string,
 *          key?: string, pressed?: boolean}} options
 * @returns {HTMLButtonElement}
 */
export function button(options) {
  return el(
    "button",
    {
      type: "button",
      class: `kp-button ${options.class ?? ""}`.trim(),
      title: options.key ? `${options.label} (${options.key})` : options.label,
      "aria-label": options.text ? null : options.label,
      "aria-pressed": options.pressed === undefined ? null : String(options.pressed),
      onclick: options.onClick,
    },
    options.icon ? icon(options.icon) : null,
    options.text ? el("span", { text: options.text }) : null,
  );
}

/**
 * Write a text only where it changed: screen readers and layout are left alone otherwise.
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * Set or remove an attribute only where it changed.
 * @param {Element} node
 * @param {string} name
 * @param {string|boolean|null} value
 */
export function setAttribute(node, name, value) {
  const wanted = value === true ? "" : value === false ? null : value;
  if (node.getAttribute(name) === wanted) return;
  if (wanted === null) node.removeAttribute(name);
  else node.setAttribute(name, wanted);
}
