"""Logs in databases: queries through SQLAlchemy, or of a DuckDB file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairbandits.extras import install_hint
from fairbandits.logs.errors import LogError
from fairbandits.logs.formats import DataFile, data_file
from fairbandits.logs.spooling import Spool, check_has_rows, spool_columns

# The number of rows fetched at a time: each row is a Python object until it is copied.
_ROWS = 20_000
_TABLE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def spool_sql(address: str, query: str | None) -> tuple[str, Spool, list[DataFile]]:
    """Copy the result of a query, which is fetched through a server-side cursor if the database supports it.

    Parameters
    ----------
    address : str
        A URL that SQLAlchemy understands.
    query : str
        A SELECT statement, or the name of a table.

    Returns
    -------
    name : str
        The name of the log, without user name and password.
    spool : Spool
        The temporary folder.
    files : list of DataFile
        The rows.
    """
    try:
        import sqlalchemy as sql  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError(f"databases need SQLAlchemy; {install_hint('sql')}") from None
    try:
        url = sql.make_url(address)
    except (sql.exc.ArgumentError, ValueError):
        raise LogError(
            "log must be a database address like postgresql+psycopg://user@host/database, "
            "got one that cannot be parsed"
        ) from None
    name = _shown(url)
    try:
        url.get_dialect()
    except sql.exc.NoSuchModuleError:
        raise LogError(f"{name}: SQLAlchemy has no dialect for this kind of database; check the address") from None
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise LogError(f"{name}: there is no such SQLite file")  # SQLite would create it
    statement = _as_statement(name, query)
    try:
        engine = sql.create_engine(url, poolclass=sql.NullPool)
        # Without parameters, the colons and percent signs of the statement have no meaning for Python.
        options = {"stream_results": True, "no_parameters": True}
        with engine.connect().execution_options(**options) as connection:
            result = connection.exec_driver_sql(statement)
            if not result.returns_rows:
                raise LogError(f"{name}: query must return rows, got a statement that returns none")
            spool, files = spool_columns(name, _blocks(name, result))
    except ModuleNotFoundError as error:
        raise LogError(
            f"{name}: the database driver {error.name!r} is not installed; install it with pip"
        ) from None
    except (sql.exc.SQLAlchemyError, OSError) as error:
        # Only the driver's own message is shown, because SQLAlchemy's repeats the statement and adds a link.
        raise LogError(
            f"{name}: query failed ({_without_secrets(url, getattr(error, 'orig', None) or error)})"
        ) from None
    check_has_rows(name, files)
    return name, spool, files


def spool_duckdb(path: Path, query: str | None) -> tuple[Spool, list[DataFile]]:
    """Copy the result of a query of a DuckDB file, which is opened read-only."""
    try:
        import duckdb  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError(f"DuckDB files need DuckDB; {install_hint('duckdb')}") from None
    name = str(path)
    with Spool() as spool:
        copy = spool.folder / "0.parquet"
        try:
            with duckdb.connect(name, read_only=True) as connection:
                statement = _as_statement(name, query)
                connection.sql(statement).write_parquet(str(copy))
        except duckdb.Error as error:
            raise LogError(f"{name}: query failed ({' '.join(str(error).split())})") from None
        except AttributeError:  # a statement without a result has no relation
            raise LogError(f"{name}: query must return rows, got a statement that returns none") from None
        file = data_file(copy, name=name)
        assert file is not None  # noqa: S101
        return spool, [file]


def _as_statement(name: str, query: str | None) -> str:
    if query is None or not query.strip():
        raise LogError(f"{name}: a database needs query=... (--query), a SELECT statement or the name of a table")
    statement = query.strip().rstrip(";")
    return f"SELECT * FROM {statement}" if _TABLE.fullmatch(statement) else statement  # noqa: S608 - a name


def _blocks(name: str, result: Any) -> Iterator[dict[str, list[Any]]]:
    columns = list(result.keys())
    if repeated := [column for column in columns if columns.count(column) > 1]:
        raise LogError(f"{name}: column {repeated[0]!r} appears more than once; rename one of them")
    for rows in result.partitions(_ROWS):
        yield dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))


def _shown(url: Any) -> str:
    """Return a database's address without user name, password and options, any of which may be secret."""
    shown = type(url).create(url.drivername, host=url.host, port=url.port, database=url.database)
    return str(shown.render_as_string())


def _without_secrets(url: Any, error: Any) -> str:
    message = " ".join(str(error).split())
    options = [
        value for values in url.query.values() for value in ([values] if isinstance(values, str) else values)
    ]
    for secret in filter(None, [url.password, *options]):
        message = message.replace(str(secret), "***")
    return message
