"""The drill of docs/operations.md, as it stands there."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[3] / "docs" / "operations.md"


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_drill(tmp_path):
    [drill] = re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text(), flags=re.DOTALL)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    drill = drill.replace("127.0.0.1:8000", f"127.0.0.1:{port}").replace(
        "fairbandits serve", f"fairbandits serve --port {port}"
    )
    command = tmp_path / "bin" / "fairbandits"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m fairbandits "$@"\n')
    command.chmod(0o755)
    folder = tmp_path / "service"
    folder.mkdir()
    environment = os.environ | {"PATH": f"{command.parent}:{os.environ['PATH']}"}
    ended = subprocess.run(
        [shutil.which("sh"), "-euc", f"trap 'kill $SERVICE 2> /dev/null || true' EXIT\n{drill}"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "drill.backup: 105 entries, the last one 105; read back and verified" in ended.stdout
    assert re.search(
        r"^restored: 105 entries, the last one 105, as of .* UTC; verified$", ended.stdout, re.MULTILINE
    )
    assert json.loads((folder / "before.json").read_text())["seq"] == 105
    lost, after = (json.loads((folder / f"{name}.json").read_text()) for name in ("lost", "after"))
    assert lost["decision"] != after["decision"]
