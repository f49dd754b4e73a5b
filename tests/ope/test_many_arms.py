"""Logs with arms that appear over time."""

import numpy as np
import pandas as pd
import pytest

from fairbandits.ope import ProbabilityColumn, evaluate


def log_of(n_arms, rows, rng):
    """Draw a log in which arm i appears from row i x rows / n_arms on."""
    latest = np.arange(rows) * n_arms // rows
    arm = (rng.random(rows) * (latest + 1)).astype(int)
    return pd.DataFrame(
        {
            "arm": [f"arm-{number}" for number in arm],
            "reward": (rng.random(rows) < 0.3) * 1.0,
            "propensity": 1.0 / (latest + 1),
            "sex": rng.choice(["female", "male"], rows),
        }
    )


def test_an_arm_that_appears_after_the_first_chunk():
    rng = np.random.default_rng(0)
    rows = 300_000
    frame = log_of(1, rows, rng).assign(arm=rng.choice(["early", "other"], rows), propensity=0.5)
    frame.loc[rows - 1, "arm"] = "late"
    result = evaluate(frame, lambda users: np.full(len(users), "early")).policies[0]
    assert result.preferred.value.overall.value == pytest.approx(0.3, abs=0.01)
    assert result.estimates["direct_method"].value.overall.value == pytest.approx(0.3, abs=0.01)


def test_a_hundred_thousand_arms_that_appear_over_time():
    rng = np.random.default_rng(1)
    frame = log_of(100_000, 150_000, rng)
    # The policy prefers arms with an even number, all of which are in the log.
    is_even = frame["arm"].str[-1].isin(list("02468"))
    frame["p"] = np.minimum(np.where(is_even, 1.6, 0.4) * frame["propensity"], 1.0)
    evaluation = evaluate(frame, ProbabilityColumn("p"))
    value = evaluation.policies[0].preferred.value.overall
    assert value.low < 0.3 < value.high
    assert not any("do not fit the log" in warning for warning in evaluation.warnings)
