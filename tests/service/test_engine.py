"""The engine: how it opens a log."""

import pytest

from fairbandits.service.engine import Engine
from fairbandits.service.state.recommender import ServedRecommender
from tests.service.small import small_config


def test_an_engine_has_a_recommender(tmp_path):
    engine = Engine(small_config(store={"url": f"sqlite:///{tmp_path}/log.db"}))
    assert isinstance(engine.recommender, ServedRecommender)


def test_an_arm_without_a_feature_that_has_lost_its_default_is_refused_at_the_start(tmp_path):
    hours = {"low": 0, "high": 40}
    how = {"store": {"url": f"sqlite:///{tmp_path}/log.db"}, "arms": [{"arm": "chess"}]}
    engine = Engine(small_config(arm_features={"hours": hours | {"default": 10}}, **how))
    engine._open()
    engine.store.close()
    engine = Engine(small_config(arm_features={"hours": hours}, **how | {"arms": []}))
    with pytest.raises(
        ValueError,
        match=r"arm_features\.hours must have a default, because arm 'chess' of the log has no value for it",
    ):
        engine._open()
    engine.store.close()
