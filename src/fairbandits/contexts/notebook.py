"""Catalogues and offers in notebooks: HTML views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from fairbandits.arms import ArmId
from fairbandits.views import html
from fairbandits.views.text import counted, shorten_name

_MAX_NAMED = 10
_MAX_NAME = 24


def arms_html(title: str, arms: Sequence[ArmId], values: Mapping[str, object]) -> str:
    """Return the view of a set of arms, the first of which are named."""
    named = ", ".join(shorten_name(str(arm), _MAX_NAME) for arm in islice(arms, _MAX_NAMED))
    n_rest = len(arms) - _MAX_NAMED
    rest = f" and {n_rest:,} more" if n_rest > 0 else ""
    return html.card(title, html.facts(values), f"{named}{rest}", note=counted(len(arms), "arm"))
