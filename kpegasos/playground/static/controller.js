// @ts-check
/**
 * What the page is showing, and everything that can be done to it.
 *
 * All that views draw is one object, made by `snapshot` before each drawing; views call actions, and
 * actions change what the next snapshot says.
 */
import { ENGINE_LIMITS, refusalOf } from "./checks.js";
import { createClock, showsSingleSteps, stepsPerEpoch, stepsPerSecond } from "./clock.js";
import { SETTING_KEYS } from "./controls.js";
import { DATA_KEYS } from "./data.js";
import { areFarFromStandard, epochSize, trainClasses, withData, withKernel } from "./edits.js";
import { withMovedPoint, withoutPoints, withPoints, withSetting, withStandardPoints } from "./edits.js";
import { LESSON, lessonState } from "./lesson.js";
import { PARAMETER_NAMES } from "./names.js";
import { createRequests } from "./requests.js";
import { completeState, createHistory, emptyDocument } from "./state.js";
import { DEFAULT_VIEW, viewOf } from "./viewport.js";

/** Epochs that the time axis has at least. */
const FIRST_EPOCHS = 20;

const FAR_FROM_STANDARD = {
  tone: "info",
  text: "The columns have other sizes than 1, which kernels of distances expect: “Standardise” scales them.",
};

/** Milliseconds after an edit or a pause at which what is shown is kept. */
const KEEPING_TIME = 200;

const FIRST_PRESET = { name: "moons", n: 200, noise: 0.2, test_share: 0.25, classes: 2, seed: 0 };

/**
 * @param {any} engine
 * @param {{state?: any, view?: any, t?: number|null, names?: string[]|null, lesson?: number|null, table?: string,
 *          draw: () => void, keep?: (shown: any) => void}} options
 */
