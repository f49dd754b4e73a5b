"""The log in SQLite and in PostgreSQL."""

import hashlib

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from fairbandits.service.http.problems import RefusedError
from fairbandits.service.log import Answer, LogLostError, Settled, Store, StoreDownError, Write, migrations
from fairbandits.service.log.appender import append
from fairbandits.service.log.events import ArmAdded, ArmRetired, Decided, Entry, Rewarded, decision_key, reward_key
from fairbandits.service.log.tables import metadata


@pytest.fixture
def store(store_url):
    store = Store(store_url)
    store.open("columns")
    yield store
    store.close()


def decided(number, **changed):
    plain = {
        "id": f"{number:032x}",
        "time": 0.1 + number,
        "at": 0,
        "features": {"age": 1 / 3},
        "groups": {"sex": "f"},
        "picked": ["a"],
        "slate": False,
        "offered": 2,
        "propensity": 0.5,
        "explored": False,
        "scores": [{"mean": 0.1, "width": 0.2, "exploration": 0.3, "fairness": 0.0, "total": 0.4}],
        "contexts": [[[0, 2], [1 / 3, 1.0], 1]],
        "width": 3,
    }
    return Decided(**plain | changed)


def writing(*events, once=None, answer=b"done"):
    settled = Settled(events, Answer(200, answer))
    return Write(lambda _: settled, once=once)


def test_entries_are_numbered_without_gaps_in_the_order_of_commits(store):
    first, second, third = decided(1), decided(2), decided(3)
    assert append(store, [writing(first), writing(second)], 0) == [Entry(1, first), Entry(2, second)]
    assert append(store, [writing(third)], 2) == [Entry(3, third)]
    assert store.read(0) == [Entry(1, first), Entry(2, second), Entry(3, third)]
    assert store.read(1, upto=2) == [Entry(2, second)]
    assert store.last_seq() == 3


def test_who_appends_gets_what_others_appended_first(store, store_url):
    other = Store(store_url)
    append(other, [writing(decided(1))], 0)
    assert append(store, [writing(decided(2))], 0) == [Entry(1, decided(1)), Entry(2, decided(2))]
    assert append(other, [writing(decided(3))], 1) == [Entry(2, decided(2)), Entry(3, decided(3))]
    other.close()


def test_rewards_come_with_their_decisions(store):
    made, rewarded = decided(1), Rewarded(decided(1).id, 5.0, 0.25)
    settled = Settled([rewarded], Answer(200, b""))
    seen = []

    def settle(found):
        seen.append(dict(found))
        return settled

    wanted = [decision_key(made.id), reward_key(made.id)]
    entries = append(store, [writing(made), Write(settle, wanted)], 0)
    assert seen == [{made.key: made}], "what came before in the same batch is seen"
    assert entries[1] == Entry(2, rewarded, made)
    assert store.read(1) == [Entry(2, rewarded, made)]
    append(store, [Write(lambda found: seen.append(dict(found)) or Settled([], None), wanted)], 2)
    assert seen[1] == {made.key: made, rewarded.key: rewarded}


def test_a_request_sees_nothing_but_what_it_asked_for(store):
    """An arm is changed in the midst of decisions and rewards, which are no changes of this arm."""
    append(store, [writing(decided(1))], 0)
    seen = []
    rewarding = Write(lambda _: Settled([Rewarded(decided(1).id, 5.0, 1.0)], None), [decided(1).key])
    changing = Write(lambda found: seen.append(dict(found)) or Settled((), None), ["a:2:chess"])
    append(store, [writing(decided(2)), rewarding, changing], 1)
    assert seen == [{}]


def test_the_same_request_twice_has_one_effect_and_one_answer(store):
    one = writing(decided(1), once=("key", "digest"), answer=b"one")
    again = writing(decided(2), once=("key", "digest"), answer=b"two")
    at_once = writing(decided(3), once=("key", "digest"), answer=b"three")
    append(store, [one, again], 0)
    append(store, [at_once], 1)
    assert [write.answer for write in (one, again, at_once)] == [Answer(200, b"one")] * 3
    assert store.last_seq() == 1


def test_an_idempotency_key_of_another_request_is_refused(store):
    other = writing(decided(2), once=("key", "other"))
    append(store, [writing(decided(1), once=("key", "digest")), other], 0)
    assert isinstance(other.answer, RefusedError)
    assert other.answer.status == 422
    assert store.last_seq() == 1


def test_refusals_are_not_kept(store):
    refused = Write(lambda _: Settled((), RefusedError(404, "", "")), once=("key", "digest"))
    later = writing(decided(1), once=("key", "digest"))
    append(store, [refused], 0)
    append(store, [later], 0)
    assert later.answer == Answer(200, b"done")


def test_answers_are_dropped_in_time(store):
    append(store, [writing(decided(1), once=("key", "digest"))], 0)
    store.drop_answers(before=1.0)
    again = writing(decided(2), once=("key", "digest"), answer=b"two")
    append(store, [again], 1)
    assert again.answer == Answer(200, b"done")
    store.drop_answers(before=1e11)
    append(store, [again := writing(decided(2), once=("key", "digest"), answer=b"two")], 1)
    assert again.answer == Answer(200, b"two")


