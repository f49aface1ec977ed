/**
 * What the static page says when it was opened as a file: browsers load modules over http only. This
 * is a script of the old kind, which files may load.
 */
if (location.protocol === "file:") {
  const note = document.createElement("p");
  note.className = "kp-from-file";
  const [served, local] = ["python -m http.server", "python -m kpegasos.playground"].map((text) => {
    const command = document.createElement("code");
    command.textContent = text;
    return command;
  });
  note.append("Browsers run the playground only from pages that come over http. Here ", served);
  note.append(" in this folder sends them; ", local, " opens one of its own.");
  document.getElementById("kpegasos").append(note);
}
