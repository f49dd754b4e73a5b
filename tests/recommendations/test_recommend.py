"""Recommendations for all users: what is written, resumed runs, clusters, items and users in any format."""

import os
import signal
import subprocess
import sys

import distributed
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder

from fairbandits import LinUCB, Recommender
from fairbandits.cluster import Checkpoint
from fairbandits.logs import Log, fit
from fairbandits.models.device import Backend, Device, DeviceError, as_backend
from fairbandits.models.device.matrices import ArmMatrices, HybridMatrices
from fairbandits.policies import device_round
from fairbandits.policies.device_round import DeviceRound
from fairbandits.recommendations import blocks, recommend, users
from tests.devices import NUMPY
from tests.polling import wait_until
from tests.recommendations.samples import (
    N_ITEMS,
    N_USERS,
    POLICIES,
    SMALL_BLOCK,
    make_recommender,
    write_files,
)

N_BLOCKS = -(-N_USERS // SMALL_BLOCK)
# Recommends, and waits forever when the third block is finished.
ENDLESS = """
import sys, time
from fairbandits.cluster import Checkpoint
from fairbandits.recommendations import recommend, users
from tests.recommendations.samples import SMALL_BLOCK
users.BLOCK_USERS = SMALL_BLOCK
store = Checkpoint.store
def store_or_wait(self, step, part, state):
    if part == 3:
        time.sleep(600)
    store(self, step, part, state)
Checkpoint.store = store_or_wait
recommend(*sys.argv[1:], k=5)
"""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(users, "BLOCK_USERS", SMALL_BLOCK)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("recommendations")


@pytest.fixture(scope="module")
def tables(folder):
    return write_files(folder)


@pytest.fixture
def run(folder, tables, tmp_path):
    """Run with files of a folder; return the bytes of the output."""

    def recommend_to_all(policy="greedy", users=folder / "users.parquet", k=5, **options):
        out = tmp_path / "out.parquet"
        recommend(folder / f"{policy}.safetensors", users, out, k=k, **options)
        assert list(tmp_path.glob(".*")) == []
        return out.read_bytes()

    return recommend_to_all


def read(folder):
    return pq.read_table(folder / "out.parquet").to_pandas()


def interrupt_at(monkeypatch, number):
    """Interrupt runs when a block is finished."""
    store = Checkpoint.store

    def store_or_interrupt(self, step, part, state):
        if part == number:
            raise KeyboardInterrupt
        store(self, step, part, state)

    monkeypatch.setattr(Checkpoint, "store", store_or_interrupt)


def test_what_is_written_is_what_choose_many_returns(folder, tables, tmp_path):
    written = recommend(folder / "greedy.safetensors", folder / "users.parquet", tmp_path / "out.parquet", k=5)
    slates = Recommender.load(folder / "greedy.safetensors").choose_many(tables.users, k=5)
    frame = read(tmp_path)
    assert list(frame) == ["user", "position", "arm", "score", "probability", "sex", "age_band"]
    assert frame["user"].tolist() == np.repeat(tables.users["user"], 5).tolist()
    assert frame["position"].tolist() == [1, 2, 3, 4, 5] * N_USERS
    assert frame["arm"].tolist() == [arm for slate in slates for arm in slate.picked]
    scores = [slate.scores.total[list(slate.indices)] for slate in slates]
    np.testing.assert_allclose(frame["score"], np.concatenate(scores), rtol=1e-12)
    assert frame["probability"].tolist() == np.repeat([slate.probability for slate in slates], 5).tolist()
    for attribute in ("sex", "age_band"):
        groups = np.repeat(tables.users[attribute], 5).reset_index(drop=True)
        pd.testing.assert_series_equal(frame[attribute], groups, check_dtype=False)
    assert (written.users, written.k, written.items, written.id_column) == (N_USERS, 5, N_ITEMS, "user")
    assert written.mean_score == pytest.approx(frame["score"].mean())


def test_the_summary_counts_users_of_unknown_group(folder, tables, tmp_path):
    written = recommend(folder / "greedy.safetensors", tables.users, tmp_path / "out.parquet", k=2)
    frame = read(tmp_path)
    expected = {
        (attribute, None if pd.isna(group) else group): (len(rows) / 2, pytest.approx(rows["score"].mean()))
        for attribute in ("sex", "age_band")
        for group, rows in frame.groupby(attribute, dropna=False)
    }
    assert ("age_band", None) in expected
    found = {(each.attribute, each.group): (each.users, each.mean_score) for each in written.groups}
    assert found == expected
    assert written.groups[-1].group is None


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_run_writes_the_same_bytes(run, folder, tables, tmp_path, monkeypatch, policy):
    expected = run(policy)
    tables.users.to_parquet(tmp_path / "users.parquet", row_group_size=31)
    assert run(policy, tmp_path / "users.parquet") == expected
    assert run(policy, tables.users) == expected
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            run(policy)
    told = []
    assert run(policy, notify=told.append) == expected
    assert told == [f"resuming after an interruption: 2 of {N_BLOCKS} blocks are finished"]
    unknown = pq.read_table(tmp_path / "out.parquet")["probability"].null_count
    assert unknown == (N_USERS * 5 if policy == "sampling" else 0)


def test_users_of_different_blocks_get_different_draws(run, folder, tables, tmp_path):
    same = pd.concat([tables.users.iloc[:1]] * (2 * SMALL_BLOCK))
    run("exploring", same, k=1)
    arms = read(tmp_path)["arm"].tolist()
    assert arms[:SMALL_BLOCK] != arms[SMALL_BLOCK:]


def test_a_policy_that_has_learned_since_draws_anew(tables, tmp_path):
    recommender = make_recommender(tables, "exploring")
    recommender.policy.set_params(epsilon=1.0)  # so that rewards cannot make the difference
    recommend(recommender, tables.users, tmp_path / "out.parquet", k=2)
    before = read(tmp_path)["arm"].tolist()
    recommender.learn(recommender.choose(tables.users.iloc[0]), 1.0)
    recommend(recommender, tables.users, tmp_path / "out.parquet", k=2)
    assert read(tmp_path)["arm"].tolist() != before


def test_a_killed_run_resumes(run, folder, tmp_path, monkeypatch):
    expected = run("exploring")
    out = tmp_path / "out.parquet"
    out.unlink()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    files = [folder / "exploring.safetensors", folder / "users.parquet", out]
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, *files], env=environment)
    wait_until(lambda: list(tmp_path.rglob("recommend-2.pickle")) or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not out.exists()
    stored, store = [], Checkpoint.store

    def record(self, step, part, state):
        stored.append(part)
        store(self, step, part, state)

    monkeypatch.setattr(Checkpoint, "store", record)
    assert run("exploring") == expected
    assert stored == list(range(3, N_BLOCKS))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"policy": "exploring"}, "policy has"),
        ({"k": 4}, "k has"),
        ({"user_id": "level"}, "user_id has"),
        ({"items": "some"}, "items has"),
        ({"users": "others"}, "users has"),
        ({"users": "others", "k": 4}, "users, k have"),
    ],
)
def test_a_run_with_other_inputs_starts_from_the_beginning(run, tables, monkeypatch, changes, named):
    if "users" in changes:
        changes = {**changes, "users": tables.users.assign(age=50.0)}
    if "items" in changes:
        changes = {"items": tables.items.iloc[:20]}
    expected = run(**changes)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            run()
    told = []
    assert run(**changes, notify=told.append) == expected
    assert told == [f"{named} changed since the interrupted run; starting from the beginning"]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_cluster_writes_the_same_bytes(run, workers):
    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=workers, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        for policy in POLICIES:
            assert run(policy, cluster=client) == run(policy)


