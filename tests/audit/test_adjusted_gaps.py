import numpy as np
import pandas as pd
import pytest

from fairbandits.audit import audit
from fairbandits.audit.adjusted_gaps import adjust
from fairbandits.audit.aggregation import aggregate_log
from fairbandits.audit.grouped_sums import group_by
from fairbandits.audit.nuisances import cross_fit, design_matrix
from fairbandits.audit.row_sample import sample_rows
from fairbandits.logs import Log

# The difference between women and men with the same factors.
TRUTHS = {"explained": 0.0, "partly explained": -0.08, "reversed": 0.08}


def make(truth, seed, n_users=3_000, visits=2):
    """Return a log in which men have more of the education and the age that are rewarded."""
    rng = np.random.default_rng(seed)
    is_male = rng.random(n_users) < 0.5
    education = rng.random(n_users) < np.where(is_male, 0.75, 0.25)
    age = np.clip(rng.normal(np.where(is_male, 42.0, 38.0), 8.0), 20.0, 60.0)
    mean = 0.25 + 0.4 * education + 0.003 * (age - 40.0) + truth * ~is_male
    user = np.repeat(np.arange(n_users), visits)
    return pd.DataFrame(
        {
            "user": user,
            "arm": rng.integers(3, size=user.size),
            "reward": (rng.random(user.size) < mean[user]).astype(float),
            "sex": np.where(is_male, "male", "female")[user],
            "education": np.where(education, "high", "low")[user],
            "age": age[user],
            "years": np.where(education, 12.0, 9.0)[user],
        }
    )


def adjusted(log, given, **options):
    return audit(log, user="user", groups=["sex"], given=given, reference="male", **options)["sex"].adjusted


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", TRUTHS)
def test_doubly_robust_adjustment_recovers_the_truth(kind, seed):
    result = adjusted(make(TRUTHS[kind], seed), ["education", "age"], confidence=0.999)
    [gap] = result.groups
    assert (result.method, result.reference.name, result.sample_share) == ("doubly robust", "male", 1.0)
    assert gap.adjusted.low <= TRUTHS[kind] <= gap.adjusted.high
    assert gap.adjusted.high - gap.adjusted.low < 0.15
    assert gap.raw.high < 0.0
    if kind == "reversed":
        assert gap.adjusted.low > 0.0


@pytest.mark.parametrize("factor", ["education", "years"])
@pytest.mark.parametrize("kind", TRUTHS)
def test_standardisation_recovers_the_truth(kind, factor):
    """Text and numbers with few values are strata."""
    log = make(TRUTHS[kind], 7)
    log["reward"] = (np.random.default_rng(0).random(len(log)) < _mean(log, TRUTHS[kind])).astype(float)
    result = adjusted(log, [factor], confidence=0.999)
    [gap] = result.groups
    assert (result.method, result.n_strata) == ("standardised", 2)
    assert gap.adjusted.low <= TRUTHS[kind] <= gap.adjusted.high
    assert gap.not_comparable == (0.0, 0.0)
    cells = log.groupby([factor, "sex"])["reward"].mean().unstack()
    expected = np.average(cells["female"] - cells["male"], weights=log.groupby(factor).size())
    assert abs(gap.adjusted.value - expected) < 1e-9


def _mean(log, truth):
    return 0.25 + 0.4 * (log["education"] == "high") + truth * (log["sex"] == "female")


def test_the_adjusted_gap_agrees_with_an_independent_computation_from_the_same_predictions():
    frame = make(-0.08, 3, n_users=800)
    result = adjusted(frame, ["education", "age"])
    log = Log.open(frame, user="user", groups=["sex"], given=["education", "age"], arm="arm", reward="reward")
    rows = sample_rows(log, log.roles.given)
    keys, _, reward, *_ = rows.columns
    is_first = (frame["sex"] == "female").to_numpy()
    features = design_matrix([rows.factor("education"), rows.factor("age")])
    predicted = cross_fit(features, reward, is_first, keys)
    p, (m1, m2) = predicted.propensity, predicted.means
    treated = np.mean((is_first * reward - (is_first - p) * m1) / p)
    others = np.mean((~is_first * reward + (is_first - p) * m2) / (1.0 - p))
    assert abs(result.groups[0].adjusted.value - (treated - others)) < 1e-9


def test_factors_that_are_the_groups_are_left_out():
    log = make(0.0, 0, n_users=600)
    result = audit(log, user="user", groups=["sex", "education"], given=["education"])
    assert result["education"].adjusted is None
    assert result["sex", "education"].adjusted is None
    assert result["sex"].adjusted.factors == ("education",)


