"""Appending: in order, all or nothing, once for each idempotency key."""

from dataclasses import dataclass

import pytest

from fairbandits.service.log.appender import AppendEvents, AppendRequest, RefusedRequest, Settlement, append
from fairbandits.service.log.errors import LogLostError, StoreDownError
from fairbandits.service.log.events import ArmAdded, ArmRetired, Rewarded, decision_key, reward_key
from fairbandits.service.log.requests import IdempotencyKey, Refusal, RefusalReason
from fairbandits.service.log.store import Store
from tests.service.logs import decided

KEY = IdempotencyKey("key", "digest")


def appending(*events, idempotency=None, reply=b"done"):
    return AppendEvents(events=events, reply=reply, idempotency=idempotency)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking(AppendRequest):
    """A request that records what it is shown."""

    seen: list
    events: tuple = ()

    def settle(self, found):
        self.seen.append(dict(found))
        return Settlement(self.events, b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing(AppendRequest):
    """A request with a bug."""

    def settle(self, found):
        raise ZeroDivisionError


def contents(entries):
    return [(entry.event, entry.decided) for entry in entries]


def count(store):
    return len(store.read(0))


def test_entries_are_read_in_the_order_in_which_they_were_appended(store):
    first, second, third = decided(1), decided(2), decided(3)
    entries = append(store, [appending(first), appending(second)], 0).entries
    assert contents(entries) == [(first, None), (second, None)]
    last = entries[-1].seq
    [new] = append(store, [appending(third)], last).entries
    assert (new.event, new.writer, new.n) == (third, entries[0].writer, 3)
    assert store.read(0) == [*entries, new]
    assert [entry.seq for entry in store.read(0)] == sorted({entry.seq for entry in store.read(0)})
    assert store.read(entries[0].seq, upto=last) == entries[1:]
    assert store.last_seq() == new.seq


def test_sqlite_numbers_entries_without_gaps(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.open("columns")
    append(store, [appending(decided(1)), appending(decided(2))], 0)
    with pytest.raises(ZeroDivisionError):
        append(store, [appending(decided(3)), Failing()], 2)
    append(store, [appending(decided(4))], 2)
    assert [entry.seq for entry in store.read(0)] == [1, 2, 3]
    store.close()


def test_entries_of_other_writers_are_returned_in_their_order(store, store_url):
    other = Store(store_url)
    [first] = append(other, [appending(decided(1))], 0).entries
    entries = append(store, [appending(decided(2))], 0).entries
    assert contents(entries) == [(decided(1), None), (decided(2), None)]
    assert contents(append(other, [appending(decided(3))], first.seq).entries) == [
        (decided(2), None),
        (decided(3), None),
    ]
    assert [(entry.writer, entry.n) for entry in store.read(0)] == [
        (other.head.writer, 1),
        (store.head.writer, 1),
        (other.head.writer, 2),
    ]
    other.close()


def test_rewards_come_with_their_decisions(store):
    made, rewarded, seen = decided(1), Rewarded(decided(1).id, 5.0, 0.25), []
    keys = [decision_key(made.id), reward_key(made.id)]
    appended = append(store, [appending(made), Looking(seen=seen, events=(rewarded,), depends_on=keys)], 0)
    assert seen == [{made.key: made}], "earlier events of the same batch are seen"
    assert contents(appended.entries) == [(made, None), (rewarded, made)]
    assert contents(store.read(0)) == [(made, None), (rewarded, made)]
    append(store, [Looking(seen=seen, depends_on=keys)], store.last_seq())
    assert seen[1] == {made.key: made, rewarded.key: rewarded}


def test_a_request_sees_only_the_events_that_it_depends_on(store):
    """An arm is changed in the same batch as decisions and rewards, which do not change this arm."""
    append(store, [appending(decided(1))], 0)
    seen = []
    reward = Rewarded(decided(1).id, 5.0, 1.0)
    rewarding = Looking(seen=[], events=(reward,), depends_on=[decided(1).key])
    append(store, [appending(decided(2)), rewarding, Looking(seen=seen, depends_on=["a:2:chess"])], 0)
    assert seen == [{}]


def test_events_are_not_appended_if_one_that_they_depend_on_exists(store):
    first = AppendEvents(events=[decided(1)], depends_on=[decided(1).key], reply=b"first")
    second = AppendEvents(events=[decided(1)], depends_on=[decided(1).key], reply=b"second")
    appended = append(store, [first, second], 0)
    assert appended.outcomes[0] == b"first"
    assert appended.outcomes[1].reason is RefusalReason.CONFLICT
    assert count(store) == 1


def test_a_repeated_request_has_one_effect_and_one_reply(store):
    one = appending(decided(1), idempotency=KEY, reply=b"one")
    again = appending(decided(2), idempotency=KEY, reply=b"two")
    later = appending(decided(3), idempotency=KEY, reply=b"three")
    assert append(store, [one, again], 0).outcomes == [b"one", b"one"]
    assert append(store, [later], 0).outcomes == [b"one"]
    assert count(store) == 1


def test_an_idempotency_key_of_another_request_is_refused(store):
    other = appending(decided(2), idempotency=IdempotencyKey("key", "other"))
    _, outcome = append(store, [appending(decided(1), idempotency=KEY), other], 0).outcomes
    assert outcome.reason is RefusalReason.IDEMPOTENCY_KEY_REUSED
    assert count(store) == 1


def test_refusals_are_not_stored(store):
    refusal = Refusal(RefusalReason.UNKNOWN_ARM, "")
    assert append(store, [RefusedRequest(refusal=refusal, idempotency=KEY)], 0).outcomes == [refusal]
    assert append(store, [appending(decided(1), idempotency=KEY)], 0).outcomes == [b"done"]
    assert append(store, [RefusedRequest(refusal=refusal, idempotency=KEY)], 0).outcomes == [b"done"]


def test_replies_are_dropped_in_time(store):
    append(store, [appending(decided(1), idempotency=KEY)], 0)
    store.drop_replies(before=1.0)
    again = appending(decided(2), idempotency=KEY, reply=b"two")
    assert append(store, [again], 0).outcomes == [b"done"]
    assert store.drop_replies(before=1e11) == 1
    assert append(store, [again], 0).outcomes == [b"two"]


def test_replies_are_dropped_a_few_at_a_time(store):
    for number in range(3):
        append(store, [appending(decided(number), idempotency=IdempotencyKey(str(number), "digest"))], 0)
    assert [store.drop_replies(before=1e11, limit=2) for _ in range(3)] == [2, 1, 0]


def test_a_batch_is_appended_whole_or_not_at_all(store):
    with pytest.raises(StoreDownError):
        append(store, [appending(decided(1)), appending(decided(1))], 0)
    assert count(store) == 0
    append(store, [appending(decided(1))], 0)
    assert count(store) == 1


def test_a_bug_in_one_request_leaves_nothing_behind(store):
    with pytest.raises(ZeroDivisionError):
        append(store, [appending(decided(1)), Failing()], 0)
    assert count(store) == 0


def test_more_entries_than_fit_into_a_statement(store):
    append(store, [appending(*(decided(number) for number in range(1200)))], 0)
    assert [entry.event.id for entry in store.read(0)] == [decided(number).id for number in range(1200)]
    assert len(store.read(0, limit=7)) == 7


def test_a_log_that_became_shorter_is_noticed(store):
    append(store, [appending(decided(1))], 0)
    last = store.last_seq()
    message = f"the log ends at entry {last}, but it was read up to entry {last + 5}"
    with pytest.raises(LogLostError, match=message):
        append(store, [appending(decided(2))], last + 5)
    assert count(store) == 1


def test_errors_do_not_repeat_the_values_of_a_statement(store):
    with pytest.raises(StoreDownError) as error:
        append(store, [appending(decided(1, features={"secret": 7})), appending(decided(1))], 0)
    assert "secret" not in f"{error.value} {error.value.__cause__}"


def test_all_kinds_of_events_are_read_back(store):
    events = [
        ArmAdded("ä/'; DROP TABLE events;--", 1, 1.5, {"hours": 0.1}, {"language": None}),
        ArmRetired("ä/'; DROP TABLE events;--", 2, 2.5),
        decided(1, propensity=None, slate=True),
        Rewarded(decided(1).id, 1e9 / 3, [0.1, None]),
    ]
    append(store, [appending(*events)], 0)
    assert [entry.event for entry in store.read(0)] == events
