"""The format of numbers, counts and lists of names in sentences, tables and notebooks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal

import numpy as np


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
    """Format a confidence level with all its digits, so that it is never rounded to 100%.

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


def counted(n: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun, in the singular or plural.

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


def shorten_name(name: str, length: int = 24) -> str:
    """Shorten a name in the middle, because names with the same beginning may end differently.

    Examples
    --------
    >>> shorten_name("a rather long name of group 7")
    'a rather lo…e of group 7'
    """
    half = length // 2
    return name if len(name) <= length else f"{name[: half - 1].rstrip()}…{name[-half:].lstrip()}"
