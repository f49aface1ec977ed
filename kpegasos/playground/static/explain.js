// @ts-check
/** The rule of a step, with the numbers of the step at hand. */
import { el } from "./dom.js";
import { classLetter, formatNumber, formatShort } from "./format.js";

/** Examples of a batch that are written out. */
const SHOWN_EXAMPLES = 5;

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

function linesOfStep(step, frame, number) {
  const { examples, step_size: size } = step;
  const settings = frame.state;
  const shrink = settings.step ? null : 1 - 1 / step.t;
  const counts = frame.panes[number].counts;
  const shown = examples.slice(0, SHOWN_EXAMPLES);
  const lines = [
    el("p", {}, `Step ${step.t} draws ${examples.length === 1 ? "one example" : `${examples.length} examples`}; class ${classLetter(step.pair[1])} is +1, ${classLetter(step.pair[0])} is −1.`),
    el("table", {}, el("tbody", {}, ...shown.map((example) => rowOfExample(example, counts)))),
  ];
  if (examples.length > shown.length) lines.push(el("p", { text: `and ${examples.length - shown.length} more` }));
  const violators = examples.filter((example) => example.violated);
  lines.push(
    settings.step
      ? el("p", {}, formula(`η = ${formatNumber(size)}`))
      : el("p", {}, formula(`η = 1 / (λt) = 1 / (${formatShort(1 / (size * step.t), 3)} · ${step.t}) = ${formatNumber(size)}`)),
    el("p", {}, formula(updateText(shrink, size, violators, examples.length))),
  );
  if (!violators.length) lines.push(el("p", { class: "kp-caption", text: "No margin is violated: the step only shrinks w." }));
  return lines;
}

function rowOfExample({ i, label, decision, margin, violated }, counts) {
  const sign = label > 0 ? "+1" : "−1";
  const count = counts?.[i] ?? null;
  return el(
    "tr",
    { class: violated ? "kp-violated" : null },
    el("th", { scope: "row", text: `i = ${i}` }),
    el("td", {}, formula(`y = ${sign}`)),
    el("td", {}, formula(`f(x) = ${formatNumber(decision)}`)),
    el("td", {}, formula(`y f(x) = ${formatNumber(margin)} ${violated ? "< 1, violated" : "≥ 1"}`)),
    el("td", {}, count === null ? "" : formula(`α = ${formatShort(count)}`)),
  );
}

/** w ← (1 − ηλ) w + η/k · Σ y φ(x), with numbers. */
function updateText(shrink, size, violators, batch) {
  const factor = shrink === null ? "(1 − ηλ)" : formatNumber(shrink, 4);
  const terms = violators.slice(0, 3).map(({ i, label }) => `${label > 0 ? "+" : "−"} ${formatNumber(size / batch)} φ(x${subscript(i)})`);
  if (violators.length > 3) terms.push("+ …");
  return `w ← ${factor} w ${terms.join(" ")}`.trim();
}

function subscript(number) {
  return String(number).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[Number(digit)]);
}

function formula(text) {
  return el("span", { class: "kp-formula", text });
}