def test_threads_of_one_worker_share_a_policy(run):
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 4, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        assert run("exploring", cluster=client) == run("exploring")


def test_other_items(run, folder, tables, tmp_path):
    new = tables.items.iloc[20:].rename(index={"course 29": "course 99"})
    new.to_parquet(tmp_path / "items.parquet")
    from_file = run(items=tmp_path / "items.parquet")
    arms = set(read(tmp_path)["arm"])
    assert arms <= {*new.index}
    assert "course 99" in arms
    assert run(items=new) == from_file
    new.reset_index().to_csv(tmp_path / "items.csv", index=False)
    assert run(items=tmp_path / "items.csv") == from_file
    recommender = Recommender.load(folder / "greedy.safetensors")
    written = recommend(recommender, tables.users, tmp_path / "out.parquet", items=new, k=1)
    assert (written.items, written.unlearned) == (10, 1)
    assert len(recommender.items) == N_ITEMS


def test_a_policy_that_was_saved_alone(folder, tables, tmp_path, run):
    expected = run()
    Recommender.load(folder / "greedy.safetensors").policy.save(tmp_path / "alone.safetensors")
    files = tmp_path / "alone.safetensors", folder / "users.parquet", tmp_path / "out.parquet"
    recommend(*files, items=folder / "items.parquet", k=5)
    assert (tmp_path / "out.parquet").read_bytes() == expected


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "feather", "csv.gz"])
def test_users_in_other_formats(run, tables, tmp_path, suffix):
    path = tmp_path / f"users.{suffix}"
    if suffix == "jsonl":
        tables.users.to_json(path, orient="records", lines=True, date_format="iso")
    else:
        getattr(tables.users, f"to_{suffix.split('.')[0]}")(path, **({"index": False} if "csv" in suffix else {}))
    assert run(users=path) == run()


