"""Every kind of source gives the same log; every source that cannot be read is refused in one line."""

import gc
import gzip
import io
import json
import os
import pickle
import sys

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from fairbandits.logs import Log, Roles
from fairbandits.logs.spooling import Spool
from tests.logs.helpers import VALID, csv, error_of, parquet, reading
from tests.logs.test_log import make, read

COLUMNS = make(600) | {"user_id": [f"u{i % 50}" for i in range(600)]}
EXPECTED = {name: COLUMNS[name] for name in ("arm", "reward", "propensity", "sex", "race", "time")}


def compressed(path, content):
    """Write bytes with the compression that the name of the file tells."""
    with pa.output_stream(str(path), compression="detect") as stream:
        stream.write(content)
    return path


def text(kind, columns=COLUMNS):
    """Return a log as the bytes of a text file."""
    frame = pd.DataFrame(columns)
    if kind == "jsonl":
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        return "".join(json.dumps(row, default=str) + "\n" for row in rows).encode()
    return frame.to_csv(index=False, sep="\t" if kind == "tsv" else ",").encode()


def sqlite(folder, columns=COLUMNS):
    url = f"sqlite:///{folder}/log.db"
    pd.DataFrame(columns).to_sql("decisions", sa.create_engine(url), index=False)
    return url


def duckdb_file(folder, columns=COLUMNS):
    path = folder / "log.duckdb"
    with duckdb.connect(str(path)) as connection:
        table = pa.table(columns)
        connection.register("given", table)
        connection.sql("CREATE TABLE decisions AS SELECT * FROM given")
    return path


def check(log, users=True):
    """Compare a log with the expected one, read as a whole and in parts."""
    found = read(log, rows=70)
    assert {name: found[name] for name in EXPECTED} == EXPECTED
    parts = [pickle.loads(pickle.dumps(part)) for part in log.split(3)]  # noqa: S301 - as for another process
    arms = [chunk.arm.labels[code] for part in parts for chunk in part.chunks() for code in chunk.arm.codes]
    assert arms == EXPECTED["arm"]
    assert next(parts[0].chunks()).first_row == 0
    if users:
        assert len({key for chunk in log.chunks() for key in chunk.user.tolist()}) == 50


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "ndjson"])
@pytest.mark.parametrize("block_size", [7000, 1 << 20])
def test_text_files(tmp_path, monkeypatch, kind, suffix, block_size):
    monkeypatch.setattr("fairbandits.logs.text_blocks.BLOCK_SIZE", block_size)
    path = tmp_path / f"log.{kind}{suffix}"
    content = text("jsonl" if kind == "ndjson" else kind)
    compressed(path, content) if suffix else path.write_bytes(content)
    log = Log.open(path)
    check(log)
    assert len(log.split(4)) == (1 if suffix or block_size > 7000 else 4)
    other = tmp_path / "log"
    path.rename(other)
    check(Log.open(other, format=f"{kind}{suffix}"))


@pytest.mark.parametrize("name", ["log.feather", "log.arrow"])
@pytest.mark.parametrize("compression", ["uncompressed", "zstd"])
def test_arrow_files(tmp_path, name, compression):
    pyarrow.feather.write_feather(pa.table(COLUMNS), tmp_path / name, compression=compression, chunksize=130)
    log = Log.open(tmp_path / name)
    check(log)
    assert len(log.split(3)) == 3
    assert log.fingerprint().rows == 600


def test_arrow_files_of_a_partitioned_dataset(tmp_path):
    for sex in ("f", "m"):
        (tmp_path / f"sex={sex}").mkdir()
        pyarrow.feather.write_feather(pa.table({"arm": [1], "reward": [1.0]}), tmp_path / f"sex={sex}/0.arrow")
    assert read(Log.open(tmp_path))["sex"] == ["f", "m"]
    assert list(Log.open(tmp_path, contexts="sex").encoder().features) == ["constant", "sex=f", "sex=m"]
    pyarrow.feather.write_feather(pa.table({"arm": [1]}), tmp_path / "sex=m/0.arrow")
    assert error_of(reading(tmp_path)).endswith("column 'reward' is missing, but other files of the log have it")


