// @ts-check
/** A link that carries the whole state: deflated JSON in the fragment, which browsers do not send. */
import { LESSON } from "./lesson.js";

const LINK_KEY = "#state=";

/**
 * @param {any} content
 * @returns {Promise<string>} a fragment
 */
export async function encodeLink(content) {
  const bytes = await throughStream(
    new TextEncoder().encode(JSON.stringify(content)),
    new CompressionStream("deflate-raw"),
  );
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return LINK_KEY + btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * @param {string} fragment
 * @returns {Promise<any>} null if it carries nothing that can be read
 */
export async function decodeLink(fragment) {
  const lesson = /^#lesson=(\d+)$/.exec(fragment);
  if (lesson && LESSON[Number(lesson[1]) - 1]) return { lesson: Number(lesson[1]) - 1 };
  if (!fragment.startsWith(LINK_KEY)) return null;
  try {
    const text = atob(fragment.slice(LINK_KEY.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    const plain = await throughStream(bytes, new DecompressionStream("deflate-raw"));
    const { table, state, view, t, names, lesson } = JSON.parse(new TextDecoder().decode(plain));
    if (typeof table === "string") return { table };
    return Array.isArray(state.points) ? { state, view, t, names, lesson } : null;
  } catch {
    return null;
  }
}

async function throughStream(bytes, stream) {
  const answer = new Response(new Blob([bytes]).stream().pipeThrough(stream));
  return new Uint8Array(await answer.arrayBuffer());
}
