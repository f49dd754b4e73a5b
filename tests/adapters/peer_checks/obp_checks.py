"""Our policies in obp's simulators and estimators, its datasets as our logs; runs in the environment of obp."""

import numpy as np

from fairbandits import EpsilonGreedy, FairLinUCB, LinUCB
from fairbandits.adapters.obp import ObpPolicy, from_bandit_feedback, to_bandit_feedback
from fairbandits.logs import Log
from fairbandits.ope import evaluate
from peer_runs import torch_stub

torch_stub.install()

import obp.policy  # noqa: E402
from obp.dataset import (  # noqa: E402
    SyntheticBanditDataset,
    SyntheticSlateBanditDataset,
    logistic_reward_function,
)
from obp.ope import InverseProbabilityWeighting, OffPolicyEvaluation  # noqa: E402
from obp.simulator import calc_ground_truth_policy_value  # noqa: E402
from obp.simulator.delay_sampler import ExponentialDelaySampler  # noqa: E402
from obp.simulator.simulator import BanditEnvironmentSimulator, BanditPolicySimulator  # noqa: E402

ARMS, WIDTH, ROUNDS = 4, 3, 300


def group(context):
    return "a" if context[0] > 0 else "b"


def make_feedback():
    dataset = SyntheticBanditDataset(
        ARMS, WIDTH, reward_type="binary", reward_function=logistic_reward_function, random_state=1
    )
    return dataset, dataset.obtain_batch_bandit_feedback(n_rounds=ROUNDS)


def check_same_scores_as_linucb_of_obp():
    theirs = obp.policy.LinUCB(dim=WIDTH, n_actions=ARMS, epsilon=0.3, random_state=0)
    ours = ObpPolicy(LinUCB(alpha=0.3, random_state=0), ARMS)
    rng = np.random.default_rng(0)
    for _ in range(100):
        context = rng.normal(size=(1, WIDTH))
        if theirs.n_trial > 3 * ARMS:  # before, scores are tied
            assert theirs.select_action(context)[0] == ours.select_action(context)[0]
        action, reward = int(rng.integers(ARMS)), float(rng.integers(2))
        for policy in (theirs, ours):
            policy.update_params(action=action, reward=reward, context=context)
    theirs.select_action(np.ones((1, WIDTH)))
    for arm in range(ARMS):
        assert np.allclose(ours.policy.coefficients(arm), theirs.theta_hat[:, arm], atol=1e-9)


def check_simulators():
    delays = ExponentialDelaySampler(max_scale=5.0, random_state=0).exponential_delay_function
    environment = BanditEnvironmentSimulator(
        ARMS, WIDTH, reward_function=logistic_reward_function, delay_function=delays, random_state=0
    )
    simulator = BanditPolicySimulator(ObpPolicy(FairLinUCB(random_state=0), ARMS, group=group))
    simulator.steps(batch_bandit_rounds=environment.next_bandit_round_batch(n_rounds=ROUNDS))
    simulator.clear_delayed_queue()
    assert simulator.policy.policy.rounds_learned == ROUNDS
    assert len(simulator.policy.policy.groups.summaries()) == 2
    dataset, feedback = make_feedback()
    feedback["position"] = np.zeros(ROUNDS, int)
    policy = ObpPolicy(LinUCB(alpha=0.2, random_state=0), ARMS)
    value = calc_ground_truth_policy_value(feedback, dataset.sample_reward, policy, n_sim=2)
    assert 0.0 < value < 1.0
    assert policy.policy.rounds_learned == 0, "obp simulates with copies"


def check_estimators():
    _, feedback = make_feedback()
    policy = ObpPolicy(EpsilonGreedy(epsilon=0.4, random_state=0), ARMS)
    for context, action, reward in zip(feedback["context"], feedback["action"], feedback["reward"], strict=True):
        policy.update_params(action, reward, context[None])
    theirs = OffPolicyEvaluation(feedback, [InverseProbabilityWeighting()]).estimate_policy_values(
        policy.predict(feedback["context"])
    )
    log = from_bandit_feedback(feedback, {"sex": [group(context) for context in feedback["context"]]})
    ours = evaluate(log, policy).policies[0].estimates["ips"]
    assert abs(ours.value.overall.value - theirs["ipw"]) < 1e-9
    assert set(ours.value.by_group["sex"]) == {"a", "b"}
    learned = obp.policy.IPWLearner(n_actions=ARMS)
    learned.fit(*(feedback[name] for name in ("context", "action", "reward", "pscore")))
    theirs = OffPolicyEvaluation(feedback, [InverseProbabilityWeighting()]).estimate_policy_values(
        learned.predict(feedback["context"])
    )
    ours = evaluate(log, learned).policies[0].estimates["ips"].value.overall.value
    assert abs(ours - theirs["ipw"]) < 1e-9


def check_logs():
    _, feedback = make_feedback()
    frame = from_bandit_feedback(feedback)
    back = to_bandit_feedback(frame)
    for name in ("action", "reward", "pscore", "context"):
        assert np.allclose(back[name], feedback[name]), name
    OffPolicyEvaluation(back, [InverseProbabilityWeighting()]).estimate_policy_values(
        np.full((ROUNDS, ARMS, 1), 1.0 / ARMS)
    )
    slates = SyntheticSlateBanditDataset(
        n_unique_action=ARMS, len_list=2, dim_context=WIDTH, base_reward_function=logistic_reward_function,
        random_state=1,
    ).obtain_batch_bandit_feedback(n_rounds=50)  # fmt: skip
    opened = Log.open(from_bandit_feedback(slates), propensity="propensity")
    assert (opened.roles.decision, opened.roles.position) == ("decision", "position")


if __name__ == "__main__":
    for check in (check_same_scores_as_linucb_of_obp, check_simulators, check_estimators, check_logs):
        check()
