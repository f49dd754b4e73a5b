"""The example clients of the documents, run against a real server."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCUMENTS = ("README.md", "docs/service.md")


@pytest.fixture(scope="module")
def server(serving_module):
    return serving_module()


def blocks(document, language):
    text = (ROOT / document).read_text()
    found = re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)
    assert found, f"{document} shows no {language}"
    return "\n".join(found)


def run(command, server):
    code = command[-1].replace("http://127.0.0.1:8000", server.url)
    ended = subprocess.run([*command[:-1], code], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_shell(document, server):
    out = run(["sh", "-euc", blocks(document, "sh")], server)
    assert '"problem"' not in out
    assert "about:blank" not in out, out
    assert '"reward":0.8' in out
    if document == "README.md":
        first, second = out.splitlines()[0], out.splitlines()[1]
        assert json.loads(second) == {"decision": json.loads(first)["decision"], "reward": 0.8}


def test_python(server):
    out = run([sys.executable, "-c", blocks("docs/service.md", "py")], server)
    assert "'ready': True" in out


def test_the_client_of_the_readme_has_ten_lines():
    assert len([line for line in blocks("README.md", "sh").splitlines() if line.strip()]) <= 10
