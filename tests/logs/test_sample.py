"""The synthetic sample log."""

import numpy as np
import pandas as pd
import pytest

from fairbandits import EpsilonGreedy
from fairbandits.logs import Log, fit, read_arms, write_log
from fairbandits.logs.sample import ROLES, sample_arms, sample_log


def sampled(rows, seed=0):
    blocks = []
    for columns in sample_log(rows, seed):
        labels = {
            name: pd.array([column.labels[c] if c >= 0 else None for c in column.codes])
            for name, column in columns.items()
            if hasattr(column, "codes")
        }
        blocks.append(pd.DataFrame({**columns, **labels}))
    return pd.concat(blocks)


def test_the_sample_has_the_documented_gap_and_causes():
    frame = sampled(60_000)
    known = frame[frame.reward.notna()]
    women, men = known[known.sex == "female"], known[known.sex == "male"]
    assert 0.08 < men.reward.mean() - women.reward.mean() < 0.2
    missing = frame.reward.isna().groupby(frame.sex).mean()
    assert missing["female"] == pytest.approx(0.13, abs=0.01)
    assert missing["male"] == pytest.approx(0.05, abs=0.01)
    # Both effects of the decomposition contribute.
    shares = [people.arm.value_counts(normalize=True) for people in (men, women)]
    rewards = [people.groupby("arm").reward.mean() for people in (men, women)]
    exposure = ((shares[0] - shares[1]) * (rewards[0] + rewards[1]) / 2).sum()
    within_arm = ((rewards[0] - rewards[1]) * (shares[0] + shares[1]) / 2).sum()
    assert exposure > 0.03
    assert within_arm > 0.03
    assert exposure + within_arm == pytest.approx(men.reward.mean() - women.reward.mean())
    late = frame.time >= pd.Timestamp("2024-02-06")
    gap = known.groupby([late, "sex"]).reward.mean().unstack()
    assert (gap.male - gap.female)[True] > (gap.male - gap.female)[False] + 0.05
    assert (frame.race == "Other").mean() < 0.01


def test_the_propensities_of_the_sample_are_correct():
    frame = sampled(60_000)
    early = frame.time < pd.Timestamp("2024-02-06")
    for _, people in frame.groupby([early, "sex", "context_interest"]):
        shares = people.arm.value_counts(normalize=True)
        true = people.groupby("arm").propensity.agg(["min", "max"])
        np.testing.assert_allclose(true["min"], true["max"])
        np.testing.assert_allclose(shares[true.index], true["min"], atol=0.03)
        assert people.drop_duplicates("arm").propensity.sum() == pytest.approx(1.0)


def test_the_same_seed_gives_the_same_sample(tmp_path, monkeypatch):
    monkeypatch.setattr("fairbandits.logs.sample._BLOCK_ROWS", 400)
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        write_log(tmp_path / f"{name}.parquet", sample_log(1000, seed), ROLES)
    contents = [(tmp_path / f"{name}.parquet").read_bytes() for name in "abc"]
    assert contents[0] == contents[1] != contents[2]
    log = Log.open(tmp_path / "a.parquet")
    assert log.roles == ROLES
    assert log.guessed == {}
    assert sum(map(len, log.chunks())) == 1000
    table = read_arms(pd.DataFrame(sample_arms()), log)
    assert table.encoder.features == ("topic=art", "topic=science", "topic=sport", "minutes")
    assert list(table.matches) == ["sex"]
    assert fit(log, EpsilonGreedy(model="shared"), table=table).learned > 800


@pytest.mark.parametrize(("rows", "seed"), [(0, 0), (2.5, 0), (10, -1)])
def test_invalid_sizes_and_seeds(rows, seed):
    with pytest.raises(ValueError, match="must be an integer of at least"):
        sample_log(rows, seed)
