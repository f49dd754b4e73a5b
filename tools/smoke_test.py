"""Try the installed package as a newcomer would: run the first script of its description, and the command.

Usage: python -I tools/smoke_test.py, with the interpreter of an environment that holds the wheel and no extras.
With -I, Python ignores PYTHONPATH and the working folder, so that it cannot import the sources. `make dist` does
all this.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path


def first_script(description: str) -> tuple[str, str]:
    """Return the first Python script of the description, i.e. of the README, and the output shown below it."""
    found = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", description, flags=re.DOTALL)
    if found is None:
        raise SystemExit("the description has no Python script followed by its output")
    return found[1], found[2]


def check(what: str, command: list[str], expected: str) -> None:
    """Run a command in an empty folder; exit if it fails or prints anything but the expected output."""
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode != 0 or ended.stdout != expected:
        raise SystemExit(f"{what}: expected\n{expected}got\n{ended.stdout}{ended.stderr}")
    print(f"{what}: as shown")


def main() -> None:
    """Check the version that the command prints, and the output of the first script."""
    installed = metadata.distribution("fairbandits")
    command = Path(sys.executable).with_name("fairbandits")
    check("fairbandits --version", [str(command), "--version"], f"fairbandits {installed.version}\n")
    script, shown = first_script(str(installed.metadata.get_payload()))
    check("the README's first script", [sys.executable, "-I", "-c", script], shown)


if __name__ == "__main__":
    main()