export function createController(engine, options) {
  const history = createHistory(emptyDocument());
  const clock = createClock();
  const ui = {
    frame: null,
    curves: null,
    revision: 0,
    t: 0,
    furthest: 0,
    playing: false,
    stopArmed: true,
    speed: 4,
    tolerance: 0.01,
    tab: "curves",
    tool: "add",
    label: 0,
    heldOut: false,
    errors: {},
    refused: -1,
    working: 0,
    notice: null,
    preset: FIRST_PRESET,
    lesson: null,
  };
  let keepTimer = 0;
  let drawing = 0;
  let isAsked = false;

  const requests = createRequests({ engine, ui, about, takeData, takeFrame, fail, set });

  function start() {
    const { table, lesson = null, state, names = null, view, t } = options;
    if (state?.points.length) {
      const whole = completeState(state);
      history.reset({ state: whole, view: view ?? viewOf(whole.points), names });
      Object.assign(ui, { lesson, t: t ?? Math.round(epochSteps()) });
    } else if (lesson !== null) {
      openLesson(lesson);
    } else {
      if (state) history.reset({ state: completeState(state), view: DEFAULT_VIEW });
      requests.loadPreset();
      if (table !== undefined) requests.actions.loadTable(table);
      ui.t = Math.round(epochSteps());
    }
    // Nothing of this can be undone, and the address says it already.
    history.reset(history.document);
    clearTimeout(keepTimer);
    ask();
  }

  function epochSteps() {
    const { state } = history.document;
    return stepsPerEpoch(epochSize(state), state.batch_size);
  }

  function render() {
    if (!drawing) drawing = requestAnimationFrame(draw);
  }

  function draw() {
    drawing = 0;
    tick();
    if (isAsked) answer();
    options.draw();
  }

  /** Goes on with the steps while playing. */
  function tick() {
    if (!ui.playing) return;
    render();
    const t = clock.advance(performance.now(), stepsPerSecond(ui.speed, epochSteps()));
    if (t <= ui.t) return;
    ui.t = t;
    ask();
    if (t >= ENGINE_LIMITS.steps) pause();
  }

  /** Asks for the frame of what the page says when it is drawn next. */
  function ask() {
    ui.furthest = Math.max(ui.furthest, ui.t);
    isAsked = true;
    render();
  }

  function answer() {
    isAsked = false;
    try {
      takeFrame(engine.show(about()));
    } catch (error) {
      const { parameter, message } = refusalOf(error);
      Object.assign(ui, { playing: false, refused: ui.revision });
      fail(parameter, message);
    }
  }

  /** What the page says now, as a wish. */
  function about() {
    const { state } = history.document;
    return { state, revision: ui.revision, t: ui.t, explain: ui.tab === "explain" };
  }

  function takeFrame(frame) {
    Object.assign(ui, { frame, refused: -1 });
    if (frame.algorithm !== "pegasos") return;
    // Who goes back sees how the run went on.
    if (ui.curves?.revision !== frame.revision || ui.curves.t <= frame.t) {
      const { revision, t, panes } = frame;
      ui.curves = panes.length ? { revision, t, panes: panes.map((pane) => pane.history) } : null;
    }
    if (ui.playing && ui.stopArmed && toleranceReached()) pause();
  }

  function toleranceReached() {
    const gaps = (ui.frame?.panes ?? []).filter((pane) => !pane.certificate).map((pane) => pane.gap);
    return ui.tolerance > 0 && gaps.length > 0 && gaps.every((gap) => gap !== null && gap <= ui.tolerance);
  }

  /** Whether another algorithm's model is shown or on its way. */
  function showsOther() {
    return ui.working > 0 || Boolean(ui.frame?.revision === ui.revision && ui.frame.algorithm !== "pegasos");
  }

  function trainable() {
    return trainClasses(history.document.state).length > 1;
  }

  function changed() {
    ui.revision++;
    ui.errors = {};
    ui.notice = null;
    keepSoon();
  }

  /** Tells whoever keeps it what is shown, unless the engine refuses it. */
  function keepSoon() {
    clearTimeout(keepTimer);
    keepTimer = setTimeout(() => {
      const { state, view, names = null } = history.document;
      if (ui.refused !== ui.revision) options.keep?.({ state, view, names, t: ui.t, lesson: ui.lesson });
    }, KEEPING_TIME);
  }

  function edit(next, key = null, changes = {}) {
    if (next === history.document.state) return;
    history.edit({ ...history.document, state: next, ...changes }, key);
    changed();
    ask();
  }

  /** Python has set the state, or the step. */
  function replace(page) {
    const state = completeState(page.state);
    const isSame = JSON.stringify(state) === JSON.stringify(completeState(history.document.state));
    if (isSame && page.t === ui.t) return;
    Object.assign(ui, { t: page.t, playing: false });
    if (isSame) seek(page.t);
    else edit(state, null, { view: viewOf(state.points), names: null });
  }

  /** Shows a step of the lesson, or no more of it. */
  function openLesson(lesson) {
    set({ lesson });
    if (lesson === null) return;
    const [{ preset, t }, state] = [LESSON[lesson], lessonState(lesson)];
    set({ preset, t, furthest: t, playing: false });
    edit(state, null, { view: viewOf(state.points), names: null });
  }

  function pause() {
    ui.playing = false;
    keepSoon();
    render();
  }

  function seek(t) {
    ui.playing = false;
    ui.errors = { ...ui.errors, t: null };
    ui.t = Math.max(0, Math.min(Math.round(t), ENGINE_LIMITS.steps));
    ask();
    keepSoon();
  }

  /** Says what is wrong, in the page's words, at the controls of the parameter or else above all. */
  function fail(parameter, message) {
    const text = message.replace(/^(?:panes\[\d\]\.|step\.)?(\w+)/, (_, name) => PARAMETER_NAMES[name] ?? name);
    const places = placesOf(parameter);
    if (places.length) ui.errors = { ...ui.errors, ...Object.fromEntries(places.map((place) => [place, text])) };
    else ui.notice = { tone: "error", text };
    render();
  }

  /** The controls that a parameter belongs to. */
  function placesOf(parameter) {
    if (!parameter) return [];
    if (parameter === "step.scale") return ["scale"];
    if (/^panes\[\d\]\.(kernel|gamma|degree|coef0)$/.test(parameter)) return [parameter];
    if (["gamma", "degree", "coef0", "kernel"].includes(parameter)) {
      return history.document.state.panes.map((_, k) => `panes[${k}].${parameter}`);
    }
    return [...SETTING_KEYS, ...DATA_KEYS, "t"].includes(parameter) ? [parameter] : [];
  }

  function takeData(data, key) {
    const { points, names = null } = data;
    edit(withData(history.document.state, data), key, { view: viewOf(points), names });
    if (names && areFarFromStandard(points)) ui.notice = FAR_FROM_STANDARD;
  }

  const actions = {
    ...requests.actions,
    ui: snapshot,
    render,
    fail,
    seek,
    openLesson,
    addPoint(point, key) {
      const { state } = history.document;
      if (state.points.length >= ENGINE_LIMITS.points) {
        const most = ENGINE_LIMITS.points.toLocaleString("en");
        const text = `There are ${most} points, the most that are taken. Erase some, or take a smaller preset.`;
        actions.notify({ tone: "error", text });
      } else {
        // A drawing on a board that was cleared has its own time.
        if (!state.points.length) Object.assign(ui, { t: 0, furthest: 0, playing: false });
        edit(withPoints(state, [point], ui.label, ui.heldOut), key);
      }
    },
    movePoint: (index, point, key) => edit(withMovedPoint(history.document.state, index, point), key),
    erasePoint: (index, key) => edit(withoutPoints(history.document.state, new Set([index])), key),
    clear: () => edit(withData(history.document.state, { points: [], labels: [], test: [] })),
    setSetting: (key, value, isDrag) =>
      edit(withSetting(history.document.state, key, value), isDrag ? `setting-${key}` : null),
    setKernel: (number, key, value, isDrag) =>
      edit(withKernel(history.document.state, number, key, value), isDrag ? `kernel-${number}-${key}` : null),
    undo: () => travel(history.undo),
    redo: () => travel(history.redo),
    fitView() {
      history.edit({ ...history.document, view: viewOf(history.document.state.points) }, "view");
      keepSoon();
      render();
    },
    standardise() {
      const next = withStandardPoints(history.document.state);
      edit(next, null, { view: viewOf(next.points) });
    },
    setTool: (tool) => set({ tool }),
    setLabel: (label) => set({ label, tool: ui.tool === "spray" ? "spray" : "add" }),
    toggleHeldOut: () => set({ heldOut: !ui.heldOut }),
    setSpeed: (speed) => set({ speed }),
    setTolerance: (tolerance) => set({ tolerance, stopArmed: true }),
    setTab(tab) {
      set({ tab });
      if (tab === "explain" && !ui.playing && !showsOther()) ask();
    },
    notify: (notice) => set({ notice }),
    togglePlay() {
      if (ui.playing) pause();
      else if (trainable()) play();
    },
    advance: (unit) => trainable() && seek(ui.t + (unit === "epoch" ? epochSteps() : 1)),
    showPegasos: ask,
  };

  function play() {
    // Who plays on from within the tolerance wants to go beyond it.
    Object.assign(ui, { playing: true, stopArmed: !toleranceReached() });
    clock.start(ui.t, performance.now());
    render();
  }

  function set(patch) {
    Object.assign(ui, patch);
    render();
  }

  function travel(move) {
    move.call(history);
    changed();
    ask();
  }

  function phase() {
    if (!history.document.state.points.length) return "empty";
    if (!trainable()) return "one_class";
    if (ui.playing) return "running";
    if (ui.refused === ui.revision) return "refused";
    if (ui.working > 0) return "working";
    if (showsOther()) return "other";
    return toleranceReached() ? "tolerance" : "paused";
  }

  function horizon() {
    let steps = Math.ceil(FIRST_EPOCHS * epochSteps());
    while (steps < ui.furthest) steps *= 2;
    return Math.min(steps, ENGINE_LIMITS.steps);
  }

  function snapshot() {
    const { state, view, names = null } = history.document;
    return {
      ...ui,
      state,
      view,
      names,
      phase: phase(),
      horizon: horizon(),
      epochSteps: epochSteps(),
      trainable: trainable(),
      canUndo: history.canUndo,
      canRedo: history.canRedo,
      singleSteps: !ui.playing || showsSingleSteps(ui.speed),
    };
  }

  start();
  return {
    actions,
    replace,
    destroy() {
      cancelAnimationFrame(drawing);
      clearTimeout(keepTimer);
      requests.destroy();
    },
  };
}
