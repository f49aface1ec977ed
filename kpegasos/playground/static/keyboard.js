// @ts-check
/** Keys of the whole page; panes and time axis have their own. */

/** Where letters and the space bar have another meaning. */
const OWN_KEYS = "input:not([type=range]):not([type=checkbox]), textarea, select, dialog, [contenteditable]";

/**
 * @param {EventTarget} target whose keys count
 * @param {any} actions
 * @returns {() => void} that takes the keys off again
 */
export function attachKeys(target, actions) {
  const listener = (event) => {
    const source = event.composedPath()[0];
    const typing = source instanceof Element && source.closest(OWN_KEYS);
    if (event.defaultPrevented || event.altKey || typing) return;
    const act = event.ctrlKey || event.metaKey ? commandOf(event, actions) : keyOf(event, source, actions);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  target.addEventListener("keydown", listener);
  return () => target.removeEventListener("keydown", listener);
}

function commandOf(event, actions) {
  const key = event.key.toLowerCase();
  if (key === "z") return event.shiftKey ? actions.redo : actions.undo;
  if (key === "y") return actions.redo;
  return null;
}

function keyOf(event, source, actions) {
  // A button that has the focus is pressed by the space bar, as everywhere.
  if (event.key === " ")
    return source instanceof Element && source.closest("button, input, summary") ? null : actions.togglePlay;
  if (/^[1-4]$/.test(event.key)) return () => actions.setLabel(Number(event.key) - 1);
  const acts = {
    ".": () => actions.advance("step"),
    e: () => actions.advance("epoch"),
    a: () => actions.setTool("add"),
    s: () => actions.setTool("spray"),
    m: () => actions.setTool("move"),
    x: () => actions.setTool("erase"),
    h: actions.toggleHeldOut,
    f: actions.fitView,
    i: () => actions.setTab(actions.ui().tab === "curves" ? "explain" : "curves"),
    "?": actions.help,
  };
  return acts[event.key.toLowerCase()] ?? null;
}
