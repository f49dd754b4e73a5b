"""Guesses of the roles of columns from their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# Column names from which roles are guessed, the most likely first, in lower case.
_NAMES: dict[str, tuple[str, ...]] = {
    "arm": ("arm", "arm_id", "action", "action_id", "item", "item_id", "video", "product", "variant", "choice"),
    "reward": ("reward", "rating", "click", "clicked", "outcome", "gain", "score"),
    "propensity": ("propensity", "pscore", "propensity_score", "probability", "action_prob", "prob"),
    "time": ("time", "timestamp", "datetime", "date", "ts"),
    "decision": ("decision", "decision_id", "request_id", "event_id", "slate_id", "id"),
    "user": (
        *("user", "user_id", "userid", "user_key", "customer", "customer_id", "visitor", "visitor_id", "member"),
        *("member_id", "account", "account_id", "client_id", "person_id", "student_id", "patient_id"),
        *("applicant_id", "candidate_id", "subject_id"),
    ),
    "position": ("position", "rank", "slot", "place"),
}
_GROUPS = ("sex", "gender", "race", "ethnicity", "age_group", "group", "nationality", "religion", "disability")
_CONTEXT_PREFIXES = ("context_", "feature_", "user_", "x_")

#: The roles that have one column, and the roles that may have several.
ONE_COLUMN = tuple(_NAMES)
SEVERAL_COLUMNS = ("groups", "contexts", "given")


def guess_roles(columns: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Guess the roles that are not given; return each with its column or columns."""
    taken = {given[name] for name in ONE_COLUMN if name in given}
    # Groups, contexts and factors may share columns; all other columns have one role.
    free = {column.lower(): column for column in reversed(columns) if column not in taken}
    unused = {lower: column for lower, column in free.items() if column not in columns_of_several(given)}
    guessed: dict[str, Any] = {}
    for role, names in _NAMES.items():
        found = next((unused[name] for name in names if name in unused), None)
        if role not in given and found is not None:
            guessed[role] = found
            del unused[found.lower()], free[found.lower()]
    if "groups" not in given:
        guessed["groups"] = tuple(free[name] for name in _GROUPS if name in free)
    if "contexts" not in given:
        # A given group becomes a feature only on request, and a second user id never does.
        others = {*given.get("groups", ()), *(free[name] for name in _NAMES["user"] if name in free)}
        # Features are in the order of the columns in the file.
        candidates = (c for c in columns if free.get(c.lower()) == c and c not in others)
        guessed["contexts"] = tuple(c for c in candidates if c.lower().startswith(_CONTEXT_PREFIXES))
    return {role: value for role, value in guessed.items() if value}


def role_of_candidate(role: str, columns: Sequence[str], given: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the first column whose name suggests a role but that has another role, together with the latter."""
    for column in columns:
        if column.lower() in _NAMES[role]:
            for other, value in given.items():
                if column == value or (other in SEVERAL_COLUMNS and column in value):
                    return column, other
    return None


def columns_of_several(given: Mapping[str, Any]) -> list[str]:
    """Return the columns of the roles that may have several columns."""
    return [column for name in SEVERAL_COLUMNS for column in given.get(name, ())]
