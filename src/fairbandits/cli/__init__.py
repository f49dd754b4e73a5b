"""The command `fairbandits`: one module per subcommand, which parses, calls and prints."""

from fairbandits.cli.app import main

__all__ = ["main"]
