"""What logs teach: the same as deciding and learning one by one, whatever the policy and its model."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from fairbandits import FairLinUCB, LinUCB, Model, Policy, Uniform
from fairbandits.categorical import Categorical
from fairbandits.policies import SufficientStatistics
from tests.helpers import ANY_WIDTH, POLICIES, fresh

ARMS = ["a", "b", 7]
D = 6
MODELS = ["disjoint", "shared", "hybrid", Model(link="logistic"), Model(discount=0.99), Model(dtype="float32")]


def make(n=120, seed=0, sparse_rows=True):
    """Make decisions of a log: contexts, the arm, the reward, groups of which some are unknown."""
    rng = np.random.default_rng(seed)
    contexts = rng.random((n, D)) * (rng.random((n, D)) < (0.4 if sparse_rows else 1.1))
    arms = Categorical(rng.integers(0, 3, n).astype(np.int32), ARMS)
    groups = {
        "sex": Categorical(rng.integers(-1, 2, n).astype(np.int32), ["f", "m"]),
        "race": Categorical(rng.integers(0, 3, n).astype(np.int32), [0, 1, 2]),
    }
    return contexts, arms, rng.random(n), groups


def stretch(log, rows):
    contexts, arms, rewards, groups = log
    cut = {name: coded.take(rows) for name, coded in groups.items()}
    return contexts[rows], arms.take(rows), rewards[rows], cut


def one_by_one(policy, contexts, arms, rewards, groups):
    """Decide where there is no choice, and learn: the reference."""
    for i, reward in enumerate(rewards):
        group = {
            name: coded.labels[coded.codes[i]] if coded.codes[i] >= 0 else None for name, coded in groups.items()
        }
        policy.learn(policy.choose(contexts[[i]], group, [arms.labels[arms.codes[i]]]), reward)
    return policy


def assert_alike(one, two, tolerance=1e-9):
    assert one.rounds_learned == two.rounds_learned
    assert sorted(one._arms.rows, key=str) == sorted(two._arms.rows, key=str)
    contexts = np.random.default_rng(9).random((4, 3, D))
    people = [{"sex": "f", "race": 1}, {"sex": "m"}, None, {"race": 2}]
    ours, theirs = (policy.score(contexts, people, ARMS) for policy in (one, two))
    for part in ("mean", "width", "fairness") if type(one).__name__ != "LinTS" else ("mean", "width"):
        np.testing.assert_allclose(getattr(ours, part), getattr(theirs, part), rtol=tolerance, atol=tolerance)
    assert one.groups.attributes == two.groups.attributes
    summaries = ([s for a in ("sex", "race") for s in each.groups.summaries(a)] for each in (one, two))
    for a, b in zip(*summaries, strict=True):
        assert (a.attribute, a.group, a.count) == (b.attribute, b.group, b.count)
        for part in ("mean", "variance", "low", "high"):
            assert getattr(a, part) == pytest.approx(getattr(b, part), abs=1e-9)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_as_if_learned_one_by_one(model, dense):
    log = make(sparse_rows=not dense)
    policy = FairLinUCB(gamma=2.0, model=model, random_state=0)
    policy.learn_logged(*log)
    tolerance = 1e-5 if "float32" in str(model) else 1e-9
    assert_alike(policy, one_by_one(FairLinUCB(gamma=2.0, model=model, random_state=0), *log), tolerance)


@pytest.mark.parametrize("name", ANY_WIDTH)
def test_every_policy_learns_from_logs(name):
    log = make()
    warm, cold = fresh(POLICIES[name], random_state=0), fresh(POLICIES[name], random_state=0)
    warm.learn_logged(*log)
    one_by_one(cold, *log)
    if hasattr(cold, "regrets"):
        cold._reset_regrets()  # no log says what was predicted when it was decided
    assert_alike(warm, cold)


@pytest.mark.parametrize("model", ["disjoint", "shared", "hybrid"])
def test_parts_add_up(model):
    contexts, arms, rewards, groups = make()
    log = sparse.csr_array(contexts), arms, rewards, groups
    policy = FairLinUCB(gamma=2.0, model=model, random_state=0)
    parts = []
    for rows in np.array_split(np.arange(len(rewards)), 4):
        parts.append(SufficientStatistics(policy))
        parts[-1].add(*stretch(log, rows))
    before = pickle.dumps(parts)
    both = (parts[0] + parts[1]) + pickle.loads(pickle.dumps(parts[2] + parts[3]))  # noqa: S301
    assert pickle.dumps(parts) == before, "adding must change neither"
    policy.learn_statistics(both)
    whole = FairLinUCB(gamma=2.0, model=model, random_state=0)
    whole.learn_logged(*log)
    assert_alike(policy, whole)
    # On top of what has already been learned, and on with decisions of its own.
    policy.learn_logged(*make(seed=1))
    one_by_one(policy, *make(n=20, seed=2))
    for seed, n in ((1, 120), (2, 20)):
        one_by_one(whole, *make(n=n, seed=seed))
    assert_alike(policy, whole)


def test_lessons_of_nothing_teach_nothing():
    policy = LinUCB(random_state=0)
    policy.learn_statistics(SufficientStatistics(policy) + SufficientStatistics(policy))
    assert policy.rounds_learned == 0
    assert policy.n_features_in_ is None


def test_a_policy_without_a_model_counts_rewards():
    policy = Uniform(random_state=0)
    policy.learn_logged(*make())
    assert policy.rounds_learned == 120
    assert set(policy.groups.attributes) == {"sex", "race"}


def test_metadata_stays_with_the_policy(tmp_path):
    policy = LinUCB(random_state=0)
    policy.metadata["encoder"] = {"columns": ["age"]}
    policy.learn_logged(*make())
    policy.save(tmp_path / "policy")
    loaded = Policy.load(tmp_path / "policy")
    assert loaded.metadata == {"encoder": {"columns": ["age"]}}
    assert loaded.merge(LinUCB()).metadata == loaded.metadata


def test_what_is_refused():
    contexts, arms, rewards, groups = make()
    policy = LinUCB(random_state=0)
    for wrong, message in (
        ((contexts, arms, rewards + 1.0, groups), r"reward must lie in \[0, 1\], got .* declare its range"),
        ((contexts, arms, rewards[:-1], groups), "rewards must have one entry per context, got 119 for 120"),
        ((contexts * np.nan, arms, rewards, groups), "contexts must be finite"),
        (
            (contexts, Categorical(arms.codes, [True, "b", "c"]), rewards, groups),
            "arm id must be a string or an integer",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            policy.learn_logged(*wrong)
        assert policy.rounds_learned == 0
    policy.learn_logged(contexts, arms, rewards, groups)
    with pytest.raises(ValueError, match=r"contexts must have .* columns, .*, got 3"):
        policy.learn_logged(contexts[:, :3], arms, rewards, groups)
    forgetful = LinUCB(model=Model(discount=0.9))
    with pytest.raises(ValueError, match="the order of rewards does not matter, got LinUCB"):
        forgetful.learn_statistics(SufficientStatistics(forgetful))
    with pytest.raises(ValueError, match=r"policies must have the same parameters, got different alpha"):
        LinUCB(alpha=3.0).learn_statistics(SufficientStatistics(policy))
    narrow, wide = SufficientStatistics(policy), SufficientStatistics(LinUCB(random_state=0))
    wide.policy.rounds_learned = 0
    narrow.add(contexts, arms, rewards, groups)
    wide.add(contexts[:, :3], arms, rewards, groups)
    with pytest.raises(ValueError, match=r"contexts must have .* columns, .*, got 3"):
        narrow + wide
