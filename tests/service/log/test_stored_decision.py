"""Decisions that are parsed on demand: equal to parsed ones, whatever their features and groups are called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbandits.service.log.stored_decision import StoredDecided
from tests.service.logs import decided

KEYS = ["groups", "picked", "explored", ',"groups":{', ',"picked":[', '"explored":true']
NAMES = st.text() | st.sampled_from(KEYS)


@given(
    st.dictionaries(NAMES, NAMES | st.floats(allow_nan=False, allow_infinity=False)),
    st.dictionaries(NAMES, NAMES),
    st.lists(NAMES, min_size=1),
    st.booleans(),
    st.none() | NAMES,
)
def test_all_fields_are_those_of_the_decision(features, groups, picked, explored, user):
    whole = decided(1, features=features, groups=groups, picked=picked, explored=explored, user=user)
    stored = StoredDecided(whole.id, whole.to_json())
    assert (stored.id, stored.groups, stored.explored) == (whole.id, groups, explored)
    assert stored == whole
    assert whole == stored
    assert stored == StoredDecided(whole.id, whole.to_json())
    assert all(getattr(stored, name) == getattr(whole, name) for name in whole.__match_args__)
    assert stored.to_json() == whole.to_json()


def test_decisions_differ():
    assert StoredDecided(decided(1).id, decided(1).to_json()) != decided(2)


def test_no_other_attributes():
    with pytest.raises(AttributeError, match="colour"):
        _ = StoredDecided(decided(1).id, decided(1).to_json()).colour
