"""The directive `command-reference`: a section for every subcommand of `fairbandits`, with its options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from fairbandits.cli.app import make_app


class CommandReference(SphinxDirective):
    """Describe all subcommands, as the program itself does."""

    def run(self) -> list[nodes.Node]:
        """Return the sections, parsed from Markdown."""
        lines = [line for each in _subcommands() for line in _section(*each)]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def _subcommands() -> Iterator[tuple[str, Any]]:
    for name, command in typer.main.get_command(make_app(["--help"])).commands.items():  # type: ignore[attr-defined]
        for inner, subcommand in getattr(command, "commands", {}).items():
            yield f"{name} {inner}", subcommand
        if not hasattr(command, "commands"):
            yield name, command


def _section(name: str, command: Any) -> Iterator[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    usage = " ".join(each.name.upper() if each.required else f"[{each.name.upper()}]" for each in arguments)
    yield from ("", f"## fairbandits {name}", "", command.get_short_help_str(limit=400), "")
    yield from ("```", f"fairbandits {name} {usage} [OPTIONS]".replace("  ", " "), "```", "")
    yield from ("| argument or option | meaning | default |", "| --- | --- | --- |")
    for each in command.params:
        names = ", ".join(f"`{text}`" for text in each.opts) if each not in arguments else f"`{each.name.upper()}`"
        yield f"| {names} | {_cell(each.help)} | {_default(each)} |"


def _cell(text: str | None) -> str:
    """Return a help text as the cell of a table, with the names of options as code."""
    plain = " ".join((text or "").split()).replace("|", "\\|").replace("*", "\\*")
    return re.sub(r"(?<![\w`-])(--?[a-z][\w-]*)", r"`\1`", plain)


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    return "" if parameter.default in (None, False, []) else f"`{parameter.default}`"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-reference", CommandReference)
    return {"parallel_read_safe": True}
