"""One suite that every policy passes: ours, and whoever else's."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.categorical import Categorical
from fairbandits.fairness.groups import DEFAULT_ATTRIBUTE, as_groups
from fairbandits.policies import Decision, Policy, Slate
from fairbandits.policies.serialisation import params_to_dict

Round = tuple[NDArray[np.float64], str, float]

_N_ARMS, _WIDTH = 6, 9
_COPIES = 600


class _Subject:
    """The policy that is checked: makes copies of it, and rounds that fit it."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        params = policy.get_params()
        columns = params.get("columns")
        self.feature_map = getattr(params.get("model"), "feature_map", None)
        if self.feature_map is not None:
            self.width = int(self.feature_map.n_features_in_)
        else:
            self.width = _WIDTH if columns is None else len(columns)

    def __call__(self, **changes: Any) -> Policy:
        """Make a copy that has learned nothing."""
        return type(self.policy)(**{**self.policy.get_params(), **changes})

    def load(self, path: Path) -> Policy:
        """Load a copy that was saved."""
        return type(self.policy).load(path, feature_map=self.feature_map)

    def rounds(self, n: int, seed: int = 0) -> Iterator[Round]:
        """Give contexts that are mostly one-hot, groups and rewards for n rounds."""
        low, high = self.policy.reward_range
        rng = np.random.default_rng(seed)
        for _ in range(n):
            contexts = np.zeros((_N_ARMS, self.width))
            contexts[np.arange(_N_ARMS), rng.integers(self.width, size=_N_ARMS)] = 1.0
            contexts[:, rng.integers(self.width)] = rng.random()
            yield contexts, ("female", "male")[rng.integers(2)], low + (high - low) * float(rng.random())

    def taught(self, policy: Policy) -> Policy:
        """Let a policy learn for a while."""
        self.arms_played(policy)
        return policy

    def arms_played(self, policy: Policy) -> list[Any]:
        """Let a policy learn for a while, and give the arms that it chose."""
        arms = []
        for contexts, group, reward in self.rounds(40, seed=2):
            decision = policy.choose(contexts, group)
            policy.learn(decision, reward)
            arms.append(decision.arm)
        return arms

    def forced(self, policy: Policy, n: int) -> list[Decision]:
        """Decide n times with one arm on offer, so that every policy decides the same."""
        return [
            policy.choose(contexts[:1], group, arms=[i % 4])
            for i, (contexts, group, _) in enumerate(self.rounds(n))
        ]


Check = Callable[[_Subject], None]


def check_policy(policy: Policy) -> None:
    """Check that a policy keeps all the promises of this library.

    Parameters
    ----------
    policy : Policy
        A policy that has learned nothing. It is not changed; copies with the same parameters are tried.

    Raises
    ------
    AssertionError
        That names the first promise that is broken, and how.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> from fairbandits.testing import check_policy
    >>> check_policy(LinUCB(alpha=0.3))
    """
    for _, check in policy_checks(policy):
        check()


def policy_checks(policy: Policy) -> Iterator[tuple[str, Callable[[], None]]]:
    """Give the checks one by one, by name: for `pytest.mark.parametrize`."""
    if not isinstance(policy, Policy):
        raise TypeError(f"check_policy takes a policy, an instance of a subclass of Policy; got {policy!r}")

    subject = _Subject(policy)

    for check in _CHECKS:
        yield check.__name__.removeprefix("_check_"), functools.partial(check, subject)


# -- the promises --------------------------------------------------------------------------------------


def _check_parameters(make: _Subject) -> None:
    policy = make()
    params = policy.get_params()
    kept = type(policy)(**params).get_params()
    assert all(kept[name] is params[name] for name in params), "__init__ must keep its arguments as they are"
    assert policy.set_params(**params) is policy, "set_params must return the policy"
    assert repr(policy).startswith(type(policy).__name__ + "("), "the repr must be one that can be pasted"
    _refused(policy, lambda: policy.set_params(no_such_parameter=1), "an unknown parameter")


