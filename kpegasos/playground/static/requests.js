// @ts-check
/** What the page asks an engine for beside frames, and the points and files that it makes by itself. */
import { scriptOf } from "./code.js";
import { MANY_CLASSES } from "./data.js";
import { trainClasses } from "./edits.js";
import { presetPoints } from "./presets.js";
import { tableOf, tablePoints } from "./tables.js";

/** Milliseconds between changing a slider of a preset and asking for it. */
const PRESET_TIME = 60;

/**
 * @param {{client: any, ui: any, about: () => any, names: () => string[]|null|undefined,
 *          takeData: (data: any, key: string|null) => void, takeFrame: (frame: any) => void,
 *          fail: (parameter: string|null, message: string) => void,
 *          set: (patch: any) => void, openFile: (file: any) => void}} host
 */
export function createRequests({ client, ui, about, names, takeData, takeFrame, fail, set, openFile }) {
  let presetTimer = 0;

  /** What is made; null, and the sentence at its place, if it is refused. */
  function made(make) {
    try {
      return make();
    } catch (error) {
      fail(error.parameter, error.message);
      return null;
    }
  }

  /** The answer to a request that takes a while, which the page says; null if it was refused. */
  async function slowAnswerTo(message) {
    set({ playing: false, working: ui.working + 1 });
    let answer = null;
    try {
      answer = await client.request(message, about());
    } catch (error) {
      fail(error.parameter, error.message);
    }
    set({ working: ui.working - 1 });
    return answer;
  }

  function loadPreset() {
    const classes = MANY_CLASSES.includes(ui.preset.name) ? ui.preset.classes : 2;
    const data = made(() => presetPoints({ ...ui.preset, classes }));
    if (data) takeData(data, "preset");
  }

  /** The script of the picture, as a file. */
  function codeFile(algorithm) {
    const { state, revision, t } = about();
    if (ui.refused === revision) throw { message: "There is no code: what is wrong stands beside its control." };
    if (t === 0 || trainClasses(state).length < 2) {
      throw { message: "There is no model to write code for without points of two classes and a step." };
    }
    return { name: "playground.py", media_type: "text/x-python", text: scriptOf(state, t, algorithm) };
  }

  const makers = {
    code: codeFile,
    csv: () => ({ name: "playground.csv", media_type: "text/csv", text: tableOf(about().state, names()) }),
  };

  async function showOther(kind) {
    const { revision } = about();
    const frame = await slowAnswerTo({ kind });
    if (frame && revision === about().revision) takeFrame(frame);
  }

  function setPreset(key, value) {
    set({ preset: { ...ui.preset, [key]: value }, errors: {} });
    clearTimeout(presetTimer);
    presetTimer = setTimeout(loadPreset, PRESET_TIME);
  }

  return {
    loadPreset,
    actions: {
      setPreset,
      resample: () => setPreset("seed", ui.preset.seed + 1),
      /** @param {string} text */
      loadTable(text) {
        const data = made(() => tablePoints(text));
        if (data) takeData(data, null);
      },
      polish: () => showOther("polish"),
      compare: () => showOther("compare"),
      /** @param {string} what */
      async exportFile(what) {
        const algorithm = ui.frame?.revision === about().revision ? ui.frame.algorithm : "pegasos";
        const make = makers[what];
        if (make) set({ playing: false });
        const file = make
          ? made(() => make(algorithm))
          : await slowAnswerTo({ kind: "export", what, t: about().t, algorithm });
        if (file) openFile({ ...file, algorithm });
      },
    },
    destroy: () => clearTimeout(presetTimer),
  };
}
