"""The order in which members of a family are tested."""

from hypothesis import given
from hypothesis import strategies as st

from fairbandits.ope.certification.family_selection import SelectionEstimates, certification_sequence

ESTIMATES = st.builds(
    SelectionEstimates,
    reward=st.floats(0.0, 1.0),
    gap=st.floats(0.0, 1.0),
    change=st.floats(-1.0, 1.0),
    sureness=st.floats(-5.0, 5.0),
)


@given(st.lists(ESTIMATES, max_size=30))
def test_rewards_rise_and_sureness_falls_along_the_sequence(estimates):
    sequence = [estimates[number] for number in certification_sequence(estimates)]
    rewards, sureness = [e.reward for e in sequence], [e.sureness for e in sequence]
    assert rewards == sorted(rewards)
    assert sureness == sorted(sureness, reverse=True)
    assert all(value >= -1.0 for value in sureness)
    if any(estimate.sureness >= -1.0 for estimate in estimates):
        assert sequence[0].sureness == max(estimate.sureness for estimate in estimates)
