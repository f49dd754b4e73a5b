"""Notebooks to download have plain Markdown: JupyterLab knows no roles, and has none of the other pages."""

import json
import re
from pathlib import Path
from typing import Any

_PLAIN = (
    (re.compile(r"\{[\w:-]+\}`([^`<]*?)\s*<[^`>]*>`"), r"\1"),
    (re.compile(r"\{[\w:-]+\}`([^`]*)`"), r"\1"),
    (re.compile(r"```\{image\}.*?```\n?", re.DOTALL), ""),
    (re.compile(r"```\{warning\}\n(.*?)```", re.DOTALL), r"**Warning.** \1"),
    (re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)"), r"\1"),
)


def as_plain(markdown: str) -> str:
    """Return Markdown without roles and directives of MyST, and without links to other pages."""
    for pattern, replacement in _PLAIN:
        markdown = pattern.sub(replacement, markdown)
    return markdown


def rewrite_notebooks(app: Any, error: Exception | None) -> None:
    """Rewrite the text of all notebooks that the built site offers for download."""
    if error is not None or app.builder.name != "html":
        return
    for path in Path(app.outdir).glob("_downloads/*/*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = as_plain("".join(cell["source"]))
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Register the rewriting of notebooks when the site has been built."""
    app.connect("build-finished", rewrite_notebooks)
    return {"parallel_read_safe": True}
