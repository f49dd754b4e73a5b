"""Recommenders that are fitted to a log with the command, and services that start from them."""

import subprocess
import sys

from fairbandits.service.config import load_config

ROWS = 400


def run(folder, *arguments):
    """Run a command in a folder, and return what it printed."""
    command = [sys.executable, "-m", "fairbandits", *map(str, arguments)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
