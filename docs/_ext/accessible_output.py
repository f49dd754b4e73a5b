"""Output of notebooks, mended for screen readers and the keyboard."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_MENDED = {
    # A corner of a table is not the header of anything.
    "<th></th>": "<td></td>",
    # A view may be wider than the page: it can be focused, and then scrolled by keys.
    '<div class="fb-view">': '<div class="fb-view" tabindex="0">',
}


def mend(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Replace what pandas and the views of the library write, in the body of a page."""
    for found, mended in _MENDED.items():
        context["body"] = context.get("body", "").replace(found, mended)


def setup(app: Sphinx) -> dict[str, bool]:
    """Mend every page before it is written."""
    app.connect("html-page-context", mend)
    return {"parallel_read_safe": True}
