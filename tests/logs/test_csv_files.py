"""CSV files: quotes, line ends, encodings and cells that do not fit their column."""

import numpy as np
import pytest

from fairbandits.logs import Log, text_blocks
from tests.logs.helpers import changed, csv, error_of, reading


def test_a_quote_in_the_middle_of_a_cell(tmp_path, monkeypatch):
    path = tmp_path / "log.csv"
    arms = ['5" pipe', 'a "b" c', '"x, ""y""\nz"', "plain"]
    path.write_text("arm,reward,sex\r\n" + "".join(f"{arm},1,f\r\n\r\n" for arm in arms * 30))
    for block_size in (100, 1 << 20):
        monkeypatch.setattr("fairbandits.logs.text_blocks.BLOCK_SIZE", block_size)
        log = Log.open(path)
        expected = ['5" pipe', 'a "b" c', 'x, "y"\nz', "plain"] * 30
        found = [chunk.arm.labels[code] for chunk in log.chunks() for code in chunk.arm.codes]
        assert found == expected
        rows = [next(part.chunks()).first_row for part in log.split(5)]
        sizes = [sum(map(len, part.chunks())) for part in log.split(5)]
        assert sum(sizes) == 120
        assert rows == np.cumsum([0, *sizes[:-1]]).tolist()


def test_malformed_files(tmp_path, monkeypatch):
    path = tmp_path / "log.csv"
    path.write_text("arm,reward,sex\na,1,f\na,1\n")
    assert error_of(reading(path)) == f"{path}, row 2: row must have 3 cells, got 2"
    path.write_text("arm,reward,arm\na,1,f\n")
    assert error_of(reading(path)).endswith("column 'arm' appears more than once; rename one of them")
    path.write_bytes("arm,reward,sex\na,1,f\né,1,f\n".encode("latin-1"))
    assert error_of(reading(path)) == f"{path}, row 2: file must be UTF-8, got b'\\xe9'"
    path.write_text('arm,reward,sex\na,1,f\n"a,1,f\n' + "b,1,f\n" * 100)
    monkeypatch.setattr("fairbandits.logs.text_blocks.BLOCK_SIZE", 50)
    monkeypatch.setattr("fairbandits.logs.text_blocks._MAX_ROW_SIZE", 200)
    assert error_of(reading(path)).endswith("row 2: row is not terminated; check for an unclosed quote")


def test_files_with_different_columns(tmp_path):
    first = csv(tmp_path, {"arm": ["a"], "reward": [1]}, "log.csv")
    second = csv(tmp_path, {"arm": ["a"], "gain": [1]}, "more.csv")
    assert error_of(reading(tmp_path)) == f"{second}: all files of a log must have the same columns as {first}"


def test_another_separator(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("arm;reward;sex\na;1;f\n")
    assert error_of(reading(path, arm="arm")) == (
        f"{path}: there is no column 'arm'; columns must be separated by commas. The columns are arm;reward;sex"
    )
    assert "columns must be separated by commas" in error_of(reading(path))


def test_lines_that_end_with_a_carriage_return_only(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"arm,reward\ra,1\rb,0\r")
    assert error_of(reading(tmp_path / "log.csv")).endswith(
        "lines must end with a newline, got carriage returns only"
    )


def test_empty_lines_are_not_rows(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"arm,reward\n\n\r\n\n")
    assert "has no rows" in error_of(reading(tmp_path / "log.csv"))


def labels_of(log, column="arm"):
    """Return the labels of all rows, read as a whole and in parts."""
    found = []
    for parts in ([log], log.split(3)):
        columns = [
            chunk.arm if column == "arm" else chunk.group[column] for part in parts for chunk in part.chunks()
        ]
        found.append([[*each.labels, None][code] for each in columns for code in each.codes])
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(
    "late", ["seven", "007", "+7", "-0", " 7", "7 ", "9223372036854775808", "1e3", "7.00", "7."]
)
@pytest.mark.parametrize("row", [0, 3500])
def test_labels_are_kept_as_written(tmp_path, monkeypatch, late, row):
    path = tmp_path / "log.csv"
    cells = [str(i % 7) for i in range(4000)]
    cells[row] = late
    path.write_text("\n".join(["arm,reward,sex", *(f"{cell},0.5,f" for cell in cells)]))
    monkeypatch.setattr("fairbandits.logs.text_blocks.BLOCK_SIZE", 8000)
    assert labels_of(Log.open(path)) == cells


@pytest.mark.parametrize("late", ["7", "-7", '"7"', "9223372036854775807", "-9223372036854775808", "7.0", ""])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_labels_that_are_all_integers_are_integers(tmp_path, monkeypatch, late, end):
    path = tmp_path / "log.csv"
    cells = [str(i % 7) for i in range(4000)]
    cells[3500] = late
    path.write_bytes(end.join(["reward,arm,sex", *(f"0.5,x,{cell}" for cell in cells)]).encode())
    monkeypatch.setattr("fairbandits.logs.text_blocks.BLOCK_SIZE", 8000)
    expected = [None if not cell else int(float(cell)) if "." in cell else int(cell.strip('"')) for cell in cells]
    assert labels_of(Log.open(path), "sex") == expected


def test_tokens_of_missing_values_decide_nothing(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('arm,reward,sex\n1,NA,"NA"\n2,1,2\n3,?,3\n4,0,?\n')
    log = Log.open(path, na=["NA", "?"])
    assert labels_of(log, "sex") == [None, 2, 3, None]
    [chunk] = log.chunks()
    assert np.isnan(chunk.reward).tolist() == [True, False, True, False]
    path.write_text(path.read_text().replace("3,?", "3,1"))
    assert labels_of(Log.open(path, na="NA"), "sex") == [None, "2", "3", "?"]


def test_continuous_labels_are_refused(tmp_path):
    path = csv(tmp_path, {"arm": [1, 2], "reward": [1.0, 0.0], "group": [30.0, 40.5]})
    assert error_of(reading(path)) == (
        f"{path}, column 'group', row 2: label must be text or an integer, got 40.5; bin continuous values first"
    )


@pytest.mark.parametrize("cell", ["1_0", "\u0661", "0,5"])
def test_numbers_in_python_that_are_not_numbers_in_csv(tmp_path, cell):
    path = csv(tmp_path, changed("reward", 2, cell))
    assert error_of(reading(path)).startswith(
        f"{path}, column 'reward', row 3: value must be a number, got {cell!r}"
    )


def test_arrow_does_not_hold_the_memory_of_python():
    """Its threads could otherwise release it while the interpreter shuts down."""
    for text in (b"", b"a,b\n1,2\n"):
        block = memoryview(text)
        stream = text_blocks.as_arrow_stream(block)
        block.release()  # fails while anything refers to it
        assert stream.read() == text