def test_a_policy_that_was_fitted_to_a_log(tmp_path):
    rng = np.random.default_rng(0)
    log = pd.DataFrame(
        {
            "arm": rng.integers(1, 7, 400),
            "reward": rng.integers(0, 2, 400),
            "sex": rng.choice(["f", "m"], 400),
            "x_age": rng.normal(size=400),
        }
    )
    fit(Log.open(log), LinUCB(random_state=0)).recommender.save(tmp_path / "p.safetensors")
    written = recommend(tmp_path / "p.safetensors", log[["sex", "x_age"]], tmp_path / "out.parquet", k=6)
    frame = read(tmp_path)
    assert written.id_column is None
    assert frame["user"].tolist() == np.repeat(np.arange(400), 6).tolist()
    assert frame["arm"].dtype == np.int64
    assert set(frame["arm"].iloc[:6]) == set(range(1, 7))


def test_a_policy_that_needs_no_column_of_users(tmp_path):
    log = pd.DataFrame({"arm": ["a", "b", "c"] * 30, "reward": [1.0, 0.5, 0.0] * 30})
    fit(Log.open(log), LinUCB(random_state=0)).recommender.save(tmp_path / "p.safetensors")
    written = recommend(tmp_path / "p.safetensors", pd.DataFrame({"x": range(120)}), tmp_path / "out.parquet", k=2)
    assert (written.users, written.groups) == (120, ())
    assert read(tmp_path)["arm"].tolist() == ["a", "b"] * 120


def test_a_custom_transformer(tables, tmp_path):
    encoder = make_column_transformer((OneHotEncoder(), ["language"])).fit(tables.users)
    recommender = Recommender(
        LinUCB(random_state=0), tables.users, tables.items, groups=["sex"], user_encoder=encoder
    )
    for _, user in tables.users.iloc[:50].iterrows():
        decision = recommender.choose(user)
        recommender.learn(decision, tables.reward(user, decision.arm))
    recommend(recommender, tables.users, tmp_path / "out.parquet", k=3)
    slates = recommender.choose_many(tables.users, k=3)
    # Ties are broken by other draws.
    clear = [slate.probability == 1.0 for slate in slates]
    assert sum(clear) > 20
    arms = read(tmp_path)["arm"].to_numpy().reshape(-1, 3)
    assert [tuple(each) for each in arms[clear]] == [s.picked for s in slates if s.probability == 1.0]


def test_ids_of_users(run, tables, tmp_path):
    both = tables.users.assign(id=np.arange(N_USERS) + 7)
    run(users=both)
    assert read(tmp_path)["user"].iloc[-1] == N_USERS - 1  # which of the two is the id cannot be known
    run(users=both, user_id="id")
    assert read(tmp_path)["user"].iloc[-1] == N_USERS + 6


@pytest.mark.parametrize(
    "ids",
    [
        pa.array(range(2**63, 2**63 + N_USERS), pa.uint64()),
        pa.array(range(N_USERS), pa.timestamp("ns")),
        pa.array([f"user {number}" for number in range(N_USERS)], pa.string_view()),
        pa.array([f"user {number}" for number in range(N_USERS)]).dictionary_encode(),
    ],
    ids=lambda ids: str(ids.type),
)
def test_ids_of_any_type_are_written_as_they_are(run, tables, tmp_path, ids):
    frame = pa.Table.from_pandas(tables.users)
    path = tmp_path / "users.parquet"
    pq.write_table(frame.set_column(frame.schema.get_field_index("user"), "user", ids), path)
    run(users=path, k=1)
    assert pq.read_table(tmp_path / "out.parquet")["user"].to_pylist() == ids.to_pylist()


@pytest.mark.parametrize("policy", ["greedy", "exploring"])
def test_a_device_recommends_the_same(run, tmp_path, policy):
    run(policy)
    expected = read(tmp_path)
    run(policy, device=NUMPY)
    pd.testing.assert_frame_equal(read(tmp_path), expected, rtol=0, atol=1e-9)


