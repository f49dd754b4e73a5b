"""Store a digest with every entry, chain the entries of each writer, and allow content to be deleted."""

import sqlalchemy as sa
from alembic import op

from fairbandits.service.log.digests import chain_value, new_chain, new_salts, seal

revision = "0003"
down_revision = "0002"

_BATCH = 1000
# The writer of all entries that are older than digests.
_WRITER = "migrated"
_OLD = sa.table("events", *map(sa.column, ("seq", "time", "kind", "key", "body")))


def upgrade() -> None:
    """Create the new table of events, copy the old one to it, and replace it."""
    new = op.create_table(
        "events_new",
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False, unique=True),
        sa.Column("body", sa.Text),
        sa.Column("writer", sa.Text, nullable=False),
        sa.Column("n", sa.BigInteger, nullable=False),
        sa.Column("salt", sa.LargeBinary),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("chain", sa.LargeBinary, nullable=False),
    )
    _copy(op.get_bind(), new)
    op.drop_table("events")
    op.rename_table("events_new", "events")
    if op.get_bind().dialect.name == "postgresql":
        for name in ("pkey", "key_key"):
            op.execute(f"ALTER INDEX events_new_{name} RENAME TO events_{name}")
    # See `order.py`.
    op.execute("INSERT INTO facts (name, value) VALUES ('offset', '0')")


def _copy(connection: sa.Connection, new: sa.Table) -> None:
    head, after = new_chain(_WRITER), 0
    while True:
        query = sa.select(_OLD).where(_OLD.c.seq > after).order_by(_OLD.c.seq).limit(_BATCH)
        rows = connection.execute(query).mappings().all()
        if not rows:
            return
        copied = []
        for salt, row in zip(new_salts(len(rows)), rows, strict=True):
            sealed, head = seal(head, salt, row["kind"], row["key"], row["time"], row["body"])
            copied.append(
                {
                    **row,
                    "writer": head.writer,
                    "n": sealed.n,
                    "salt": sealed.salt,
                    "digest": sealed.digest,
                    "chain": chain_value(row["seq"], sealed.link),
                }
            )
        connection.execute(sa.insert(new), copied)
        after = rows[-1]["seq"]


def downgrade() -> None:
    """Drop the digests and chains; fails if any content was deleted."""
    with op.batch_alter_table("events") as batch:
        for column in ("writer", "n", "salt", "digest", "chain"):
            batch.drop_column(column)
        batch.alter_column("body", nullable=False)
    op.execute("DELETE FROM facts WHERE name = 'offset'")
