"""Labels that are probably the same, but written in different ways."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from fairbandits.categorical import Label


def label_variants(labels: Iterable[Label]) -> list[tuple[str, ...]]:
    """Return the labels that differ from another label only in spaces or case, each with its variants.

    Examples
    --------
    >>> label_variants(["female", "male", "Female", "male ", "New York", 7])
    [('female', 'Female'), ('male', 'male ')]
    """
    variants: dict[str, dict[str, None]] = defaultdict(dict)
    for label in labels:
        text = str(label)
        variants["".join(text.split()).casefold()][text] = None
    return [tuple(found) for found in variants.values() if len(found) > 1]
