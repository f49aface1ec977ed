"""The session on the page "From the shell": what it shows is what comes out."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from kpegasos.cli.main import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "shell.md"
#: What depends on the machine or on the versions: seconds, memory, gaps below the tolerance.
MASKS = [
    (r"[\d.e+-]+ (?:to [\d.e+-]+ )?(s|MiB)\b", r"# \1"),
    (r"within [\d.]+%", "within #%"),
]
#: Other numbers may differ a little, and counts by an example or two.
TOLERANCE, EXAMPLES = 0.05, 2
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def session():
    """Commands of the page with what they print, in order."""
    text = PAGE.read_text(encoding="utf-8")
    for block in re.findall(r"```console\n(.*?)```", text, re.S):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, shown = re.fullmatch(r"([^\n]*\n(?:> [^\n]*\n)*)(.*)", part, re.S).groups()
            yield command.replace("\n> ", "\n"), shown.rstrip()


class Shell:
    """Runs the commands of a session, those of Python and of the program in this process."""

    def __init__(self, capsys):
        self._capsys, self._status = capsys, 0

    def run(self, command):
        """What a command prints; None if its program is not installed."""
        program, *arguments = shlex.split(command)
        if program == "echo":
            return str(self._status)
        if program == "printf":
            text, _, name = arguments
            Path(name).write_text(text.replace("\\n", "\n"))
            return ""
        if program == "kpegasos":
            self._status = main(arguments)
        elif program == "python":
            exec(arguments[1], {})
        elif shutil.which(program):
            return subprocess.check_output(["bash", "-c", command], text=True)
        else:
            return None
        out, err = self._capsys.readouterr()
        return out + err


def masked(text):
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return [line.rstrip() for line in text.strip().splitlines()]


def assert_same(shown, printed):
    """Words are the same, numbers nearly."""
    for ours, page in zip(masked(printed), masked(shown), strict=True):
        assert NUMBER.sub("0", ours).split() == NUMBER.sub("0", page).split()
        for found, expected in zip(NUMBER.findall(ours), NUMBER.findall(page), strict=True):
            few = EXAMPLES if expected.lstrip("-").isdigit() else 0.01
            assert float(found) == pytest.approx(float(expected), rel=TOLERANCE, abs=few)


def test_session_prints_what_the_page_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shell, n_commands = Shell(capsys), 0
    for command, shown in session():
        printed = shell.run(command)
        if printed is not None:
            assert_same(shown, printed)
        n_commands += 1
    assert n_commands >= 9
