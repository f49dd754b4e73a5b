"""A policy that replaces another while the service goes on."""

import asyncio
import json
import time
from contextlib import closing

import pytest

from fairbandits.service.engine import Engine
from fairbandits.service.export import export_recommender
from fairbandits.service.lifecycle.replacement import replace_policy
from fairbandits.service.log.events import Rewarded
from fairbandits.service.log.store import Store
from fairbandits.service.state.decider import DecisionRequest
from fairbandits.service.state.recommender import ServedRecommender
from fairbandits.service.verification import verify
from tests.service.lifecycle.services import as_request, checksum, fill, opened, save_snapshot
from tests.service.small import USER, small_config

NEW = "LinUCB(alpha=0.7)"


def replayed(engine, **changed):
    """The checksum of a replay of the whole log by hand."""
    recommender = ServedRecommender(small_config(**changed))
    for entry in engine.store.read(0):
        recommender.apply(entry)
    return recommender.checksum()()


def test_the_new_policy_has_learned_from_the_whole_log_and_survives_restarts(store_url, caplog):
    with opened(store_url) as engine:
        fill(engine, 20)
        save_snapshot(engine)
        fill(engine, 10, seed=1)
        config = engine.config
    done = replace_policy(config, NEW)
    assert (done.policy, done.previous, done.rewards) == (NEW, config.policy, 24)
    with opened(store_url) as engine:
        assert checksum(engine) == replayed(engine, policy=NEW)
        [decided] = fill(engine, 1)
        assert decided.policy == done.policy_id == engine.recommender.policy_id
        assert caplog.messages == [
            f"using {NEW}, the policy in the log, instead of the configured {config.policy}; "
            "change it with `fairbandits replace`"
        ]
        save_snapshot(engine)
    assert verify(config).replayed is not None
    back = replace_policy(config, back=True)
    assert (back.policy, back.previous) == (config.policy, NEW)
    with opened(store_url) as engine:
        assert checksum(engine) == replayed(engine)
        assert fill(engine, 1)[0].policy != done.policy_id


def test_a_running_worker_takes_the_new_policy_over(store_url):
    """Without a restart, and without losing an entry that it writes meanwhile."""

    async def serve():
        engine = Engine(small_config(store={"url": store_url, "snapshot_every": 10}))
        await engine.start()
        try:
            await decide_and_reward(engine, 30)
            replacing = asyncio.create_task(asyncio.to_thread(replace_policy, engine.config, NEW))
            while engine.recommender.policy_id != (replacing.done() and replacing.result().policy_id):
                await decide_and_reward(engine, 1)
            assert engine.follower.change_seq == replacing.result().seq
            await decide_and_reward(engine, 20)
            last = await asyncio.to_thread(last_seq, store_url)
            while engine.follower.seq < last:  # PostgreSQL acknowledges entries before they are applied
                await asyncio.sleep(0.01)
            seq, found = engine.follower.seq, checksum(engine)
        finally:
            await engine.stop()
        return seq, found

    seq, found = asyncio.run(asyncio.wait_for(serve(), 60))
    with opened(store_url) as engine:
        assert engine.follower.seq == seq
        assert checksum(engine) == found == replayed(engine, policy=NEW)


def last_seq(url):
    with closing(Store(url)) as store:
        return store.last_seq()


async def decide_and_reward(engine, n):
    for _ in range(n):
        reply = json.loads(await engine.writer.write(DecisionRequest(users=[USER])))
        await engine.writer.write(as_request(Rewarded(reply["decision"], time.time(), 0.5)))


def test_an_exported_recommender_has_the_policy_of_the_log(store_url, tmp_path):
    with opened(store_url) as engine:
        fill(engine, 5)
        config = engine.config
    replace_policy(config, NEW)
    assert type(export_recommender(config, tmp_path / "learned.safetensors").policy).__name__ == "LinUCB"


def test_what_cannot_replace_a_policy(store_url):
    with opened(store_url) as engine:
        config = engine.config
    for arguments, message in [
        ({}, r"policy must differ from the current policy of the service, got FairLinUCB\(alpha=0\.3, gamma=1\)"),
        ({"policy": "Nonsense"}, "Nonsense"),
        ({"policy": "EqualRegretLinUCB"}, "must learn from decisions and rewards alone"),
        ({"back": True}, "there is no previous policy to restore, because the policy was never replaced"),
        ({"policy": NEW, "back": True}, "policy must be omitted to restore the previous one"),
    ]:
        with pytest.raises(ValueError, match=message):
            replace_policy(config, **arguments)
