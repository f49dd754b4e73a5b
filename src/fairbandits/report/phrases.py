"""Numbers, lists and groups of users as they appear in sentences and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Last words of labels after which "users" would not be read as a noun phrase: they say nothing, or name people.
_NOT_ADJECTIVES = frozenset(
    [
        *("other", "others", "unknown", "none", "yes", "no", "true", "false"),
        *("man", "men", "woman", "women", "boy", "boys", "girl", "girls", "males", "females"),
        *("adults", "minors", "children", "kids", "teens", "teenagers", "youths", "seniors"),
        *("elders", "pensioners", "people", "persons", "users", "students", "members", "citizens", "immigrants"),
    ]
)
# From this confidence on, an interval that excludes zero makes chance unlikely.
_CONVINCING = 0.9


def makes_chance_unlikely(confidence: float) -> bool:
    """Return whether an interval of this confidence that excludes zero makes chance unlikely."""
    return confidence >= _CONVINCING


def describe_users(
    attributes: Sequence[str], *groups: Sequence[Any], among: Sequence[Sequence[Any]] = ()
) -> list[str]:
    """Return a noun phrase for the users of each group, given the labels of its attributes.

    Labels that can stand before "users" do so; otherwise all phrases name the attributes.

    Parameters
    ----------
    attributes : sequence of str
        The attributes.
    *groups : sequences
        The labels of each group.
    among : sequence of sequences, optional
        The labels of all groups of the comparison, so that all its sentences have phrases of the same form.

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
    """Return a sentence with its first letter in upper case and the rest unchanged."""
    return sentence[:1].upper() + sentence[1:]


def _is_adjective(label: Any) -> bool:
    if (text := str(label)) != text.strip():
        return False
    words = text.replace("-", " ").split()
    letters = "".join(words)
    return len(letters) > 2 and letters.isalpha() and words[-1].lower() not in _NOT_ADJECTIVES


def _condition(attribute: str, label: Any) -> str:
    """Return the label of an attribute, in quotes if spaces around it would be overlooked."""
    text = str(label)
    return f"{attribute} = {text if text == text.strip() else repr(text)}"
