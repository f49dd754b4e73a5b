"""Policies judged by a log: from end to end, against the truth and against plain arrays."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from fairbandits import EpsilonGreedy, FairLinUCB, LinUCB, Policy, Uniform
from fairbandits.logs import Log, fit, read_arms
from fairbandits.ope import estimators, evaluate, passes
from fairbandits.ope.cross_fitting import CrossFittedModel, deal

ARMS = ("algebra", "biology", "chemistry")
# Mean reward by sex (female, male), by feature (0, 1), by arm.
MEAN = np.array([[[0.3, 0.5, 0.4], [0.6, 0.2, 0.4]], [[0.5, 0.6, 0.4], [0.7, 0.3, 0.4]]])


def logged(n=4_000, seed=0, uniform=False):
    """Draw a log whose truth is known; the logging policy looks at the feature."""
    rng = np.random.default_rng(seed)
    sex, x = rng.integers(0, 2, n), rng.integers(0, 2, n)
    shares = np.full((2, 3), 1 / 3) if uniform else np.array([[0.6, 0.2, 0.2], [0.2, 0.5, 0.3]])
    arm = (rng.random(n)[:, None] > np.cumsum(shares[x], axis=1)).sum(axis=1).clip(0, 2)
    return pd.DataFrame(
        {
            "arm": np.array(ARMS)[arm],
            "reward": (rng.random(n) < MEAN[sex, x, arm]).astype(float),
            "propensity": shares[x, arm],
            "sex": np.array(["female", "male"])[sex],
            "x_low": 1.0 - x,
            "x_high": x.astype(float),
        }
    )


def contexts_of(frame):
    return np.repeat(frame[["x_low", "x_high"]].to_numpy()[:, None], len(ARMS), axis=1)


def groups_of(frame):
    return [{"sex": sex} for sex in frame["sex"]]


@pytest.fixture(scope="module")
def frame():
    return logged()


@pytest.fixture(scope="module")
def trained():
    policy = EpsilonGreedy(epsilon=0.3, random_state=0)
    return fit(Log.open(logged(seed=9)), policy).policy


@pytest.fixture(scope="module")
def found(frame, trained):
    return evaluate(frame, trained)


# -- right ---------------------------------------------------------------------------------------------


def chances_of(policy, frame):
    return policy.probabilities(contexts_of(frame), groups_of(frame), ARMS)


def test_a_saved_policy_is_judged_by_its_own_probabilities(frame, trained, found):
    chances = chances_of(trained, frame)
    arm = np.array([ARMS.index(name) for name in frame["arm"]])
    chance = chances[np.arange(len(frame)), arm]
    expected = {
        "replay": estimators.replay(chance, frame["reward"]),
        "ips": estimators.ips(chance, frame["reward"], frame["propensity"]),
        "snips": estimators.snips(chance, frame["reward"], frame["propensity"]),
    }
    verdicts = found.policies[0].verdicts
    assert set(verdicts) == {*expected, "direct", "doubly_robust"}
    for name, terms in expected.items():
        whole, mine = terms.estimate(), verdicts[name].value.everybody
        assert mine.value == pytest.approx(whole.value, abs=1e-12)
        assert (mine.low, mine.high) == pytest.approx((whole.low, whole.high), abs=1e-9)
        for sex, estimate in terms.by(frame["sex"]).items():
            assert verdicts[name].value.groups["sex"][sex].value == pytest.approx(estimate.value, abs=1e-12)
        each = terms.by(frame["sex"])
        (difference,) = verdicts[name].differences
        assert (difference.first, difference.second) == ("female", "male")
        assert difference.estimate.value == pytest.approx(each["female"].minus(each["male"]).value, abs=1e-12)
        assert difference.estimate.high == pytest.approx(each["female"].minus(each["male"]).high, abs=1e-9)


def test_the_model_of_the_reward_is_a_cross_fitted_ridge(frame, trained, found):
    arm = np.array([ARMS.index(name) for name in frame["arm"]])
    fold = deal(np.arange(len(frame)), 5)
    sexes = pd.get_dummies(frame["sex"]).to_numpy(float)
    features = np.column_stack([np.ones(len(frame)), sexes, frame[["x_low", "x_high"]]])
    predicted = np.empty((len(frame), 3))
    for k in range(3):
        for f in range(5):
            rows = (fold != f) & (arm == k)
            model = Ridge(alpha=1.0, fit_intercept=False).fit(features[rows], frame["reward"][rows])
            predicted[fold == f, k] = model.predict(features[fold == f])
    chances = chances_of(trained, frame)
    robust = estimators.doubly_robust(chances, predicted, arm, frame["reward"], frame["propensity"])
    verdicts = found.policies[0].verdicts
    assert verdicts["direct"].value.everybody.value == pytest.approx(
        estimators.direct(chances, predicted).value(), abs=1e-9
    )
    assert verdicts["doubly_robust"].value.everybody.value == pytest.approx(robust.value(), abs=1e-9)
    assert verdicts["doubly_robust"].value.everybody.error == pytest.approx(robust.estimate().error, rel=1e-6)
    # The error of the direct method: that of the users who came, and that of the coefficients (White's sandwich).
    expected = estimators.direct(chances, predicted).estimate().error ** 2
    for k in range(3):
        X = features[arm == k]
        inverse = np.linalg.inv(X.T @ X + np.eye(5))
        off = (frame["reward"] - predicted[:, k])[arm == k].to_numpy()
        lever = inverse @ (chances[:, [k]] * features).mean(axis=0)
        expected += lever @ (X.T * off**2) @ X @ lever
    assert verdicts["direct"].value.everybody.error == pytest.approx(math.sqrt(expected), rel=1e-6)


def test_the_truth_is_where_the_intervals_say(trained, found):
    # Users are of four kinds, each as frequent as the other.
    kinds = logged(40).drop_duplicates(["sex", "x_high"])
    means = np.array(
        [MEAN[int(sex == "male"), int(x)] for sex, x in zip(kinds["sex"], kinds["x_high"], strict=True)]
    )
    value = (chances_of(trained, kinds) * means).sum(axis=1)
    truth = {sex: value[kinds["sex"] == sex].mean() for sex in ("female", "male")}
    for name in ("ips", "snips", "direct", "doubly_robust"):
        verdict = found.policies[0].verdicts[name]
        wide = [
            (verdict.value.everybody, np.mean(list(truth.values()))),
            *((verdict.value.groups["sex"][sex], truth[sex]) for sex in truth),
            (verdict.differences[0].estimate, truth["female"] - truth["male"]),
        ]
        for estimate, expected in wide:
            assert abs(estimate.value - expected) < 4.0 * estimate.error, name


def test_the_log_itself_is_judged_too(frame, found):
    assert found.logged.value.everybody.value == pytest.approx(frame["reward"].mean())
    means = frame.groupby("sex")["reward"].mean()
    assert found.logged.differences[0].estimate.value == pytest.approx(means["female"] - means["male"])
    gain = found.policies[0].verdicts["ips"].gain.everybody
    value = found.policies[0].verdicts["ips"].value.everybody
    assert gain.value == pytest.approx(value.value - frame["reward"].mean())


def test_it_does_not_matter_what_the_log_is_kept_in(tmp_path, frame, trained, found):
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_parquet(tmp_path / "log.parquet", row_group_size=700)
    for log in (tmp_path / "log.csv", tmp_path / "log.parquet"):
        other = evaluate(log, trained)
        for name, verdict in found.policies[0].verdicts.items():
            for mine, theirs in (
                (other.policies[0].verdicts[name].value.everybody, verdict.value.everybody),
                (other.policies[0].verdicts[name].differences[0].estimate, verdict.differences[0].estimate),
            ):
                assert mine.value == pytest.approx(theirs.value, abs=1e-9)
                assert mine.error == pytest.approx(theirs.error, abs=1e-9)


def test_more_than_two_groups_hold_together(frame, trained):
    wider = frame.assign(race=np.random.default_rng(0).choice(list("abc"), len(frame)))
    verdict = evaluate(wider, trained).policies[0].verdicts["snips"]
    pairs = [one for one in verdict.differences if one.attribute == "race"]
    assert [(one.first, one.second) for one in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairs[0].estimate.confidence == pytest.approx(1.0 - 0.05 / 3)
    widest = verdict.widest("race")
    assert widest.estimate.value == pytest.approx(max(abs(one.estimate.value) for one in pairs))
    assert widest.turned().estimate.low == pytest.approx(-widest.estimate.high)


# -- who has learned what ------------------------------------------------------------------------------


def test_policies_by_name_learn_the_first_half_and_are_judged_by_the_second(frame):
    half = len(frame) // 2
    found = evaluate(frame, ["LinUCB(alpha=0.1)", "Uniform"])
    assert found.trained == half
    assert found.rows.everybody == len(frame) - half
    assert found["LinUCB(alpha=0.1)"].how == f"after training on {half:,} earlier rows"
    policy = fit(Log.open(frame[:half]), LinUCB(alpha=0.1, random_state=0)).policy
    mine = evaluate(frame[half:], policy).policies[0].verdicts["ips"].value.everybody
    theirs = found["LinUCB(alpha=0.1)"].verdicts["ips"].value.everybody
    assert theirs.value == pytest.approx(mine.value, abs=1e-9)
    with pytest.raises(KeyError, match="'LinTS' was not judged; these were: LinUCB"):
        found["LinTS"]


def test_the_halves_are_those_of_time(frame):
    shuffled = frame.assign(time=np.arange(len(frame))).sample(frac=1.0, random_state=0)
    found = evaluate(shuffled, "LinUCB(alpha=0.1)", train=0.25)
    assert found.trained == len(frame) // 4
    expected = evaluate(frame, "LinUCB(alpha=0.1)", train=0.25).policies[0].verdicts["snips"].value.everybody
    assert found.policies[0].verdicts["snips"].value.everybody.value == pytest.approx(expected.value, abs=1e-9)


def test_a_policy_that_is_handed_over_stays_as_it_was(frame):
    policy = LinUCB(random_state=0)
    before = policy.checksum()
    evaluate(frame, policy)
    assert policy.checksum() == before


def test_a_file_is_judged_as_it_came(tmp_path, frame, trained, found):
    trained.save(tmp_path / "policy.safetensors")
    other = evaluate(frame, [tmp_path / "policy.safetensors", "Uniform"], train=0.0)
    first = other.policies[0]
    assert first.how == "as it came, having learned 4,000 rewards"
    assert first.verdicts["snips"].value.everybody == found.policies[0].verdicts["snips"].value.everybody
    assert other.policies[1].how == "as it starts"


def test_models_to_which_the_order_matters_learn_in_order(frame):
    title = "LinUCB(model=Model(discount=0.99))"
    assert evaluate(frame[:600], title)[title].how == "after training on 300 earlier rows"


def test_a_policy_that_knows_other_words(frame):
    cities = frame.assign(x_city=np.where(frame["x_low"] > 0, "Rome", "Oslo"))
    policy = fit(Log.open(cities[cities["x_city"] == "Rome"]), LinUCB(random_state=0)).policy
    found = evaluate(cities, [policy, "Uniform"], train=0.5)
    assert found.policies[0].verdicts["snips"].value.everybody is not None


def test_arms_with_features_of_their_own(frame):
    log = Log.open(frame)
    table = read_arms(
        pd.DataFrame({"arm": ARMS, "level": [1.0, 2.0, 3.0], "match:sex": ["male", "female", "male"]}), log
    )
    found = evaluate(log, "LinUCB(alpha=0.1, model=shared)", table=table)
    assert found.policies[0].verdicts["doubly_robust"].value.everybody.value > found.logged.value.everybody.value
    fitted = fit(log, LinUCB(random_state=0), table=table).policy
    with pytest.raises(ValueError, match=r"it was fitted with a catalogue of arms; give it \(--catalogue\)"):
        evaluate(frame, fitted)
    plain = fit(log, LinUCB(random_state=0)).policy
    with pytest.raises(ValueError, match="it was fitted without a catalogue of arms; leave it out"):
        evaluate(frame, plain, table=table)
    short = read_arms(pd.DataFrame({"arm": ARMS[:2]}), log)
    with pytest.raises(ValueError, match=r"these of its arms are not in the catalogue: \['chemistry'\]"):
        evaluate(log, "Uniform", table=short)


# -- learning while being judged -----------------------------------------------------------------------


def replayed(policy, frame):
    """Replay row after row, as Li et al. write it: the log showed arms at random."""
    rewards = []
    for row, sex in zip(frame.itertuples(), groups_of(frame), strict=True):
        decision = policy.choose(np.array([[row.x_low, row.x_high]] * 3), sex, ARMS)
        if decision.arm == row.arm:
            policy.learn(decision, row.reward)
            rewards.append(row.reward)
    return np.array(rewards)


def test_a_learner_is_replayed():
    frame = logged(n=3_000, uniform=True)
    # Warm, so that no two arms are level and nothing is left to chance.
    policy = fit(Log.open(logged(n=300, seed=5)), FairLinUCB(gamma=1.0, random_state=0)).policy
    found = evaluate(frame, policy, learning=True).policies[0]
    rewards = replayed(policy, frame)
    assert set(found.verdicts) == {"replay"}
    estimate = found.verdicts["replay"].value.everybody
    assert found.effective.everybody == len(rewards)
    assert estimate.value == pytest.approx(rewards.mean(), abs=1e-12)
    assert estimate.error == pytest.approx(rewards.std(ddof=1) / math.sqrt(len(rewards)), rel=1e-9)
    assert found.how.startswith(f"while it learned from {len(rewards):,} of 3,000 rows")
    assert found.verdicts["replay"].gain.everybody is None


def test_a_coin_makes_up_for_what_was_shown_more_often():
    frame = logged(n=20_000)
    found = evaluate(frame, "Uniform", learning=True)
    estimate = found.policies[0].verdicts["replay"].value.everybody
    assert abs(estimate.value - MEAN.mean()) < 4.0 * estimate.error
    # Each row is left with probability 0.2, the smallest propensity.
    assert found.policies[0].effective.everybody == pytest.approx(20_000 * 0.2, rel=0.1)
    assert any("a coin decides" in caution for caution in found.cautions)


# -- what to know --------------------------------------------------------------------------------------


def said(found, text):
    return [caution for caution in found.cautions if text in caution]


def test_without_propensities(frame, trained):
    bare = frame.drop(columns="propensity")
    found = evaluate(bare, trained)
    assert set(found.policies[0].verdicts) == {"replay", "direct"}
    assert found.policies[0].mean_weight is None
    assert said(found, "The log has no propensities. IPS, SNIPS and doubly robust need them, and are left out.")
    found = evaluate(bare, trained, uniform=True)
    assert set(found.policies[0].verdicts) == {"replay", "ips", "snips", "direct", "doubly_robust"}
    assert not said(found, "no propensities")
    skewed = bare[(bare["arm"] != "algebra") | (np.arange(len(bare)) % 3 == 0)]
    assert said(
        evaluate(skewed, trained, uniform=True), "is said to have shown 3 arms at random, but 'algebra' was"
    )
    at_random = evaluate(logged(uniform=True).drop(columns="propensity"), trained, uniform=True)
    assert not said(at_random, "at random")


def test_tiny_propensities_and_clipping(frame, trained):
    tiny = frame.assign(propensity=np.where(np.arange(len(frame)) == 7, 1e-4, frame["propensity"]))
    found = evaluate(tiny, trained)
    assert said(
        found, "of the propensities are tiny, below 0.033, the smallest 0.0001: a single row can weigh as much"
    )
    clipped = evaluate(frame, trained, clip=1.0)
    assert said(clipped, "clipping at 1 changed")
    low, high = (f.policies[0].verdicts["ips"].value.everybody.value for f in (clipped, evaluate(frame, trained)))
    assert low < high


def test_propensities_that_are_wrong(frame, trained):
    found = evaluate(frame.assign(propensity=0.5 * frame["propensity"]), trained)
    assert said(found, "the weights of users have mean 1.9")


def test_few_effective_rows(frame, trained):
    assert not said(evaluate(frame, trained), "few effective rows")
    small = evaluate(frame[:150], trained)
    assert said(small, "few effective rows, all 3")
    assert said(small, "Below 100, intervals are narrower than they should be")


def test_groups_that_are_too_small(frame, trained):
    rare = frame.assign(race=np.where(np.arange(len(frame)) % 200 == 0, "rare", frame["sex"].str[:1]))
    found = evaluate(rare, trained).policies[0]
    assert said(evaluate(rare, trained), "too few effective rows to say anything, below 30: race rare")
    verdict = found.verdicts["doubly_robust"]
    assert verdict.value.groups["race"]["rare"] is None
    assert verdict.gain.groups["race"]["rare"] is None
    (only,) = [one for one in verdict.differences if one.attribute == "race"]
    assert (only.first, only.second) == ("f", "m")
    assert only.estimate.confidence == 0.95


def test_arms_that_a_group_never_saw(frame, trained):
    unseen = frame[(frame["sex"] == "male") | (frame["arm"] == "chemistry")]
    found = evaluate(unseen, trained)
    assert found.policies[0].unsupported.groups["sex"]["female"] > 0.5
    assert found.policies[0].unsupported.everybody == 0.0
    assert said(found, "would show sex female in")
    log = Log.open(frame)
    table = read_arms(pd.DataFrame({"arm": [*ARMS, "dance"]}), log)
    assert said(
        evaluate(log, "Uniform", table=table), "would show users in 25.0% of the rows an arm that the log never"
    )


def test_rewards_and_groups_that_are_missing(frame, trained):
    holes = frame.assign(
        reward=frame["reward"].mask((frame["sex"] == "female") & (np.arange(len(frame)) % 2 == 0)),
        sex=frame["sex"].mask(np.arange(len(frame)) % 10 == 0),
    )
    found = evaluate(holes, trained)
    assert said(found, "of the rows have no reward and are left out (sex female 4")
    assert said(found, "sex is not known in 10.0% of the rows")
    assert found.missing.groups["sex"]["male"] == 0.0
    assert found.rows.everybody == holes["reward"].notna().sum()


def test_one_group_and_no_group(frame, trained):
    women = frame[frame["sex"] == "female"]
    found = evaluate(women, trained)
    assert said(found, "sex has one group only: there is no difference to evaluate.")
    assert found.policies[0].verdicts["snips"].differences == ()
    nobody = evaluate(frame.drop(columns="sex"), "Uniform")
    assert nobody.rows.groups == {}


def test_policies_that_look_at_who_is_behind(frame):
    found = evaluate(frame, ["FairLinUCB", "EvenLinUCB", "LinUCB"])
    assert said(found, "FairLinUCB, EvenLinUCB: what fairness adds depends on who is behind")
    assert not said(evaluate(frame, "LinUCB"), "what fairness adds")


def test_rows_that_it_has_learned(frame):
    policy = fit(Log.open(frame), LinUCB(random_state=0)).policy
    assert said(
        evaluate(frame, policy), "as many as the log has: it seems to be judged by the rows that it learned"
    )
    assert said(
        evaluate(frame[:900], policy), "came with 4,000 rewards learned. If rows of this log are among them"
    )


def test_a_model_that_would_be_too_large(frame, trained, monkeypatch):
    monkeypatch.setattr(passes, "_LARGEST_MODEL", 1)
    found = evaluate(frame, trained)
    assert set(found.policies[0].verdicts) == {"replay", "ips", "snips"}
    assert found.policies[0].trusted == "snips"
    assert said(found, "so the direct method and doubly robust are left out")


class Stubborn(Policy):
    """Always picks dance, whatever was logged."""

    def terms(self, seen):
        return np.where(np.arange(seen.mean.shape[1]) == 3, 1.0, 0.0), 0.0


def test_a_policy_that_never_agrees(tmp_path, frame):
    log = Log.open(frame)
    table = read_arms(pd.DataFrame({"arm": [*ARMS, "dance"]}), log)
    found = evaluate(log, Stubborn(), table=table, learning=True)
    assert found.policies[0].verdicts["replay"].value.everybody is None
    page = found.write(tmp_path).read_text()
    assert "they hardly ever agree with it" in page
    assert "cannot say" in page


# -- what is left behind -------------------------------------------------------------------------------


def test_the_page_and_the_numbers(tmp_path, frame):
    found = evaluate(frame, ["FairLinUCB(gamma=2)", "Uniform"])
    page = found.write(tmp_path).read_text()
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    for text in ("At a glance", "Before you believe it", "FairLinUCB(gamma=2)", "apart by sex", "doubly robust"):
        assert text in page
    plain = json.loads((tmp_path / "evaluate.json").read_text())
    verdict = plain["policies"]["Uniform"]["estimates"]["snips"]
    assert verdict["value"]["groups"]["sex"]["male"]["low"] < verdict["value"]["groups"]["sex"]["male"]["value"]
    assert {one["first"] for one in verdict["differences"]} == {"female"}
    assert plain["trained_on"] == 2_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evaluate.html", "evaluate.json"]


def test_rewards_far_from_zero_keep_their_digits(frame):
    far = frame.assign(reward=1e6 + frame["reward"])
    near, there = (evaluate(f, Uniform(reward_range=(0, 2e6))) for f in (frame, far))
    for name in ("snips", "replay"):
        one, two = (found.policies[0].verdicts[name].value.everybody for found in (near, there))
        assert two.value - 1e6 == pytest.approx(one.value, abs=1e-6)
        assert two.error == pytest.approx(one.error, rel=1e-6)
    assert there.logged.value.everybody.error == pytest.approx(near.logged.value.everybody.error, rel=1e-6)


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_large_rewards_are_written_with_fewer_digits(frame, scale):
    from fairbandits.ope.report.sentences import EvaluationSentences

    found = evaluate(frame.assign(reward=scale * frame["reward"]), Uniform(reward_range=(0, 100)))
    assert EvaluationSentences(found).number(scale * 0.4567) == {1.0: "0.457", 100.0: "45.7"}[scale]


# -- the model of the reward ---------------------------------------------------------------------------


def test_sparse_and_dense_features_are_one():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 12)) < 0.2).astype(float)
    arm, fold, reward = rng.integers(0, 3, 300), rng.integers(0, 2, 300), rng.random(300)
    models = [CrossFittedModel(3, 12, folds=2) for _ in range(2)]
    for model, features in zip(models, (X, sparse.csr_array(X)), strict=True):
        model.learn(features, arm, reward, fold)
        model.solve()
        predicted = model.predict(features, fold)
        model.note(features, arm, reward - predicted[np.arange(300), arm])
    one, two = models
    assert np.allclose(one.predict(X, fold), two.predict(sparse.csr_array(X), fold), atol=1e-12)
    wanted = rng.random((3, 12))
    assert one.variance(wanted) == pytest.approx(two.variance(wanted), rel=1e-9)


# -- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policies", "how", "message"),
    [
        ("Best", {}, "policy must be one of .*, or module:Class, got 'Best'"),
        ("FairLinUCB(gamma=3", {}, r"must be written as Name\(parameter=value, .*, got 'FairLinUCB\(gamma=3'"),
        ("LinUCB(delicacy=1)", {}, "LinUCB has no parameter 'delicacy'"),
        ("LinUCB(model=Model(feature_map=Nystroem))", {}, "a feature map must be fitted to contexts"),
        ([], {}, "no policy came"),
        (["Uniform", "Uniform"], {}, "Uniform is given twice"),
        (7, {}, "a policy is a name, a file or a Policy; got 7 of type int"),
        ("nowhere.safetensors", {}, "nowhere.safetensors: there is no such file"),
        ("Uniform", {"train": 1.0}, "train is the share of the log that trains, from 0 to below 1; got 1.0"),
        ("Uniform", {"clip": 0.0}, "clip is the largest weight that a row may have, above 0; got 0.0"),
        ("Uniform", {"confidence": 1.0}, "confidence is a probability between 0 and 1, both excluded; got 1.0"),
        ("Uniform", {"uniform": True}, "it has propensities, in column 'propensity'; leave out one of the two"),
    ],
)
def test_what_is_refused(frame, policies, how, message):
    with pytest.raises(ValueError, match=message):
        evaluate(frame, policies, **how)


def test_logs_that_cannot_judge(frame, trained):
    with pytest.raises(
        ValueError, match="no row is left to train on: there are too few, or all have the same time"
    ):
        evaluate(frame.assign(time=7.0), "Uniform")
    with pytest.raises(ValueError, match=r"1 row\(s\) with a reward are left to evaluate with; need at least two"):
        evaluate(frame[:2], "Uniform")
    with pytest.raises(ValueError, match=r"it has learned arms such as '\w+' \(str\), and none of those on offer"):
        evaluate(frame.assign(arm=frame["arm"].str.len()), trained)
    with pytest.raises(ValueError, match=r"column 'reward', row 1: 7\.0 came; the policy takes rewards"):
        evaluate(frame.assign(reward=7.0), "LinUCB")


def test_rewards_may_be_tiny():
    frame = logged(400)
    frame["reward"] *= 1e-150
    found = evaluate(frame, LinUCB(reward_range=(0.0, 1e-150), random_state=0))
    (policy,) = found.policies
    assert policy.verdicts["ips"].value.everybody.low <= policy.verdicts["ips"].value.everybody.high


def test_a_group_without_rows_that_judge_is_null(tmp_path):
    frame = logged(400)
    frame.loc[:20, "sex"] = "other"  # who are among those that train, and nowhere else
    found = evaluate(frame, "LinUCB")
    found.write(tmp_path)
    plain = json.loads((tmp_path / "evaluate.json").read_text())["policies"]["LinUCB"]
    assert plain["mean_weight"]["groups"]["sex"]["other"] is None
    assert plain["effective_rows"]["groups"]["sex"]["other"] == 0.0
