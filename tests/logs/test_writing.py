"""Logs that are written: traces, and the sample."""

import numpy as np
import pandas as pd
import pytest

from fairbandits import EpsilonGreedy, LinTS
from fairbandits.logs import Log, LogError, Roles, fit, read_arms, write_log
from fairbandits.logs.sample import ROLES, sample_arms, sample_log
from fairbandits.simulate import simulate
from fairbandits.worlds import LinearWorld, StudentsAndVideos


@pytest.mark.parametrize("name", ["log.parquet", "log.csv"])
def test_a_trace_is_a_log(tmp_path, name):
    world = StudentsAndVideos(train=60, test=40, sensitive=("sex", "race"), data="stand-in", random_state=0)
    trace = simulate(EpsilonGreedy(random_state=0), world)
    assert write_log(tmp_path / name, trace) == 100
    log = Log.open(tmp_path / name)
    [chunk] = log.chunks()
    np.testing.assert_allclose(chunk.reward, trace.reward, rtol=1e-15)
    np.testing.assert_allclose(chunk.propensity, trace.probability, rtol=1e-15)
    assert [chunk.arm.labels[code] for code in chunk.arm.codes] == trace.arm.tolist()
    for attribute in ("sex", "race"):
        coded = chunk.group[attribute]
        assert [coded.labels[code] for code in coded.codes] == trace.group[attribute].tolist()
    # A Parquet file says its roles itself.
    assert log.roles == Roles("arm", "reward", ("sex", "race"), "propensity", decision="decision")
    assert bool(log.guessed) == (name == "log.csv")
    means = {s.group: s.mean for s in fit(log, EpsilonGreedy()).policy.groups.summaries("sex")}
    assert means == pytest.approx({group: trace.reward[trace.group["sex"] == group].mean() for group in means})


def test_a_trace_without_probabilities_or_with_slates(tmp_path):
    unknown = simulate(LinTS(model="shared", random_state=0), LinearWorld(), rounds=20)
    write_log(tmp_path / "log.parquet", unknown)
    assert Log.open(tmp_path / "log.parquet").roles.propensity is None
    slates = simulate(EpsilonGreedy(random_state=0), LinearWorld(), rounds=20, k=2)
    with pytest.raises(
        ValueError, match="a log has one arm per row, but this trace has slates; simulate without k"
    ):
        write_log(tmp_path / "slates.parquet", slates)
    assert not (tmp_path / "slates.parquet").exists()


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(LogError, match=r"a log is written to a .csv or .parquet file; got '.json'"):
        write_log(tmp_path / "log.json", {"arm": ["a"]})
    with pytest.raises(LogError, match="its folder does not exist; make it first"):
        write_log(tmp_path / "none" / "log.csv", {"arm": ["a"]})


def test_nothing_is_half_written(tmp_path):
    def broken():
        yield {"arm": ["a"], "reward": [1.0]}
        raise OSError("the disk is full")

    write_log(tmp_path / "log.csv", {"arm": ["old"], "reward": [0.0]})
    before = (tmp_path / "log.csv").read_bytes()
    with pytest.raises(OSError, match="the disk is full"):
        write_log(tmp_path / "log.csv", broken())
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]
    assert (tmp_path / "log.csv").read_bytes() == before


def sampled(rows, seed=0):
    stretches = []
    for columns in sample_log(rows, seed):
        words = {
            name: pd.array([column.labels[c] if c >= 0 else None for c in column.codes])
            for name, column in columns.items()
            if hasattr(column, "codes")
        }
        stretches.append(pd.DataFrame({**columns, **words}))
    return pd.concat(stretches)


def test_the_sample_says_what_it_promises():
    frame = sampled(60_000)
    known = frame[frame.reward.notna()]
    women, men = known[known.sex == "female"], known[known.sex == "male"]
    assert 0.08 < men.reward.mean() - women.reward.mean() < 0.2
    missing = frame.reward.isna().groupby(frame.sex).mean()
    assert missing["female"] == pytest.approx(0.13, abs=0.01)
    assert missing["male"] == pytest.approx(0.05, abs=0.01)
    # Why: what they are shown (since a day in February), and what they get from the same arm.
    shares = [people.arm.value_counts(normalize=True) for people in (men, women)]
    rewards = [people.groupby("arm").reward.mean() for people in (men, women)]
    shown = ((shares[0] - shares[1]) * (rewards[0] + rewards[1]) / 2).sum()
    got = ((rewards[0] - rewards[1]) * (shares[0] + shares[1]) / 2).sum()
    assert shown > 0.03
    assert got > 0.03
    assert shown + got == pytest.approx(men.reward.mean() - women.reward.mean())
    late = frame.time >= pd.Timestamp("2024-02-06")
    gap = known.groupby([late, "sex"]).reward.mean().unstack()
    assert (gap.male - gap.female)[True] > (gap.male - gap.female)[False] + 0.05
    assert (frame.race == "Other").mean() < 0.01


def test_the_propensities_of_the_sample_are_true():
    frame = sampled(60_000)
    early = frame.time < pd.Timestamp("2024-02-06")
    for _, people in frame.groupby([early, "sex", "context_interest"]):
        often = people.arm.value_counts(normalize=True)
        true = people.groupby("arm").propensity.agg(["min", "max"])
        np.testing.assert_allclose(true["min"], true["max"])
        np.testing.assert_allclose(often[true.index], true["min"], atol=0.03)
        assert people.drop_duplicates("arm").propensity.sum() == pytest.approx(1.0)


def test_the_same_seed_gives_the_same_sample(tmp_path, monkeypatch):
    monkeypatch.setattr("fairbandits.logs.sample._STEP", 400)
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        write_log(tmp_path / f"{name}.parquet", sample_log(1000, seed), ROLES)
    contents = [(tmp_path / f"{name}.parquet").read_bytes() for name in "abc"]
    assert contents[0] == contents[1] != contents[2]
    log = Log.open(tmp_path / "a.parquet")
    assert log.roles == ROLES
    assert log.guessed == {}
    assert sum(map(len, log.chunks())) == 1000
    table = read_arms(pd.DataFrame(sample_arms()), log)
    assert table.names == ("topic=art", "topic=science", "topic=sport", "minutes", "match:sex")
    assert fit(log, EpsilonGreedy(model="shared"), table=table).learned > 800


@pytest.mark.parametrize(("rows", "seed"), [(0, 0), (2.5, 0), (10, -1)])
def test_a_sample_of_no_size(rows, seed):
    with pytest.raises(ValueError, match="must be an integer of at least"):
        sample_log(rows, seed)
