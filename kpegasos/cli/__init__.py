"""The program `kpegasos`: fits, predictions and searches from files, in a shell.

Lives here: a file for each command, whose ``run`` takes the parsed arguments and returns the exit
status; what commands share of files, `files`; and the program with its arguments, `main`.
May import: everything; but `main` only the standard library, so that ``kpegasos --help`` is there
at once. Imported by nothing.
"""
