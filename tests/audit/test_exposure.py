import math

import numpy as np
import pandas as pd
import pytest

from fairbandits.audit import audit


def make(n=(4_000, 1_000), arms=(40, 40), seed=0):
    """Return a log in which the two groups are shown the given numbers of arms, equally often."""
    rng = np.random.default_rng(seed)
    arm = np.concatenate([rng.integers(k, size=size) for k, size in zip(arms, n, strict=True)])
    return pd.DataFrame({"arm": arm, "reward": rng.random(sum(n)), "sex": np.repeat(["male", "female"], n)})


def exposure(frame):
    return audit(frame, groups=["sex"], reference="male")["sex"].exposure


def test_shares_coverage_and_gini_of_each_group():
    frame = make(arms=(40, 20))
    result = exposure(frame)
    female, male = result.groups
    counts = frame.groupby(["sex", "arm"]).size().unstack(fill_value=0)
    shares = counts.div(counts.sum(axis=1), axis=0)
    assert (result.reference.name, result.n_arms) == ("male", 40)
    assert result.arms == tuple(counts.sum().sort_values(ascending=False, kind="stable").index[:10])
    assert female.shares == pytest.approx(shares.loc["female", list(result.arms)].tolist())
    assert (female.arms_shown, female.coverage, male.coverage) == (20, 0.5, 1.0)
    x = counts.loc["female"].to_numpy()
    assert female.gini == pytest.approx(np.abs(x[:, None] - x).mean() / 2.0 / x.mean())


def test_a_narrower_catalogue_is_found():
    result = exposure(make(arms=(40, 20)))
    [female] = result.narrower
    assert female.arms_difference.high < 0.0 < female.gini_difference.low
    assert (female.decisions, female.reference_arms) == (500.0, pytest.approx(40.0, abs=0.1))


@pytest.mark.parametrize("seed", range(5))
def test_a_smaller_group_with_the_same_exposure_is_not(seed):
    result = exposure(make(n=(5_000, 60), seed=seed))
    female, male = result.groups
    assert female.arms_shown < male.arms_shown
    assert result.narrower == ()
    assert math.isnan(male.arms_difference.value)


def test_a_single_arm_has_no_exposure():
    assert exposure(make(arms=(1, 1))) is None


def test_the_same_log_gives_the_same_numbers():
    assert exposure(make()) == exposure(make())
