"""Choosing on a device: the same arms, probabilities and scores as on the processor."""

import gc
import threading
import weakref
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from fairbandits import (
    DUCB,
    AlphaFairLinUCB,
    Catalogue,
    Decision,
    EpsilonGreedy,
    EqualRegretLinUCB,
    EvenLinUCB,
    FairLinUCB,
    LinTS,
    LinUCB,
    MaxMinLinUCB,
    Model,
    NaiveLinUCB,
    NeuralLinear,
    PrimalDualLinUCB,
    Slate,
    Uniform,
)
from fairbandits.models.device import Backend, Device, DeviceError, as_backend, scorer_for
from fairbandits.models.device.contexts import UserFeatures
from fairbandits.models.device.matrices import ArmMatrices
from fairbandits.models.device.scorers import ArmScorer, SharedScorer
from fairbandits.models.hybrid import HybridModel
from fairbandits.policies import device_round
from fairbandits.policies.device_decisions import DeviceDecisions, DeviceSlates
from tests.devices import DEVICES, NUMPY

N_USERS, N_ARMS, N_USER_FEATURES, N_ARM_FEATURES = 90, 24, 6, 4
PARTS = ("mean", "width", "exploration", "fairness", "total")
POLICIES = {
    "LinUCB": lambda model: LinUCB(model=model),
    "LinUCB, other units": lambda model: LinUCB(model=model, reward_range=(-50.0, 30.0)),
    "NaiveLinUCB": lambda model: NaiveLinUCB(model=model, drop=[1]),
    "FairLinUCB": lambda model: FairLinUCB(model=model),
    "FairLinUCB, auto": lambda model: FairLinUCB(gamma="auto", model=model),
    "EvenLinUCB": lambda model: EvenLinUCB(model=model),
    "MaxMinLinUCB": lambda model: MaxMinLinUCB(model=model),
    "PrimalDualLinUCB": lambda model: PrimalDualLinUCB(model=model),
    "EqualRegretLinUCB": lambda model: EqualRegretLinUCB(model=model),
    "AlphaFairLinUCB": lambda model: AlphaFairLinUCB(model=model),
    "EpsilonGreedy": lambda model: EpsilonGreedy(model=model),
    "LinUCB, every arm a chance": lambda model: LinUCB(model=model, min_probability=0.01),
}
MODELS = {
    "disjoint": "disjoint",
    "shared": "shared",
    "hybrid": "hybrid",
    "auto": "auto",
    "discounted": Model(discount=0.97),
    "logistic": Model(kind="hybrid", link="logistic"),
}

pytestmark = pytest.mark.filterwarnings("error")


class Traffic:
    """Users, arms and rewards; catalogues with and without matches, and matrices."""

    def __init__(self, seed=0, is_sparse=False):
        rng = np.random.default_rng(seed)
        self.users = rng.random((N_USERS, N_USER_FEATURES))
        if is_sparse:
            self.users *= rng.random(self.users.shape) < 0.3
        self.sex = rng.choice(["female", "male", "other"], N_USERS).tolist()
        speakers = rng.choice(["female", "male"], N_ARMS).tolist()
        features = rng.random((N_ARMS, N_ARM_FEATURES))
        self.catalogue = Catalogue(features, N_USER_FEATURES, matches={"sex": speakers})
        self.rewards = rng.random(400)
        self.offer = self.catalogue.offer_many(self.users, {"sex": self.sex})
        self.matrices = self.offer.toarray().reshape(N_USERS, N_ARMS, -1)[:20] + 0.1 * rng.random((20, N_ARMS, 1))

    def teach(self, policy, n=150):
        low, high = policy.reward_range
        for i in range(n):
            user = i % N_USERS
            offer = self.catalogue.offer(self.users[user], {"sex": self.sex[user]})
            reward = low + (high - low) * float(self.rewards[i])
            policy.learn(policy.choose(offer, self.sex[user]), reward)
        return policy


@pytest.fixture(scope="module")
def traffic():
    return Traffic()


