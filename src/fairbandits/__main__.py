"""The entry point of the command `fairbandits` and of `python -m fairbandits`."""

from __future__ import annotations

import sys
from importlib.metadata import version

from fairbandits.extras import install_hint


def main() -> int:
    """Run the command and return its exit status; if an extra is missing, print how to install it."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"fairbandits {version('fairbandits')}\n")
        return 0
    try:
        from fairbandits.cli import main as run  # noqa: PLC0415 - needs an extra
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted before the command started\n")
        return 130
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.stderr.write(f"error: the command needs {error.name}; {install_hint('cli,plot')}\n")
        return 2
    return run()


if __name__ == "__main__":
    sys.exit(main())
