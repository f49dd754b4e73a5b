"""What the process that `tests/commands.py` forks from has imported and called."""

import alembic.context  # noqa: F401

import fairbandits.cli.app
import fairbandits.service.server  # noqa: F401
from fairbandits.service.log.events import Entry, Rewarded
from fairbandits.service.state.decider import decide
from tests.service.small import USER, small_recommender

_recommender = small_recommender()
_decided = decide(_recommender, USER["features"], USER["groups"])
_recommender.apply(Entry(4, _decided))
_recommender.apply(Entry(5, Rewarded(_decided.id, 0.0, 0.5), _decided))