def both_ways(policy, contexts, groups, device, **options):
    """Choose with and without a device, from the same state of the random generator."""
    state = policy._rng.bit_generator.state
    found = []
    for where in ("cpu", device):
        policy._rng.bit_generator.state = state
        found.append(policy.choose_many(contexts, groups, device=where, **options))
    return found


def check_same(policy, contexts, groups, device, atol=1e-9):
    expected, found = (policy.score(contexts, groups, device=where) for where in ("cpu", device))
    for part in PARTS:
        np.testing.assert_allclose(getattr(found, part), getattr(expected, part), atol=atol, rtol=0)
    on_cpu, on_device = both_ways(policy, contexts, groups, device)
    assert on_device.indices.tolist() == on_cpu.indices.tolist()
    assert on_device.probability == pytest.approx(on_cpu.probability)
    for one, other in zip(on_cpu, on_device, strict=True):
        assert (other.arm, other.group, other.n_arms) == (one.arm, one.group, one.n_arms)
        assert other.regret == pytest.approx(one.regret, abs=atol)
        assert other.score == pytest.approx(one.score, abs=atol)
        np.testing.assert_array_equal(other.context, one.context)
    slates, slates_of_device = both_ways(policy, contexts, groups, device, k=3)
    assert isinstance(slates_of_device, DeviceSlates)
    for one, other in zip(slates, slates_of_device, strict=True):
        assert (other.picked, other.group) == (one.picked, one.group)
        assert other.probability == pytest.approx(one.probability)
        assert other.regret == pytest.approx(one.regret, abs=atol)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_and_model_chooses_the_same_arms(traffic, policy, model, device):
    policy = traffic.teach(POLICIES[policy](MODELS[model]).set_params(random_state=1))
    check_same(policy, traffic.offer, traffic.sex, DEVICES[device])
    check_same(policy, traffic.matrices, traffic.sex[:20], DEVICES[device])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("policy", [Uniform(random_state=1), DUCB(separators=[0, 1, 2], random_state=1)], ids=repr)
def test_policies_with_a_model_of_their_own(traffic, policy, device):
    if isinstance(policy, DUCB):
        with pytest.raises(DeviceError, match=r"model must be disjoint, shared, hybrid or auto.*got Cell"):
            traffic.teach(policy).choose_many(traffic.offer, traffic.sex, device=DEVICES[device])
    else:
        check_same(traffic.teach(policy), traffic.offer, traffic.sex, DEVICES[device])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("model", ["disjoint", "hybrid"])
def test_sparse_users_and_sparse_products(model, device, monkeypatch):
    traffic = Traffic(seed=3, is_sparse=True)
    policy = traffic.teach(LinUCB(model=model, random_state=1))
    check_same(policy, traffic.offer, traffic.sex, DEVICES[device])
    # As if every pair were worth a sparse product.
    monkeypatch.setattr("fairbandits.models.device.contexts._COST_OF_NONZERO", 0)
    check_same(policy, traffic.offer, traffic.sex, DEVICES[device])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("model", ["disjoint", "hybrid", "shared", "auto"])
def test_the_device_follows_what_is_learned(traffic, model, device):
    policy = traffic.teach(LinUCB(model=model, random_state=1), n=60)
    check_same(policy, traffic.offer, traffic.sex, DEVICES[device])
    policy.learn(policy.choose(traffic.catalogue.offer(traffic.users[0]), "male"), 0.9)
    check_same(policy, traffic.offer, traffic.sex, DEVICES[device])
    policy.forget_arm(policy.arms_learned[0])
    check_same(policy, traffic.offer, traffic.sex, DEVICES[device])
    check_same(traffic.teach(policy), traffic.offer, traffic.sex, DEVICES[device])


