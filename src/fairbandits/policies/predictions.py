"""The predictions that a policy sees in a round: rewards and their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.fairness import GroupKey
from fairbandits.models import RewardModel, Rows
from fairbandits.models.device import Backend

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: The term that exploration or fairness adds: a number, or an array for users and arms.
Term = Floats | float


@dataclass(slots=True, eq=False)
class Predictions:
    """The input of a policy's `terms` in a round, for one user or many.

    Attributes
    ----------
    mean, width : arrays of shape (n_users, n_arms)
        The predicted reward, and its uncertainty.
    groups : tuple
        The group of each user, as pairs of attribute and value.
    arms : array of int, shape (n_arms,)
        The numbers of the arms on offer in the group record; -1 for an arm without rewards.
    contexts : Rows
        The contexts as given.
    rows : Rows
        The contexts as the model sees them, transformed.
    model : RewardModel
        The model that predicted, on rewards scaled to [0, 1]; `mean` and `width` are in units of reward.
    ids : sequence of str or int
        The ids of the arms on offer.
    backend : Backend or None
        The device that holds `mean` and `width`; None for NumPy.
    """

    mean: Floats
    width: Floats
    groups: tuple[GroupKey, ...]
    arms: Ints
    contexts: Rows
    rows: Rows
    model: RewardModel
    ids: Sequence[ArmId]
    backend: Backend | None = None

    @property
    def xp(self) -> Any:
        """The functions of the array API for `mean` and `width`: NumPy's, or those of a device's library."""
        return np if self.backend is None else self.backend.xp

    def like(self, values: Floats) -> Any:
        """Move a NumPy array to the device of `mean` and `width`."""
        return values if self.backend is None else self.backend.upload(values)

    def as_scores(self, term: Any) -> Any:
        """Return a term as an array with an entry for each user and arm."""
        if getattr(term, "shape", None) == self.mean.shape:
            return term
        if self.backend is None:
            zeros = np.zeros(self.mean.shape)
            # Most policies add nothing for fairness, and adding zero takes as long as any addition.
            return zeros if type(term) is float and not term else zeros + term
        # A view, which takes no memory on the device.
        alone = self.backend.full((1, 1), float(term)) if isinstance(term, int | float) else term
        return self.xp.broadcast_to(alone, self.mean.shape)