def _check_decision(make: _Subject) -> None:
    policy = make(random_state=0)
    arms = [f"arm{i}" for i in range(_N_ARMS)]
    for contexts, group, reward in make.rounds(20):
        decision = policy.choose(contexts, group, arms)
        assert isinstance(decision, Decision), "choose must return a Decision"
        assert decision.arm == arms[decision.index], "the arm must be the one at its index"
        assert decision.probability is None or 0.0 < decision.probability <= 1.0, (
            f"the probability of the arm that was picked must lie in (0, 1]; it is {decision.probability}"
        )
        scores = decision.scores
        for name in ("mean", "width", "exploration", "fairness", "total"):
            part = getattr(scores, name)
            assert part.shape == (_N_ARMS,), f"scores.{name} must have one entry per arm; it has {part.shape}"
            assert np.isfinite(part).all(), f"scores.{name} must be finite"
        together = scores.mean + scores.exploration + scores.fairness
        assert np.allclose(together, scores.total, atol=1e-12), "the parts of a score must add up to the total"
        policy.learn(decision, reward)


def _check_choosing_learns_nothing(make: _Subject) -> None:
    policy = make.taught(make(random_state=0))
    before = policy.checksum()
    for contexts, group, _ in make.rounds(5):
        policy.choose(contexts, group)
        policy.choose_many(contexts[None], [group])
        policy.score(contexts[None], [group])
    assert policy.checksum() == before, "choose must not change what was learned"


def _check_same_seed_same_arms(make: _Subject) -> None:
    one, two = (make.arms_played(make(random_state=3)) for _ in range(2))
    assert one == two, "two policies with the same random_state must pick the same arms"


def _check_dense_and_sparse_agree(make: _Subject) -> None:
    dense, packed = make(random_state=0), make(random_state=0)
    for contexts, group, reward in make.rounds(40):
        one, two = dense.choose(contexts, group), packed.choose(sparse.csr_array(contexts), group)
        assert one.arm == two.arm, "dense and sparse contexts must lead to the same arm"
        assert _close(one.scores.total, two.scores.total), "dense and sparse contexts must score the same"
        dense.learn(one, reward)
        packed.learn(two, reward)


def _check_rewards_in_any_order(make: _Subject) -> None:
    ordered, shuffled = make(random_state=0), make(random_state=0)
    rewards = [reward for _, _, reward in make.rounds(30)]
    ours, theirs = make.forced(ordered, 30), make.forced(shuffled, 30)
    ordered.learn_many(ours, rewards)
    for i in np.random.default_rng(1).permutation(30):
        shuffled.learn(theirs[i], rewards[i])
    _assert_alike(make, ordered, shuffled, "rewards learned in another order must lead to the same scores")


def _check_arms_come_and_go(make: _Subject) -> None:
    policy = make(random_state=0)
    for contexts, group, reward in make.rounds(20):
        policy.learn(policy.choose(contexts, group), reward)
    contexts, group, reward = next(make.rounds(1))
    late = policy.choose(contexts[:3], group, arms=["new", 2, "newer"])
    assert late.arm in ("new", 2, "newer"), "only arms on offer may be picked"
    policy.learn(late, reward)
    policy.forget_arm(late.arm)
    again = policy.choose(contexts[:1], group, arms=[late.arm])
    policy.learn(again, reward)
    _refused(policy, lambda: policy.forget_arm(0.5), "an arm id that is a fraction")  # type: ignore[arg-type]


def _check_any_group(make: _Subject) -> None:
    policy = make(random_state=0)
    contexts, _, reward = next(make.rounds(1))
    for group in ("a", 7, None, {"sex": "female", "race": "Black"}, {"sex": "male", "race": None}, "b", "c"):
        policy.learn(policy.choose(contexts, group), reward)
    assert policy.groups.attributes == {
        "group": ("a", 7, "b", "c"),
        "sex": ("female", "male"),
        "race": ("Black",),
    }, "every group that received a reward must be in policy.groups, and an unknown one must not"


