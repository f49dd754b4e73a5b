"""An audit as JSON values, the content of `audit.json`; see `schema.json` and `docs/reference/audit.md`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fairbandits.audit.audit import Audit
from fairbandits.audit.report.analysis_serialisation import analysis_to_dict, estimate_to_dict
from fairbandits.audit.report.check_sentences import checks_to_dict
from fairbandits.audit.report.further_sections import further_to_dict
from fairbandits.audit.report.provenance import provenance
from fairbandits.audit.report.sentences import AuditSentences
from fairbandits.audit.results import Comparison, GroupResult
from fairbandits.report.number_formats import json_number

FORMAT, VERSION = "fairbandits audit", 3

_ANALYSIS = ("gap", "detectable", "recent", "history", "since", "timeline", "decomposition", "missing")


def audit_to_dict(audit: Audit) -> dict[str, Any]:
    """Return an audit as JSON values.

    Within one version of the format, existing keys keep their meaning, but new keys may be added.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "provenance": provenance(audit),
        "settings": asdict(audit.settings) | {"reward_range": list(audit.reward_range)},
        "sentence": audit.sentence,
        "verdict": {
            "status": audit.status,
            "whole": _overall(audit, [each.conclusion for each in audit.comparisons]),
            "now": _overall(audit, [each.recent_conclusion for each in audit.comparisons]),
            "sentence": audit.verdict,
        },
        "checks": checks_to_dict(audit.checks),
        "assumption": audit.sentences.assumption(),
        "unassessed": [_unassessed(comparison, audit.sentences) for comparison in audit.comparisons],
        "comparisons": [comparison_to_dict(comparison, audit.sentences) for comparison in audit.comparisons],
    }


def comparison_to_dict(comparison: Comparison, sentences: AuditSentences) -> dict[str, Any]:
    """Return a comparison as JSON values."""
    analysis = comparison.analysis
    plain = {
        "attributes": list(comparison.attributes),
        "conclusion": comparison.conclusion,
        "sentence": sentences.summary(comparison),
        "groups": [_group(comparison, group, sentences) for group in comparison.groups],
        **(dict.fromkeys(_ANALYSIS) if analysis is None else analysis_to_dict(analysis, sentences)),
        **further_to_dict(comparison, sentences.settings.min_cell),
    }
    # All digits of a mean would reveal its number of rewards.
    return _rounded(plain, sentences.digits(analysis)) if sentences.settings.min_cell else plain


def _rounded(plain: Any, digits: int) -> Any:
    if isinstance(plain, dict):
        return {name: _rounded(value, digits) for name, value in plain.items()}
    if isinstance(plain, list):
        return [_rounded(value, digits) for value in plain]
    return round(plain, digits) if isinstance(plain, float) else plain


def _overall(audit: Audit, conclusions: list[str | None]) -> str | None:
    """Combine the conclusions of all comparisons; return None if there is no tolerance or no such period."""
    found = set(conclusions)
    if audit.settings.tolerance is None or found == {None}:
        return None
    return "unfair" if "unfair" in found else "fair" if found == {"fair"} else "undecided"


def _group(comparison: Comparison, group: GroupResult, sentences: AuditSentences) -> dict[str, Any]:
    suppression = sentences.suppression
    is_hidden = suppression.is_hidden(comparison, group)
    has_mean = group.is_large_enough or not is_hidden
    counts = {
        "rewards": group.rewards,
        "users": group.users if sentences.user_name == "users" else None,
        "effective_users": group.effective_users if sentences.user_name == "users" else None,
        "missing": group.missing,
        "missing_share": estimate_to_dict(group.missing_share),
    }
    means = {name: json_number(getattr(group, name)) for name in ("mean", "low", "high")}
    return {
        "labels": list(group.labels),
        "large_enough": group.is_large_enough,
        "suppressed": is_hidden,
        **(dict.fromkeys(counts) if is_hidden else counts),
        **(means if has_mean else dict.fromkeys(means)),
    }


def _unassessed(comparison: Comparison, sentences: AuditSentences) -> dict[str, Any]:
    unassessed = comparison.unassessed
    is_hidden = sentences.suppression.hides_small_groups(comparison)
    return {
        "attributes": list(comparison.attributes),
        "unit": sentences.user_name,
        "total": unassessed.users,
        "unknown_group": unassessed.unknown,
        "small_groups": None if is_hidden else unassessed.in_small_groups,
        "without_reward": unassessed.without_reward,
        "share": None if is_hidden else unassessed.share,
        "worst_case_gap": json_number(unassessed.worst_case),
        "beyond_tolerance": [list(group.labels) for group in unassessed.outside],
        "sentence": sentences.unassessed(comparison),
    }
