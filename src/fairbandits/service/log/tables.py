"""The tables, as `migrations/` creates them; a test compares the two."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, Index, Integer, LargeBinary, MetaData, Table, Text

metadata = MetaData()

#: The log. `seq` is the order, `key` is unique to an event (see `Event.key`), and `body` is the event as JSON.
#: `writer` is the process that appended the entry, and `n` is the number of the entry among those of its writer,
#: counted from 1 without gaps; `digests.py` explains the rest. `body` and `salt` are NULL once the content has
#: been deleted.
events = Table(
    "events",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("time", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False, unique=True),
    Column("body", Text),
    Column("writer", Text, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("salt", LargeBinary),
    Column("digest", LargeBinary, nullable=False),
    Column("chain", LargeBinary, nullable=False),
)

#: The replies to requests that had an idempotency key.
answers = Table(
    "answers",
    metadata,
    Column("key", Text, primary_key=True),
    Column("time", Double, nullable=False),
    Column("digest", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("answers_time", "time"),
)

#: The state after entry `seq`, by part; for entry 0, the recommender that the log starts with, if there is one.
#: The checksum of each part shows whether the part is damaged.
snapshots = Table(
    "snapshots",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("part", Text, primary_key=True),
    Column("time", Double, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

#: Facts about the whole log, such as the features and the reward range with which it was written.
facts = Table(
    "facts",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

#: API keys, and sessions of the page, which have a parent. `digest` is the SHA-256 hash of the secret, and
#: `old_digest` that of the previous secret. `scopes` are separated by commas. `used` is the time of the last use,
#: to the hour.
keys = Table(
    "keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("expires", Double),
    Column("revoked", Double),
    Column("parent", Text),
    Column("used", Double),
    Column("old_digest", Text),
    Column("old_until", Double),
)