def test_a_batch_is_there_whole_or_not_at_all(store):
    with pytest.raises(StoreDownError):
        append(store, [writing(decided(1)), writing(decided(1))], 0)
    assert store.last_seq() == 0
    append(store, [writing(decided(1))], 0)
    assert store.last_seq() == 1


def test_a_bug_in_one_request_leaves_nothing_behind(store):
    with pytest.raises(ZeroDivisionError):
        append(store, [writing(decided(1)), Write(lambda _: 1 / 0)], 0)
    assert store.last_seq() == 0


def test_more_entries_than_fit_into_a_statement(store):
    append(store, [writing(*(decided(number) for number in range(1200)))], 0)
    assert [entry.event.id for entry in store.read(0)] == [decided(number).id for number in range(1200)]
    assert len(store.read(0, limit=7)) == 7


def test_a_log_that_became_shorter_is_noticed(store):
    append(store, [writing(decided(1))], 0)
    with pytest.raises(LogLostError, match="the log ends at entry 1, but 5 entries were read"):
        append(store, [writing(decided(2))], 5)
    assert store.last_seq() == 1


def test_errors_do_not_tell_what_was_to_be_written(store):
    with pytest.raises(StoreDownError) as error:
        append(store, [writing(decided(1, features={"secret": 7})), writing(decided(1))], 0)
    assert "secret" not in f"{error.value} {error.value.__cause__}"


def test_all_kinds_of_events_come_back(store):
    events = [
        ArmAdded("ä/'; DROP TABLE events;--", 1, 1.5, {"hours": 0.1}, {"language": None}),
        ArmRetired("ä/'; DROP TABLE events;--", 2, 2.5),
        decided(1, propensity=None, slate=True),
        Rewarded(decided(1).id, 1e9 / 3, [0.1, None]),
    ]
    append(store, [writing(*events)], 0)
    assert [entry.event for entry in store.read(0)] == events


def test_snapshots(store):
    assert list(store.read_snapshots(print)) == []
    assert store.last_snapshot_seq() == 0
    for seq in (10, 20, 30):
        store.save_snapshot(seq, {"one": b"1" * seq, "two": b""})
    store.save_snapshot(30, {"one": b"another worker's", "two": b""})
    assert store.last_snapshot_seq() == 30
    assert list(store.read_snapshots(print)) == [
        (30, {"one": b"1" * 30, "two": b""}),
        (20, {"one": b"1" * 20, "two": b""}),
    ]


def test_a_damaged_snapshot_is_noted_and_left_out(store):
    store.save_snapshot(10, {"one": b"good"})
    store.save_snapshot(20, {"one": b"better"})
    with store.transaction() as connection:
        connection.execute(text("UPDATE snapshots SET body = :body WHERE seq = 20"), {"body": b"bettor"})
    noted = []
    assert list(store.read_snapshots(noted.append)) == [(10, {"one": b"good"})]
    assert noted == ["the snapshot at 20 is damaged; reading more of the log instead"]


def test_a_log_that_means_something_else_is_refused(store, store_url):
    other = Store(store_url)
    with pytest.raises(ValueError, match="other features, columns or range of rewards"):
        other.open("other columns")
    other.open("columns")
    other.close()


def test_migrations_make_the_tables_that_are_used(store):
    with store.connection() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_the_last_migration_is_the_one_that_is_looked_for():
    assert ScriptDirectory(migrations.__path__[0]).get_current_head() == migrations.HEAD


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite://", "a log in memory is lost"),
        ("mysql://localhost/log", "the store is sqlite:///FILE or postgresql://"),
        ("nonsense", "got no URL of a database"),
        ("postgresql://host:port/", "got no URL of a database"),
    ],
)
def test_other_databases_are_refused(url, message):
    with pytest.raises(ValueError, match=message):
        Store(url)


def test_sqlite_waits_for_the_disk(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    with store.connection() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2
    store.close()


def test_postgresql_waits_for_the_disk(postgres):
    store = Store(postgres.new_database())
    with store.connection() as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar() == "on"
    store.close()


def test_passwords_are_not_in_errors(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.engine.url = store.engine.url.set(password="secret")  # noqa: S106
    store.open("columns")
    with pytest.raises(ValueError, match="holds the log") as error:
        store.open("other")
    assert "secret" not in str(error.value)
    store.close()


def test_the_checksum_of_a_snapshot_is_its_own(store):
    store.save_snapshot(1, {"one": b"body"})
    with store.connection() as connection:
        assert (
            connection.execute(text("SELECT sha256 FROM snapshots")).scalar()
            == hashlib.sha256(b"body").hexdigest()
        )


def test_a_database_that_takes_its_time_to_let_us_in(postgres):
    store = Store(postgres.new_database())
    with postgres.asleep(4.0):
        store.open("columns")
    store.close()
