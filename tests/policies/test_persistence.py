"""Saving, loading and merging: bitwise, and nothing that is not ours is ever let in."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from fairbandits import FairLinUCB, LinUCB, Policy, PolicyFileError
from fairbandits.policies import persistence
from tests.helpers import POLICIES, contexts_for, fresh, teach


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "policy.safetensors"
    teach(FairLinUCB(random_state=0))[0].save(path)
    return path


def metadata_of(path):
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return json.loads(file.read(length))["__metadata__"]


@pytest.mark.parametrize("name", POLICIES)
def test_the_same_arms_afterwards_bitwise(name, tmp_path):
    policy, _ = teach(fresh(POLICIES[name], random_state=3))
    policy.save(tmp_path / "policy")
    feature_map = getattr(policy.get_params().get("model"), "feature_map", None)
    loaded = Policy.load(tmp_path / "policy", feature_map=feature_map)
    assert type(loaded) is type(policy)
    assert loaded.checksum() == policy.checksum()
    assert teach(loaded, seed=5)[1] == teach(policy, seed=5)[1]
    assert loaded.checksum() == policy.checksum()
    ours, theirs = (p.choose(contexts_for(np.random.default_rng(1))).scores.total for p in (policy, loaded))
    assert ours.tobytes() == theirs.tobytes() or "TS" in name


def test_a_policy_that_has_seen_nothing_is_kept_too(tmp_path):
    LinUCB(random_state=1).save(tmp_path / "policy")
    assert teach(LinUCB.load(tmp_path / "policy"))[1] == teach(LinUCB(random_state=1))[1]


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM])
def test_every_kind_of_randomness_is_kept(bits, tmp_path):
    policy = LinUCB(random_state=np.random.Generator(bits(5)))
    teach(policy)
    policy.save(tmp_path / "policy")
    assert teach(LinUCB.load(tmp_path / "policy"), seed=2)[1] == teach(policy, seed=2)[1]


def test_open_decisions_can_be_learned_after_loading(tmp_path):
    policy, _ = teach(LinUCB(random_state=0))
    decision = policy.choose(contexts_for(np.random.default_rng(4)), "male")
    policy.save(tmp_path / "policy")
    loaded = LinUCB.load(tmp_path / "policy")
    loaded.learn(decision, 0.5)
    with pytest.raises(ValueError, match="has already been learned"):
        loaded.learn(decision, 0.5)


def test_another_process_goes_on_the_same(tmp_path):
    policy, _ = teach(FairLinUCB(random_state=0))
    policy.save(tmp_path / "policy")
    code = (
        "import sys; sys.path.insert(0, sys.argv[2]); from tests.helpers import teach; "
        "from fairbandits import Policy; policy, arms = teach(Policy.load(sys.argv[1]), seed=9); "
        "print(policy.checksum())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "policy"), str(Path(__file__).parents[2])]
    theirs = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.strip()
    assert theirs == teach(policy, seed=9)[0].checksum()


@settings(deadline=None, max_examples=150)
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_anywhere_is_refused(saved, where, bit):
    content = bytearray(saved.read_bytes())
    content[int(where * len(content))] ^= 1 << bit
    damaged = saved.with_name("damaged")
    damaged.write_bytes(content)
    with pytest.raises(PolicyFileError, match="damaged"):
        Policy.load(damaged)


@settings(deadline=None, max_examples=60)
@given(kept=st.floats(0, 1, exclude_max=True))
def test_a_file_cut_short_anywhere_is_refused(saved, kept):
    damaged = saved.with_name("short")
    damaged.write_bytes(saved.read_bytes()[: int(kept * saved.stat().st_size)])
    with pytest.raises(PolicyFileError, match="damaged"):
        Policy.load(damaged)


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


@pytest.mark.parametrize(
    "content", [b"", b"arm,reward\n1,0.5\n", pickle.dumps(Bomb()), b"\x00" * 4096, b"\xff" * 4096, b"PK\x03\x04"]
)
def test_foreign_files_are_refused_and_execute_nothing(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "foreign").write_bytes(content)
    with pytest.raises(PolicyFileError, match="not a policy file, or truncated or damaged"):
        Policy.load(tmp_path / "foreign")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["foreign"]


def test_other_safetensors_files_are_refused(tmp_path):
    save_file({"weights": np.zeros(3)}, tmp_path / "model")
    with pytest.raises(PolicyFileError, match="not a saved fairbandits policy"):
        Policy.load(tmp_path / "model")


def test_other_versions_are_refused(saved, tmp_path):
    save_file(load_file(saved), tmp_path / "newer", {**metadata_of(saved), "version": "9"})
    with pytest.raises(PolicyFileError, match="format version 3, 4 or 5, got '9'"):
        Policy.load(tmp_path / "newer")


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(PolicyFileError, match="no such file"):
        Policy.load(tmp_path / "nowhere")
    with pytest.raises(PolicyFileError, match=r"not a policy file|cannot be read as a policy file"):
        Policy.load(tmp_path)


def test_a_policy_of_another_class_is_refused(saved):
    with pytest.raises(
        PolicyFileError, match="must be a NaiveLinUCB, got a FairLinUCB; load it with its own class"
    ):
        type(POLICIES["NaiveLinUCB"]).load(saved)
    assert isinstance(LinUCB.load(saved), FairLinUCB), "a FairLinUCB is a LinUCB"


def forged(saved, path, change):
    """Write a file with a right checksum whose content was tampered with."""
    state = persistence.read(saved)
    header, arrays = state.header, state.arrays
    change(header, arrays)
    persistence.write(path, persistence.PolicyState(header, arrays).to_bytes())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, a: h.update({"class": "Stranger"}), "import the module that defines it"),
        (lambda h, a: h.pop("class"), "import the module that defines it"),
        (lambda h, a: h.update({"class": ["x"]}), "import the module that defines it"),
        (lambda h, a: h.update(params=["x"]), "parts are inconsistent"),
        (lambda h, a: h.update(rounds_learned="many"), "parts are inconsistent"),
        (lambda h, a: h["ledger"].update(policy=3), "parts are inconsistent"),
        (lambda h, a: h["rng"]["state"].update(state=2**200), "parts are inconsistent"),
        (
            lambda h, a: a.update({"model.part_columns": a["model.part_columns"] + 999}),
            "parts are inconsistent",
        ),
        (lambda h, a: h.pop("arms"), "parts are inconsistent"),
        (lambda h, a: h["params"].update(gamma=-1), "parts are inconsistent"),
        (lambda h, a: h["params"].update(evil=1), "parts are inconsistent"),
        (lambda h, a: h["rng"].update(bit_generator="seed"), "parts are inconsistent"),
        (lambda h, a: a.update({"model.blocks": np.zeros((1, 2, 8))}), "parts are inconsistent"),
        (
            lambda h, a: a.update({"model.blocks": np.append(a["model.blocks"], a["model.blocks"], 0)}),
            "parts are inconsistent",
        ),
        (lambda h, a: a.update({"model.pending": a["model.pending"] + 4}), "parts are inconsistent"),
        (lambda h, a: a.update({"model.pending": a["model.pending"] - 4}), "parts are inconsistent"),
        (lambda h, a: a.update({"model.theta": a["model.theta"].astype(np.float32)}), "parts are inconsistent"),
        (lambda h, a: h.update(width=3), "parts are inconsistent"),
        (lambda h, a: a.update({"groups.totals.mean": np.zeros((0, 1))}), "parts are inconsistent"),
        (lambda h, a: a.update({"groups.by_arm.mean": np.zeros((2, 2))}), "parts are inconsistent"),
        (lambda h, a: h["arms"].update(rows=[10**9] * 6), "parts are inconsistent"),
    ],
)
def test_files_whose_parts_do_not_fit_are_refused(saved, tmp_path, change, message):
    forged(saved, tmp_path / "forged", change)
    with pytest.raises(PolicyFileError, match=message):
        Policy.load(tmp_path / "forged")


def test_a_namesake_of_ours_does_not_take_its_files(saved):
    type("FairLinUCB", (FairLinUCB,), {"__module__": "theirs"})
    assert type(Policy.load(saved)) is FairLinUCB


def test_files_hold_no_spare_slots_and_can_be_read_by_others(tmp_path):
    policy = LinUCB(random_state=0)
    for i in range(33):
        policy.learn(policy.choose(np.eye(4)[:1], arms=[i]), 0.5)
    assert policy.reward_model.n_slots > 33
    policy.save(tmp_path / "policy")
    assert len(load_file(tmp_path / "policy")["model.theta"]) == 33
    assert LinUCB.load(tmp_path / "policy").checksum() == policy.checksum()
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "policy").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_saving_into_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(PolicyFileError, match="nowhere/policy: its folder must exist"):
        LinUCB().save(tmp_path / "nowhere" / "policy")


def test_saving_is_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "policy"
    policy, _ = teach(LinUCB(random_state=0))
    policy.save(path)
    before = path.read_bytes()
    teach(policy)
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        policy.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["policy"]


# -- merging -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if not policy.order_dependent])
def test_halves_merged_are_the_whole(name):
    rng = np.random.default_rng(0)
    rounds = [
        (contexts_for(rng, 1), [f"a{rng.integers(8)}"], ["male", "female", None][rng.integers(3)], rng.random())
        for _ in range(400)
    ]

    def taught(some):
        policy = fresh(POLICIES[name], random_state=0)
        for contexts, arms, group, reward in some:
            policy.learn(policy.choose(contexts, group, arms), reward)
        return policy

    whole, left, right = taught(rounds), taught(rounds[:150]), taught(rounds[150:])
    before = left.checksum(), right.checksum()
    merged = left.merge(right)
    assert (left.checksum(), right.checksum()) == before
    assert merged.rounds_learned == 400
    contexts, arms = contexts_for(rng, 9), [f"a{i}" for i in range(9)]
    ours, theirs = (policy.score(contexts[None], ["male"], arms) for policy in (merged, whole))
    for part in ("mean", "width", "fairness"):
        np.testing.assert_allclose(getattr(ours, part), getattr(theirs, part), rtol=1e-9, atol=1e-9)
    assert float(merged.groups.gap()) == pytest.approx(float(whole.groups.gap()), abs=1e-9)
    if hasattr(merged.reward_model, "coefficients"):
        for arm in arms:
            np.testing.assert_allclose(merged.coefficients(arm), whole.coefficients(arm), rtol=1e-9, atol=1e-9)


def test_merging_leaves_both_as_they_were():
    left, right = teach(LinUCB(random_state=0))[0], teach(LinUCB(random_state=1))[0]
    contexts = contexts_for(np.random.default_rng(0))
    pending = right.choose(contexts, "male")
    merged = left.merge(right)
    merged.learn(pending, 0.5)
    merged.forget_arm(pending.arm)
    right.learn(pending, 0.5)
    assert right.coefficients(pending.arm).any()


def test_decisions_of_copies_are_told_apart(tmp_path):
    """Two policies of one file, or a merged one and its parts, must not give two decisions one name."""
    policy, _ = teach(LinUCB(random_state=0))
    policy.save(tmp_path / "policy")
    one, two = (LinUCB.load(tmp_path / "policy") for _ in range(2))
    merged = policy.merge(teach(LinUCB(random_state=1))[0])
    contexts = contexts_for(np.random.default_rng(0))
    decisions = [each.choose(contexts) for each in (policy, one, two, merged)]
    assert len({(d.policy, d.number) for d in decisions}) == 4
    with pytest.raises(
        ValueError, match=r"must have been made by this policy.*learn it with the policy that made it"
    ):
        one.learn(decisions[3], 0.5)


@pytest.mark.parametrize("model", ["disjoint", "shared"])
def test_merging_with_one_that_has_chosen_and_not_learned(model):
    policy, _ = teach(LinUCB(model=model, random_state=0))
    idle = LinUCB(model=model, random_state=0)
    idle.choose(contexts_for(np.random.default_rng(0)))
    idle.groups.add(0.5, "male", arm="elsewhere")
    merged = policy.merge(idle)
    np.testing.assert_allclose(merged.coefficients(2), policy.coefficients(2), rtol=1e-12)


def test_merging_with_one_that_has_seen_nothing():
    policy, _ = teach(LinUCB(random_state=0))
    for merged in (policy.merge(LinUCB()), LinUCB(random_state=0).merge(policy)):
        np.testing.assert_allclose(merged.coefficients(2), policy.coefficients(2), rtol=1e-12)


def test_decisions_of_both_can_be_learned_after_merging():
    left, right = teach(LinUCB(random_state=0))[0], teach(LinUCB(random_state=1))[0]
    pending = [policy.choose(contexts_for(np.random.default_rng(0)), "male") for policy in (left, right)]
    merged = left.merge(right)
    merged.learn_many(pending, [0.5, 0.6])
    with pytest.raises(ValueError, match="has already been learned"):
        merged.learn(pending[1], 0.6)
    assert merged.rounds_learned == 122