@pytest.fixture
def calls(monkeypatch):
    """The number of users and the device of each call that ranks items."""
    found, rank = [], Recommender.rank

    def record(self, users, *, device="cpu", **options):
        found.append((len(users), device))
        return rank(self, users, device=device, **options)

    monkeypatch.setattr(Recommender, "rank", record)
    return found


@pytest.mark.parametrize("device", ["auto", Device("cpu")])
def test_the_processor_scores_as_many_users_at_a_time_whatever_it_is_called(run, monkeypatch, calls, device):
    monkeypatch.setattr(device_round, "as_backend", lambda device: None)  # as without a GPU
    monkeypatch.setattr(blocks, "_ENTRIES_AT_ONCE", 20_000)
    expected = run()
    on_cpu = calls.copy()
    assert len(on_cpu) > N_BLOCKS
    calls.clear()
    assert run(device=device) == expected
    assert calls == on_cpu


def test_users_with_contexts_of_their_own_do_not_fill_the_memory_of_the_host(tables, tmp_path, monkeypatch, calls):
    recommender = make_recommender(tables, interactions=[("language", "topic")])
    monkeypatch.setattr(blocks, "_ENTRIES_AT_ONCE", 10 * N_ITEMS * len(recommender.feature_names))
    for device in ("cpu", NUMPY):
        recommend(recommender, tables.users, tmp_path / f"{device}.parquet", k=5, device=device)
        assert max(n_users for n_users, _ in calls) == 10
    on_cpu, on_device = (pq.read_table(tmp_path / f"{device}.parquet").to_pandas() for device in ("cpu", NUMPY))
    pd.testing.assert_frame_equal(on_device, on_cpu, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("owner", "step"), [(ArmMatrices, "_allocate"), (HybridMatrices, "matrices"), (DeviceRound, "_score")]
)
def test_auto_is_the_processor_if_the_device_has_too_little_memory(run, monkeypatch, calls, owner, step):
    def full(*args):
        raise MemoryError

    expected = run()
    backends = {"auto": Backend(NUMPY, is_optional=True)}
    monkeypatch.setattr(device_round, "as_backend", lambda device: backends.get(device) or as_backend(device))
    monkeypatch.setattr(owner, step, full)
    calls.clear()
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            run(device="auto")
    told = []
    assert run(notify=told.append) == expected  # as a run on the processor, which it was
    assert told == [f"resuming after an interruption: 2 of {N_BLOCKS} blocks are finished"]
    assert [n_users for n_users, device in calls if device != "cpu"] == [1]
    with pytest.raises(DeviceError, match="device must have enough memory for"):
        run(device=NUMPY)


def test_a_resumed_run_splits_users_on_a_device_as_before(run, monkeypatch, calls):
    sizes, users_at_a_time = [], device_round.DeviceRound.users_at_a_time

    def record(self, *args):
        sizes.append(users_at_a_time(self, *args))
        return sizes[-1]

    monkeypatch.setattr(device_round.DeviceRound, "users_at_a_time", record)
    monkeypatch.setattr(Backend, "_free_memory", lambda self: 300_000)
    expected = run(device=NUMPY)
    assert {device for _, device in calls} == {Device("cpu", library="numpy", memory=240_000)}
    assert len(set(sizes)) == 1
    assert sizes[0] < SMALL_BLOCK
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            run(device=NUMPY)
    # Other work has left the device since; a run that starts anew may use its memory, one that resumes must not.
    monkeypatch.setattr(Backend, "_free_memory", lambda self: 3_000_000)
    assert run(device=NUMPY) == expected
    assert len(set(sizes)) == 1
    run(device=NUMPY)
    assert len(set(sizes)) == 2


