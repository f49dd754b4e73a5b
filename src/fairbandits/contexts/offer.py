"""The arms on offer to one user or many, with their contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.contexts.notebook import arms_html
from fairbandits.models import Rows
from fairbandits.views.text import counted


@dataclass(slots=True, eq=False)
class Offer:
    """The arms that a `Catalogue` offers to one user or to many, with their contexts.

    An offer replaces a matrix of contexts: `policy.choose(offer, group)`, `policy.choose_many(offer, groups)`.

    Attributes
    ----------
    arms : sequence of ids
        The arms on offer, the same for all users.
    rows : Rows
        The contexts of these arms.

    Examples
    --------
    >>> from fairbandits import Catalogue
    >>> videos = Catalogue([[0.9], [0.4]], n_user_features=1, arms=["algebra", "biology"])
    >>> offer = videos.offer([0.5])
    >>> offer
    <Offer of 2 arms, 2 features, to 1 user>
    >>> offer.toarray().tolist()
    [[0.5, 0.9], [0.5, 0.4]]
    """

    arms: Sequence[ArmId]
    rows: Rows

    def __repr__(self) -> str:
        return f"<Offer of {counted(len(self.arms), 'arm')}, {self.rows.width} features, to {self._users()}>"

    def _repr_html_(self) -> str:
        return arms_html(f"Offer to {self._users()}", self.arms, {"features": self.rows.width})

    def _users(self) -> str:
        return counted(self.rows.n_users, "user")

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix of contexts: users times arms, by features."""
        return self.rows.n_users * self.rows.n_arms, self.rows.width

    def select(self, places: NDArray[np.int64]) -> Offer:
        """Return an offer of some of the arms, given by their places, to the same users."""
        arms = tuple([self.arms[place] for place in places.tolist()])
        return Offer(arms, self.rows.select(np.arange(self.rows.n_users), places))

    def toarray(self) -> NDArray[np.float64]:
        """Return the contexts as a matrix, users first."""
        return self.rows.toarray()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.toarray(), dtype)
