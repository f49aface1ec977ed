// @ts-check
/** The lesson of the documentation, step by step: a state to look at, and what is to be seen. */
import { button, el, setAttribute, setText } from "./dom.js";
import { presetPoints } from "./presets.js";
import { completeState } from "./state.js";

const CIRCLES = { name: "circles", n: 200, noise: 0.1, test_share: 0, classes: 2, seed: 0 };
const NOISY_MOONS = { ...CIRCLES, name: "moons", noise: 0.3, test_share: 0.5 };
const LINE = { kernel: "linear" };
const SQUARES = { kernel: "poly", degree: 2, gamma: 1, coef0: 1 };
const RBF_1 = { kernel: "rbf", gamma: 1 };
const RBF_2 = { kernel: "rbf", gamma: 2 };

/** @type {{text: string, preset: any, panes: any[], C: number, t: number}[]} */
export const LESSON = [
  {
    text: "No line divides circles: left, the objective settles at 1, and the dual bound proves that more steps do not help. Right, only the inner product is another one.",
    preset: CIRCLES,
    panes: [LINE, RBF_1],
    C: 10,
    t: 20_000,
  },
  {
    text: "A circle is linear in the squares of the coordinates: a polynomial of degree 2, left, has a small error as well.",
    preset: CIRCLES,
    panes: [SQUARES, RBF_1],
    C: 10,
    t: 20_000,
  },
  {
    text: "XOR is the sign of a product of coordinates: a line, left, fails, and degree 2 succeeds for the same reason.",
    preset: { ...CIRCLES, name: "xor" },
    panes: [LINE, SQUARES],
    C: 10,
    t: 20_000,
  },
  {
    text: "Moons, half of them held out. A large λ allows only a small ‖w‖: every point is a support vector, the boundary is smooth. Move C.",
    preset: NOISY_MOONS,
    panes: [RBF_2],
    C: 0.01,
    t: 20_000,
  },
  {
    text: "A small λ pays for every violation: the boundary winds round single points, and more of those held out are wrong.",
    preset: NOISY_MOONS,
    panes: [RBF_2],
    C: 1000,
    t: 20_000,
  },
  {
    text: "λ sets the pace, as the step is 1/(λt): here the gap is below 1% after 2,000 steps. Explain the step writes them out.",
    preset: NOISY_MOONS,
    panes: [RBF_2],
    C: 0.1,
    t: 2000,
  },
  {
    text: "The optimum lies in the band between the objective, solid, and the dual bound, dashed: the certified gap, which needs no optimum and no other solver.",
    preset: NOISY_MOONS,
    panes: [RBF_2],
    C: 1,
    t: 20_000,
  },
  {
    text: "tanh is no inner product: the dual is no bound, and the tile says so instead of a number.",
    preset: NOISY_MOONS,
    panes: [{ kernel: "sigmoid", gamma: 1, coef0: 0 }],
    C: 1,
    t: 2000,
  },
];

/**
 * What a step shows.
 * @param {number} number from 0 on
 */
export function lessonState(number) {
  const { preset, panes, C } = LESSON[number];
  return completeState({ ...presetPoints(preset), panes, C });
}

/** A strip with the sentence of a step. @param {any} actions */
export function createLesson(actions) {
  const text = el("p", { role: "status" });
  const move = (by) => () => actions.openLesson(actions.ui().lesson + by);
  const back = button({ label: "Step of the lesson before this one", text: "Back", onClick: move(-1) });
  const next = button({ label: "Next step of the lesson", text: "Next", class: "kp-primary", onClick: move(1) });
  const close = button({ label: "End the lesson", icon: "close", onClick: () => actions.openLesson(null) });
  const node = el("section", { class: "kp-lesson", "aria-label": "Lesson", hidden: true }, text, back, next, close);
  return {
    node,
    update({ lesson }) {
      setAttribute(node, "hidden", lesson === null);
      if (lesson === null) return;
      setText(text, `${lesson + 1} of ${LESSON.length}. ${LESSON[lesson].text}`);
      setAttribute(back, "disabled", lesson === 0);
      setAttribute(next, "disabled", lesson === LESSON.length - 1);
    },
  };
}
