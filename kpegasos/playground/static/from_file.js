/**
 * What the static page says when it was opened as a file: browsers load modules over http only. This
 * is a script of the old kind, which files may load.
 */
if (location.protocol === "file:") {
  const note = document.createElement("p");
  note.className = "kp-from-file";
  note.innerHTML = `Browsers run the playground only from pages that come over http. Here
    <code>python -m http.server</code> in this folder sends them;
    <code>python -m kpegasos.playground</code> opens one of its own.`;
  document.getElementById("kpegasos").append(note);
}
