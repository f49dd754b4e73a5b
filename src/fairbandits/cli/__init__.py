"""The command `fairbandits`: parses, calls, prints."""

from fairbandits.cli.app import main

__all__ = ["main"]
