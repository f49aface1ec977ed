// @ts-check
/** The rule of a step, with the numbers of the step at hand. */
import { el } from "./dom.js";
import { classLetter, formatNumber, formatShort } from "./format.js";

/** Examples of a batch that are written out. */
const SHOWN_EXAMPLES = 3;

/**
 * @param {number} number of the pane
 */
export function createExplanation(number) {
  const node = el("div", { class: "kp-explain" });
  let written = null;
  return {
    node,
    update(ui) {
      const step = ui.frame?.explain?.[number] ?? null;
      if (step === written && node.hasChildNodes()) return;
      written = step;
      node.replaceChildren(...(step ? linesOfStep(step, ui.frame, number) : [el("p", { text: missingText(ui) })]));
    },
  };
}

function missingText(ui) {
  if (ui.frame?.algorithm !== "pegasos" && ui.frame) return "Another algorithm has no step of Pegasos to explain.";
  return ui.t === 0 ? "No step yet: the model is zero. Take one." : "The step is being worked out.";
}

/** A line for each part of the step; one for each example of a batch. */
function linesOfStep(step, frame, number) {
  const { examples, pair, t, step_size: size } = step;
  const shown = examples.slice(0, SHOWN_EXAMPLES);
  const pulling = examples.filter(({ pull }) => pull > 0);
  const rest = examples.length > shown.length ? [["", `and ${examples.length - shown.length} more`]] : [];
  const rows = [
    ...shown.flatMap((example) => rowsOfExample(example, pair, frame.panes[number].counts)),
    ...rest,
    [
      "step",
      frame.state.step
        ? `η = ${formatNumber(size)}`
        : `η = 1 / (λt) = 1 / (${formatShort(1 / (size * t), 3)} · ${t}) = ${formatNumber(size)}`,
    ],
    ["update", updateText(step, frame.state, pulling)],
  ];
  const line = ([name, text]) =>
    el("tr", {}, el("th", { scope: "row", text: name }), el("td", { class: "kp-formula", text }));
  const remark = pulling.length ? "" : " No margin is violated: w only shrinks.";
  return [
    el("p", {
      text: `Step ${t}, with class ${classLetter(pair[1])} as +1 and ${classLetter(pair[0])} as −1.${remark}`,
    }),
    el("table", {}, el("tbody", {}, ...rows.map(line))),
  ];
}

function rowsOfExample({ i, label, decision, margin, pull }, pair, counts) {
  const count = counts?.[i] ?? null;
  const sign = label > 0 ? "+1" : "−1";
  // A margin that is 1 but for rounding does not pull.
  const violated = pull > 0 && margin < 1;
  const drawn = `i = ${i}, class ${classLetter(pair[label > 0 ? 1 : 0])}: y = ${sign}`;
  return [
    ["draw", count === null ? drawn : `${drawn}, α = ${formatShort(count)}`],
    [
      "margin",
      `y f(x) = ${sign} · ${inBrackets(decision)} = ${formatNumber(margin)} ${violated ? "< 1: violated" : "≥ 1"}`,
    ],
  ];
}

function inBrackets(value) {
  return value < 0 ? `(${formatNumber(value)})` : formatNumber(value);
}

/** w ← (1 − ηλ) w + η/k · Σ pull · y φ(x), with numbers. */
function updateText({ t, step_size: size, examples }, state, pulling) {
  const factor = state.step ? "(1 − ηλ)" : formatNumber(1 - 1 / t, 4);
  const terms = pulling.slice(0, SHOWN_EXAMPLES).map(({ i, label, pull }) => {
    const share = formatNumber((size * pull) / examples.length);
    return `${label > 0 ? "+" : "−"} ${share} φ(x${subscript(i)})`;
  });
  if (pulling.length > SHOWN_EXAMPLES) terms.push("+ …");
  return ["w ←", factor, "w", ...terms].join(" ");
}

function subscript(number) {
  return String(number).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[Number(digit)]);
}
