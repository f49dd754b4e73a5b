"""The order of entries in PostgreSQL, where writers do not wait for each other.

A transaction numbers its entries by its own id: `seq = offset + (id << 20) + place`. Ids increase, but
transactions may commit in any order. An entry is therefore *settled*, and may be read, only once every transaction
with a lower id has ended, because from then on no earlier entry can appear. An append reads all entries on which
it depends before its id is assigned, so a reward comes after its decision.

SQLite has one writer at a time, which numbers the entries without gaps. All of them are settled.
"""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from fairbandits.service.log.tables import facts

_PLACE_BITS = 20
#: The largest number of entries that one transaction can append.
MAX_ENTRIES = (1 << _PLACE_BITS) - 1

_OFFSET = "offset"
_OFFSET_SQL = f"(SELECT value::bigint FROM facts WHERE name = '{_OFFSET}')"  # noqa: S608
_LOWEST_RUNNING = f"(pg_snapshot_xmin(pg_current_snapshot())::text::bigint << {_PLACE_BITS})"

#: SQL for the number before the first entry of this transaction.
BASE_SQL = f"{_OFFSET_SQL} + (pg_current_xact_id()::text::bigint << {_PLACE_BITS})"
#: SQL for the number below which all entries are settled, if the entries are read by the same statement.
SETTLED_SQL = f"{_OFFSET_SQL} + {_LOWEST_RUNNING}"

#: SQL for whether all transactions with lower ids had ended when this statement began.
IS_NEXT_SQL = "pg_snapshot_xmin(pg_current_snapshot()) = pg_current_xact_id()"


def raise_offset(connection: Connection) -> None:
    """Make new entries come after all existing ones, in a database whose transaction ids are lower.

    The log may have been copied from another cluster, whose transaction ids were higher.
    """
    last, lowest = connection.exec_driver_sql(f"SELECT max(seq), {_LOWEST_RUNNING} FROM events").one()  # noqa: S608
    offset = int(connection.execute(select(facts.c.value).where(facts.c.name == _OFFSET)).scalar_one())
    if last is not None and offset + lowest <= last:
        connection.execute(update(facts).where(facts.c.name == _OFFSET).values(value=str(last + 1 - lowest)))
