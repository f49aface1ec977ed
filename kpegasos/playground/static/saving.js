// @ts-check
/** What leaves the page: files, links and the clipboard. */
import { scriptOf } from "./code.js";
import { codeContent } from "./dialogs.js";
import { encodeLink } from "./link.js";
import { readPalette } from "./palette.js";
import { SHARPNESS } from "./panes.js";
import { tableOf } from "./tables.js";

/**
 * @param {{actions: any, dialog: any, panes: any[], root: HTMLElement}} page
 */
export function createSaving({ actions, dialog, panes, root }) {
  const saving = {
    /** The script of the picture, which is shown before it is saved. */
    showCode() {
      const { state, t, frame, revision, refused, trainable } = actions.ui();
      if (refused === revision || !trainable || t === 0) {
        const text = "There is no model to write code for without valid settings, points of two classes and a step.";
        actions.notify({ tone: "error", text });
      } else {
        const algorithm = frame?.revision === revision ? frame.algorithm : "pegasos";
        dialog.open("Python code", ...codeContent(scriptOf(state, t, algorithm), { ...actions, ...saving }));
      }
    },
    savePoints() {
      const { state, names } = actions.ui();
      saving.saveText(tableOf(state, names), "playground.csv");
    },
    /** @param {string} text @param {string} name */
    saveText: (text, name) => saveBlob(new Blob([text], { type: "text/plain" }), name),
    /** The panes as they are shown, at twice the size. @param {"png"|"svg"} kind */
    savePanes(kind) {
      const text = svgOf(panes.filter(({ node }) => !node.hidden).map((pane) => pane.image()), readPalette(root));
      const svg = new Blob([text], { type: "image/svg+xml" });
      if (kind === "svg") saveBlob(svg, "kpegasos.svg");
      else asPng(svg, (png) => saveBlob(png, "kpegasos.png"));
    },
    async copyLink() {
      const { state, view, t, names, lesson } = actions.ui();
      const address = new URL(location.href);
      address.hash = await encodeLink({ state, view, t, names, lesson });
      const done = "The link is copied. What it has from # on opens this state on any copy of the page.";
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

/** Room round and between panes, and height of a title, in CSS pixels. */
const [GAP, TITLE] = [12, 30];

/**
 * Panes beside each other: pictures under titles that stay text.
 * @param {{width: number, height: number, url: string, title: string}[]} images
 * @param {import("./palette.js").Palette} palette
 */
function svgOf(images, palette) {
  const [{ width, height }] = images;
  const parts = images.map(({ url, title }, k) => {
    const place = `x="${GAP + k * (width + GAP)}" y="${TITLE}" width="${width}" height="${height}"`;
    return `<text x="${GAP + k * (width + GAP)}" y="${TITLE - 9}" fill="${palette.ink}" font-family="sans-serif" font-size="15">${title}</text>
<image ${place} href="${url}"/>
<rect ${place} fill="none" stroke="${palette.line}"/>`;
  });
  const size = [images.length * (width + GAP) + GAP, height + TITLE + GAP];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${size[0]}" height="${size[1]}" viewBox="0 0 ${size.join(" ")}">
<rect width="100%" height="100%" fill="${palette.paper}"/>
${parts.join("\n")}
</svg>
`;
}

/** A picture at twice its size. @param {Blob} svg @param {(png: Blob) => void} take */
function asPng(svg, take) {
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width: SHARPNESS * image.width, height: SHARPNESS * image.height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(take);
    URL.revokeObjectURL(image.src);
  };
  image.src = URL.createObjectURL(svg);
}
