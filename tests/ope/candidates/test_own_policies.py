"""Policies of this library: each chooses from its own arms, encoded as when it was fitted."""

import numpy as np
import pandas as pd
import pytest

from fairbandits import EpsilonGreedy, LinUCB, Recommender
from fairbandits.contexts import ContextEncoder
from fairbandits.logs import Log, fit, read_arms
from fairbandits.ope import evaluate
from fairbandits.ope.candidates.candidate import as_candidates

SIZES = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 5.0}
MEANS = {"a": 0.2, "b": 0.9, "c": 0.4, "d": 0.6}


def draw(n=1_000, seed=0, arms=tuple(SIZES)):
    """Draw the log of a uniform policy."""
    rng = np.random.default_rng(seed)
    arm = rng.choice(arms, n)
    age = rng.integers(20, 70, n).astype(float)
    reward = np.array([MEANS.get(each, 0.1) for each in arm]) * np.where((age < 45) == (arm < "c"), 1.0, 0.5)
    sex = rng.choice(["female", "male"], n)
    columns = {"arm": arm, "reward": reward, "propensity": 1 / len(arms), "sex": sex, "x_age": age}
    return pd.DataFrame(columns)


def catalogue(**more):
    sizes = SIZES | more
    match = ["male" if arm < "c" else "female" for arm in sizes]
    return pd.DataFrame({"arm": list(sizes), "size": list(sizes.values()), "match:sex": match})


def value(evaluation, title=None):
    policy = evaluation.policies[0] if title is None else evaluation[title]
    return policy.estimates["ips"].value.overall.value


@pytest.fixture(scope="module")
def log():
    return Log.open(draw())


@pytest.fixture(scope="module")
def fitted(log):
    return fit(log, LinUCB(alpha=0.0, random_state=0), table=read_arms(catalogue(), log))


def test_a_fitted_policy_encodes_a_larger_table_as_its_own(log, fitted, tmp_path):
    expected = value(evaluate(log, fitted.recommender))
    larger = read_arms(catalogue(e=100.0), log)
    fitted.policy.save(tmp_path / "policy.safetensors")
    fitted.recommender.save(tmp_path / "recommender.safetensors")
    for policy in (fitted.policy, fitted.recommender, *tmp_path.iterdir()):
        assert value(evaluate(log, policy, table=larger)) == pytest.approx(expected)


def test_a_policy_file_of_0_1_0_encodes_its_catalogue_without_scaling(log):
    users, table = log.encoder().unscaled(), read_arms(catalogue(), log)
    plain = table.encoded_by(ContextEncoder(users, table.encoder.unscaled(), table.compared))
    policy = fit(log.with_encoder(users), LinUCB(alpha=0.0, random_state=0), table=plain).policy
    expected = value(evaluate(log.with_encoder(users), policy, table=plain))
    policy.metadata["encoder"] = {"columns": ["x_age"], "words": {}}
    policy.metadata["catalogue"] = {"columns": ["size"], "words": {}, "matches": ["sex"]}
    assert value(evaluate(log, policy, table=table)) == pytest.approx(expected)


def test_a_catalogue_with_other_columns_is_refused(log, fitted):
    table = read_arms(catalogue().drop(columns="match:sex"), log)
    message = (
        r"must have the columns size, match:sex in addition to the arms, like the one it was fitted with, "
        r"got size \("
    )
    with pytest.raises(ValueError, match=message):
        evaluate(log, fitted.policy, table=table)


def test_a_catalogue_without_features_only_says_which_arms_there_are(log):
    policy = fit(log, LinUCB(alpha=0.0, random_state=0)).policy
    table = read_arms(pd.DataFrame({"arm": list(SIZES)}), log)
    assert value(evaluate(log, policy, table=table)) == pytest.approx(value(evaluate(log, policy)))


