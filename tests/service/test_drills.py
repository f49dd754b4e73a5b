"""The drills of the how-to guides: shell scripts that start a service, run as they stand there."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

GUIDES = Path(__file__).parents[2] / "docs" / "how_to"
DRILLS = ("delete_user", "operations", "prometheus", "proxy")
# Its shell client is run against a server by http/test_document_clients.py.
CLIENT = "serve"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here"),
]


@pytest.fixture
def run_drill(tmp_path):
    """Return a function that runs the drill of a guide: it returns the guide's text, the output and the folder."""

    def run_drill(guide):
        text = (GUIDES / f"{guide}.md").read_text()
        [drill] = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
        drill = drill.replace("127.0.0.1:8000", f"127.0.0.1:{port}")
        drill = re.sub("fairbandits serve(?= )", f"fairbandits serve --port {port}", drill)
        command = tmp_path / "bin" / "fairbandits"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m fairbandits "$@"\n')
        command.chmod(0o755)
        folder = tmp_path / "service"
        folder.mkdir()
        ended = subprocess.run(
            [shutil.which("sh"), "-euc", f"trap 'kill $SERVICE 2> /dev/null || true' EXIT\n{drill}"],
            cwd=folder,
            env=os.environ | {"PATH": f"{command.parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return text, ended.stdout.replace("\r", ""), folder

    return run_drill


def promised_output(text):
    """Return the block that follows the drill of a guide."""
    return re.search(r"```sh\n.*?```\n\n```\n(.*?)```", text, flags=re.DOTALL).group(1)


def test_every_shell_script_of_the_guides_is_run():
    assert sorted(path.stem for path in GUIDES.glob("*.md") if "```sh\n" in path.read_text()) == [*DRILLS, CLIENT]


def test_backup_and_restore(run_drill):
    _, out, folder = run_drill("operations")
    assert "drill.backup: 105 entries, up to entry 105; read back and verified" in out
    assert re.search(r"^restored: 105 entries, up to entry 105, as of .* UTC; verified$", out, re.MULTILINE)
    assert json.loads((folder / "before.json").read_text())["seq"] == 105
    lost, after = (json.loads((folder / f"{name}.json").read_text()) for name in ("lost", "after"))
    assert lost["decision"] != after["decision"]


def test_a_user_is_forgotten(run_drill):
    text, out, folder = run_drill("delete_user")
    assert out.startswith(promised_output(text))
    [decision] = json.loads((folder / "ada.json").read_text())["decisions"]
    assert decision["id"] == json.loads((folder / "visit.json").read_text())["decision"]


def test_a_proxy_needs_a_key(run_drill):
    text, out, _ = run_drill("proxy")
    assert out == promised_output(text)


def test_metrics(run_drill):
    text, out, folder = run_drill("prometheus")
    assert out == promised_output(text)
    offered = set(re.findall(r"^# HELP (\w+)", (folder / "metrics.txt").read_text(), flags=re.MULTILINE))
    named = {name.removesuffix("_bucket") for name in re.findall(r"\bfairbandits_\w+", text)}
    assert named == offered