@pytest.mark.parametrize("device", DEVICES)
def test_a_forgotten_arm_that_learns_as_much_as_before_is_copied_again(device):
    catalogue = Catalogue(np.zeros((2, 0)), 2)
    policy = LinUCB(random_state=0)
    offer = catalogue.offer_many([[1.0, 0.0], [0.0, 1.0]])
    for user in ([1.0, 0.0], [0.0, 1.0]):
        # The same number of rows, the same determinant and the same coefficients, for another context.
        policy.learn(policy.choose(catalogue.offer(user, arms=[0])), 0.0)
        check_same_scores(policy, offer, device)
        policy.forget_arm(0)


@contextmanager
def failing_once(owner, name, error):
    """Let a method fail, which must be called."""
    calls = []

    def fail(self, *args):
        calls.append(args)
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, fail)
        yield
    assert len(calls) == 1


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize(
    ("model", "owner", "step"),
    [
        ("disjoint", ArmScorer, "_compute"),
        ("disjoint", ArmMatrices, "_copy"),
        ("hybrid", ArmScorer, "_compute"),
        ("hybrid", ArmMatrices, "_copy"),
        ("hybrid", HybridModel, "beta"),
        ("auto", ArmScorer, "_compute"),
        ("shared", SharedScorer, "_weights"),
    ],
)
def test_a_preparation_that_failed_starts_over(traffic, model, owner, step, error, device):
    policy = traffic.teach(LinUCB(model=model, random_state=1), n=60)
    for _ in range(2):
        with failing_once(owner, step, error), pytest.raises((DeviceError, KeyboardInterrupt)):
            policy.score(traffic.offer, device=DEVICES[device])
        check_same_scores(policy, traffic.offer, device)
        policy.learn(policy.choose(traffic.catalogue.offer(traffic.users[0]), "male"), 0.9)


@pytest.mark.parametrize("device", DEVICES)
def test_weights_of_some_arms_that_failed_are_computed_again(traffic, device, monkeypatch):
    # Weights of eight arms at a time: the second part fails.
    monkeypatch.setattr(
        ArmScorer, "_chunks", lambda _, start, stop: [(at, at + 8) for at in range(start, stop, 8)]
    )
    policy = traffic.teach(LinUCB(random_state=1))
    compute = ArmScorer._compute

    def fail_later(self, contexts, start, stop):
        if start:
            raise KeyboardInterrupt
        return compute(self, contexts, start, stop)

    check_same_scores(policy, traffic.offer, device)
    traffic.teach(policy)
    with monkeypatch.context() as patch:
        patch.setattr(ArmScorer, "_compute", fail_later)
        with pytest.raises(KeyboardInterrupt):
            policy.score(traffic.offer, device=DEVICES[device])
    check_same_scores(policy, traffic.offer, device)


