"""The version of the package, known without importing the rest of it."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("kpegasos")
except PackageNotFoundError:  # run from a checkout that is not installed
    VERSION = "unknown"
