// @ts-check
/** What the page makes beside the frames of steps: points and polished models. */
import { refusalOf } from "./checks.js";
import { MANY_CLASSES } from "./data.js";
import { presetPoints } from "./presets.js";
import { tablePoints } from "./tables.js";

/** Gap at which dual ascent stops, if the page does not ask for less, and milliseconds until it begins: the page
 *  says before that it works. */
const POLISHED_GAP = 0.01;
const WORKING_TIME = 50;

/** Milliseconds between changing a slider of a preset and asking for it. */
const PRESET_TIME = 60;

/**
 * @param {{engine: any, ui: any, about: () => any, takeData: (data: any, key: string|null) => void,
 *          takeFrame: (frame: any) => void, fail: (parameter: string|null, message: string) => void,
 *          set: (patch: any) => void}} host
 */
export function createRequests({ engine, ui, about, takeData, takeFrame, fail, set }) {
  let presetTimer = 0;

  /** What is made; null, and the sentence at its place, if it is refused. */
  function made(make) {
    try {
      return make();
    } catch (error) {
      const { parameter, message } = refusalOf(error);
      fail(parameter, message);
      return null;
    }
  }

  function loadPreset() {
    const classes = MANY_CLASSES.includes(ui.preset.name) ? ui.preset.classes : 2;
    const data = made(() => presetPoints({ ...ui.preset, classes }));
    if (data) takeData(data, "preset");
  }

  async function polish() {
    const asked = about();
    set({ playing: false, working: ui.working + 1 });
    await new Promise((resolve) => setTimeout(resolve, WORKING_TIME));
    const tolerance = Math.min(POLISHED_GAP, ui.tolerance || POLISHED_GAP);
    const frame = asked.revision === about().revision ? made(() => engine.polish(asked, tolerance)) : null;
    if (frame) takeFrame(frame);
    set({ working: ui.working - 1 });
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
      polish,
    },
    destroy: () => clearTimeout(presetTimer),
  };
}
