"""The engine: how it opens a log."""

import pytest

from fairbandits.service import server
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


@pytest.mark.parametrize(
    ("policy", "warns"),
    [
        ("EvenLinUCB", True),
        ("EvenLinUCB(min_probability=0.001)", False),
        ("EpsilonGreedy(epsilon=0.1)", False),
        ("Uniform", False),
    ],
)
def test_a_service_whose_log_cannot_be_evaluated_says_so(policy, warns, caplog):
    server._warn_of_certainty(small_config(policy=policy))
    message = (
        "EvenLinUCB always picks the arm with the highest score, so its log says probability 1, and no other "
        "policy can be evaluated on it; to change that, set min_probability, as in "
        "EvenLinUCB(min_probability=0.001)"
    )
    assert caplog.messages == [message] * warns
