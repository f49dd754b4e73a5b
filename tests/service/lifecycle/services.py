"""Services whose log is filled by hand, at times of one's own choosing."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from fairbandits.service.engine import Engine
from fairbandits.service.log.appender import AppendEvents, append
from fairbandits.service.log.events import Rewarded
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


def write(engine, *events):
    append(engine.store, [AppendEvents(events=events)], engine.follower.seq)
    engine.follower.apply(engine.store.read(engine.follower.seq))


def visit(engine, number, rng, reward=True, **changed):
    """Decide for a user, and reward the decision; return it."""
    features = {"age": 20 + float(rng.integers(5000)) / 100, "language": str(rng.choice(["en", "fr"]))}
    decided = decide(engine.recommender, features, GROUPS[number % len(GROUPS)])
    decided = replace(decided, user=pseudonym(number), **changed)
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
