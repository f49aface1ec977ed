// @ts-check
/** What leaves the page: files, links and the clipboard. */
import { codeContent } from "./dialogs.js";
import { encodeLink } from "./link.js";
import { readPalette } from "./palette.js";

/**
 * @param {{actions: any, dialog: any, panes: {picture: HTMLCanvasElement, node: HTMLElement}[], root: HTMLElement}} page
 */
export function createSaving({ actions, dialog, panes, root }) {
  const saving = {
    /** A file of the engine: code is shown at first, all else is saved. @param {any} file */
    openFile(file) {
      if (file.text !== undefined && file.name.endsWith(".py"))
        dialog.open("Python code", ...codeContent(file.text, { ...actions, ...saving }, file));
      else saving.saveFile(file);
    },
    /** @param {any} file */
    saveFile(file) {
      saveBlob(new Blob([file.text ?? bytesOf(file.base64)], { type: file.media_type }), file.name);
    },
    savePanes() {
      const shown = panes.filter(({ node }) => !node.hidden).map(({ picture }) => picture);
      if (!shown.length) return;
      joined(shown, readPalette(root).paper).toBlob((blob) => blob && saveBlob(blob, "kpegasos.png"));
    },
    async copyLink() {
      const { state, view, t, names } = actions.ui();
      const address = new URL(location.href);
      address.hash = await encodeLink({ state, view, t, names });
      window.history.replaceState(null, "", address.hash);
      const done = "The link is copied: it carries all points and settings.";
      await saving.copyText(address.href, done, "the address bar has the link");
    },
    /** @param {string} text @param {string} done @param {string} otherwise where the text is if it cannot be copied */
    async copyText(text, done, otherwise) {
      try {
        await navigator.clipboard.writeText(text);
        actions.notify({ tone: "info", text: done });
      } catch {
        actions.notify({ tone: "error", text: `The browser did not allow to copy; ${otherwise}.` });
      }
    },
  };
  return saving;
}

function saveBlob(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** Canvases beside each other, on a background. */
function joined(canvases, background) {
  const gap = Math.round(canvases[0].width / 40);
  const whole = document.createElement("canvas");
  whole.width = canvases.reduce((sum, canvas) => sum + canvas.width + gap, -gap);
  whole.height = Math.max(...canvases.map((canvas) => canvas.height));
  const context = whole.getContext("2d");
  context.fillStyle = background;
  context.fillRect(0, 0, whole.width, whole.height);
  let left = 0;
  for (const canvas of canvases) {
    context.drawImage(canvas, left, 0);
    left += canvas.width + gap;
  }
  return whole;
}
