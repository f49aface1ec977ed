"""The program `kpegasos`: fits, predictions and searches from files, in a shell.

Lives here: a file for each command, whose ``run`` takes the parsed arguments and returns the exit
status; what commands share, `files` and `models`; the arguments of all of them, `options`; and the
program that puts them together, `main`.
May import: everything; but `main` and `options` only the standard library, so that
``kpegasos --help`` is there at once. Imported by nothing.
"""
