"""The program `kpegasos`: fits, predictions and searches from files, in a shell.

Lives here: what each subcommand takes (`options`, which imports nothing heavy), what it does
(`commands`), and the program that puts them together (`main`).
May import: everything. Imported by nothing.
"""