def write_parts(folder, kind):
    for i, start in enumerate(range(0, 600, 250)):
        part = {name: values[start : start + 250] for name, values in COLUMNS.items()}
        if kind == "parquet":
            pq.write_table(pa.table(part), folder / f"part-{i}.parquet")
        else:
            compressed(folder / f"part-{i}.{kind}", text(kind.split(".")[0], part))
    return sorted(folder.iterdir())


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl.gz", "parquet"])
def test_several_files_and_patterns(tmp_path, monkeypatch, kind):
    paths = write_parts(tmp_path, kind)
    (tmp_path / "_SUCCESS").touch()
    for source in (
        tmp_path,
        f"{tmp_path}/*",
        f"{tmp_path}/part-*",
        f"{tmp_path}/**/*.{kind}",
        paths,
        [str(p) for p in paths],
    ):
        log = Log.open(source)
        check(log)
        assert log.fingerprint() == Log.open(tmp_path).fingerprint()
    assert Log.open(paths).name == f"{paths[0]} and 2 more"
    monkeypatch.chdir(tmp_path)
    check(Log.open("part-?.*"))
    # A file whose name looks like a pattern is a file.
    paths[0].rename(tmp_path / f"[a].{kind}")
    assert sum(map(len, Log.open(f"[a].{kind}").chunks())) == 250


def test_files_of_several_compressions_are_one_log(tmp_path):
    (tmp_path / "1.csv").write_text("arm,reward\n1,1\n")
    compressed(tmp_path / "2.csv.gz", b"arm,reward\n02,0\n")
    compressed(tmp_path / "3.csv.zst", b"arm,reward\n")
    assert read(Log.open(tmp_path))["arm"] == ["1", "02"]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "csv.gz", "parquet"])