def test_a_run_with_other_memory_starts_from_the_beginning(run, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            run(device=NUMPY)
    told = []
    run(device=Device("cpu", library="numpy", memory=300_000), notify=told.append)
    assert told == ["memory has changed since the interrupted run; starting from the beginning"]


def test_an_empty_table(folder, tables, tmp_path):
    tables.users.iloc[:0].to_parquet(tmp_path / "none.parquet")
    written = recommend(folder / "greedy.safetensors", tmp_path / "none.parquet", tmp_path / "out.parquet")
    assert (written.users, written.mean_score, written.groups) == (0, None, ())
    assert list(read(tmp_path)) == ["user", "position", "arm", "score", "probability", "sex", "age_band"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 31}, r"k must be at most the 30 arm\(s\) on offer, got 31; offer more, or ask for fewer"),
        ({"k": 0}, "k must be a positive integer, got 0"),
        ({"device": "tpu"}, 'device must be "cpu", "cuda", "cuda:N" or "auto", got \'tpu\''),
        ({"device": "cuda:99"}, "device must be available, got 'cuda:99'"),
        ({"user_id": "usr"}, r"there is no column 'usr', the id of users; did you mean 'user'\?"),
        ({"items": pd.DataFrame({"item": ["a"]})}, "items: matches must name columns of items, got 'language'"),
    ],
)
def test_impossible_options(run, options, message):
    with pytest.raises(ValueError, match=message):
        run(**options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda users: users.drop(columns="level"),
            "no column 'level', the feature that the policy was fitted with",
        ),
        (lambda users: users.drop(columns="sex"), "there is no column 'sex', the group of users; "),
        (lambda users: users.assign(user=None), r"row 1: users must have an id, got none in 'user'"),
        (lambda users: users.assign(sex=[[1]] * N_USERS), "text or numbers, got another type in 'sex'; convert"),
        (lambda users: users.assign(age="old"), "rows 1 to 50: users must have numbers in column 'age'"),
    ],
)
def test_unusable_users(run, tables, tmp_path, change, message):
    change(tables.users).to_parquet(tmp_path / "users.parquet")
    with pytest.raises(ValueError, match=message):
        run(users=tmp_path / "users.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["users.parquet"]


@pytest.mark.parametrize("k", [5, 4])
def test_a_second_run_with_the_same_output_is_refused(run, folder, tables, tmp_path, monkeypatch, k):
    expected, out = run(), tmp_path / "out.parquet"
    store = Checkpoint.store

    def store_and_start_again(self, step, part, state):
        store(self, step, part, state)
        with pytest.raises(ValueError, match=r"out must not be written by another run, got .*; wait until"):
            recommend(folder / "greedy.safetensors", tables.users, out, k=k)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "store", store_and_start_again)
        assert run() == expected
    assert run() == expected


def test_finished_blocks_are_kept_when_a_later_one_fails(run, tables, tmp_path):
    wrong = tables.users.assign(age=tables.users["age"].where(np.arange(N_USERS) != 120, np.inf))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"rows 101 to 150: users must have finite numbers in column 'age'"):
            run(users=wrong)
        assert len(list(tmp_path.rglob("recommend-*.pickle"))) == 2
    run()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (".", "out must be a file, got the folder"),
        ("out.csv", "out must be a .parquet file, got"),
        ("none/out.parquet", "out must be in an existing folder, got .*; create the folder first"),
    ],
)
def test_outputs_that_cannot_be_written(folder, tables, tmp_path, name, message):
    with pytest.raises(ValueError, match=message):
        recommend(folder / "greedy.safetensors", tables.users, tmp_path / name)


def test_groups_with_names_of_the_output(tables, tmp_path):
    renamed = tables.users.rename(columns={"sex": "score"})
    recommender = Recommender(LinUCB(), renamed, tables.items, groups=["score"])
    with pytest.raises(ValueError, match=r"groups must not be named user, .*, got 'score'; rename the column"):
        recommend(recommender, renamed, tmp_path / "out.parquet")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda items: items.reset_index(drop=True),
            "must have a column of ids, named item or arm or id or item_id, got",
        ),
        (lambda items: items.drop(columns="topic"), "there is no column 'topic', the feature that the policy was"),
        (
            lambda items: items.drop(columns="language"),
            "no column 'language', the (feature|value to compare users)",
        ),
        (lambda items: items.iloc[:0], "has no rows; a catalogue has one row per item"),
        (lambda items: items.assign(hours="long"), "items.parquet: items must have numbers in column 'hours'"),
    ],
)
def test_unusable_items(run, tables, tmp_path, change, message):
    change(tables.items).to_parquet(tmp_path / "items.parquet")
    with pytest.raises(ValueError, match=message):
        run(items=tmp_path / "items.parquet")


def test_policies_without_items_or_encoders(folder, tables, tmp_path):
    policy, out = LinUCB(random_state=0), tmp_path / "out.parquet"
    policy.save(tmp_path / "p.safetensors")
    with pytest.raises(
        ValueError, match="contains a policy without encoders of users and items; save its Recommender"
    ):
        recommend(tmp_path / "p.safetensors", tables.users, out)
    Recommender.load(folder / "greedy.safetensors").policy.save(tmp_path / "p.safetensors")
    with pytest.raises(ValueError, match=r"contains a policy without items; pass a file of items \(--items\)"):
        recommend(tmp_path / "p.safetensors", tables.users, out)
