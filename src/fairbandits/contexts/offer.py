"""What is on offer to a user, or to many: arms, and their contexts without a zero being written."""

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

    It takes the place of a matrix of contexts: `policy.choose(offer, group)`, `policy.choose_many(offer, groups)`.

    Attributes
    ----------
    arms : sequence of ids
        The arms on offer, the same for all users.
    rows : Rows
        Their contexts.
    """

    arms: Sequence[ArmId]
    rows: Rows

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix of contexts: the arms of one user after those of the other, by features."""
        return self.rows.n_users * self.rows.n_arms, self.rows.width

    def toarray(self) -> NDArray[np.float64]:
        """Write the contexts as a plain matrix."""
        return self.rows.toarray()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.toarray(), dtype)
