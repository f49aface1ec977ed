"""``python -m kpegasos``: the program."""

from kpegasos.cli.main import program

if __name__ == "__main__":
    program()
