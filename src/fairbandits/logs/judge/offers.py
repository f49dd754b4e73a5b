"""Arms offered to the users of a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairbandits.arms import ArmId
from fairbandits.contexts import Catalogue, Offer
from fairbandits.logs.contexts import Features


class Offers:
    """What is on offer to each user: all arms of the log, each with the user's features."""

    def __init__(self, arms: Sequence[ArmId], width: int) -> None:
        self._catalogue = Catalogue(np.zeros((len(arms), 0)), width, arms)

    def to_many(self, contexts: Features, groups: Sequence[Mapping[str, Any]]) -> Offer:
        """Offer all arms to many users."""
        return self._catalogue.offer_many(contexts)

    def of_arm(self, context: Any, arm: ArmId) -> Offer:
        """Offer one arm to one user."""
        return self._catalogue.offer(context, arms=[arm])
