"""Options that may differ between groups of users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairbandits.validation import check_number
from fairbandits.worlds.world import World


class GroupOption:
    """A number for all users, or for each of some groups.

    Parameters
    ----------
    name : str
        The name of the option, for errors.
    value : float or mapping of group to float
        The number, at most 1; it is 0 for groups that are not named.
    least : float
        The smallest number.

    Examples
    --------
    >>> option = GroupOption("missing", {"female": 0.3}, 0.0)
    >>> option("female"), option({"sex": "female", "race": "Black"}), option("male"), option(None)
    (0.3, 0.3, 0.0, 0.0)
    """

    def __init__(self, name: str, value: Any, least: float) -> None:
        self._name = name
        # Keys in JSON are text, so groups are compared as text.
        self._by_group: dict[str, float] = {}
        self._default = 0.0
        if isinstance(value, Mapping):
            self._by_group = {
                str(group): check_number(f"{name}[{group!r}]", each, least, 1) for group, each in value.items()
            }
        else:
            self._default = check_number(name, value, least, 1)

    @property
    def is_set(self) -> bool:
        """Whether the number of some group is not 0."""
        return bool(self._default or any(self._by_group.values()))

    def __call__(self, group: Any) -> float:
        """Return the number for a user's group, or for the first of several groups that is named."""
        if not self._by_group:
            return self._default
        for label in group.values() if isinstance(group, Mapping) else (group,):
            found = self._by_group.get(str(label))
            if found is not None:
                return found
        return self._default

    def check(self, world: World) -> None:
        """Raise ValueError unless users in every named group visit the world."""
        unseen, seen = set(self._by_group), set[str]()
        if not unseen:
            return
        for visit in world.visits():
            labels = visit.group.values() if isinstance(visit.group, Mapping) else (visit.group,)
            seen.update(map(str, labels))
            unseen -= seen
            if not unseen:
                return
        raise ValueError(
            f"{self._name} must name groups of the world, got {min(unseen)!r}; the groups are "
            f"{', '.join(sorted(seen))}"
        )
