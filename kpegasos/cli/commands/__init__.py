"""What each subcommand does.

Lives here: a module for each subcommand, with a function ``run`` that takes the parsed arguments
and returns the exit status. Errors of data and models are ValueErrors, TypeErrors and OSErrors of
one sentence; `kpegasos.cli.main` prints them.
May import: everything.
"""