def _check_probability_is_true(make: _Subject) -> None:
    if "random_state" not in make().get_params():
        return
    teacher = make.taught(make(random_state=0))
    contexts, group, _ = next(make.rounds(1, seed=9))
    contexts = np.repeat(contexts[:2], 2, axis=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy"
        teacher.save(path)
        copies = [make.load(path).set_params(random_state=i) for i in range(_COPIES)]
    arms = ["v", "w", "x", "y"]
    decisions = [copy.choose(contexts, group, arms) for copy in copies]
    _assert_true([(f"arm {d.arm!r}", d.probability) for d in decisions])
    slates = [copy.choose(contexts, group, arms, k=2) for copy in copies]
    _assert_true([(f"slate {s.picked}", s.probability) for s in slates])


def _assert_true(picks: list[tuple[str, float | None]]) -> None:
    if any(probability is None for _, probability in picks):
        return
    for pick in {pick for pick, _ in picks}:
        stated_each = [probability for what, probability in picks if what == pick and probability is not None]
        stated, seen = float(np.mean(stated_each)), len(stated_each) / len(picks)
        error = 5.0 * np.sqrt(max(stated * (1.0 - stated), 1e-9) / len(picks))
        assert abs(seen - stated) <= error, (
            f"{pick} was picked {seen:.1%} of the time, but its probability is stated as {stated:.1%}"
        )


def _check_probabilities_of_all_arms(make: _Subject) -> None:
    policy = make.taught(make(random_state=0))
    before = policy.checksum()
    rounds = list(make.rounds(6, seed=6))
    contexts, groups = np.array([contexts for contexts, _, _ in rounds]), [group for _, group, _ in rounds]
    each = policy.probabilities(contexts, groups, draws=3)
    assert each.min() >= 0.0, "probabilities must not be negative"
    assert _close(each.sum(axis=1), np.ones(len(each))), "the probabilities of all arms must add up to 1"
    assert policy.checksum() == before, "probabilities must not change what was learned"
    if policy.picker.probabilities(policy.score(contexts, groups), as_groups(groups)) is not None:
        for user, decision in enumerate(policy.choose_many(contexts, groups)):
            stated = decision.probability
            assert stated is None or abs(each[user, decision.index] - stated) < 1e-9, (
                f"an arm was picked with probability {stated:.3g}, but the picker gives it "
                f"{each[user, decision.index]:.3g}; pick and probabilities must agree"
            )


def _check_many_is_one_by_one(make: _Subject) -> None:
    many, single = make.taught(make(random_state=0)), make.taught(make(random_state=0))
    rounds = list(make.rounds(12, seed=5))
    groups = [group for _, group, _ in rounds]
    stacked = np.array([contexts for contexts, _, _ in rounds])
    together = many.choose_many(stacked, groups)
    apart = [single.choose(contexts, group) for contexts, group, _ in rounds]
    slates = many.choose_many(stacked, groups, k=2)
    slates_apart = [single.choose(contexts, group, k=2) for contexts, group, _ in rounds]
    # Draws for all users at once may come in another order than one by one; without draws all is equal.
    pairs = [(a.scores, b.scores) for a, b in zip(together, apart, strict=True)]
    assert all(_close(a.mean, b.mean) for a, b in pairs), "choose_many must predict as choose does"
    if all(np.array_equal(a.exploration, b.exploration) for a, b in pairs):
        assert [d.arm for d in together] == [d.arm for d in apart], "choose_many must choose as choose does"
        ours, theirs = ([slate.picked for slate in each] for each in (slates, slates_apart))
        assert ours == theirs, "choose_many must put slates together as choose does"


def _check_saved_and_loaded(make: _Subject) -> None:
    policy = make.taught(make(random_state=0))
    pending = policy.choose(*next(make.rounds(1))[:2])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy"
        policy.save(path)
        loaded = make.load(path)
    ours, theirs = (params_to_dict(each.get_params()) for each in (policy, loaded))
    assert ours == theirs, "a loaded policy must have the parameters of the saved one"
    assert loaded.checksum() == policy.checksum(), "a loaded policy must have learned what the saved one had"
    reward = sum(policy.reward_range) / 2.0
    policy.learn(pending, reward)
    loaded.learn(pending, reward)
    assert make.arms_played(loaded) == make.arms_played(policy), "a loaded policy must go on as the saved one does"
    assert loaded.checksum() == policy.checksum(), "a loaded policy must learn as the saved one does, to the bit"


def _check_merged_is_whole(make: _Subject) -> None:
    whole, left, right = make(random_state=0), make(random_state=0), make(random_state=0)
    rewards = [reward for _, _, reward in make.rounds(40)]
    whole.learn_many(make.forced(whole, 40), rewards)
    left.learn_many(make.forced(left, 40)[:17], rewards[:17])
    right.learn_many(make.forced(right, 40)[17:], rewards[17:])
    _assert_alike(make, left.merge(right), whole, "two halves merged must score as the whole does")


def _check_logged_is_learned(make: _Subject) -> None:
    decided, logged = make(random_state=0), make(random_state=0)
    contexts, groups, rewards = zip(*make.rounds(40), strict=True)
    decided.learn_many(make.forced(decided, 40), rewards)
    arms = Categorical(np.arange(40, dtype=np.int32) % 4, [0, 1, 2, 3])
    sexes = Categorical(np.array([group == "male" for group in groups], np.int32), ["female", "male"])
    first = np.concatenate([each[:1] for each in contexts])
    logged.learn_logged(first, arms, np.array(rewards), {DEFAULT_ATTRIBUTE: sexes})
    assert logged.rounds_learned == 40, "every decision of a log must be counted"
    _assert_alike(make, logged, decided, "decisions of a log must be learned as the policy's own are")


def _check_each_decision_once(make: _Subject) -> None:
    policy, other = make(random_state=0), make(random_state=0)
    contexts, group, reward = next(make.rounds(1))
    decision = policy.choose(contexts, group)
    _refused(other, lambda: other.learn(decision, reward), "a decision of another policy")
    policy.learn(decision, reward)
    _refused(policy, lambda: policy.learn(decision, reward), "a decision that was learned before")
    policy.learn(decision, reward, again=True)
    assert policy.rounds_learned == 2, "again=True must let a decision count twice"


def _check_bad_input_changes_nothing(make: _Subject) -> None:
    policy = make.taught(make(random_state=0))
    good, group, _ = next(make.rounds(1))
    decision = policy.choose(good, group)
    for what, contexts in {
        "NaN in contexts": np.full_like(good, np.nan),
        "infinite contexts": np.full_like(good, np.inf),
        "contexts of another width": good[:, 1:],
        "no arms": good[:0],
        "contexts that are no matrix": good[0],
    }.items():
        _refused(policy, lambda contexts=contexts: policy.choose(contexts, group), what)  # type: ignore[misc]
    low, high = policy.reward_range
    for reward in (float("nan"), low - 1.0, high + 1.0, "much", None):
        _refused(policy, lambda reward=reward: policy.learn(decision, reward), f"reward {reward!r}")  # type: ignore[misc]
    _refused(policy, lambda: policy.choose(good, group, arms=[0] * len(good)), "arm ids that stand twice")
    _refused(policy, lambda: policy.choose(good, group, arms=[0]), "too few arm ids")
    _refused(policy, lambda: policy.choose(good, 0.5), "a group that is a fraction")  # type: ignore[call-overload]


def _check_slate(make: _Subject) -> None:
    policy = make(random_state=0)
    arms = [f"arm{i}" for i in range(_N_ARMS)]
    for number, (contexts, group, reward) in enumerate(make.rounds(20)):
        k = 1 + number % _N_ARMS
        slate = policy.choose(contexts, group, arms, k=k)
        assert isinstance(slate, Slate), "choose must return a Slate where k is given"
        assert len(slate) == k, f"a slate must have as many arms as were asked for, {k}; it has {len(slate)}"
        assert len(set(slate.picked)) == k, f"the arms of a slate must differ; they are {slate.picked}"
        assert [arms[i] for i in slate.indices] == list(slate.picked), "the arms must be those at their places"
        assert slate.probability is None or 0.0 < slate.probability <= 1.0, (
            f"the probability of the slate that was picked must lie in (0, 1]; it is {slate.probability}"
        )
        assert slate.scores.total.shape == (_N_ARMS,), "a slate must hold the scores of all arms on offer"
        policy.learn(Slate.from_dict(json.loads(json.dumps(slate.to_dict()))), [reward] * k)
    assert policy.rounds_learned == 20, "a slate must count as one round"
    served = sum(standing.count for standing in policy.groups.summaries())
    assert served == 20, f"a slate must count once for the group of its user; 20 slates counted {served} times"


def _check_slate_is_learned_arm_by_arm(make: _Subject) -> None:
    # The scores of the groups differ, which count a slate once: so compare what the models predict.
    together, apart = make(random_state=0), make(random_state=0)
    low, high = make.policy.reward_range
    for contexts, group, reward in make.rounds(20):
        slate = together.choose(contexts, group, k=3)
        rewards = [reward, None, low + high - reward]
        together.learn(slate, rewards)
        for arm, index, value in zip(slate.picked, slate.indices, rewards, strict=True):
            if value is not None:
                apart.learn(apart.choose(contexts[[index]], group, [arm]), value)
    for contexts, group, _ in make.rounds(5, seed=8):
        ours, theirs = together.score(contexts[None], [group]), apart.score(contexts[None], [group])
        same = _close(ours.mean, theirs.mean) and _close(ours.width, theirs.width)
        assert same, "the arms of a slate must be learned as if each had been chosen alone"


def _check_slates_are_kept(make: _Subject) -> None:
    policy, other = make.taught(make(random_state=0)), make.taught(make(random_state=1))
    contexts, group, reward = next(make.rounds(1))
    pending = policy.choose(contexts, group, k=3)
    policy.forget_arm(pending.picked[0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy"
        policy.save(path)
        loaded = make.load(path)
    merged = policy.merge(other)
    for each in (policy, loaded, merged):
        each.learn_many([pending, each.choose(contexts, group)], [[reward] * 3, reward])
        _refused(each, lambda each=each: each.learn(pending, reward), "a slate that was learned before")  # type: ignore[misc]
    assert loaded.checksum() == policy.checksum(), "a loaded policy must learn a slate as the saved one does"


def _check_bad_slates_change_nothing(make: _Subject) -> None:
    policy = make.taught(make(random_state=0))
    contexts, group, reward = next(make.rounds(1))
    for k in (0, -1, _N_ARMS + 1, 2.5, True, "all"):
        _refused(policy, lambda k=k: policy.choose(contexts, group, k=k), f"k={k!r}")  # type: ignore[misc]
    slate = policy.choose(contexts, group, k=2)
    _, high = policy.reward_range
    for rewards in ([reward], [reward] * 3, [None, None], [reward, high + 1.0], high + 1.0, "much"):
        _refused(policy, lambda rewards=rewards: policy.learn(slate, rewards), f"rewards {rewards!r} for two arms")  # type: ignore[misc]


_CHECKS: tuple[Check, ...] = (
    _check_parameters,
    _check_decision,
    _check_choosing_learns_nothing,
    _check_same_seed_same_arms,
    _check_dense_and_sparse_agree,
    _check_rewards_in_any_order,
    _check_arms_come_and_go,
    _check_any_group,
    _check_probability_is_true,
    _check_probabilities_of_all_arms,
    _check_many_is_one_by_one,
    _check_saved_and_loaded,
    _check_merged_is_whole,
    _check_logged_is_learned,
    _check_each_decision_once,
    _check_bad_input_changes_nothing,
    _check_slate,
    _check_slate_is_learned_arm_by_arm,
    _check_slates_are_kept,
    _check_bad_slates_change_nothing,
)


# -- what they are made of -----------------------------------------------------------------------------


def _assert_alike(make: _Subject, one: Policy, two: Policy, promise: str) -> None:
    # Where the order of rewards counts, the groups alone must come out the same.
    for contexts, group, _ in () if one.order_dependent else make.rounds(5, seed=8):
        a, b = one.score(contexts[None], [group]), two.score(contexts[None], [group])
        for name in ("mean", "width", "fairness"):
            assert _close(getattr(a, name), getattr(b, name)), f"{promise}; the part {name} differs"
    assert abs(one.groups.gap() - two.groups.gap()) < 1e-9, f"{promise}; the groups' gap differs"


def _close(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9))


def _refused(policy: Policy, call: Callable[[], Any], what: str) -> None:
    before = policy.checksum()
    message = ""
    try:
        call()
    except ValueError as error:
        message = str(error)
    assert message, f"{what} must be refused with a ValueError that says why, and was not"
    assert policy.checksum() == before, f"{what} was refused, but something had changed already"
