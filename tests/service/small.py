"""A small service for tests that do not need the demo: three courses, two features, two attributes."""

from fairbandits.service.config import as_config
from fairbandits.service.log.events import ArmAdded, Entry
from fairbandits.service.state.recommender import ServedRecommender

PLAIN = {
    "title": "Courses",
    "policy": "FairLinUCB(alpha=0.3, gamma=1)",
    "features": {"age": {"low": 20, "high": 70, "default": 45}, "language": {"values": ["en", "fr"]}},
    "attributes": {"gender": ["female", "male"], "region": ["north", "south"]},
    "arm_features": {"hours": {"low": 0, "high": 40}},
    "matches": ["language", "gender"],
    "arms": [
        {"arm": "python", "features": {"hours": 10}, "matches": {"language": "en", "gender": "female"}},
        {"arm": "algèbre", "features": {"hours": 20}, "matches": {"language": "fr"}},
        {"arm": "chess", "features": {"hours": 40}},
    ],
}
USER = {"features": {"age": 30, "language": "en"}, "groups": {"gender": "female", "region": "south"}}


def small_config(**changed):
    return as_config(PLAIN | changed)


def small_recommender(**changed):
    """A recommender whose arms are in the log, as entries 1 to 3."""
    config = small_config(**changed)
    recommender = ServedRecommender(config)
    for seq, arm in enumerate(config.arms, start=1):
        event = ArmAdded(arm["arm"], 1, 0.0, arm.get("features", {}), arm.get("matches", {}))
        recommender.apply(Entry(seq, event))
    return recommender