def test_users_without_counterparts_are_counted():
    log = make(0.0, 0, n_users=1_000)
    is_alone = (log["sex"] == "male") & (log["user"] % 4 == 0)
    log["job"] = np.where(is_alone, "sailor", "teacher")
    [gap] = adjusted(log, ["job"]).groups
    share = is_alone.sum() / (log["sex"] == "male").sum()
    assert gap.not_comparable == pytest.approx((0.0, share))
    log["age"] += 100.0 * is_alone
    [gap] = adjusted(log, ["age"]).groups
    assert gap.not_comparable[1] == pytest.approx(share, abs=0.05)


def test_no_overlap_at_all():
    log = make(0.0, 0, n_users=400)
    log["uniform"] = log["sex"]
    [gap] = adjusted(log, ["uniform"]).groups
    assert np.isnan(gap.adjusted.value)
    assert gap.not_comparable == (1.0, 1.0)


def test_users_whose_factors_are_unknown_are_left_out():
    log = make(0.0, 0, n_users=600)
    log.loc[log["user"] % 5 == 0, ["education", "age"]] = [None, np.nan]
    for factor in ("education", "age"):
        [gap] = adjusted(log, [factor]).groups
        assert np.isfinite(gap.adjusted.value)
        assert gap.not_comparable == pytest.approx((0.2, 0.2), abs=0.03)
    assert adjusted(log, ["education"]).n_strata == 2


def test_rewards_that_are_not_binary_and_their_range():
    log = make(-0.08, 1, n_users=1_000)
    log["reward"] = 1.0 + 4.0 * (0.3 + 0.2 * (log["education"] == "high") - 0.1 * (log["sex"] == "female"))
    for given in (["education"], ["education", "age"]):
        [gap] = adjusted(log, given, reward_range=(1.0, 5.0)).groups
        assert gap.adjusted.value == pytest.approx(-0.4, abs=0.02)


def test_a_watched_log_has_no_adjusted_gaps():
    with pytest.raises(
        ValueError, match="given must not be set with sequential; adjusted gaps need a finished log"
    ):
        audit(make(0.0, 0, n_users=100), groups=["sex"], given=["education"], sequential=True)


def test_several_groups_are_each_compared_with_the_reference():
    log = make(0.0, 1, n_users=900)
    log["race"] = np.array(["Asian", "Black", "White"])[log["user"] % 3]
    result = audit(log, user="user", groups=["race"], given=["education"], reference="White")["race"].adjusted
    assert sorted(gap.group.name for gap in result.groups) == ["Asian", "Black"]


def test_merged_parts_of_a_log_give_the_same_numbers(tmp_path):
    log = make(-0.08, 5, n_users=500)
    log.iloc[:400].to_csv(tmp_path / "a.csv", index=False)
    log.iloc[400:].to_csv(tmp_path / "b.csv", index=False)
    for given in (["education"], ["education", "age"]):
        whole = adjusted(log, given).groups[0].adjusted
        opened = Log.open(tmp_path, user="user", groups=["sex"], given=given, arm="arm", reward="reward")
        parts = opened.split(2)
        grouped = group_by(aggregate_log(opened), ("sex",))
        reference = audit(log, user="user", groups=["sex"], given=given, reference="male")["sex"].reference
        source = _merged(parts, given)
        merged = adjust(reference, grouped, source, 0.05).groups[0].adjusted
        assert merged.value == pytest.approx(whole.value, abs=1e-9 if len(given) == 1 else 1e-6)


def _merged(parts, given):
    from fairbandits.audit.strata_sums import aggregate_strata

    read = (
        (lambda part: aggregate_strata(part, 0.0)) if len(given) == 1 else (lambda part: sample_rows(part, given))
    )
    first, second = map(read, parts)
    first.merge(second)
    return first


@pytest.mark.slow
@pytest.mark.parametrize("given", [["education"], ["education", "age"]])
def test_the_interval_covers_the_truth(given):
    hits = 0
    for seed in range(200):
        log = make(-0.08, seed, n_users=400, visits=3)
        if given == ["education"]:
            rng = np.random.default_rng(seed)
            log["reward"] = (rng.random(len(log)) < _mean(log, -0.08)).astype(float)
        [gap] = adjusted(log, given).groups
        hits += gap.adjusted.low <= -0.08 <= gap.adjusted.high
    assert hits >= 180
