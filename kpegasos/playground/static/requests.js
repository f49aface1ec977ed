// @ts-check
/** What the page asks an engine for beside pictures: points, other algorithms, files. */
import { MANY_CLASSES } from "./data.js";

/** Milliseconds between changing a slider of a preset and asking for it. */
const PRESET_TIME = 60;

/**
 * @param {{client: any, ui: any, about: () => any, takeData: (data: any, key: string|null) => void,
 *          takeFrame: (frame: any) => void, fail: (parameter: string|null, message: string) => void,
 *          set: (patch: any) => void, openFile: (file: any) => void}} host
 */
export function createRequests({ client, ui, about, takeData, takeFrame, fail, set, openFile }) {
  let presetTimer = 0;

  /** The answer to a request; null, and the sentence at its place, if it was refused. */
  async function answerTo(message, subject = null, place = null) {
    try {
      return await client.request(message, subject);
    } catch (error) {
      fail(error.parameter ?? place, error.message);
      return null;
    }
  }

  /** The same of what takes a while, which the page says. */
  async function slowAnswerTo(message) {
    set({ playing: false, working: ui.working + 1 });
    const answer = await answerTo(message, about());
    set({ working: ui.working - 1 });
    return answer;
  }

  async function loadPreset() {
    const classes = MANY_CLASSES.includes(ui.preset.name) ? ui.preset.classes : 2;
    const data = await answerTo({ kind: "preset", ...ui.preset, classes });
    if (data) takeData(data, "preset");
    return data !== null;
  }

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
    /** Whether the points of the preset have come. @returns {Promise<boolean>} */
    loadPreset,
    actions: {
      setPreset,
      resample: () => setPreset("seed", ui.preset.seed + 1),
      /** @param {string} text */
      async loadTable(text) {
        const data = await answerTo({ kind: "table", table: text }, null, "table");
        if (data) takeData(data, null);
      },
      polish: () => showOther("polish"),
      compare: () => showOther("compare"),
      /** @param {string} what */
      async exportFile(what) {
        const algorithm = ui.frame?.revision === about().revision ? ui.frame.algorithm : "pegasos";
        const file = await slowAnswerTo({ kind: "export", what, t: about().t, algorithm });
        if (file) openFile({ ...file, algorithm });
      },
    },
    destroy: () => clearTimeout(presetTimer),
  };
}
