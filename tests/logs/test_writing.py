"""Writing logs: traces and columns, atomically."""

import numpy as np
import pytest

from fairbandits import EpsilonGreedy, LinTS
from fairbandits.logs import Log, LogError, Roles, fit, write_log
from fairbandits.simulate import simulate
from fairbandits.worlds import LinearWorld, StudentsAndVideos


@pytest.mark.parametrize("name", ["log.parquet", "log.csv"])
def test_a_trace_is_written_as_a_log(tmp_path, name):
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
    # A Parquet file stores the roles of its columns.
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


def test_invalid_paths(tmp_path):
    with pytest.raises(LogError, match=r"a log must be a .csv or .parquet file, got '.json'"):
        write_log(tmp_path / "log.json", {"arm": ["a"]})
    with pytest.raises(LogError, match="the folder does not exist; create it first"):
        write_log(tmp_path / "none" / "log.csv", {"arm": ["a"]})


def test_a_failed_write_leaves_the_old_file(tmp_path):
    def broken():
        yield {"arm": ["a"], "reward": [1.0]}
        raise OSError("the disk is full")

    write_log(tmp_path / "log.csv", {"arm": ["old"], "reward": [0.0]})
    before = (tmp_path / "log.csv").read_bytes()
    with pytest.raises(OSError, match="the disk is full"):
        write_log(tmp_path / "log.csv", broken())
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]
    assert (tmp_path / "log.csv").read_bytes() == before
