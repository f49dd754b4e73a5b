"""Results as plain text, as `print` shows them: sentences and aligned tables."""

from __future__ import annotations

from collections.abc import Sequence

from fairbandits.audit.audit import Audit
from fairbandits.audit.report.tables import Row, group_table, verdict_notes, verdict_table
from fairbandits.views.text import shorten_name

_MAX_ROWS = 20
_MAX_NAME = 40


def audit_text(audit: Audit) -> str:
    """Return the sentences of an audit, the groups of the headline comparison, and all comparisons."""
    headline = audit.headline
    parts = ["\n".join(filter(None, [audit.sentence, audit.verdict]))]
    parts.append(_table(headline.name, *group_table(audit, headline)))
    if len(audit.comparisons) > 1 or audit.settings.tolerance is not None:
        parts += [_table("", *verdict_table(audit)), "\n".join(verdict_notes(audit))]
    return "\n\n".join(filter(None, parts))


def _table(title: str, columns: list[str], rows: list[Row]) -> str:
    return text_table([title, *columns], [[name, *cells] for name, cells in rows])


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]], max_name: int = _MAX_NAME) -> str:
    """Return a table of the first twenty rows, with the first column left-aligned and the others right-aligned.

    Cells with more than `max_name` characters are truncated.

    Examples
    --------
    >>> print(text_table(["policy", "reward"], [["LinUCB", "0.61"], ["the log", "0.5"]]))
    policy   reward
    LinUCB     0.61
    the log     0.5
    """
    cells = [[shorten_name(cell, max_name) for cell in row] for row in (columns, *rows[:_MAX_ROWS])]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    rest = [f"and {len(rows) - _MAX_ROWS:,} more"] if len(rows) > _MAX_ROWS else []
    return "\n".join([*(line.rstrip() for line in lines), *rest])
