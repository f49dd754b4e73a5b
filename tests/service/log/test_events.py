"""Events as JSON, and their keys."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairbandits.service.log.events import ArmAdded, Decided, Rewarded, read_event, rewards_by_arm

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, min_size=1), finite, st.text(), st.none() | st.text())
def test_floats_are_read_back_bitwise_identical(values, time, text, user):
    event = Decided(
        "id",
        time,
        0,
        {text: time},
        {"a": text},
        [text],
        False,
        1,
        None,
        False,
        [{"mean": time}],
        [[[0], values, 0]],
        1,
        user,
    )
    again = read_event("decided", event.to_json())
    assert again == event
    assert np.array(again.contexts[0][1]).tobytes() == np.array(values, float).tobytes()
    plain = json.loads(event.to_json())
    assert plain["time"] == time
    assert ("user" in plain) == (user is not None), "so that 0.1.0 can read a log without users"
    assert read_event("rewarded", Rewarded("id", time, values).to_json()) == Rewarded("id", time, values)


def test_keys_of_events_do_not_collide():
    assert ArmAdded("a:1", 1, 0.0, {}, {}).key != ArmAdded("1", 1, 0.0, {}, {}).key
    keys = {ArmAdded(arm, version, 0.0, {}, {}).key for arm in ("1", "1:1", ":1") for version in (1, 11)}
    assert len(keys) == 6


def test_the_rewards_of_a_slate():
    assert rewards_by_arm(1, 2) == (1.0, [1.0, 1.0])
    assert rewards_by_arm([0.5, None, 1], 3) == (0.75, [0.5, None, 1.0])