def check_same_scores(policy, offer, device):
    expected, found = policy.score(offer), policy.score(offer, device=DEVICES[device])
    np.testing.assert_allclose(found.total, expected.total, atol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("model", ["disjoint", "shared", "hybrid"])
def test_ties_are_broken_as_on_the_processor(device, model):
    # Nothing is known of any arm: with no features of arms, all are tied for every user.
    catalogue = Catalogue(np.zeros((7, 0)), N_USER_FEATURES)
    offer = catalogue.offer_many(Traffic().users)
    policy = LinUCB(model=model, random_state=4)
    on_cpu, on_device = both_ways(policy, offer, None, DEVICES[device])
    assert on_device.indices.tolist() == on_cpu.indices.tolist()
    assert set(on_device.probability) == {1.0 / 7.0}
    slates, slates_of_device = both_ways(policy, offer, None, DEVICES[device], k=3)
    assert slates_of_device.picked == [list(slate.picked) for slate in slates]
    assert {slate.probability for slate in slates_of_device} == {slate.probability for slate in slates}


class NearlyTied(LinUCB):
    """The second arm is ahead by a difference that rounding could swallow; the last ones are far behind."""

    array_terms = True
    lead = 0.0

    def terms(self, predictions):
        total = np.array([[0.5, 0.5 + self.lead, 0.1, 0.0]])
        return predictions.like(total) - predictions.mean, 0.0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("lead", [0.0, 1e-13, 5e-11, 5e-10, 2e-9])
@pytest.mark.parametrize("k", [None, 1, 2, 4])
def test_the_processor_decides_where_rounding_could(device, lead, k, monkeypatch):
    policy = NearlyTied(random_state=0)
    policy.lead = lead
    offer = Catalogue(np.eye(4), 2).offer_many(np.ones((6, 2)))
    calls = []
    score = LinUCB._score
    monkeypatch.setattr(LinUCB, "_score", lambda self, *args: calls.append(args) or score(self, *args))
    on_cpu, on_device = both_ways(policy, offer, None, DEVICES[device], k=k)
    expected = on_cpu.indices.tolist() if k is None else [list(slate.indices) for slate in on_cpu]
    assert on_device.indices.tolist() == expected
    assert on_device.probability == [each.probability for each in on_cpu]
    # Once without a device; then for each user whose first two arms are closer than 1e-9, and not plainly tied.
    assert len(calls) == (7 if 1e-12 < lead <= 1e-9 else 1)


@pytest.mark.parametrize("device", DEVICES)
def test_float32_is_right_to_six_digits(traffic, device):
    policy = traffic.teach(FairLinUCB(random_state=1))
    single = replace(DEVICES[device], dtype="float32")
    expected, found = (policy.score(traffic.offer, traffic.sex, device=where) for where in ("cpu", single))
    np.testing.assert_allclose(found.total, expected.total, atol=1e-5)
    assert found.total.dtype == np.float64
    on_cpu, on_device = both_ways(policy, traffic.offer, traffic.sex, single)
    chosen = on_cpu.scores.total[np.arange(N_USERS), on_device.indices]
    np.testing.assert_allclose(chosen, on_cpu.scores.total.max(axis=1), atol=1e-5)


def collinear_offer(scale, n_users=60):
    """Return users with a constant and two columns that are nearly copies of each other, on a large scale."""
    rng = np.random.default_rng(0)
    income = scale * rng.random(n_users)
    users = np.column_stack([np.ones(n_users), income, 0.9 * income])
    return Catalogue(rng.random((12, 2)), 3).offer_many(users)


def teach_all(policy, offer, n=200):
    rng = np.random.default_rng(1)
    rows = offer.toarray()
    picked = rng.integers(len(rows), size=n)
    policy.learn_logged(rows[picked], (picked % len(offer.arms)).tolist(), rng.random(n))
    return policy


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("model", ["disjoint", "shared", "hybrid", "auto"])
def test_variances_that_are_negative_in_float32_count_as_zero(model, device):
    offer = collinear_offer(1000.0)
    policy = teach_all(LinUCB(model=model, random_state=1), offer)
    single = replace(DEVICES[device], dtype="float32")
    for contexts in (offer, offer.toarray().reshape(60, 12, -1)):
        scores = policy.score(contexts, device=single)
        assert np.isfinite(scores.total).all()
        assert (scores.width >= 0.0).all()
        policy.choose_many(contexts, device=single)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "policy", ["LinUCB", "LinUCB, other units", "EpsilonGreedy", "LinUCB, every arm a chance"]
)
def test_users_with_negative_variances_are_scored_by_the_processor(traffic, policy, device, monkeypatch):
    policy = traffic.teach(POLICIES[policy]("disjoint").set_params(random_state=1))
    times_pairs = UserFeatures.times_pairs

    def with_negative(self, weights):
        products = times_pairs(self, weights)
        sign = np.ones(tuple(products.shape))
        sign[::7, 3:9] = -1.0
        return products * self._backend.asarray(sign)

    monkeypatch.setattr(UserFeatures, "times_pairs", with_negative)
    check_same(policy, traffic.offer, traffic.sex, DEVICES[device])
    expected, found = (policy.probabilities(traffic.offer, device=where) for where in ("cpu", DEVICES[device]))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("min_probability", [0.0, 0.01])