def test_the_standard_input(tmp_path, monkeypatch, kind):
    path = tmp_path / "log"
    if kind == "parquet":
        pq.write_table(pa.table(COLUMNS), path)
    else:
        path.write_bytes(text(kind.split(".")[0]))
    content = gzip.compress(path.read_bytes()) if kind == "csv.gz" else path.read_bytes()
    path.write_bytes(content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    log = Log.open("-", format=None if kind == "csv" else kind)
    assert log.name == "standard input"
    check(log)
    assert log.fingerprint().sha256 == Log.open(path, format=kind).fingerprint().sha256
    folder = log.spool.folder
    assert folder.stat().st_mode & 0o777 == 0o700
    part = log.split(2)[0]
    del log
    assert list(part.chunks())  # the copy lives as long as any part of the log
    del part
    assert not folder.exists()


def test_errors_name_the_standard_input(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for content, expected in (
        (b"arm,reward\na,good\n", "standard input, column 'reward', row 1: value must be a number, got 'good'; "),
        (b"", "standard input: file is empty; the first line must hold the column names"),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert error_of(reading("-")).startswith(expected)
    monkeypatch.setattr(sys, "stdin", None)
    assert error_of(reading("-")) == "standard input: is closed"
    gc.collect()  # a log that was opened is in the traceback of its error
    assert list(tmp_path.iterdir()) == [], "a copy that failed is deleted"


@pytest.mark.parametrize(
    "query", ["decisions", "SELECT * FROM decisions WHERE 1 = 1 AND '50%' <> ':x' ORDER BY id;"]
)
@pytest.mark.parametrize("database", ["sqlite", "duckdb", "postgres"])
def test_databases(request, tmp_path, monkeypatch, database, query):
    monkeypatch.setattr("fairbandits.logs.databases._ROWS", 130)
    if database == "postgres":
        source = request.getfixturevalue("postgres").new_database().replace("postgresql:", "postgresql+psycopg:")
        engine = sa.create_engine(source, poolclass=sa.NullPool)
        pd.DataFrame(COLUMNS).to_sql("decisions", engine, index=False)
    else:
        source = sqlite(tmp_path) if database == "sqlite" else duckdb_file(tmp_path)
    log = Log.open(source, query=query)
    check(log)
    assert log.fingerprint() == Log.open(source, query=query).fingerprint()
    folder = log.spool.folder
    assert folder.exists()
    del log
    assert not folder.exists()


def test_a_cursor_of_postgres_streams(postgres, monkeypatch):
    """The server sends the rows as they are asked for: the query below would take hours to finish."""
    monkeypatch.setattr("fairbandits.logs.databases._ROWS", 100)
    url = postgres.new_database().replace("postgresql:", "postgresql+psycopg:")
    many = (
        "SELECT 'a' AS arm, CASE WHEN i < 1000 THEN 1 ELSE 1/0 END AS reward FROM generate_series(1, 2000000000) i"
    )
    message = error_of(reading(url, query=many))
    assert message.endswith("query failed (division by zero)")


def test_types_of_databases(postgres):
    url = postgres.new_database().replace("postgresql:", "postgresql+psycopg:")
    query = """
        SELECT i AS decision, gen_random_uuid() AS user_id, 'a' AS arm,
            CASE WHEN i > 2 THEN 1.5::numeric END AS reward,
            i % 2 = 0 AS "group", now() AS time, '{"x": 1}'::jsonb AS more FROM generate_series(1, 4) i ORDER BY i
    """
    log = Log.open(url, query=query)
    [chunk] = log.chunks()
    assert len(set(chunk.user.tolist())) == 4
    assert chunk.reward[2:].tolist() == [1.5, 1.5]
    assert chunk.group["group"].labels == ["false", "true"]
    assert chunk.time.dtype == "datetime64[us]"


def test_types_that_change_within_a_table(tmp_path, monkeypatch):
    monkeypatch.setattr("fairbandits.logs.databases._ROWS", 2)
    columns = {"arm": list("abcdef"), "reward": [None, None, 1, 0, None, None], "group": ["x"] * 4 + [None, None]}
    url = sqlite(tmp_path, columns | {"reward": pd.array([None, None, 1, 0, None, None], "Int64")})
    found = read(Log.open(url, query="decisions"))
    assert found == columns
    with sa.create_engine(url).begin() as connection:
        connection.exec_driver_sql("UPDATE decisions SET reward = 'high' WHERE arm = 'c'")
    message = error_of(reading(url, query="decisions"))
    assert "log.db, column 'reward', row 1: value must be a number, got '" in message


def test_uuids_of_duckdb(tmp_path):
    path = tmp_path / "log.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.sql("CREATE TABLE t AS SELECT uuid() AS user_id, 'a' AS arm, 1.0 AS reward FROM range(5)")
    [chunk] = Log.open(path, query="t").chunks()
    assert len(set(chunk.user.tolist()) - {0}) == 5


SECRET = "hunter2"  # noqa: S105


@pytest.mark.parametrize(
    ("address", "query", "expected"),
    [
        (
            f"postgresql+psycopg://me:{SECRET}@127.0.0.1:1/db",
            "t",
            "postgresql+psycopg://127.0.0.1:1/db: query failed (",
        ),
        (
            f"postgresql+psycopg://127.0.0.1:1/db?password={SECRET}&user=me",
            "t",
            "postgresql+psycopg://127.0.0.1:1/db: query failed (",
        ),
        (
            f"postgresql+psycopg://me:{SECRET}@h/db",
            None,
            "postgresql+psycopg://h/db: a database needs query=... (--query)",
        ),
        (f"nosuch://me:{SECRET}@h/db", "t", "nosuch://h/db: SQLAlchemy has no dialect for this kind of database"),
        (
            f"mysql+pymysql://me:{SECRET}@h/db",
            "t",
            "mysql+pymysql://h/db: the database driver 'pymysql' is not installed",
        ),
        (f"postgresql://me:{SECRET}@h:port/db", "t", "log must be a database address like "),
        ("sqlite:///none.db", "t", "sqlite:///none.db: there is no such SQLite file"),
    ],
)
def test_addresses_that_do_not_work(tmp_path, monkeypatch, address, query, expected):
    monkeypatch.chdir(tmp_path)
    message = error_of(reading(address, query=query))
    assert message.startswith(expected)
    assert SECRET not in message
    assert list(tmp_path.iterdir()) == []


def test_queries_that_do_not_work(tmp_path, monkeypatch):
    url, path = sqlite(tmp_path), duckdb_file(tmp_path)
    for source, name in ((url, url), (path, str(path))):
        assert error_of(reading(source, query="nothing")).startswith(f"{name}: query failed (")
        assert error_of(reading(source, query=" ")).startswith(f"{name}: a database needs query=... (--query)")
        empty = error_of(reading(source, query="SELECT * FROM decisions WHERE arm = 'none'"))
        assert empty.endswith("has no rows; a log has one row per decision") or "returned no rows" in empty
    assert "appears more than once" in error_of(reading(url, query="SELECT arm, arm FROM decisions"))
    assert "must return rows" in error_of(reading(url, query="DELETE FROM decisions"))
    assert "failed" in error_of(reading(path, query="DELETE FROM decisions"))
    check(Log.open(url, query="decisions"))  # nothing was deleted
    path.write_bytes(b"nothing of the kind" * 1000)
    assert error_of(reading(path, query="t")).startswith(f"{path}: query failed (")
    assert error_of(reading(tmp_path / "none.duckdb", query="t")).endswith("there is no such file or folder")
    log = csv(tmp_path, VALID)
    assert error_of(reading(log, query="t")) == f"{log}: query must be given only for a database"
    for module, extra in (("duckdb", "duckdb"), ("sqlalchemy", "sql")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=rf"pip install 'fairbandits\[{extra}\]'"):
            Log.open(path if extra == "duckdb" else url, query="t")


@pytest.mark.parametrize(
    ("source", "command"),
    [
        ("s3://bucket/log.parquet", "aws s3 cp s3://bucket/log.parquet ."),
        ("s3a://bucket/*.csv", "aws s3 cp s3a://bucket/*.csv ."),
        ("gs://bucket/log", "gcloud storage cp gs://bucket/log ."),
        ("az://box/log.csv", "az storage blob download --blob-url az://box/log.csv ."),
        ("abfss://box@account/log.csv", "azcopy copy abfss://account/log.csv ."),
        ("https://me:hunter2@host/log.csv?signature=hunter2", "curl -O https://host/log.csv"),
    ],
)
def test_object_stores_are_refused(source, command):
    address = command.split()[-2 if command.endswith(" .") else -1]
    expected = (
        f"{address}: files on object stores and web servers cannot be read directly; copy it first: {command}"
    )
    assert error_of(reading(source)) == expected
    assert error_of(reading([source, source])) == expected


@pytest.mark.parametrize(
    ("marker", "name"), [("_delta_log/0.json", "Delta"), ("metadata/v1.metadata.json", "Iceberg")]
)
def test_tables_with_deleted_rows_are_refused(tmp_path, marker, name):
    table = tmp_path / "lake" / "table"
    (table / "data" / "sex=f").mkdir(parents=True)
    file = parquet(table / "data" / "sex=f", VALID)
    (table / marker).parent.mkdir()
    (table / marker).write_text("{}")
    low = name.lower()
    for source in (table, table / "data", file, f"{table}/data/*/*.parquet", [file, file], tmp_path):
        message = error_of(reading(source))
        assert (
            f": part of a {name} table, whose files may contain deleted rows; export its current rows first: "
            in message
        )
        assert message.endswith(
            f"duckdb -c \"INSTALL {low}; LOAD {low}; COPY (FROM {low}_scan('{table}')) TO 'log.parquet'\""
        )


def test_paths_that_are_refused(tmp_path):
    first, folder = csv(tmp_path, VALID), tmp_path / "folder"
    folder.mkdir()
    assert error_of(reading([first, folder])) == (
        f"{folder}: several paths must all be files, got a folder; use a pattern: '{folder}/*'"
    )
    assert error_of(reading([first, str(first)])).endswith(
        "file is given more than once, so its rows would be counted more than once"
    )
    assert error_of(reading(f"{tmp_path}/*.parquet")) == f"{tmp_path}/*.parquet: no file matches this pattern"
    assert error_of(reading([first, tmp_path / "none.csv"])).endswith("none.csv: there is no such file or folder")
    second = parquet(tmp_path, VALID)
    assert error_of(reading([first, second])) == (
        f"{first} and 1 more: contains CSV and Parquet files; keep all files of a log in one format"
    )
    for other in ("-", "postgresql+psycopg://me:hunter2@host/db"):
        assert error_of(reading([first, other])) == (
            "several sources must all be files, got a database or standard input among them"
        )
    assert error_of(reading(first, format="xlsx")) == (
        "format must be a suffix such as csv, tsv, jsonl.gz or parquet, got 'xlsx'"
    )


def damaged_files(folder):
    """Write files that are not what their names say, each with the start of its error."""
    whole = text("csv")
    yield compressed(folder / "cut.csv.gz", whole), 0.5, "cannot be read (Truncated compressed stream)"
    yield compressed(folder / "cut.csv.zst", whole), 0.5, "cannot be read ("
    for name in ("junk.csv.gz", "junk.jsonl.zst"):
        (folder / name).write_bytes(b"nothing of the kind")
        yield folder / name, 1.0, "cannot be read ("
    pyarrow.feather.write_feather(pa.table(COLUMNS), folder / "cut.feather")
    yield folder / "cut.feather", 0.5, "not an Arrow IPC (Feather) file, or truncated or damaged ("
    (folder / "junk.arrow").write_bytes(b"")
    yield folder / "junk.arrow", 1.0, "not an Arrow IPC (Feather) file, or truncated or damaged ("


def test_damaged_files(tmp_path):
    for path, share, expected in damaged_files(tmp_path):
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])
        assert error_of(reading(path)).startswith(f"{path}: {expected}")
    if os.getuid():
        path = csv(tmp_path, VALID)
        path.chmod(0)
        assert error_of(reading(path)) == f"{path}: cannot be read (Permission denied)"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('{"arm": "a", "reward": 1}\n{"arm": "a", "rew', ", row 2: row must be a JSON object, got "),
        ('{"arm": "a", "reward": 1}\n\n[1, 2]\n', ", row 2: row must be a JSON object, got '[1, 2]'"),
        ("\n", ": file is empty; every line must hold a JSON object"),
        ("\xe9", ", row 1: row must be a JSON object, got "),
        (
            '{"arm": "a", "reward": 1}\n' * 1500 + '{"arm": "a", "reward": "x"}\n',
            ", column 'reward', row 1,501: value must be a number as in the rest of the log, got 'x'",
        ),
        (
            '{"arm": 1, "reward": 1}\n' * 1500 + '{"arm": "a", "reward": 1}\n',
            ", column 'arm', row 1,501: value must be an integer as in the rest of the log, got 'a'",
        ),
        (
            '{"arm": "1", "reward": 1}\n' * 1500 + '{"arm": 1, "reward": 1}\n',
            ", column 'arm', row 1,501: value must be text as in the rest of the log, got 1",
        ),
        (
            '{"arm": "1", "reward": 1, "sex": true}\n' * 1500 + '{"arm": "1", "reward": 1, "sex": 1}\n',
            ", column 'sex', row 1,501: value must be true or false as in the rest of the log, got 1",
        ),
    ],
)
def test_invalid_json_lines(tmp_path, monkeypatch, lines, expected):
    monkeypatch.setattr("fairbandits.logs.text_blocks.BLOCK_SIZE", 50_000)
    path = tmp_path / "log.jsonl"
    path.write_text(lines)
    assert error_of(reading(path)).startswith(f"{path}{expected}")


