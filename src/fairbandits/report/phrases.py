"""Numbers, lists and groups of users as they appear in sentences and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Last words of labels that do not form a noun phrase with "users": they are uninformative, or already name people.
_NOT_ADJECTIVES = frozenset(
    [
        *("other", "others", "unknown", "none", "yes", "no", "true", "false"),
        *("man", "men", "woman", "women", "boy", "boys", "girl", "girls", "males", "females"),
        *("adults", "minors", "children", "kids", "teens", "teenagers", "youths", "seniors"),
        *("elders", "pensioners", "people", "persons", "users", "students", "members", "citizens", "immigrants"),
    ]
)
# At this confidence level or above, an interval that excludes zero makes chance an unlikely explanation.
_CONVINCING = 0.9


def makes_chance_unlikely(confidence: float) -> bool:
    """Return whether an interval at this confidence level that excludes zero makes chance unlikely."""
    return confidence >= _CONVINCING


def describe_users(
    attributes: Sequence[str], *groups: Sequence[Any], among: Sequence[Sequence[Any]] = ()
) -> list[str]:
    """Return a noun phrase for the users in each group, given the labels of its attributes.

    If all labels can stand before "users", they do; otherwise all phrases name the attributes.

    Parameters
    ----------
    attributes : sequence of str
        The attributes.
    *groups : sequences
        The labels of each group.
    among : sequence of sequences, optional
        The labels of all groups of the comparison, so that all sentences about it use phrases of the same form.

    Examples
    --------
    >>> describe_users(["sex"], ["female"], ["male"])
    ['female users', 'male users']
    >>> describe_users(["sex"], ["female"], among=[["female"], ["other"]])
    ['users with sex = female']
    >>> describe_users(["sex", "age"], ["f", 30], ["m ", 40])
    ['users with sex = f and age = 30', "users with sex = 'm ' and age = 40"]
    """
    if all(_is_adjective(label) for labels in (*groups, *among) for label in labels):
        return [f"{' '.join(map(str, labels))} users" for labels in groups]
    return [f"users with {' and '.join(map(_condition, attributes, labels))}" for labels in groups]


def capitalise(sentence: str) -> str:
    """Return a sentence with its first letter capitalised and the rest unchanged."""
    return sentence[:1].upper() + sentence[1:]


def _is_adjective(label: Any) -> bool:
    if (text := str(label)) != text.strip():
        return False
    words = text.replace("-", " ").split()
    letters = "".join(words)
    return len(letters) > 2 and letters.isalpha() and words[-1].lower() not in _NOT_ADJECTIVES


def _condition(attribute: str, label: Any) -> str:
    """Return the label of an attribute, quoted if surrounding spaces would otherwise be overlooked."""
    text = str(label)
    return f"{attribute} = {text if text == text.strip() else repr(text)}"