@pytest.mark.parametrize("model", ["disjoint", "shared", "hybrid", "auto", Model(link="logistic")], ids=str)
def test_the_processor_decides_where_columns_of_large_scale_cancel(model, min_probability, device):
    offer = collinear_offer(1e6, n_users=300)
    policy = LinUCB(model=model, min_probability=min_probability, random_state=1, reward_range=(-2.0, 3.0))
    # All arms have had the same users and rewards, so that their scores are close.
    rows = offer.toarray().reshape(300, 12, -1)[:40]
    policy.learn_logged(np.concatenate(rows), list(range(12)) * 40, np.repeat(np.linspace(-2.0, 3.0, 40), 12))
    for k in (None, 3):
        on_cpu, on_device = both_ways(policy, offer, None, DEVICES[device], k=k)
        expected = on_cpu.indices.tolist() if k is None else [list(slate.indices) for slate in on_cpu]
        assert on_device.indices.tolist() == expected


@pytest.mark.parametrize("model", ["disjoint", "hybrid"])
def test_the_matrices_of_arms_take_a_share_of_the_memory(traffic, model, monkeypatch):
    policy = traffic.teach(LinUCB(model=model, random_state=1))
    compute, sizes = ArmScorer._compute, []

    def record(self, contexts, start, stop):
        sizes.append(3 * 8 * (stop - start) * traffic.offer.toarray().shape[-1] ** 2)
        return compute(self, contexts, start, stop)

    monkeypatch.setattr(ArmScorer, "_compute", record)
    for memory in (100_000, 200_000):
        sizes.clear()
        policy.score(traffic.offer, device=replace(NUMPY, memory=memory))
        assert memory / 16 < max(sizes) <= memory / 8


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("memory", [1, 30_000, 300_000])
def test_blocks_of_any_size_give_the_same(traffic, device, memory):
    policy = traffic.teach(EvenLinUCB(random_state=1))
    check_same(policy, traffic.offer, traffic.sex, replace(DEVICES[device], memory=memory))


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_without_memory_gets_smaller_blocks(traffic, device, monkeypatch):
    policy = traffic.teach(LinUCB(random_state=1, min_probability=0.02))
    score, sizes = device_round.DeviceRound._score, []

    def tight(self, users, prepared):
        sizes.append(users.stop - users.start)
        if sizes[-1] > 10:
            raise MemoryError
        return score(self, users, prepared)

    monkeypatch.setattr(device_round.DeviceRound, "_score", tight)
    check_same(policy, traffic.offer, traffic.sex, DEVICES[device])
    assert sizes[:4] == [90, 45, 22, 11]
    assert sizes[4] == 5


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("device", DEVICES)
def test_memory_may_run_out_at_any_call(device, k, monkeypatch):
    """Blocks that were under way are repeated: the same arms, and as many draws of the random generator."""
    rng = np.random.default_rng(0)
    catalogue = Catalogue(np.repeat(rng.random((6, 3)), 2, axis=0), 4)  # every arm has a twin: ties are drawn
    offer = catalogue.offer_many(rng.random((30, 4)))
    policy = LinUCB(model="shared", random_state=3)
    rows = offer.toarray()
    picked = rng.integers(len(rows), size=100)
    policy.learn_logged(rows[picked], (picked % 12).tolist(), rng.random(100))
    state = policy._rng.bit_generator.state
    expected = policy.choose_many(offer, k=k)
    picks, after = [one.picked if k else one.arm for one in expected], policy._rng.bit_generator.state
    calls, fails_at = [], 0

    def failing(call):
        def count(*args, **kwargs):
            calls.append(call)
            if len(calls) == fails_at:
                raise MemoryError
            return call(*args, **kwargs)

        return count

    for_blocks = device_round.DeviceRound.for_blocks

    def counted(*args, **kwargs):
        with monkeypatch.context() as patch:
            for name in ("top_k", "second", "to_host", "to_host_later", "asarray", "upload", "full"):
                patch.setattr(Backend, name, failing(getattr(Backend, name)))
            return for_blocks(*args, **kwargs)

    monkeypatch.setattr(device_round.DeviceRound, "for_blocks", counted)
    while len(calls) >= fails_at:
        calls, fails_at = [], fails_at + 1
        policy._rng.bit_generator.state = state
        found = policy.choose_many(offer, k=k, device=replace(DEVICES[device], memory=40_000))
        assert [one.picked if k else one.arm for one in found] == picks
        assert policy._rng.bit_generator.state == after
    assert fails_at > 20