def test_json_lines_with_missing_keys_and_other_files(tmp_path):
    (tmp_path / "1.jsonl").write_text('{"arm": "a", "reward": 1, "user": 7, "more": {"x": [1]}}\n{"arm": "001"}\n')
    (tmp_path / "2.jsonl").write_text('{"reward": 0, "arm": "b", "user": "7", "sex": "?"}\n')
    (tmp_path / "3.jsonl").write_text('{"reward": 0.5, "arm": "NA"}\n')
    log = Log.open(tmp_path)
    assert read(log) == {"arm": ["a", "001", "b", "NA"], "reward": [1.0, None, 0.0, 0.5]}
    keys = [key for chunk in log.chunks() for key in chunk.user.tolist()]
    assert keys[0] == keys[2] != 0
    assert keys[1] == keys[3] == 0
    assert "arm must not be empty" in error_of(reading(tmp_path, na=["NA"]))
    message = error_of(reading(tmp_path, groups="more"))
    assert "column 'more', row 1: labels must be text or integers, got struct" in message


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "feather", "frame", "categories"])
def test_tokens_of_missing_values(tmp_path, kind):
    columns = {
        "arm": ["a", "b", "?b"],
        "reward": [1.0, 0.5, 0.0],
        "sex": ["NA", "f", "?"],
        "user": ["NA", "1", "2"],
    }
    source = tmp_path / f"log.{kind}"
    table = pa.table(columns)
    if kind in ("csv", "jsonl"):
        source.write_bytes(text(kind, columns))
    elif kind == "parquet":
        pq.write_table(table, source)
    elif kind == "feather":
        pyarrow.feather.write_feather(table, source)
    else:
        source = table if kind == "frame" else pd.DataFrame(columns).astype({"sex": "category"})
    assert read(Log.open(source))["sex"] == ["NA", "f", "?"]
    log = Log.open(source, na=["NA", "?"], contexts="sex")
    assert read(log)["sex"] == [None, "f", None]
    assert read(log)["arm"] == ["a", "b", "?b"]
    assert [key == 0 for chunk in log.chunks() for key in chunk.user.tolist()] == [True, False, False]
    assert log.encoder().features == ("constant", "sex=f", "sex is missing")
    assert [label for part in log.split(2) for label in read(part)["sex"]] == [None, "f", None]
    assert log.fingerprint().rows == 3


def test_numbers_with_tokens(tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text("arm\treward\tpropensity\tcontext_x\na\tNA\t0.5\t1\nb\t1\t0.5\t2\n")
    assert "value must be a number, got 'NA'" in error_of(reading(path))
    log = Log.open(path, na="NA")
    assert log.roles == Roles("arm", "reward", (), "propensity", ("context_x",))
    assert read(log)["reward"] == [None, 1.0]
    path.write_text(path.read_text().replace("b\t1", "b\tx"))
    assert error_of(reading(path, na="NA")) == (
        f"{path}, column 'reward', row 2: value must be a number, got 'x'; leave it empty if it is unknown"
    )


def test_the_copy_of_a_spool_owns_nothing():
    spool = Spool()
    assert pickle.loads(pickle.dumps(spool)) is None  # noqa: S301
    spool.delete()
    assert not spool.folder.exists()
