"""Objects of all kinds that notebooks show, small and large."""

from functools import cache
from types import SimpleNamespace

import numpy as np

from fairbandits import Catalogue, FairLinUCB, GroupRewards, IndividualGaps, Uniform
from fairbandits.audit import audit
from fairbandits.compare.comparison import ComparisonResults
from fairbandits.compare.run_summary import summarise_trace
from fairbandits.compare.suite_worlds import WORLDS
from fairbandits.compare.summary import summarise_world
from fairbandits.ope import evaluate
from fairbandits.simulate.trace import Trace
from tests.audit.logs import dated, make
from tests.ope.logs import make_log

NASTY = "<script>alert('$x$ & \"y\"')</script>"
ROUNDS = 1_000_000

#: The names of what `shown` returns, so that tests can be collected before it is made, which takes seconds.
NAMES = (
    *("catalogue", "offer", "policy", "many", "decision", "slate", "groups", "gap", "summary", "individual gaps"),
    *("trace", "audit", "sequential audit", "evaluation", "comparison", "world", "empty groups", "new policy"),
)


def group_rewards(n_groups, rewards=20):
    """Return the rewards of many groups, the first of which has a name that is HTML."""
    rng, groups = np.random.default_rng(0), GroupRewards()
    for number in range(n_groups):
        # The first group has the lowest rewards, so that it is shown.
        for reward in rng.random(rewards) * (number > 0):
            groups.add(reward, {"region": f"region {number}" if number else NASTY}, arm=NASTY)
    return groups


def trace(rounds, n_groups):
    rng = np.random.default_rng(0)
    names = np.array([NASTY, *(f"region {number}" for number in range(1, n_groups))], object)
    part = np.array(["train", "test"], object)[(np.arange(rounds) >= rounds // 2).astype(int)]
    numbers = (rng.random(rounds) for _ in range(2))
    group = {"region": names[rng.integers(n_groups, size=rounds)]}
    ones, zeros = np.ones(rounds), np.zeros(rounds)
    return Trace(*numbers, ones, zeros, ones, names[rng.integers(n_groups, size=rounds)], part, group, NASTY)


@cache
def comparison():
    runs = {f"policy {number} {NASTY}": [summarise_trace(trace(400, 4))] for number in range(30)}
    worlds = {name: summarise_world(WORLDS["3:7"], runs, 0.01) for name in map(str, range(30))}
    return ComparisonResults(NASTY, worlds, "folder", 0.01, tuple(runs))


@cache
def audited(sequential=False):
    frame = dated(make(n=20_000))
    rng = np.random.default_rng(1)
    frame["sex"] = np.array([NASTY, *(f"group {i}" for i in range(49))], object)[rng.integers(50, size=len(frame))]
    return audit(frame, groups=["sex", "race"], tolerance=0.05, sequential=sequential)


@cache
def evaluation(n_policies=2):
    titled = {f"{NASTY} {number}": Uniform(random_state=number) for number in range(n_policies)}
    return evaluate(make_log(1_000).assign(sex=NASTY), titled, reward_range=(0.0, 1.0))


def decisions():
    """Return a policy that has learned, and what it returns, with 200 arms."""
    rng, arms = np.random.default_rng(0), [f"{NASTY} {number}" for number in range(200)]
    catalogue, policy = Catalogue(rng.random((200, 3)), 2, arms), FairLinUCB(random_state=0)
    offer = catalogue.offer([0.5, 1.0])
    for number in range(100):
        policy.learn(policy.choose(offer, {"region": f"region {number % 50}"}), rng.random())
    many = policy.choose_many(catalogue.offer_many(rng.random((3_000, 2))))
    decision, slate = policy.choose(offer, NASTY), policy.choose(offer, k=150)
    return SimpleNamespace(
        catalogue=catalogue, offer=offer, policy=policy, many=many, decision=decision, slate=slate
    )


def individual():
    gaps = IndividualGaps()
    gaps.add(np.linspace(0.0, 1.0, 500), np.zeros(500))
    return gaps


@cache
def shown():
    """Return an object of every class with an HTML view, each as large as it gets."""
    made, groups = decisions(), group_rewards(50)
    objects = {
        **vars(made),
        "groups": groups,
        "gap": groups.gap(),
        "summary": groups.worst_off(),
        "individual gaps": individual(),
        "trace": trace(ROUNDS, 50),
        "audit": audited(),
        "sequential audit": audited(sequential=True),
        "evaluation": evaluation(),
        "comparison": comparison(),
        "world": next(iter(comparison().worlds.values())),
        "empty groups": GroupRewards(),
        "new policy": FairLinUCB(),
    }
    assert tuple(objects) == NAMES
    return objects
