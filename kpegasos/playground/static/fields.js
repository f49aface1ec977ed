// @ts-check
/** Fields of forms: a label, a control, and below it the sentence that says what is wrong. */
import { el, setAttribute, setText } from "./dom.js";
import { formatShort, readNumber } from "./format.js";
import { PARAMETER_NAMES } from "./names.js";

const SLIDER_STEPS = 400;
let fieldCount = 0;

/**
 * What all fields share. `set` writes value, error and whether the field is there.
 * @typedef {{node: HTMLElement, set: (now: {value: any, error?: string|null, hidden?: boolean,
 *            placeholder?: string}) => void}} Field
 */

function createField(label, controls, main, write, hint) {
  const id = `kp-field-${++fieldCount}`;
  const error = el("p", { class: "kp-field-error", id: `${id}-error`, hidden: true });
  main.id = id;
  const node = el(
    "div",
    { class: "kp-field" },
    el("label", { class: "kp-field-label", for: id, title: hint ?? null, text: label }),
    el("div", { class: "kp-field-controls" }, ...controls),
    error,
  );
  return {
    node,
    set(now) {
      setAttribute(node, "hidden", Boolean(now.hidden));
      if (now.hidden) return;
      const wrong = now.error ?? null;
      setAttribute(error, "hidden", wrong === null);
      setText(error, wrong ?? "");
      setAttribute(main, "aria-invalid", wrong === null ? null : "true");
      setAttribute(main, "aria-describedby", wrong === null ? null : error.id);
      write(now);
    },
  };
}

/**
 * A number, typed or dragged.
 *
 * @param {{name: string, low: number, high: number, log?: boolean, whole?: boolean, hint?: string,
 *          words?: string[], onChange: (value: any, isDrag: boolean) => void,
 *          onWrong: (sentence: string) => void}} options; `words` are values that are no numbers
 * @returns {Field}
 */
export function numberField(options) {
  const label = PARAMETER_NAMES[options.name] ?? options.name;
  const input = el("input", {
    class: "kp-input kp-number",
    type: "text",
    inputmode: "decimal",
    autocomplete: "off",
    spellcheck: "false",
    onchange: () => read(),
  });
  const slider = el("input", {
    class: "kp-slider",
    type: "range",
    min: "0",
    max: String(SLIDER_STEPS),
    "aria-label": `${label}, slider`,
    oninput: () => options.onChange(valueAt(slider.value / SLIDER_STEPS), true),
  });
  const { low, high, log, whole } = options;

  function valueAt(share) {
    const exact = log ? low * (high / low) ** share : low + (high - low) * share;
    return whole ? Math.round(exact) : Number(exact.toPrecision(log ? 2 : 3));
  }

  function shareOf(value) {
    if (typeof value !== "number") return 0.5;
    const share = log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
    return Math.min(1, Math.max(0, share));
  }

  function read() {
    const text = input.value.trim();
    const value = options.words?.includes(text) ? text : readNumber(text);
    if (Number.isNaN(value)) options.onWrong(`${options.name} must be a number, got “${text}” instead`);
    else options.onChange(value, false);
  }

  return createField(
    label,
    [slider, input],
    input,
    ({ value, error, placeholder }) => {
      setAttribute(input, "placeholder", placeholder ?? null);
      // What was typed wrongly stays to be mended, and what is being typed is not overwritten.
      const typing = document.activeElement === input && input.value !== input.dataset.shown;
      const text = typeof value === "number" ? formatShort(value, 6) : (value ?? "");
      if (!error && (!typing || input.dataset.shown !== text)) input.value = text;
      input.dataset.shown = text;
      const at = String(Math.round(SLIDER_STEPS * shareOf(value)));
      if (slider.value !== at) slider.value = at;
    },
    options.hint,
  );
}

/**
 * A choice among some values, which have names.
 * @param {{label: string, names: Record<string, string>, hint?: string, onChange: (value: string) => void}} options
 * @returns {Field}
 */
export function selectField({ label, names, hint, onChange }) {
  const choices = Object.entries(names).map(([value, text]) => el("option", { value, text }));
  const select = el("select", { class: "kp-input", onchange: () => onChange(select.value) }, ...choices);
  const write = ({ value }) => {
    if (select.value !== value) select.value = value;
  };
  return createField(label, [select], select, write, hint);
}

/**
 * Yes or no.
 * @param {{label: string, hint?: string, onChange: (value: boolean) => void}} options
 * @returns {Field}
 */
export function toggleField(options) {
  const input = el("input", {
    class: "kp-switch",
    type: "checkbox",
    role: "switch",
    onchange: () => options.onChange(input.checked),
  });
  return createField(options.label, [input], input, ({ value }) => (input.checked = Boolean(value)), options.hint);
}

/**
 * A few choices beside each other, one of them pressed.
 * @param {{label: string, choices: {value: any, node: Node, label: string, key?: string}[],
 *          onChange: (value: any) => void}} options
 */
export function segmentedChoice(options) {
  const buttons = options.choices.map(({ value, node, label, key }) =>
    el(
      "button",
      {
        type: "button",
        class: "kp-segment",
        title: key ? `${label} (${key})` : label,
        "aria-label": label,
        onclick: () => options.onChange(value),
      },
      node,
    ),
  );
  return {
    node: el("div", { class: "kp-segments", role: "group", "aria-label": options.label }, ...buttons),
    /** @param {any} chosen */
    set(chosen) {
      options.choices.forEach(({ value }, k) => setAttribute(buttons[k], "aria-pressed", String(value === chosen)));
    },
  };
}
