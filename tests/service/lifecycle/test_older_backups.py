"""Backups of earlier releases."""

import hashlib
import json
import sqlite3
from contextlib import closing

from fairbandits.service.lifecycle.backup import back_up
from fairbandits.service.lifecycle.restore import restore
from tests.service.lifecycle.services import checksum, fill, opened
from tests.service.small import small_config


def test_a_backup_of_an_earlier_release_is_migrated(store_url, tmp_path):
    """One whose entries have no digests yet."""
    path = tmp_path / "log.backup"
    with opened(f"sqlite:///{tmp_path}/source.db") as engine:
        fill(engine, 10)
        back_up(engine.config, path)
        expected = engine.follower.seq, checksum(engine)
    as_version_2(path)
    config = small_config(store={"url": store_url})
    assert restore(path, config).manifest.entries == expected[0]
    with opened(store_url) as engine:
        assert (engine.follower.seq, checksum(engine)) == expected


def as_version_2(path):
    """Turn a backup into one with the tables of version 0002, and its manifest."""
    added = {"events": ("writer", "n", "salt", "digest", "chain"), "keys": ("used", "old_digest", "old_until")}
    with closing(sqlite3.connect(path)) as connection:
        for name, columns in added.items():
            for column in columns:
                connection.execute(f"ALTER TABLE {name} DROP COLUMN {column}")
        connection.execute("DELETE FROM facts WHERE name = 'offset'")
        connection.execute("UPDATE alembic_version SET version_num = '0002'")
        plain = json.loads(connection.execute("SELECT manifest FROM backup").fetchone()[0])
        for name, table in plain["tables"].items():
            table["columns"] = [column for column in table["columns"] if column not in added.get(name, ())]
            rows = connection.execute(f"SELECT {', '.join(table['columns'])} FROM {name}").fetchall()  # noqa: S608
            total = sum(int.from_bytes(hashlib.sha256(repr(row).encode()).digest()) for row in rows)
            table |= {"rows": len(rows), "checksum": f"{total % (1 << 256):064x}"}
            plain["tables"][name] = table
        text = json.dumps(plain)
        connection.execute(
            "UPDATE backup SET manifest = ?, sha256 = ?", (text, hashlib.sha256(text.encode()).hexdigest())
        )
        connection.commit()
