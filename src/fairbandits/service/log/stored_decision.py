"""Decisions as they are stored, most of whose content is parsed only when it is needed.

Every worker applies the decisions of all other workers. It counts them and their groups. The context is needed
only if a reward arrives, and parsing it would take longer than everything else.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic_core import from_json

from fairbandits.service.log.events import Decided

# Quotes within strings are escaped, so these texts can only be keys. After each of these keys of the event, no key
# of the same form can follow, so the last match is the key of the event, whatever features and groups are called.
_GROUPS, _PICKED, _EXPLORED = ',"groups":{', ',"picked":[', ',"explored":true'


class StoredDecided(Decided):
    """A decision that is parsed on demand.

    Parameters
    ----------
    decision : str
        The id of the decision.
    text : str
        The decision, as written by `Event.to_json`.
    """

    __slots__ = ("_text",)

    def __init__(self, decision: str, text: str) -> None:
        object.__setattr__(self, "_text", text)
        object.__setattr__(self, "id", decision)
        picked = text.rfind(_PICKED)
        start = text.rfind(_GROUPS, 0, picked)
        if start > 0:
            object.__setattr__(self, "groups", _parse_groups(text[start + len(_GROUPS) - 1 : picked]))
            object.__setattr__(self, "explored", text.find(_EXPLORED, picked) > 0)

    def __getattr__(self, name: str) -> Any:
        """Parse the rest when a field that is not yet known is accessed."""
        if name not in Decided.__match_args__:
            raise AttributeError(name)
        whole = self.parse()
        for field in Decided.__match_args__:
            object.__setattr__(self, field, getattr(whole, field))
        return getattr(whole, name)

    def parse(self) -> Decided:
        """Return the whole decision."""
        return Decided(**from_json(self._text))

    def __eq__(self, other: object) -> bool:
        """Return whether the other object is the same decision, parsed or not."""
        return self.parse() == (other.parse() if isinstance(other, StoredDecided) else other)

    __hash__ = None  # type: ignore[assignment]  # like a decision, which contains dictionaries


# Users belong to few groups, so most texts have been seen before. The result is never modified.
@lru_cache(maxsize=1000)
def _parse_groups(text: str) -> dict[str, Any]:
    groups: dict[str, Any] = from_json(text)
    return groups
