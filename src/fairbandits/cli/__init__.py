"""The command `fairbandits`: one module per subcommand, which parses arguments, calls the library and prints."""

from fairbandits.cli.app import main

__all__ = ["main"]