def recommender(sizes, favourite, policy=None):
    """Return a recommender that has learned to prefer the size of one item."""
    users = draw(50)[["x_age", "sex"]]
    items = pd.DataFrame({"size": sizes}, index=list(SIZES))
    policy = LinUCB(alpha=0.0, model="shared", random_state=0) if policy is None else policy
    result = Recommender(policy, users, items, groups=["sex"])
    for user in users.to_dict("records"):
        for item in SIZES:
            result.learn(result.choose(user, eligible=[item]), float(item == favourite))
    return result


def test_recommenders_keep_their_own_features_beside_others(log):
    policies = {
        "one": recommender([0.0, 0.1, 0.2, 1.0], "d"),
        "two": recommender([1.0, 0.2, 0.1, 0.0], "a"),
    }
    both = evaluate(log, policies)
    for name, policy in policies.items():
        assert value(both, name) == pytest.approx(value(evaluate(log, policy)))
    assert value(both, "one") > 1.5 * value(both, "two")


def test_a_recommender_offers_exactly_its_own_items(log):
    # The bonus of what is unknown would make it choose arms that it has forgotten.
    chosen = fit(log, LinUCB(alpha=1.0, random_state=0)).recommender
    before = evaluate(log, chosen)
    assert before.policies[0].unsupported.overall == pytest.approx(0.0)
    chosen.retire_items(["b"])
    assert value(evaluate(log, chosen)) < value(before) - 0.1
    chosen.retire_items(["c", "d"])
    only_a = draw()["arm"] == "a"
    assert value(evaluate(log, chosen)) == pytest.approx(4.0 * (draw()["reward"] * only_a).mean())


def test_items_that_the_log_does_not_have_are_unknown(log):
    policy = EpsilonGreedy(epsilon=0.4, model="shared", random_state=0)
    one = recommender([0.0, 0.1, 0.2, 1.0], "d", policy)
    one.add_items(pd.DataFrame({"size": [3.0]}, index=["new"]))
    one.retire_items(["d"])
    evaluation = evaluate(log, one)
    assert evaluation.policies[0].unsupported.overall == pytest.approx(0.6 + 0.4 / 4)
    assert any("would choose arms that the log never shows" in warning for warning in evaluation.warnings)


def test_learning_goes_by_the_arms_and_not_by_their_order(log):
    chosen = recommender([0.0, 1.0, 0.1, 0.2], "b")
    chosen.retire_items(["a"])
    replay = evaluate(log, chosen, learning=True).policies[0].estimates["replay"].value.overall
    shown = draw()[draw()["arm"] == "b"]
    assert replay.value == pytest.approx(shown["reward"].mean())


def test_two_matches_on_one_user_column(log):
    """Items for the one sex, made by the other: both are compared with the sex of the user."""
    users = draw(200)[["x_age", "sex"]]
    items = pd.DataFrame(
        {"made_for": ["male", "female", "male", "female"], "made_by": ["male", "male", "female", "female"]},
        index=list(SIZES),
    )
    matches = {"for": ("sex", "made_for"), "by": ("sex", "made_by")}
    policy = LinUCB(alpha=0.0, model="shared", random_state=0)
    both = Recommender(policy, users, items, groups=["sex"], matches=matches)
    for user in users.to_dict("records"):
        for item in SIZES:
            is_best = items["made_for"][item] == user["sex"] != items["made_by"][item]
            both.learn(both.choose(user, eligible=[item]), float(is_best))
    frame = draw()
    best = np.where(frame["sex"] == "male", "c", "b")
    expected = 4.0 * (frame["reward"] * (frame["arm"] == best)).mean()
    assert value(evaluate(log, both)) == pytest.approx(expected)


def test_a_checkpoint_depends_on_the_items():
    one, two = (recommender(sizes, "a") for sizes in ([1.0, 0.2, 0.1, 0.0], [1.0, 0.3, 0.1, 0.0]))
    prints = [as_candidates(each)[0].fingerprint() for each in (one, one, two)]
    assert prints[0] == prints[1] != prints[2]
