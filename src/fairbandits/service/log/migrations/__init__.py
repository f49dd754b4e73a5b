"""Migrations of the tables, run by alembic."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

#: The newest migration; a test compares it with what alembic finds.
HEAD = "0004"


def upgrade(connection: Connection) -> None:
    """Migrate the tables to the newest version, within the caller's transaction."""
    current = _current(connection)
    if current == HEAD:
        return  # avoids importing alembic, which takes longer than the rest of the start
    if current is not None and current > HEAD:
        raise ValueError(
            f"the store was written by a later release of fairbandits (its tables are at version {current}, this "
            f"release knows {HEAD}); update fairbandits, or configure another store"
        )
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def is_newest(connection: Connection) -> bool:
    """Return whether the tables exist, in the newest version."""
    return _current(connection) == HEAD


def are_there(connection: Connection) -> bool:
    """Return whether the tables exist, in any version."""
    return _current(connection) is not None


def _current(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)