def test_users_are_copied_by_a_thread_that_shares_the_stream_of_the_caller(traffic, monkeypatch):
    """PyTorch frees the memory of a copy when the stream of the thread that made it has passed it."""
    stream = threading.local()
    stream.name = "caller's"

    def share_stream(self):
        name = stream.name
        return lambda: setattr(stream, "name", name)

    upload, copied_on = Backend.upload, set()

    def recorded(self, values):
        copied_on.add((threading.current_thread() is threading.main_thread(), stream.name))
        return upload(self, values)

    monkeypatch.setattr(Backend, "share_stream", share_stream)
    monkeypatch.setattr(Backend, "upload", recorded)
    policy = traffic.teach(EvenLinUCB(random_state=1))
    policy.choose_many(traffic.offer, traffic.sex, device=replace(NUMPY, memory=20_000))
    assert copied_on == {(False, "caller's"), (True, "caller's")}


@pytest.mark.skipif("torch" not in DEVICES, reason="no GPU with PyTorch")
def test_a_busy_stream_that_the_caller_selected(traffic):
    """Blocks are computed long after they were copied; their memory must not be used again before."""
    torch = pytest.importorskip("torch")
    policy = traffic.teach(EvenLinUCB(random_state=1))
    expected = policy.choose_many(traffic.offer, traffic.sex).indices.tolist()
    busy = torch.ones((4096, 4096), device="cuda", dtype=torch.float64)
    for _ in range(5):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(3):
                busy @ busy
            found = policy.choose_many(traffic.offer, traffic.sex, device=replace(DEVICES["torch"], memory=40_000))
        assert found.indices.tolist() == expected


def test_errors_that_say_that_memory_has_run_out():
    class AcceleratorError(RuntimeError):
        """As PyTorch raises it for page-locked memory from version 2.8 on."""

    backend = as_backend(NUMPY)
    for kind in (RuntimeError, AcceleratorError):
        assert backend.is_out_of_memory(kind("CUDA error: out of memory"))
    assert not backend.is_out_of_memory(AcceleratorError("CUDA error: an illegal memory access"))


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_that_cannot_hold_one_user_says_so(traffic, device, monkeypatch):
    def full(self, users, prepared):
        raise MemoryError

    monkeypatch.setattr(device_round.DeviceRound, "_score", full)
    with pytest.raises(
        DeviceError, match=r"device must have enough memory for the scores of one user, got 'c.*24 arms"
    ):
        LinUCB().choose_many(traffic.offer, device=DEVICES[device])


