"""Formulas as MathML: browsers show them without a script, and without a connection to another server."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def visit_math(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_displaymath(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own; a wide one can be scrolled."""
    formula = convert(node.astext(), display="block")
    translator.body.append(f'<div class="formula" tabindex="0" role="group" aria-label="Formula">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
