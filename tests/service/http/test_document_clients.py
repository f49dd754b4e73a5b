"""The example clients of the documentation, run against a real server."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "how_to" / "serve.md"


@pytest.fixture(scope="module")
def server(serving_module):
    return serving_module()


def blocks(language):
    found = re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(), flags=re.DOTALL)
    assert found, f"{DOCUMENT.name} shows no {language}"
    return "\n".join(found)


def run(command, server):
    code = command[-1].replace("http://127.0.0.1:8000", server.url)
    ended = subprocess.run([*command[:-1], code], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_shell(server):
    out = run(["sh", "-euc", blocks("sh")], server)
    assert '"problem"' not in out
    assert "about:blank" not in out, out
    assert '"reward":0.8' in out


def test_python(server):
    out = run([sys.executable, "-c", blocks("py")], server)
    assert "'ready': True" in out
