"""The omissions of a report: users who could not be assessed, and sections that could not be shown."""

from __future__ import annotations

from fairbandits.audit.audit import Audit
from fairbandits.audit.reference import named_reference

_SECTIONS = "the comparison with a reference group and the exposure to arms"


def omission_sentences(audit: Audit) -> list[str]:
    """List the omissions of the log, the users not assessed, and the sections left out, with reasons."""
    unassessed = (audit.sentences.unassessed(comparison) for comparison in audit.comparisons)
    return [*filter(None, [audit.note, *unassessed]), *_sections(audit)]


def _sections(audit: Audit) -> list[str]:
    settings, sentences = audit.settings, audit.sentences
    if settings.sequential:
        return []
    if settings.min_cell:
        few = f"fewer than {settings.min_cell:,} {sentences.user_name}"
        return [f"Left out: {_SECTIONS}, because they could reveal groups with {few} (--min-cell)."]
    named = [(each, named_reference(each, settings.reference)) for each in audit.comparisons if each.analysis]
    sections = f"adjusted gaps, {_SECTIONS}" if audit.roles.given else _SECTIONS
    return [
        f"Left out by {comparison.name}: {sections}, because the reference group, {group.name}, is too small."
        for comparison, group in named
        if group is not None and not group.is_large_enough
    ]
