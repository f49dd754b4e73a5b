"""Services whose log is filled by hand, at times of one's own choosing."""

from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import delete

from fairbandits.service.engine import Engine
from fairbandits.service.log.appender import AppendEvents, AppendRequest, Settlement, append
from fairbandits.service.log.events import Rewarded, decision_key
from fairbandits.service.log.tables import snapshots
from fairbandits.service.state.decider import decide
from tests.service.small import small_config

GROUPS = [{"gender": gender, "region": region} for gender in ("female", "male") for region in ("north", "south")]


def pseudonym(number):
    return f"{number:032x}"


@contextmanager
def opened(url, **changed):
    """An engine with an open log, without its tasks."""
    engine = Engine(small_config(store={"url": url}, **changed))
    engine._open()
    try:
        yield engine
    finally:
        engine.store.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardRequest(AppendRequest):
    """A reward of a decision that exists."""

    reward: Rewarded

    def settle(self, found):
        assert list(found) == [decision_key(self.reward.decision)]
        return Settlement([self.reward], b"{}")


def as_request(event):
    if isinstance(event, Rewarded):
        return RewardRequest(reward=event, depends_on=[decision_key(event.decision)])
    return AppendEvents(events=[event], reply=b"{}")


def write(engine, *events):
    """Append events, and apply them."""
    for event in events:
        append(engine.store, [as_request(event)], engine.follower.seq)
    last = engine.store.last_seq()
    while engine.follower.seq < last:
        engine.follower.apply(engine.store.read(engine.follower.seq))


def visit(engine, number, rng, reward=True, **changed):
    """Decide for a user, and reward the decision; return it."""
    features = {"age": 20 + float(rng.integers(5000)) / 100, "language": str(rng.choice(["en", "fr"]))}
    decided = decide(engine.recommender, features, GROUPS[number % len(GROUPS)])
    decided = replace(decided, **{"user": pseudonym(number)} | changed)
    write(engine, decided)
    if reward:
        write(engine, Rewarded(decided.id, decided.time + 1.0, float(rng.random())))
    return decided


def fill(engine, visits, users=10, seed=0):
    """Let users visit; every fifth decision gets no reward."""
    rng = np.random.default_rng(seed)
    return [visit(engine, number % users, rng, reward=bool(number % 5)) for number in range(visits)]


def checksum(engine):
    return engine.recommender.checksum()()


def policy_checksum(engine):
    """A checksum of what was learned alone, whichever entry comes last."""
    return engine.recommender.policy.state().checksum()


def save_snapshot(engine):
    seq, serialise = engine.follower.snapshot()
    engine.store.save_snapshot(seq, serialise(), engine.follower.change_seq)


def drop_snapshots_after(engine, seq):
    """Drop snapshots, so that the next start replays more of the log."""
    with engine.store.transaction() as connection:
        connection.execute(delete(snapshots).where(snapshots.c.seq > seq))