def test_other_errors_are_not_taken_for_a_lack_of_memory(traffic, monkeypatch):
    monkeypatch.setattr(device_round.DeviceRound, "_score", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        LinUCB().choose_many(traffic.offer, device=NUMPY)


@pytest.mark.parametrize("device", DEVICES)
def test_decisions_of_a_device_are_learned_as_others(traffic, device):
    one, other = (traffic.teach(EqualRegretLinUCB(random_state=1)) for _ in range(2))
    decisions = one.choose_many(traffic.offer, traffic.sex, device=DEVICES[device])
    again = other.choose_many(traffic.offer, traffic.sex)
    one.learn_many(decisions, traffic.rewards[:N_USERS])
    other.learn_many(again, traffic.rewards[:N_USERS])
    np.testing.assert_allclose(
        one.score(traffic.offer, traffic.sex).total, other.score(traffic.offer, traffic.sex).total, atol=1e-9
    )
    slate = one.choose_many(traffic.offer, traffic.sex, k=2, device=DEVICES[device])[0]
    one.learn(Slate.from_dict(slate.to_dict()), [0.5, None])
    assert one.has_learned(slate)


def test_decisions_of_a_device_are_compact_and_can_be_looked_at(traffic):
    policy = traffic.teach(LinUCB(random_state=1))
    decisions = policy.choose_many(traffic.offer, traffic.sex, device=NUMPY)
    assert len(decisions) == N_USERS
    assert decisions.scores.total.shape == (N_USERS, 1)
    assert decisions.picked == [traffic.offer.arms[index] for index in decisions.indices]
    assert "90 decisions" in decisions._repr_html_()
    decision = Decision.from_dict(decisions[3].to_dict())
    assert (decision.arm, decision.n_arms, decision.regret) == (decisions.picked[3], N_ARMS, decisions.regret[3])
    assert decisions[1:3][0].number == decisions[1].number
    slates = policy.choose_many(traffic.offer, traffic.sex, k=2, device=NUMPY)
    assert repr(slates).startswith("<90 slates of ")
    assert [list(slate.picked) for slate in slates[:2]] == slates.picked[:2]


def test_decisions_of_a_device_keep_their_contexts_when_the_caller_reuses_his_array():
    contexts = np.random.default_rng(0).random((5, 4, 3))
    slates = LinUCB(random_state=0).choose_many(contexts, k=2, device=NUMPY)
    decisions = LinUCB(random_state=0).choose_many(contexts, device=NUMPY)
    before = contexts.copy()
    contexts[:] = 7.0
    for user, (slate, decision) in enumerate(zip(slates, decisions, strict=True)):
        np.testing.assert_array_equal([row.dense() for row in slate.rows], before[user, slates.indices[user]])
        np.testing.assert_array_equal(decision.context, before[user, decisions.indices[user]])


@pytest.mark.parametrize("device", DEVICES)
def test_probabilities(traffic, device):
    for policy in (LinUCB(min_probability=0.01, random_state=0), EpsilonGreedy(random_state=0)):
        traffic.teach(policy)
        expected, found = (
            policy.probabilities(traffic.offer, traffic.sex, device=where) for where in ("cpu", DEVICES[device])
        )
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_auto_is_the_processor_where_a_device_cannot_score(traffic):
    for policy in (LinTS(random_state=0), LinUCB(random_state=0)):
        one, other = (policy.choose_many(traffic.offer, device=where) for where in ("auto", "cpu"))
        assert len(one) == len(other) == N_USERS
    auto = LinUCB(random_state=0).choose_many(traffic.offer, eligible=[[0, 1]] * N_USERS, device="auto")
    assert set(auto.picked) == {0, 1}


@pytest.fixture
def auto_is_numpy(monkeypatch):
    """Let "auto" find a device, as on a machine with a GPU."""
    optional = Backend(NUMPY, is_optional=True)
    assert optional == as_backend(NUMPY)
    monkeypatch.setattr(
        device_round, "as_backend", lambda device: optional if device == "auto" else as_backend(device)
    )


@pytest.mark.usefixtures("auto_is_numpy")
def test_auto_is_the_processor_for_models_that_a_device_cannot_score(traffic):
    policy = DUCB(separators=[0], random_state=1)
    for _ in range(2):
        assert len(policy.choose_many(traffic.offer, device="auto")) == N_USERS
    for policy in (Uniform(random_state=1), LinUCB(random_state=1)):
        assert isinstance(policy.choose_many(traffic.offer, device="auto"), DeviceDecisions)


@pytest.mark.usefixtures("auto_is_numpy")
@pytest.mark.parametrize("policy", ["EvenLinUCB", "LinUCB, every arm a chance"])
def test_auto_is_the_processor_if_what_was_learned_does_not_fit(traffic, policy, monkeypatch):
    policy = traffic.teach(POLICIES[policy]("disjoint").set_params(random_state=1))

    def full(self, model):
        raise MemoryError

    monkeypatch.setattr(ArmMatrices, "_allocate", full)
    monkeypatch.setattr(device_round, "_SCORES_ON_HOST", 20 * N_ARMS)
    with pytest.raises(
        DeviceError, match=r"device must have enough memory for what the policy has learned, got 'cpu'"
    ):
        policy.choose_many(traffic.offer, traffic.sex, device=NUMPY)
    check_same(policy, traffic.offer, traffic.sex, "auto")


@pytest.mark.usefixtures("auto_is_numpy")
@pytest.mark.parametrize("policy", ["EvenLinUCB", "LinUCB, every arm a chance"])
def test_auto_is_the_processor_if_one_user_does_not_fit(traffic, policy, monkeypatch):
    policy = traffic.teach(POLICIES[policy]("disjoint").set_params(random_state=1))
    score = device_round.DeviceRound._score

    def full_after_30_users(self, users, prepared):
        if users.stop > 30:
            raise MemoryError
        return score(self, users, prepared)

    monkeypatch.setattr(device_round.DeviceRound, "_score", full_after_30_users)
    check_same(policy, traffic.offer, traffic.sex, "auto")


@pytest.mark.parametrize("name", ["cuda:x", "cuda:", "cuda:-1", "cpu:0", "cuda:0:1", "gpu", 0])
def test_names_of_devices(name):
    with pytest.raises(ValueError, match=rf'device must be "cpu", "cuda", "cuda:N" or "auto", got {name!r}'):
        Device(name)


def test_what_a_device_cannot_do_is_refused(traffic):
    with pytest.raises(DeviceError, match=r"device must be \"cpu\" for LinTS, whose terms are written for NumPy"):
        LinTS().choose_many(traffic.offer, device=NUMPY)
    with pytest.raises(DeviceError, match=r"device must be \"cpu\" if users have different eligible arms"):
        LinUCB().choose_many(traffic.offer, eligible=[[0]] * N_USERS, device=NUMPY)
    with pytest.raises(DeviceError, match=r"device must be \"cpu\" for NeuralLinear"):
        NeuralLinear().choose_many(traffic.offer, device=NUMPY)
    with pytest.raises(ValueError, match=r"k must be at most the 24 arm"):
        LinUCB().choose_many(traffic.offer, k=25, device=NUMPY)

    class Mine(LinUCB):
        def terms(self, predictions):
            return 0.0, 0.0

    with pytest.raises(DeviceError, match=r"device must be \"cpu\" for Mine"):
        Mine().choose_many(traffic.offer, device=NUMPY)


def test_state_moves_once(traffic):
    policy = traffic.teach(LinUCB(random_state=1))
    backend = as_backend(NUMPY)
    scorer = scorer_for(policy.reward_model, backend)
    copied = []
    copy = type(scorer._matrices)._copy
    scorer._matrices._copy = lambda model, *run: copied.append(run) or copy(scorer._matrices, model, *run)
    decisions = policy.choose_many(traffic.offer, traffic.sex, device=NUMPY)
    copied.clear()
    policy.choose_many(traffic.offer, traffic.sex, device=NUMPY)
    assert copied == []
    policy.learn(decisions[0], 0.5)
    policy.choose_many(traffic.offer, traffic.sex, device=NUMPY)
    slot = policy._arms.rows[decisions[0].arm]
    assert copied == [(slot, slot + 1)]
    assert scorer_for(policy.reward_model, as_backend(Device("cpu", library="numpy"))) is scorer


@pytest.mark.parametrize("model", ["disjoint", "shared", "hybrid", "auto", Model(link="logistic")], ids=str)
def test_what_is_on_a_device_goes_with_the_policy(traffic, model):
    policy = traffic.teach(LinUCB(model=model, random_state=1), n=20)
    policy.choose_many(traffic.offer, traffic.sex, device=NUMPY)
    scorer = weakref.ref(scorer_for(policy.reward_model, as_backend(NUMPY)))
    assert scorer() is not None
    del policy
    gc.collect()
    assert scorer() is None
