"""The arms on offer to one user or many, with their contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.models import Rows


@dataclass(slots=True, eq=False)
class Offer:
    """The arms that a `Catalogue` offers to one user or to many, with their contexts.

    It replaces a matrix of contexts: `policy.choose(offer, group)`, `policy.choose_many(offer, groups)`.

    Attributes
    ----------
    arms : sequence of ids
        The arms on offer, the same for all users.
    rows : Rows
        Their contexts.
    """

    arms: Sequence[ArmId]
    rows: Rows

    def __repr__(self) -> str:
        users = "1 user" if self.rows.n_users == 1 else f"{self.rows.n_users:,} users"
        return f"<Offer of {len(self.arms):,} arm(s), {self.rows.width} features, to {users}>"

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix of contexts: users times arms, by features."""
        return self.rows.n_users * self.rows.n_arms, self.rows.width

    def toarray(self) -> NDArray[np.float64]:
        """Return the contexts as a matrix, users first."""
        return self.rows.toarray()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.toarray(), dtype)
