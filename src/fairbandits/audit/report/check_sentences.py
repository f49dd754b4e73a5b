"""Sentences about problems with the rows of a log."""

from __future__ import annotations

from typing import Any

from fairbandits.audit.log_checks import LogChecks
from fairbandits.views.text import join_names

_MAX_VARIANTS = 5


def check_sentences(checks: LogChecks) -> list[str]:
    """Return a sentence for each problem that was found.

    Examples
    --------
    >>> checks = LogChecks(2, True, 1, variants=(("sex", ("male", "Male ")),))
    >>> check_sentences(checks)  # doctest: +NORMALIZE_WHITESPACE
    ['2 rows repeat the decision and the arm of an earlier row (dropped).',
     '1 row has no time: counted in the whole log, but in no window.',
     "Labels of sex that differ only in spaces or case count as different: 'male' and 'Male '."]
    """
    sentences = []
    if checks.is_in_row_order:
        sentences.append("No time column: time windows follow the order of the rows; name the column (--time).")
    if checks.duplicates is None:
        sentences.append("No decision column: duplicates could not be counted (--decision).")
    if checks.duplicates:
        rows = "1 row repeats" if checks.duplicates == 1 else f"{checks.duplicates:,} rows repeat"
        fate = "dropped" if checks.is_dropping else "kept; --duplicates drop skips them"
        sentences.append(f"{rows} the decision and the arm of an earlier row ({fate}).")
    if checks.without_time:
        rows = "1 row has" if checks.without_time == 1 else f"{checks.without_time:,} rows have"
        sentences.append(f"{rows} no time: counted in the whole log, but in no window.")
    if checks.outside_time:
        rows = "1 row has a time" if checks.outside_time == 1 else f"{checks.outside_time:,} rows have times"
        sentences.append(f"{rows} far from those of all others: counted in the first or the last window.")
    if checks.without_user:
        rows = "1 row has" if checks.without_user == 1 else f"{checks.without_user:,} rows have"
        sentences.append(f"{rows} no user: each counts as a separate user.")
    for attribute, n in checks.shared_users.items():
        users = "1 user appears" if n == 1 else f"{n:,} users appear"
        sentences.append(f"{users} in more than one group of {attribute}; each counts in all of these groups.")
    columns = dict.fromkeys(column for column, _ in checks.variants)
    for column in columns:
        found = [" and ".join(map(repr, labels)) for name, labels in checks.variants if name == column]
        listed = join_names(found, _MAX_VARIANTS) if len(found) > 1 else found[0]
        sentences.append(f"Labels of {column} that differ only in spaces or case count as different: {listed}.")
    return sentences


def checks_to_dict(checks: LogChecks) -> dict[str, Any]:
    """Return the checks as JSON values."""
    return {
        "duplicates": checks.duplicates,
        "dropped": (checks.duplicates or 0) if checks.is_dropping else 0,
        "without_time": checks.without_time,
        "outside_time": checks.outside_time,
        "without_user": checks.without_user,
        "shared_users": dict(checks.shared_users),
        "label_variants": [{"column": column, "labels": list(labels)} for column, labels in checks.variants],
        "sentences": check_sentences(checks),
    }
