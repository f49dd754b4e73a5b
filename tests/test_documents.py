"""What the documents show must run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
BLOCKS = [
    pytest.param(block, id=f"{path.name}:{text[: match.start()].count(chr(10)) + 1}")
    for path in DOCUMENTS
    for text in [path.read_text()]
    for match in re.finditer(r"```python\n(.*?)```", text, flags=re.DOTALL)
    for block in [match.group(1)]
]


@pytest.mark.parametrize("block", BLOCKS)
def test_python_in_the_documents_runs(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "document", "exec"), {"__name__": "document"})  # noqa: S102
    # A line `print(...)  # text` in a document promises that text.
    promised = re.findall(r"^print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
    assert capsys.readouterr().out.splitlines()[: len(promised)] == promised


def test_every_file_that_a_document_links_to_exists():
    for path in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"
