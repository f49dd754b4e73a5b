"""What the documents show must run."""

import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

import fairbandits

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


def exported_names():
    """Return the names that packages export. The command and the service are not imported, but run."""
    packages = [module.name for module in pkgutil.iter_modules(fairbandits.__path__) if module.ispkg]
    libraries = [import_module(f"fairbandits.{name}") for name in packages if name not in {"cli", "service"}]
    return [
        (module.__name__, name) for module in (fairbandits, *libraries) for name in getattr(module, "__all__", [])
    ]


def test_the_api_reference_lists_every_exported_name():
    text = (ROOT / "docs" / "api.rst").read_text()
    listed = set(re.findall(r"^\.\. (?:auto\w+|data):: (fairbandits[\w.]+)$", text, flags=re.MULTILINE))
    # A name that `fairbandits` exports is listed there, and not again with its package.
    missing = [
        f"{module}.{name}"
        for module, name in exported_names()
        if f"{module}.{name}" not in listed
        and not (name in fairbandits.__all__ and f"fairbandits.{name}" in listed)
    ]
    assert not missing


def test_the_first_script_of_the_readme_is_short_and_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    readme = (ROOT / "README.md").read_text()
    script, shown = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", readme, flags=re.DOTALL).groups()
    lines = [line for line in script.splitlines() if line.strip() and not line.startswith(("from ", "import "))]
    assert len(lines) <= 15
    monkeypatch.chdir(tmp_path)
    exec(compile(script, "README", "exec"), {"__name__": "document"})  # noqa: S102
    assert capsys.readouterr().out == shown


def test_the_readme_is_short():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 150
    tables = "".join("|" if line.startswith("|") else " " for line in lines).split()
    # Two lines of a table are its head.
    assert max(map(len, tables)) - 2 <= 8
