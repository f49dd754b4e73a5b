"""The entry point of the command `fairbandits` and of `python -m fairbandits`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command and return its exit status; if an extra is missing, print how to install it."""
    try:
        from fairbandits.cli import main as run  # noqa: PLC0415 - needs an extra
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted before the command started\n")
        return 130
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.stderr.write(f"error: the command needs {error.name}: pip install 'fairbandits[cli,plot]'\n")
        return 2
    return run()


if __name__ == "__main__":
    sys.exit(main())
