"""Numbers, lists and groups of users as they appear in sentences and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

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


def decimals(span: float, width: float) -> int:
    """Return the number of decimals to show: three digits of the range, or more if an interval is narrow.

    Examples
    --------
    >>> decimals(1.0, 0.02), decimals(1.0, 0.0004), decimals(100.0, 3.0)
    (3, 5, 1)
    """
    by_span = 3 - math.floor(math.log10(span))
    by_width = math.ceil(-math.log10(width / 5.0)) if width > 0.0 else 0
    return int(np.clip(max(by_span, by_width), 0, 9))


def number_formatter(digits: int) -> Callable[[float], str]:
    """Return a function that formats numbers with a fixed number of decimals, and NaN as an empty string.

    Examples
    --------
    >>> number_formatter(2)(1234.567), number_formatter(2)(-0.001)
    ('1,234.57', '0.00')
    """
    return lambda value: "" if math.isnan(value) else f"{value:z,.{digits}f}".replace("-", "\N{MINUS SIGN}")


def percent(share: float) -> str:
    """Format a share, with a second decimal if it is below 0.1%.

    Examples
    --------
    >>> percent(0.031), percent(0.0004), percent(0.0)
    ('3.1%', '0.04%', '0.0%')
    """
    return f"{share:.1%}" if share == 0.0 or share >= 0.001 else f"{share:.2%}"


def confidence_percent(confidence: float) -> str:
    """Format a confidence with all its digits, so that none is rounded to 100%.

    Examples
    --------
    >>> confidence_percent(0.95), confidence_percent(0.9999999)
    ('95%', '99.99999%')
    """
    return f"{(Decimal(str(float(confidence))) * 100).normalize():f}%"


def confidence_label(confidence: float) -> str:
    """Return the name of a confidence interval.

    Examples
    --------
    >>> confidence_label(0.95), confidence_label(0.999)
    ('95% CI', '99.9% CI')
    """
    return f"{confidence_percent(confidence)} CI"


def makes_chance_unlikely(confidence: float) -> bool:
    """Return whether an interval of this confidence that excludes zero makes chance unlikely."""
    return confidence >= _CONVINCING


def counted(n: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(2_000, "row"), counted(2, "stratum", "strata")
    ('1 row', '2,000 rows', '2 strata')
    """
    return f"{n:,} {singular if n == 1 else plural or f'{singular}s'}"


def join_names(names: Sequence[str], max_names: int) -> str:
    """Join names with commas and "and"; beyond `max_names`, count the rest.

    Examples
    --------
    >>> join_names(["a", "b", "c"], 3), join_names(["a", "b", "c"], 2)
    ('a, b and c', 'a, b and 1 more')
    """
    if len(names) > max_names:
        return f"{', '.join(names[:max_names])} and {len(names) - max_names:,} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


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
    return len(letters) > 1 and letters.isalpha() and words[-1].lower() not in _NOT_ADJECTIVES


def _condition(attribute: str, label: Any) -> str:
    """Return the label of an attribute, in quotes if spaces around it would be overlooked."""
    text = str(label)
    return f"{attribute} = {text if text == text.strip() else repr(text)}"
