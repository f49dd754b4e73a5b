"""The order of entries in PostgreSQL, where writers do not wait for each other.

A transaction numbers its entries by its own id: `seq = offset + (id << 20) + place`. Ids increase, but
transactions commit in any order. So an entry is *settled*, and may be read, once every transaction of a lower id
has ended: no entry before it can appear any more. An append reads what it depends on before its id is assigned, so
a reward comes after its decision.

SQLite has one writer at a time, which numbers the entries without gaps. All of them are settled.
"""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from fairbandits.service.log.tables import facts

_PLACE_BITS = 20
#: The number of entries that one transaction can append.
MAX_ENTRIES = (1 << _PLACE_BITS) - 1

_OFFSET = "offset"
_OFFSET_SQL = f"(SELECT value::bigint FROM facts WHERE name = '{_OFFSET}')"  # noqa: S608
_LOWEST_RUNNING = f"(pg_snapshot_xmin(pg_current_snapshot())::text::bigint << {_PLACE_BITS})"

#: SQL for the number before the first entry of this transaction.
BASE_SQL = f"{_OFFSET_SQL} + (pg_current_xact_id()::text::bigint << {_PLACE_BITS})"
#: SQL for the number below which all entries are settled. Snapshot and rows are those of one statement.
SETTLED_SQL = f"{_OFFSET_SQL} + {_LOWEST_RUNNING}"

#: SQL for whether all transactions of lower ids had ended when this statement began.
IS_NEXT_SQL = "pg_snapshot_xmin(pg_current_snapshot()) = pg_current_xact_id()"


def raise_offset(connection: Connection) -> None:
    """Raise the offset if new entries would come before existing ones, because transaction ids are too low.

    The log may have been copied from another cluster, whose ids were higher.
    """
    last, lowest = connection.exec_driver_sql(f"SELECT max(seq), {_LOWEST_RUNNING} FROM events").one()  # noqa: S608
    offset = int(connection.execute(select(facts.c.value).where(facts.c.name == _OFFSET)).scalar_one())
    if last is not None and offset + lowest <= last:
        connection.execute(update(facts).where(facts.c.name == _OFFSET).values(value=str(last + 1 - lowest)))
