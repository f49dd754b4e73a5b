"""What all policies share: choosing, learning, keeping."""

from __future__ import annotations

from fairbandits.policies.core import Floats, Ints, Predictions, Term
from fairbandits.policies.keeping import Keeping

__all__ = ["Floats", "Ints", "Policy", "Predictions", "Term"]


class Policy(Keeping):
    """The base of all policies: subclass it, or rather `LinearPolicy`, and say what to add to a score.

    Parameters
    ----------
    reward_range : tuple of two floats
        The lowest and highest reward; anything outside is refused.
    random_state : int, numpy Generator or None
        Where the randomness of ties and draws comes from.
    """
