"""What the documents show must run."""

import doctest
import pkgutil
import re
import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path

import pytest

import fairbandits

ROOT = Path(__file__).parent.parent
BUILT = ("_build", "gallery")
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(path for path in ROOT.glob("docs/**/*.md") if path.parts[len(ROOT.parts) + 1] not in BUILT),
    ]
)
BLOCKS = [
    pytest.param(*match.groups(), id=f"{path.name}:{text[: match.start()].count(chr(10)) + 1}")
    for path in DOCUMENTS
    for text in [path.read_text()]
    for match in re.finditer(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", text, flags=re.DOTALL)
]


@pytest.mark.parametrize(("block", "shown"), BLOCKS)
def test_python_in_the_documents_runs(block, shown, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "document", "exec"), {"__name__": "document"})  # noqa: S102
    out = capsys.readouterr().out
    # A line `print(...)  # text` in a document promises that text, and a block without a language, right after
    # the code, promises all of the output.
    promised = re.findall(r"^print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
    assert out.splitlines()[: len(promised)] == promised
    assert shown in {None, out}


def test_every_file_that_a_document_links_to_exists():
    for path in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/reference/api/*.rst")), ids=lambda page: page.stem)
def test_examples_of_the_reference_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def exported_names():
    """Return the names that packages export. The command and the service are not imported, but run."""
    packages = [module.name for module in pkgutil.iter_modules(fairbandits.__path__) if module.ispkg]
    libraries = [import_module(f"fairbandits.{name}") for name in packages if name not in {"cli", "service"}]
    return [
        (module.__name__, name) for module in (fairbandits, *libraries) for name in getattr(module, "__all__", [])
    ]


def test_the_api_reference_lists_every_exported_name():
    text = "".join(path.read_text() for path in ROOT.glob("docs/reference/api/*.rst"))
    listed = set(re.findall(r"^\.\. (?:auto\w+|data):: (fairbandits[\w.]+)$", text, flags=re.MULTILINE))
    # A name that `fairbandits` exports is listed there, and not again with its package.
    missing = [
        f"{module}.{name}"
        for module, name in exported_names()
        if f"{module}.{name}" not in listed
        and not (name in fairbandits.__all__ and f"fairbandits.{name}" in listed)
    ]
    assert not missing


def listed_members():
    """Return the path of each class of the API reference, and the members that it lists there, by class name."""
    text = "".join(path.read_text() for path in ROOT.glob("docs/reference/api/*.rst"))
    classes = re.findall(r"^\.\. autoclass:: (fairbandits[\w.]+)\n((?: +.*\n)*)", text, flags=re.MULTILINE)
    return {path.rpartition(".")[2]: (path, set(re.findall(r"\w+", options))) for path, options in classes}


def members_of(name, listed):
    """Return the members that the reference shows for a class, with inherited ones and documented attributes."""
    module, _, _ = listed[name][0].rpartition(".")
    shown = set()
    for cls in getattr(import_module(module), name).__mro__:
        shown |= listed.get(cls.__name__, ("", set()))[1]
        fields = re.findall(r"^ *([\w, ]+) : ", cls.__doc__ or "", flags=re.MULTILINE)
        shown |= {field for line in fields for field in line.split(", ")}
    return shown


def mentioned_members():
    """Return the page, the class and the member of each `Class.member` in a document for users."""
    return [
        (path.name, name, member)
        for path in DOCUMENTS
        if path.name != "ARCHITECTURE.md"
        # Older entries of the changelog name what has been renamed since.
        for text in [re.split(r"\n## 0\.", path.read_text())[0]]
        for name, member in re.findall(r"`([A-Z]\w+)\.([a-z]\w*)(?:\([^`]*\))?`", text)
    ]


def test_the_api_reference_lists_every_member_that_a_document_mentions():
    listed = listed_members()
    mentioned = [entry for entry in mentioned_members() if entry[1] in listed]
    assert ("CHANGELOG.md", "Offer", "select") in mentioned
    assert not [entry for entry in mentioned if entry[2] not in members_of(entry[1], listed)]


def test_the_first_script_of_the_readme_is_short_and_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    readme = (ROOT / "README.md").read_text()
    script, shown = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", readme, flags=re.DOTALL).groups()
    assert len([line for line in script.splitlines() if line.strip()]) <= 10
    monkeypatch.chdir(tmp_path)
    exec(compile(script, "README", "exec"), {"__name__": "document"})  # noqa: S102
    assert capsys.readouterr().out == shown


def test_the_readme_is_short():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 150
    tables = "".join("|" if line.startswith("|") else " " for line in lines).split()
    # Two lines of a table are its head.
    assert max(map(len, tables)) - 2 <= 8


@pytest.mark.parametrize(
    ("promise", "page", "row"),
    [
        (r"([\d,]+) rounds of LinUCB", "reference/benchmarks.md", r"fairbandits LinUCB \|.*?\| yes \| ([\d,]+)"),
        (
            r"([\d.]+) times as fast as N",
            "reference/benchmarks.md",
            r"NumPy through BLAS \|.*?\| [\d,]+ \((\d+) x",
        ),
        (r"([\d,]+) decisions per second", "reference/service.md", r"SQLite, 100 arms \| ([\d,]+)"),
        (r"([\d.]+) seconds\*\* to audit", "reference/audit.md", r"50,000,000 \| (\d+\.\d)\d* s"),
    ],
)
def test_the_speed_in_the_readme_is_that_of_the_page_it_links_to(promise, page, row):
    (promised,) = re.findall(promise, (ROOT / "README.md").read_text())
    (measured,) = re.findall(rf"^\| {row}", (ROOT / "docs" / page).read_text(), flags=re.MULTILINE)
    assert promised == measured


def test_the_link_check_names_missing_files_and_anchors(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#here">b</a> <a href="#top">up</a> <a href="https://example.org/">out</a>'
    )
    (tmp_path / "b.html").write_text('<h1 id="here">B</h1>')
    check = [sys.executable, str(ROOT / "tools" / "check_links.py"), str(tmp_path)]
    fine = subprocess.run(check, capture_output=True, text=True, check=False)
    assert (fine.returncode, fine.stdout) == (0, f"{tmp_path}: 2 pages, 0 broken internal links\n")

    (tmp_path / "b.html").write_text('<img src="c.png">')
    broken = subprocess.run(check, capture_output=True, text=True, check=False)
    assert broken.returncode == 1
    assert broken.stdout.splitlines()[:2] == [
        "a.html: no anchor for b.html#here",
        "b.html: no file for c.png",
    ]


def test_the_link_check_refuses_a_folder_without_pages(tmp_path):
    check = [sys.executable, str(ROOT / "tools" / "check_links.py"), str(tmp_path)]
    assert subprocess.run(check, capture_output=True, check=False).returncode == 1


def test_citations_name_the_version():
    version = metadata.version("fairbandits")
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"version = {{{version}}}" in (ROOT / "docs" / "about" / "citation.md").read_text()
