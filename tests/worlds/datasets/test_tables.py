"""Reading the published files, and the messages for malformed lines."""

import numpy as np
import pytest

from fairbandits.worlds.datasets.errors import DataError
from fairbandits.worlds.datasets.tables import read_students, read_videos

ADULT = "20, Without-pay, 1, Doctorate, 16, Widowed, Armed-Forces, Unmarried, Other, Male, 0, 0, 44, ?, >50K"
VIDEO = "an-id\tsomeone\t100\tComedy\t60\t1000\t4.5\t8\t6\tanother-id"


def write(path, *lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def test_students_are_read(tmp_path):
    table = read_students(write(tmp_path / "adult.data", ADULT, "", ADULT.replace("Male", "Female"), ""))
    assert len(table) == 2
    assert table.labels("sex").tolist() == ["Male", "Female"]
    assert table.labels("native-country").tolist() == ["?", "?"]
    assert table["age"].tolist() == [20, 20]
    assert table.real


def test_deleted_and_unviewed_videos_are_skipped(tmp_path):
    unviewed = VIDEO.replace("1000", "0")
    table = read_videos(write(tmp_path / "1.txt", VIDEO, "deleted", unviewed, VIDEO.replace("4.5", "0")))
    assert table["rate"].tolist() == [4.5, 0]
    assert table["comments"].tolist() == [6, 6]


def test_tables_are_read_only(tmp_path):
    table = read_videos(write(tmp_path / "1.txt", VIDEO))
    with pytest.raises(ValueError, match="read-only"):
        table["rate"][0] = 1
    assert not table.take(np.array([0, 0]))["rate"].flags.writeable


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            ADULT.rsplit(",", 1)[0],
            r"line 2: the line must have 15 fields: age, workclass.*, got 14 fields, with none for 'income'",
        ),
        (f"{ADULT}, more", r"line 2: the line must have 15 fields: age, workclass.*, got 16 fields"),
        (ADULT.replace("Male", "Malle"), r"line 2: sex must be one of Female, Male, got 'Malle'"),
        (ADULT.replace("20", "young"), r"line 2: age must be a number from 17 to 90, got 'young'"),
        (ADULT.replace(" 44", " 400"), r"line 2: hours-per-week must be a number from 1 to 99, got '400'"),
        (ADULT.replace("20", "nan"), r"line 2: age must be a number from 17 to 90, got 'nan'"),
    ],
)
def test_a_malformed_student_is_refused(tmp_path, line, message):
    path = write(tmp_path / "adult.data", ADULT, line)
    with pytest.raises(DataError, match=message) as caught:
        read_students(path)
    assert str(path) in str(caught.value)
    assert "Replace the file" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "an-id\tsomeone\t100",
            r"line 2: the line must have an id only, or at least 9 .* got 3 fields, with none for 'category'",
        ),
        (VIDEO.replace("1000", "many"), r"line 2: views must be a number, got 'many'"),
        (VIDEO.replace("4.5", "6"), r"line 2: rate must be a number from 0 to 5, got '6'"),
    ],
)
def test_a_malformed_video_is_refused(tmp_path, line, message):
    with pytest.raises(DataError, match=message):
        read_videos(write(tmp_path / "1.txt", VIDEO, line))


@pytest.mark.parametrize("read", [read_students, read_videos])
def test_an_empty_file_is_refused(tmp_path, read):
    with pytest.raises(DataError, match="line 1: the file must have at least one row, got none"):
        read(write(tmp_path / "empty", ""))


def test_binary_files_are_refused_with_a_line_number(tmp_path):
    path = tmp_path / "adult.data"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(DataError, match="line 1: the line must have"):
        read_students(path)
