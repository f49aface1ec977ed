"""The version of the package, which is written down here."""

VERSION = "0.1.0"
